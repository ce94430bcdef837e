"""Training on numbers: losses and scores in closed form, homophily as a correlation, pivot 0, and no leaks."""

import numpy as np
import pytest
import torch
from sklearn.metrics import d2_absolute_error_score, r2_score

from newtonnet import Config, build, fit
from newtonnet.datasets import Split
from newtonnet.graphs import assortativity, from_edges
from newtonnet.nn import NewtonStackOptions
from newtonnet.training.in_memory import evaluate_numbers, graph_source, make_targets, number_loss
from newtonnet.training.loop import Run
from newtonnet.training.shape import neighbour_correlation

NUMBERS = Config(loss="squared", metric="r2", max_epochs=20)


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(1)
    pairs = rng.integers(60, size=(2, 200))
    features = rng.standard_normal((60, 4))
    return from_edges(pairs, features).with_targets(features[:, 0] + 0.1 * rng.standard_normal(60), "price")


@pytest.fixture(scope="module")
def splits(graph):
    nodes = np.random.default_rng(2).permutation(graph.nodes)
    return [Split(nodes[:30], nodes[30:45], nodes[45:]), Split(nodes[20:50], nodes[:15], nodes[15:20])]


def test_losses_are_the_mean_errors_of_each_members_training_nodes(graph, splits, rng):
    outputs, targets = torch.tensor(rng.standard_normal((60, 2, 1))), make_targets(graph, splits)
    for absolute in (False, True):
        found = number_loss(outputs, targets, absolute=absolute)
        for p, split in enumerate(splits):
            error = np.abs(outputs[split.train, p, 0].numpy() - graph.targets[split.train])
            assert found[p] == pytest.approx((error if absolute else error**2).mean())


@pytest.mark.parametrize(("metric", "measure"), [("r2", r2_score), ("d2_absolute_error", d2_absolute_error_score)])
def test_scores_are_those_of_scikit_learn(graph, splits, rng, metric, measure):
    outputs, targets = torch.tensor(rng.standard_normal((60, 2, 1))), make_targets(graph, splits)
    found = evaluate_numbers(metric, outputs, targets, targets.baseline(metric)).scores
    for p, split in enumerate(splits):
        for i, part in enumerate((split.train, split.validation, split.test)):
            assert found[i, p] == pytest.approx(measure(graph.targets[part], outputs[part, p, 0]))


def test_the_correlation_of_neighbours_is_that_of_both_directions(graph, rng):
    values = rng.standard_normal((60, 3))
    pairs = torch.from_numpy(graph.pairs.copy())
    found = neighbour_correlation(pairs, torch.from_numpy(values))
    for p in range(3):
        both = np.concatenate([graph.pairs, graph.pairs[::-1]], axis=1)
        assert found[p] == pytest.approx(np.corrcoef(values[both[0], p], values[both[1], p])[0, 1])
        assert found[p] == pytest.approx(assortativity(graph, values[:, p]))


def test_the_correlation_is_0_without_edges_or_differences():
    assert neighbour_correlation(torch.zeros(2, 0, dtype=torch.int64), torch.ones(3, 2)).tolist() == [0, 0]
    assert neighbour_correlation(torch.tensor([[0], [1]]), torch.ones(3, 1)).tolist() == [0]


def test_the_shape_regulariser_compares_the_correlation_with_0(graph, splits):
    config = Config(loss="squared", metric="r2", gammas=(1.0, 0.0, 0.0), max_epochs=3)
    model = build("newtonnet", graph, seeds=[0])
    run = Run(model, graph_source(model, graph, splits[:1], config), [config])
    assert run.pivot.tolist() == [0.0]
    assert run.penalty().tolist() == [0.0]
    run.step()
    amplitudes = run.model.filter.amplitudes(run.model.filter_parameters()).detach()
    low = amplitudes[run.model.filter.points < 2 / 3].square().sum()
    assert run.penalty().tolist() == pytest.approx([-run.homophily[0] * float(low)], rel=1e-5)
    assert -1 <= run.homophily[0] <= 1
    assert run.homophily[0] != 0


def test_a_smooth_target_is_learned(graph, splits):
    config = Config(loss="squared", metric="r2", max_epochs=200)
    record = fit(build("mlp", graph, seeds=[0]), graph, splits[:1], [config])[0]
    assert record.outcome.test > 0.5
    assert record.outcome.test_accuracy is None or np.isnan(record.outcome.test_accuracy)


def test_shown_numbers_are_those_of_training_nodes_alone(graph, splits):
    options = NewtonStackOptions(layers=2, hidden=8, labels=0.5)
    changed = graph.targets.copy()
    changed[splits[0].validation] += 100
    changed[splits[0].test] -= 100
    outputs = []
    for whole in (graph, graph.with_targets(changed)):
        model = build("newton-stack", whole, options, seeds=[0])
        source = graph_source(model, whole, splits[:1], NUMBERS)
        (batch,) = source.batches(1)
        outputs.append((model(source.inputs), model(batch.inputs), source.loss(model(batch.inputs), batch)))
    for one, other in zip(*outputs, strict=True):
        assert torch.equal(one, other)


def test_sums_over_neighbours_do_not_grow_with_the_share_that_is_shown(graph, splits):
    model = build("newton-stack", graph, NewtonStackOptions(layers=2, hidden=8, labels=0.5), seeds=[0])
    inputs = model.prepare(graph)
    known = torch.ones(60, dtype=torch.float64)
    some = torch.where(torch.arange(60) % 3 == 0, known, float("nan"))
    for shown in (known, some):
        columns = model.extra_columns(inputs.show(shown))[:, 0, -2:]
        np.testing.assert_allclose(columns.detach().mean(dim=0), [1, 1], rtol=1e-6)


def test_no_node_whose_number_is_shown_counts_in_the_loss(graph, splits):
    model = build("newton-stack", graph, NewtonStackOptions(layers=2, hidden=8, labels=0.5), seeds=[0, 1])
    source = graph_source(model, graph, splits, NUMBERS)
    (batch,) = source.batches(1)
    shown = ~batch.inputs.labels.isnan()
    assert shown.any(dim=0).all()
    assert not (shown & batch.targets.masks[0]).any()
    assert torch.equal(shown | batch.targets.masks[0], source.targets.masks[0])


def test_a_stack_refuses_classes_where_it_was_built_for_numbers(graph):
    model = build("newton-stack", graph, NewtonStackOptions(layers=1, hidden=4, labels=0.5), seeds=[0])
    with pytest.raises(ValueError, match="show classes to several, numbers to 1"):
        model(model.prepare(graph).show(torch.zeros(60, dtype=torch.int64)))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            Config(),
            "has numbers to learn, which need a loss such as squared and a metric such as r2; got cross-entropy",
        ),
        (Config(loss="squared"), "got squared and accuracy"),
    ],
)
def test_losses_and_metrics_of_classes_are_refused_for_numbers(graph, splits, config, message):
    with pytest.raises(ValueError, match=message):
        fit(build("mlp", graph, seeds=[0]), graph, splits[:1], [config])


def test_losses_of_numbers_are_refused_for_classes(ring):
    split = Split(np.arange(4), np.arange(4, 6), np.arange(6, 8))
    with pytest.raises(ValueError, match="has classes to learn, which need a loss such as cross-entropy"):
        fit(build("mlp", ring, seeds=[0]), ring, [split], [NUMBERS])
