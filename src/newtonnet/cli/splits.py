"""What the commands share that train: one member for each split, a progress bar, a place for the result."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from newtonnet import training
from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.nn import build
from newtonnet.training import Record, Setting, fit

from .app import talk


def run_splits(
    graph: Graph,
    model: str,
    setting: Setting,
    splits: list[Split],
    *,
    seed: int = 0,
    device: str = "cpu",
    checkpoint: Path | None = None,
    threads: int | None = None,
    max_memory: int | None = None,
) -> list[Record]:
    """Train one member for each split as one population, with a progress bar on standard error."""
    run_seed = setting.config.run_seed + seed
    configs = [replace(setting.config, seed=seed + split.index, run_seed=run_seed) for split in splits]
    population = build(model, graph, setting.options, seeds=[config.seed for config in configs])
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("epoch {task.completed}/{task.total}, {task.fields[members]} training, best validation"),
        TextColumn("{task.fields[validation]:.3f}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=talk, transient=True) as bar:
        task = bar.add_task(
            f"{model} on {graph.name}", total=setting.config.max_epochs, members=len(splits), validation=0.0
        )

        def show(state: training.Progress) -> None:
            bar.update(task, completed=state.epoch, members=state.training, validation=state.validation)

        return fit(
            population,
            graph,
            splits,
            configs,
            device=device,
            checkpoint=checkpoint,
            threads=threads,
            max_memory=max_memory,
            progress=show,
        )


@contextmanager
def resumable(checkpoint: Path | None) -> Iterator[None]:
    """Says after Ctrl-C what goes on from where."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None and checkpoint.exists():
            talk.print(f"{checkpoint} keeps what was done; the same command goes on from there", style="dim")
        raise


def check_writable(path: Path) -> None:
    """Refuse a path that cannot become a file, before any work is done for it."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file to write to")
    existing = next(parent for parent in path.absolute().parents if parent.exists())
    if not existing.is_dir():
        raise ValueError(f"{existing} is a file, so nothing can be written below it; name another place")
    try:
        with TemporaryFile(dir=existing):  # permissions alone do not tell: a file system may be read-only
            pass
    except OSError as reason:
        raise ValueError(f"nothing can be written to {existing} ({reason.strerror}); name another place") from None
