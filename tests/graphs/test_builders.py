"""Four doors to the same graph, and what each of them repairs or refuses."""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from newtonnet.graphs import as_graph, from_edges, from_networkx, from_pyg, from_scipy

THREE = np.array([[1.0], [2.0], [4.0]])


def pairs_and_weights(graph):
    """Every stored entry as {(source, target): weight}."""
    coo = graph.adjacency.tocoo()
    return {(int(i), int(j)): float(w) for i, j, w in zip(coo.row, coo.col, coo.data, strict=True)}


def dense(features):
    return features.toarray() if isinstance(features, sp.csr_array) else features


@pytest.mark.parametrize(
    "edges",
    [
        [[0, 1], [1, 2]],
        [[1, 2], [0, 1]],
        [[0, 1, 1, 2], [1, 0, 2, 1]],
        [[0, 0, 0, 1], [1, 1, 1, 2]],
        [[0, 1, 2, 2], [1, 2, 2, 2]],
        np.array([[0, 1], [1, 2]], dtype=np.int32),
        np.array([[0, 1], [1, 2]], dtype=np.uint8),
    ],
    ids=["forward", "backward", "both", "repeated", "with self-loops", "int32", "uint8"],
)
def test_edges_in_any_spelling_give_the_path(edges):
    expected = {(0, 1): 1.0, (1, 0): 1.0, (1, 2): 1.0, (2, 1): 1.0}
    assert pairs_and_weights(from_edges(edges, THREE)) == expected


def test_largest_weight_of_a_pair_wins_in_either_direction():
    graph = from_edges([[0, 1, 0, 1], [1, 0, 1, 2]], THREE, weights=[0.5, 3.0, 2.0, 0.25])
    assert pairs_and_weights(graph) == {(0, 1): 3.0, (1, 0): 3.0, (1, 2): 0.25, (2, 1): 0.25}


def test_self_loops_and_weights_of_zero_are_dropped():
    graph = from_edges([[0, 0, 1], [0, 1, 2]], THREE, weights=[5.0, 2.0, 0.0])
    assert pairs_and_weights(graph) == {(0, 1): 2.0, (1, 0): 2.0}


def test_weights_of_one_are_the_same_as_none():
    edges = [[0, 1, 1], [1, 0, 2]]
    assert from_edges(edges, THREE, weights=[1.0, 1.0, 1.0]).checksum == from_edges(edges, THREE).checksum


def test_order_of_the_edges_does_not_matter(rng):
    edges, weights = rng.integers(20, size=(2, 60)), rng.uniform(0.1, 2, size=60)
    order = rng.permutation(60)
    once, again = (from_edges(edges[:, o], np.ones((20, 1)), weights=weights[o]) for o in (slice(None), order))
    assert once.checksum == again.checksum


@pytest.mark.parametrize("weighted", [False, True])
def test_adjacency_matches_a_loop_over_the_edges(weighted, rng):
    edges, weights = rng.integers(12, size=(2, 50)), rng.uniform(0.1, 2, size=50).astype(np.float32)
    expected = np.zeros((12, 12), dtype=np.float32)
    for (i, j), w in zip(edges.T, weights, strict=True):
        if i != j:
            expected[i, j] = expected[j, i] = max(expected[i, j], w if weighted else 1.0)
    graph = from_edges(edges, np.ones((12, 1)), weights=weights if weighted else None)
    np.testing.assert_array_equal(graph.adjacency.toarray(), expected)


def test_directed_edges_are_kept_as_they_are_stored():
    graph = from_edges([[0, 0, 2, 2], [1, 1, 1, 2]], THREE, weights=[1.0, 2.0, 3.0, 4.0], directed=True)
    assert pairs_and_weights(graph) == {(0, 1): 2.0, (2, 1): 3.0}


@pytest.mark.parametrize("edges", [[], [[], []], np.zeros((2, 0), dtype=np.int64)], ids=["[]", "[[], []]", "(2, 0)"])
def test_graph_may_have_no_edge(edges):
    assert from_edges(edges, THREE).edges == 0


def test_missing_labels_mean_unknown():
    graph = from_edges([[0], [1]], THREE)
    assert graph.labels.tolist() == [-1, -1, -1]
    assert graph.class_names == ()


