"""Fig. 1b: which frequencies the best of 216 fixed filters let through, from heterophilous to homophilous graphs."""

from .bands import AMPLITUDES, apply_filters, candidate_filters, importances, projector_stack
from .study import FREQUENCY
from .training import Protocol, Scores, sparse_split, train_filters
from .trends import crossing

__all__ = [
    "AMPLITUDES",
    "FREQUENCY",
    "Protocol",
    "Scores",
    "apply_filters",
    "candidate_filters",
    "crossing",
    "importances",
    "projector_stack",
    "sparse_split",
    "train_filters",
]
