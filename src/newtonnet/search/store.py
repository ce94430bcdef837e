"""Where searches are stored: a file of JSON lines for each study, and one table of the best settings.

The first line of a file is the study, each other line is a trial. A line is written whole or not at all, and holds a
checksum of itself; older lines have none.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from newtonnet.files import append, locked, parse_json, with_sum, without_sum, write_whole
from newtonnet.training import OUTDATED

from .selection import best_trial, nested_selection, paper_selection
from .study import Study
from .trials import Trial


def store_path(results: str | Path, study: Study) -> Path:
    """The file of a study below a folder of results.

    >>> store_path("results", Study("cora", "", "mlp")).as_posix()
    'results/search/cora/mlp.jsonl'
    """
    return Path(results) / "search" / study.dataset / f"{study.name}.jsonl"


class BusyError(ValueError):
    """Another process has the study's file open."""


@dataclass(frozen=True)
class Store:
    """The file of one study, locked by this process; see :func:`open_store`."""

    path: Path
    header: str
    """Its first line."""

    def trials(self) -> list[Trial]:
        """All stored trials, in the order in which they finished."""
        return read_trials(self.path)

    def append(self, trials: Sequence[Trial]) -> None:
        """Add the trials of one population, after the study's own line if they are the first, and flush to disk."""
        begun = self.path.exists() and self.path.stat().st_size > 0
        lines = [*([] if begun else [self.header]), *(trial.to_json() for trial in trials)]
        append(self.path, "".join(with_sum(line) + "\n" for line in lines).encode())


@contextmanager
def open_store(results: str | Path, study: Study) -> Iterator[Store]:
    """Open a study's file and lock it for this process; half a line that a crash left is removed.

    A new file is created with its first trials.

    Args:
        results: folder of results.
        study: the study.

    Raises:
        BusyError: another process has the file open.
        ValueError: the file holds trials of another study.
    """
    path = store_path(results, study)
    busy = BusyError(f"another process is searching {study.name} on {study.dataset} ({path})")
    with locked(lock_path(results, f"{study.dataset}-{study.name}"), busy=busy):
        header, trials, sound = _read(path)
        if trials and header is not None and header["key"] != study.key:
            raise ValueError(
                f"{path} holds another study ({_differences(header['study'], study.describe())}); "
                "move it away or use another folder of results"
            )
        kept = sound if trials else 0  # a study without trials makes room for another
        if path.exists() and kept < path.stat().st_size:
            os.truncate(path, kept)
        yield Store(path, json.dumps({"key": study.key, "study": study.describe()}, separators=(",", ":")))


def read_trials(path: str | Path) -> list[Trial]:
    """The trials in a study's file, without those that a crash cut off; the file is not changed."""
    return _read(Path(path))[1]


def read_study(path: str | Path) -> dict[str, Any] | None:
    """The description of the study in a file; None if the file has none."""
    header = _read(Path(path))[0]
    return None if header is None else header["study"]


def lock_path(results: str | Path, name: str) -> Path:
    """A file to lock, in a folder that git ignores."""
    folder = Path(results) / "search" / ".locks"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    return folder / f"{name}.lock"


