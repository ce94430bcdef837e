"""The work of a claim behind progress bars: first the searches it rests on, then its own units."""

import time
from collections.abc import Sequence
from pathlib import Path

from newtonnet.cli.places import Place, open_place
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from newtonnet.cli.app import talk
from newtonnet_paper.cells import Cell, mend_best, missing, plan, sweep_cells
from newtonnet_paper.claim import Claim, Request, pending, run, wanted_cells


def left_undone(claim: Claim, request: Request, results: Path) -> int:
    """Trials and units of a request that are not stored."""
    trials = sum(count for _, count in missing(wanted_cells(claim, request, results), results))
    return trials + len(pending(claim, request, results)[0])


def work(claim: Claim, request: Request, results: Path, *, limit: float | None, place: Place) -> int:
    """Do what is not stored yet; how many pieces are left.

    Args:
        claim: the claim.
        request: what to do of it.
        results: folder of all results.
        limit: begin nothing new after so many seconds.
        place: where searches run; the claim's own units run in this process.
    """
    deadline = None if limit is None else time.monotonic() + limit
    cells = wanted_cells(claim, request, results)
    mend_best(cells, results)
    lines = plan(cells, results)
    for line in lines:
        talk.print(line, style="dim")
    if lines:
        _search(cells, results, deadline, place)
    rest = None if deadline is None else max(deadline - time.monotonic(), 0.0)
    with _bar() as bar:
        task = bar.add_task(f"{claim.name}, {request.profile}", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        undone = run(claim, request, results, seconds=rest, progress=show)
    return undone + sum(count for _, count in missing(cells, results))


def _search(cells: Sequence[Cell], results: Path, deadline: float | None, place: Place) -> None:
    counts = missing(cells, results)
    left = {(cell.dataset, cell.name): count for cell, count in counts}
    with open_place(place) as executor, _bar() as bar:
        task = bar.add_task("search", total=sum(left.values()))
        for cell, trial in sweep_cells(
            cells,
            results,
            executor=executor,
            stop=None if deadline is None else lambda expected: time.monotonic() + expected > deadline,
        ):
            key = (cell.dataset, cell.name)
            left[key] -= 1
            bar.update(task, advance=1, description=f"{cell.name} on {cell.dataset}")
            if left[key] <= 0:
                talk.print(f"{cell.name} on {cell.dataset}: done, trial {trial.number} the last", style="dim")


def _bar() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=talk, transient=True)
