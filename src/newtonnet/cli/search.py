"""``newtonnet search``: the best settings of models on graphs, by validation scores."""

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from newtonnet.experiments import SCORES, UNTOUCHED, first_settings
from newtonnet.nn import ZOO, find_model
from newtonnet.search import (
    SELECTIONS,
    Study,
    Trial,
    make_study,
    measure,
    open_batch,
    open_store,
    summarise_study,
    sweep_all,
    write_best,
)

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
        _print_plan(studies, trials=trials, workers=place.count, data_root=data_root, json=json)
        return
    with ExitStack() as stack:
        executor = stack.enter_context(open_place(place, data_root=data_root))
        cells = [(study, stack.enter_context(open_store(results, study))) for study in studies]
        found = {study.key: store.trials() for study, store in cells}
        try:
            with watch(studies, found, trials) as show:
                for study, trial in sweep_all(
                    cells,
                    executor=executor,
                    trials=trials,
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


def _print_plan(studies: list[Study], *, trials: int, workers: int, data_root: Path | None, json: bool) -> None:
    rows = []
    for study in studies:
        with talk.status(f"measuring {study.name} on {study.dataset}"):
            rows.append(measure(study, data_root=data_root))
    hours = {
        "likely": sum(row.likely for row in rows) * trials / workers / 3600,
        "longest": sum(row.longest for row in rows) * trials / workers / 3600,
    }
    if json:
        cells = [
            {
                "dataset": row.study.dataset,
                "model": row.study.name,
                "epoch_seconds": row.epoch,
                "likely_hours": row.likely * trials / workers / 3600,
                "longest_hours": row.longest * trials / workers / 3600,
            }
            for row in rows
        ]
        print_json({"cells": cells, "trials": trials, "workers": workers, **hours})
        return
    for row in rows:
        share = trials / workers / 3600
        cell = f"{row.study.name} on {row.study.dataset}, {row.study.splits} splits"
        print(
            f"{cell}: {1000 * row.epoch:.1f} ms an epoch, "
            f"{row.likely * share:.2f} h likely, {row.longest * share:.2f} h at most"
        )
    print(
        f"{len(rows) * trials} trials on {workers} workers: "
        f"{hours['likely']:.2f} h likely (training twice the patience), {hours['longest']:.2f} h at most"
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
        if len(have) < trials:
            more = open_batch(study, have, trials)
            line += f" of {trials}; " + ("the same command goes on" if more else "the space has no others")
        published = _published(study)
        print(line + ("" if published is None else f"; the paper's {published[0]:.2f} ± {published[1]:.1f}"))


def _published(study: Study) -> tuple[float, float] | None:
    return SCORES.get((study.dataset, study.model)) if study.protocol == "random" and not study.label else None
