import html
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from newtonnet import NewtonNetClassifier, cross_validate
from newtonnet.datasets import csbm
from newtonnet.estimator import CrossValidation, calibration_bins, calibration_error, calibration_interval, score
from newtonnet.graphs import energy_density, from_edges, homophily, spectrum
from newtonnet.metrics import Threshold
from newtonnet.report import gather, render_findings
from newtonnet.report.gathering import evaluate, graph_warnings, node_groups, repeated_rows, spectrum_bytes


@pytest.fixture(scope="module")
def graph():
    """300 nodes that avoid their own class, one in five without a label."""
    whole = csbm(0.1, nodes=300, features=20, seed=3)
    labels = np.where(np.arange(300) % 5 == 0, -1, whole.labels)
    return from_edges(whole.pairs, whole.features, labels=labels, name="block model")


@pytest.fixture(scope="module")
def classifier(graph):
    options = {"variant": "released", "gammas": (1.0, 2.0, 3.0)}
    return NewtonNetClassifier(tune="off", folds=3, max_epochs=40, settings=options, threads=1).fit(graph)


@pytest.fixture(scope="module")
def findings(graph, classifier):
    quick = NewtonNetClassifier(tune="off", folds=2, max_epochs=20, threads=1)
    mlp = NewtonNetClassifier("mlp", tune="off", folds=2, max_epochs=20, threads=1)
    return gather(
        classifier,
        graph,
        classifier.predict_proba(graph),
        title="A title",
        command="newtonnet fit",
        seconds=1.5,
        ours=cross_validate(quick, graph, 3),
        others={"mlp": cross_validate(mlp, graph, 3)},
        left_out={"same": "one value only", "blank": "no value at all"},
        warnings=["It rained."],
    )


def test_the_data_are_counted(graph, findings):
    data = findings.data
    assert (data.nodes, data.edges, data.features, data.feature_kind) == (300, graph.edges, 20, "dense")
    assert data.labelled == sum(data.class_counts) == 240
    assert not data.weighted
    assert "Columns not used as features (one value only): same." in data.warnings
    assert "Columns not used as features (no value at all): blank." in data.warnings


def test_components_isolated_nodes_and_weights_are_found(two_cliques, random_graph, classifier):
    def data(graph):
        fitted = NewtonNetClassifier(tune="off", folds=2, max_epochs=2, threads=1).fit(graph)
        shares = fitted.predict_proba(graph)
        return gather(fitted, graph, shares, title="", command="", seconds=0.0).data

    cliques, loose = data(two_cliques), data(random_graph)
    assert (cliques.components, cliques.isolated, cliques.weighted) == (2, 0, False)
    assert cliques.feature_kind == "one indicator per node"
    degrees = random_graph.adjacency.toarray().astype(bool).sum(axis=1)
    assert (loose.isolated, loose.weighted) == ((degrees == 0).sum(), True)


def test_homophily_is_measured_over_labelled_ends_and_learned_over_all(graph, classifier, findings):
    ends = graph.labels[graph.pairs]
    known = (ends >= 0).all(axis=0)
    assert findings.homophily.labelled_edges == known.sum()
    assert findings.homophily.measured == pytest.approx((ends[0] == ends[1])[known].mean())
    assert findings.homophily.learned == pytest.approx(classifier.homophily_)
    assert findings.homophily.chance == pytest.approx(homophily(graph).chance)


def test_homophily_is_unknown_where_no_edge_joins_two_labels(classifier):
    labels = [0, -1, 1, -1, 0, 1]
    lonely = from_edges([[0, 2], [1, 3]], np.eye(6), labels=labels)
    fitted = NewtonNetClassifier(tune="off", folds=2, max_epochs=2, threads=1).fit(lonely)
    found = gather(fitted, lonely, fitted.predict_proba(lonely), title="", command="", seconds=0.0)
    assert (found.homophily.measured, found.homophily.chance, found.homophily.labelled_edges) == (None, None, 0)
    assert found.homophily.learned is not None
    assert any("No edge joins two labelled nodes" in warning for warning in found.data.warnings)


def test_the_response_is_the_one_that_was_learned(classifier, findings):
    response = findings.response
    np.testing.assert_array_equal(response.responses, classifier.filter_.responses)
    np.testing.assert_array_equal(response.values, classifier.filter_.values)
    assert len(response.values) == 3
    assert response.gammas == (1.0, 2.0, 3.0)
    assert response.squared is False  # the code's reading of the penalty
    assert response.nonnegative is True
    assert response.pivot == 0.5
    assert response.homophily == pytest.approx(np.mean([r.outcome.homophily for r in classifier.records_]))


