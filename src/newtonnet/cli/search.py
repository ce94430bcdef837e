"""``newtonnet search``: the best settings of models on graphs, by validation scores."""

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from newtonnet.nn import ZOO, find_model
from newtonnet.search import (
    SELECTIONS,
    Study,
    Trial,
    count_left,
    make_study,
    measure,
    open_store,
    read_trials,
    store_path,
    summarise_study,
    sweep_all,
    write_best,
)
from newtonnet.search.published import SCORES
from newtonnet.search.settings import UNTOUCHED, first_settings

from .amounts import seconds
from .app import app, print_json, talk
from .options import LOOP, SPLITS, DataRoot, Json, MaxEpochs, Patience, Protocol
from .places import ADDRESS, ON, WORKERS, Place, open_place
from .search_progress import watch


@app.command()
def search(
    datasets: Annotated[list[str], typer.Argument(help="Graphs by name, such as cora chameleon.")],
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model, as often as wanted; all: every one there is; paper: the eleven of its Table 1."),
    ] = None,
    trials: Annotated[int, typer.Option(help="Settings to try in all; what is stored already counts.")] = 40,
    for_: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="TIME", rich_help_panel=LOOP, help="Stop after 90s, 100m or 2h; go on another time."
        ),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=SPLITS, help="How many splits each setting runs on; 10, or all the published ones."
        ),
    ] = None,
    protocol: Protocol = "random",
    max_epochs: MaxEpochs = 2000,
    patience: Patience = 200,
    workers: Annotated[int | None, typer.Option(rich_help_panel=LOOP, help=WORKERS)] = None,
    on: Annotated[str, typer.Option(rich_help_panel=LOOP, help=ON)] = "local",
    address: Annotated[str | None, typer.Option(rich_help_panel=LOOP, help=ADDRESS)] = None,
    selection: Annotated[
        str, typer.Option(help="Print one setting for all splits (paper), one for each (nested), or both.")
    ] = "both",
    results: Annotated[Path, typer.Option(help="Folder that keeps the trials and the best settings.")] = Path(
        "results"
    ),
    data_root: DataRoot = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Measure a few epochs, print how many hours it will take, and stop.")
    ] = False,
    json: Json = False,
) -> None:
    """Search for the best settings of models on graphs; what is finished is kept and never run again.

    Example: newtonnet search cora chameleon --model bernnet --model gcn --trials 40 --for 100m
    """
    deadline = None if for_ is None else time.monotonic() + seconds(for_)
    place = Place(on, address, workers)
    if plan and on == "ray" and workers is None:
        raise ValueError("--plan with --on ray needs --workers: how many cores the cluster will give")
    if selection not in (*SELECTIONS, "both"):
        raise ValueError(f"unknown selection {selection!r}; available: paper, nested, both")
    if trials < 1:
        raise ValueError(f"at least 1 trial is needed, got {trials}")
    studies = [
        make_study(
            dataset,
            name,
            first=first_settings(dataset, name),
            protocol=protocol,
            splits=splits,
            max_epochs=max_epochs,
            patience=patience or None,
            data_root=data_root,
        )
        for dataset in _datasets(datasets)
        for name in _models(model)
    ]
    if plan:
        left = {study.key: _count_left(results, study, trials) for study in studies}
        _print_plan(studies, left, workers=place.count, data_root=data_root, json=json)
        return
    with ExitStack() as stack:
        executor = stack.enter_context(open_place(place, data_root=data_root))
        cells = [(study, stack.enter_context(open_store(results, study)), trials) for study in studies]
        found = {study.key: store.trials() for study, store, _ in cells}
        try:
            with watch(studies, found, trials) as show:
                for study, trial in sweep_all(
                    cells,
                    executor=executor,
                    stop=None if deadline is None else lambda expected: time.monotonic() + expected > deadline,
                ):
                    found[study.key].append(trial)
                    write_best(results, study, found[study.key])
                    show(study, trial)
        finally:  # Ctrl-C takes nothing of what is finished
            for study in studies:
                if found[study.key]:
                    write_best(results, study, found[study.key])
    _print_results(studies, found, trials, chosen=selection, json=json)


