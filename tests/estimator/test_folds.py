import numpy as np
import pytest

from newtonnet.estimator.folds import deal, fold_count, make_folds
from newtonnet.graphs import from_edges


def labelled(labels):
    return from_edges(np.zeros((2, 0), int), np.eye(len(labels)), labels=labels)


def test_every_label_is_held_back_once_and_classes_are_spread_evenly(rng):
    labels = rng.choice([-1, 0, 1, 2], size=300, p=[0.2, 0.5, 0.2, 0.1])
    graph = labelled(labels)
    folds = make_folds(graph, 5, seed=3)
    held = np.concatenate([fold.validation for fold in folds])
    assert sorted(held.tolist()) == graph.labelled.tolist()
    for fold in folds:
        assert sorted(np.concatenate([fold.train, fold.validation]).tolist()) == graph.labelled.tolist()
        counts = np.bincount(labels[fold.validation], minlength=3)
        assert np.abs(counts - np.bincount(labels[graph.labelled]) / 5).max() < 1


def test_a_class_with_one_label_always_trains():
    folds = make_folds(labelled([0, 0, 0, 0, 1, 2, 2]), 3)
    assert all(4 in fold.train for fold in folds)
    for fold in folds:
        assert set(np.array([0, 0, 0, 0, 1, 2, 2])[fold.train]) == {0, 1, 2}


def test_two_labels_of_one_class_and_one_of_another_are_enough():
    folds = make_folds(labelled([0, 0, 1, -1]), 5)
    assert [fold.validation.tolist() for fold in folds] in ([[0], [1]], [[1], [0]])


def test_folds_that_cannot_be_made_are_refused():
    with pytest.raises(ValueError, match="no class has two labelled nodes"):
        make_folds(labelled([0, 1, 2, -1]), 2)
    with pytest.raises(ValueError, match="at least 2 folds"):
        make_folds(labelled([0, 0, 1, 1]), 1)


def test_another_seed_deals_otherwise_and_the_same_one_alike(rng):
    classes = rng.integers(0, 3, size=60)
    first, again, other = (deal(classes, 4, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(("count", "folds"), [(100, 5), (2_001, 3), (20_001, 2)])
def test_many_labels_need_fewer_folds(count, folds):
    graph = from_edges(np.zeros((2, 0), int), np.ones((count, 1)), labels=np.arange(count) % 2)
    assert fold_count(graph) == folds