def test_the_labels_energy_is_that_of_the_exact_eigenvectors(graph, classifier, findings):
    shares = classifier.predict_proba(graph)
    classes = np.where(graph.labels >= 0, graph.labels, shares.argmax(axis=1))
    one_hot = np.eye(graph.classes)[classes]
    frequencies, vectors = spectrum(graph)
    energy = ((vectors.T @ (one_hot - one_hot.mean(axis=0))) ** 2).sum(axis=1)
    grid = np.array(findings.spectrum.frequencies)
    for low, high in ((0.0, 0.7), (0.7, 1.3), (1.3, 2.0)):
        exact = energy[(frequencies >= low) & (frequencies < high)].sum() / energy.sum()
        inside = (grid >= low) & (grid < high)
        ours = np.array(findings.spectrum.label_energy)[inside].sum() * (grid[1] - grid[0])
        assert ours == pytest.approx(exact, abs=0.06)
    whole = energy_density(graph, one_hot - one_hot.mean(axis=0))  # predictions stand in where labels are unknown
    np.testing.assert_allclose(findings.spectrum.label_energy, whole.density, atol=1e-4)
    assert findings.spectrum.predicted
    assert energy[frequencies > 1.3].sum() > 0.3 * energy.sum()  # it avoids its own class


def test_a_directed_graph_has_no_spectrum(arrows):
    labelled = from_edges([[0, 1, 2, 2, 3, 0], [1, 2, 0, 3, 4, 3]], np.eye(6), labels=[0, 1] * 3, directed=True)
    fitted = NewtonNetClassifier(tune="off", folds=2, max_epochs=2, threads=1).fit(labelled)
    found = gather(fitted, labelled, fitted.predict_proba(labelled), title="", command="", seconds=0.0)
    assert found.spectrum is None
    assert found.data.isolated == 1


def test_a_model_without_a_filter_has_no_response(graph):
    fitted = NewtonNetClassifier("gcn", tune="off", folds=2, max_epochs=3, threads=1).fit(graph)
    found = gather(fitted, graph, fitted.predict_proba(graph), title="", command="", seconds=0.0)
    assert found.response is None
    assert found.evaluation is None


def test_what_is_averaged_is_listed_and_what_is_drawn_is_marked(graph, classifier, findings):
    (member,) = findings.ensemble
    assert (member.model, member.weight, member.drawn) == ("newtonnet", 1.0, True)
    assert member.settings["gammas"] == [1.0, 2.0, 3.0]
    assert not {"model", "weight"} & set(member.settings)
    shares = classifier.predict_proba(graph)
    mixed = copy(classifier)
    stack = {"model": "newton-stack", "weight": 0.7, "layers": 3}
    mixed.settings_ = [stack, {**classifier.settings_[0], "weight": 0.3}]
    mixed.filter_weight_ = 0.3
    found = gather(mixed, graph, shares, title="", command="", seconds=0.0)
    assert [(member.weight, member.drawn) for member in found.ensemble] == [(0.7, False), (0.3, True)]
    assert any("a member with 30% of the weight" in warning for warning in found.warnings)
    mixed.settings_, mixed.filter_weight_ = [{**stack, "weight": 1.0}], 0.0
    found = gather(mixed, graph, shares, title="", command="", seconds=0.0)
    assert [member.drawn for member in found.ensemble] == [False]
    assert any("deep stack of filters" in text and "not used for the predictions" in text for text in found.warnings)


def test_the_metric_is_the_classifier_s(graph, classifier):
    found = gather(
        copy(classifier).set_params(metric="roc_auc"),
        graph,
        classifier.predict_proba(graph),
        title="",
        command="",
        seconds=0.0,
    )
    assert found.metric == "roc_auc"


def test_history_holds_every_split_without_numbers_that_are_none(classifier, findings):
    assert len(findings.history) == 3
    for one, record in zip(findings.history, classifier.records_, strict=True):
        assert one.best_epoch == record.outcome.best_epoch
        assert list(one.epochs) == [10, 20, 30, 40]
        assert len(one.validation) == len(one.homophily) == 4


def test_the_page_can_be_made_from_what_was_gathered(findings):
    page = render_findings(findings)
    assert "A title" in page
    assert "It rained." in page


