"""The estimator: fit, predict, explain, save and cross-validate on a graph, with a scikit-learn interface."""

from .classifier import NewtonNetClassifier
from .learned import LearnedFilter
from .scoring import score
from .validation import CrossValidation, cross_validate, fold_pairs

__all__ = ["CrossValidation", "LearnedFilter", "NewtonNetClassifier", "cross_validate", "fold_pairs", "score"]
