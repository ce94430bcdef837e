"""From two tables to a fitted model, predictions for every node, held-out scores and a page."""

from __future__ import annotations  # so that help() prints the names of types and not all that they stand for

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone

from newtonnet.estimator import GraphEstimator, Importance, NewtonNetClassifier, NewtonNetRegressor, defaults_of
from newtonnet.files import current, file_checksum, scratch, write_whole
from newtonnet.graphs import Graph, check_trainable
from newtonnet.meaning import listed
from newtonnet.out_of_core import PROPAGATION_MEMORY, read_tables_on_disk
from newtonnet.progress import progress_bar
from newtonnet.report import Findings, gather, render_findings
from newtonnet.tables import (
    FrameKind,
    Reading,
    TableOptions,
    TableSource,
    UnknownEdges,
    as_frame,
    column_names,
    frame_kind,
    read_tables,
)
from newtonnet.training import first_interrupt

from .evaluation import GIVEN, Nodes, evaluate, fitted_parts, held_out_folds
from .explaining import ExplainedNodes, explain_nodes, explain_some
from .outcome import card_of, make_outcome, outcome_html, predictions_of, score_known, tally
from .run_folder import (
    PAGE,
    PREDICTIONS,
    RunDescription,
    TableFile,
    check_folder,
    check_same,
    formula_warning,
    ids_checksum,
    is_finished,
    locked_folder,
    predictions_csv,
    read_predictions,
    read_run,
    run_text,
    spreadsheet_safe,
    write_run,
)
from .steps import AnalysisProgress, make_show, make_steps

