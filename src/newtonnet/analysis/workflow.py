"""From two tables to a fitted model, predictions for every node, held-out scores and a page."""

from __future__ import annotations  # so that help() prints the names of types and not all that they stand for

import json
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from copy import copy
from dataclasses import asdict, replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import clone

from newtonnet.estimator import (
    FittedTables,
    GraphEstimator,
    NewtonNetClassifier,
    NewtonNetRegressor,
    defaults_of,
)
from newtonnet.graphs import check_trainable
from newtonnet.memory import peak_memory
from newtonnet.out_of_core import PROPAGATION_MEMORY
from newtonnet.progress import progress_bar
from newtonnet.report import gather, render_findings
from newtonnet.tables import (
    Reading,
    TableOptions,
    TableSource,
    frame_kind,
)
from newtonnet.training import first_interrupt

from .evaluation import GIVEN, Nodes, evaluate, fitted_parts, held_out_folds
from .explaining import explain_some
from .outcome import card_of, make_outcome, predictions_of
from .result import OUT_OF_CORE, Analysis, file_of, table_file, table_reader
from .run_folder import (
    RunDescription,
    check_folder,
    formula_warning,
    ids_checksum,
    is_finished,
    locked_folder,
    run_text,
    spreadsheet_safe,
    write_run,
)
from .steps import AnalysisProgress, first_predictions, make_show, make_steps, memory_line, room_left

STOPPING = "stopping: finished steps are kept and written; press Ctrl-C again to stop at once"
RIVALS: Mapping[str, Mapping[str, Any]] = {"mlp": {}, "tuned-gcn": {"residual": True, "norm": "batch"}, "boosting": {}}
"""Models to compare with, and their settings: one ignores the edges; the others are what one would try first."""
NUMBER_RIVALS: Mapping[str, Mapping[str, Any]] = {
    "mlp": {},
    "boosting": {"hops": 0, "walks": 0, "structure": False, "label_hops": 0},
}
"""The same for numbers as targets: both ignore the edges."""
FINAL = 0.4
"""Share of the time for the model that is kept; the rest is for evaluating it and its rivals."""
WHY, WHY_SECONDS = 0.05, 15.0
"""Share of the time, and seconds at most, for the explanations on the page."""
PREDICTIONS_NEEDED = 6
"""Predictions of all nodes that measuring the importance of structure takes; features come on top."""
PAGE_WORK = 2.0
"""Time that the page takes, as a multiple of the time that the predictions took after the fit."""
SEVERAL = 10
"""A column with at least this many classes, none of them twice, is taken for a column of ids."""


