"""Which settings to run a model with: its authors' best ones, or defaults that suit any graph."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

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
    options = get_type_hints(type(setting.options))
    training = get_type_hints(Config)
    gammas = list(_checked("gammas", changes.get("gammas", setting.config.gammas), training["gammas"]))
    inside: dict[str, Any] = {}
    outside: dict[str, Any] = {}
    for name, value in changes.items():
        if name in _GAMMAS:
            gammas[_GAMMAS.index(name)] = _checked(name, value, float)
        elif name in options:
            inside[name] = _checked(name, value, options[name])
        elif name in training:
            outside[name] = _checked(name, value, training[name])
        else:
            raise ValueError(f"this model has no option {name!r}; it has {', '.join(sorted(options | training))}")
    outside["gammas"] = tuple(gammas)
    return Setting(setting.source, replace(setting.options, **inside), replace(setting.config, **outside))


def _checked(name: str, value: Any, hint: Any) -> Any:
    """The value, a list as a tuple, refused where it is not of the field's type."""
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