def _read(path: Path) -> tuple[dict[str, Any] | None, list[Trial], int]:
    """The first line, the trials of whole populations, and the bytes up to the last one; a crash may leave more."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    header: dict[str, Any] | None = None
    trials: list[Trial] = []
    size = sound = whole = 0
    for i, line in enumerate(lines):
        try:
            if i == 0:
                header = _header(line)
            else:
                trials.append(Trial.from_json(without_sum(line.decode())))
        except ValueError as error:
            if 0 < i == len(lines) - 1:
                break
            raise ValueError(f"{path}, line {i + 1}: {error}; repair it or move the file away") from error
        if header is None or (i > 0 and trials[-1].study != header["key"]):
            raise ValueError(f"{path}, line {i + 1}: a trial of another study; repair it or move the file away")
        size += len(line) + 1
        if i == 0 or trials[-1].number == trials[-1].beside[-1]:
            sound, whole = size, len(trials)
    numbers = [trial.number for trial in trials[:whole]]
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"{path} holds a trial twice; repair it or move the file away")
    return header, trials[:whole], sound


def _header(line: bytes) -> dict[str, Any]:
    found = parse_json(without_sum(line.decode()))
    if not isinstance(found, dict) or not isinstance(found.get("study"), dict) or found.keys() != {"key", "study"}:
        raise ValueError("expected a study with its key")
    needed = {item.name for item in fields(Study) if item.name != "rungs"} | {"defaults", "numerics"}
    missing = needed - found["study"].keys()
    if missing:
        raise ValueError(f"expected a study with the field {min(missing)}")
    for name in ("space", "fixed", "defaults"):
        if not isinstance(found["study"][name], dict):
            raise ValueError(f"expected an object for the study's {name}, got {found['study'][name]!r:.60}")
    return found


def _differences(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    return "; ".join(
        f"another {name}" if isinstance(value, list | dict) else f"{name} {theirs.get(name)}, here {value}"
        for name, value in ours.items()
        if theirs.get(name) != value
    )


def best_path(results: str | Path) -> Path:
    """The table of best settings below a folder of results."""
    return Path(results) / "search" / "best.json"


def write_best(results: str | Path, study: Study, trials: Sequence[Trial]) -> None:
    """Update the row of a study in the table of best settings, which is ordered by graph and study."""
    valid = valid_trials(study, trials)
    with locked(lock_path(results, "best")):
        known = any(not trial.dropped for trial in valid)
        table, row = _read_best(results), summarise_study(study, valid) if known else None
        if table.get(study.dataset, {}).get(study.name) == row:
            return
        if row is None:
            del table[study.dataset][study.name]
        else:
            table.setdefault(study.dataset, {})[study.name] = row
        ordered = {dataset: dict(sorted(rows.items())) for dataset, rows in sorted(table.items())}
        write_whole(best_path(results), json.dumps(ordered, indent=1, allow_nan=False) + "\n")


def valid_trials(study: Study, trials: Sequence[Trial]) -> list[Trial]:
    """The trials that count: not those with a penalty that can no longer be trained."""
    configs = [study.setting(trial.setting).config for trial in trials]
    gone = [config.variant == OUTDATED and any(config.gammas) for config in configs]
    return [trial for trial, left_out in zip(trials, gone, strict=True) if not left_out]


def summarise_study(study: Study, trials: Sequence[Trial]) -> dict[str, Any]:
    """The best setting by mean validation score, how it was found, and the test scores of both selections."""
    best = best_trial(trials)
    paper, nested = paper_selection(trials), nested_selection(trials)
    return {
        "model": study.model,
        "label": study.label,
        "setting": {**study.fixed, **best.setting},
        "source": best.source,
        "trial": best.number,
        "trials": len(trials),
        "validation": best.objective,
        "failed": best.failed,
        "selection": "paper",
        "test": {"mean": paper.mean, "std": paper.std},
        "nested": {"mean": nested.mean, "std": nested.std},
        "metric": study.metric,
        "protocol": study.protocol,
        "splits": study.splits,
        "max_epochs": study.max_epochs,
        "patience": study.patience,
        "study": study.key,
        **({"models": count_models(study, trials)} if study.rungs else {}),
    }


def count_models(study: Study, trials: Sequence[Trial]) -> dict[str, int]:
    """How many models, settings times splits, were started, and how many of them were trained to the end."""
    complete = sum(not trial.dropped for trial in trials)
    return {"started": len(trials) * study.splits, "complete": complete * study.splits}


def find_best(results: str | Path, dataset: str, model: str) -> dict[str, Any] | None:
    """The row of a model on a graph in the table, preferably of random splits; None if there is none.

    Rows are ordered by name, so a search that dropped no settings comes before one that did.
    """
    rows = [row for row in _read_best(results).get(dataset, {}).values() if row["model"] == model and not row["label"]]
    return min(rows, key=lambda row: row["protocol"] != "random", default=None)


def _read_best(results: str | Path) -> dict[str, dict[str, Any]]:
    path = best_path(results)
    if not path.exists():
        return {}
    try:
        table: dict[str, dict[str, Any]] = parse_json(path.read_bytes())
        if not isinstance(table, dict) or not all(isinstance(rows, dict) for rows in table.values()):
            raise ValueError("expected rows by graph and study")
    except ValueError as error:
        raise ValueError(f"{path} is not a table of best settings ({error}); remove it and search again") from error
    return table