def test_classes_are_named_by_their_numbers_unless_named():
    assert from_edges([[0], [1]], THREE, labels=[0, 2, -1]).class_names == ("0", "1", "2")


@pytest.mark.parametrize("labels", [[0, 1, -1], [0.0, 1.0, -1.0], np.array([0, 1, -1], dtype=np.int8)], ids=str)
def test_whole_labels_of_any_type_are_accepted(labels):
    graph = from_edges([[0], [1]], THREE, labels=labels)
    assert graph.labels.dtype == np.int64
    assert graph.labels.tolist() == [0, 1, -1]


def test_names_are_carried_over():
    graph = from_edges(
        [[0], [1]], THREE, labels=[0, 1, 1], class_names=["cat", "dog"], node_names=["a", "b", "c"], name="zoo"
    )
    assert (graph.class_names, graph.node_names, graph.name) == (("cat", "dog"), ("a", "b", "c"), "zoo")


@pytest.mark.parametrize("columns", [2, 40], ids=["stays dense", "becomes sparse"])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, sp.coo_matrix, sp.csc_array], ids=lambda w: w.__name__)
def test_features_keep_their_values_in_any_store(wrap, columns, rng):
    values = rng.normal(size=(30, columns)) * (rng.random((30, columns)) < (0.1 if columns == 40 else 1))
    graph = from_edges([[0], [1]], wrap(values))
    assert isinstance(graph.features, sp.csr_array) == (columns == 40)
    np.testing.assert_array_equal(dense(graph.features), values.astype(np.float32))


@pytest.mark.parametrize("values", [np.eye(30, dtype=np.float32), sp.csr_array(np.eye(30, dtype=np.float32))])
def test_callers_features_stay_the_callers(values):
    data = values.data if isinstance(values, sp.csr_array) else values
    data[3] = 0
    before = from_edges([[0], [1]], values)
    checksum = before.checksum
    data[:] = 7
    assert from_edges([[0], [1]], values).checksum != checksum
    assert 7 not in dense(before.features)


def test_callers_stored_zeros_are_not_removed():
    values = sp.csr_array(np.eye(30, dtype=np.float32))
    values.data[3] = 0
    from_edges([[0], [1]], values)
    assert values.nnz == 30


def test_callers_labels_and_weights_stay_the_callers():
    labels, weights = np.array([0, 1, 0]), np.array([2.0, 3.0], dtype=np.float32)
    graph = from_edges([[0, 1], [1, 2]], THREE, labels=labels, weights=weights)
    labels[:], weights[:] = 1, 9.0
    assert graph.labels.tolist() == [0, 1, 0]
    assert graph.adjacency.data.max() == 3.0


@pytest.mark.parametrize(
    ("edges", "features", "options", "word"),
    [
        pytest.param([[0], [3]], THREE, {}, r"edge 0 joins nodes \[0, 3\].*0\.\.2", id="node too large"),
        pytest.param([[0, -1], [1, 1]], THREE, {}, r"edge 1 joins nodes \[-1, 1\]", id="negative node"),
        pytest.param([[0.0], [1.0]], THREE, {}, "whole numbers", id="float nodes"),
        pytest.param([["a"], ["b"]], THREE, {}, "whole numbers", id="node names"),
        pytest.param([[0, 1], [1, 2], [2, 0]], THREE, {}, r"shape \(2, E\)", id="pairs in rows"),
        pytest.param([0, 1], THREE, {}, r"shape \(2, E\)", id="one axis"),
        pytest.param([[0], [1]], [1.0, 2.0, 3.0], {}, "nodes, features", id="flat features"),
        pytest.param([[0], [1]], THREE * np.nan, {}, "node 0 has a NaN", id="NaN features"),
        pytest.param([[0], [1]], sp.csr_array(np.diag([1.0] * 40 + [np.inf])), {}, "node 40", id="inf sparse features"),
        pytest.param([[0], [1]], np.zeros((0, 2)), {}, "nodes are", id="no node"),
        pytest.param([[0], [1]], THREE, {"weights": [1.0, 2.0]}, "expected 1 edge weights", id="more weights"),
        pytest.param([[0], [1]], THREE, {"weights": [-1.0]}, "negative", id="negative weight"),
        pytest.param([[0], [1]], THREE, {"weights": [np.nan]}, "finite", id="NaN weight"),
        pytest.param([[0], [1]], THREE, {"weights": [np.inf]}, "finite", id="infinite weight"),
        pytest.param([[0], [0]], THREE, {"weights": [-1.0]}, "negative", id="negative weight of a self-loop"),
        pytest.param([[0], [1]], THREE, {"labels": [0, 1]}, "expected 3 labels", id="fewer labels"),
        pytest.param([[0], [1]], THREE, {"labels": [0, 1, -2]}, "-1 or", id="label below -1"),
        pytest.param([[0], [1]], THREE, {"labels": [0, 0.5, 1]}, "whole numbers", id="half a label"),
        pytest.param([[0], [1]], THREE, {"labels": [0, np.nan, 1]}, "whole numbers", id="NaN label"),
        pytest.param([[0], [1]], THREE, {"labels": [0, np.inf, 1]}, "whole numbers", id="infinite label"),
        pytest.param([[0], [1]], THREE, {"labels": ["a", "b", "c"]}, "whole numbers", id="label names"),
        pytest.param(
            [[0], [1]], THREE, {"labels": [0, 1, 2], "class_names": ["a", "b"]}, r"0\.\.1", id="fewer class names"
        ),
        pytest.param([[0], [1]], THREE, {"node_names": ["a"]}, "expected 3 node names", id="fewer node names"),
    ],
)
def test_edges_that_do_not_fit_are_refused(edges, features, options, word):
    with pytest.raises(ValueError, match=word):
        from_edges(edges, features, **options)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.coo_array, sp.csc_matrix], ids=lambda k: k.__name__)
