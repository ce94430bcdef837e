import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from newtonnet import NewtonNetClassifier, cross_validate, make_splits
from newtonnet.datasets import csbm
from newtonnet.estimator import fold_pairs

QUICK = NewtonNetClassifier(tune="off", max_epochs=15, folds=2, threads=1)


@pytest.fixture(scope="module")
def graph():
    return csbm(0.1, nodes=150, features=40, seed=2)


def test_each_score_is_that_of_a_model_which_never_saw_the_labels(graph):
    result = cross_validate(QUICK, graph, 3)
    assert sorted(np.concatenate(result.test).tolist()) == list(range(150))
    for model, nodes, shares, score in zip(
        result.estimators, result.test, result.probabilities, result.scores, strict=True
    ):
        hidden = graph.labels.copy()
        hidden[nodes] = -1
        again = NewtonNetClassifier(**model.get_params()).fit(graph, hidden)
        np.testing.assert_array_equal(again.predict_proba(graph)[nodes], shares)
        assert score == (again.predict(graph)[nodes] == graph.labels[nodes]).mean()
    assert result.mean == result.scores.mean()
    assert result.std == result.scores.std()
    assert not hasattr(QUICK, "ensemble_")


def test_labels_that_are_noise_score_like_noise(graph, rng):
    noise = rng.integers(0, 2, graph.nodes)
    assert cross_validate(QUICK, graph, 3, y=noise).mean == pytest.approx(0.5, abs=0.15)


def test_splits_and_pairs_of_nodes_are_taken(graph):
    splits = make_splits(graph, count=2)
    pairs = [(np.concatenate([split.train, split.validation]), split.test) for split in splits]
    np.testing.assert_array_equal(
        cross_validate(QUICK, graph, splits).scores, cross_validate(QUICK, graph, pairs).scores
    )


def test_masks_are_taken_as_pytorch_geometric_keeps_them(graph):
    train = np.arange(150) < 100
    numbers = cross_validate(QUICK, graph, [(np.arange(100), np.arange(100, 150))])
    np.testing.assert_array_equal(cross_validate(QUICK, graph, [(train, ~train)]).scores, numbers.scores)


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [
        (np.arange(100), np.arange(90, 150), "overlap: node 90 is in both"),
        (np.arange(100), [], "got 100 and 0"),
        (np.arange(100), [200], "names node 200, but the nodes are 0..149"),
        (np.arange(100), [0.5], "must be numbers or a mask of 150"),
        (np.arange(100), [149], "node 149 is a test node, but its label is unknown"),
    ],
)
def test_pairs_that_cannot_be_judged_by_are_refused(graph, train, test, message):
    y = np.where(np.arange(150) == 149, -1, graph.labels)
    with pytest.raises(ValueError, match=message):
        cross_validate(QUICK, graph, [(train, test)], y=y)


def test_classes_come_back_as_they_were_given(graph):
    result = cross_validate(QUICK, graph, np.int64(2), y=np.where(graph.labels, 7, 5))
    assert all(model.classes_.tolist() == [5, 7] for model in result.estimators)


def test_it_can_be_stopped_after_the_split_that_runs(graph):
    asked = []
    result = cross_validate(QUICK, graph, 5, stop=lambda: asked.append(None) or True)
    assert len(result.scores) == len(result.test) == 1


def test_a_class_that_is_missing_from_training_keeps_its_column(graph):
    y = np.where(np.arange(150) == 7, 2, graph.labels)
    result = cross_validate(QUICK, graph, [(np.arange(50, 150), np.arange(50))], y=y)
    assert result.probabilities[0].shape == (50, 3)


@pytest.mark.parametrize("count", [1, 0, 1000])
def test_a_number_of_folds_that_cannot_be_made_is_refused(graph, count):
    with pytest.raises(ValueError, match="folds must be between 2 and the 150 labelled nodes"):
        cross_validate(QUICK, graph, count)


def test_folds_hold_every_class(graph):
    for train, test in fold_pairs(graph, 4):
        assert set(graph.labels[train]) == set(graph.labels[test]) == {0, 1}


def test_no_splits_and_what_makes_them_are_refused(graph):
    with pytest.raises(ValueError, match="at least one, got none"):
        cross_validate(NewtonNetClassifier(), graph, [])
    with pytest.raises(TypeError, match=r"got StratifiedKFold; give the result of its split\(nodes, labels\)"):
        cross_validate(NewtonNetClassifier(), graph, StratifiedKFold(3))
