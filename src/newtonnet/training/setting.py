"""A setting: a model's shape and its training together, and how some of its fields are changed by name."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from .config import Config

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
    training = get_type_hints(Config)
    gammas = list(_checked("gammas", changes.get("gammas", setting.config.gammas), training["gammas"]))
    inside: dict[str, Any] = {}
    outside: dict[str, Any] = {}
    for name, value in changes.items():
        if name in GAMMAS:
            gammas[GAMMAS.index(name)] = _checked(name, value, float)
        elif name in options:
            inside[name] = _checked(name, value, options[name])
        elif name in training:
            outside[name] = _checked(name, value, training[name])
        else:
            known = sorted({*options, *training, *GAMMAS})
            raise ValueError(f"this model has no option {name!r}; it has {', '.join(known)}")
    outside["gammas"] = tuple(gammas)
    return Setting(setting.source, replace(setting.options, **inside), replace(setting.config, **outside))


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
