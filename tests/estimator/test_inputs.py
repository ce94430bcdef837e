import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from newtonnet.estimator.inputs import read_labels
from newtonnet.graphs import from_edges, named_classes
from newtonnet.tables import load_tables

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
        (np.ma.array([3, 5, 7, 3], mask=[False, True, False, False]), [0, -1, 1, 0], [3, 7]),
        ([torch.tensor(3), None, np.array(7), 3], [0, -1, 1, 0], [3, 7]),
        ([3, np.ma.masked, 7, 3], [0, -1, 1, 0], [3, 7]),
    ],
)
def test_labels_of_every_kind_become_codes_and_classes(graph, y, labels, classes):
    labelled, found = read_labels(graph, y)
    assert labelled.labels.tolist() == labels
    assert found.tolist() == classes
    assert labelled.class_names == tuple(str(c) for c in classes)


def test_pandas_missing_values_are_unknown(graph):
    pd = pytest.importorskip("pandas")
    labelled, classes = read_labels(graph, pd.Series(["dog", pd.NA, None, "cat"], dtype="string"))
    assert labelled.labels.tolist() == [1, -1, -1, 0]
    assert classes.tolist() == ["cat", "dog"]


@pytest.mark.parametrize(
    ("values", "csv"),
    [
        ([True, False, None, True], [True, False]),
        (["true", "false", None, "true"], [True, False]),
        ([3, 7, None, 3], [3, 7]),
        (["3", "7", None, "3"], [3, 7]),
        (["cat", "dog", None, "cat"], ["cat", "dog"]),
    ],
)
def test_classes_have_the_type_of_the_labels_by_every_route(graph, tmp_path, values, csv):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": range(4), "x": [0.5, 1.5, 2.5, 3.5], "label": values})
    edges = pd.DataFrame({"source": EDGES[0], "target": EDGES[1]})
    frame.to_csv(tmp_path / "nodes.csv", index=False)
    friends = nx.Graph(zip(*EDGES, strict=True))
    nx.set_node_attributes(friends, {i: {"x": [1.0], "y": value} for i, value in enumerate(values)})
    for found, given in [
        (read_labels(graph, values), values),
        (read_labels(friends), values),
        (read_labels(load_tables(frame, edges, label_column="label")), values),
        (read_labels(load_tables(tmp_path / "nodes.csv", edges, label_column="label")), [*csv, None, csv[0]]),
    ]:
        labelled, classes = found
        predicted = classes[labelled.labels]
        assert [one == other for one, other in zip(predicted.tolist(), given, strict=True)] == [True, True, False, True]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], "expected 4 labels"),
        ([[0, 1], [1, 0], [0, 1], [1, 0]], "expected 4 labels"),
        ([0.5, 1.0, 1.0, 0.0], "must be classes, got the number 0.5"),
        ([float("inf"), 1.0, 1.0, 0.0], "must be classes, got the number inf"),
        ([1e20, 1.0, 1.0, 0.0], "must be classes, got the number 1e\\+20"),
        ([("a",), None, "b", "b"], "all numbers or all strings"),
    ],
)
def test_labels_that_are_none_are_refused(graph, y, message):
    with pytest.raises(ValueError, match=message):
        read_labels(graph, y)


def test_numbers_and_texts_side_by_side_are_refused(graph):
    with pytest.raises(ValueError, match="all numbers or all strings, got numbers, strings"):
        read_labels(graph, [1, "a", 1, "a"])
    with pytest.raises(ValueError, match="all numbers or all strings, got booleans, numbers"):
        read_labels(graph, [1, True, 1, False])


def test_a_graph_keeps_its_own_labels_and_its_class_names(graph):
    named = from_edges(EDGES, np.eye(4), labels=[1, 0, -1, 1], class_names=["x", "y"])
    labelled, classes = read_labels(named)
    assert labelled is named
    assert classes.tolist() == ["x", "y"]
    assert read_labels(from_edges(EDGES, np.eye(4), labels=[1, 0, -1, 1]))[1].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (("1", "2", "10"), [1, 2, 10]),
        (("-3", "0"), [-3, 0]),
        (("-1", "1"), ["-1", "1"]),  # the number would mean unknown
        (("False", "True"), [False, True]),
        (("10", "2"), ["10", "2"]),  # not in the order of numbers
        (("01", "2"), ["01", "2"]),
        (("1", "a"), ["1", "a"]),
        (("true", "false"), ["true", "false"]),
        ((), []),
    ],
)
def test_names_of_numbers_are_numbers(names, classes):
    assert named_classes(names).tolist() == classes


