"""Training: configuration, shape-aware penalty, metrics, the loop, checkpoints and records."""

from .config import SHARED, Config
from .engine import fit
from .metrics import roc_auc
from .record import ADDED, FREQUENCIES, NUMERICS, Outcome, Record, Summary, summarise
from .run import Progress
from .setting import GAMMAS, Setting, override
from .shape import band_masks, predicted_homophily, shape_penalty
from .statistics import compare, estimate

__all__ = [
    "ADDED",
    "FREQUENCIES",
    "GAMMAS",
    "NUMERICS",
    "SHARED",
    "Config",
    "Outcome",
    "Progress",
    "Record",
    "Setting",
    "Summary",
    "band_masks",
    "compare",
    "estimate",
    "fit",
    "override",
    "predicted_homophily",
    "roc_auc",
    "shape_penalty",
    "summarise",
]
