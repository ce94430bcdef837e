"""Runs that differ in their split and seed only: what a mean over splits may be taken of."""

from collections.abc import Iterable, Mapping
from typing import Any

from newtonnet.report import plain
from newtonnet.training import Record
from newtonnet.training.record import ADDED

FREE = ("seed", "run_seed", "history_interval")
"""Training fields in which runs of one setting may differ."""


def group_runs(records: Iterable[Record]) -> list[tuple[str, list[Record]]]:
    """Records of one graph, model, setting and protocol together, with a title; one that is given twice counts once.

    Where a model has several settings on a graph, titles say in what they differ.
    """
    groups: list[tuple[Mapping[str, Any], dict[str, Record]]] = []
    for record in records:
        decided = _decided(record)
        found = next((members for known, members in groups if known == decided), None)
        if found is None:
            groups.append((decided, found := {}))
        found[record.id] = record
    return [(_title(known, [other for other, _ in groups]), list(found.values())) for known, found in groups]


def _decided(record: Record) -> dict[str, Any]:
    """Everything that decides a run but its split and its seed, by name."""
    config = {name: value for name, value in record.config.items() if name not in FREE}
    protocol = record.split["protocol"]
    return {**ADDED, **record.options, **config, "model": record.model, "dataset": record.dataset, "protocol": protocol}


def _title(one: Mapping[str, Any], groups: Iterable[Mapping[str, Any]]) -> str:
    rivals = [other for other in groups if all(other[name] == one[name] for name in ("model", "dataset"))]
    names = dict.fromkeys(name for other in rivals for name in other)
    told = [f"{name} {plain(one.get(name))}" for name in names if any(o.get(name) != one.get(name) for o in rivals)]
    return f"{one['model']} on {one['dataset']}" + (f" ({', '.join(told)})" if told else "")
