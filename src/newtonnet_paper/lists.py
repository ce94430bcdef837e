"""Lists of settings: what every method of a comparison tries, drawn before any of its scores is seen.

A search proposes settings from the validation scores of all splits, so that what is chosen for one split has seen the
others. A list has no such leak. It is stored with its study and stays as it is.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from newtonnet.search import Study, Trial, difference, identity, point, read_study, read_trials
from newtonnet.training import OUTDATED, Setting

LENGTHS = {"texas": 24, "cornell": 24, "pubmed": 8, "crocodile": 8, "amazon-computers": 6, "amazon-photo": 6}
"""Settings of each method where there are more or fewer than :data:`LENGTH`."""
LENGTH = 12

UNSEEN = 8
"""Trials of a search below this number were proposed before the search had seen any score."""

_ALIKE = ("checksum", "fixed", "protocol", "splits", "max_epochs", "patience", "metric", "defaults", "numerics")
"""What two studies must share for the trials of one to be those of the other."""

Choices = tuple[tuple[str, Mapping[str, Any]], ...]
"""Settings in order: the source of each, and how it differs from the study's base."""


def list_name(label: str) -> str:
    """The label of a study that tries a list instead of searching.

    >>> list_name(""), list_name("signed")
    ('list', 'signed-list')
    """
    return f"{label}-list" if label else "list"


def list_length(dataset: str) -> int:
    """Settings that every method tries on a graph.

    >>> list_length("texas"), list_length("cora")
    (24, 12)
    """
    return LENGTHS.get(dataset, LENGTH)


def make_list(study: Study, earlier: Path) -> Choices:
    """The base, then what an earlier search drew before it had seen a score, then random points of the space.

    Args:
        study: the study; its first settings do not count.
        earlier: file of a search of the same model on the same graph, which may be missing. Its published settings and
            those it proposed from scores are left out.
    """
    base = study.base()
    chosen: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def add(source: str, setting: Setting) -> None:
        chosen.setdefault(identity(setting), (source, difference(setting, base)))

    add("default", base)
    for trial in _drawn(earlier):
        now = {"variant": "released"} if trial.setting.get("variant") == OUTDATED else {}
        setting = study.setting({**trial.setting, **now})
        if point(setting, study.space) is not None:
            add("drawn", setting)
    digest = hashlib.sha256(f"{study.dataset} {study.name}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8]))
    length = list_length(study.dataset)
    for _ in range(100 * length):  # a small space may have fewer settings
        if len(chosen) >= length:
            break
        add(
            "drawn",
            study.setting({name: values[rng.integers(len(values))] for name, values in study.space.items()}),
        )
    return tuple(chosen.values())[:length]


def _drawn(path: Path) -> list[Trial]:
    """The trials of a search that were drawn or are the default, in the order of their numbers."""
    unseen = [trial for trial in read_trials(path) if trial.number < UNSEEN and trial.source != "published"]
    return sorted(unseen, key=lambda trial: trial.number)


def earlier_trials(study: Study, earlier: Path) -> list[Trial]:
    """Trials of an earlier search with settings of the list, as trials of the list's own study.

    Those of the outdated variant are left out: they would come out differently today.
    """
    header = read_study(earlier)
    own = study.describe()
    if header is None or any(header[name] != own[name] for name in _ALIKE):
        return []
    known = {
        json.dumps(trial.setting, sort_keys=True): trial
        for trial in _drawn(earlier)
        if trial.setting.get("variant") != OUTDATED
    }
    found = []
    for number, (source, changes) in enumerate(study.first):
        trial = known.get(json.dumps(changes, sort_keys=True))
        if trial is not None:
            found.append(replace(trial, study=study.key, number=number, source=source, beside=(number,)))
    return found


def stored_list(path: Path) -> Choices | None:
    """The list that a study's file holds; None where there is no file."""
    header = read_study(path)
    return None if header is None else tuple((source, changes) for source, changes in header["first"])
