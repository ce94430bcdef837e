"""Training: configuration, the loop, shape regulariser, checkpoints, records and statistics over splits."""

from .checkpoint import (
    deferred_interrupt,
    first_interrupt,
    load_checkpoint,
    read_tensors,
    save_checkpoint,
    write_tensors,
)
from .config import GAMMAS, NUMBER_LOSSES, OUTDATED, SHARED, Config, Setting, check_configs, override
from .engine import check_splits, fit
from .in_memory import roc_auc
from .loop import CURVES, Batch, Evaluation, FinalEvaluation, Keep, OnEpoch, Progress, Run, Rung, Source
from .parts import MemberBytes, PartPlan, member_bytes, plan_parts
from .record import (
    ADDED,
    FREQUENCIES,
    NUMERICS,
    UNBEGUN,
    Outcome,
    Record,
    Summary,
    describe_machine,
    make_records,
    summarise,
)
from .shape import adjusted_pivot, band_masks, neighbour_correlation, predicted_homophily, shape_penalty
from .statistics import SIGNIFICANT, Estimate, compare, contrast, estimate, holm

__all__ = [
    "ADDED",
    "CURVES",
    "FREQUENCIES",
    "GAMMAS",
    "NUMBER_LOSSES",
    "NUMERICS",
    "OUTDATED",
    "SHARED",
    "SIGNIFICANT",
    "UNBEGUN",
    "Batch",
    "Config",
    "Estimate",
    "Evaluation",
    "FinalEvaluation",
    "Keep",
    "MemberBytes",
    "OnEpoch",
    "Outcome",
    "PartPlan",
    "Progress",
    "Record",
    "Run",
    "Rung",
    "Setting",
    "Source",
    "Summary",
    "adjusted_pivot",
    "band_masks",
    "check_configs",
    "check_splits",
    "compare",
    "contrast",
    "deferred_interrupt",
    "describe_machine",
    "estimate",
    "first_interrupt",
    "fit",
    "holm",
    "load_checkpoint",
    "make_records",
    "member_bytes",
    "neighbour_correlation",
    "override",
    "plan_parts",
    "predicted_homophily",
    "read_tensors",
    "roc_auc",
    "save_checkpoint",
    "shape_penalty",
    "summarise",
    "write_tensors",
]
