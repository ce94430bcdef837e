"""Fig. 1b: the frequencies that the best of 216 fixed filters pass, from heterophilous to homophilous graphs."""

from .bands import AMPLITUDES, apply_filters, candidate_filters, importances, projector_stack
from .study import FREQUENCY, crossing
from .training import Protocol, Scores, sparse_split, train_filters

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
