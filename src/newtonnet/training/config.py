"""How one member is trained: its rates and gammas, the loop options that a population shares, and settings by name."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from newtonnet.metrics import METRICS, NUMBER_METRICS

SHARED = (
    "decoupled",
    "run_seed",
    "max_epochs",
    "patience",
    "loss",
    "reduction",
    "class_weight",
    "label_smoothing",
    "variant",
    "penalty",
    "flipped",
    "slices",
    "pivot",
    "homophily",
    "homophily_start",
    "homophily_interval",
    "metric",
    "history_interval",
)
"""Fields that must be equal over a population; all others may differ from member to member."""


OUTDATED = "code"
"""A variant that older records may name and that can no longer be trained."""

_CHOICES: dict[str, tuple[str | None, ...]] = {
    "loss": ("cross-entropy", "binary", "squared", "absolute"),
    "reduction": ("mean", "sum"),
    "variant": ("paper", "released", OUTDATED),
    "penalty": ("squared", "norm", None),
    "pivot": ("uniform", "adjusted", "weighted"),
    "homophily": ("predicted", "train-edges", "all-labels"),
    "homophily_start": ("pivot", "random"),
    "metric": METRICS + NUMBER_METRICS,
}


@dataclass(frozen=True)
class Config:
    """One member's training. ``variant`` chooses how the paper's penalty is read; see ``penalty`` and its neighbours.

    The paper: squared norms of the filter's values, homophily learned again in every epoch. Its released code: plain
    norms of the raw values, homophily after the epochs 1, 11, 21, ... over the edge rows as they are stored. The
    published settings belong to the released code.
    """

    seed: int = 0
    """Start weights and dropout masks of this member."""
    learning_rate: float = 0.01
    """Adam's rate for the encoder."""
    filter_learning_rate: float | None = None
    """Adam's rate for the filter's values; None takes ``learning_rate``."""
    weight_decay: float = 5e-4
    """L2 penalty on the encoder, added to its gradient."""
    filter_weight_decay: float | None = None
    """The same for the filter; None takes ``weight_decay``, as the released code does."""
    gate_learning_rate: float | None = None
    """Adam's rate for the scales of JacobiConv's coefficients; None takes the filter's."""
    gate_weight_decay: float | None = None
    """L2 penalty on them; None takes ``weight_decay``."""
    branch_learning_rate: float | None = None
    """Adam's rate for an adjacency branch; None takes ``learning_rate``. Its weight decay is the encoder's."""
    gammas: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Strength of the shape-aware penalty on low, middle and high frequencies."""
    ceiling: float | None = None
    """Largest magnitude of a raw filter value; an encouraged band has no other bound. None: no ceiling."""

    decoupled: bool = False
    """Shrink the weights themselves (AdamW) instead of adding the decay to the gradient (Adam)."""
    run_seed: int = 0
    """Dropout mask on the input features, shared by the population."""
    max_epochs: int = 2000
    """Stop after this many epochs."""
    patience: int | None = None
    """Stop a member after this many epochs without a better validation score; None: never."""
    loss: str = "cross-entropy"
    """``cross-entropy``, or ``binary``: that of each class's own sigmoid on one-hot labels, for two classes; for
    numbers as targets the ``squared`` or the ``absolute`` error."""
    reduction: str = "mean"
    """Over the training nodes: ``mean``, which the gammas refer to, or ``sum``, as in the paper's text."""
    class_weight: tuple[float, ...] | None = None
    """How much a training node of each class counts in the loss, in their order; None: all alike."""
    label_smoothing: float = 0.0
    """Share of every training label that is spread evenly over all classes in the loss."""
    variant: str = "paper"
    """``paper`` or ``released``. (Older records may name ``code``, an inexact copy of the released code, which can no
    longer be trained.)"""
    penalty: str | None = None
    """``squared`` or ``norm``; None takes the variant's."""
    flipped: bool = False
    """Turn the penalty's sign, for studies: it encourages what the paper discourages."""
    slices: tuple[int, int] | None = None
    """Where the middle and the high values begin, by index; None: by the value of their points, 2/3 and 4/3."""
    pivot: str = "uniform"
    """What homophily is compared with: ``uniform`` is the paper's 1/C; ``adjusted`` the ratio expected by chance for
    classes of these degrees, which is right where classes are unbalanced and equal to 1/C where they are balanced;
    ``weighted`` is 1/C with every edge weighted by 1/sqrt(d_s d_t), its weight in the normalised Laplacian."""
    homophily: str = "predicted"
    """How it is estimated: ``predicted`` counts all edges by predicted classes, training labels put in;
    ``train-edges`` counts the edges between training nodes, so nothing is learned; ``all-labels`` counts all edges by
    their true labels, those of test nodes too: for studies of what a perfect estimate would bring."""
    homophily_start: str = "pivot"
    """What is taken for it before the first estimate: ``pivot``, so that there is no penalty, or ``random``."""
    homophily_interval: int | None = None
    """Epochs between two estimates of the homophily; None takes the variant's, 1 or 10."""
    metric: str = "accuracy"
    """What validation and test report: one of :data:`newtonnet.metrics.METRICS`, for numbers of ``NUMBER_METRICS``."""
    history_interval: int = 10
    """Keep every so many epochs' curves in the record; 0: none."""

    def __post_init__(self) -> None:
        for name in ("learning_rate", "filter_learning_rate", "gate_learning_rate", "branch_learning_rate"):
            value = getattr(self, name)
            _require(name, value is None or 0 < value < math.inf, "above 0 and finite", value)
        for name in ("weight_decay", "filter_weight_decay", "gate_weight_decay"):
            value = getattr(self, name)
            _require(name, value is None or 0 <= value < math.inf, "at least 0 and finite", value)
        object.__setattr__(self, "gammas", tuple(self.gammas))
        good = len(self.gammas) == 3 and all(math.isfinite(gamma) and gamma >= 0 for gamma in self.gammas)
        _require("gammas", good, "three numbers of at least 0", self.gammas)
        _require("ceiling", self.ceiling is None or self.ceiling > 0, "above 0 or None", self.ceiling)
        whole = math.isfinite(self.max_epochs) and self.max_epochs >= 1 and self.max_epochs == int(self.max_epochs)
        _require("max_epochs", whole, "a whole number of at least 1", self.max_epochs)
        _require("patience", self.patience is None or self.patience >= 1, "at least 1 or None", self.patience)
        if self.slices is not None:
            object.__setattr__(self, "slices", tuple(self.slices))
            good = len(self.slices) == 2 and all(isinstance(i, int) for i in self.slices)
            _require("slices", good and 0 < self.slices[0] < self.slices[1], "two rising indices or None", self.slices)
        if self.class_weight is not None:
            object.__setattr__(self, "class_weight", tuple(self.class_weight))
            good = all(math.isfinite(weight) and weight > 0 for weight in self.class_weight)
            _require("class_weight", good, "numbers above 0 or None", self.class_weight)
        _require("label_smoothing", 0 <= self.label_smoothing < 1, "at least 0 and below 1", self.label_smoothing)
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            known = [word for word in choices if word != OUTDATED]
            _require(name, value in choices, f"{', '.join(map(repr, known[:-1]))} or {known[-1]!r}", value)
        interval = self.homophily_interval
        _require("homophily_interval", interval is None or interval >= 1, "at least 1 or None", interval)
        _require("history_interval", self.history_interval >= 0, "at least 0", self.history_interval)

    @property
    def penalises_raw(self) -> bool:
        """Whether the penalty looks at raw values (before the ReLU) instead of the filter's amplitudes."""
        return self.variant != "paper"

    @property
    def squared(self) -> bool:
        """Whether the penalty takes squared norms."""
        return (self.penalty or ("squared" if self.variant == "paper" else "norm")) == "squared"

    @property
    def refresh(self) -> int:
        """Epochs between two estimates of the homophily."""
        return self.homophily_interval or (1 if self.variant == "paper" else 10)

    def refreshes(self, epoch: int) -> bool:
        """Whether the homophily is estimated after this epoch, from 1: the released code begins with the first."""
        return (epoch - (self.variant == "released")) % self.refresh == 0

    def rate(self, group: str) -> float:
        """Adam's rate for a group of parameters."""
        gates = self.gate_learning_rate or self.filter_learning_rate
        own = {"filter": self.filter_learning_rate, "gates": gates, "branch": self.branch_learning_rate}
        return own.get(group) or self.learning_rate

    def decay(self, group: str) -> float:
        """L2 penalty on a group of parameters."""
        own = {"filter": self.filter_weight_decay, "gates": self.gate_weight_decay}.get(group)
        return self.weight_decay if own is None else own


