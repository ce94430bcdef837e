import time
import tomllib
import warnings
from copy import copy
from dataclasses import replace
from importlib.resources import files

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.utils import estimator_checks
from torch_geometric.data import Data

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm
from newtonnet.graphs import from_edges, homophily

pytestmark = pytest.mark.usefixtures("few_trees")
QUICK = {"max_epochs": 40, "patience": 15, "threads": 1, "time_limit": None}
WHOLE = {**QUICK, "max_epochs": 12, "folds": 3}
"""For the whole portfolio."""
BRIEF = {**WHOLE, "max_epochs": 2, "folds": 2}
"""The same, where it need not learn anything."""


@pytest.fixture(scope="module")
def graph():
    return csbm(0.1, nodes=200, features=12, mu=5.0, seed=4)


@pytest.fixture(scope="module")
def half(graph):
    """Every other label is unknown."""
    return np.where(np.arange(graph.nodes) % 2, graph.labels, -1)


@pytest.fixture(scope="module")
def fitted(graph, half):
    return NewtonNetClassifier(**WHOLE).fit(graph, half)


def test_it_learns_what_it_was_not_told(graph, half, fitted):
    hidden = np.where(half < 0, graph.labels, -1)
    assert fitted.score(graph, hidden) > 0.8
    assert fitted.score(graph, hidden) == pytest.approx((fitted.predict(graph) == graph.labels)[half < 0].mean())


def test_probabilities_are_those_of_a_prediction(graph, fitted):
    shares = fitted.predict_proba(graph)
    assert shares.shape == (graph.nodes, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(graph), fitted.classes_[shares.argmax(axis=1)])


def test_what_was_learned_can_be_looked_at(graph, half, fitted):
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_features_in_ == 12
    groups = tomllib.loads(files("newtonnet.estimator").joinpath("portfolio.toml").read_text())["group"]
    assert fitted.tried_ == sum(len(group["settings"]) for group in groups if not group.get("spare"))
    assert fitted.complete_
    assert sum(setting["weight"] for setting in fitted.settings_) == pytest.approx(1)
    assert len(fitted.records_) == len(fitted.history_) == 3
    assert len(fitted.history_[0]["validation"]) == len(fitted.history_[0]["epoch"]) > 0
    filled = np.where(half >= 0, half, fitted.predict(graph))
    assert fitted.homophily_ == homophily(graph, filled).edge


def test_the_filter_of_a_heterophilous_graph_keeps_high_frequencies(fitted, graph, half):
    shaped = NewtonNetClassifier(tune="off", settings={"gammas": (1.0, 1.0, 1.0)}, **QUICK).fit(graph, half)
    learned = shaped.filter_
    assert learned.responses.shape == (5, 41)
    np.testing.assert_allclose(learned(learned.frequencies), learned.scaled.mean(axis=0), atol=1e-9)
    assert abs(learned(2.0)) > abs(learned(0.0))
    # The polynomial through the first member's values is its response.
    through = np.polynomial.Polynomial.fit(learned.points, learned.values[0], len(learned.points) - 1)
    np.testing.assert_allclose(through(learned.frequencies), learned.responses[0], atol=1e-4)