def _datasets(names: list[str]) -> list[str]:
    kept = [name for name in names if name in UNTOUCHED]
    if kept:
        raise ValueError(f"{', '.join(kept)}: kept untuned, to show what the defaults do on a graph nobody searched on")
    return list(dict.fromkeys(names))


def _models(names: list[str] | None) -> list[str]:
    """The models that are named, each once; ``all`` and ``paper`` stand for several."""
    several = {"all": list(ZOO), "paper": list(dict.fromkeys(model for _, model in SCORES))}
    models = [model for name in names or ["newtonnet"] for model in several.get(name, [name])]
    for name in models:
        find_model(name)
    return list(dict.fromkeys(models))


def _count_left(results: Path, study: Study, trials: int) -> int:
    have = [trial for trial in read_trials(store_path(results, study)) if trial.study == study.key]
    return count_left(study, have, trials)


def _print_plan(
    studies: list[Study], left: dict[str, int], *, workers: int, data_root: Path | None, json: bool
) -> None:
    """What an epoch of every cell takes, and the hours for the settings that are left of it."""
    cells = []
    for study in studies:
        cell: dict[str, Any] = {"dataset": study.dataset, "model": study.name, "trials": left[study.key]}
        if left[study.key]:
            with talk.status(f"measuring {study.name} on {study.dataset}"):
                plan = measure(study, data_root=data_root)
            share = left[study.key] / workers / 3600
            cell |= {"epoch_seconds": plan.epoch}
            cell |= {"likely_hours": plan.likely * share, "longest_hours": plan.longest * share}
        cells.append(cell)
    trials = sum(left.values())
    likely, longest = (sum(cell.get(name, 0.0) for cell in cells) for name in ("likely_hours", "longest_hours"))
    if json:
        print_json({"cells": cells, "trials": trials, "workers": workers, "likely": likely, "longest": longest})
        return
    for study, cell in zip(studies, cells, strict=True):
        told = "nothing left to try"
        if cell["trials"]:
            told = (
                f"{cell['trials']} settings left, {1000 * cell['epoch_seconds']:.1f} ms an epoch, "
                f"{cell['likely_hours']:.2f} h likely, {cell['longest_hours']:.2f} h at most"
            )
        print(f"{study.name} on {study.dataset}, {study.splits} splits: {told}")
    print(
        f"{trials} trials on {workers} workers: "
        f"{likely:.2f} h likely (training twice the patience), {longest:.2f} h at most"
    )


def _print_results(
    studies: list[Study], found: dict[str, list[Trial]], trials: int, *, chosen: str, json: bool
) -> None:
    """The best of every cell by both selections, beside the published number."""
    if json:
        table: dict[str, dict[str, Any]] = {}
        for study in studies:
            if found[study.key]:
                paper = _published(study)
                row = {**summarise_study(study, found[study.key]), "paper": None if paper is None else paper[0]}
                table.setdefault(study.dataset, {})[study.name] = row
        print_json(table)
        return
    for study in studies:
        have = found[study.key]
        line = f"{study.name} on {study.dataset}: "
        if have:
            parts = [
                f"{name} selection {SELECTIONS[name](have).score()}" for name in SELECTIONS if chosen in (name, "both")
            ]
            line += ", ".join(parts) + f" ({study.metric}, {study.splits} {study.protocol} splits), "
        line += f"{len(have)} settings tried"
        if count_left(study, have, trials):
            line += f" of {trials}; the same command goes on"
        elif len(have) < trials:
            line += f" of {trials}; the space has no others"
        published = _published(study)
        print(line + ("" if published is None else f"; the paper's {published[0]:.2f} ± {published[1]:.1f}"))


def _published(study: Study) -> tuple[float, float] | None:
    return SCORES.get((study.dataset, study.model)) if study.protocol == "random" and not study.label else None
