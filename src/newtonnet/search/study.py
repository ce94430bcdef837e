"""A study: one model on one graph, the space of settings to search, and the splits and training loop they share."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from newtonnet.datasets import Dataset, Split, load_dataset, load_splits, make_splits
from newtonnet.graphs import Graph
from newtonnet.nn import find_model
from newtonnet.training import ADDED, GAMMAS, NUMERICS, Config, Setting, override

Space = Mapping[str, tuple[Any, ...]]
"""Names of options and training fields to the values that may be tried."""

LOOP = ("seed", "run_seed", "max_epochs", "patience", "metric", "history_interval")
"""Training fields that belong to a study and not to a setting."""

HALF, THIRD, RUNGS = 2, 3, 4
"""Of a study with rungs, one of two settings trains on at each of four rungs, whose epochs are thirds of the next."""
HALVING_BATCH = 32
"""Settings that are proposed together where most are dropped: a batch waits for its longest training."""

_PENALTY = ("variant", "penalty", "flipped", "slices", "pivot", "homophily", "homophily_start", "homophily_interval")


@dataclass(frozen=True)
class Study:
    """Everything that decides which settings a search tries and what each of them scores.

    Build one with :func:`make_study`, which fills in what the graph and the model decide. Results of studies with
    different keys never mix.
    """

    dataset: str
    checksum: str
    """Checksum of the graph."""
    model: str
    label: str = ""
    """Distinguishes several studies of one model on one graph, such as the arms of an ablation."""
    space: Space = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Fields that every setting of the study has."""
    first: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """The settings of the first trials: their source, and how they differ from the model's defaults."""
    protocol: str = "random"
    splits: int = 10
    max_epochs: int = 2000
    patience: int | None = 200
    metric: str = "accuracy"
    batch: int = 8
    """Number of settings that are proposed together, from the results of all earlier batches."""
    max_population: int = 40
    """Maximum number of members that train side by side; all splits of one setting always train together."""
    rungs: tuple[int, ...] = ()
    """Epochs after which successive halving drops settings; without any, all settings train to the end."""

    @property
    def name(self) -> str:
        """Model, label, protocol and whether settings are dropped, as used in file names and tables.

        >>> Study("cora", "", "mlp").name, Study("cora", "", "mlp", label="wide", protocol="fixed", rungs=(9,)).name
        ('mlp', 'mlp-wide-fixed-halving')
        """
        protocol = "" if self.protocol == "random" else self.protocol
        return "-".join(part for part in (self.model, self.label, protocol, "halving" if self.rungs else "") if part)

    @property
    def data(self) -> tuple[str, str, str, int]:
        """What decides its graph and splits: the arguments of :func:`load_data`."""
        return self.dataset, self.checksum, self.protocol, self.splits

    @property
    def key(self) -> str:
        """Short hash of everything that decides the study's trials."""
        return hashlib.sha256(json.dumps(self.describe(), sort_keys=True).encode()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """The study as plain data, with the model's defaults and the version of the numerics."""
        base = self.base()
        defaults = {**asdict(base.options), **asdict(base.config)}
        defaults = {name: value for name, value in defaults.items() if name not in ADDED or value != ADDED[name]}
        own = {name: value for name, value in vars(self).items() if name != "rungs" or value}  # came later
        described: dict[str, Any] = json.loads(json.dumps({**own, "defaults": defaults, "numerics": NUMERICS}))
        return described

    def base(self) -> Setting:
        """The setting that the changes of a trial apply to."""
        loop = {"max_epochs": self.max_epochs, "patience": self.patience, "metric": self.metric, "history_interval": 0}
        return override(default_setting(self.model), {**self.fixed, **loop})

    def setting(self, changes: Mapping[str, Any]) -> Setting:
        """The base with these fields changed."""
        return override(self.base(), changes)


def make_study(
    dataset: str,
    model: str,
    *,
    first: Sequence[Setting] = (),
    label: str = "",
    space: Space | None = None,
    fixed: Mapping[str, Any] | None = None,
    protocol: str = "random",
    splits: int | None = None,
    max_epochs: int = 2000,
    patience: int | None = 200,
    metric: str | None = None,
    batch: int | None = None,
    max_population: int = 40,
    halving: bool = False,
    data_root: str | Path | None = None,
) -> Study:
    """The study of a model on a graph of the catalogue.

    Args:
        dataset: name of the graph.
        model: name of the model.
        first: settings to try before any is proposed, such as published ones; the model's defaults follow them.
        label: distinguishes several studies of one model on one graph.
        space: what to search; the model's own space if not given.
        fixed: fields of every setting, left out of the space.
        protocol: how the nodes are split.
        splits: number of splits; if not given 10, or all published ones for ``"fixed"``.
        max_epochs: maximum number of epochs.
        patience: epochs without a better validation score before training stops; None: never stop early.
        metric: the graph's own if not given.
        batch: number of settings that are proposed together; if not given 8, or 32 with ``halving``.
        max_population: maximum number of members that train side by side.
        halving: drop settings early by :func:`halving_rungs`.
        data_root: folder with raw data sets.

    Returns:
        The study, with the checksum of the graph and its first settings filled in.
    """
    if batch is None:
        batch = HALVING_BATCH if halving else Study.batch
    if batch < 1 or max_population < 1:
        raise ValueError(f"batch and max_population must be at least 1, got {batch} and {max_population}")
    loaded = load_dataset(dataset, data_root=data_root)
    bare = Study(
        dataset=dataset,
        checksum=loaded.graph.checksum,
        model=model,
        label=label,
        space=free(model_space(model) if space is None else space, fixed or {}),
        fixed=dict(fixed or {}),
        protocol=protocol,
        splits=len(_splits(loaded, protocol, splits, data_root)),
        max_epochs=max_epochs,
        patience=patience,
        metric=metric or loaded.entry.metric,
        batch=batch,
        max_population=max_population,
        rungs=halving_rungs(max_epochs) if halving else (),
    )
    return replace(bare, first=first_trials(bare, first))


def halving_rungs(max_epochs: int) -> tuple[int, ...]:
    """The epochs after which one of two settings trains on: a third of all epochs, a third of that, up to four.

    >>> halving_rungs(2000), halving_rungs(10)
    ((24, 74, 222, 666), (1, 3))
    """
    rungs = tuple(max_epochs // THIRD**k for k in range(RUNGS, 0, -1) if max_epochs >= THIRD**k)
    if not rungs:
        raise ValueError(f"halving last drops settings at a third of the epochs: expected at least 3, got {max_epochs}")
    return rungs


def first_trials(study: Study, given: Sequence[Setting]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The given settings and the defaults, without duplicates, with the study's fixed fields applied."""
    base = study.base()
    settings: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for setting in (*given, base):
        changes = difference(override(setting, study.fixed), base)
        settings.setdefault(identity(study.setting(changes)), (setting.source, changes))
    return tuple(settings.values())


def load_data(
    dataset: str, checksum: str, protocol: str, splits: int, *, data_root: str | Path | None = None
) -> tuple[Graph, list[Split]]:
    """A study's graph and splits; an error if the graph is not the one the study was made for."""
    loaded = load_dataset(dataset, data_root=data_root)
    if loaded.graph.checksum != checksum:
        raise ValueError(
            f"the graph {dataset!r} has checksum {loaded.graph.checksum}, but the study expects {checksum}; "
            "its files have changed, so start a new study"
        )
    return loaded.graph, _splits(loaded, protocol, splits, data_root)


def _splits(loaded: Dataset, protocol: str, count: int | None, data_root: str | Path | None) -> list[Split]:
    if protocol == "fixed":
        return load_splits(loaded.entry.name, protocol, count=count, data_root=data_root)
    return make_splits(loaded.graph, protocol, count=10 if count is None else count)


def default_setting(model: str) -> Setting:
    """The defaults of a model of the zoo."""
    entry = find_model(model)
    return Setting("default", entry.options, Config(**entry.training))


def model_space(model: str) -> dict[str, tuple[Any, ...]]:
    """The space of a model of the zoo; for NewtonNet also the variant of the penalty.

    >>> model_space("mlp")["weight_decay"]
    (0.0, 0.0005)
    """
    space = dict(find_model(model).space)
    return {**space, "variant": ("paper", "released")} if model == "newtonnet" else space


def free(space: Space, fixed: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The part of a space that is not fixed; ``gammas`` fixes all three.

    >>> free({"gamma1": (0, 1), "dropout": (0.5,)}, {"gammas": (0, 0, 0)})
    {'dropout': (0.5,)}
    """
    covered = {*fixed, *(GAMMAS if "gammas" in fixed else ())}
    return {name: tuple(choices) for name, choices in space.items() if name not in covered}


def difference(setting: Setting, base: Setting) -> dict[str, Any]:
    """The fields in which a setting differs from another of the same model, as plain data."""
    ours, theirs = ({**vars(both.options), **vars(both.config)} for both in (setting, base))
    changes = {name: value for name, value in ours.items() if name not in LOOP and value != theirs[name]}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in changes.items()}


def identity(setting: Setting) -> str:
    """The same text for two settings that train the same model in the same way.

    A rate that is not given equals the one it falls back on, and without a penalty the fields of the penalty do not
    count.
    """
    decided = {**asdict(setting.options), **_resolved(setting)}
    if not any(setting.config.gammas):
        decided = {name: value for name, value in decided.items() if name not in _PENALTY}
    return json.dumps(_as_floats(decided), sort_keys=True)


def point(setting: Setting, space: Space) -> dict[str, Any] | None:
    """The setting as a point of a space, in the space's own values; None if it lies outside.

    Fields that the space does not vary are ignored.
    """
    gammas = dict(zip(GAMMAS, setting.config.gammas, strict=True))
    values = {**asdict(setting.options), **_resolved(setting), **gammas}
    if any(values[name] not in choices for name, choices in space.items()):
        return None
    return {name: choices[choices.index(values[name])] for name, choices in space.items()}


def _resolved(setting: Setting) -> dict[str, Any]:
    """The training fields without those of the loop, every None replaced by the value it stands for."""
    config = setting.config
    given = {name: value for name, value in asdict(config).items() if name not in LOOP}
    return given | {
        "filter_learning_rate": config.rate("filter"),
        "gate_learning_rate": config.rate("gates"),
        "branch_learning_rate": config.rate("branch"),
        "filter_weight_decay": config.decay("filter"),
        "gate_weight_decay": config.decay("gates"),
        "penalty": "squared" if config.squared else "norm",
        "homophily_interval": config.refresh,
    }


def _as_floats(value: Any) -> Any:
    """Whole numbers as floats, so that 0 and 0.0 are one setting."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, Mapping):
        return {key: _as_floats(item) for key, item in value.items()}
    return [_as_floats(item) for item in value] if isinstance(value, list | tuple) else value
