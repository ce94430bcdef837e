"""Why a model prefers a class or predicts a number: contributions of nodes, features and frequencies that sum to it."""

from .banks import explain_bank
from .explanation import Explanation, Pair, combine, describe, hop_distances, rescale
from .networks import explain

__all__ = ["Explanation", "Pair", "combine", "describe", "explain", "explain_bank", "hop_distances", "rescale"]