def analyse(
    nodes: TableSource,
    edges: TableSource,
    *,
    label_column: str | None = None,
    target_column: str | None = None,
    tables: TableOptions | None = None,
    classifier: NewtonNetClassifier | None = None,
    regressor: NewtonNetRegressor | None = None,
    folds: int | None = None,
    compare: bool = True,
    time_limit: float = 240.0,
    started: float | None = None,
    title: str | None = None,
    folder: str | PathLike[str] | None = None,
    force: bool = False,
    command: str | None = None,
    safe_cells: bool = False,
    progress: bool = False,
    on_epoch: Callable[[AnalysisProgress], None] | None = None,
    message: Callable[[str], None] | None = None,
) -> Analysis:
    """Learn the classes of a graph's nodes, or a number for each, from two tables, as ``newtonnet fit`` does.

    The model receives 40% of the time; an MLP, a tuned GCN and boosted trees on the same nodes share the rest, with
    fits on held-out folds if they can be done in time. Ctrl-C ends the running step and skips the others, and the
    results so far are returned; a second Ctrl-C raises ``KeyboardInterrupt``.

    Args:
        nodes: one row for each node: a CSV or Parquet file, a pandas frame or an Arrow table.
        edges: one row for each edge, naming two nodes.
        label_column: column of the nodes with the class, blank if it is unknown.
        target_column: column of the nodes with a number to predict instead, blank if it is unknown; rivals are then an
            MLP and boosted trees on the features alone.
        tables: the other columns and how to read them.
        classifier: the model and its parameters; it is not changed. Its time limit is set from ``time_limit``.
        regressor: the same for ``target_column``.
        folds: number of folds that are held out in turn, with a fit of every model for each; 0 for no evaluation. If
            None, 5 folds where time allows such fits with half of the model's time or more; otherwise the kept model
            is evaluated on labelled nodes by those of its members that were not trained on them.
        compare: evaluate an MLP, a tuned GCN and boosted trees on the same nodes.
        time_limit: seconds for everything.
        started: when the time began, by ``time.monotonic``; now if None.
        title: title of the page.
        folder: run folder; the model and its predictions are written as soon as the model is fitted, or at the end if
            the folder holds a finished run, which is whole until the new one is.
        force: write into a folder that holds something else, or the run of another table.
        safe_cells: put an apostrophe before ids and classes that a spreadsheet would take for formulas.
        command: the command that repeats the run, for the page; the call of this function if None.
        progress: show a progress bar, in a terminal or a notebook.
        on_epoch: called at the start of every step and after every epoch with the progress so far.
        message: called with lines for the user: the peak of memory before training starts, how the columns were read,
            and where the model was written.
    """
    started = time.monotonic() if started is None else started
    if not isinstance(time_limit, int | float | np.number) or not time_limit > 0:
        raise ValueError(f"time_limit must be a number of seconds above 0, got {time_limit!r}")
    say = message or (lambda _: None)
    source, place = file_of(nodes), file_of(folder)
    if place is not None:
        check_folder(place, tables=[source, file_of(edges)], force=force)
    options = replace(tables or TableOptions(), label_column=label_column, target_column=target_column)
    classifier = _estimator(label_column, target_column, classifier, regressor)
    if not options.standardise:
        classifier.set_params(standardise="off")
    defaults_of(classifier.model)
    fixed = {**asdict(options), **classifier.get_params(), "inner_folds": classifier.folds}
    arguments = {**fixed, "folds": folds, "compare": compare, "title": title}
    with ExitStack() as stack:
        show = make_show(stack.enter_context(progress_bar(shown=progress)), on_epoch)
        if place is not None:
            stack.enter_context(locked_folder(place))
        read = stack.enter_context(table_reader(classifier, (nodes, edges)))
        show(AnalysisProgress("reading the tables", "", 0.0, math.nan, time_limit))
        before = peak_memory()
        reading = read(nodes, edges, options)
        graph, validation, test = fitted_parts(reading)
        _check_labels(reading, classifier, str(source or "the table of nodes"))
        seed = classifier.random_state if isinstance(classifier.random_state, int) else 0
        pairs = held_out_folds(graph, folds, seed) if validation is None else []
        run = _describe(nodes, edges, reading, {**arguments, "time_limit": time_limit})
        stop = stack.enter_context(first_interrupt(partial(say, STOPPING)))
        deadline = started + time_limit
        unsafe = None if safe_cells else formula_warning(graph)
        notes = [*reading.notes, *([unsafe] if unsafe else [])]
        rivals = _rivals(classifier) if compare and classifier.regime != OUT_OF_CORE else []
        memory = memory_line(classifier, rivals, reading.graph, before, validation=validation is not None)
        opening = [reading.read_as, *(f"note: {note}" for note in notes)]
        start_step = make_steps(show, say, deadline, opening)

        say(memory)
        began = time.monotonic()
        limit = max(deadline - began, 0.1) * (FINAL if pairs or test is not None else GIVEN)
        classifier.set_params(time_limit=limit).fit(
            graph,
            validation=validation,
            stop=stop,
            on_epoch=start_step("the model"),
            on_trial=first_predictions(say, started, classifier.metric),
        )
        if classifier.regime != OUT_OF_CORE:  # whose tables may be larger than memory
            classifier.tables_ = FittedTables.of(reading, options)
        spent = time.monotonic() - began
        for line in opening:  # a short training in several threads reports nothing
            say(line)
        opening.clear()
        asked = time.monotonic()
        probabilities = classifier.answers(graph)
        answered = time.monotonic() - asked
        predictions = predictions_of(classifier, graph, probabilities, added=reading.added)
        predictions = spreadsheet_safe(predictions) if safe_cells else predictions
        model = copy(classifier)
        if "store" in arguments:
            model.set_params(store=arguments["store"])  # a temporary store ends with this function
        run_text(run)  # what cannot be written is found before anything is overwritten
        at_once = place is not None and not is_finished(place)
        if place is not None and at_once:
            run = write_run(place, run, model=model, predictions=predictions, card=card_of(model, run))
            say(f"model and predictions are in {place}")

        written = time.monotonic() - began
        overhead = max(written - limit, 0.0)
        held_out = evaluate(
            classifier,
            graph,
            rivals,
            Nodes(pairs, validation, test, reading.graph.truth, refit=folds is not None),
            spent=spent,
            overhead=overhead,
            deadline=deadline - PAGE_WORK * (written - spent),
            stop=stop,
            start_step=start_step,
        )
        stopped = stop()
        start_step("the page")
        findings = gather(
            classifier,
            reading.graph,
            probabilities,
            title=title or f"What was learned from {source.name if source else 'the tables'}",
            command=command or _call(nodes, edges, label_column=label_column, target_column=target_column),
            seconds=time.monotonic() - started,
            ours=held_out.ours,
            others=held_out.others,
            method=held_out.method,
            left_out=reading.left_out,
            columns=reading.read_as,
            data_warnings=reading.notes,
            warnings=[*_run_warnings(classifier, stopped=stopped), *held_out.warnings, *classifier.notes_],
            max_memory=room_left(classifier, PROPAGATION_MEMORY if classifier.regime == OUT_OF_CORE else None),
        )
        if classifier.regime != OUT_OF_CORE and not stopped:
            budget, names = min(WHY * time_limit, WHY_SECONDS), reading.encoding.feature_names
            own = reading.graph.nodes - reading.added
            explained = explain_some(classifier, reading.graph, probabilities, names, own=own, seconds=budget)
            importance = None
            if answered * PREDICTIONS_NEEDED < budget:
                importance = classifier.importance(graph, groups=reading.encoding.groups, time_limit=budget)
            findings = replace(findings, explained=explained, importance=importance)
        page = render_findings(replace(findings, seconds=time.monotonic() - started))
        findings = replace(findings, seconds=time.monotonic() - started)
        run = replace(run, finished=True, outcome=make_outcome(findings, classifier, stopped=stopped))
        if place is not None and at_once:
            run = write_run(place, run, page=page, card=card_of(model, run))
        elif place is not None:
            run = write_run(place, run, model=model, predictions=predictions, page=page, card=card_of(model, run))
    return Analysis(model, run, findings, place, predictions, page, frame_kind(nodes))