def test_two_fits_with_one_seed_are_equal_and_another_seed_differs(graph, half):
    quick = NewtonNetClassifier(tune="off", **QUICK)
    first, again = (clone(quick).fit(graph, half).predict_proba(graph) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = clone(quick).set_params(random_state=1).fit(graph, half).predict_proba(graph)
    assert np.abs(first - other).max() > 1e-4


def test_names_come_back_as_they_were_given(graph):
    animals = np.array(["cat", "dog"])[graph.labels].tolist()
    y = [None if i % 2 else animal for i, animal in enumerate(animals)]
    model = NewtonNetClassifier(tune="off", **QUICK).fit(graph, y)
    assert model.classes_.tolist() == ["cat", "dog"]
    assert set(model.predict(graph)) <= {"cat", "dog"}
    assert model.score(graph, animals) > 0.8
    with pytest.raises(ValueError, match="label 'cow' is not one of the classes cat, dog"):
        model.score(graph, ["cow", *animals[1:]])


def test_pyg_networkx_and_scipy_give_what_a_graph_gives(graph, half):
    x = graph.features.toarray() if hasattr(graph.features, "toarray") else graph.features
    data = Data(x=torch.tensor(x), edge_index=torch.tensor(graph.pairs).long())
    friends = nx.Graph()
    friends.add_nodes_from((i, {"x": x[i]}) for i in range(graph.nodes))
    friends.add_edges_from(graph.pairs.T.tolist())
    model = NewtonNetClassifier(tune="off", **QUICK)
    ours = clone(model).fit(graph, half).predict_proba(graph)
    for other in (data, friends, (graph.adjacency, x)):
        np.testing.assert_array_equal(clone(model).fit(other, half).predict_proba(other), ours)


@pytest.mark.parametrize("name", ["mlp", "gcn", "bernnet", "gprgnn", "linkx", "newton-stack"])
def test_any_model_of_the_zoo_can_be_tuned(graph, half, name, monkeypatch):
    monkeypatch.setattr("newtonnet.estimator.candidates.MOST", 4)
    model = NewtonNetClassifier(name, max_epochs=5, patience=5, time_limit=4, threads=1).fit(graph, half)
    shares = model.predict_proba(graph)
    assert np.isfinite(shares).all()
    assert (model.filter_ is None) == (name in ("gcn", "linkx", "newton-stack"))


def test_an_mlp_is_a_flat_filter(graph, half):
    model = NewtonNetClassifier("mlp", tune="off", **QUICK).fit(graph, half)
    np.testing.assert_allclose(model.filter_([0.0, 0.7, 2.0]), 1)


def test_a_model_predicts_on_another_graph_with_the_same_features(half, graph):
    other = csbm(0.1, nodes=120, features=12, seed=9)
    model = NewtonNetClassifier(transferable=True, **BRIEF).fit(graph, half)
    assert not any(setting.get("branch") for setting in model.settings_)
    assert model.predict(other).shape == (120,)
    alone = NewtonNetClassifier(tune="off", **QUICK).fit(graph, half)
    permuted = from_edges(119 - other.pairs, other.features[::-1], labels=other.labels[::-1])
    np.testing.assert_allclose(alone.predict_proba(permuted)[::-1], alone.predict_proba(other), atol=1e-5)


def test_a_transductive_model_and_other_features_are_refused(graph, half):
    bound = NewtonNetClassifier(tune="off", settings={"branch": 8}, **QUICK).fit(graph, half)
    rewired = from_edges([graph.pairs[0], np.roll(graph.pairs[1], 1)], graph.features)
    reordered = from_edges(graph.nodes - 1 - graph.pairs, graph.features[::-1])
    for other in (csbm(0.1, nodes=120, features=12, seed=9), rewired, reordered):
        with pytest.raises(ValueError, match="another graph or has its nodes in another order; fit with transferable"):
            bound.predict(other)
    with pytest.raises(ValueError, match="trained on 12 features, this graph has 13"):
        bound.predict(csbm(0.1, nodes=120, features=13, seed=9))


def test_gammas_can_be_given_and_tuned_around(graph, half):
    model = NewtonNetClassifier(settings={"gammas": (1.0, 1.0, 1.0)}, **BRIEF).fit(graph, half)
    assert all(setting["gammas"] == [1.0, 1.0, 1.0] for setting in model.settings_)


def test_roc_auc_works_with_two_labels_of_the_rarer_class(graph):
    y = np.where(np.arange(graph.nodes) % 3 == 0, -1, 0)
    y[:2] = 1
    model = NewtonNetClassifier(metric="roc_auc", tune="off", **QUICK).fit(graph, y)
    assert len(model.records_) == 2
    with pytest.raises(ValueError, match="two labelled nodes of every class, class '1' has 1"):
        NewtonNetClassifier(metric="roc_auc", tune="off", **QUICK).fit(graph, np.where(np.arange(200) == 1, 1, 0))
    with pytest.raises(ValueError, match="roc_auc needs nodes of both classes"):
        model.score(graph, np.where(np.arange(200) == 5, 1, -1))


def test_a_short_budget_still_gives_a_model(graph, half):
    model = NewtonNetClassifier(time_limit=0.05, max_epochs=100_000, patience=None, threads=1).fit(graph, half)
    assert not model.complete_
    assert np.isfinite(model.predict_proba(graph)).all()


def test_own_validation_nodes_choose_and_all_others_train(graph, half):
    known = np.flatnonzero(half >= 0)
    model = NewtonNetClassifier(**WHOLE).fit(graph, half, validation=known[::3])
    (record,) = model.records_
    assert record.split["validation"] == len(known[::3])
    assert record.split["train"] == len(known) - len(known[::3])
    assert [nodes.tolist() for nodes in model.out_of_fold_.nodes] == [known[::3].tolist()]
    assert model.validation_score_ == model.out_of_fold_.scores[0] > 0.7
    assert model.score(graph, np.where(half < 0, graph.labels, -1)) > 0.8
    mask = np.isin(np.arange(graph.nodes), known[::3])
    one, again = (
        NewtonNetClassifier("ridge", **QUICK).fit(graph, half, validation=nodes) for nodes in (known[::3], mask)
    )
    np.testing.assert_array_equal(again.predict_proba(graph), one.predict_proba(graph))


@pytest.mark.parametrize("show", [True, False])
def test_labels_are_shown_on_the_graph_of_the_fit_and_nowhere_else(graph, half, show, tmp_path):
    known = np.flatnonzero(half >= 0)
    stack = NewtonNetClassifier("newton-stack", tune="off", settings={"labels": 0.5, "layers": 2}, **QUICK)
    model = stack.fit(graph, half, validation=known[::3], show_validation=show)
    shown = np.flatnonzero(model.ensemble_.labels >= 0)
    assert shown.tolist() == (known if show else np.setdiff1d(known, known[::3])).tolist()
    model.save(tmp_path / "model")
    loaded = NewtonNetClassifier.load(tmp_path / "model")
    there = model.predict_proba(graph.relabelled(1 - graph.labels))
    np.testing.assert_array_equal(loaded.predict_proba(graph), there)
    other = csbm(0.1, nodes=120, features=12, seed=9)
    np.testing.assert_array_equal(loaded.predict_proba(other), model.predict_proba(other.relabelled(1 - other.labels)))
    silent = copy(model)
    silent.ensemble_ = replace(model.ensemble_, labels=None)
    assert np.abs(silent.predict_proba(graph) - there).max() > 1e-3


@pytest.mark.parametrize("name", ["ridge", "boosting"])
def test_models_on_the_filter_bank_can_be_fitted_and_saved(graph, half, name, tmp_path):
    model = NewtonNetClassifier(name, folds=2, **QUICK).fit(graph, half)
    assert model.filter_ is None
    assert model.score(graph, np.where(half < 0, graph.labels, -1)) > 0.7
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        NewtonNetClassifier.load(tmp_path / "model").predict_proba(graph), model.predict_proba(graph)
    )


