"""Numbers as targets of a graph, and their homophily."""

import pickle

import numpy as np
import pytest

from newtonnet.graphs import Graph, assortativity, from_edges

NAN = float("nan")


@pytest.fixture
def priced(path):
    return path.with_targets(np.array([1.5, NAN, -2.0]), "price")


def test_known_numbers_are_labelled_and_named(priced):
    assert priced.labelled.tolist() == [0, 2]
    assert (priced.class_names, priced.classes) == (("price",), 1)
    np.testing.assert_array_equal(priced.truth, [1.5, NAN, -2.0])
    assert repr(priced) == "Graph('path', nodes=3, edges=2, features=1, target='price', labelled=2)"


def test_relabelling_hides_numbers(priced):
    hidden = priced.relabelled(np.array([-1, -1, 0]))
    np.testing.assert_array_equal(hidden.truth, [NAN, NAN, -2.0])
    assert hidden.labelled.tolist() == [2]


def test_relabelling_cannot_invent_numbers(priced):
    with pytest.raises(ValueError, match="labels must be 0 where the target is known"):
        priced.relabelled(np.array([0, 0, 0]))


def test_classes_replace_numbers(priced):
    again = priced.relabelled(np.array([0, 1, 0]), ("a", "b"))
    assert again.targets is None
    assert again.truth.tolist() == [0, 1, 0]


def test_the_checksum_follows_the_numbers_and_the_structure_does_not(path, priced):
    other = path.with_targets(np.array([1.5, NAN, -3.0]), "price")
    assert other.checksum != priced.checksum
    assert other.structure == priced.structure == path.structure


def test_pickling_keeps_numbers(priced):
    again = pickle.loads(pickle.dumps(priced))
    np.testing.assert_array_equal(again.truth, priced.truth)
    assert again.checksum == priced.checksum


def test_numbers_cannot_be_written_to(priced):
    with pytest.raises(ValueError, match="read-only"):
        priced.targets[0] = 3


@pytest.mark.parametrize(
    ("targets", "kind", "message"),
    [
        (np.array([1.0, np.inf, 0.0]), ValueError, "targets must be finite, but node 1 has inf"),
        (np.array([1.0, 2.0]), ValueError, "expected 3 labels"),
        (np.array([1.0, 2.0, 3.0], dtype=np.float32), TypeError, "targets must be a float64 numpy array"),
    ],
)
def test_numbers_that_are_no_targets_are_refused(path, targets, kind, message):
    with pytest.raises(kind, match=message):
        path.with_targets(targets)


def test_the_constructor_checks_numbers_too(path):
    parts = (path.features, path.adjacency, np.array([0, 0, 0]), ("price",))
    with pytest.raises(ValueError, match="labels must be 0 where the target is known"):
        Graph(*parts, targets=np.array([1.0, NAN, 2.0]))


@pytest.mark.parametrize(
    ("numbers", "expected"), [([1.0, 1.0, 5.0, 5.0], 1.0), ([1.0, 5.0, 1.0, 5.0], -1.0), ([1.0, 5.0, 5.0, 1.0], 0.0)]
)
def test_assortativity_is_the_correlation_of_neighbours(numbers, expected):
    edges = {1.0: [[0, 2], [1, 3]], -1.0: [[0, 2], [1, 3]], 0.0: [[0, 1, 2, 3], [1, 2, 3, 0]]}[expected]
    assert assortativity(from_edges(edges, np.eye(4)), 1e6 + np.array(numbers)) == pytest.approx(expected)


def test_assortativity_needs_edges_between_known_nodes(priced):
    assert np.isnan(assortativity(priced))


def test_assortativity_refuses_classes(path):
    with pytest.raises(ValueError, match="expected 3 float64 targets"):
        assortativity(path)
