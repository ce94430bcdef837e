"""What a search shows on standard error while it runs: the cells at work, their best, and the time left."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from newtonnet.search import Study, Trial

from .app import talk


@contextmanager
def watch(
    studies: Sequence[Study], found: Mapping[str, Sequence[Trial]], wanted: int
) -> Iterator[Callable[[Study, Trial], None]]:
    """Bars for all trials and for each cell that has begun; a line that stays for each cell that is done.

    Args:
        studies: the cells.
        found: trials of each study by its key, those that are stored at the start.
        wanted: trials of each study at the end.

    Yields:
        What to call with every new trial.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} trials{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    best = {study.key: max((trial.objective for trial in found[study.key]), default=0.0) for study in studies}
    done = {study.key: min(len(found[study.key]), wanted) for study in studies}
    with Progress(*columns, console=talk, transient=True) as bar:
        everything = bar.add_task("search", total=wanted * len(studies), completed=sum(done.values()), note="")
        bars: dict[str, TaskID] = {}

        def show(study: Study, trial: Trial) -> None:
            key = study.key
            best[key] = max(best[key], trial.objective)
            done[key] += 1
            if key not in bars:
                bars[key] = bar.add_task(f"{study.name} on {study.dataset}", total=wanted, note="")
            bar.update(bars[key], completed=done[key], note=f", best validation {best[key]:.4f}")
            bar.advance(everything)
            if done[key] >= wanted:
                bar.update(bars[key], visible=False)
                talk.print(
                    f"{study.name} on {study.dataset}: {done[key]} trials, best validation {best[key]:.4f}", style="dim"
                )

        yield show
