"""Tables whose edges are kept on disk give the same graph as in memory; a graph on disk prints in one line."""

import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from newtonnet.graphs import Graph, homophily
from newtonnet.out_of_core import (
    adjacency_of,
    as_large,
    open_graph,
    read_tables_on_disk,
    write_adjacency,
    write_graph,
)
from newtonnet.out_of_core.large_graph import mapped_matrix
from newtonnet.tables import Columns, TableOptions, read_tables

COLUMNS = Columns(id="id", label="label", source="source", target="target", weight=None)
WEIGHTED = replace(COLUMNS, weight="weight")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr("newtonnet.tables.tables.PIECE", 20)
    monkeypatch.setattr("newtonnet.tables.readers.BLOCK", 256)


@pytest.fixture
def write(tmp_path, rng):
    """Tables of 30 nodes, of which the last have no edge, and edges with loops, repeats and both directions."""

    def write(ending, kind, *, weights=None, edges=200, gaps=True):
        n = 30
        numbers = rng.permutation(n) * 7 + 3
        ids = numbers if kind == "numbers" else pa.array([f" user {i}" if i % 2 else f"{i}" for i in numbers])
        nodes = pa.table(
            {
                "id": ids,
                "size": pa.array(rng.normal(size=n).round(3), mask=(rng.random(n) < 0.2) & gaps),
                "colour": rng.choice(["red", "green", "blue"], n),
                "same": ["x"] * n,
                "label": pa.array(rng.choice(["cat", "dog"], n), mask=rng.random(n) < 0.3),
            }
        )
        ends = rng.integers(0, n - 4, (2, edges))
        ends[:, edges // 2 : edges // 2 + 5] = ends[::-1, :5]
        columns = {
            side: pa.array(ids).take(pa.array(row)) for side, row in zip(("source", "target"), ends, strict=True)
        }
        links = pa.table({**columns, **({} if weights is None else {"weight": weights(rng, edges)})})
        for name, table in (("nodes", nodes), ("edges", links)):
            path = tmp_path / f"{name}.{ending}"
            pq.write_table(table, path, row_group_size=33) if ending == "parquet" else pacsv.write_csv(table, path)
        return tmp_path / f"nodes.{ending}", tmp_path / f"edges.{ending}"

    return write


WEIGHTS = {
    "none": None,
    "halves": lambda rng, m: rng.integers(0, 4, m) / 2,  # some are 0
    "whole": lambda rng, m: rng.integers(1, 4, m),
    "ones": lambda rng, m: np.ones(m),
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("kind", ["numbers", "texts"])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("max_memory", [None, 1000])
def test_the_graph_is_the_one_in_memory(ending, kind, weights, max_memory, write, tmp_path, monkeypatch):
    monkeypatch.setattr("newtonnet.out_of_core.large_graph.FEWEST", 50)  # sorted in many parts
    monkeypatch.setattr("newtonnet.out_of_core.adjacency.LEAST", 30)
    tables = write(ending, kind, weights=WEIGHTS[weights])
    columns = COLUMNS if weights == "none" else WEIGHTED
    mapped = read_tables_on_disk(*tables, folder=tmp_path / "a", columns=columns, max_memory=max_memory)
    memory = read_tables(*tables, columns=columns)
    same(mapped.graph, memory.graph)
    assert mapped.graph.weighted == (weights in ("halves", "whole"))
    assert isinstance(mapped.graph.adjacency.indices, np.memmap)
    assert mapped.notes == memory.notes
    assert "self-loop" in mapped.notes[-1]
    assert "duplicate" in mapped.notes[-1]
    assert (mapped.encoding, mapped.left_out, mapped.read_as) == (memory.encoding, memory.left_out, memory.read_as)


def same(mapped, memory):
    for name in ("data", "indices", "indptr"):
        one, other = getattr(mapped.adjacency, name), getattr(memory.adjacency, name)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
        assert not one.flags.writeable
    assert type(mapped.features) is type(memory.features)
    assert (sp.csr_array(mapped.features) != sp.csr_array(memory.features)).nnz == 0
    np.testing.assert_array_equal(mapped.labels, memory.labels)
    for name in ("node_names", "class_names", "name", "nodes", "edges", "checksum", "structure", "directed"):
        assert getattr(mapped, name) == getattr(memory, name)
    np.testing.assert_array_equal(mapped.pairs, memory.pairs)
    assert repr(homophily(mapped)) == repr(homophily(memory))  # NaN where there is none
    assert adjacency_of(mapped).checksum == adjacency_of(memory).checksum
    assert as_large(mapped).checksum == as_large(memory).checksum


def test_dense_features_are_those_in_memory(write, tmp_path):
    tables = write("parquet", "numbers", gaps=False)
    read = {"options": TableOptions(ignore=["colour"], standardise=False), "columns": COLUMNS, "name": "other"}
    mapped, memory = read_tables_on_disk(*tables, folder=tmp_path / "a", **read), read_tables(*tables, **read)
    assert isinstance(mapped.graph.features, np.ndarray)
    same(mapped.graph, memory.graph)


def test_a_stored_encoding_reads_other_tables_without_labels(write, tmp_path):
    tables = write("csv", "texts")
    kept = read_tables(*tables, columns=COLUMNS)
    again = {"columns": replace(COLUMNS, label=None), "encoding": kept.encoding, "class_names": kept.graph.class_names}
    mapped, memory = read_tables_on_disk(*tables, folder=tmp_path / "a", **again), read_tables(*tables, **again)
    same(mapped.graph, memory.graph)
    assert mapped.notes == memory.notes


def test_no_edges_at_all_make_an_empty_graph(write, tmp_path):
    nodes, _ = write("csv", "texts")
    (tmp_path / "none.csv").write_text("source,target\n")
    tables = nodes, tmp_path / "none.csv"
    mapped = read_tables_on_disk(*tables, folder=tmp_path / "a", columns=COLUMNS)
    same(mapped.graph, read_tables(*tables, columns=COLUMNS).graph)
    assert mapped.notes == ()


def test_other_labels_leave_the_edges_in_their_file(write, tmp_path):
    graph = read_tables_on_disk(*write("parquet", "numbers"), folder=tmp_path / "a", columns=COLUMNS).graph
    other = graph.relabelled(np.full(graph.nodes, -1))
    assert other.adjacency is graph.adjacency
    assert isinstance(other.adjacency.indices, np.memmap)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_mistake_in_the_edges_leaves_nothing_behind(ending, write, tmp_path):
    nodes, edges = write(ending, "numbers")
    before = sorted(tmp_path.iterdir())
    table = pq.read_table(edges) if ending == "parquet" else pacsv.read_csv(edges)
    wrong = pa.concat_tables([table, pa.table({"source": [3], "target": [4]})])
    pq.write_table(wrong, edges) if ending == "parquet" else pacsv.write_csv(wrong, edges)
    with pytest.raises(ValueError, match=r"(row 201|line 202) of .* names the unknown node '?4'? in column 'target'"):
        read_tables_on_disk(nodes, edges, folder=tmp_path / "a", columns=COLUMNS)
    assert sorted(tmp_path.iterdir()) == before


def test_more_edges_than_a_graph_can_hold_are_refused(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("newtonnet.out_of_core.large_graph.MOST", 10)
    with pytest.raises(ValueError, match=r"at most 10 entries, two for each edge, .*write_graph"):
        mapped_matrix(write_adjacency(tmp_path / "a", [rng.integers(0, 9, size=(2, 20))], nodes=9))


def test_a_trusted_graph_is_still_checked_where_that_is_cheap(path):
    features, labels = np.array(path.features), np.array(path.labels)
    names = {"class_names": ("a", "b"), "trusted": True}
    with pytest.raises(ValueError, match="adjacency must have shape"):
        Graph(features, sp.csr_array((2, 2), dtype=np.float32), labels, **names)
    with pytest.raises(TypeError, match="adjacency must be float32"):
        Graph(features, path.adjacency.astype(np.float64), labels, **names)
    with pytest.raises(ValueError, match="features must be finite"):
        Graph(features * np.float32(np.inf), path.adjacency, labels, **names)
    with pytest.raises(ValueError, match=r"labels must be -1 or 0\.\.0"):
        Graph(features, path.adjacency, labels, class_names=("a",), trusted=True)
    with pytest.raises(ValueError, match="expected 3 node names"):
        Graph(features, path.adjacency, labels, **names, node_names=("one",))


def test_a_graph_on_disk_is_printed_in_one_line(tmp_path, rng):
    ring = np.stack([np.arange(2000), np.roll(np.arange(2000), 1)])
    graph = write_graph(
        tmp_path / "big",
        [ring],
        features=[rng.standard_normal((2000, 3), dtype=np.float32)],
        labels=[np.arange(2000) % 2],
        nodes=2000,
        name="ring",
    )
    told = f"LargeGraph('ring', nodes=2000, edges=2000, features=3, classes=2, folder='{tmp_path / 'big'}')"
    assert repr(graph) == str(graph) == repr(open_graph(tmp_path / "big")) == told
    assert repr(graph.adjacency) == "Adjacency(nodes=2000, edges=2000, weighted=False)"


def test_one_in_memory_too(tmp_path, weighted):
    assert repr(as_large(weighted)) == (
        f"LargeGraph('weighted', nodes=60, edges={weighted.edges}, features=7, classes=3, folder=None)"
    )
    entries = weighted.adjacency.tocoo()
    pieces = [(np.stack([entries.row, entries.col]), entries.data)]
    written = write_adjacency(tmp_path / "a", pieces, nodes=weighted.nodes)
    assert repr(written) == f"Adjacency(nodes=60, edges={weighted.edges}, weighted=True)"


def test_directed_edges_on_disk_are_refused(write, tmp_path):
    with pytest.raises(ValueError, match="edges on disk cannot be directed"):
        read_tables_on_disk(*write("csv", "texts"), TableOptions(directed=True), folder=tmp_path / "a")


def test_a_graph_on_disk_is_pickled_by_its_folder(tmp_path, rng, weighted):
    edges, x = rng.integers(0, 5000, size=(2, 20_000)), rng.standard_normal((5000, 8), dtype=np.float32)
    graph = write_graph(tmp_path / "g", [edges], [x], [np.arange(5000) % 2], nodes=5000)
    sent = pickle.dumps(graph)
    assert len(sent) < 1000
    assert pickle.loads(sent).checksum == graph.checksum
    again = pickle.loads(pickle.dumps(as_large(weighted)))
    assert again.checksum == weighted.checksum
    assert np.array_equal(again.features, weighted.features)
