import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from newtonnet.estimator.labels import own_classes, read
from newtonnet.graphs import from_edges

EDGES = [[0, 1, 2], [1, 2, 3]]


@pytest.fixture
def graph():
    return from_edges(EDGES, np.eye(4))


@pytest.mark.parametrize(
    ("y", "labels", "classes"),
    [
        ([3, -1, 7, 3], [0, -1, 1, 0], [3, 7]),
        (np.array([3, -1, 7, 3]), [0, -1, 1, 0], [3, 7]),
        (np.array([1.0, np.nan, 0.0, 1.0]), [1, -1, 0, 1], [0, 1]),
        (["dog", None, "cat", "dog"], [1, -1, 0, 1], ["cat", "dog"]),
        (["dog", "", "cat", float("nan")], [1, -1, 0, -1], ["cat", "dog"]),
        (np.array(["b", "a", "a", "b"]), [1, 0, 0, 1], ["a", "b"]),
        ([True, None, False, True], [1, -1, 0, 1], [False, True]),
        (np.array([True, True, False, True]), [1, 1, 0, 1], [False, True]),
        (np.array([[3], [-1], [7], [3]]), [0, -1, 1, 0], [3, 7]),
        (np.array([3, 5, 7, 3], dtype=np.uint8), [0, 1, 2, 0], [3, 5, 7]),
    ],
)
def test_labels_of_every_kind_become_codes_and_classes(graph, y, labels, classes):
    labelled, found = read(graph, y)
    assert labelled.labels.tolist() == labels
    assert found.tolist() == classes
    assert labelled.class_names == tuple(str(c) for c in classes)


def test_pandas_missing_values_are_unknown(graph):
    pd = pytest.importorskip("pandas")
    labelled, classes = read(graph, pd.Series(["dog", pd.NA, None, "cat"], dtype="string"))
    assert labelled.labels.tolist() == [1, -1, -1, 0]
    assert classes.tolist() == ["cat", "dog"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], "expected 4 labels"),
        ([[0, 1], [1, 0], [0, 1], [1, 0]], "expected 4 labels"),
        ([0.5, 1.0, 1.0, 0.0], "must be classes, got the number 0.5"),
        ([float("inf"), 1.0, 1.0, 0.0], "must be classes, got the number inf"),
        ([("a",), None, "b", "b"], "all numbers or all texts"),
    ],
)
def test_labels_that_are_none_are_refused(graph, y, message):
    with pytest.raises(ValueError, match=message):
        read(graph, y)


def test_numbers_and_texts_side_by_side_are_refused(graph):
    with pytest.raises(ValueError, match="all numbers or all texts"):
        read(graph, [1, "a", 1, "a"])


def test_a_graph_keeps_its_own_labels_and_its_class_names(graph):
    named = from_edges(EDGES, np.eye(4), labels=[1, 0, -1, 1], class_names=["x", "y"])
    labelled, classes = read(named)
    assert labelled is named
    assert classes.tolist() == ["x", "y"]
    assert own_classes(from_edges(EDGES, np.eye(4), labels=[1, 0, -1, 1])).tolist() == [0, 1]


def test_all_that_people_have_becomes_a_graph():
    x, y = np.eye(4, dtype=np.float32), [0, 1, -1, 1]
    data = Data(x=torch.tensor(x), edge_index=torch.tensor(EDGES), y=torch.tensor(y))
    friends = nx.path_graph(4)
    nx.set_node_attributes(friends, {i: x[i] for i in range(4)}, "x")
    matrix = sp.coo_matrix((np.ones(3), EDGES), shape=(4, 4))
    graphs = [read(given, y)[0] for given in (data, friends, (matrix, x), from_edges(EDGES, x))]
    assert len({graph.checksum for graph in graphs}) == 1
    assert graphs[0].edges == 3


@pytest.mark.parametrize("given", [np.eye(4), "cora", (np.eye(4), np.eye(4)), {"x": 1}, None])
def test_what_is_no_graph_is_refused_with_what_is_expected(given):
    with pytest.raises(TypeError, match="expected a newtonnet Graph, PyTorch Geometric Data"):
        read(given)
