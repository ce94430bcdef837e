"""The settings that tuning tries when nobody says what to try: a short list that has something for every graph."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from newtonnet.nn import find_model
from newtonnet.training import Config, Setting, override

MOST = 24
"""Settings tried for a model."""

FLAT = 1e-9
"""A filter's learning rate at which it stays where it starts, at g = 1: the model is then an MLP."""


def candidates(model: str, fixed: Mapping[str, Any], *, bound: bool) -> list[Setting]:
    """Settings of a model to try, the most useful first, all different.

    Args:
        model: its name in the zoo.
        fixed: options and training fields that the user has decided; they hold in every setting.
        bound: also try what binds NewtonNet to its graph, an adjacency branch.
    """
    base = default_setting(model)
    listed = _newtonnet(bound) if model == "newtonnet" else _drawn(model)
    settings = [override(base, {**changes, **fixed}) for changes in listed]
    return list({repr((s.options, s.config)): s for s in settings}.values())


def default_setting(model: str) -> Setting:
    """The model's own defaults."""
    entry = find_model(model)
    return Setting("default", entry.options, Config(**entry.training))


def _newtonnet(bound: bool) -> list[dict[str, Any]]:
    """Filters with and without the penalty, strong and weak decay and dropout, an MLP, and the adjacency branch."""
    steady: dict[str, Any] = {"filter_weight_decay": 0.0}
    free, shaped = {"gammas": (0.0, 0.0, 0.0)}, {"gammas": (1.0, 1.0, 1.0)}
    settings: list[dict[str, Any]] = []
    for rate, decay, gammas in product((0.01, 0.05), (5e-4, 5e-3), (free, shaped)):
        settings.append({**steady, **gammas, "learning_rate": rate, "weight_decay": decay})
    flat = {**free, "filter_learning_rate": FLAT}
    settings += [{**steady, **flat, "weight_decay": decay} for decay in (5e-4, 5e-3)]
    wide = {**steady, "points": "chebyshev", "degree": 10, "dropout": 0.5, "propagation_dropout": 0.0}
    settings += [{**wide, **gammas, "weight_decay": decay} for gammas, decay in product((free, shaped), (5e-4, 5e-3))]
    bare = {**steady, "dropout": 0.0, "propagation_dropout": 0.0}
    settings += [{**bare, **gammas, "learning_rate": rate} for gammas, rate in product((free, shaped), (0.01, 0.05))]
    if bound:
        branch = {**steady, "branch": 64, "branch_learning_rate": 0.003}
        settings += [{**branch, **free, "weight_decay": decay} for decay in (5e-4, 5e-3)]
        settings += [{**branch, **flat}, {**branch, **free, "per_channel": True}]
    return settings


def _drawn(model: str) -> list[dict[str, Any]]:
    """The defaults, then settings drawn from what the model's authors search over."""
    space = find_model(model).space
    rng = np.random.default_rng(0)
    drawn = [{name: values[rng.integers(len(values))] for name, values in space.items()} for _ in range(MOST - 1)]
    return [{}, *drawn]
