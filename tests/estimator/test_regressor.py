"""``NewtonNetRegressor``: numbers as targets, their scores, intervals and explanations, and one line for mistakes."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.metrics import d2_absolute_error_score, r2_score

from newtonnet import NewtonNetClassifier, NewtonNetRegressor, cross_validate
from newtonnet.estimator.conformal import held_out_intervals
from newtonnet.estimator.folds import make_folds
from newtonnet.estimator.scoring import influence
from newtonnet.graphs import from_edges

pytestmark = pytest.mark.usefixtures("few_trees")
MODELS = ("newtonnet", "newton-stack", "ridge", "boosting", "linkx")


def quick(model="newtonnet", **given):
    labels = {"labels": 0.5, "layers": 2, "hidden": 16} if model == "newton-stack" else None
    fixed = {"tune": "off", "max_epochs": 60, "folds": 2, "threads": 1, "settings": labels}
    return NewtonNetRegressor(model, **fixed | given)


@pytest.fixture(scope="module")
def smooth():
    """A graph of points on a line, whose number is a smooth function of the place; the features are weak."""
    rng = np.random.default_rng(0)
    place = np.sort(rng.random(150))
    pairs = np.array([(i, j) for i in range(150) for j in range(i) if abs(place[i] - place[j]) < 0.04]).T
    features = np.stack([rng.standard_normal(150), rng.standard_normal(150), rng.random(150) < 0.5], axis=1)
    number = 1000 + 50 * np.sin(7 * place) + 10 * features[:, 0]
    return from_edges(pairs, features), number, np.where(rng.random(150) < 0.7, number, np.nan)


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, smooth):
    graph, _, known = smooth
    return quick(request.param).fit(graph, known)


def test_predictions_are_numbers_of_the_targets_own_size(fitted, smooth):
    graph, number, _ = smooth
    predicted = fitted.predict(graph)
    assert predicted.shape == (graph.nodes,)
    assert predicted.mean() == pytest.approx(number.mean(), abs=15)


def test_score_is_r2_of_the_nodes_that_are_given(fitted, smooth):
    graph, number, known = smooth
    held = np.isnan(known)
    expected = r2_score(number[held], fitted.predict(graph)[held])
    assert fitted.score(graph, np.where(held, number, np.nan)) == pytest.approx(expected)


def test_contributions_and_bias_sum_to_the_prediction(fitted, smooth):
    graph = smooth[0]
    predicted = fitted.predict(graph)
    for one in fitted.explain(graph, [0, 40, 149]):
        rest = one.bias + one.remainder
        assert one.total == pytest.approx(predicted[one.node], abs=2e-3)
        for parts in (one.contributions, one.features, list(one.bands.values())):
            assert np.sum(parts) + rest == pytest.approx(one.total, abs=2e-3)
        assert abs(one.remainder) < 2e-3


def test_a_saved_model_predicts_the_same_numbers_and_intervals(fitted, smooth, tmp_path):
    graph = smooth[0]
    fitted.save(tmp_path / "model")
    loaded = NewtonNetRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(graph), fitted.predict(graph))
    np.testing.assert_array_equal(loaded.predict_interval(graph), fitted.predict_interval(graph))
    assert (loaded.target_name_, loaded.homophily_) == (fitted.target_name_, fitted.homophily_)


def test_a_larger_unit_of_the_target_scales_the_predictions(smooth):
    graph, _, known = smooth
    one, thousand = (quick("ridge").fit(graph, factor * known).predict(graph) for factor in (1.0, 1000.0))
    np.testing.assert_allclose(thousand, 1000 * one, rtol=1e-9)


def test_numbers_of_held_out_nodes_do_not_reach_the_model(fitted, smooth):
    graph, number, known = smooth
    whole = graph.with_targets(np.where(np.isnan(known), 5 * number, known))
    np.testing.assert_array_equal(clone(fitted).fit(whole, known).predict(whole), fitted.predict(graph))


def test_the_portfolio_beats_the_features_alone(smooth):
    graph, number, known = smooth
    test = np.where(np.isnan(known), number, np.nan)
    whole = NewtonNetRegressor(time_limit=3, threads=1).fit(graph, known)
    alone = quick("mlp").fit(graph, known)
    assert whole.score(graph, test) > 0.4 > alone.score(graph, test)  # 0.6 and more in six seconds
    assert whole.homophily_ > 0.6


@pytest.mark.parametrize(("loss", "measure"), [("squared", r2_score), ("absolute", d2_absolute_error_score)])
def test_the_loss_chooses_what_settings_are_compared_by(smooth, loss, measure):
    graph, _, known = smooth
    model = quick("boosting", loss=loss).fit(graph, known)
    held = model.out_of_fold_
    for nodes, answers, truth, reached in zip(held.nodes, held.probabilities, held.truth, held.scores, strict=True):
        np.testing.assert_array_equal(truth, known[nodes])
        assert reached == pytest.approx(measure(truth, answers[:, 0]))


def test_absolute_loss_is_not_moved_by_a_few_huge_numbers(smooth):
    graph, number, known = smooth
    spoiled = known.copy()
    spoiled[np.flatnonzero(~np.isnan(known))[::15]] = 1e6
    test = np.isnan(known)
    errors = [
        np.abs(quick("boosting", loss=loss).fit(graph, spoiled).predict(graph) - number)[test].mean()
        for loss in ("squared", "absolute")
    ]
    assert errors[1] < errors[0] / 3


def test_intervals_hold_about_the_share_that_is_asked_for(smooth):
    graph, number, known = smooth
    model = quick("ridge", folds=5).fit(graph, known)
    test = np.isnan(known)
    narrow, wide = (model.predict_interval(graph, coverage) for coverage in (0.5, 0.9))
    inside = [((ends[:, 0] <= number) & (number <= ends[:, 1]))[test].mean() for ends in (narrow, wide)]
    assert 0.3 < inside[0] < 0.75
    assert inside[1] > 0.8
    assert (narrow[:, 1] - narrow[:, 0] < wide[:, 1] - wide[:, 0]).all()


def test_intervals_of_known_nodes_hold_their_prediction_and_its_out_of_fold_twin(smooth):
    graph, _, known = smooth
    model = quick("newton-stack").fit(graph, known)
    nodes, own, truth = model.out_of_fold_.whole
    ends, predicted = model.predict_interval(graph, 0.5), model.predict(graph)
    assert ((ends[:, 0] <= predicted) & (predicted <= ends[:, 1])).all()
    reach = np.sort(np.abs(truth - own[:, 0]))[int(np.ceil(0.5 * (len(truth) + 1))) - 1]
    np.testing.assert_allclose(ends[nodes, 0], np.minimum(own[:, 0] - reach, predicted[nodes]))
    np.testing.assert_allclose(ends[nodes, 1], np.maximum(own[:, 0] + reach, predicted[nodes]))


def test_intervals_on_another_graph_are_doubtful(smooth):
    graph, _, known = smooth
    other = from_edges(graph.pairs[:, 5:], graph.features)
    model = quick("ridge").fit(graph, known)
    with pytest.warns(UserWarning, match="calibrated on another graph"):
        assert model.predict_interval(other).shape == (graph.nodes, 2)


def test_held_out_intervals_are_calibrated_on_the_other_folds():
    predictions = [np.zeros((50, 1)), np.zeros((50, 1))]
    ends = held_out_intervals(predictions, [np.full(50, 3.0), np.full(50, -7.0)])
    np.testing.assert_array_equal(np.unique(ends[:50], axis=0), [[-7.0, 7.0]])
    np.testing.assert_array_equal(np.unique(ends[50:], axis=0), [[-3.0, 3.0]])


def test_the_influence_of_a_node_on_r2_is_that_of_leaving_it_out(rng):
    truth = rng.standard_normal(400)
    answers = (truth + rng.standard_normal(400))[:, None]
    whole = r2_score(truth, answers)
    for metric, measure in (("r2", r2_score), ("d2_absolute_error", d2_absolute_error_score)):
        found, whole = influence(metric, answers, truth), measure(truth, answers)
        assert found.mean() == pytest.approx(0, abs=1e-12)
        without = [measure(np.delete(truth, i), np.delete(answers, i, axis=0)) for i in range(20)]
        np.testing.assert_allclose(found[:20], 399 * (whole - np.array(without)), atol=0.12)


def test_folds_have_numbers_of_all_sizes(smooth):
    graph, number, _ = smooth
    folds = make_folds(graph.with_targets(number), 5)
    assert sorted(node for fold in folds for node in fold.validation.tolist()) == list(range(150))
    means = [number[fold.validation].mean() for fold in folds]
    assert np.ptp(means) < number.std() / 3


def test_cross_validation_gives_predictions_of_every_node(smooth):
    graph, number, _ = smooth
    found = cross_validate(quick("ridge"), graph, 3, y=number)
    assert found.mean > 0.5
    assert [len(part) for part in found.probabilities] == [50, 50, 50]


def test_validation_nodes_are_the_callers(smooth):
    graph, _, known = smooth
    own = np.flatnonzero(~np.isnan(known))[:30]
    model = quick("ridge").fit(graph, known, validation=own)
    np.testing.assert_array_equal(model.out_of_fold_.nodes[0], own)


def test_numbers_come_from_pyg_data_networkx_graphs_and_pairs(smooth):
    from torch_geometric.data import Data

    graph, number, known = smooth
    edges = torch.from_numpy(graph.pairs.astype(np.int64))
    data = Data(x=torch.tensor(graph.features), edge_index=edges, y=torch.from_numpy(number))
    data.train_mask = torch.from_numpy(~np.isnan(known))
    theirs = nx.Graph()
    theirs.add_nodes_from(
        (i, {"x": row, "y": None if np.isnan(y) else y})
        for i, (row, y) in enumerate(zip(graph.features, known, strict=True))
    )
    theirs.add_edges_from(graph.pairs.T.tolist())
    expected = quick("ridge").fit(graph, known).predict(graph)
    for given in (data, theirs, (sp.csr_array(graph.adjacency), graph.features)):
        model = quick("ridge").fit(given, known if isinstance(given, tuple) else None)
        np.testing.assert_allclose(model.predict(given), expected, rtol=1e-6)
    held = np.isnan(known)
    assert quick("ridge").fit(data).score(data) == pytest.approx(r2_score(number[held], expected[held]))


def test_a_transferable_model_predicts_on_another_graph(smooth):
    graph, _, known = smooth
    other = from_edges([[0, 1], [1, 2]], graph.features[:3])
    assert NewtonNetRegressor("newtonnet", tune="off", max_epochs=20, transferable=True).fit(graph, known).predict(
        other
    ).shape == (3,)


def test_clones_and_parameters_are_those_of_scikit_learn(smooth):
    model = quick(loss="absolute")
    assert clone(model).get_params() == model.get_params()
    assert model.metric == "d2_absolute_error"


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b", "c"], "targets must be numbers, None or NaN where they are unknown, but that of node 0 is 'a'"),
        ([1.0, np.inf, 2.0], "targets must be finite, but that of node 1 is inf"),
        ([1.0, 2.0], "expected 3 targets, one for each node, got shape"),
        ([True, False, True], "that of node 0 is True; use NewtonNetClassifier for classes"),
        ([2.0, 2.0, None], "all known targets of graph 'path' are 2; there is nothing to learn"),
        ([2.0, None, None], "graph 'path' has 1 known targets; at least 2 are needed"),
        (None, "graph 'path' has 2 classes, not numbers; give y, or use NewtonNetClassifier"),
    ],
)
def test_targets_that_cannot_be_learned_get_one_line(path, y, message):
    with pytest.raises(ValueError, match=message):
        quick("ridge").fit(path, y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": "huber"}, "loss must be one of squared, absolute, got 'huber'"),
        ({"settings": {"loss": "absolute"}}, "loss is not a setting; use the parameter loss"),
    ],
)
def test_parameters_that_make_no_sense_get_one_line(smooth, given, message):
    with pytest.raises(ValueError, match=message):
        quick(**given).fit(smooth[0], smooth[1])


def test_a_classifier_refuses_numbers_and_names_the_regressor(smooth):
    with pytest.raises(ValueError, match="use whole numbers or strings, or NewtonNetRegressor to predict numbers"):
        NewtonNetClassifier().fit(smooth[0], smooth[1])


def test_a_file_says_which_estimator_it_holds(smooth, path, tmp_path):
    quick("ridge").fit(smooth[0], smooth[1]).save(tmp_path / "numbers")
    with pytest.raises(ValueError, match="holds a regressor, not a classifier; load it with NewtonNetRegressor"):
        NewtonNetClassifier.load(tmp_path / "numbers")
    NewtonNetClassifier(tune="off", max_epochs=3, folds=2).fit(path, [0, 0, 1]).save(tmp_path / "classes")
    with pytest.raises(ValueError, match="holds a classifier, not a regressor; load it with NewtonNetClassifier"):
        NewtonNetRegressor.load(tmp_path / "classes")


def test_two_tables_and_a_column_are_fitted_and_predicted(smooth):
    pandas = pytest.importorskip("pandas")
    graph, _, known = smooth
    nodes = pandas.DataFrame({"id": range(150), "a": graph.features[:, 0], "price": known})
    edges = pandas.DataFrame(graph.pairs.T, columns=["source", "target"])
    model = quick("ridge").fit((nodes, edges), "price")
    assert model.target_name_ == "price"
    predicted = model.predict((nodes, edges))
    np.testing.assert_allclose(model.predict((nodes.drop(columns="price"), edges)), predicted)
    assert model.score((nodes, edges)) == pytest.approx(r2_score(known[~np.isnan(known)], predicted[~np.isnan(known)]))


def test_tables_need_the_name_of_the_column(smooth):
    pandas = pytest.importorskip("pandas")
    nodes = pandas.DataFrame({"id": range(3), "price": [1.0, 2.0, 3.0]})
    edges = pandas.DataFrame({"source": [0], "target": [1]})
    with pytest.raises(ValueError, match=r"name the column of the numbers, as in fit\(\(nodes, edges\), 'price'\)"):
        quick("ridge").fit((nodes, edges))


def test_the_card_tells_errors_in_the_targets_units(smooth, tmp_path):
    quick("ridge").fit(smooth[0], smooth[2]).save(tmp_path / "price.safetensors")
    card = (tmp_path / "price_card.md").read_text(encoding="utf-8")
    assert "# Model card: target" in card
    assert "| mean absolute error |" in card
    assert "The correlation of neighbours is" in card