def test_members_of_several_folds_with_eigenvectors_of_one_graph_are_saved_and_tied_to_it(graph, half, tmp_path):
    model = NewtonNetClassifier("boosting", folds=2, settings={"eigenvectors": 8}, **QUICK).fit(graph, half)
    model.save(tmp_path / "model")
    loaded = NewtonNetClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))
    assert {member.bound for member in loaded.ensemble_.members} == {graph.structure}
    with pytest.raises(ValueError, match="eigenvectors of its training graph"):
        loaded.predict(csbm(0.1, nodes=200, features=12, seed=9))


def test_without_label_inputs_no_member_reads_labels(graph, half):
    model = NewtonNetClassifier(label_inputs=False, **BRIEF).fit(graph, half)
    assert not any(setting.get("labels") or setting.get("label_hops") for setting in model.settings_)
    assert model.ensemble_.labels is None


@pytest.mark.parametrize(
    ("validation", "words"),
    [
        ([0], "node 0 is a validation node, but its label is unknown"),
        ([], "must leave training nodes of two classes, got 0 validation"),
        (np.arange(1, 200, 2), "must leave training nodes of two classes, got 100 validation and 0 training"),
        ([999], "names node 999, but the nodes are 0..199"),
    ],
)
def test_validation_nodes_that_cannot_serve_are_refused(graph, half, validation, words):
    with pytest.raises(ValueError, match=words):
        NewtonNetClassifier(**QUICK).fit(graph, half, validation=validation)


