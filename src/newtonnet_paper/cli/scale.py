"""``newtonnet-paper scale``: what the precomputed regime takes on graphs of given sizes, stage by stage."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from newtonnet.cli.amounts import memory

from newtonnet.cli.app import print_json, talk
from newtonnet_paper.scale_stages import Size, Stage, run_stage

from .app import app

STAGES = ("generate", "precompute", "train")


@app.command()
def scale(
    out: Annotated[Path, typer.Option(help="Folder for the graphs and their blocks; it can grow large.")],
    nodes: Annotated[
        int, typer.Option(help="Nodes of the graph with the most edges; smaller ones get fewer.")
    ] = 100_000,
    edges: Annotated[
        list[int] | None, typer.Option(help="Edges; give it several times to compare sizes of equal mean degree.")
    ] = None,
    features: Annotated[int, typer.Option(help="Features of a node.")] = 16,
    degree: Annotated[int, typer.Option(help="Degree K of the filter.")] = 5,
    epochs: Annotated[int, typer.Option(help="Epochs of the training.")] = 5,
    batch: Annotated[int, typer.Option(help="Nodes in a step.")] = 65536,
    max_memory: Annotated[str | None, typer.Option(help="Memory for blocks, such as 500MB or 2GB.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads; torch's number if not given.")] = None,
    seed: Annotated[int, typer.Option(help="Of the graph and the training.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON value on standard output.")] = False,
) -> None:
    """Generate heterophilous graphs, precompute their blocks and train on them, and tell what each stage took.

    A graph or blocks that are in the folder already are used again, and their stage has no time.

    Example: newtonnet scale --nodes 100000 --edges 1000000 --out out/scale
    """
    sizes = sorted(set(edges or [1_000_000]))
    whole = Size(nodes, sizes[-1], features, degree, epochs, batch, memory(max_memory), threads=threads, seed=seed)
    results = []
    for count in sizes:
        size = replace(whole, nodes=max(4, round(nodes * count / sizes[-1] / 2) * 2), edges=count)
        stages = []
        for name in STAGES:
            talk.print(f"{count:,} edges: {name} ...", style="dim")
            stages.append(run_stage(name, size, out / f"edges-{count}-nodes-{size.nodes}"))
            if not json:
                _print(size, stages[-1])
        results.append((size, stages))
    ratios = _ratios(results)
    if json:
        runs = [asdict(size) | {"stages": [asdict(stage) for stage in stages]} for size, stages in results]
        print_json({"runs": runs, "time_per_edge": ratios})
    for name, ratio in ratios.items():
        if not json:
            print(f"{name}: time per edge of the largest is {ratio:.2f} times that of the smallest")


def _print(size: Size, stage: Stage) -> None:
    taken = "there already"
    if stage.seconds is not None:
        taken = f"{stage.seconds:9.2f} s {1e6 * stage.seconds / size.edges:8.3f} µs/edge"
    room = f"peak {stage.megabytes:,.0f} MB (start {stage.base:,.0f})"
    more = ", ".join(f"{name} {_short(value)}" for name, value in stage.facts.items() if name != "checksum")
    print(f"{size.edges:>13,} edges  {stage.name:<10} {taken}  {room}  {more}")


def _short(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(_short(item) for item in value)
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"


def _ratios(results: list[tuple[Size, list[Stage]]]) -> dict[str, float]:
    """For each stage the time per edge of the largest graph over that of the smallest."""
    if len(results) < 2:
        return {}
    (small, first), (large, last) = results[0], results[-1]
    return {
        a.name: (b.seconds / large.edges) / (a.seconds / small.edges)
        for a, b in zip(first, last, strict=True)
        if a.seconds and b.seconds
    }
