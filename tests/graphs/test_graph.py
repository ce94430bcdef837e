"""What a graph knows, what its constructor refuses, and what its checksum sees."""

import hashlib
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from newtonnet.graphs import (
    Graph,
    check_trainable,
    compact,
    components,
    from_edges,
    homophily,
    isolated_nodes,
    known_edges,
    sparse_tensor,
)
from newtonnet.graphs.graph import edge_blocks, in_pieces, read_rows


def csr(entries, n=4, *, dtype=np.float32):
    """A square CSR matrix with int32 indices from (row, column, weight) triples in canonical order."""
    rows, columns, weights = zip(*entries, strict=True) if entries else ((), (), ())
    pointers = np.concatenate([[0], np.cumsum(np.bincount(np.array(rows, dtype=int), minlength=n))])
    parts = (np.array(weights, dtype=dtype), np.array(columns, dtype=np.int32), pointers.astype(np.int32))
    return sp.csr_array(parts, shape=(n, n))


BOTH_WAYS = [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 2.0), (2, 1, 2.0)]


def parts(**changes):
    """Arguments of a valid graph 0 - 1 = 2, 3 alone, with some of them replaced."""
    valid = {
        "features": np.array([[1, 0], [0, 2], [3, 0], [0, 4]], dtype=np.float32),
        "adjacency": csr(BOTH_WAYS),
        "labels": np.array([0, 1, -1, 0]),
        "class_names": ("cat", "dog"),
    }
    return valid | changes


def sparse_features(**changes):
    matrix = sp.csr_array(np.array([[1, 0], [0, 2], [3, 0], [0, 4]], dtype=np.float32))
    for position, value in changes.get("data", {}).items():
        matrix.data[position] = value
    return matrix


def features_with(value, row):
    features = parts()["features"].copy()
    features[row, 1] = value
    return features


def test_graph_counts_what_it_holds():
    graph = Graph(**parts())
    assert (graph.nodes, graph.edges, graph.classes) == (4, 2, 2)


def test_directed_graph_counts_arrows():
    assert Graph(**parts(adjacency=csr([(0, 1, 1.0), (1, 0, 1.0), (2, 1, 2.0)]), directed=True)).edges == 3


def test_labelled_nodes_are_those_with_a_class():
    assert Graph(**parts()).labelled.tolist() == [0, 1, 3]


def test_pairs_name_every_edge_once():
    assert Graph(**parts()).pairs.T.tolist() == [[0, 1], [1, 2]]


def test_pairs_of_a_random_graph_are_the_upper_triangle(random_graph):
    expected = np.argwhere(np.triu(random_graph.adjacency.toarray()))
    np.testing.assert_array_equal(random_graph.pairs.T, expected)


def test_pairs_of_a_directed_graph_are_its_arrows(arrows):
    np.testing.assert_array_equal(arrows.pairs.T, np.argwhere(arrows.adjacency.toarray()))


def test_repr_says_how_much_there_is():
    expected = "Graph('zoo', nodes=4, edges=2, features=2, classes=2, labelled=3)"
    assert repr(Graph(**parts(name="zoo"))) == expected


