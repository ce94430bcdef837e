"""Models on the filter bank of a graph: boosting and ridge regression, with known labels or numbers as columns."""

from .boosting import BoostingOptions, Trees, stored_trees, train_boosting
from .features import BankColumn, BankLayout, Shown, is_shown
from .predict import check_bank, predict_bank
from .ridge import RidgeOptions, filled, train_ridge
from .trained import Bank, TrainedBank, graph_eigenvectors, limited_threads, prediction_bank

__all__ = [
    "Bank",
    "BankColumn",
    "BankLayout",
    "BoostingOptions",
    "RidgeOptions",
    "Shown",
    "TrainedBank",
    "Trees",
    "check_bank",
    "filled",
    "graph_eigenvectors",
    "is_shown",
    "limited_threads",
    "predict_bank",
    "prediction_bank",
    "stored_trees",
    "train_boosting",
    "train_ridge",
]
