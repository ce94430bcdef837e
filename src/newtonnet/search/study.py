"""A study: everything that decides which settings a search tries and what each of them scores."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from newtonnet.datasets import Dataset, Split, load_dataset, load_splits, make_splits
from newtonnet.graphs import Graph
from newtonnet.nn import find_model
from newtonnet.training import NUMERICS, Config, Setting, override
from newtonnet.training.record import ADDED

from .space import Space, difference, free, identity, model_space


@dataclass(frozen=True)
class Study:
    """One model on one graph: the space, the settings that come first, the splits and the loop.

    Build one with :func:`make_study`, which fills in what the graph and the model decide. ``key`` names it; results of
    two studies with different keys never mix.
    """

    dataset: str
    checksum: str
    """Of the graph."""
    model: str
    label: str = ""
    """Tells apart several studies of one model on one graph, such as the arms of an ablation."""
    space: Space = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Fields that every setting of the study has."""
    first: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """The settings of the first trials: where each comes from, and how it differs from the model's defaults."""
    protocol: str = "random"
    splits: int = 10
    max_epochs: int = 2000
    patience: int | None = 200
    metric: str = "accuracy"
    batch: int = 8
    """Settings that are proposed together, from the results of all batches before."""
    max_population: int = 40
    """Members that train side by side at most; one setting on all splits is never cut."""

    @property
    def name(self) -> str:
        """Model, label and protocol, as files and tables call it.

        >>> Study("cora", "", "mlp").name, Study("cora", "", "mlp", label="wide", protocol="fixed").name
        ('mlp', 'mlp-wide-fixed')
        """
        protocol = "" if self.protocol == "random" else self.protocol
        return "-".join(part for part in (self.model, self.label, protocol) if part)

    @property
    def key(self) -> str:
        """Short hash of all that decides the study's trials."""
        return hashlib.sha256(json.dumps(self.describe(), sort_keys=True).encode()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """The study as plain data, with the model's defaults and the version of the numerics."""
        base = self.base()
        defaults = {**asdict(base.options), **asdict(base.config)}
        defaults = {name: value for name, value in defaults.items() if name not in ADDED or value != ADDED[name]}
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        described: dict[str, Any] = json.loads(json.dumps({**plain, "defaults": defaults, "numerics": NUMERICS}))
        return described

    def base(self) -> Setting:
        """What a setting of this study is where it changes nothing."""
        entry = find_model(self.model)
        loop = {
            "max_epochs": self.max_epochs,
            "patience": self.patience,
            "metric": self.metric,
            "history_interval": 0,
        }
        return override(Setting("default", entry.options, Config(**entry.training)), {**self.fixed, **loop})

    def setting(self, changes: Mapping[str, Any]) -> Setting:
        """The setting that differs from the base in the given fields."""
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
    batch: int = 8,
    max_population: int = 40,
    data_root: str | Path | None = None,
) -> Study:
    """The study of a model on a graph of the catalogue.

    Args:
        dataset: the graph's name.
        model: the model's name.
        first: settings to try before any is proposed, such as published ones; the model's defaults follow them.
        label: a word for the study where there are several of one model on one graph.
        space: what is varied; the model's own space if not given.
        fixed: fields of every setting, left out of the space.
        protocol: how the nodes are split.
        splits: how many; 10, or all the published ones for ``"fixed"``, if not given.
        max_epochs: longest training.
        patience: epochs without a better validation score; None: never stop.
        metric: the graph's own if not given.
        batch: settings that are proposed together.
        max_population: members that train side by side at most.
        data_root: folder with raw data sets.
    """
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
    )
    return replace(bare, first=first_trials(bare, first))


def first_trials(study: Study, given: Sequence[Setting]) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """The given settings and the defaults, each once and with the study's fixed fields put in."""
    base = study.base()
    settings: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for setting in (*given, base):
        changes = difference(override(setting, study.fixed), base)
        settings.setdefault(identity(study.setting(changes)), (setting.source, changes))
    return tuple(settings.values())


def load_data(
    dataset: str, *, checksum: str, protocol: str, splits: int, data_root: str | Path | None = None
) -> tuple[Graph, list[Split]]:
    """A study's graph and splits, refused where the graph is not the one the study was made for."""
    loaded = load_dataset(dataset, data_root=data_root)
    if loaded.graph.checksum != checksum:
        raise ValueError(
            f"the graph {dataset!r} has checksum {loaded.graph.checksum}, the study's has {checksum}; "
            "its files have changed, so start a new study"
        )
    return loaded.graph, _splits(loaded, protocol, splits, data_root)


def _splits(loaded: Dataset, protocol: str, count: int | None, data_root: str | Path | None) -> list[Split]:
    if protocol == "fixed":
        return load_splits(loaded.entry.name, protocol, count=count, data_root=data_root)
    return make_splits(loaded.graph, protocol, count=10 if count is None else count)
