"""An adjacency built from pieces on disk is the one that is built in memory."""

import errno
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from newtonnet.graphs import from_edges
from newtonnet.out_of_core import adjacency_of, open_adjacency, write_adjacency


def in_pieces(edges, weights=None, size=13):
    for start in range(0, edges.shape[1], size):
        piece = edges[:, start : start + size]
        yield piece if weights is None else (piece, weights[start : start + size])


@pytest.mark.parametrize("entries", [1, 20, 10**6])
@pytest.mark.parametrize("weighted", [False, True])
def test_pieces_make_the_same_matrix_as_from_edges(tmp_path, rng, entries, weighted):
    edges = rng.integers(0, 30, size=(2, 200))  # loops, repeats and both directions among them
    weights = rng.integers(0, 4, size=200).astype(np.float32) if weighted else None
    graph = from_edges(edges, np.ones((33, 1)), weights=weights)
    made = write_adjacency(tmp_path / "a", in_pieces(edges, weights), nodes=33, entries=entries)
    assert np.array_equal(made.rows, graph.adjacency.indptr)
    assert np.array_equal(made.columns, graph.adjacency.indices)
    assert (made.weights is not None) == weighted
    assert not weighted or np.array_equal(made.weights, graph.adjacency.data)
    assert made.rows.dtype == np.int64
    assert made.columns.dtype == np.int32
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a"]


def test_a_graph_written_to_disk_has_the_checksum_it_has_in_memory(tmp_path, weighted):
    entries = weighted.adjacency.tocoo()
    pieces = [(np.stack([entries.row, entries.col]), entries.data)]
    assert write_adjacency(tmp_path / "a", pieces, nodes=weighted.nodes).checksum == adjacency_of(weighted).checksum
    assert open_adjacency(tmp_path / "a").checksum == adjacency_of(weighted).checksum


def test_weights_of_one_are_not_stored(tmp_path, rng):
    edges = rng.integers(0, 9, size=(2, 20))
    assert write_adjacency(tmp_path / "a", [(edges, np.ones(20))], nodes=9).weights is None


def test_no_edges_at_all_make_an_empty_matrix(tmp_path):
    assert write_adjacency(tmp_path / "a", [], nodes=3).rows.tolist() == [0, 0, 0, 0]


def test_parquet_is_read_in_pieces_by_pyarrow(tmp_path, rng):
    edges = rng.integers(0, 12, size=(2, 40))
    pq.write_table(pa.table({"target": edges[1], "source": edges[0]}), tmp_path / "edges.parquet")
    batches = pq.ParquetFile(tmp_path / "edges.parquet").iter_batches(7)
    made = write_adjacency(tmp_path / "a", (np.stack([one["source"], one["target"]]) for one in batches), nodes=12)
    assert made.checksum == adjacency_of(from_edges(edges, np.ones((12, 1)))).checksum


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([np.array([[0], [1]]), np.array([[1, 2], [0, 5]])], r"edge 2 joins nodes \[2, 5\], but the nodes are 0..4"),
        ([np.array([[-1], [1]])], r"edge 0 joins nodes \[-1, 1\]"),
        ([np.zeros((3, 2), dtype=np.int64)], "shape"),
        ([np.zeros((2, 2))], "integers"),
        ([(np.array([[0], [1]]), np.array([-1.0]))], "edge 0 has weight -1"),
        ([(np.array([[0], [1]]), np.array([1.0, 2.0]))], "expected 1 edge weights"),
    ],
)
def test_a_wrong_piece_is_one_line_and_leaves_nothing(tmp_path, pieces, message):
    with pytest.raises(ValueError, match=message):
        write_adjacency(tmp_path / "a", pieces, nodes=5)
    assert list(tmp_path.iterdir()) == []


def test_a_directed_graph_is_refused(arrows):
    with pytest.raises(ValueError, match="directed"):
        adjacency_of(arrows)


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path, rng, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"no room in .* needed") as caught:
        write_adjacency(tmp_path / "a", [rng.integers(0, 9, size=(2, 20))], nodes=9)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
