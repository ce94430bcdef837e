"""``newtonnet train``: one model on one data set, over several splits."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from newtonnet.files import check_writable, write_whole
from newtonnet.progress import console, task_bars

from . import options
from .app import app, print_json

if TYPE_CHECKING:
    from newtonnet.datasets import Split
    from newtonnet.graphs import Graph
    from newtonnet.out_of_core import PropagationProgress
    from newtonnet.training import Progress as TrainingProgress
    from newtonnet.training import Record, Setting


@app.command()
def train(
    dataset: Annotated[str, typer.Argument(help="Name of a data set, such as cora or csbm-heterophilous.")],
    model: Annotated[
        str, typer.Option(help=f"One of: {options.MODELS}; or a model of an installed package.")
    ] = "newtonnet",
    splits: options.Splits = None,
    protocol: options.Protocol = "random",
    split_seed: Annotated[int | None, options.evaluation(help="Seed of the splits. Default: the paper's.")] = None,
    seed: Annotated[int, options.run(help="Random seed of initial weights and dropout; split i uses seed + i.")] = 0,
    max_epochs: options.MaxEpochs = 2000,
    patience: options.Patience = 200,
    threads: options.Threads = None,
    max_memory: options.MaxMemory = None,
    settings: Annotated[
        str | None,
        options.training(help="published, searched or default settings. Default: published ones if there are any."),
    ] = None,
    gamma: Annotated[
        tuple[float, float, float] | None,
        options.training(metavar="G1 G2 G3", help="Weights of the shape penalty on low, middle and high frequencies."),
    ] = None,
    variant: Annotated[
        str | None, options.training(help="Form of the penalty: paper, or released for that of the authors' code.")
    ] = None,
    degree: Annotated[int | None, options.model(help="Degree K of the filter.")] = None,
    points: Annotated[
        str | None,
        options.model(
            help="Interpolation points: equispaced, chebyshev, density, or numbers in [0, 2] such as 0,0.5,1,2."
        ),
    ] = None,
    signed: Annotated[bool, options.model("--signed", help="Allow negative values of the filter.")] = False,
    hidden: Annotated[int | None, options.model(help="Width of the encoder.")] = None,
    dropout: Annotated[float | None, options.model(help="Dropout of features and hidden layer.")] = None,
    propagation_dropout: Annotated[float | None, options.model(help="Dropout between encoder and filter.")] = None,
    learning_rate: Annotated[float | None, options.training(help="Learning rate of the encoder.")] = None,
    filter_learning_rate: Annotated[float | None, options.training(help="Learning rate of the filter.")] = None,
    weight_decay: Annotated[float | None, options.training(help="Weight decay of all parameters.")] = None,
    metric: Annotated[str | None, options.evaluation(help="accuracy or roc_auc. Default: the data set's own.")] = None,
    assign: options.Assign = None,
    device: Annotated[str, options.run(help="Device; only cpu is tested.")] = "cpu",
    as_stored: Annotated[
        bool, options.evaluation("--as-stored", help="Keep edges directed as they are stored, as in the paper's code.")
    ] = False,
    data_root: options.DataRoot = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the records (JSON lines). Default: a new file in out/records.")
    ] = None,
    checkpoint: Annotated[
        Path | None, options.run(help="File that saves the run on Ctrl-C; the same command resumes from it.")
    ] = None,
    regime: options.Regime = options.MEMORY,
    store: Annotated[Path | None, options.run(help="Folder for the propagated features. Default: out/blocks/…")] = None,
    batch: Annotated[int | None, options.run(help="Out-of-core: nodes in a batch. Default: 65536.")] = None,
    executor: options.ExecutorName = "local",
    address: options.Address = None,
    workers: options.Workers = None,
    json: options.Json = False,
) -> None:
    """Train a model on a data set; print its score over splits, the learned homophily and the learned filter.

    With --regime out-of-core, --executor ray divides every batch among the workers of a cluster.

    Example: newtonnet train csbm-heterophilous --splits 3 --gamma 1 1 1
    """
    from newtonnet.datasets import PAPER_SEED, load_dataset, load_splits, make_splits
    from newtonnet.graphs import homophily
    from newtonnet.search import published

    place = options.Place(executor, address, workers)
    options.check_regime(regime, model, store=store)
    _check_batches(regime, batch, device, place)
    if out is not None:
        check_writable(out)
        _check_records(out)
    changes = _changes(
        assign,
        degree=degree,
        points=_points(points),
        nonnegative=False if signed else None,
        hidden=hidden,
        dropout=dropout,
        propagation_dropout=propagation_dropout,
        gammas=gamma,
        variant=variant,
        learning_rate=learning_rate,
        filter_learning_rate=filter_learning_rate,
        weight_decay=weight_decay,
    )
    setting = _setting(dataset, model, settings, changes)
    loaded = load_dataset(dataset, data_root=data_root, directed="as-stored" if as_stored else None)
    graph = loaded.graph
    config = replace(setting.config, max_epochs=max_epochs, patience=patience or None)
    setting = replace(setting, config=replace(config, metric=metric or loaded.entry.metric))
    if protocol == "fixed":
        chosen = load_splits(dataset, protocol, count=splits, data_root=data_root)
    else:
        seed_of_splits = PAPER_SEED if split_seed is None else split_seed
        chosen = make_splits(graph, protocol, count=10 if splits is None else splits, seed=seed_of_splits)
    resources: dict[str, Any] = {"threads": threads, "max_memory": options.memory(max_memory), "checkpoint": checkpoint}
    try:
        if regime == options.OUT_OF_CORE:
            records = _run_out_of_core(
                graph, setting, chosen, store=store, batch=batch, seed=seed, place=place, **resources
            )
        else:
            records = run_splits(graph, model, setting, chosen, seed=seed, device=device, **resources)
    except KeyboardInterrupt:
        if checkpoint is not None and checkpoint.exists():
            console.print(f"saved to {checkpoint}; run the same command to resume", style="dim", soft_wrap=True)
        raise
    true = homophily(graph).edge
    run_id = hashlib.sha256("".join(record.id for record in records).encode()).hexdigest()[:8]
    path = out or Path("out") / "records" / f"{dataset}-{model}-{protocol}-{run_id}.jsonl"
    try:
        write_whole(path, "".join(record.to_json() + "\n" for record in records))
        console.print(f"records: {path}", style="dim", soft_wrap=True)
    finally:  # the result is printed even if the disk is full
        if json:
            print_json(_as_json(dataset, model, protocol, setting, records, true))
        else:
            comparable = protocol == "random" and setting.config.metric == loaded.entry.metric
            paper = published.SCORES.get((dataset, model)) if comparable else None
            beside = "" if paper is None else f"the paper: {paper[0]:.2f} ± {paper[1]:.1f} over 10 random splits"
            _print_result(f"{model} on {dataset}", protocol, setting, records, true, beside)


def _check_batches(regime: str, batch: int | None, device: str, place: options.Place) -> None:
    """Refuse options of the out-of-core regime that do not go together."""
    if regime == options.MEMORY and batch is not None:
        raise ValueError(f"--batch belongs to --regime {options.OUT_OF_CORE}")
    if regime == options.OUT_OF_CORE and device != "cpu":
        raise ValueError(f"--regime {options.OUT_OF_CORE} runs on the cpu, got --device {device}")
    if regime == options.MEMORY and (place.executor != "local" or place.workers is not None):
        raise ValueError(f"--executor and --workers belong to --regime {options.OUT_OF_CORE}, or to newtonnet search")
    if place.executor == "local" and place.workers is not None:
        raise ValueError("--workers belongs to a cluster; add --executor ray, or use --threads")


def _changes(assign: list[str] | None, **own: Any) -> dict[str, Any]:
    """Settings that were given, by name; explicit points determine the degree."""
    points, degree = own["points"], own["degree"]
    if isinstance(points, tuple):
        if degree not in (None, len(points) - 1):
            raise ValueError(f"{len(points)} points give a filter of degree {len(points) - 1}, got --degree {degree}")
        own["degree"] = len(points) - 1
    return {name: value for name, value in own.items() if value is not None} | options.assignments(assign)


def _setting(dataset: str, model: str, source: str | None, changes: dict[str, Any]) -> "Setting":
    """The stored or default setting of a model on a data set, with changes."""
    from newtonnet.search import find_setting
    from newtonnet.training import override

    setting = find_setting(dataset, model, source)
    if changes.get("variant") == "paper" and setting.config.variant == "released":
        if source == "published":
            raise ValueError("these published settings belong to --variant released; use --settings default")
        setting = find_setting(dataset, model, "default")
    decisive = changes.keys() - {"history_interval"}
    return replace(override(setting, changes), source=f"{setting.source}, changed" if decisive else setting.source)


def run_splits(
    graph: "Graph", model: str, setting: "Setting", splits: "list[Split]", *, seed: int = 0, **resources: Any
) -> "list[Record]":
    """Train one member for each split as one population, with a progress bar; resources are options of the loop."""
    from newtonnet.nn import build
    from newtonnet.training import fit

    run_seed = setting.config.run_seed + seed
    configs = [replace(setting.config, seed=seed + split.index, run_seed=run_seed) for split in splits]
    population = build(model, graph, setting.options, seeds=[config.seed for config in configs])
    with task_bars() as bar:
        task = bar.add_task(f"{model} on {graph.name}", total=setting.config.max_epochs, note="")

        def show(state: "TrainingProgress") -> None:
            note = f"epoch {state.epoch}, {state.training} training, best validation {state.validation:.3f}"
            bar.update(task, completed=state.epoch, note=note)

        return fit(population, graph, splits, configs, on_epoch=show, **resources)


def _run_out_of_core(
    graph: "Graph",
    setting: "Setting",
    splits: "list[Split]",
    *,
    store: Path | None,
    batch: int | None,
    seed: int,
    place: options.Place,
    **resources: Any,
) -> "list[Record]":
    """Train one model for each split after the other, with progress bars on standard error."""
    from newtonnet.out_of_core import Batching, make_filter, propagate_to_disk, train_on_ray, train_out_of_core

    batching = Batching() if batch is None else Batching(batch=batch)
    folder = store or Path("out") / "blocks" / f"{graph.name}-{graph.checksum}-{setting.options.degree}"
    seeded = replace(setting, config=replace(setting.config, seed=seed))
    shared = {"store": folder, "batching": batching, **resources}
    with task_bars() as bar:
        features = bar.add_task("propagated features", note="")
        epochs = bar.add_task(f"newtonnet on {graph.name}", total=len(splits) * setting.config.max_epochs, note="")
        begun = 0

        def show_features(done: "PropagationProgress") -> None:
            bar.update(features, completed=done.parts, total=done.total, note=f"{done.parts}/{done.total}")

        def show(state: "TrainingProgress") -> None:
            nonlocal begun
            begun += state.epoch == 1
            note = f"split {begun}/{len(splits)}, epoch {state.epoch}, best validation {state.validation:.3f}"
            bar.update(epochs, completed=(begun - 1) * state.max_epochs + state.epoch, note=note)

        if place.executor == "ray":
            limits = {name: resources[name] for name in ("max_memory", "threads")}
            propagate_to_disk(graph, folder, degree=make_filter(seeded, graph).degree, progress=show_features, **limits)
            bar.update(epochs, total=None, note=f"{place.count} workers on Ray")
            shared["threads"] = resources["threads"] or 1
            records, _ = train_on_ray(graph, splits, seeded, workers=place.count, address=place.find(), **shared)
        else:
            records, _ = train_out_of_core(
                graph, splits, seeded, on_epoch=show, propagation_progress=show_features, **shared
            )
    console.print(f"propagated features: {folder}", style="dim", soft_wrap=True)
    return records


def _check_records(path: Path) -> None:
    """Refuse to write over a file that holds anything but records."""
    from newtonnet.training import Record

    if not path.is_file() or path.stat().st_size == 0:
        return
    try:
        with path.open(encoding="utf-8") as file:
            Record.from_json(file.readline())
    except ValueError:
        raise ValueError(
            f"{path} holds something other than records and is not overwritten; name another file"
        ) from None


def _points(text: str | None) -> str | tuple[float, ...] | None:
    """Numbers of a list with commas; a name stays a name."""
    if text is None or "," not in text:
        return text
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise ValueError(
            f"--points takes equispaced, chebyshev, density, or numbers separated by commas, got {text!r}"
        ) from None


def _as_json(
    dataset: str, model: str, protocol: str, setting: "Setting", records: "list[Record]", true: float
) -> dict[str, Any]:
    """The result as plain data."""
    from newtonnet.training import summarise

    summary, first = summarise(records), records[0]
    config = {name: value for name, value in first.config.items() if name != "seed"}
    return {
        "dataset": dataset,
        "model": model,
        "protocol": protocol,
        "settings": {"source": setting.source, **first.options, **config},
        "metric": setting.config.metric,
        "mean": summary.mean,
        "accuracy": summary.accuracy,
        "std": summary.std,
        "splits": list(summary.splits),
        "failed": summary.failed,
        "homophily": {"learned": summary.homophily, "true": true},
        "points": list(summary.points),
        "values": list(summary.values),
        "epochs": [record.outcome.epochs for record in records],
        "seconds": sum(record.outcome.seconds for record in records),
    }


def _print_result(
    title: str, protocol: str, setting: "Setting", records: "list[Record]", true: float, beside: str
) -> None:
    """Print the score beside the paper's, homophily, and the filter."""
    from newtonnet.report import draw_response
    from newtonnet.training import summarise

    summary, config = summarise(records), setting.config
    print(f"{title}: {config.metric} {summary.score()} over {len(summary.splits)} {protocol} splits")
    if config.metric != "accuracy" and summary.accuracy is not None:
        print(f"accuracy {100 * summary.accuracy:.2f}")
    if beside:
        print(beside)
    if summary.failed:
        print(f"{summary.failed} of {len(records)} members failed: their loss became NaN")
    learned = "none" if summary.homophily is None else f"{summary.homophily:.3f}"
    print(f"homophily: learned {learned}, true {true:.3f}; settings: {setting.source} ({config.variant})")
    if summary.values:
        values = ", ".join(f"{value:.2f}" for value in summary.values)
        print(f"learned values at the points: {values}\n{draw_response(summary.response)}")
