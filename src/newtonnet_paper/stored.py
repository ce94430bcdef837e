"""What is stored of searches: the trials of one model on one graph, and the setting that they select."""

import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from newtonnet.datasets import CATALOGUE
from newtonnet.search import Study, Trial, best_trial, difference, identity, read_study, read_trials, store_path
from newtonnet.search.settings import find_setting
from newtonnet.training import override

SPLITS = 10
"""Of every claim; of published splits all there are."""


@dataclass(frozen=True)
class Stored:
    """The trials of one study that are at hand, in the order of their numbers, at least one."""

    dataset: str
    model: str
    label: str
    protocol: str
    study: Mapping[str, Any]
    """The study's description."""
    trials: tuple[Trial, ...]

    @property
    def length(self) -> int:
        """Settings before the first that is not there: a search that was stopped inside a batch leaves gaps."""
        return next((i for i, trial in enumerate(self.trials) if trial.number != i), len(self.trials))

    @property
    def exhausted(self) -> bool:
        """Whether all settings of its space were tried, so that a longer search would find no other."""
        return len(self.trials) >= math.prod(len(values) for values in self.study["space"].values())

    @property
    def repeated(self) -> tuple[str, dict[str, Any]]:
        """The setting that all trials share, and where it came from when the first was run."""
        return str(self.study["first"][0][0]), dict(self.study["fixed"])

    def value(self, trial: Trial, name: str) -> Any:
        """What a trial has for a field: its own, or what all trials of the study share."""
        return trial.setting[name] if name in trial.setting else self.study["defaults"][name]

    def identity(self, trial: Trial) -> str:
        """The same text for two trials, also of different studies, that train the same model in the same way."""
        default = find_setting(self.dataset, self.model, "default")
        return identity(override(default, {**self.study["fixed"], **trial.setting}))

    def first(self, count: int) -> "Stored":
        """The same study when so many settings had been tried."""
        return replace(self, trials=tuple(trial for trial in self.trials if trial.number < count))


def read_stored(
    results: Path,
    dataset: str,
    model: str,
    *,
    label: str = "",
    protocol: str = "random",
    patience: int | None = Study.patience,
) -> Stored | None:
    """What is stored of one study; None where there is no trial.

    Trials of another name, or with other splits, epochs, patience or metric than the claim has, are left aside with a
    warning: they are of a search that somebody made to other ends.
    """
    path = store_path(results, Study(dataset, "", model, label=label, protocol=protocol))
    study, trials = read_study(path), read_trials(path)
    if study is None or not trials:
        return None
    usual = {
        "dataset": dataset,
        "model": model,
        "label": label,
        "protocol": protocol,
        "splits": study["splits"] if protocol == "fixed" else SPLITS,
        "max_epochs": Study.max_epochs,
        "patience": patience,
        "metric": CATALOGUE[dataset].metric,
    }
    other = [f"{name} {study[name]} instead of {value}" for name, value in usual.items() if study[name] != value]
    if other:
        warnings.warn(f"{path} is left aside: {', '.join(other)}", stacklevel=2)
        return None
    ordered = tuple(sorted(trials, key=lambda trial: trial.number))
    return Stored(dataset, model, label, protocol, study, ordered)


def repeats(stored: Stored, setting: Mapping[str, Any]) -> bool:
    """Whether a stored study has this setting for what it does not vary."""
    return bool(stored.study["fixed"] == json.loads(json.dumps(setting)))


def chosen_setting(
    results: Path, dataset: str, model: str, *, label: str = "", tried: int | None = None
) -> tuple[str, dict[str, Any]]:
    """The setting that the search on random splits selects, else the published one, else none: its source and fields.

    Args:
        results: folder of all results.
        dataset: the graph.
        model: the method.
        label: of the search.
        tried: select among so many settings, the search's first; among all if not given.

    Returns:
        ``searched``, ``published`` or ``default``, and how the setting differs from the model's defaults.
    """
    stored = read_stored(results, dataset, model, label=label)
    if stored is not None:
        among = stored.trials if tried is None else stored.first(tried).trials
        return "searched", {**stored.study["fixed"], **best_trial(among).setting}
    setting = find_setting(dataset, model)
    return setting.source, difference(setting, find_setting(dataset, model, "default"))
