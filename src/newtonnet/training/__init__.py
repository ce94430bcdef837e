"""Training: configuration, shape-aware penalty, metrics, the loop, checkpoints and records."""

from .config import Config
from .engine import fit
from .metrics import roc_auc
from .record import FREQUENCIES, NUMERICS, Outcome, Record, Summary, summarise
from .run import Progress
from .setting import GAMMAS, Setting, override
from .shape import band_masks, predicted_homophily, shape_penalty
from .statistics import SIGNIFICANT, Estimate, compare, contrast, estimate, holm

__all__ = [
    "FREQUENCIES",
    "GAMMAS",
    "NUMERICS",
    "SIGNIFICANT",
    "Config",
    "Estimate",
    "Outcome",
    "Progress",
    "Record",
    "Setting",
    "Summary",
    "band_masks",
    "compare",
    "contrast",
    "estimate",
    "fit",
    "holm",
    "override",
    "predicted_homophily",
    "roc_auc",
    "shape_penalty",
    "summarise",
]
