"""The settings to try: those of several families in ``portfolio.toml``, or random ones of a single model."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.resources import files
from typing import Any

import numpy as np

from newtonnet.nn import find_model
from newtonnet.search import shape_key
from newtonnet.training import GAMMAS, Config, Setting, override

from .families import BANK, defaults_of
from .members import Candidate

NEWTONNET = "newtonnet"
MOST = 24
"""Number of settings tried for a model other than NewtonNet."""
MOST_FOR_EIGENVECTORS = 20_000
"""Number of nodes of a graph up to which the portfolio has settings with its eigenvectors."""

Changes = dict[str, Any]


def candidates(
    model: str,
    settings: Mapping[str, Any],
    config: Mapping[str, Any],
    *,
    transductive: bool,
    labels: bool,
    spare: bool = True,
    nodes: int = 0,
) -> list[Candidate]:
    """The settings to try for a model, without duplicates, in the order in which they are tried.

    Args:
        model: for NewtonNet all families of ``portfolio.toml``, for any other model random settings of its own.
        settings: options and training fields that hold in every setting; families that lack one of them are left out.
        config: training fields of the caller, for the families that train in epochs.
        transductive: allow weights for every node.
        labels: allow training labels as inputs.
        spare: add those that are tried only in time that the others leave.
        nodes: number of nodes of the graph; eigenvectors of a large one take too long.
    """
    listed = _portfolio(transductive=transductive) if model == NEWTONNET else _drawn(model)
    tried: dict[str, Candidate] = {}
    for name, changes, for_spare_time in listed:
        if for_spare_time and not spare:
            continue
        default = defaults_of(name)
        if name != model and not _applies(name, default, settings):
            continue
        if nodes > MOST_FOR_EIGENVECTORS and changes.get("eigenvectors"):
            continue
        kept = {**changes, **settings, **({} if labels else without_labels(default))}
        if name in BANK:
            setting = override(default, kept)
            own = {field: config[field] for field in ("metric", "loss", "class_weight") if field in config}
            setting = replace(setting, config=replace(setting.config, **own))
        else:
            setting = override(default, {**kept, **config})
        tried.setdefault(repr((name, setting)), Candidate(name, setting, for_spare_time))
    return list(tried.values())


def _portfolio(*, transductive: bool) -> list[tuple[str, Changes, bool]]:
    """Models, changes of their defaults, and whether they are for spare time, as in ``portfolio.toml``."""
    text = files("newtonnet.estimator").joinpath("portfolio.toml").read_text(encoding="utf-8")
    groups = [group for group in tomllib.loads(text)["group"] if transductive or not group.get("transductive")]
    return [
        (group["model"], group["common"] | changes, group.get("spare", False))
        for group in groups
        for changes in group["settings"]
    ]


def _applies(model: str, default: Setting, settings: Mapping[str, Any]) -> bool:
    """Whether another family than the caller's has all of the settings; the shape regulariser belongs to one filter."""
    shaping = {"gammas", *GAMMAS, "ceiling", "variant", "penalty", "slices", "pivot"}
    shaping |= {"homophily", "homophily_start", "homophily_interval"}
    names = {field.name for kind in (type(default.options), Config) for field in fields(kind)} - shaping
    return not settings if model in BANK else set(settings) <= names


def without_labels(default: Setting) -> Changes:
    """The options that keep a model from reading labels."""
    names = {field.name for field in fields(default.options)}
    return {name: type(getattr(default.options, name))(0) for name in ("labels", "label_hops") if name in names}


def _drawn(model: str) -> list[tuple[str, Changes, bool]]:
    """The defaults, then random settings from the model's search space."""
    if model in BANK:
        return [(model, {}, False)]
    space = find_model(model).space
    rng = np.random.default_rng(0)
    drawn = [{name: values[rng.integers(len(values))] for name, values in space.items()} for _ in range(MOST - 1)]
    return [(model, changes, False) for changes in ({}, *drawn)]


def group_by_shape(numbered: Mapping[int, Candidate]) -> list[list[int]]:
    """The numbers of candidates that can train in one population together, in the order of their first."""
    groups: dict[str, list[int]] = {}
    for i, (model, setting, spare) in numbered.items():
        groups.setdefault(f"{model} {spare} {shape_key(setting)}", []).append(i)
    return list(groups.values())


def candidate_size(candidate: Candidate) -> int:
    """What the time of an epoch grows with, among settings of one model."""
    return math.prod(getattr(candidate.setting.options, name, 1) for name in ("layers", "hidden", "degree"))