@pytest.mark.parametrize(
    ("changes", "error", "word"),
    [
        pytest.param({"features": features_with(np.nan, 2)}, ValueError, "node 2 has a NaN", id="NaN feature"),
        pytest.param({"features": features_with(np.inf, 3)}, ValueError, "node 3 has a NaN", id="infinite feature"),
        pytest.param(
            {"features": sparse_features(data={1: np.nan})}, ValueError, "node 1 has a NaN", id="NaN sparse feature"
        ),
        pytest.param(
            {"features": sparse_features(data={2: -np.inf})}, ValueError, "node 2 has a NaN", id="inf sparse feature"
        ),
        pytest.param({"features": np.eye(4)}, TypeError, "float32, got float64", id="float64 features"),
        pytest.param({"features": np.eye(4, dtype=np.int64)}, TypeError, "float32, got int64", id="whole features"),
        pytest.param({"features": np.ones(4, dtype=np.float32)}, ValueError, "nodes, features", id="flat features"),
        pytest.param({"features": np.array(1, dtype=np.float32)}, ValueError, "nodes, features", id="one number"),
        pytest.param(
            {"features": np.zeros((0, 2), dtype=np.float32)}, ValueError, "at least one of each", id="no node"
        ),
        pytest.param(
            {"features": np.zeros((4, 0), dtype=np.float32)}, ValueError, "at least one of each", id="no feature"
        ),
        pytest.param({"features": [[1.0], [2.0], [3.0], [4.0]]}, TypeError, "numpy array", id="list of features"),
        pytest.param(
            {"features": sp.coo_array(np.eye(4, dtype=np.float32))}, TypeError, "csr_array, got coo", id="COO features"
        ),
        pytest.param({"features": np.ones((5, 2), dtype=np.float32)}, ValueError, "fit 5 rows", id="more features"),
        pytest.param({"adjacency": csr(BOTH_WAYS, n=5)}, ValueError, r"shape \(4, 4\)", id="more nodes"),
        pytest.param({"adjacency": csr(BOTH_WAYS).toarray()}, TypeError, "csr_array", id="dense adjacency"),
        pytest.param({"adjacency": sp.csr_matrix(csr(BOTH_WAYS))}, TypeError, "csr_array", id="matrix, not array"),
        pytest.param({"adjacency": csr(BOTH_WAYS, dtype=np.float64)}, TypeError, "float32", id="float64 adjacency"),
        pytest.param(
            {"adjacency": sp.csr_array((np.ones(0, np.float32), np.zeros(0, np.int64), np.zeros(5, np.int64)), (4, 4))},
            TypeError,
            "int32",
            id="int64 indices",
        ),
        pytest.param({"adjacency": csr([(0, 1, -1.0), (1, 0, -1.0)])}, ValueError, "negative", id="negative weight"),
        pytest.param({"adjacency": csr([(0, 1, np.nan), (1, 0, np.nan)])}, ValueError, "finite", id="NaN weight"),
        pytest.param({"adjacency": csr([(0, 1, np.inf), (1, 0, np.inf)])}, ValueError, "finite", id="infinite weight"),
        pytest.param({"adjacency": csr([(0, 1, 0.0), (1, 0, 0.0)])}, ValueError, "weight 0", id="weight zero"),
        pytest.param({"adjacency": csr([(0, 0, 1.0)])}, ValueError, "self-loops", id="self-loop"),
        pytest.param({"adjacency": csr([(0, 1, 1.0)])}, ValueError, "symmetric", id="one way only"),
        pytest.param(
            {"adjacency": csr([(0, 1, 1.0), (1, 0, 2.0)])}, ValueError, "symmetric", id="weights differ by direction"
        ),
        pytest.param({"adjacency": csr([(0, 2, 1.0), (0, 1, 1.0)])}, ValueError, "sorted", id="unsorted"),
        pytest.param({"adjacency": csr([(0, 1, 1.0), (0, 1, 1.0)])}, ValueError, "duplicates", id="duplicate"),
        pytest.param({"labels": np.array([0, 1, -1])}, ValueError, "expected 4 labels", id="fewer labels"),
        pytest.param(
            {"labels": np.array([[0], [1], [0], [1]])}, ValueError, "expected 4 labels", id="column of labels"
        ),
        pytest.param({"labels": np.array([0, 1, 2, 0])}, ValueError, r"0\.\.1, got 0\.\.2", id="label too large"),
        pytest.param({"labels": np.array([0, 1, -2, 0])}, ValueError, "-1 or", id="label below -1"),
        pytest.param({"labels": np.zeros(4)}, TypeError, "int64", id="float labels"),
        pytest.param({"labels": np.zeros(4, dtype=np.int32)}, TypeError, "int64", id="int32 labels"),
        pytest.param({"labels": [0, 1, -1, 0]}, TypeError, "int64", id="list of labels"),
        pytest.param({"class_names": ()}, ValueError, "labels must be -1", id="labels without classes"),
        pytest.param({"node_names": ("a", "b")}, ValueError, "expected 4 node names", id="fewer node names"),
    ],
)
def test_constructor_refuses_what_does_not_fit(changes, error, word):
    with pytest.raises(error, match=word):
        Graph(**parts(**changes))


