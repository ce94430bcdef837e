"""What an analysis returns: the model with its predictions and its page, and predictions on other tables."""

from __future__ import annotations  # so that help() prints the names of types and not all that they stand for

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from newtonnet.estimator import GraphEstimator, Importance
from newtonnet.files import current, file_checksum, scratch, write_whole
from newtonnet.graphs import Graph
from newtonnet.meaning import listed
from newtonnet.out_of_core import read_tables_on_disk
from newtonnet.report import Findings
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

from .explaining import ExplainedNodes, explain_nodes
from .outcome import card_of, outcome_html, predictions_of, score_known, tally
from .run_folder import (
    PAGE,
    PREDICTIONS,
    RunDescription,
    TableFile,
    check_folder,
    check_same,
    formula_warning,
    ids_checksum,
    locked_folder,
    predictions_csv,
    read_predictions,
    read_run,
    write_run,
)
from .steps import room_left

OUT_OF_CORE = "out-of-core"
UNSHOWN = (
    "the model reads the labels that were known at the fit, and has none of them on another graph, so its predictions "
    "may be poor; fit with --transferable"
)
"""What is said where a model predicts on a graph whose labels it cannot read."""
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
        check_folder(place, tables=[file_of(file.path) for file in self.run.tables.values()], force=force)
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
        with table_reader(classifier, tables) as read:
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
        with table_reader(classifier, tables) as read:
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
        with table_reader(self.model, tables) as read:
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
        checksum = table_file(nodes).sha256
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


@contextmanager
def table_reader(classifier: GraphEstimator, tables: Sequence[TableSource]) -> Iterator[Callable[..., Reading]]:
    """The function that reads tables; out of core, edges are in a temporary folder, as are features without a store."""
    if classifier.regime != OUT_OF_CORE:
        yield read_tables
        return
    store = None if classifier.store is None else Path(classifier.store)
    disk = None if store is None else next(place for place in store.absolute().parents if place.exists())
    with scratch(disk, "newtonnet-edges-") as place:
        classifier.set_params(store=store or place / "blocks")
        if not all(map(file_of, tables)):
            raise TypeError("the out-of-core regime reads tables from files; give paths of CSV or Parquet files")
        yield partial(read_tables_on_disk, folder=place / "adjacency", max_memory=room_left(classifier, None))


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


def file_of(table: TableSource | None) -> Path | None:
    """The path of a table; None for one in memory."""
    return Path(table) if isinstance(table, str | PathLike) else None


def table_file(table: TableSource) -> TableFile:
    """The path of a table and its checksum; neither for one in memory."""
    path = file_of(table)
    return TableFile(None, None) if path is None else TableFile(str(path.absolute()), file_checksum(path))
