"""``newtonnet search``: the best settings of models on data sets, by validation scores."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from newtonnet.progress import console, task_bars

from . import options
from .app import app, print_json

if TYPE_CHECKING:
    from newtonnet.search import Study, Trial


@app.command()
def search(
    datasets: Annotated[list[str], typer.Argument(help="Names of data sets, such as cora chameleon.")],
    model: Annotated[
        list[str] | None,
        typer.Option(help="Name of a model; repeatable. all: every model; paper: the eleven of the paper's Table 1."),
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="Number of settings to try, including stored ones.")] = 40,
    time_limit: Annotated[
        str | None, options.run(metavar="TIME", help="Stop after 90s, 100m or 2h; run again to continue.")
    ] = None,
    splits: options.Splits = None,
    protocol: options.Protocol = "random",
    max_epochs: options.MaxEpochs = 2000,
    patience: options.Patience = 200,
    halving: Annotated[
        bool,
        typer.Option(
            "--halving",
            help="Drop settings early: after 1/81 of the epochs the better half trains on, then the best quarter.",
        ),
    ] = False,
    workers: options.Workers = None,
    executor: options.ExecutorName = "local",
    address: options.Address = None,
    selection: Annotated[
        Literal["paper", "nested", "both"],
        typer.Option(help="Selection to print: paper (one setting for all splits), nested (one for each) or both."),
    ] = "both",
    results: Annotated[Path, typer.Option(help="Folder for the trials and the best settings.")] = Path("results"),
    data_root: options.DataRoot = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Measure a few epochs, print how many hours the search takes, and exit.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Search for the best settings of models on data sets; finished trials are stored.

    Example: newtonnet search cora chameleon --model bernnet --model gcn --trials 40 --time-limit 100m
    """
    from newtonnet.search import REFERENCE, open_store, sweep_all, write_best

    deadline = None if time_limit is None else time.monotonic() + options.seconds(time_limit)
    place = options.Place(executor, address, workers)
    if plan and executor == "ray" and workers is None:
        raise ValueError("--plan with --executor ray needs --workers, the number of cores of the cluster")
    if halving and trials <= REFERENCE:
        raise ValueError(
            f"--halving trains the first {REFERENCE} settings to the end, to compare the next ones with: --trials "
            f"has to be above {REFERENCE}, got {trials}"
        )
    if halving and max_epochs < 3:
        raise ValueError(
            f"--halving last drops settings at a third of the epochs: --max-epochs must be at least 3, got {max_epochs}"
        )
    limits = {"splits": splits, "max_epochs": max_epochs, "patience": patience or None, "halving": halving}
    studies = _studies(datasets, model, protocol=protocol, data_root=data_root, **limits)
    if plan:
        _print_plan(studies, results, trials, workers=place.count, data_root=data_root, json=json)
        return
    with ExitStack() as stack:
        pool = stack.enter_context(options.open_executor(place, data_root=data_root))
        cells = [(study, stack.enter_context(open_store(results, study)), trials) for study in studies]
        found = {study.key: store.trials() for study, store, _ in cells}
        late = None if deadline is None else lambda expected: time.monotonic() + expected > deadline
        try:
            with _watch(studies, found, trials) as show:
                for study, trial in sweep_all(cells, executor=pool, stop=late):
                    found[study.key].append(trial)
                    write_best(results, study, found[study.key])
                    show(study)
        finally:  # Ctrl-C loses no finished trial
            for study in studies:
                if found[study.key]:
                    write_best(results, study, found[study.key])
    _print_results(studies, found, trials, chosen=selection, json=json)


def _studies(datasets: list[str], models: list[str] | None, **options: Any) -> "list[Study]":
    """One study for each data set and model; data sets that are kept untuned are refused."""
    from newtonnet.search import UNTOUCHED, first_settings, make_study

    kept = [name for name in datasets if name in UNTOUCHED]
    if kept:
        raise ValueError(f"{', '.join(kept)}: kept untuned, to show what the defaults do on graphs without a search")
    pairs = [(dataset, name) for dataset in dict.fromkeys(datasets) for name in _models(models)]
    return [make_study(dataset, name, first=first_settings(dataset, name), **options) for dataset, name in pairs]


def _models(names: list[str] | None) -> list[str]:
    """Names of models, each once; ``all`` and ``paper`` stand for several."""
    from newtonnet.nn import ZOO, find_model
    from newtonnet.search import published

    several = {"all": list(ZOO), "paper": list(dict.fromkeys(model for _, model in published.SCORES))}
    models = [model for name in names or ["newtonnet"] for model in several.get(name, [name])]
    for name in models:
        find_model(name)
    return list(dict.fromkeys(models))