@pytest.mark.parametrize("dtype", [bool, np.int64, np.float64])
def test_scipy_matrix_of_any_kind_gives_the_path(kind, dtype):
    upper = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=dtype)
    expected = {(0, 1): 1.0, (1, 0): 1.0, (1, 2): 1.0, (2, 1): 1.0}
    assert pairs_and_weights(from_scipy(kind(upper), THREE)) == expected


def test_scipy_entries_are_weights_and_the_larger_direction_wins():
    matrix = sp.csr_array([[0.0, 2.0, 0.0], [3.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
    assert pairs_and_weights(from_scipy(matrix, THREE)) == {(0, 1): 3.0, (1, 0): 3.0, (1, 2): 0.5, (2, 1): 0.5}


def test_scipy_matrix_may_stay_directed():
    matrix = sp.csr_array([[0.0, 2.0, 0.0], [3.0, 0.0, 0.5], [0.0, 0.0, 0.0]])
    graph = from_scipy(matrix, THREE, directed=True)
    np.testing.assert_array_equal(graph.adjacency.toarray(), matrix.toarray())


@pytest.mark.parametrize(
    ("matrix", "word"),
    [
        (sp.csr_array((3, 2)), "square"),
        (sp.csr_array((4, 4)), "adjacency has 4 nodes but features have 3 rows"),
        (sp.csr_array([[0.0, -1.0, 0.0]] * 3), "negative"),
    ],
    ids=["not square", "more nodes", "negative weight"],
)
def test_scipy_matrix_that_does_not_fit_is_refused(matrix, word):
    with pytest.raises(ValueError, match=word):
        from_scipy(matrix, THREE)


@pytest.fixture
def animals():
    """A networkx path a - b - c with a loop, string labels and one node without a label."""
    graph = nx.Graph()
    graph.add_node("a", x=[1.0, 0.0], y="dog")
    graph.add_node("b", x=[2.0, 0.0], y="cat")
    graph.add_node("c", x=[4.0, 1.0])
    graph.add_edges_from([("a", "b"), ("c", "b"), ("a", "a")])
    return graph


def test_networkx_edges_go_by_the_nodes_order(animals):
    expected = {(0, 1): 1.0, (1, 0): 1.0, (1, 2): 1.0, (2, 1): 1.0}
    assert pairs_and_weights(from_networkx(animals)) == expected


def test_networkx_labels_are_numbered_in_sorted_order(animals):
    graph = from_networkx(animals)
    assert graph.class_names == ("cat", "dog")
    assert graph.labels.tolist() == [1, 0, -1]


def test_networkx_label_none_means_unknown(animals):
    animals.nodes["b"]["y"] = None
    graph = from_networkx(animals)
    assert graph.class_names == ("dog",)
    assert graph.labels.tolist() == [0, -1, -1]


@pytest.mark.parametrize("unknown", [-1, -1.0, np.int64(-1), None, float("nan")])
def test_networkx_labels_of_minus_one_are_unknown_as_everywhere(unknown):
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, {0: 0, 1: 1, 2: unknown, 3: unknown}, "y")
    nx.set_node_attributes(graph, 1.0, "x")
    assert from_networkx(graph).labels.tolist() == [0, 1, -1, -1]
    assert from_networkx(graph).class_names == ("0", "1")


def test_networkx_whole_labels_sort_as_numbers():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 10, 1: 9, 2: 10}, "y")
    nx.set_node_attributes(graph, 1.0, "x")
    assert from_networkx(graph).class_names == ("9", "10")


