"""Accuracy over the degree K, and whether Chebyshev points stay where equispaced ones decline."""

from newtonnet.search import Trial, best_trial
from newtonnet.training.statistics import Estimate, compare
from newtonnet_paper.exhibit import FAILS, HOLDS, OPEN, PARTLY, UNSURE, Curves, Finding, Role, Table
from newtonnet_paper.results import Line
from newtonnet_paper.scores import how_made, split_ratio
from newtonnet_paper.stored import Stored

from .grids import DEGREES, POINTS
from .measured import COMMAND, ONE, estimate_text, estimates_over, percent, series_of, source_of, value_of

STATEMENT = "Accuracy rises and falls with K; Chebyshev points remove the decline"
PUBLISHED = "a decline at large K, blamed on Runge's phenomenon"
ROLES: tuple[Role, ...] = ("high", "low")
"""Their colours, as in the drawings of interpolation."""


def degree_curves(stored: Stored) -> Curves:
    """Both kinds of points over K."""
    series = tuple(
        series_of(kind, estimates_over(stored, "degree", points=kind), role=role)
        for kind, role in zip(POINTS, ROLES, strict=True)
    )
    return Curves(stored.dataset, "degree K", "test accuracy, %", series)


def degree_table(line: Line) -> Table:
    """Both kinds of points side by side, a row for each K."""
    stored = line["stored"]
    both = {kind: dict(estimates_over(stored, "degree", points=kind)) for kind in POINTS}
    rows = tuple((degree, *(estimate_text(both[kind].get(degree)) for kind in POINTS)) for degree in DEGREES)
    notes = (f"{how_made([stored], tried=ONE)} All other fields are those of the setting: {source_of(line)}.", COMMAND)
    return Table(f"The degree on {stored.dataset}", ("K", *POINTS), rows, notes)


def decline(stored: Stored) -> Finding:
    """From the degree that validates best to the largest, and both kinds of points at the largest, paired by split."""
    statement = f"{STATEMENT} ({stored.dataset})"
    ratio = split_ratio(stored.dataset, stored.protocol)
    last: dict[str, Trial] = {}
    drops: dict[str, Estimate | None] = {}
    for kind in POINTS:
        own = [trial for trial in stored.trials if value_of(stored, trial, "points") == kind]
        largest = [trial for trial in own if value_of(stored, trial, "degree") == DEGREES[-1]]
        others = [trial for trial in own if value_of(stored, trial, "degree") != DEGREES[-1]]
        if not largest or not others:
            return Finding(statement, "not all degrees are stored", PUBLISHED, OPEN)
        last[kind] = largest[0]
        drops[kind] = compare(percent(best_trial(others)), percent(largest[0]), ratio)
    equispaced, chebyshev = (drops[kind] for kind in POINTS)
    gain = compare(percent(last["chebyshev"]), percent(last["equispaced"]), ratio)
    if equispaced is None or chebyshev is None or gain is None:
        return Finding(statement, "not all degrees have scores", PUBLISHED, OPEN)
    ours = (
        f"lost from the K that validates best to K = {DEGREES[-1]}: equispaced {estimate_text(equispaced)}, Chebyshev "
        f"{estimate_text(chebyshev)}; Chebyshev − equispaced at K = {DEGREES[-1]}: {gain.signed}"
    )
    return Finding(statement, ours, PUBLISHED, _decline_verdict(equispaced, chebyshev, gain))


def _decline_verdict(equispaced: Estimate, chebyshev: Estimate, gain: Estimate) -> str:
    """Both halves of the statement need an interval that excludes 0; one on the other side of it refutes."""
    if equispaced.high < 0 or gain.high < 0:
        return FAILS
    if equispaced.low > 0 and gain.low > 0:
        return HOLDS if chebyshev.low <= 0 else PARTLY
    return PARTLY if equispaced.low > 0 or gain.low > 0 else UNSURE
