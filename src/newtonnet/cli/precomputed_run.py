"""``newtonnet train --regime precomputed``: blocks of propagated features on disk, then mini-batches of nodes."""

from dataclasses import replace
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from newtonnet import training
from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.out_of_core import (
    Batching,
    PropagationProgress,
    make_filter,
    propagate_to_disk,
    train_on_ray,
    train_out_of_core,
)
from newtonnet.training import Record, Setting

from .app import talk
from .places import Place

MEMORY, PRECOMPUTED = "memory", "precomputed"
REGIMES = (MEMORY, PRECOMPUTED)


def check_regime(
    regime: str,
    model: str,
    *,
    store: Path | None,
    batch: int | None = None,
    device: str = "cpu",
    place: Place | None = None,
) -> None:
    """Refuse what does not go together, before any work is done."""
    if regime not in REGIMES:
        raise ValueError(f"--regime is {' or '.join(REGIMES)}, got {regime!r}")
    if regime == MEMORY and (store is not None or batch is not None):
        raise ValueError("--store and --batch belong to --regime precomputed")
    if regime == PRECOMPUTED and model != "newtonnet":
        raise ValueError(f"--regime precomputed trains newtonnet alone, got --model {model}")
    if regime == PRECOMPUTED and device != "cpu":
        raise ValueError(f"--regime precomputed runs on the cpu, got --device {device}")
    if regime == MEMORY and place is not None and (place.on != "local" or place.workers is not None):
        raise ValueError("--on and --workers divide the batches of --regime precomputed; a search has them too")
    if place is not None and place.on == "local" and place.workers is not None:
        raise ValueError("--workers are those of a cluster; add --on ray, or take --threads")


def run_precomputed(
    graph: Graph,
    setting: Setting,
    splits: list[Split],
    *,
    store: Path | None,
    batch: int | None,
    seed: int,
    threads: int | None,
    max_memory: int | None,
    checkpoint: Path | None,
    place: Place,
) -> list[Record]:
    """Train one model for each split after the other, with a progress bar on standard error."""
    batching = Batching() if batch is None else Batching(batch=batch)
    folder = store or Path("out") / "blocks" / f"{graph.name}-{graph.checksum}-{setting.options.degree}"
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeRemainingColumn())
    with Progress(*columns, console=talk, transient=True) as bar:
        blocks = bar.add_task("blocks", told="")
        epochs = bar.add_task(f"newtonnet on {graph.name}", total=len(splits) * setting.config.max_epochs, told="")
        begun = 0

        def show_blocks(done: PropagationProgress) -> None:
            bar.update(blocks, completed=done.parts, total=done.total, told=f"{done.parts}/{done.total}")

        def show(state: training.Progress) -> None:
            nonlocal begun
            begun += state.epoch == 1
            told = f"split {begun}/{len(splits)}, epoch {state.epoch}, best validation {state.validation:.3f}"
            bar.update(epochs, completed=(begun - 1) * state.max_epochs + state.epoch, told=told)

        seeded = replace(setting, config=replace(setting.config, seed=seed))
        if place.on == "ray":
            degree = make_filter(seeded, graph).degree
            propagate_to_disk(
                graph, folder, degree=degree, max_memory=max_memory, threads=threads, progress=show_blocks
            )
            bar.update(epochs, total=None, told=f"{place.count} workers on Ray")
            records, _ = train_on_ray(
                graph,
                splits,
                seeded,
                store=folder,
                workers=place.count,
                address=place.address,
                batching=batching,
                max_memory=max_memory,
                threads=threads or 1,
                checkpoint=checkpoint,
            )
        else:
            records, _ = train_out_of_core(
                graph,
                splits,
                seeded,
                store=folder,
                batching=batching,
                max_memory=max_memory,
                threads=threads,
                checkpoint=checkpoint,
                progress=show,
                propagation_progress=show_blocks,
            )
    talk.print(f"blocks: {folder}", style="dim")
    return records