@pytest.fixture
def by_hand():
    """Six nodes in two folds with known mistakes: node 2 of class 0 taken for 1, nobody taken for class 2."""
    graph = from_edges([[0], [1]], np.eye(7), labels=[0, 1, 0, 1, 0, 2, -1])
    rows = {0: (0.9, 0.05, 0.05), 1: (0.1, 0.8, 0.1), 2: (0.2, 0.5, 0.3), 3: (0.0, 1.0, 0.0), 4: (0.6, 0.2, 0.2)}
    rows[5] = (0.35, 0.33, 0.32)
    tests = [np.array([0, 1, 2]), np.array([3, 4, 5])]
    shares = [np.array([rows[node] for node in test.tolist()]) for test in tests]
    scores, seconds = np.array([0.66, 0.67]), np.array([1.0, 2.0])
    return graph, CrossValidation(scores, seconds, [NewtonNetClassifier()] * 2, tests, shares)


def test_mistakes_are_counted_class_by_class(by_hand):
    graph, found = by_hand
    result = evaluate(graph, "newtonnet", found, {})
    assert result.confusion == [[2, 1, 0], [0, 2, 0], [1, 0, 0]]
    assert result.precision == [pytest.approx(2 / 3), pytest.approx(2 / 3), None]
    assert result.recall == [pytest.approx(2 / 3), 1.0, 0.0]
    assert result.majority == 0.5


def two_classes(rng, nodes=300, folds=3):
    """Nodes of two classes in folds, predicted by a better and a worse model."""
    graph = from_edges([[0], [1]], np.eye(nodes), labels=rng.integers(0, 2, nodes))
    tests = np.array_split(np.arange(nodes), folds)

    def found(noise):
        high = np.clip(0.5 + 0.3 * (graph.labels - 0.5) + noise * rng.normal(size=nodes), 0, 1)
        shares = [np.stack([1 - high, high], axis=1)[test] for test in tests]
        scores = np.array(
            [score("roc_auc", part, graph.labels[test]) for part, test in zip(shares, tests, strict=True)]
        )
        return CrossValidation(scores, np.ones(folds), [NewtonNetClassifier()] * folds, tests, shares)

    return graph, found(0.1), found(0.6)


def test_members_of_one_fold_are_judged_by_the_threshold_as_it_was_chosen(graph, classifier):
    held, fitted = classifier.out_of_fold_, copy(classifier)
    fitted.threshold_ = Threshold("f1", 1.0, 0.5, 0.5, held_out=0.0)  # there everything is of the second class
    kept = slice(0, 2)
    ours = CrossValidation(
        np.array(held.scores[kept]), np.ones(2), [fitted] * 2, list(held.nodes)[kept], held.probabilities[kept]
    )
    shown = {"title": "", "command": "", "seconds": 0.0}
    assert gather(fitted, graph, fitted.predict_proba(graph), ours=ours, **shown).evaluation.recall == [0.0, 1.0]
    others = replace(ours, test=[nodes.copy() for nodes in ours.test])  # by whole models, fitted again
    assert gather(fitted, graph, fitted.predict_proba(graph), ours=others, **shown).evaluation.recall == [1.0, 0.0]


def test_the_interval_of_an_auc_is_over_nodes(rng):
    graph, good, bad = two_classes(rng)
    ours = evaluate(graph, "newtonnet", bad, {}, metric="roc_auc").ours
    low, high = ours.interval
    assert low < ours.mean < high
    assert 0.08 < high - low < 0.2, "about 4 times sqrt(1 / 12 / 150 * 2)"
    assert np.ptp(evaluate(graph, "newtonnet", good, {}, metric="roc_auc").ours.interval) < high - low
    alone = CrossValidation(bad.scores[:1], bad.seconds[:1], bad.estimators[:1], bad.test[:1], bad.probabilities[:1])
    wide = evaluate(graph, "newtonnet", alone, {}, metric="roc_auc").ours.interval
    assert np.ptp(wide) > 1.4 * (high - low), "a third of the nodes"


@pytest.mark.parametrize("metric", ["roc_auc", "accuracy"])
def test_models_are_compared_on_the_same_nodes(rng, metric):
    graph, good, bad = two_classes(rng)
    (other,) = evaluate(graph, "newtonnet", good, {"mlp": bad}, metric=metric).others
    mean, low, high = other.ahead
    assert mean == pytest.approx(good.mean - bad.mean)
    assert 0 < low < mean < high < 1
    (same,) = evaluate(graph, "newtonnet", good, {"mlp": good}, metric=metric).others
    assert same.ahead == (0, 0, 0)


