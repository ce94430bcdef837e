"""The filter bank with numbers as targets: means of other nodes' numbers, never a node's own."""

import numpy as np
import pytest

from newtonnet.bank import BoostingOptions, RidgeOptions, predict_bank, train_boosting, train_ridge
from newtonnet.bank.features import BankLayout, label_columns, surroundings

NAN = float("nan")
TRAINED = {"ridge": (train_ridge, RidgeOptions()), "boosting": (train_boosting, BoostingOptions(max_iterations=30))}


@pytest.fixture(scope="module")
def numbered(make_graph):
    graph = make_graph()
    return graph.with_targets(graph.features[:, 0].astype(np.float64) + 0.5 * graph.labels, "price")


def test_a_column_is_the_mean_over_known_neighbours(path):
    layout = BankLayout(label_hops=1, walks=2)
    values, columns = label_columns(surroundings(path, 2), layout, np.array([3.0, NAN, 5.0]), 1)
    assert [column.signal for column in columns] == ["label", "reached"]
    np.testing.assert_allclose(values, [[NAN, 0], [4, 1.5], [NAN, 0]])  # two of three are shown


@pytest.mark.parametrize("kind", ["mean", "chebyshev"])
def test_no_node_sees_its_own_number(numbered, kind):
    layout, around = BankLayout(filter=kind, label_hops=4), surroundings(numbered, 4)
    before = label_columns(around, layout, numbered.targets, 1)[0]
    for node in (0, 7, 50):
        changed = numbered.targets.copy()
        changed[node] += 10
        after = label_columns(around, layout, changed, 1)[0]
        np.testing.assert_allclose(after[node], before[node], rtol=1e-5)
        assert not np.allclose(after, before, equal_nan=True)


@pytest.mark.parametrize("kind", ["mean", "chebyshev"])
def test_columns_do_not_grow_when_more_numbers_are_shown(numbered, kind, rng):
    layout, around = BankLayout(filter=kind, label_hops=2), surroundings(numbered, 2)
    some = np.where(rng.random(numbered.nodes) < 0.5, numbered.targets, NAN)
    half, whole = (np.nanmean(np.abs(label_columns(around, layout, y, 1)[0]), axis=0) for y in (some, numbered.targets))
    np.testing.assert_allclose(half, whole, rtol=0.25)


@pytest.mark.parametrize("name", TRAINED)
def test_predictions_on_the_training_graph_are_those_of_training(numbered, make_split, name):
    train, options = TRAINED[name]
    split = make_split(numbered)
    trained = train(numbered, split, options, seed=0)
    shown = np.full(numbered.nodes, NAN)
    shown[split.train] = numbered.targets[split.train]
    found = predict_bank(trained.state, options, numbered, shown)
    assert found.shape == (numbered.nodes, 1)
    np.testing.assert_allclose(found[split.validation], trained.held, rtol=1e-6, atol=1e-9)
    assert trained.validation["r2"] > 0.5


def test_classes_are_refused_where_numbers_are_shown(numbered, make_split):
    trained = train_ridge(numbered, make_split(numbered), RidgeOptions())
    with pytest.raises(ValueError, match="shown labels must be float64 of shape"):
        predict_bank(trained.state, RidgeOptions(), numbered, np.zeros(numbered.nodes, dtype=np.int64))
