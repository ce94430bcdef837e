"""The estimator: fit, predict, save and cross-validate on anyone's own graph, with nothing to choose."""

from .classifier import NewtonNetClassifier
from .learned import LearnedFilter
from .validation import CrossValidation, cross_validate, fold_pairs

__all__ = ["CrossValidation", "LearnedFilter", "NewtonNetClassifier", "cross_validate", "fold_pairs"]
