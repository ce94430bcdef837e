"""Lemma 1, Theorem 1 and Theorem 2, tried on generated graphs: where they hold, and the smallest cases where not."""

from .lemma1 import chance_homophily, check_lemma1
from .pairs import Eigenspaces, affine_pair, eigenspaces, random_pair, signed_pair, step_pair
from .samples import Sample, random_sample, regular_sample
from .study import THEORY
from .theorem1 import check_theorem1, edge_energies, expected_gap, smallest_normalised, smallest_signed
from .theorem2 import check_by_homophily, check_theorem2, class_energies, pairwise_gap, separation_gap, smallest_example

__all__ = [
    "THEORY",
    "Eigenspaces",
    "Sample",
    "affine_pair",
    "chance_homophily",
    "check_by_homophily",
    "check_lemma1",
    "check_theorem1",
    "check_theorem2",
    "class_energies",
    "edge_energies",
    "eigenspaces",
    "expected_gap",
    "pairwise_gap",
    "random_pair",
    "random_sample",
    "regular_sample",
    "separation_gap",
    "signed_pair",
    "smallest_example",
    "smallest_normalised",
    "smallest_signed",
    "step_pair",
]
