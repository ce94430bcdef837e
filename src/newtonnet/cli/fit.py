"""``newtonnet fit``: a person's own graph, from two tables to labels, a model that can be loaded, and a page."""

import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from newtonnet.estimator import NewtonNetClassifier
from newtonnet.files import write_whole
from newtonnet.nn import ZOO, find_model
from newtonnet.out_of_core import PROPAGATION_MEMORY
from newtonnet.report import render_findings
from newtonnet.report.gather import gather
from newtonnet.tables import TableOptions

from .amounts import at_least, memory, seconds
from .app import STOPPED, app, print_json, talk
from .assignments import assignments
from .command_line import command_line, plain_arguments
from .fit_progress import watch_steps
from .fit_summary import outcome_of, print_summary, remarks_on
from .held_out import FOLDS, Step, hold_out, judge_models
from .interruption import first_interrupt, told_once
from .options import LOOP, MODEL, SPLITS, Json, MaxEpochs, MaxMemory, Patience, Threads
from .own_tables import Tables, check_labels, edges_on_disk, read_first
from .precomputed_run import MEMORY, PRECOMPUTED, check_regime
from .predictions import predictions_csv
from .run_folder import PAGE, Run, check_folder, check_not_read, run_text, write_model, write_run

TABLES = "The tables"
"""Heading of the options that say how they are read."""

RIVALS = ("mlp", "gcn")
"""Models to compare with: one sees no edges, the other only smooths."""

FINAL = 0.25
"""Share of the time for the model that is kept; the rest is for judging it."""