@contextmanager
def _watch(
    studies: "Sequence[Study]", found: "Mapping[str, Sequence[Trial]]", wanted: int
) -> "Iterator[Callable[[Study], None]]":
    """Bars for the whole search and for every study that has begun; yields what to call after a new trial."""
    total = wanted * len(studies)

    def finished() -> int:
        return sum(min(len(trials), wanted) for trials in found.values())

    with task_bars() as bar:
        everything = bar.add_task("search", total=total, completed=finished(), note=f"{total} trials")
        bars: dict[str, Any] = {}

        def show(study: "Study") -> None:
            key, title, done = study.key, f"{study.name} on {study.dataset}", len(found[study.key])
            complete = [trial.objective for trial in found[key] if not trial.dropped]
            best = f"best validation {max(complete, default=0.0):.4f}"
            if key not in bars:
                bars[key] = bar.add_task(title, total=wanted, note="")
            bar.update(bars[key], completed=done, note=f"{done}/{wanted} trials, {best}", visible=done < wanted)
            bar.update(everything, completed=finished(), note=f"{finished()}/{total} trials")
            if done >= wanted:
                console.print(f"{title}: {done} trials, {best}", style="dim")

        yield show


def _print_plan(
    studies: "list[Study]", results: Path, trials: int, *, workers: int, data_root: Path | None, json: bool
) -> None:
    """Print the time of an epoch of every study, and the hours for the settings that are left to try."""
    from newtonnet.search import count_left, measure, read_trials, store_path

    cells = []
    for study in studies:
        have = [trial for trial in read_trials(store_path(results, study)) if trial.study == study.key]
        left = count_left(study, have, trials)
        cell: dict[str, Any] = {"dataset": study.dataset, "model": study.name, "trials": left}
        if left:
            with console.status(f"measuring {study.name} on {study.dataset}"):
                plan = measure(study, data_root=data_root)
            share = left / workers / 3600
            hours = {"likely_hours": plan.likely * share, "longest_hours": plan.longest * share}
            cell |= {"epoch_seconds": plan.epoch, **hours}
        cells.append(cell)
    total = sum(cell["trials"] for cell in cells)
    likely, longest = (sum(cell.get(name, 0.0) for cell in cells) for name in ("likely_hours", "longest_hours"))
    if json:
        print_json({"cells": cells, "trials": total, "workers": workers, "likely": likely, "longest": longest})
        return
    for study, cell in zip(studies, cells, strict=True):
        text = "nothing left to try"
        if cell["trials"]:
            text = (
                f"{cell['trials']} settings left, {1000 * cell['epoch_seconds']:.1f} ms per epoch, "
                f"{cell['likely_hours']:.2f} h likely, {cell['longest_hours']:.2f} h at most"
            )
        print(f"{study.name} on {study.dataset}, {study.splits} splits: {text}")
    print(
        f"{total} trials on {workers} workers: "
        f"{likely:.2f} h likely (training for twice the patience), {longest:.2f} h at most"
    )


def _print_results(
    studies: "list[Study]", found: "dict[str, list[Trial]]", trials: int, *, chosen: str, json: bool
) -> None:
    """Print the best setting of every study by both selections, beside the published number."""
    from newtonnet.search import SELECTIONS, count_left, count_models, summarise_study

    if json:
        table: dict[str, dict[str, Any]] = {}
        for study in studies:
            if have := found[study.key]:
                row = {**summarise_study(study, have), "paper": (_published(study) or (None,))[0]}
                table.setdefault(study.dataset, {})[study.name] = row
        print_json(table)
        return
    for study in studies:
        have, published = found[study.key], _published(study)
        line = f"{study.name} on {study.dataset}: "
        if have:
            names = [name for name in SELECTIONS if chosen in (name, "both")]
            line += ", ".join(f"{name} selection {SELECTIONS[name](have).score()}" for name in names)
            line += f" ({study.metric}, {study.splits} {study.protocol} splits), "
        line += f"{len(have)} settings tried"
        if count_left(study, have, trials):
            line += f" of {trials}; run the same command to continue"
        elif len(have) < trials:
            line += f" of {trials}; the search space has no more"
        if study.rungs:
            models = count_models(study, have)
            line += f"; {models['started']} models started, {models['complete']} of them trained to the end"
        print(line + ("" if published is None else f"; the paper: {published[0]:.2f} ± {published[1]:.1f}"))


def _published(study: "Study") -> tuple[float, float] | None:
    from newtonnet.search import published

    comparable = study.protocol == "random" and not study.label
    return published.SCORES.get((study.dataset, study.model)) if comparable else None
