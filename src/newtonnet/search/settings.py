"""Settings of a model on a graph: published by its authors, found by a search, or the model's defaults."""

import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from newtonnet.training import Setting, override

from .store import find_best
from .study import default_setting

UNTOUCHED = ("wisconsin", "actor", "reed98", "amherst41")
"""Graphs on which no search is ever run; they show what the defaults do on a graph nobody tuned for."""


def find_setting(
    dataset: str, model: str, source: str | None = None, *, results: str | Path = Path("results")
) -> Setting:
    """The settings of a model on a graph.

    Args:
        dataset: name of the graph.
        model: name of the model.
        source: ``published`` (tuned by the method's authors), ``searched`` (the best of ``newtonnet search``) or
            ``default``; None takes the published ones if there are any, else the defaults.
        results: folder with the results of searches.

    Returns:
        The model's options and its training configuration.
    """
    default = default_setting(model)
    table = PUBLISHED_SETTINGS.get(model, {})
    if source == "default" or (source is None and dataset not in table):
        return default
    if source == "searched":
        best = find_best(results, dataset, model)
        if best is None:
            raise ValueError(
                f"no search of {model} on {dataset} is stored in {results}; use --settings published or default"
            )
        return override(replace(default, source=source), best["setting"])
    if source not in (None, "published"):
        raise ValueError(f"unknown settings {source!r}; available: published, searched, default")
    if dataset not in table:
        there = f"{model} has published settings on {', '.join(table)}" if table else f"{model} has none on any graph"
        raise ValueError(f"no published settings for {model} on {dataset}; use --settings default ({there})")
    return override(replace(default, source="published"), table[dataset])


def first_settings(dataset: str, model: str) -> list[Setting]:
    """What a search tries first: the published settings if there are any, then the defaults."""
    sources = ["published", "default"] if dataset in PUBLISHED_SETTINGS.get(model, {}) else ["default"]
    return [find_setting(dataset, model, source) for source in sources]


def _read_published() -> dict[str, dict[str, dict[str, Any]]]:
    """The tables of ``published_settings.toml``: a row of numbers for each graph, and fields that all graphs share."""
    text = files("newtonnet.search").joinpath("published_settings.toml").read_text(encoding="utf-8")
    settings: dict[str, dict[str, dict[str, Any]]] = {}
    for table in tomllib.loads(text)["tables"]:
        for graph, row in table["graphs"].items():
            fields = dict(zip(table["fields"], row, strict=True))
            settings.setdefault(table["model"], {})[graph] = table["common"] | fields
    return settings


PUBLISHED_SETTINGS = _read_published()
"""Method, then graph, to fields of the model's options and its training; other methods have published none."""
