"""Numbers that the paper and others report, from ``published.toml``, which has their citation."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files

_TABLES = tomllib.loads(files("newtonnet.search").joinpath("published.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class BestScore:
    """A published score in percent, its standard deviation over splits or seeds, and the method."""

    score: float
    deviation: float
    method: str


DATASETS: tuple[str, ...] = tuple(_TABLES["table1"]["datasets"])

SCORES: dict[tuple[str, str], tuple[float, float]] = {
    (dataset, model): (mean, std)
    for model, row in _TABLES["table1"]["scores"].items()
    for dataset, (mean, std) in zip(DATASETS, row, strict=True)
}
"""From (dataset, model) to mean and standard deviation in percent."""

HOMOPHILY: dict[str, float] = _TABLES["homophily"]
"""Learned homophily by dataset."""

REAL_HOMOPHILY: dict[str, float] = _TABLES["real_homophily"]
"""Homophily of the labels by dataset."""

COST_DATASETS: tuple[str, ...] = tuple(_TABLES["cost"]["datasets"])

RUNNING_TIME: dict[tuple[str, int | None], tuple[float, ...]] = {
    (row["model"], row.get("degree")): tuple(row["milliseconds"]) for row in _TABLES["cost"]["running_time"]
}
"""From (model, degree K) to ms per epoch on each graph of ``COST_DATASETS``; K is None where the paper gives none."""

MEMORY: dict[str, tuple[int, ...]] = {model: tuple(row) for model, row in _TABLES["cost"]["memory"].items()}
"""From model to MB on each graph of ``COST_DATASETS``."""

COMPLEXITY: dict[str, tuple[str, str]] = {
    model: (time, space) for model, (time, space) in _TABLES["complexity"].items()
}
"""From model to time and space complexity."""

BEST: dict[str, BestScore] = {dataset: BestScore(**row) for dataset, row in _TABLES["best"].items()}
"""From dataset to the best number published elsewhere on the same splits."""