def test_every_labelled_node_is_predicted_by_members_that_have_not_seen_it(graph, half, fitted):
    found = fitted.out_of_fold_
    assert sorted(np.concatenate(found.nodes).tolist()) == np.flatnonzero(half >= 0).tolist()
    assert fitted.validation_score_ == pytest.approx(np.mean(found.scores))
    before, after = found.calibration
    assert 0 <= after < 0.2
    assert 0 <= before < 0.4
    truth = graph.labels[np.concatenate(found.nodes)]
    assert (np.concatenate(found.probabilities).argmax(axis=1) == truth).mean() > 0.8


def test_a_short_limit_gives_one_model_that_was_trained_before_others_are_tried(rng):
    # 40,000 nodes: one epoch of all settings would take many times the limit.
    kinds = rng.integers(0, 3, 40_000)
    x = (np.eye(3)[kinds] + 1.5 * rng.normal(size=(40_000, 3))).astype(np.float32)
    large = from_edges(rng.integers(0, 40_000, (2, 130_000)), x, labels=np.where(rng.random(40_000) < 0.5, kinds, -1))
    began = time.monotonic()
    model = NewtonNetClassifier(time_limit=3).fit(large)
    assert time.monotonic() - began < 9, "within the limit, but for other work on the machine"
    assert not model.complete_
    assert (model.predict(large) == kinds)[large.labels < 0].mean() > 0.5


def test_whoever_asks_it_to_stop_gets_the_best_so_far(graph, half):
    told = []
    model = NewtonNetClassifier(time_limit=None, max_epochs=100_000, patience=None, threads=1)
    model.fit(graph, half, stop=lambda: len(told) > 20, on_epoch=told.append)
    assert model.score(graph, half) > 0.5
    assert told[-1].step.startswith("trying")
    assert 0 <= told[-1].share <= 1
    assert 0 < told[-1].best <= 1


def test_every_epoch_and_every_setting_that_was_tried_is_reported(graph, half):
    epochs, trials = [], []
    model = NewtonNetClassifier(settings={"degree": 3, "hidden": 8}, **BRIEF)
    model.fit(graph, half, on_epoch=epochs.append, on_trial=trials.append)
    assert all(np.isfinite(state.loss) and 0 <= state.homophily <= 1 for state in epochs if state.epoch)
    assert len({trial.number for trial in trials}) == model.tried_
    assert {trial.settings["degree"] for trial in trials} == {3}
    assert all(trial.epochs == 2 and trial.seconds > 0 and 1 <= trial.folds <= 2 for trial in trials)
    assert all(0 < trial.validation <= 1 for trial in trials)


