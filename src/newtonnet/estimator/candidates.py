"""The settings that tuning tries when nobody says what to try: a short list that has something for every graph."""

from collections.abc import Mapping
from dataclasses import fields
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from newtonnet.nn import find_model
from newtonnet.training import Config, Setting, override

MOST = 24
"""Settings tried for a model other than NewtonNet."""

FLAT = 1e-9
"""A filter's learning rate at which it stays where it starts, at g = 1: the model is then an MLP."""

Changes = dict[str, Any]


class Candidate(NamedTuple):
    """A model and how to train it."""

    model: str
    setting: Setting


def candidates(model: str, fixed: Mapping[str, Any], *, bound: bool) -> list[Candidate]:
    """What to try for a model, the most useful first, all different.

    NewtonNet comes with its family: the filter alone, with an adjacency branch, and as a layer of a residual stack.

    Args:
        model: its name in the zoo.
        fixed: options and training fields that the user has decided; they hold in everything that is tried.
        bound: also try what binds NewtonNet to its graph, the adjacency branch.
    """
    listed = [(model, changes) for changes in (_newtonnet(bound) if model == "newtonnet" else _drawn(model))]
    if model == "newtonnet" and not set(fixed) - _stack_names():
        listed += [("newton-stack", changes) for changes in _stacks()]
    tried = [Candidate(name, override(default_setting(name), {**changes, **fixed})) for name, changes in listed]
    return list({repr(candidate): candidate for candidate in tried}.values())


def default_setting(model: str) -> Setting:
    """The model's own defaults."""
    entry = find_model(model)
    return Setting("default", entry.options, Config(**entry.training))


def _stack_names() -> set[str]:
    """Options and training fields that mean something to a stack, which has no single filter to shape."""
    kinds = (find_model("newton-stack").options, Config)
    shaping = {"gammas", "ceiling", "variant", "penalty", "pivot", "homophily_interval"}
    return {field.name for kind in kinds for field in fields(kind)} - shaping


def _newtonnet(bound: bool) -> list[Changes]:
    """Filters with and without the penalty, strong and weak decay and dropout, an MLP, and the adjacency branch."""
    steady: Changes = {"filter_weight_decay": 0.0}
    free, shaped = {"gammas": (0.0, 0.0, 0.0)}, {"gammas": (1.0, 1.0, 1.0)}
    both = (free, shaped)
    flat = {**free, "filter_learning_rate": FLAT}
    wide = {**steady, "points": "chebyshev", "degree": 10, "propagation_dropout": 0.0}
    bare = {**steady, "dropout": 0.0, "propagation_dropout": 0.0}
    branch = {**steady, **free, "branch": 64, "branch_learning_rate": 0.003}
    settings = [
        {**steady, **gammas, "learning_rate": rate, "weight_decay": decay}
        for rate, decay, gammas in product((0.01, 0.05), (5e-4, 5e-3), both)
    ]
    settings += [{**steady, **flat, "weight_decay": decay} for decay in (5e-4, 5e-3)]
    settings += [{**wide, **gammas, "weight_decay": decay} for gammas, decay in product(both, (5e-4, 5e-3))]
    settings += [{**bare, **gammas, "learning_rate": rate} for gammas, rate in product(both, (0.01, 0.05))]
    if bound:
        settings += [{**branch, "weight_decay": decay} for decay in (5e-4, 5e-3)]
        settings += [{**branch, **flat}, {**branch, "per_channel": True}]
    return settings


def _stacks() -> list[Changes]:
    """Deep ones, for graphs whose features say little and whose structure says much."""
    deep: Changes = {"hidden": 64, "degree": 2, "residual": True, "norm": "layer", "dropout": 0.2, "weight_decay": 0.0}
    return [{**deep, "layers": layers, "learning_rate": 0.005} for layers in (3, 6)]


def _drawn(model: str) -> list[Changes]:
    """The defaults, then settings drawn from what the model's authors search over."""
    space = find_model(model).space
    rng = np.random.default_rng(0)
    drawn = [{name: values[rng.integers(len(values))] for name, values in space.items()} for _ in range(MOST - 1)]
    return [{}, *drawn]