OUT_OF_CORE = "out-of-core"
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
UNSHOWN = (
    "the model reads the labels that were known at the fit, and has none of them on another graph, so its predictions "
    "may be poor; fit with --transferable"
)
"""What is said where a model predicts on a graph whose labels it cannot read."""
SEVERAL = 10
"""A column with at least this many classes, none of them twice, is taken for a column of ids."""
SAME = 0.9
"""If this share of known ids has the classes of the fit, they are taken for the same nodes."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predicted classes, or numbers, of the nodes of two tables.

    Attributes:
        summary: the counts and the score that ``newtonnet predict --json`` prints.
        notes: warnings about the tables.
        table: the predictions as an Arrow table.
    """

    summary: dict[str, Any]
    notes: tuple[str, ...]
    table: pa.Table = field(repr=False)
    _kind: FrameKind | None = field(default=None, repr=False)

    @property
    def predictions(self) -> Any:
        """The rows of predictions.csv, one for each node, as a frame of the kind that the nodes came in.

        Of nodes in a file, a pandas frame, or an Arrow table without pandas.
        """
        return as_frame(self.table, self._kind)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the predictions to a CSV file."""
        write_whole(Path(path), predictions_csv(self.table))


@dataclass(frozen=True, eq=False)
class Analysis:
    """A fitted model, its predictions and its evaluation; :func:`analyse` makes one, :meth:`load` reads one.

    Attributes:
        model: the fitted classifier or regressor.
        run: how the tables were read, with checksums, arguments and results: the contents of run.json.
        findings: everything that the page shows, as plain data; None for an analysis that was loaded.
        folder: the run folder, if there is one.
    """

    model: GraphEstimator
    run: RunDescription = field(repr=False)
    findings: Findings | None = field(repr=False)
    folder: Path | None
    _table: pa.Table | None = field(default=None, repr=False)
    _page: str | None = field(default=None, repr=False)
    _kind: FrameKind | None = field(default=None, repr=False)

    @property
    def summary(self) -> dict[str, Any]:
        """Scores, homophily and warnings: what ``newtonnet fit --json`` prints."""
        return {**self.run.outcome, "folder": None if self.folder is None else str(self.folder)}

    @property
    def table(self) -> pa.Table:
        """The predictions as an Arrow table."""
        if self._table is not None:
            return self._table
        with self._file(PREDICTIONS) as path:
            return read_predictions(path)

    @property
    def predictions(self) -> Any:
        """The rows of predictions.csv, one for each node, as a frame of the kind that the nodes came in.

        Of nodes in a file, a pandas frame, or an Arrow table without pandas.
        """
        return as_frame(self.table, self._kind)

    def _repr_html_(self) -> str:
        return outcome_html(self.model, self.run.outcome) or f"<pre>{escape(repr(self))}</pre>"

    @property
    def page(self) -> str:
        """The HTML of the page."""
        if self._page is not None:
            return self._page
        with self._file(PAGE) as path:
            return path.read_text(encoding="utf-8")

    @property
    def card(self) -> str:
        """The model card as Markdown: data, protocol, metrics, limits and intended use."""
        return card_of(self.model, self.run)

    def report(self, path: str | PathLike[str]) -> None:
        """Write the page to an HTML file."""
        write_whole(Path(path), self.page)

    def save(self, folder: str | PathLike[str], *, force: bool = False) -> None:
        """Write the run folder, which :meth:`load` and ``newtonnet predict`` read.

        Args:
            folder: a new or empty folder, or one with an older run of the same table of nodes.
            force: write into a folder that holds something else, or the run of another table.
        """
        place = Path(folder)
        check_folder(place, tables=[_file_of(file.path) for file in self.run.tables.values()], force=force)
        page, table = self.page, self.table
        with locked_folder(place):
            write_run(place, self.run, model=self.model, predictions=table, page=page, card=self.card)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Read a run folder; refused if it is damaged or was written by a newer version."""
        run, classifier = read_run(Path(folder))
        return cls(classifier, run, None, Path(folder))

    def predict(
        self,
        nodes: TableSource | None = None,
        edges: TableSource | None = None,
        *,
        unknown_edges: UnknownEdges | None = None,
    ) -> Prediction:
        """Predict the class, or number, of every node of two tables that have the columns of those of the fit.

        Args:
            nodes: table of nodes; a column of labels, or targets, is optional and only used for the score.
            edges: table of edges. Without both tables, those of the fit are read again.
            unknown_edges: what to do with edges that name other nodes (see :class:`TableOptions`); as in the fit if
                None.
        """
        new, tables = nodes is not None, self._tables(nodes, edges)
        # Features that are stored on disk belong to the tables of the fit.
        classifier = copy(self.model)
        if new and classifier.store is not None:
            classifier.set_params(store=None)
        with _table_reader(classifier, tables) as read:
            reading, notes = _read_again(read, *tables, self.run, unknown_edges)
            graph = reading.graph
            _check_tied(classifier, graph, self.run)
            probabilities = classifier.answers(graph)
            table = predictions_of(classifier, graph, probabilities, added=reading.added)
            seen = self._seen(graph, tables[0], reading.parts)
            scored, reached, remark = score_known(classifier.metric, graph, probabilities, seen)
        summary = {
            "nodes": table.num_rows,
            "predicted": tally(table, classifier),
            "labelled": len(graph.labelled),
            "judged": scored,
            "metric": classifier.metric,
            "score": reached,
            "remark": remark,
        }
        if (ensemble := classifier.ensemble_).labels is not None and not len(ensemble.shown(graph).labelled):
            notes.append(UNSHOWN)
        if new and (unsafe := formula_warning(graph)):
            notes.append(unsafe)
        return Prediction(summary, tuple(notes) if new else (), table, frame_kind(tables[0]))

    def explain(
        self, ids: Sequence[str], nodes: TableSource | None = None, edges: TableSource | None = None
    ) -> ExplainedNodes:
        """Why each of some nodes has its class, or number, on the tables of the fit or on others with the same columns.

        Args:
            ids: ids of the nodes, as in the table.
            nodes: table of nodes.
            edges: table of edges. Without both tables, those of the fit are read again.
        """
        tables = self._tables(nodes, edges)
        classifier = self.model
        with _table_reader(classifier, tables) as read:
            graph = _read_again(read, *tables, self.run)[0].graph
            _check_tied(classifier, graph, self.run)
            probabilities = classifier.answers(graph)
            found = explain_nodes(classifier, graph, [str(one) for one in ids], probabilities)
        names = self.run.encoding.feature_names
        return ExplainedNodes([replace(one, feature_names=names) for one in found], graph, probabilities, names)

    def importance(
        self,
        nodes: TableSource | None = None,
        edges: TableSource | None = None,
        *,
        repeats: int = 5,
        time_limit: float | None = 60.0,
    ) -> Importance:
        """How much worse held-out nodes are predicted when a column is shuffled, or without edges.

        Args:
            nodes: the table of nodes that the model was fitted on.
            edges: the table of edges. Without both tables, the files of the fit are read again.
            repeats: number of shuffles of each column.
            time_limit: seconds after which no further shuffle begins; None: no limit.
        """
        tables = self._tables(nodes, edges)
        with _table_reader(self.model, tables) as read:
            graph = _read_again(read, *tables, self.run)[0].graph
            groups = self.run.encoding.groups
            return self.model.importance(graph, groups=groups, repeats=repeats, time_limit=time_limit)

    def _tables(self, nodes: TableSource | None, edges: TableSource | None) -> tuple[TableSource, TableSource]:
        """Both tables, or those of the fit."""
        if (nodes is None) != (edges is None):
            raise ValueError("nodes and edges belong together; give both tables, or neither for those of the fit")
        return self.fitted_tables() if nodes is None or edges is None else (nodes, edges)

    def fitted_tables(self) -> tuple[Path, Path]:
        """The files that the model was fitted on; refused if they are gone or were changed since."""
        paths = []
        for file in (self.run.tables["nodes"], self.run.tables["edges"]):
            if file.path is None:
                raise ValueError("the model was fitted on tables in memory; give nodes and edges")
            paths.append(Path(file.path))
            if not paths[-1].is_file():
                raise ValueError(f"{file.path}, which the model was fitted on, is gone; give nodes and edges")
            if file_checksum(paths[-1]) != file.sha256:
                raise ValueError(f"{file.path} was changed after the fit; give nodes and edges, or fit again")
        return paths[0], paths[1]

    @contextmanager
    def _file(self, name: str) -> Iterator[Path]:
        """A file of this run to read; an error if its folder has got another run meanwhile."""
        if self.folder is None or not current(self.folder, name).is_file():
            raise ValueError(f"{self.folder} has no {name}: the run ended before it was written; fit again")
        yield current(self.folder, name)
        check_same(self.folder, self.run)

    def _seen(
        self, graph: Graph, nodes: TableSource, parts: Mapping[str, NDArray[np.int64]] | None
    ) -> NDArray[np.bool_]:
        """Which labelled nodes the model was fitted on: in the same file all but its test nodes, else by their ids."""
        checksum = _table_file(nodes).sha256
        if checksum is not None and checksum == self.run.tables["nodes"].sha256:
            used = graph.labelled if parts is None else np.concatenate([parts["train"], parts["validation"]])
            return np.isin(graph.labelled, used)
        try:
            pairs = zip(self.table["node"].to_pylist(), self.table["known"].to_pylist(), strict=True)
        except (OSError, ValueError):
            return np.zeros(len(graph.labelled), dtype=bool)
        fitted = {name: kind for name, kind in pairs if kind is not None}
        if graph.targets is not None:
            labels = [(graph.node_names[node], graph.targets[node]) for node in graph.labelled]
            agreeing = sum(np.isclose(fitted.get(name, np.nan), number, rtol=1e-6) for name, number in labels)
        else:
            labels = [(graph.node_names[node], graph.class_names[graph.labels[node]]) for node in graph.labelled]
            agreeing = sum(fitted.get(name) == kind for name, kind in labels)
        seen = np.array([name in fitted for name, _ in labels], dtype=bool)
        # Ids such as row numbers may belong to other nodes in another graph: then the classes disagree.
        return seen if agreeing >= SAME * seen.sum() else np.zeros_like(seen)


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
        title: title of the page.
        folder: run folder; the model and its predictions are written as soon as the model is fitted, or at the end if
            the folder holds a finished run, which is whole until the new one is.
        force: write into a folder that holds something else, or the run of another table.
        safe_cells: put an apostrophe before ids and classes that a spreadsheet would take for formulas.
        command: the command that repeats the run, for the page; the call of this function if None.
        progress: show a progress bar, in a terminal or a notebook.
        on_epoch: called at the start of every step and after every epoch with the progress so far.
        message: called with lines for the user: how the columns were read, and where the model was written.
    """
    started = time.monotonic()
    if not isinstance(time_limit, int | float | np.number) or not time_limit > 0:
        raise ValueError(f"time_limit must be a number of seconds above 0, got {time_limit!r}")
    say = message or (lambda _: None)
    source, place = _file_of(nodes), _file_of(folder)
    if place is not None:
        check_folder(place, tables=[source, _file_of(edges)], force=force)
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
        read = stack.enter_context(_table_reader(classifier, (nodes, edges)))
        show(AnalysisProgress("reading the tables", "", 0.0, math.nan, time_limit))
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
        start_step = make_steps(show, say, deadline, [reading.read_as, *(f"note: {note}" for note in notes)])

        began = time.monotonic()
        limit = max(deadline - began, 0.1) * (FINAL if pairs or test is not None else GIVEN)
        classifier.set_params(time_limit=limit).fit(
            graph, validation=validation, stop=stop, on_epoch=start_step("the model")
        )
        spent = time.monotonic() - began
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
        rivals = _rivals(classifier) if compare and classifier.regime != OUT_OF_CORE else []
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
            max_memory=classifier.max_memory or PROPAGATION_MEMORY if classifier.regime == OUT_OF_CORE else None,
        )
        if classifier.regime != OUT_OF_CORE and not stopped:
            budget, names = min(WHY * time_limit, WHY_SECONDS), reading.encoding.feature_names
            explained = explain_some(classifier, reading.graph, probabilities, names, seconds=budget)
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


@contextmanager
def _table_reader(classifier: GraphEstimator, tables: Sequence[TableSource]) -> Iterator[Callable[..., Reading]]:
    """The function that reads tables; out of core, edges are in a temporary folder, as are features without a store."""
    if classifier.regime != OUT_OF_CORE:
        yield read_tables
        return
    store = None if classifier.store is None else Path(classifier.store)
    disk = None if store is None else next(place for place in store.absolute().parents if place.exists())
    with scratch(disk, "newtonnet-edges-") as place:
        classifier.set_params(store=store or place / "blocks")
        if not all(map(_file_of, tables)):
            raise TypeError("the out-of-core regime reads tables from files; give paths of CSV or Parquet files")
        yield partial(read_tables_on_disk, folder=place / "adjacency", max_memory=classifier.max_memory)


def _read_again(
    read: Callable[..., Reading],
    nodes: TableSource,
    edges: TableSource,
    run: RunDescription,
    unknown_edges: UnknownEdges | None = None,
) -> tuple[Reading, list[str]]:
    """Read tables as those of a run were read, with notes; columns of labels and parts may be missing."""
    there = column_names(nodes, text_encoding=run.text_encoding)
    kept = {name: run.arguments[name] for name in ("directed", "unknown_edges", "dates") if name in run.arguments}
    options = TableOptions(**kept, text_encoding=run.text_encoding)
    ignore = tuple(name for name in run.arguments.get("ignore") or () if name in there)
    reading = read(
        nodes,
        edges,
        replace(options, ignore=ignore, unknown_edges=unknown_edges or options.unknown_edges),
        columns=replace(
            run.columns,
            label=run.columns.label if run.columns.label in there else None,
            split=run.columns.split if run.columns.split in there else None,
        ),
        encoding=run.encoding,
        class_names=run.class_names,
    )
    used = (run.columns.source, run.columns.target, run.columns.weight)
    unused = [name for name in column_names(edges, text_encoding=run.text_encoding) if name not in used]
    return reading, [*reading.notes, *([f"unused columns of the edges: {listed(unused)}"] if unused else [])]


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


def _check_tied(classifier: GraphEstimator, graph: Graph, run: RunDescription) -> None:
    """Refuse other nodes, or another order of them, if the model has no features or has weights for each node."""
    same = ids_checksum(graph.node_names) == run.ids
    if not run.encoding.columns and not same:
        raise ValueError("this model was fitted without features and is tied to its nodes; it cannot predict on others")
    bound = {member.bound for member in classifier.ensemble_.members} - {None}
    if bound and not (same and bound == {graph.structure}):
        raise ValueError(
            f"this model is tied to its training graph, and {graph.name!r} is another one; fit with --transferable to "
            "predict on others"
        )


def _describe(nodes: TableSource, edges: TableSource, reading: Reading, arguments: dict[str, Any]) -> RunDescription:
    """The run at its start; an argument that JSON does not know is stored as its text."""
    arguments["seed"] = arguments.pop("random_state")
    text = json.dumps(arguments, sort_keys=True, default=lambda one: one.item() if hasattr(one, "item") else str(one))
    return RunDescription(
        tables={"nodes": _table_file(nodes), "edges": _table_file(edges)},
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
            "The model is tied to the training graph, since it has weights for every node. Fit with --transferable to "
            "predict on other graphs."
        )
    return warnings


def _call(nodes: TableSource, edges: TableSource, **columns: str | None) -> str:
    """The call that repeats an analysis, with the names of the tables that are files."""
    named = {"nodes": _file_of(nodes), "edges": _file_of(edges)}
    names = ", ".join(repr(str(path)) if path else name for name, path in named.items())
    given = ", ".join(f"{name}={column!r}" for name, column in columns.items() if column is not None)
    return f"newtonnet.analyse({names}, {given})"


def _file_of(table: TableSource | None) -> Path | None:
    """The path of a table; None for one in memory."""
    return Path(table) if isinstance(table, str | PathLike) else None


def _table_file(table: TableSource) -> TableFile:
    path = _file_of(table)
    return TableFile(None, None) if path is None else TableFile(str(path.absolute()), file_checksum(path))
