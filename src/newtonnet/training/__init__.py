"""Training: configuration, the loop, shape regulariser, checkpoints, records and statistics over splits."""

from .adam import Adam
from .checkpoint import deferred_interrupt, load_checkpoint, save_checkpoint
from .config import GAMMAS, SHARED, Config, Setting, override
from .engine import fit
from .in_memory import cross_entropy, roc_auc
from .loop import CURVES, Batch, Evaluation, FinalEvaluation, Progress, Run, Source
from .record import (
    ADDED,
    FREQUENCIES,
    NUMERICS,
    Outcome,
    Record,
    Summary,
    make_outcomes,
    make_record,
    sample_filter,
    summarise,
    unbegun_outcome,
)
from .shape import ShapeRegulariser, adjusted_pivot, band_masks, predicted_homophily, shape_penalty
from .statistics import SIGNIFICANT, Estimate, compare, contrast, estimate, holm

__all__ = [
    "ADDED",
    "CURVES",
    "FREQUENCIES",
    "GAMMAS",
    "NUMERICS",
    "SHARED",
    "SIGNIFICANT",
    "Adam",
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
    "ShapeRegulariser",
    "Source",
    "Summary",
    "adjusted_pivot",
    "band_masks",
    "compare",
    "contrast",
    "cross_entropy",
    "deferred_interrupt",
    "estimate",
    "fit",
    "holm",
    "load_checkpoint",
    "make_outcomes",
    "make_record",
    "override",
    "predicted_homophily",
    "roc_auc",
    "sample_filter",
    "save_checkpoint",
    "shape_penalty",
    "summarise",
    "unbegun_outcome",
]
