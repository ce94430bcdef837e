"""``newtonnet train``: one model on one graph, over several splits."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from newtonnet.datasets import PAPER_SEED, load_dataset, load_splits, make_splits
from newtonnet.files import write_whole
from newtonnet.graphs import homophily
from newtonnet.nn import ZOO
from newtonnet.search.published import SCORES
from newtonnet.search.settings import find_setting
from newtonnet.training import Record, Setting, override

from .amounts import memory
from .app import app, print_json, talk
from .assignments import assignments
from .options import LOOP, MODEL, SPLITS, DataRoot, Json, MaxEpochs, MaxMemory, Patience, Protocol, Threads
from .places import ADDRESS, PLACES, Place
from .precomputed_run import PRECOMPUTED, REGIMES, check_regime, run_precomputed
from .splits import check_writable, resumable, run_splits
from .train_summary import Trained, as_json, print_trained

TRAINING = "How it is trained"
"""Heading of its own options in the help."""


@app.command()
def train(
    dataset: Annotated[str, typer.Argument(help="A graph by name, such as cora or csbm-heterophilous.")],
    model: Annotated[str, typer.Option(help=f"One of: {', '.join(sorted(ZOO))}.")] = "newtonnet",
    splits: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=SPLITS, help="How many splits, side by side; 10, or all the published ones, if not given."
        ),
    ] = None,
    protocol: Protocol = "random",
    split_seed: Annotated[int, typer.Option(rich_help_panel=SPLITS, help="Of the splits.")] = PAPER_SEED,
    seed: Annotated[
        int, typer.Option(rich_help_panel=LOOP, help="Of the start weights and dropout; split i takes seed + i.")
    ] = 0,
    max_epochs: MaxEpochs = 2000,
    patience: Patience = 200,
    threads: Threads = None,
    max_memory: MaxMemory = None,
    settings: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=TRAINING,
            help="published, searched or default; without it published ones where the authors have them.",
        ),
    ] = None,
    gamma: Annotated[
        tuple[float, float, float] | None,
        typer.Option(
            metavar="G1 G2 G3",
            rich_help_panel=TRAINING,
            help="Shape-aware penalty on low, middle and high frequencies.",
        ),
    ] = None,
    variant: Annotated[
        str | None, typer.Option(rich_help_panel=TRAINING, help="Read the penalty as the paper or its released code.")
    ] = None,
    degree: Annotated[int | None, typer.Option(rich_help_panel=MODEL, help="Degree K of the filter.")] = None,
    points: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=MODEL, help="equispaced, chebyshev, density, or numbers in [0, 2] such as 0,0.5,1,2."
        ),
    ] = None,
    signed: Annotated[
        bool, typer.Option("--signed", rich_help_panel=MODEL, help="Let the filter's values be negative.")
    ] = False,
    hidden: Annotated[int | None, typer.Option(rich_help_panel=MODEL, help="Width of the encoder.")] = None,
    dropout: Annotated[float | None, typer.Option(rich_help_panel=MODEL, help="On features and hidden layer.")] = None,
    propagation_dropout: Annotated[
        float | None, typer.Option(rich_help_panel=MODEL, help="Between encoder and filter.")
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(rich_help_panel=TRAINING, help="Of the encoder.")] = None,
    filter_learning_rate: Annotated[
        float | None, typer.Option(rich_help_panel=TRAINING, help="Of the filter's values.")
    ] = None,
    weight_decay: Annotated[float | None, typer.Option(rich_help_panel=TRAINING, help="Of all parameters.")] = None,
    metric: Annotated[
        str | None, typer.Option(rich_help_panel=SPLITS, help="accuracy or roc_auc; the graph's own if not given.")
    ] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            rich_help_panel=TRAINING,
            help="Any other option of the model or its training.",
        ),
    ] = None,
    device: Annotated[str, typer.Option(rich_help_panel=LOOP, help="Where to train; only cpu is tested.")] = "cpu",
    as_stored: Annotated[
        bool, typer.Option("--as-stored", rich_help_panel=SPLITS, help="Keep edges one-way, as the paper's code does.")
    ] = False,
    data_root: DataRoot = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the records (JSON lines).")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(rich_help_panel=LOOP, help="Save the run here on Ctrl-C, and resume from it.")
    ] = None,
    regime: Annotated[
        str,
        typer.Option(rich_help_panel=LOOP, help=f"{' or '.join(REGIMES)}: filter first, once, for graphs too large."),
    ] = REGIMES[0],
    store: Annotated[
        Path | None, typer.Option(rich_help_panel=LOOP, help="Folder for the precomputed blocks; out/blocks/...")
    ] = None,
    batch: Annotated[
        int | None, typer.Option(rich_help_panel=LOOP, help="Nodes in a step of the precomputed regime; 65536.")
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            rich_help_panel=LOOP,
            help="With --regime out-of-core: local, or ray, which divides every batch over workers.",
        ),
    ] = PLACES[0],
    address: Annotated[str | None, typer.Option(rich_help_panel=LOOP, help=ADDRESS)] = None,
    workers: Annotated[
        int | None,
        typer.Option(rich_help_panel=LOOP, help="With --on ray: how many workers; as many as this machine has cores."),
    ] = None,
    json: Json = False,
) -> None:
    """Train a model on a graph and report mean ± std over splits, the learned homophily and the learned filter.

    Example: newtonnet train csbm-heterophilous --splits 3 --gamma 1 1 1
    """
    place = Place(on, address, workers)
    check_regime(regime, model, store=store, batch=batch, device=device, place=place)
    setting = find_setting(dataset, model, settings)
    if variant == "paper" and setting.config.variant == "code":
        if settings == "published":
            raise ValueError("these published settings belong to --variant code; use --settings default")
        setting = find_setting(dataset, model, "default")
    if out is not None:
        check_writable(out)
        _check_records(out)
    loaded = load_dataset(dataset, data_root=data_root, directed="as-stored" if as_stored else None)
    graph = loaded.graph
    placed = _points(points)
    if isinstance(placed, tuple):
        if degree not in (None, len(placed) - 1):
            raise ValueError(f"{len(placed)} points make a filter of degree {len(placed) - 1}, --degree says {degree}")
        degree = len(placed) - 1
    own = {
        "degree": degree,
        "points": placed,
        "nonnegative": False if signed else None,
        "hidden": hidden,
        "dropout": dropout,
        "propagation_dropout": propagation_dropout,
        "gammas": gamma,
        "variant": variant,
        "learning_rate": learning_rate,
        "filter_learning_rate": filter_learning_rate,
        "weight_decay": weight_decay,
    }
    changes = {name: value for name, value in own.items() if value is not None} | assignments(assign)
    setting = override(setting, changes)
    loop = replace(
        setting.config, max_epochs=max_epochs, patience=patience or None, metric=metric or loaded.entry.metric
    )
    decisive = changes.keys() - {"history_interval"}
    setting = Setting(f"{setting.source}, changed" if decisive else setting.source, setting.options, loop)
    if protocol == "fixed":
        chosen = load_splits(dataset, protocol, count=splits, data_root=data_root)
    else:
        chosen = make_splits(graph, protocol, count=10 if splits is None else splits, seed=split_seed)
    room = memory(max_memory)
    with resumable(checkpoint):
        if regime == PRECOMPUTED:
            records = run_precomputed(
                graph,
                setting,
                chosen,
                store=store,
                batch=batch,
                seed=seed,
                threads=threads,
                max_memory=room,
                checkpoint=checkpoint,
                place=place,
            )
        else:
            records = run_splits(
                graph,
                model,
                setting,
                chosen,
                seed=seed,
                device=device,
                checkpoint=checkpoint,
                threads=threads,
                max_memory=room,
            )
    published = SCORES.get((dataset, model)) if setting.config.metric == loaded.entry.metric else None
    found = Trained(dataset, model, protocol, setting, records, homophily(graph).edge, published)
    path = out or Path("out") / "records" / f"{dataset}-{model}-{protocol}-{found.run_id}.jsonl"
    try:
        write_whole(path, "".join(record.to_json() + "\n" for record in records))
        talk.print(f"records: {path}", style="dim")
    finally:  # a full disk must not take the result along
        if json:
            print_json(as_json(found))
        else:
            print_trained(found)


def _check_records(path: Path) -> None:
    """Refuse to write over a file that holds anything else than records."""
    if not path.is_file() or path.stat().st_size == 0:
        return
    try:
        with path.open(encoding="utf-8") as file:
            Record.from_json(file.readline())
    except ValueError:
        raise ValueError(f"{path} holds something else than records and is left alone; name another file") from None


def _points(text: str | None) -> str | tuple[float, ...] | None:
    """A list of numbers as numbers; a name stays a name."""
    if text is None or "," not in text:
        return text
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise ValueError(
            f"--points takes equispaced, chebyshev, density or numbers with commas between, got {text!r}"
        ) from None