def _estimator(
    label_column: str | None,
    target_column: str | None,
    classifier: NewtonNetClassifier | None,
    regressor: NewtonNetRegressor | None,
) -> GraphEstimator:
    """A copy of the estimator for the column that is given: of classes or of numbers."""
    if (label_column is None) == (target_column is None):
        raise ValueError("give label_column for a column of classes, or target_column for a column of numbers")
    given, other = (classifier, regressor) if target_column is None else (regressor, classifier)
    if other is not None:
        column, kind = ("label_column", "classifier") if target_column is None else ("target_column", "regressor")
        raise ValueError(f"{column} needs a {kind}, got {type(other).__name__}; give it by {kind}=")
    if given is not None:
        copied: GraphEstimator = clone(given)
        return copied
    return NewtonNetClassifier() if target_column is None else NewtonNetRegressor()


def _check_labels(reading: Reading, classifier: GraphEstimator, nodes: str) -> None:
    """Refuse labels that leave nothing to evaluate a model on, and a graph that the classifier cannot use."""
    graph, _, _ = fitted_parts(reading)
    check_trainable(graph)
    if classifier.transferable and not reading.encoding.columns:
        raise ValueError(f"transferable needs features, but {nodes} has none; a model without is tied to its nodes")
    if graph.targets is not None:
        return
    counts = np.bincount(graph.labels[graph.labelled], minlength=graph.classes)
    column = reading.columns.label
    if counts.max() < 2:
        advice = "label more nodes"
        if len(counts) >= SEVERAL:
            advice = "choose a column of classes, not of ids, or predict numbers with --target-column"
        raise ValueError(
            f"no class has two labelled nodes in column {column!r} of {nodes}, so none can be held out to evaluate a "
            f"model; {advice}"
        )


def _describe(nodes: TableSource, edges: TableSource, reading: Reading, arguments: dict[str, Any]) -> RunDescription:
    """The run at its start; an argument that JSON does not know is stored as its text."""
    arguments["seed"] = arguments.pop("random_state")
    text = json.dumps(arguments, sort_keys=True, default=lambda one: one.item() if hasattr(one, "item") else str(one))
    return RunDescription(
        tables={"nodes": table_file(nodes), "edges": table_file(edges)},
        columns=reading.columns,
        text_encoding=arguments["text_encoding"],
        encoding=reading.encoding,
        class_names=reading.graph.class_names,
        ids=ids_checksum(reading.graph.node_names),
        model="",
        arguments=json.loads(text),
        finished=False,
        outcome={},
    )


def _rivals(classifier: GraphEstimator) -> list[GraphEstimator]:
    """The models to compare with, trained in the same way."""
    rivals = NUMBER_RIVALS if isinstance(classifier, NewtonNetRegressor) else RIVALS
    return [
        clone(classifier).set_params(model=name, settings=settings or None, transferable=False)
        for name, settings in rivals.items()
        if name != classifier.model
    ]


def _run_warnings(classifier: GraphEstimator, *, stopped: bool) -> list[str]:
    """How the run went, and whether the model can be used on another graph."""
    warnings = []
    if stopped:
        warnings.append("The run was stopped before its end; the results so far are shown.")
    elif not classifier.complete_:
        warnings.append("The time limit was reached during tuning; with more time, the model may become better.")
    if any(member.bound is not None for member in classifier.ensemble_.members):
        warnings.append(
            "The model is tied to the training graph, since it has weights, or eigenvectors, for every node. Fit with "
            "--transferable to predict on other graphs."
        )
    return warnings


def _call(nodes: TableSource, edges: TableSource, **columns: str | None) -> str:
    """The call that repeats an analysis, with the names of the tables that are files."""
    named = {"nodes": file_of(nodes), "edges": file_of(edges)}
    names = ", ".join(repr(str(path)) if path else name for name, path in named.items())
    given = ", ".join(f"{name}={column!r}" for name, column in columns.items() if column is not None)
    return f"newtonnet.analyse({names}, {given})"
