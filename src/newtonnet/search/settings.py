"""Which settings to run a model with: its authors' best ones, those a search found, or defaults that suit any graph."""

from pathlib import Path

from newtonnet.nn import find_model
from newtonnet.training import Config, Setting, override

from . import find_best
from .published_settings import PUBLISHED_SETTINGS

UNTOUCHED = ("wisconsin", "actor", "reed98", "amherst41", "tolokers")
"""Graphs that no search is ever run on, so that they show what the defaults do on a graph nobody tuned for."""


def find_setting(
    dataset: str, model: str, source: str | None = None, *, results: str | Path = Path("results")
) -> Setting:
    """The settings of a model on a graph.

    Args:
        dataset: the graph's name.
        model: the model's name.
        source: ``published`` (tuned by the method's authors, each for their own splits and loop: see
            :mod:`newtonnet.search.published_settings`), ``searched`` (the best of ``newtonnet search``), or
            ``default``; None takes published ones where there are any.
        results: the folder that searches were written to.
    """
    entry = find_model(model)
    table = PUBLISHED_SETTINGS.get(model, {})
    default = Setting("default", entry.options, Config(**entry.training))
    if source == "default" or (source is None and dataset not in table):
        return default
    if source == "searched":
        best = find_best(results, dataset, model)
        if best is None:
            raise ValueError(
                f"no search of {model} on {dataset} is stored in {results}; use --settings published or default"
            )
        return override(Setting("searched", default.options, default.config), best["setting"])
    if source not in (None, "published"):
        raise ValueError(f"unknown settings {source!r}; available: published, searched, default")
    if dataset not in table:
        there = f"{model} has published ones on {', '.join(table)}" if table else f"{model} has none on any graph"
        raise ValueError(f"no published settings for {model} on {dataset}; use --settings default ({there})")
    return override(Setting("published", default.options, default.config), table[dataset])


def first_settings(dataset: str, model: str) -> list[Setting]:
    """What a search tries first: the published settings where there are any, then the defaults."""
    sources = ["published", "default"] if dataset in PUBLISHED_SETTINGS.get(model, {}) else ["default"]
    return [find_setting(dataset, model, source) for source in sources]
