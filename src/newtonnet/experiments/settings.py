"""Which settings to run a model with: the released code's best ones, or defaults that suit any graph."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from newtonnet.nn import Options, find_model
from newtonnet.training import Config


@dataclass(frozen=True)
class Setting:
    """A model's shape and its training; seeds and the length of the loop are left to the caller."""

    source: str
    options: Any
    config: Config


# lr, lr of t, weight decay, dropout, propagation dropout, gamma1, gamma2, gamma3; K = 5 and 64 hidden units throughout.
_PUBLISHED = {
    "cora": (0.05, 0.01, 5e-4, 0.3, 0.5, 0, 1, 3),
    "citeseer": (0.01, 0.05, 0, 0, 0.5, 0, 3, 5),
    "pubmed": (0.05, 0.005, 0, 0.3, 0.3, 0, 0, 1),
    "chameleon": (0.05, 0.01, 0, 0, 0, 3, 5, 0),
    "squirrel": (0.05, 0.005, 0, 0.1, 0.5, 5, 3, 0),
    "crocodile": (0.005, 0.005, 5e-4, 0, 0.1, 3, 3, 0),
    "texas": (0.05, 0.005, 5e-4, 0.5, 0, 0, 5, 3),
    "cornell": (0.05, 0.005, 5e-4, 0.5, 0.1, 0, 3, 0),
    "penn94": (0.005, 0.01, 5e-4, 0.3, 0.1, 0, 1, 0),
    "twitch-gamer": (0.005, 0.005, 0, 0.5, 0.3, 1, 0, 0),
    "genius": (0.05, 0.005, 0, 0, 0.5, 0, 1, 0),
}


def override(setting: Setting, changes: Mapping[str, Any]) -> Setting:
    """The setting with some of its options or training fields changed, each found by its name.

    ``gamma1``, ``gamma2`` and ``gamma3`` change one of the three ``gammas``.
    """
    options = {field.name for field in fields(setting.options)}
    training = {field.name for field in fields(Config)}
    gammas = list(setting.config.gammas)
    inside: dict[str, Any] = {}
    outside: dict[str, Any] = {}
    for name, value in changes.items():
        if name in ("gamma1", "gamma2", "gamma3"):
            gammas[int(name[-1]) - 1] = float(value)
            outside["gammas"] = tuple(gammas)
        elif name in options:
            inside[name] = value
        elif name in training:
            outside[name] = value
        else:
            raise ValueError(f"this model has no option {name!r}; it has {', '.join(sorted(options | training))}")
    return Setting(setting.source, replace(setting.options, **inside), replace(setting.config, **outside))


def find_setting(dataset: str, model: str, source: str | None = None) -> Setting:
    """The settings of a model on a graph.

    Args:
        dataset: the graph's name.
        model: the model's name.
        source: ``published`` (tuned by the authors with the released code's loss, so they come with
            ``variant="code"``), ``searched``, or ``default``; None takes published ones where there are any.
    """
    entry = find_model(model)
    known = model == "newtonnet" and dataset in _PUBLISHED
    if source == "default" or (source is None and not known):
        return Setting("default", entry.options, Config(**entry.training))
    if source == "searched":
        raise ValueError(f"no search has been run for {model} on {dataset}; use --settings published or default")
    if source not in (None, "published"):
        raise ValueError(f"unknown settings {source!r}; available: published, searched, default")
    if not known:
        raise ValueError(
            f"no published settings for {model} on {dataset}; use --settings default "
            f"(newtonnet has published ones on {', '.join(_PUBLISHED)})"
        )
    rate, filter_rate, decay, drop, propagation_drop, *gammas = _PUBLISHED[dataset]
    low, middle, high = (float(gamma) for gamma in gammas)
    return Setting(
        "published",
        Options(dropout=drop, propagation_dropout=propagation_drop),
        Config(
            learning_rate=rate,
            filter_learning_rate=filter_rate,
            weight_decay=decay,
            gammas=(low, middle, high),
            variant="code",
        ),
    )
