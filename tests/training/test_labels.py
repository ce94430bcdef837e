"""Labels as inputs: what is shown never reaches the loss, and what is not shown never reaches the model."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from newtonnet.datasets import csbm, make_splits
from newtonnet.nn import NewtonStackOptions, Noise, build
from newtonnet.training import Config, fit
from newtonnet.training.in_memory import cross_entropy, graph_source, make_targets
from newtonnet.training.loop import Run

OPTIONS = NewtonStackOptions(hidden=4, layers=3, labels=0.5)
CONFIG = Config(max_epochs=12, weight_decay=0.0)


@pytest.fixture(scope="module")
def graph():
    return csbm(0.2, nodes=120, features=30, seed=5)


def relabelled(graph, nodes):
    """The graph with other labels at some nodes."""
    labels = graph.labels.copy()
    labels[nodes] = (labels[nodes] + 1) % graph.classes
    return replace(graph, labels=labels)


def run(graph, splits, epochs=12):
    model = build("newton-stack", graph, OPTIONS, seeds=(0,) * len(splits))
    training = Run(model, graph_source(model, graph, splits, CONFIG), [CONFIG] * len(splits))
    for _ in range(epochs):
        training.step()
    return training


def test_shown_and_hidden_are_halves_of_the_training_nodes(graph):
    splits = make_splits(graph, count=2)
    targets = make_targets(graph, splits)
    shares = []
    for epoch in range(1, 50):
        shown, hidden = targets.halves(0.5, Noise(0, (3, 4), epoch))
        assert torch.equal((shown >= 0) ^ hidden.masks[0], targets.masks[0]), "each training node is one of the two"
        assert torch.equal(shown[shown >= 0], targets.labels[:, None].expand(-1, 2)[shown >= 0])
        shares.append(((shown >= 0).sum(dim=0) / targets.sizes[0]).tolist())
    assert np.mean(shares, axis=0) == pytest.approx(0.5, abs=0.03)


def test_the_draw_depends_on_seed_and_epoch_alone(graph):
    splits = make_splits(graph, count=2)
    both, alone = make_targets(graph, splits), make_targets(graph, splits[1:])
    shown = both.halves(0.5, Noise(0, (3, 4), 7))[0]
    assert torch.equal(shown[:, 1:], alone.halves(0.5, Noise(9, (4,), 7))[0])
    assert not torch.equal(shown, both.halves(0.5, Noise(0, (3, 4), 8))[0])


def test_a_draw_that_hides_nothing_shows_nothing(graph):
    split = replace(make_splits(graph, count=1)[0], train=np.array([5]))
    targets = make_targets(graph, [split])
    for epoch in range(20):
        shown, hidden = targets.halves(0.5, Noise(0, (0,), epoch))
        assert hidden.sizes[0] == 1
        assert (shown == -1).all()


def test_a_shown_label_has_no_part_in_the_loss(graph, rng):
    targets = make_targets(graph, make_splits(graph, count=2))
    shown, hidden = targets.halves(0.5, Noise(0, (3, 4), 1))
    logits = torch.from_numpy(rng.normal(size=(graph.nodes, 2, 2))).requires_grad_()
    cross_entropy(logits, hidden).sum().backward()
    touched = logits.grad.abs().sum(dim=2) > 0
    assert torch.equal(touched, hidden.masks[0])
    assert not (touched & (shown >= 0)).any()


def test_evaluation_shows_the_training_labels_of_each_members_own_split(graph):
    splits = make_splits(graph, count=2)
    model = build("newton-stack", graph, OPTIONS, seeds=(0, 1))
    shown = graph_source(model, graph, splits, CONFIG).inputs.labels
    for p, split in enumerate(splits):
        assert np.array_equal(np.flatnonzero(shown[:, p] >= 0), np.sort(split.train))
        assert np.array_equal(shown[split.train, p], graph.labels[split.train])


def test_no_test_label_changes_a_bit_of_what_is_learned(graph):
    (split,) = make_splits(graph, count=1)
    models = []
    for labelled in (graph, relabelled(graph, split.test)):
        models.append(build("newton-stack", graph, OPTIONS))
        fit(models[-1], labelled, [split], [CONFIG])
    for name, parameter in models[0].named_parameters():
        assert torch.equal(parameter, models[1].parameter(name)), name


def test_validation_labels_only_choose_the_epoch(graph):
    (split,) = make_splits(graph, count=1)
    both = np.concatenate([split.validation, split.test])
    here, there = (run(labelled, [split]) for labelled in (graph, relabelled(graph, both)))
    for name, parameter in here.model.named_parameters():
        assert torch.equal(parameter, there.model.parameter(name)), name


def test_training_labels_do_change_it(graph):
    """Otherwise the two tests above show nothing."""
    (split,) = make_splits(graph, count=1)
    here, there = (run(labelled, [split]) for labelled in (graph, relabelled(graph, split.train[:1])))
    assert not torch.equal(here.model.parameter("output_weight"), there.model.parameter("output_weight"))


def test_labels_help_where_features_say_nothing():
    graph = csbm(1.0, nodes=300, features=5, seed=2)
    graph = replace(graph, features=np.zeros((300, 5), dtype=np.float32))
    splits = make_splits(graph, count=1)
    tests = []
    for share in (0.0, 0.5):
        model = build("newton-stack", graph, replace(OPTIONS, hidden=16, labels=share, log_degree=False))
        (record,) = fit(model, graph, splits, [replace(CONFIG, max_epochs=60)])
        tests.append(record.outcome.test)
    assert tests[0] < 0.7
    assert tests[1] > 0.9