@pytest.mark.parametrize("features", [parts()["features"], sparse_features()], ids=["dense", "sparse"])
def test_arrays_are_read_only(features):
    graph = Graph(**parts(features=features))
    held = graph.features.data if isinstance(graph.features, sp.csr_array) else graph.features
    for array in (held, graph.adjacency.data, graph.adjacency.indices, graph.adjacency.indptr, graph.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_fields_cannot_be_replaced():
    with pytest.raises(AttributeError, match="cannot assign"):
        Graph(**parts()).name = "other"


def test_checksum_is_the_same_for_the_same_graph():
    assert Graph(**parts()).checksum == Graph(**parts()).checksum


@pytest.mark.parametrize(
    "changes",
    [{"name": "other"}, {"class_names": ("a", "b")}, {"node_names": tuple("abcd")}],
    ids=["name", "class names", "node names"],
)
def test_checksum_does_not_see_names(changes):
    assert Graph(**parts(**changes)).checksum == Graph(**parts()).checksum


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"features": features_with(0.5, 0)}, id="feature"),
        pytest.param({"features": parts()["features"].reshape(4, 2)[:, ::-1].copy()}, id="columns swapped"),
        pytest.param({"labels": np.array([0, 1, 0, 0])}, id="label"),
        pytest.param({"labels": np.array([1, 0, -1, 0])}, id="labels swapped"),
        pytest.param({"adjacency": csr([*BOTH_WAYS, (2, 3, 1.0), (3, 2, 1.0)])}, id="edge added"),
        pytest.param({"adjacency": csr(BOTH_WAYS[:2])}, id="edge removed"),
        pytest.param({"adjacency": csr([(0, 1, 1.0), (1, 0, 1.0), (1, 3, 2.0), (3, 1, 2.0)])}, id="edge moved"),
        pytest.param({"adjacency": csr([*BOTH_WAYS[:2], (1, 2, 2.5), (2, 1, 2.5)])}, id="weight"),
    ],
)
def test_checksum_sees_what_training_sees(changes):
    assert Graph(**parts(**changes)).checksum != Graph(**parts()).checksum


def test_checksum_sees_a_change_in_sparse_features():
    before, after = (Graph(**parts(features=sparse_features(data=data))) for data in ({}, {0: 1.5}))
    assert before.checksum != after.checksum


def test_graph_without_a_labelled_node_is_not_trainable():
    with pytest.raises(ValueError, match="no labelled node"):
        check_trainable(Graph(**parts(labels=np.full(4, -1))))


def test_graph_with_labels_of_one_class_is_not_trainable():
    with pytest.raises(ValueError, match=r"one class only \('dog'\)"):
        check_trainable(Graph(**parts(labels=np.array([1, 1, -1, -1]))))


def test_graph_with_two_classes_is_trainable():
    assert check_trainable(Graph(**parts())) is None