@pytest.mark.parametrize("other", [3, ["a"], ("a",)])
def test_networkx_labels_of_several_types_are_refused_as_everywhere(animals, other):
    animals.nodes["c"]["y"] = other
    with pytest.raises(ValueError, match="labels must be all numbers or all strings"):
        from_networkx(animals)


@pytest.mark.parametrize("weight", [None, "heavy"])
def test_networkx_weights_that_are_no_numbers_are_named(animals, weight):
    animals.edges["a", "b"]["weight"] = weight
    with pytest.raises(ValueError, match=r"edge 'a' to 'b' has the weight .*; expected a number above 0"):
        from_networkx(animals)


def test_networkx_nodes_keep_their_names(animals):
    assert from_networkx(animals).node_names == ("a", "b", "c")


def test_networkx_features_may_be_single_numbers():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 1.0, 1: 2.0, 2: 4.0}, "x")
    np.testing.assert_array_equal(from_networkx(graph).features, THREE)


def test_networkx_attributes_may_have_other_names(animals):
    for node in animals.nodes:
        animals.nodes[node]["size"] = animals.nodes[node].pop("x")
        animals.nodes[node]["kind"] = animals.nodes[node].pop("y", None)
    animals.edges["a", "b"]["strength"] = 5.0
    graph = from_networkx(animals, features="size", label="kind", weight="strength")
    assert graph.labels.tolist() == [1, 0, -1]
    assert pairs_and_weights(graph)[0, 1] == 5.0


def test_networkx_weight_is_one_where_it_is_missing(animals):
    animals.edges["a", "b"]["weight"] = 0.5
    assert pairs_and_weights(from_networkx(animals)) == {(0, 1): 0.5, (1, 0): 0.5, (1, 2): 1.0, (2, 1): 1.0}


def test_networkx_directions_are_merged_by_the_larger_weight(animals):
    directed = nx.DiGraph()
    directed.add_nodes_from(animals.nodes(data=True))
    directed.add_weighted_edges_from([("a", "b", 2.0), ("b", "a", 3.0), ("c", "b", 0.5)])
    assert pairs_and_weights(from_networkx(directed)) == {(0, 1): 3.0, (1, 0): 3.0, (1, 2): 0.5, (2, 1): 0.5}


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_networkx_parallel_edges_are_merged_by_the_largest_weight(kind, animals):
    multigraph = kind()
    multigraph.add_nodes_from(animals.nodes(data=True))
    multigraph.add_weighted_edges_from([("a", "b", 2.0), ("a", "b", 4.0), ("a", "b", 3.0), ("b", "c", 0.5)])
    assert pairs_and_weights(from_networkx(multigraph)) == {(0, 1): 4.0, (1, 0): 4.0, (1, 2): 0.5, (2, 1): 0.5}


def test_networkx_graph_may_have_no_edge(animals):
    assert from_networkx(nx.create_empty_copy(animals)).edges == 0


def test_networkx_node_without_features_is_named(animals):
    animals.add_node("stray")
    with pytest.raises(ValueError, match="'stray' has no attribute 'x'"):
        from_networkx(animals)


def test_networkx_features_of_several_lengths_are_refused(animals):
    animals.nodes["b"]["x"] = [1.0]
    with pytest.raises(ValueError, match="same number of features"):
        from_networkx(animals)


def test_networkx_graph_without_nodes_is_refused():
    with pytest.raises(ValueError, match="at least one of each"):
        from_networkx(nx.Graph())


def pyg_data(**changes):
    fields = {
        "x": torch.tensor(THREE, dtype=torch.float32),
        "edge_index": torch.tensor([[0, 1, 1], [1, 0, 2]]),
        "y": torch.tensor([0, 1, -1]),
    }
    return Data(**(fields | changes))