def test_settings_that_are_given_hold_in_everything_that_is_tried(graph, half):
    model = NewtonNetClassifier(settings={"degree": 3, "hidden": 8}, **BRIEF).fit(graph, half)
    assert {(setting["degree"], setting["hidden"]) for setting in model.settings_} == {(3, 8)}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tune": "yes"}, "tune must be one of auto, off"),
        ({"model": "newton"}, "unknown model 'newton'"),
        ({"settings": {"degre": 3}}, "no option 'degre'"),
        ({"time_limit": 0}, "time_limit must be seconds above 0"),
        ({"time_limit": "60s"}, "got '60s'"),
        ({"time_limit": float("inf")}, "or None for no limit, got inf"),
        ({"settings": {"seed": 5}}, "seed is not a setting; use the parameter random_state"),
        ({"settings": {"metric": "roc_auc"}}, "metric is not a setting; use the parameter metric"),
        ({"transferable": True, "settings": {"branch": 8}}, "is transductive"),
        ({"transferable": True, "model": "linkx"}, "is transductive"),
        ({"folds": 1}, "folds must be a whole number of at least 2"),
        ({"metric": "f1"}, "metric must be"),
        ({"max_epochs": 0}, "max_epochs must be"),
        ({"device": "nowhere"}, "use cpu"),
        ({"threads": 0}, "threads must be a whole number of at least 1"),
    ],
)
def test_wrong_parameters_are_refused_when_fitting(graph, half, parameters, message):
    with pytest.raises(ValueError, match=message):
        NewtonNetClassifier(**parameters).fit(graph, half)


def test_labels_that_teach_nothing_are_refused(graph):
    with pytest.raises(ValueError, match="no labelled node"):
        NewtonNetClassifier().fit(graph, np.full(graph.nodes, -1))
    with pytest.raises(ValueError, match="one class only"):
        NewtonNetClassifier().fit(graph, np.where(np.arange(graph.nodes) < 5, 1, -1))


def test_an_unfitted_one_says_so(graph):
    for ask in ("predict", "predict_proba", "score"):
        with pytest.raises(NotFittedError):
            getattr(NewtonNetClassifier(), ask)(graph)
    with pytest.raises(NotFittedError):
        NewtonNetClassifier().save("nowhere")


