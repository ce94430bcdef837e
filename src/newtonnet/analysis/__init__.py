"""The whole analysis of a graph in two tables: model, predictions, held-out scores, page and run folder."""

from .evaluation import FOLDS
from .run_folder import FILES, MODEL, PAGE, PREDICTIONS, RunDescription, TableFile
from .workflow import Analysis, AnalysisProgress, Prediction, analyse

__all__ = [
    "FILES",
    "FOLDS",
    "MODEL",
    "PAGE",
    "PREDICTIONS",
    "Analysis",
    "AnalysisProgress",
    "Prediction",
    "RunDescription",
    "TableFile",
    "analyse",
]
