"""Training: configuration, the loop, shape regulariser, checkpoints, records and statistics over splits."""

from .checkpoint import deferred_interrupt, first_interrupt, load_checkpoint, save_checkpoint
from .config import GAMMAS, SHARED, Config, Setting, override
from .engine import check_splits, fit
from .in_memory import roc_auc
from .loop import Batch, Evaluation, FinalEvaluation, Progress, Run, Source
from .record import (
    ADDED,
    FREQUENCIES,
    NUMERICS,
    Outcome,
    Record,
    Summary,
    make_records,
    summarise,
)
from .shape import adjusted_pivot, band_masks, predicted_homophily, shape_penalty
from .statistics import SIGNIFICANT, Estimate, compare, contrast, estimate, holm

__all__ = [
    "ADDED",
    "FREQUENCIES",
    "GAMMAS",
    "NUMERICS",
    "SHARED",
    "SIGNIFICANT",
    "Batch",
    "Config",
    "Estimate",
    "Evaluation",
    "FinalEvaluation",
    "Outcome",
    "Progress",
    "Record",
    "Run",
    "Setting",
    "Source",
    "Summary",
    "adjusted_pivot",
    "band_masks",
    "check_splits",
    "compare",
    "contrast",
    "deferred_interrupt",
    "estimate",
    "first_interrupt",
    "fit",
    "holm",
    "load_checkpoint",
    "make_records",
    "override",
    "predicted_homophily",
    "roc_auc",
    "save_checkpoint",
    "shape_penalty",
    "summarise",
]