@pytest.mark.parametrize(
    "check",
    [
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_get_params_invariance",
        "check_set_params",
    ],
)
def test_scikit_learns_own_checks_pass(check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(estimator_checks, check)("NewtonNetClassifier", NewtonNetClassifier())


def test_fit_overwrites_nothing_that_the_user_has_set(graph, half):
    """What scikit-learn's check_dont_overwrite_attributes asks, on a graph instead of a matrix."""
    model = NewtonNetClassifier(tune="off", settings={"degree": 2}, **QUICK)
    before = dict(vars(model))
    model.fit(graph, half)
    assert {name: vars(model)[name] for name in before} == before
    assert all(name.endswith("_") for name in vars(model).keys() - before.keys())


def test_a_clone_has_the_parameters_and_nothing_learned(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "ensemble_")


def test_auc_can_be_tuned_for(graph, half):
    model = NewtonNetClassifier(metric="roc_auc", tune="off", **QUICK).fit(graph, half)
    hidden = np.where(half < 0, graph.labels, -1)
    expected = roc_auc_score(graph.labels[half < 0], model.predict_proba(graph)[half < 0, 1])
    assert model.score(graph, hidden) == pytest.approx(expected)


def pyg(graph, labels, **fields):
    ends = torch.tensor(np.array(graph.adjacency.nonzero()), dtype=torch.long)
    return Data(x=torch.tensor(graph.features), edge_index=ends, y=torch.tensor(labels), **fields)


def test_classes_of_data_are_those_that_are_there(graph, half):
    settings = {"tune": "off", **QUICK}
    told = NewtonNetClassifier(**settings).fit(pyg(graph, np.where(half < 0, -1, 4 * half + 1)))
    plain = NewtonNetClassifier(**settings).fit(pyg(graph, half))
    assert told.classes_.tolist() == [1, 5]
    np.testing.assert_array_equal(told.predict_proba(graph), plain.predict_proba(graph))


def test_masks_of_data_hide_labels_from_fit_and_say_what_score_counts(graph, half):
    train, test = torch.tensor(half >= 0), torch.tensor(half < 0)
    data = pyg(graph, graph.labels, train_mask=train, val_mask=torch.zeros_like(train), test_mask=test)
    settings = {"tune": "off", **QUICK}
    masked = NewtonNetClassifier(**settings).fit(data)
    told = NewtonNetClassifier(**settings).fit(graph, half)
    np.testing.assert_array_equal(masked.predict_proba(data), told.predict_proba(graph))
    assert masked.score(data) == told.score(graph, np.where(half < 0, graph.labels, -1))
    assert masked.score(data, graph.labels) == told.score(graph)


def test_a_frame_is_known_by_its_columns(graph, half, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(graph.features, columns=[f"f{i}" for i in range(12)])
    model = NewtonNetClassifier(tune="off", **QUICK).fit((graph.adjacency, frame), half)
    model.save(tmp_path / "m")
    for one in (model, NewtonNetClassifier.load(tmp_path / "m")):
        assert one.feature_names_in_[:2].tolist() == ["f0", "f1"]
        one.predict((graph.adjacency, frame))
        one.predict((graph.adjacency, graph.features))  # without names there is nothing to compare
        for use in (one.predict, lambda pair, one=one: one.score(pair, graph.labels)):
            with pytest.raises(ValueError, match="another order than in fit; give the columns as f0, f1, f2"):
                use((graph.adjacency, frame[frame.columns[::-1]]))
        with pytest.raises(ValueError, match="unseen there age; missing here f3"):
            one.predict((graph.adjacency, frame.rename(columns={"f3": "age"})))
    assert not hasattr(model.fit(graph, half), "feature_names_in_")


def test_numbers_of_numpy_and_a_device_are_taken_and_saved(graph, half, tmp_path):
    own = NewtonNetClassifier(
        tune="off",
        settings={"degree": np.int64(3), "learning_rate": np.float64(0.05), "gammas": np.array([1.0, 0.0, 0.0])},
        max_epochs=np.int64(5),
        folds=np.int64(2),
        threads=np.int64(1),
        time_limit=np.float32(60),
        device=torch.device("cpu"),
    ).fit(graph, half)
    plain = NewtonNetClassifier(
        tune="off",
        settings={"degree": 3, "learning_rate": 0.05, "gammas": [1.0, 0.0, 0.0]},
        max_epochs=5,
        folds=2,
        threads=1,
    ).fit(graph, half)
    np.testing.assert_array_equal(own.predict_proba(graph), plain.predict_proba(graph))
    own.save(tmp_path / "m")
    assert NewtonNetClassifier.load(tmp_path / "m").get_params()["device"] == "cpu"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"folds": 2.5}, "folds must be a whole number of at least 2, or None, got 2.5"),
        ({"folds": "3"}, "folds must be a whole number"),
        ({"threads": 1.5}, "threads must be a whole number of at least 1"),
        ({"max_memory": "much"}, "max_memory must be None or an amount such as 500MB or 2GB, got 'much'"),
        ({"max_memory": 1.5}, "max_memory must be None or a whole number of bytes, or an amount"),
        ({"max_memory": [1]}, "max_memory must be None or a whole number of bytes, or an amount"),
        ({"settings": "degree=3"}, "settings must be options by name"),
    ],
)
def test_parameters_of_another_kind_are_refused_in_one_line(graph, changes, message):
    with pytest.raises(ValueError, match=message):
        NewtonNetClassifier(**changes).fit(graph)


def test_it_trains_where_gradients_are_off(graph, half):
    with torch.no_grad():
        quiet = NewtonNetClassifier(tune="off", **QUICK).fit(graph, half)
    np.testing.assert_array_equal(
        quiet.predict_proba(graph), NewtonNetClassifier(tune="off", **QUICK).fit(graph, half).predict_proba(graph)
    )


def test_the_advice_for_a_transductive_model_can_be_followed(graph, half):
    model = NewtonNetClassifier("linkx", tune="off", **QUICK).fit(graph, half)
    with pytest.raises(ValueError, match=r"fit another model to predict on other graphs$"):
        model.predict(csbm(0.1, nodes=200, features=12, seed=5))


@pytest.mark.parametrize("model", ["newtonnet", "ridge"])
def test_every_record_says_how_many_threads_there_were(model, graph):
    fitted = NewtonNetClassifier(model, tune="off", max_epochs=2, folds=2, threads=3).fit(graph)
    assert [record.machine["threads"] for record in fitted.records_] == [3, 3]