def test_pyg_data_gives_the_path():
    graph = from_pyg(pyg_data(), name="path")
    assert pairs_and_weights(graph) == {(0, 1): 1.0, (1, 0): 1.0, (1, 2): 1.0, (2, 1): 1.0}
    assert graph.labels.tolist() == [0, 1, -1]
    np.testing.assert_array_equal(graph.features, THREE)


@pytest.mark.parametrize("y", [torch.tensor([[0], [1], [-1]]), torch.tensor([0.0, 1.0, -1.0])], ids=["(n, 1)", "float"])
def test_pyg_labels_may_be_a_column_or_floats(y):
    assert from_pyg(pyg_data(y=y)).labels.tolist() == [0, 1, -1]


def test_pyg_data_may_have_no_labels():
    assert from_pyg(pyg_data(y=None)).labels.tolist() == [-1, -1, -1]


@pytest.mark.parametrize("field", ["edge_weight", "edge_attr"])
@pytest.mark.parametrize("shape", [(3,), (3, 1)], ids=["(E,)", "(E, 1)"])
def test_pyg_weights_are_read_from_either_field(field, shape):
    graph = from_pyg(pyg_data(**{field: torch.tensor([2.0, 3.0, 0.5]).reshape(shape)}))
    assert pairs_and_weights(graph) == {(0, 1): 3.0, (1, 0): 3.0, (1, 2): 0.5, (2, 1): 0.5}


def test_pyg_edge_weight_goes_before_edge_attr():
    data = pyg_data(edge_weight=torch.tensor([2.0, 2.0, 2.0]), edge_attr=torch.tensor([5.0, 5.0, 5.0]))
    assert set(pairs_and_weights(from_pyg(data)).values()) == {2.0}


def test_pyg_edges_may_stay_directed():
    graph = from_pyg(pyg_data(edge_index=torch.tensor([[0, 2], [1, 1]])), directed=True)
    assert pairs_and_weights(graph) == {(0, 1): 1.0, (2, 1): 1.0}


def test_pyg_features_that_need_a_gradient_are_taken_as_numbers():
    data = pyg_data(x=torch.tensor(THREE, dtype=torch.float32, requires_grad=True))
    np.testing.assert_array_equal(from_pyg(data).features, THREE)


@pytest.fixture
def sparse_layouts(rng):
    values = torch.tensor(rng.normal(size=(30, 40)) * (rng.random((30, 40)) < 0.1), dtype=torch.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"coo": values.to_sparse(), "csr": values.to_sparse_csr(), "csc": values.to_sparse_csc()}, values


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_pyg_sparse_features_equal_dense_ones(layout, sparse_layouts):
    sparse, values = sparse_layouts
    assert from_pyg(pyg_data(x=sparse[layout], y=None)).checksum == from_pyg(pyg_data(x=values, y=None)).checksum


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_edges_take_sparse_tensors_as_features(layout, sparse_layouts):
    sparse, values = sparse_layouts
    assert from_edges([[0], [1]], sparse[layout]).checksum == from_edges([[0], [1]], values).checksum


def test_pyg_sparse_features_with_repeated_entries_are_added_up():
    entries, values = torch.tensor([[0, 0, 2], [1, 1, 39]]), torch.tensor([1.0, 2.0, 5.0])
    x = torch.sparse_coo_tensor(entries, values, (3, 40), check_invariants=True)
    features = dense(from_pyg(pyg_data(x=x)).features)
    assert (features[0, 1], features[2, 39], features.sum()) == (3.0, 5.0, 8.0)


def test_pyg_sparse_features_do_not_warn(sparse_layouts):
    before = torch.is_warn_always_enabled()
    try:
        torch.set_warn_always(True)
        from_pyg(pyg_data(x=sparse_layouts[0]["coo"], y=None))
    finally:
        torch.set_warn_always(before)