@pytest.mark.parametrize(("step", "kind"), [(2, np.ndarray), (10, sp.csr_array)], ids=["every 2nd", "every 10th"])
@pytest.mark.parametrize("given", [np.asarray, sp.csr_array], ids=["from dense", "from sparse"])
def test_compact_chooses_the_smaller_store_and_keeps_the_values(given, step, kind):
    values = np.zeros((50, 40), dtype=np.float32)
    values.flat[::step] = np.arange(1, 2000 // step + 1)
    stored = compact(given(values))
    assert isinstance(stored, kind)
    np.testing.assert_array_equal(stored.toarray() if isinstance(stored, sp.csr_array) else stored, values)


def test_compact_drops_stored_zeros():
    matrix = sp.csr_array(np.eye(50, dtype=np.float32))
    matrix.data[4] = 0
    assert compact(matrix).nnz == 49


def test_empty_adjacency_is_a_graph():
    assert from_edges(np.zeros((2, 0), dtype=np.int64), np.ones((3, 1))).edges == 0


@pytest.mark.parametrize("part", ["adjacency", "features"])
def test_csr_indices_outside_the_matrix_are_refused_before_they_are_used(part):
    wild = sp.csr_array((np.ones(2, "f4"), np.array([7, 0], "i4"), np.array([0, 1, 2], "i4")), shape=(2, 2))
    good = sp.csr_array((2, 2), dtype=np.float32)
    good.indices, good.indptr = good.indices.astype(np.int32), good.indptr.astype(np.int32)
    chosen = {"adjacency": good, "features": np.ones((2, 1), np.float32), part: wild}
    with pytest.raises(ValueError, match="out of range"):
        Graph(labels=np.array([0, 1]), class_names=("a", "b"), **chosen)


def test_the_checksum_is_that_of_all_bytes_at_once(monkeypatch):
    graph = Graph(**parts())
    digest = hashlib.sha256()
    for array in (
        graph.features,
        *(getattr(graph.adjacency, name) for name in ("data", "indices", "indptr")),
        graph.labels,
    ):
        digest.update(str((array.dtype.str, array.shape)).encode() + array.tobytes())
    monkeypatch.setattr("newtonnet.graphs.graph.CHUNK", 5)
    assert graph.checksum == digest.hexdigest()[:16]


def test_weights_of_one_are_no_weights():
    assert Graph(**parts()).weighted == any(weight != 1 for *_, weight in BOTH_WAYS)
    assert not Graph(**parts(adjacency=csr([(0, 1, 1.0), (1, 0, 1.0)]))).weighted
    assert Graph(**parts(adjacency=csr([(0, 1, 0.5), (1, 0, 0.5)]))).weighted


def test_other_labels_make_the_graph_that_the_constructor_makes():
    graph = Graph(**parts())
    known = graph.pairs, graph.checksum, graph.structure, graph.labelled
    labels = np.array([0, 0, 1, 2])
    other = graph.relabelled(labels, ("a", "b", "c"))
    expected = Graph(**parts(labels=labels.copy(), class_names=("a", "b", "c")))
    assert (other.checksum, other.structure) == (expected.checksum, expected.structure)
    assert (other.class_names, other.name, other.node_names) == (expected.class_names, graph.name, graph.node_names)
    assert other.labelled.tolist() == [0, 1, 2, 3]
    assert other.adjacency is graph.adjacency
    assert other.pairs is known[0]
    assert graph.checksum == known[1] != other.checksum
    assert not other.labels.flags.writeable
    assert graph.relabelled(labels % 2).class_names == graph.class_names


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.array([0, 1, 2, 0]), "labels must be -1 or"),
        (np.array([0, 1]), "expected 4 labels"),
        ([0, 1, 0, 1], "int64"),
    ],
)
def test_other_labels_are_checked_as_at_the_door(labels, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Graph(**parts()).relabelled(labels)


# Arrays that may be memory-mapped files.

ROWS = np.arange(24, dtype=np.float32).reshape(8, 3)


@pytest.fixture
def stored(tmp_path):
    """The same rows in memory, in a file, behind the header of a file, in a part of one, and by columns."""
    ROWS.tofile(tmp_path / "plain")
    np.save(tmp_path / "headed.npy", ROWS)
    np.concatenate([ROWS[:2] - 9, ROWS]).tofile(tmp_path / "longer")
    ROWS.T.copy().tofile(tmp_path / "columns")
    return {
        "memory": ROWS,
        "file": np.memmap(tmp_path / "plain", np.float32, "r", shape=(8, 3)),
        "header": np.load(tmp_path / "headed.npy", mmap_mode="r"),
        "part": np.memmap(tmp_path / "longer", np.float32, "r", shape=(10, 3))[2:],
        "columns": np.memmap(tmp_path / "columns", np.float32, "r", shape=(8, 3), order="F"),
    }


@pytest.mark.parametrize("kind", ["memory", "file", "header", "part", "columns"])
def test_rows_are_copied_from_wherever_they_are(kind, stored):
    rows = read_rows(stored[kind], slice(3, 6))
    assert rows.tolist() == ROWS[3:6].tolist()
    assert not np.shares_memory(rows, stored[kind])


@pytest.mark.parametrize("kind", ["memory", "file", "header", "part", "columns"])
@pytest.mark.parametrize("chunk", [1, 30, 1000])
def test_pieces_make_the_whole(kind, chunk, stored, monkeypatch):
    monkeypatch.setattr("newtonnet.graphs.graph.CHUNK", chunk)
    pieces = list(in_pieces(stored[kind]))
    assert len(pieces) == {1: 8, 30: 4, 1000: 1}[chunk]
    assert all(piece.flags.c_contiguous for piece in pieces)
    np.testing.assert_array_equal(np.concatenate(pieces), ROWS)


def test_a_file_is_read_and_not_mapped(stored):
    assert not any(np.shares_memory(piece, stored["file"]) for piece in in_pieces(stored["file"]))
    assert np.shares_memory(next(in_pieces(ROWS)), ROWS)


@pytest.fixture(params=[1, 7, 1 << 20])
def block(request, monkeypatch):
    """Entries of a block: one row, some, or all of them."""
    monkeypatch.setattr("newtonnet.graphs.plan.ENTRIES", request.param)


@pytest.fixture
def graphs(tiny_graphs, arrows):
    none = from_edges([[], []], np.eye(3), labels=[0, 1, -1])
    return [*tiny_graphs.values(), arrows, none]


@pytest.mark.usefixtures("block")
def test_blocks_are_the_pairs_in_their_order(graphs):
    for graph in graphs:
        dense = graph.adjacency.toarray()
        expected = np.argwhere(dense if graph.directed else np.triu(dense)).T
        np.testing.assert_array_equal(np.concatenate(list(edge_blocks(graph)), axis=1), expected)
        np.testing.assert_array_equal(graph.pairs, expected)
        assert all(ends.dtype == np.int32 for ends in edge_blocks(graph))


@pytest.mark.usefixtures("block")
def test_edges_between_labels_and_nodes_without_an_edge_are_counted(graphs):
    for graph in graphs:
        assert known_edges(graph) == sum(min(graph.labels[a], graph.labels[b]) >= 0 for a, b in graph.pairs.T)
        assert isolated_nodes(graph) == graph.nodes - len(set(graph.pairs.ravel().tolist()))


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("edges", [0, 20, 35, 80])
def test_components_are_those_of_scipy(edges, rng):
    for directed in (False, True):
        graph = from_edges(rng.integers(0, 50, (2, edges)), np.ones((50, 1)), directed=directed)
        expected = connected_components(graph.adjacency, directed=False, return_labels=False)
        assert components(graph) == expected


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_a_long_chain_is_one_component_however_it_is_numbered(order, rng):
    n = 300
    places = {"ascending": np.arange(n), "descending": np.arange(n)[::-1], "shuffled": rng.permutation(n)}[order]
    assert components(from_edges([places[:-1], places[1:]], np.ones((n, 1)))) == 1


def test_homophily_does_not_depend_on_the_blocks(graphs, rng, monkeypatch):
    large = from_edges(rng.integers(0, 60, (2, 400)), np.ones((60, 1)), labels=rng.integers(-1, 3, 60))
    expected = [repr(homophily(graph)) for graph in (*graphs, large)]
    monkeypatch.setattr("newtonnet.graphs.plan.ENTRIES", 5)
    assert [repr(homophily(graph)) for graph in (*graphs, large)] == expected


@pytest.mark.parametrize("name", ["features", "sparse features", "adjacency", "labels"])
def test_a_view_that_is_kept_outside_cannot_change_the_graph(name):
    given = parts(features=sparse_features()) if name == "sparse features" else parts()
    whole = given[name.split()[-1]]
    arrays = (whole.data, whole.indices, whole.indptr) if sp.issparse(whole) else (whole,)
    views = [array[:] for array in arrays]
    graph = Graph(**given)
    before = graph.checksum
    for view in views:
        view[...] = 10**6
    assert Graph(**parts(**{key: getattr(graph, key) for key in given})).checksum == before


def test_a_graph_with_other_labels_does_not_share_them():
    labels = np.array([1, 1, 0, 0])
    graph = Graph(**parts()).relabelled(labels)
    labels[:] = 7
    assert graph.labels.tolist() == [1, 1, 0, 0]


def test_the_arrays_that_are_given_stay_writable():
    given = parts()
    Graph(**given)
    given["features"][0, 0] = 5


def test_a_read_only_file_is_not_copied(tmp_path):
    given = parts()
    given["features"].tofile(tmp_path / "x")
    mapped = np.memmap(tmp_path / "x", dtype=np.float32, mode="r", shape=(4, 2))
    assert np.shares_memory(Graph(**parts(features=mapped)).features, mapped)


def test_a_graph_survives_a_pickle():
    graph = Graph(**parts(name="zoo", node_names=("a", "b", "c", "d")))
    copied = pickle.loads(pickle.dumps(graph))
    assert (copied.checksum, copied.name, copied.node_names) == (graph.checksum, "zoo", graph.node_names)
    assert not copied.features.flags.writeable


def test_a_graph_from_a_forged_pickle_is_refused():
    """An index beyond the nodes would make scipy read and write outside of its arrays."""
    graph = Graph(**parts())
    graph.adjacency.indices = np.array([1, 10**6, 2, 1], dtype=np.int32)
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        pickle.loads(pickle.dumps(graph))


def test_more_entries_than_int32_counts_are_refused_before_they_wrap():
    matrix = csr([])
    matrix.indptr = np.array([0, 0, 0, 0, 2**31], dtype=np.int64)
    with pytest.raises(ValueError, match="at most 2,147,483,583 entries"):
        sparse_tensor(matrix)


def test_more_nodes_than_int32_counts_are_refused_before_memory_is_asked_for():
    many = sp.coo_array(([1.0], ([2**31 + 5], [0])), shape=(2**31 + 9, 2))
    with pytest.raises(ValueError, match="at most 2,147,483,583 nodes"):
        from_edges([[0], [1]], many)