@app.command()
def fit(
    context: typer.Context,
    nodes: Annotated[Path, typer.Option(rich_help_panel=TABLES, help="Table of nodes: CSV or Parquet.")],
    edges: Annotated[Path, typer.Option(rich_help_panel=TABLES, help="Table of edges: CSV or Parquet.")],
    label_column: Annotated[
        str, typer.Option(rich_help_panel=TABLES, help="Column of the nodes with the class, blank where unknown.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the model, predictions.csv and report.html.")],
    id_column: Annotated[
        str | None, typer.Option(rich_help_panel=TABLES, help="Column that names the nodes; id, or else the first.")
    ] = None,
    source_column: Annotated[
        str | None, typer.Option(rich_help_panel=TABLES, help="One end of an edge; source, or else the first.")
    ] = None,
    target_column: Annotated[
        str | None, typer.Option(rich_help_panel=TABLES, help="Its other end; target, or else the second.")
    ] = None,
    weight_column: Annotated[
        str | None, typer.Option(rich_help_panel=TABLES, help="Weights of edges; weight, if there is one.")
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", rich_help_panel=TABLES, help="A column that is no feature; repeatable."),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", rich_help_panel=TABLES, help="A column of numbers that are codes; repeatable."),
    ] = None,
    no_standardise: Annotated[
        bool, typer.Option("--no-standardise", rich_help_panel=TABLES, help="Keep numbers as they are.")
    ] = False,
    text_encoding: Annotated[str, typer.Option(rich_help_panel=TABLES, help="Encoding of CSV files.")] = "utf-8",
    model: Annotated[str, typer.Option(rich_help_panel=MODEL, help=f"One of: {', '.join(sorted(ZOO))}.")] = "newtonnet",
    no_tune: Annotated[
        bool, typer.Option("--no-tune", rich_help_panel=MODEL, help="Train the model's defaults only.")
    ] = False,
    assign: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", rich_help_panel=MODEL, help="Any option of the model or its training."
        ),
    ] = None,
    transferable: Annotated[
        bool,
        typer.Option("--transferable", rich_help_panel=MODEL, help="Only what can predict on another graph as well."),
    ] = False,
    regime: Annotated[
        str,
        typer.Option(
            rich_help_panel=MODEL,
            help="memory, or precomputed: one setting, features filtered and edges kept on disk, if memory is short.",
        ),
    ] = MEMORY,
    store: Annotated[
        Path | None,
        typer.Option(rich_help_panel=MODEL, help="Folder for these features; a temporary one if not given."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            rich_help_panel=SPLITS, show_default=str(FOLDS), help="Parts of the labels held out in turn; 0: none."
        ),
    ] = None,
    compare: Annotated[
        bool, typer.Option(rich_help_panel=SPLITS, help="Train an MLP and a GCN on the same folds.")
    ] = True,
    metric: Annotated[
        str, typer.Option(rich_help_panel=SPLITS, help="accuracy, or roc_auc for two classes.")
    ] = "accuracy",
    for_: Annotated[
        str,
        typer.Option("--for", metavar="TIME", rich_help_panel=LOOP, help="Time for everything, such as 90s or 30m."),
    ] = "4m",
    max_epochs: MaxEpochs = 1000,
    patience: Patience = 100,
    threads: Threads = None,
    max_memory: MaxMemory = None,
    seed: Annotated[int, typer.Option(rich_help_panel=LOOP, help="Seed of folds, start weights and dropout.")] = 0,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that holds something else, or another run.")
    ] = False,
    json: Json = False,
) -> int:
    """Learn the classes of your own graph's nodes; write a model, predictions for every node, and a page that explains.

    The model that is kept gets a quarter of the time; cross-validation, an MLP and a GCN on its folds share the rest.

    Ctrl-C ends the step that runs, skips the others and writes everything (exit code 130); a second one stops at once.

    Example: newtonnet fit --nodes nodes.csv --edges edges.csv --label-column label --out run
    """
    deadline = time.monotonic() + (total := seconds(for_))
    check_folder(out, nodes=nodes, force=force)
    check_not_read(out, (nodes, edges))
    for option, value, least in (
        ("--seed", seed, 0),
        ("--patience", patience, 0),
        ("--max-epochs", max_epochs, 1),
        ("--threads", threads, 1),
    ):
        at_least(option, value, least)
    room = memory(max_memory)
    if room is not None and room < 10**6:
        raise ValueError(f"--max-memory must be 1MB or more, got {max_memory!r}")
    options: dict[str, Any] = {
        "tune": "off" if no_tune else "auto",
        "max_epochs": max_epochs,
        "patience": patience or None,
        "metric": metric,
        "threads": threads,
        "max_memory": room,
        "random_state": seed,
    }
    find_model(model)
    check_regime(regime, model, store=store)
    classifier = NewtonNetClassifier(
        model, settings=assignments(assign), transferable=transferable, regime=regime, store=store, **options
    )
    fits = compare and regime == MEMORY  # the others would need the memory that is not there
    rivals = [NewtonNetClassifier(name, **options) for name in RIVALS if fits and name != model]
    table_options = TableOptions(
        label_column=label_column,
        id_column=id_column,
        source_column=source_column,
        target_column=target_column,
        weight_column=weight_column,
        ignore=tuple(ignore or ()),
        categorical=tuple(categorical or ()),
        standardise=not no_standardise,
        text_encoding=text_encoding,
    )
    disk = context.with_resource(edges_on_disk(store, room)) if regime == PRECOMPUTED else None
    if disk is not None:
        classifier.set_params(store=disk.blocks)
    with talk.status("reading the tables"):
        tables = read_first(nodes, edges, table_options, disk=disk)
    tables = replace(tables, run=replace(tables.run, arguments=plain_arguments(context)))
    if transferable and not tables.run.encoding.columns:
        raise ValueError(f"--transferable needs features, but {nodes} has none; a model without knows nodes by place")
    check_labels(tables.graph, nodes=nodes, column=label_column, metric=metric)
    pairs = hold_out(tables.graph, folds, seed)
    given = max(deadline - time.monotonic(), 0.1) * (FINAL if pairs else 1.0)
    classifier.set_params(time_budget=given)
    opening = [tables.read_as, *(f"note: {note}" for note in tables.notes)]
    with first_interrupt() as asked, watch_steps(deadline, opening=opening) as step:
        stop = told_once(asked)
        began = time.monotonic()
        run, probabilities = _fit(classifier, tables, out, store=store, stop=stop, step=step)
        judged = judge_models(
            classifier,
            tables.graph,
            pairs,
            rivals,
            deadline=deadline,
            overhead=max(time.monotonic() - began - given, 0.0),
            stop=stop,
            step=step,
        )
        stopped = stop()
        step("the page")
        findings = gather(
            classifier,
            tables.graph,
            probabilities,
            title=title or f"What was learned from {nodes.name}",
            command=command_line(context),
            seconds=time.monotonic() - deadline + total,
            ours=judged.ours,
            others=judged.others,
            left_out=tables.left_out,
            columns=tables.read_as,
            notes=tables.notes,
            remarks=[*remarks_on(classifier, stopped=stopped), *judged.remarks],
            max_memory=None if disk is None else room or PROPAGATION_MEMORY,
        )
        write_whole(out / PAGE, render_findings(findings))
        outcome = outcome_of(findings, classifier, stopped=stopped)
        write_run(out, replace(run, finished=True, outcome=outcome))
    if json:
        print_json({**outcome, "folder": str(out)})
    else:
        print_summary(findings, classifier, out, stopped=stopped)
    return STOPPED if stopped else 0


def _fit(
    classifier: NewtonNetClassifier,
    tables: Tables,
    out: Path,
    *,
    store: Path | None,
    stop: Callable[[], bool],
    step: Step,
) -> tuple[Run, NDArray[np.float64]]:
    """Fit the model that is kept and write it at once; its run, and what it predicts, shape ``(n, C)``."""
    classifier.fit(tables.graph, stop=stop, progress=step("the model"))
    probabilities = classifier.predict_proba(tables.graph)
    text = predictions_csv(tables.graph, probabilities, classifier.ensemble_.class_names)
    run_text(tables.run)  # whatever cannot be written down is found before anything is written over
    kept = copy(classifier).set_params(store=store)  # a temporary one is gone when the model is loaded
    run = replace(tables.run, model=write_model(out, kept, text))
    write_run(out, run)
    talk.print(f"model and predictions are in {out}", style="dim")
    return run, probabilities
