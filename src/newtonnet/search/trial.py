"""A trial: one setting on all splits of a study, and what came out, as one line of JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from newtonnet.training import Record

Column = tuple[float | None, ...]
"""A number for each split; None where the member failed."""


@dataclass(frozen=True)
class Trial:
    """A setting and its scores; one entry for each split in every column."""

    study: str
    """The study's key."""
    number: int
    source: str
    """``published``, ``default`` or ``proposed``."""
    setting: Mapping[str, Any]
    """How it differs from the study's base."""
    beside: tuple[int, ...]
    """The trials that trained in the same population, this one among them."""
    train: Column
    validation: Column
    test: Column
    accuracy: Column
    """Test accuracy, whatever the metric is."""
    epochs: tuple[int, ...]
    best_epoch: tuple[int, ...]
    homophily: Column
    largest: Column
    """Largest magnitude of a raw filter parameter at any epoch."""
    points: tuple[float, ...]
    values: tuple[tuple[float | None, ...], ...]
    """The learned filter at its points, for each split."""
    response: tuple[tuple[float | None, ...], ...]
    """The learned filter at the frequencies of a record, for each split."""
    records: tuple[str, ...]
    """Ids of the runs."""
    seconds: float
    """Time spent on it: that of its population, divided by the trials in it."""

    @property
    def failed(self) -> int:
        """Splits on which the loss was not a number."""
        return sum(score is None for score in self.validation)

    @property
    def objective(self) -> float:
        """What a search maximises: the mean validation score over all splits, a failed one counted as 0, the worst."""
        return sum(score or 0.0 for score in self.validation) / len(self.validation)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self), allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> "Trial":
        """Read a line back; refused where it is not a trial of this version."""
        try:
            data = json.loads(line)
            names = {field.name for field in fields(cls)}
            if set(data) != names:
                raise ValueError(f"fields {sorted(set(data) ^ names)}")
            _check_kinds(data)
            lengths = {len(data[name]) for name in _BY_SPLIT}
            if len(lengths) > 1:
                raise ValueError(f"columns of {min(lengths)} to {max(lengths)} splits")
            return cls(
                **{name: _as_tuples(value) for name, value in data.items() if name != "setting"},
                setting=data["setting"],
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a trial of newtonnet: {error}") from error


_BY_SPLIT = ("train", "validation", "test", "accuracy", "epochs", "best_epoch", "homophily", "values", "records")
_SINGLE: dict[str, type | tuple[type, ...]] = {
    "study": str,
    "number": int,
    "source": str,
    "setting": dict,
    "seconds": (int, float),
}
_TEXTS, _TABLES = ("records",), ("values", "response")


def _check_kinds(data: Mapping[str, Any]) -> None:
    """Every field of a line is of its kind: alone, texts, numbers, or rows of numbers."""
    for name, value in data.items():
        if name in _SINGLE:
            fits = isinstance(value, _SINGLE[name])
        elif name in _TEXTS:
            fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
        elif name in _TABLES:
            fits = isinstance(value, list) and all(_are_numbers(row) for row in value)
        else:
            fits = _are_numbers(value)
        if not fits:
            raise ValueError(f"{name} {value!r:.60}")
    if data["number"] not in data["beside"]:
        raise ValueError(f"trial {data['number']} is not among those beside it, {data['beside']!r:.60}")


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(item is None or isinstance(item, int | float) for item in value)


def make_trial(
    study: str,
    number: int,
    source: str,
    setting: Mapping[str, Any],
    *,
    beside: Sequence[int],
    records: Sequence[Record],
) -> Trial:
    """The trial that its records tell of, one for each split in order; filters are kept to four digits."""
    outcomes = [record.outcome for record in records]
    good = [outcome.status == "done" for outcome in outcomes]

    def column(name: str) -> Column:
        return tuple(getattr(outcome, name) if fine else None for outcome, fine in zip(outcomes, good, strict=True))

    def rounded(name: str) -> Column:
        return tuple(_short(value) for value in column(name))

    return Trial(
        study=study,
        number=number,
        source=source,
        setting=setting,
        beside=tuple(beside),
        train=column("train"),
        validation=column("validation"),
        test=column("test"),
        accuracy=column("test_accuracy"),
        epochs=tuple(outcome.epochs for outcome in outcomes),
        best_epoch=tuple(outcome.best_epoch for outcome in outcomes),
        homophily=rounded("homophily"),
        largest=rounded("largest_value"),
        points=tuple(_short(value) or 0.0 for value in outcomes[0].points),
        values=tuple(tuple(_short(value) for value in outcome.values) for outcome in outcomes),
        response=tuple(tuple(_short(value) for value in outcome.response) for outcome in outcomes),
        records=tuple(record.id for record in records),
        seconds=round(sum(outcome.seconds for outcome in outcomes), 3),
    )


def _short(value: float | None) -> float | None:
    """Four digits; what is not finite becomes None."""
    return float(f"{value:.4g}") if value is not None and abs(value) < float("inf") else None


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(item) for item in value) if isinstance(value, list) else value
