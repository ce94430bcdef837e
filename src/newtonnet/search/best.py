"""The best settings that searches have found, as one small table beside the trials."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from newtonnet.files import write_whole

from .selection import best_trial, nested_selection, paper_selection
from .store import lock_path
from .study import Study
from .trial import Trial


def best_path(results: str | Path) -> Path:
    """The table's place below a folder of results."""
    return Path(results) / "search" / "best.json"


def write_best(results: str | Path, study: Study, trials: Sequence[Trial]) -> None:
    """Put a study's best setting so far into the table: by graph, then by the study's name."""
    with FileLock(lock_path(results, "best")):
        table, row = _read(results), summarise_study(study, trials)
        if table.get(study.dataset, {}).get(study.name) == row:
            return
        table.setdefault(study.dataset, {})[study.name] = row
        ordered = {dataset: dict(sorted(rows.items())) for dataset, rows in sorted(table.items())}
        write_whole(best_path(results), json.dumps(ordered, indent=1, allow_nan=False) + "\n")


def summarise_study(study: Study, trials: Sequence[Trial]) -> dict[str, Any]:
    """The best setting by mean validation score, how it was found, and the test scores by both selections."""
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
    }


def find_best(results: str | Path, dataset: str, model: str) -> dict[str, Any] | None:
    """The table's row of a model on a graph, from random splits if there is such a search; None if there is none."""
    rows: list[dict[str, Any]] = [row for row in _read(results).get(dataset, {}).values() if row["model"] == model]
    plain = sorted((row for row in rows if not row["label"]), key=lambda row: row["protocol"] != "random")
    return plain[0] if plain else None


def _read(results: str | Path) -> dict[str, dict[str, Any]]:
    path = best_path(results)
    if not path.exists():
        return {}
    try:
        table: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not a table of best settings ({error}); remove it and search again") from error
    if not isinstance(table, dict) or not all(isinstance(rows, dict) for rows in table.values()):
        raise ValueError(f"{path} is not a table of best settings by graph and model; remove it and search again")
    return table
