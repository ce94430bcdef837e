"""Why a model prefers a class: contributions of nodes, features and frequencies that sum to its logits' difference."""

from .banks import explain_bank
from .explanation import Explanation, Pair, combine, describe, hop_distances
from .networks import explain

__all__ = ["Explanation", "Pair", "combine", "describe", "explain", "explain_bank", "hop_distances"]
