"""The whole analysis of a graph in two tables: model, predictions, held-out scores, page and run folder."""

from .evaluation import FEW, FOLDS
from .explaining import ExplainedNodes
from .exporting import export
from .result import Analysis, Prediction
from .run_folder import (
    CARD,
    FILES,
    MODEL,
    PAGE,
    PREDICTIONS,
    RunDescription,
    TableFile,
    replace_predictions,
    spreadsheet_safe,
)
from .steps import AnalysisProgress
from .workflow import analyse

__all__ = [
    "CARD",
    "FEW",
    "FILES",
    "FOLDS",
    "MODEL",
    "PAGE",
    "PREDICTIONS",
    "Analysis",
    "AnalysisProgress",
    "ExplainedNodes",
    "Prediction",
    "RunDescription",
    "TableFile",
    "analyse",
    "export",
    "replace_predictions",
    "spreadsheet_safe",
]
