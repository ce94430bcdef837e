"""Settings as a search sees them: what may be varied, when two are the same, and how one differs from another."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from newtonnet.nn import find_model
from newtonnet.training import GAMMAS, Setting

Space = Mapping[str, tuple[Any, ...]]
"""Names of options and training fields to the values that may be tried."""

LOOP = ("seed", "run_seed", "max_epochs", "patience", "metric", "history_interval")
"""Training fields that belong to a study and not to a setting."""

_PENALTY = ("variant", "penalty", "pivot", "homophily_interval")


def model_space(model: str) -> dict[str, tuple[Any, ...]]:
    """What is searched for a model of the zoo: its own space, and for NewtonNet also how the penalty is read.

    >>> model_space("mlp")["weight_decay"]
    (0.0, 0.0005)
    """
    space = dict(find_model(model).space)
    return {**space, "variant": ("paper", "code")} if model == "newtonnet" else space


def free(space: Space, fixed: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """What is left to vary of a space where some fields are fixed; ``gammas`` covers all three.

    >>> free({"gamma1": (0, 1), "dropout": (0.5,)}, {"gammas": (0, 0, 0)})
    {'dropout': (0.5,)}
    """
    covered = {*fixed, *(GAMMAS if "gammas" in fixed else ())}
    return {name: tuple(choices) for name, choices in space.items() if name not in covered}


def difference(setting: Setting, base: Setting) -> dict[str, Any]:
    """The fields in which a setting differs from another of the same model, as plain data."""
    changes: dict[str, Any] = {}
    for ours, theirs in ((setting.options, base.options), (setting.config, base.config)):
        for field in fields(ours):
            value = getattr(ours, field.name)
            if field.name not in LOOP and value != getattr(theirs, field.name):
                changes[field.name] = list(value) if isinstance(value, tuple) else value
    return changes


def identity(setting: Setting) -> str:
    """The same text for two settings that train the same model in the same way.

    A rate that is not given is the one it falls back on, and without a penalty it does not matter how the penalty is
    read.
    """
    decided = {**asdict(setting.options), **_resolved(setting)}
    if not any(setting.config.gammas):
        decided = {name: value for name, value in decided.items() if name not in _PENALTY}
    return json.dumps(_as_floats(decided), sort_keys=True)


def point(setting: Setting, space: Space) -> dict[str, Any] | None:
    """The setting's place in a space, in the space's own values; None for a setting that lies outside.

    Fields that the space does not vary are not looked at.
    """
    gammas = dict(zip(GAMMAS, setting.config.gammas, strict=True))
    values = {**asdict(setting.options), **_resolved(setting), **gammas}
    if any(values[name] not in choices for name, choices in space.items()):
        return None
    return {name: choices[choices.index(values[name])] for name, choices in space.items()}


def _resolved(setting: Setting) -> dict[str, Any]:
    """The training fields without those of the loop, with what each None stands for put in."""
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
