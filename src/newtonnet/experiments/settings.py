"""Which settings to run a model with: its authors' best ones, or defaults that suit any graph."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from newtonnet.nn import find_model
from newtonnet.training import Config

from .published_settings import PUBLISHED_SETTINGS

_GAMMAS = ("gamma1", "gamma2", "gamma3")


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
    options = {field.name for field in fields(setting.options)}
    training = {field.name for field in fields(Config)}
    gammas = list(changes.get("gammas", setting.config.gammas))
    inside: dict[str, Any] = {}
    outside: dict[str, Any] = {}
    for name, value in changes.items():
        if name in _GAMMAS:
            gammas[_GAMMAS.index(name)] = float(value)
        elif name in options:
            inside[name] = value
        elif name in training:
            outside[name] = value
        else:
            raise ValueError(f"this model has no option {name!r}; it has {', '.join(sorted(options | training))}")
    outside["gammas"] = tuple(gammas)
    return Setting(setting.source, replace(setting.options, **inside), replace(setting.config, **outside))


def find_setting(dataset: str, model: str, source: str | None = None) -> Setting:
    """The settings of a model on a graph.

    Args:
        dataset: the graph's name.
        model: the model's name.
        source: ``published`` (tuned by the method's authors, each for their own splits and loop: see
            :mod:`newtonnet.experiments.published_settings`), ``searched``, or ``default``; None takes published ones
            where there are any.
    """
    entry = find_model(model)
    table = PUBLISHED_SETTINGS.get(model, {})
    if source == "default" or (source is None and dataset not in table):
        return Setting("default", entry.options, Config(**entry.training))
    if source == "searched":
        raise ValueError(f"no search has been run for {model} on {dataset}; use --settings published or default")
    if source not in (None, "published"):
        raise ValueError(f"unknown settings {source!r}; available: published, searched, default")
    if dataset not in table:
        there = f"{model} has published ones on {', '.join(table)}" if table else f"{model} has none on any graph"
        raise ValueError(f"no published settings for {model} on {dataset}; use --settings default ({there})")
    return override(Setting("published", entry.options, Config(**entry.training)), table[dataset])
