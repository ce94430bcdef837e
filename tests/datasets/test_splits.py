import numpy as np
import pytest

from newtonnet.datasets import PAPER_SEED, PROTOCOLS, Split, check_split, load, make_splits
from newtonnet.graphs import from_edges


def labelled(counts, *, unknown=0):
    """A graph without edges, with so many nodes of each class and some of none."""
    labels = np.concatenate([np.repeat(np.arange(len(counts)), counts), np.full(unknown, -1)])
    return from_edges([[], []], np.eye(len(labels)), labels=labels)


def sizes(split):
    return len(split.train), len(split.validation), len(split.test)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_is_deterministic_by_seed(protocol):
    graph = labelled([40, 30, 20], unknown=5)
    first, again, other = (make_splits(graph, protocol, count=3, seed=seed) for seed in (1, 1, 2))
    assert [split.checksum for split in first] == [split.checksum for split in again]
    assert not {split.checksum for split in first} & {split.checksum for split in other}
    assert len({split.checksum for split in first}) == 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_protocol_uses_labelled_nodes_only_and_each_once(protocol):
    graph = labelled([40, 30, 20], unknown=5)
    for split in make_splits(graph, protocol, count=3):
        check_split(graph, split)
        nodes = np.concatenate([split.train, split.validation, split.test])
        assert len(np.unique(nodes)) == len(nodes)


@pytest.mark.parametrize("protocol", ["random", "per-class", "stratified", "weak-0.6"])
def test_a_full_protocol_leaves_no_labelled_node_out(protocol):
    graph = labelled([41, 33, 7], unknown=5)
    for split in make_splits(graph, protocol, count=3):
        assert sum(sizes(split)) == 81


@pytest.mark.parametrize(("total", "expected"), [(10, (6, 2, 2)), (183, (109, 36, 38)), (2277, (1366, 455, 456))])
def test_random_floors_train_and_validation_and_tests_all_the_rest(total, expected):
    graph = labelled([total - total // 3, total // 3])
    assert sizes(make_splits(graph, "random", count=1)[0]) == expected


def test_random_is_the_released_codes_permutation():
    graph = labelled([60, 40], unknown=7)
    rng = np.random.RandomState(PAPER_SEED)
    for split in make_splits(graph, "random", count=3):
        nodes = rng.permutation(np.arange(100))
        np.testing.assert_array_equal(split.train, nodes[:60])
        np.testing.assert_array_equal(split.validation, nodes[60:80])
        np.testing.assert_array_equal(split.test, nodes[80:])


def test_per_class_takes_a_quota_from_every_class_and_all_of_a_smaller_one():
    graph = labelled([101, 33, 30, 18, 1])  # the classes of Texas
    split = make_splits(graph, "per-class", count=1)[0]
    assert np.bincount(graph.labels[split.train]).tolist() == [22, 22, 22, 18, 1]
    assert sizes(split) == (85, 37, 61)


def test_per_class_on_texas_is_85_37_61(data_root):
    assert sizes(make_splits(load("texas", data_root=data_root), "per-class", count=1)[0]) == (85, 37, 61)


@pytest.mark.parametrize(
    ("members", "expected"),
    [(1, (1, 0, 0)), (2, (1, 0, 1)), (3, (2, 1, 0)), (4, (2, 1, 1)), (5, (3, 1, 1)), (10, (6, 2, 2)), (33, (20, 7, 6))],
)
def test_stratified_cuts_every_class_by_itself(members, expected):
    graph = labelled([100, members])
    split = make_splits(graph, "stratified", count=1)[0]
    parts = (split.train, split.validation, split.test)
    assert tuple(int((graph.labels[part] == 1).sum()) for part in parts) == expected
    assert tuple(int((graph.labels[part] == 0).sum()) for part in parts) == (60, 20, 20)


@pytest.mark.parametrize("tenths", range(1, 7))
def test_weak_supervision_shortens_training_and_keeps_the_rest(tenths):
    graph = labelled([60, 57], unknown=4)
    for weak, full in zip(make_splits(graph, f"weak-0.{tenths}", count=3), make_splits(graph, count=3), strict=True):
        assert len(weak.train) == tenths * 117 // 10
        np.testing.assert_array_equal(weak.train, full.train[: len(weak.train)])
        np.testing.assert_array_equal(weak.validation, full.validation)
        np.testing.assert_array_equal(weak.test, full.test)
        assert weak.protocol == f"weak-0.{tenths}"


@pytest.mark.parametrize(("protocol", "expected"), [("few-5", [5, 5, 4]), ("few-20", [20, 20, 4])])
def test_few_labels_are_the_first_training_nodes_of_every_class(protocol, expected):
    graph = labelled([60, 57, 5])
    few, full = make_splits(graph, protocol, count=1)[0], make_splits(graph, count=1)[0]
    counts = np.bincount(graph.labels[few.train])
    assert list(counts[:2]) == expected[:2]
    for c in range(3):
        own = full.train[graph.labels[full.train] == c]
        np.testing.assert_array_equal(few.train[graph.labels[few.train] == c], own[: expected[0]])
    np.testing.assert_array_equal(few.test, full.test)


def test_a_twentieth_of_the_nodes_trains():
    weak, full = (make_splits(labelled([60, 57]), name, count=1)[0] for name in ("weak-0.05", "random"))
    np.testing.assert_array_equal(weak.train, full.train[:5])


def test_an_unknown_protocol_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown protocol 'p7'; available: random, per-class, stratified, weak-0\.1"):
        make_splits(labelled([5, 5]), "p7")


def test_too_few_nodes_are_refused():
    with pytest.raises(ValueError, match="3 labelled nodes are too few for a random split"):
        make_splits(labelled([2, 1]))


def test_no_split_is_refused():
    with pytest.raises(ValueError, match="at least 1 split"):
        make_splits(labelled([5, 5]), count=0)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class only"):
        make_splits(labelled([9]))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([0, 1], [1], [2]), "train and validation overlap: node 1"),
        (([0, 1], [2], [0]), "train and test overlap: node 0"),
        (([0, 0], [1], [2]), "hold a node twice"),
        (([], [1], [2]), "train nodes are empty"),
        (([[0]], [1], [2]), "must be a list of node numbers"),
    ],
)
def test_a_split_that_makes_no_sense_is_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        Split(*(np.array(part, dtype=np.int64) for part in parts))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([0, 9], [1], [2]), r"names node 9, but the nodes are 0\.\.5"),
        (([0, 4], [1], [5]), "names node 5, whose label is unknown"),
        (([0, 1], [2], [3]), "trains on one class only"),
    ],
)
def test_a_split_that_does_not_fit_the_graph_is_refused(parts, message):
    graph = labelled([2, 3], unknown=1)
    with pytest.raises(ValueError, match=message):
        check_split(graph, Split(*(np.array(part) for part in parts)))