@pytest.mark.parametrize("y", [[1, 5, -1, 5], [True, False, True, True], [1.0, float("nan"), 5.0, 1.0]])
def test_data_and_networkx_have_the_classes_that_are_there_as_y_has_them(y, graph):
    data = Data(x=torch.eye(4), edge_index=torch.tensor(EDGES), y=torch.tensor(y))
    friends = nx.path_graph(4)
    nx.set_node_attributes(friends, 1.0, "x")
    nx.set_node_attributes(friends, dict(enumerate(y)), "y")
    expected, classes = read_labels(graph, y)
    for given in (data, friends):
        labelled, found = read_labels(given)
        assert labelled.labels.tolist() == expected.labels.tolist()
        assert found.tolist() == classes.tolist()
        assert found.dtype == classes.dtype


def masked_data(**masks):
    data = Data(x=torch.eye(4), edge_index=torch.tensor(EDGES), y=torch.tensor([0, 1, 1, 0]))
    for name, nodes in masks.items():
        data[name] = torch.zeros(4, dtype=torch.bool).index_fill(0, torch.tensor(nodes), True)
    return data


def test_masks_say_which_labels_are_known_and_which_are_judged():
    data = masked_data(train_mask=[0], val_mask=[1], test_mask=[2, 3])
    assert read_labels(data)[0].labels.tolist() == [0, 1, 1, 0]
    assert read_labels(data, role="train")[0].labels.tolist() == [0, 1, -1, -1]
    assert read_labels(data, role="score")[0].labels.tolist() == [-1, -1, 1, 0]
    assert read_labels(data, data.y, role="train")[0].labels.tolist() == [0, 1, 1, 0]
    for given, known, judged in (
        (masked_data(train_mask=[0]), [0, -1, -1, -1], [-1, 1, 1, 0]),
        (masked_data(test_mask=[0]), [-1, 1, 1, 0], [0, -1, -1, -1]),
        (masked_data(), [0, 1, 1, 0], [0, 1, 1, 0]),
    ):
        assert read_labels(given, role="train")[0].labels.tolist() == known
        assert read_labels(given, role="score")[0].labels.tolist() == judged


def test_masks_of_several_splits_or_of_another_kind_are_refused():
    data = masked_data()
    data.train_mask = torch.ones(4, 10, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"train_mask has 10 splits; choose one with data\.train_mask"):
        read_labels(data, role="train")
    data.train_mask = np.ones((4, 1), dtype=np.bool_)
    assert read_labels(data, role="train")[0].labels.tolist() == [0, 1, 1, 0]
    data.train_mask = torch.tensor([0, 1])
    with pytest.raises(ValueError, match="train_mask must be one boolean for each of 4 nodes, got int64"):
        read_labels(data, role="train")


def test_all_that_people_have_becomes_a_graph():
    x, y = np.eye(4, dtype=np.float32), [0, 1, -1, 1]
    data = Data(x=torch.tensor(x), edge_index=torch.tensor(EDGES), y=torch.tensor(y))
    friends = nx.path_graph(4)
    nx.set_node_attributes(friends, {i: x[i] for i in range(4)}, "x")
    matrix = sp.coo_matrix((np.ones(3), EDGES), shape=(4, 4))
    graphs = [read_labels(given, y)[0] for given in (data, friends, (matrix, x), from_edges(EDGES, x))]
    assert len({graph.checksum for graph in graphs}) == 1
    assert graphs[0].edges == 3


def test_a_dense_adjacency_is_refused_with_advice():
    with pytest.raises(TypeError, match=r"got \(ndarray, ndarray\); convert a dense matrix with scipy.sparse"):
        read_labels((np.eye(4), np.eye(4)))


def test_a_frame_is_refused_with_advice():
    frame = pytest.importorskip("pandas").DataFrame({"x": [1]})
    with pytest.raises(TypeError, match=r"got DataFrame; a table alone has no edges: give a classifier the pair"):
        read_labels(frame)


@pytest.mark.parametrize("given", [np.eye(4), "cora", (np.eye(4), np.eye(4)), {"x": 1}, None])
def test_what_is_no_graph_is_refused_with_what_is_expected(given):
    with pytest.raises(TypeError, match="expected a newtonnet Graph, PyTorch Geometric Data"):
        read_labels(given)