@pytest.mark.parametrize("scores", [(0.66, 0.67), (0.5, 0.5)])
def test_an_accuracy_is_never_surer_than_so_many_nodes_allow(by_hand, scores):
    graph, found = by_hand
    low, high = evaluate(graph, "newtonnet", replace(found, scores=np.array(scores)), {}).ours.interval
    share, n, z = 4 / 6, 6, 1.959964  # Wilson's formula, four of six nodes right
    middle, reach = share + z**2 / (2 * n), z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    bounds = ((middle - reach) / (1 + z**2 / n), (middle + reach) / (1 + z**2 / n))
    assert (low, high) == pytest.approx(bounds, abs=1e-6)


def test_calibration_compares_confidence_with_what_is_right(by_hand):
    graph, found = by_hand
    result = evaluate(graph, "newtonnet", found, {})
    assert [count for _, _, count in result.bins] == [1] * 6
    assert result.bins[0] == (0.35, 0.0, 1)
    assert result.bins[-1] == (1.0, 1.0, 1)
    assert result.calibration_error == pytest.approx((0.35 + 0.5 + 0.4 + 0.2 + 0.1) / 6)


def test_bins_hold_equal_numbers_of_nodes_and_never_divide_equal_confidences(rng):
    shares = rng.dirichlet(np.ones(3), size=1000)
    assert {count for _, _, count in calibration_bins(shares, np.zeros(1000, dtype=int))} == {100}
    shares[:600] = (0.5, 0.3, 0.2)
    bins = calibration_bins(shares, np.zeros(1000, dtype=int))
    assert sum(count for _, _, count in bins) == 1000
    assert max(count for _, _, count in bins) >= 600
    assert len({sure for sure, _, _ in bins}) == len(bins)


@pytest.mark.parametrize("power", [1.0, 2.0], ids=["calibrated", "overconfident"])
def test_the_interval_of_the_calibration_error_holds_the_true_one(rng, power):
    """Of calibrated probabilities and of those that were sharpened, whose true error is that of many nodes."""

    def sample(count):
        shares = rng.dirichlet(np.ones(3), size=count)
        truth = (rng.random((count, 1)) > shares.cumsum(axis=1)).sum(axis=1).clip(max=2)
        return shares**power / (shares**power).sum(axis=1, keepdims=True), truth

    true = calibration_error(*sample(400_000))
    intervals = [calibration_interval(*sample(800)) for _ in range(40)]
    held = np.mean([low - 0.005 <= true <= high + 0.005 for low, high in intervals])
    assert held >= 0.85
    assert np.mean([high - low for low, high in intervals]) < 0.09


def test_nodes_are_grouped_by_their_neighbours_and_counted_right():
    """A star: the hub has ten neighbours, of which two are labelled and one has its class."""
    graph = from_edges([[0] * 10, range(1, 11)], np.eye(13), labels=[0, 0, 1, *[-1] * 9, 1])
    groups = {one.name: one for one in node_groups(graph, np.array([0, 1, 2, 12]), np.array([1, 1, 0, 0], dtype=bool))}
    assert {name: (one.nodes, one.right) for name, one in groups.items()} == {
        "no neighbours": (1, 0.0),
        "1 to 2 neighbours": (2, 0.5),
        "10 or more neighbours": (1, 1.0),
        "labelled neighbours mostly of its class": (1, 1.0),
        "labelled neighbours mostly of other classes": (2, 0.5),
    }
    assert groups["10 or more neighbours"].interval[0] < 0.3


def test_perfect_probabilities_have_no_calibration_error(rng):
    shares = rng.dirichlet(np.ones(3), size=60_000)
    truth = (rng.random((60_000, 1)) > shares.cumsum(axis=1)).sum(axis=1).clip(max=2)
    bins = calibration_bins(shares, truth)
    assert sum(abs(sure - right) * count for sure, right, count in bins) / 60_000 < 0.02


