"""The classifier's parameters, checked before any work is done; every refusal says what was expected and what came."""

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from newtonnet.nn import find_model

MODES = ("auto", "off")
REGIMES = ("memory", "precomputed")

OWN = {name: name for name in ("max_epochs", "patience", "metric")} | dict.fromkeys(
    ("seed", "run_seed"), "random_state"
)
"""Training fields that are not settings, and the parameter to use instead."""

_LEAST = {"folds": 2, "threads": 1, "max_memory": 1}


def check_parameters(given: Mapping[str, Any]) -> None:
    """Refuse parameters of a classifier that make no sense, alone or together."""
    for name, choices in (("tune", MODES), ("regime", REGIMES)):
        if given[name] not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {given[name]!r}")
    budget = given["time_budget"]
    if budget is not None and not (isinstance(budget, Real) and 0 < float(budget) < math.inf):
        raise ValueError(f"time_budget must be seconds above 0, or None for no limit, got {budget!r}")
    for name, least in _LEAST.items():
        value = given[name]
        if value is not None and not (isinstance(value, Real) and float(value).is_integer() and float(value) >= least):
            raise ValueError(f"{name} must be a whole number of at least {least}, or None, got {value!r}")
    settings = given["settings"]
    if settings is not None and not isinstance(settings, Mapping):
        raise ValueError(f"settings must be options by name, such as {{'degree': 10}}, got {settings!r}")
    fixed = dict(settings or {})
    own = sorted(fixed.keys() & OWN)
    if own:
        raise ValueError(f"{own[0]} has a parameter of its own ({OWN[own[0]]}), it is none of the settings")
    if given["transferable"] and (find_model(given["model"]).transductive or fixed.get("branch")):
        raise ValueError(
            f"{given['model']} with these settings has weights for every node and cannot leave its graph; "
            "use transferable=False, or another model"
        )
    if given["regime"] == "precomputed" and given["model"] != "newtonnet":
        raise ValueError(f"the precomputed regime trains newtonnet alone, got model {given['model']!r}")
