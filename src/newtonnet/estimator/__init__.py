"""The estimator: fit, predict, explain, save and cross-validate on a graph, with a scikit-learn interface."""

from .card import model_card
from .classifier import NewtonNetClassifier
from .conformal import held_out_intervals, held_out_sets
from .ensemble import OutOfFold
from .estimator import GraphEstimator
from .families import defaults_of
from .frames import FittedTables
from .importance import Effect, Importance, describe_importance
from .learned import LearnedFilter
from .memory import FitMemory, state_memory
from .portfolio import TriedSetting
from .regressor import NewtonNetRegressor
from .saving import REGRESSOR, stored_kind
from .scoring import calibration_bins, calibration_error, calibration_interval, influence, score
from .validation import CrossValidation, cross_validate, fold_pairs

__all__ = [
    "REGRESSOR",
    "CrossValidation",
    "Effect",
    "FitMemory",
    "FittedTables",
    "GraphEstimator",
    "Importance",
    "LearnedFilter",
    "NewtonNetClassifier",
    "NewtonNetRegressor",
    "OutOfFold",
    "TriedSetting",
    "calibration_bins",
    "calibration_error",
    "calibration_interval",
    "cross_validate",
    "defaults_of",
    "describe_importance",
    "fold_pairs",
    "held_out_intervals",
    "held_out_sets",
    "influence",
    "model_card",
    "score",
    "state_memory",
    "stored_kind",
]