@pytest.mark.parametrize(
    ("labels", "edges", "message"),
    [
        ([0] * 12 + [1] * 12, 24, None),
        ([0] * 12 + [1] * 12, 0, "no edges: only the features"),
        ([0] * 12 + [1] * 12, 15, "have no edge"),
        ([0] * 20 + [1] * 4, 24, "Classes with fewer than 10 labelled nodes, too few for a precise score: 1."),
        ([0] * 23 + [1], 24, "Classes with only one labelled node, too few to measure a score: 1."),
        ([0] * 22 + [1] * 2, 24, "very unbalanced: 92% of the labels are '0'"),
        ([0, -1] * 6 + [1, -1] * 6, 24, "No edge joins two labelled nodes"),
    ],
)
def test_doubtful_data_give_a_warning(labels, edges, message, rng):
    nodes = np.arange(edges)
    ring = from_edges([nodes, (nodes + 1) % max(edges, 1)], rng.normal(size=(24, 3)), labels=labels)
    found = graph_warnings(ring)
    assert any(message in sentence for sentence in found) if message else found == []


def test_a_metric_is_recommended_for_a_rare_class_unless_one_was_chosen(rng):
    nodes = np.arange(24)
    ring = from_edges([nodes, (nodes + 1) % 24], rng.normal(size=(24, 3)), labels=[0] * 22 + [1] * 2)
    advised, chosen = (" ".join(graph_warnings(ring, aim=aim)) for aim in (False, True))
    assert "Check the recall of each class, and see the options metric and threshold." in advised
    assert "Check the recall of each class." in chosen


@pytest.mark.parametrize("sparse", [False, True])
def test_repeated_features_are_found_whatever_their_storage(sparse, rng):
    rows = (rng.random((200, 60)) < (0.05 if sparse else 1)) * rng.normal(size=(200, 60))
    rows[100:150] = rows[50:100]
    graph = from_edges([[0], [1]], rows, labels=np.arange(200) % 2)
    assert isinstance(graph.features, np.ndarray) is not sparse
    expected = 200 - len(np.unique(rows.astype(np.float32), axis=0))
    assert repeated_rows(graph.features) == expected
    assert any("same features as another" in sentence for sentence in graph_warnings(graph))


@pytest.mark.parametrize("sparse", [False, True])
def test_one_huge_number_makes_no_rows_alike(sparse, rng):
    rows = (rng.random((1000, 20)) < (0.2 if sparse else 1)) * rng.normal(size=(1000, 20))
    rows[:, 0], rows[0, 0] = np.arange(1, 1001), 1e13
    features = rows.astype(np.float32)
    assert repeated_rows(sp.csr_array(features) if sparse else features) == 0


def test_the_page_of_the_out_of_core_regime_shows_the_filters_points(graph):
    fitted = NewtonNetClassifier(regime="out-of-core", folds=2, max_epochs=5, threads=1).fit(graph)
    found = gather(fitted, graph, fitted.predict_proba(graph), title="", command="", seconds=0.0)
    np.testing.assert_array_equal(found.response.points, fitted.filter_.points)
    assert [member.drawn for member in found.ensemble] == [True]


def test_epochs_are_given_only_where_time_ran_out_early(graph, classifier):
    def found(fitted):
        return gather(fitted, graph, fitted.predict_proba(graph), title="", command="", seconds=0.0).cut_at

    assert found(classifier) is None
    brief = copy(classifier)
    brief.complete_ = False
    assert found(brief) is None
    brief.records_ = [replace(one, outcome=replace(one.outcome, epochs=7)) for one in classifier.records_]
    assert found(brief) == 7


def test_warnings_about_the_tables_are_among_those_of_the_data(graph, classifier):
    shares = classifier.predict_proba(graph)
    data = gather(
        classifier, graph, shares, title="", command="", seconds=0.0, columns="numbers: x", data_warnings=["Odd."]
    ).data
    assert data.columns == "numbers: x"
    assert "Odd." in data.warnings


@pytest.mark.parametrize("beyond", [False, True])
def test_a_spectrum_beyond_the_memory_is_left_out_with_a_warning(beyond, graph, classifier):
    allowed = spectrum_bytes(graph) - beyond
    shares = classifier.predict_proba(graph)
    found = gather(classifier, graph, shares, title="", command="", seconds=0.0, warnings=["So."], max_memory=allowed)
    assert (found.spectrum is None) == beyond
    assert found.warnings[0] == "So."
    assert any("spectrum was not estimated" in warning for warning in found.warnings) == beyond
    assert ("The graph's spectrum was not estimated" in html.unescape(render_findings(found))) == beyond
