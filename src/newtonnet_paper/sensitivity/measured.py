"""What the trials of a grid have measured over the parameter that it varies."""

from typing import Any

from newtonnet.search import Trial
from newtonnet.training import GAMMAS
from newtonnet.training.statistics import Estimate, estimate
from newtonnet_paper.exhibit import Series
from newtonnet_paper.results import Line
from newtonnet_paper.scores import split_ratio
from newtonnet_paper.stored import Stored

ONE = "each cell is one setting"
COMMAND = "Command: `newtonnet reproduce sensitivity --profile paper`"


def value_of(stored: Stored, trial: Trial, name: str) -> Any:
    """What a trial has for a parameter: its own, or what it shares with all."""
    if name in GAMMAS and name not in trial.setting:
        return stored.value(trial, "gammas")[GAMMAS.index(name)]
    return stored.value(trial, name)


def percent(trial: Trial) -> list[float | None]:
    """Test scores of all splits, None for one that failed."""
    return [None if value is None else 100 * value for value in trial.test]


def estimates_over(stored: Stored, name: str, **wanted: Any) -> list[tuple[float, Estimate]]:
    """Value of a parameter to the mean test score, ascending, of the trials that have the other wanted values."""
    ratio = split_ratio(stored.dataset, stored.protocol)
    found = []
    for trial in stored.trials:
        if all(value_of(stored, trial, key) == value for key, value in wanted.items()):
            one = estimate(percent(trial), ratio)
            if one is not None:
                found.append((float(value_of(stored, trial, name)), one))
    return sorted(found, key=lambda pair: pair[0])


def series_of(name: str, found: list[tuple[float, Estimate]], **look: Any) -> Series:
    """A curve with its 95% intervals."""
    return Series(
        name,
        tuple(x for x, _ in found),
        tuple(one.mean for _, one in found),
        tuple((one.high - one.low) / 2 for _, one in found),
        **look,
    )


def estimate_text(one: Estimate | None) -> str | None:
    """Mean and interval, as a cell of a table."""
    return None if one is None else f"{one.mean:.2f} [{one.low:.2f}, {one.high:.2f}]"


def source_of(line: Line) -> str:
    """Where the setting that a grid is around comes from."""
    source: str = line["stored"].trials[0].source
    return source if line["current"] else f"{source}, another would be taken now"