def test_pyg_tensors_stay_the_callers(sparse_layouts):
    for x in (sparse_layouts[0]["csr"], sparse_layouts[1]):
        graph = from_pyg(pyg_data(x=x, y=None))
        (x.values() if x.layout == torch.sparse_csr else x).fill_(7.0)
        assert 7.0 not in dense(graph.features)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"x": None}, "x and edge_index"),
        ({"edge_index": None}, "x and edge_index"),
        ({"edge_index": torch.tensor([[0], [3]])}, "edge 0 joins"),
        ({"edge_attr": torch.ones(3, 2)}, "expected one weight for each edge, got edge_attr"),
        ({"y": torch.zeros(3, 2, dtype=torch.int64)}, "expected 3 labels"),
        ({"y": torch.tensor([0.5, 1.0, 0.0])}, "whole numbers"),
        ({"x": torch.full((3, 1), torch.nan)}, "node 0 has a NaN"),
    ],
    ids=["no x", "no edges", "node too large", "edge features", "several labels", "half a label", "NaN"],
)
def test_pyg_data_that_does_not_fit_is_refused(changes, word):
    with pytest.raises(ValueError, match=word):
        from_pyg(pyg_data(**changes))


@pytest.mark.parametrize("columns", [3, 50], ids=["dense features", "sparse features"])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_four_builders_give_the_same_graph(weighted, columns, rng):
    n = 30
    matrix = np.triu(rng.random((n, n)) < 0.2, 1) * (rng.uniform(0.5, 2, size=(n, n)) if weighted else 1.0)
    x = (rng.normal(size=(n, columns)) * (rng.random((n, columns)) < (0.1 if columns == 50 else 1))).astype(np.float32)
    y = rng.integers(0, 3, size=n)
    y[:3] = [0, 1, 2]
    edges = np.stack(np.nonzero(matrix))
    weights = matrix[tuple(edges)]
    network = nx.Graph()
    network.add_nodes_from((i, {"x": x[i], "y": int(y[i])}) for i in range(n))
    network.add_weighted_edges_from((int(i), int(j), float(w)) for (i, j), w in zip(edges.T, weights, strict=True))
    data = Data(x=torch.tensor(x), edge_index=torch.tensor(edges), edge_weight=torch.tensor(weights), y=torch.tensor(y))
    graphs = [
        from_edges(edges, x, labels=y, weights=weights),
        from_scipy(sp.csr_array(matrix), sp.csr_array(x), labels=y),
        from_networkx(network),
        from_pyg(data),
    ]
    assert len({graph.checksum for graph in graphs}) == 1
    assert len({graph.class_names for graph in graphs}) == 1


def test_nan_labels_of_networkx_are_unknown():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: [1.0], 1: [2.0], 2: [4.0]}, "x")
    nx.set_node_attributes(graph, {0: "a", 1: float("nan"), 2: "b"}, "y")
    assert from_networkx(graph).labels.tolist() == [0, -1, 1]


def test_labels_that_do_not_number_the_classes_are_refused():
    with pytest.raises(ValueError, match="renumber"):
        from_edges([[0], [1]], np.eye(2), labels=[0, 10**9])


def test_networkx_graph_without_features_gets_one_for_each_node():
    karate = nx.relabel_nodes(nx.karate_club_graph(), {0: "Mr. Hi", 33: ("officer", 1)})  # nodes may be anything
    graph = from_networkx(karate, label="club")
    assert (graph.nodes, graph.edges, graph.class_names) == (34, 78, ("Mr. Hi", "Officer"))
    np.testing.assert_array_equal(graph.features.toarray(), np.eye(34))
    assert graph.node_names[0] == "Mr. Hi"
    with pytest.raises(ValueError, match="has no attribute 'size'"):
        from_networkx(karate, features="size")


def test_edges_may_be_a_frame_with_a_row_for_each():
    frame = pd.DataFrame({"from": [0, 1], "to": [1, 2], "since": [1999, 2004], "weight": [2.0, 0.5]})
    expected = from_edges([[0, 1], [1, 2]], THREE, weights=[2.0, 0.5])
    for given in (frame, pa.Table.from_pandas(frame)):
        assert from_edges(given, THREE).checksum == expected.checksum
    assert from_edges(frame[["from", "to"]], THREE).checksum == from_edges([[0, 1], [1, 2]], THREE).checksum


def test_two_frames_are_sent_to_the_tables():
    frame = pd.DataFrame({"id": [0]})
    for given in (frame, (frame, frame)):
        with pytest.raises(
            TypeError, match=r"give a classifier the pair \(nodes, edges\), or load_tables\(nodes, edges\)"
        ):
            as_graph(given)