def check_configs(configs: Sequence[Config]) -> None:
    """Refuse configurations that cannot train, or not in one population."""
    if any(config.variant == OUTDATED for config in configs):
        raise ValueError(
            f"variant {OUTDATED!r} can no longer be trained: it learned homophily ten epochs late and over other edges "
            "than the paper's released code; use variant 'released'"
        )
    for name in SHARED:
        values = {getattr(config, name) for config in configs}
        if len(values) > 1:
            raise ValueError(f"members of one population must share {name}, got {sorted(map(str, values))}")


def _require(name: str, good: bool, expected: str, value: object) -> None:
    if not good:
        raise ValueError(f"{name} must be {expected}, got {value}")


NUMBER_LOSSES = ("squared", "absolute")
"""Losses for numbers as targets."""

GAMMAS = ("gamma1", "gamma2", "gamma3")
"""The parts of the training field ``gammas``: how much low, middle and high frequencies count."""


@dataclass(frozen=True)
class Setting:
    """A model's shape and its training; seeds and the length of the loop are left to the caller."""

    source: str
    options: Any
    config: Config


def override(setting: Setting, changes: Mapping[str, Any]) -> Setting:
    """The setting with some of its options or training fields changed, each found by its name.

    ``gamma1``, ``gamma2`` and ``gamma3`` change one of the three ``gammas``.
    """
    options = get_type_hints(type(setting.options))
    hints = get_type_hints(Config) | dict.fromkeys(GAMMAS, float) | options
    if unknown := [name for name in changes if name not in hints]:
        raise ValueError(f"this model has no option {unknown[0]!r}; it has {', '.join(sorted(hints))}")
    training = {name: _checked(name, value, hints[name]) for name, value in changes.items()}
    inside = {name: training.pop(name) for name in options if name in training}
    gammas = list(training.get("gammas", setting.config.gammas))
    for i, name in enumerate(GAMMAS):
        gammas[i] = training.pop(name, gammas[i])
    config = replace(setting.config, **training | {"gammas": tuple(gammas)})
    return Setting(setting.source, replace(setting.options, **inside), config)


def _checked(name: str, value: Any, hint: Any) -> Any:
    """The value, a list as a tuple, refused where it is not of the field's type."""
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    fits = {
        bool: isinstance(value, bool),
        int: isinstance(value, int) and not isinstance(value, bool),
        float: isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value),
        str: isinstance(value, str),
        NoneType: value is None,
        tuple: isinstance(value, list | tuple) and all(isinstance(item, int | float) for item in value),
    }
    if not any(fits[get_origin(kind) or kind] for kind in kinds):
        words = {bool: "true or false", int: "a whole number", float: "a number", str: "a name", tuple: "numbers"}
        expected = " or ".join(words[get_origin(kind) or kind] for kind in kinds if kind is not NoneType)
        raise ValueError(f"{name} must be {expected}, got {value!r}")
    return tuple(value) if isinstance(value, list) else value
