"""The released training loop, written again in plain torch with dense matrices, beside ``variant="released"``."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from newtonnet.datasets import Split
from newtonnet.graphs import from_edges
from newtonnet.nn import Options, build
from newtonnet.training import Config, Run, fit
from newtonnet.training.in_memory import graph_source

EPOCHS = 120
CLASSES = 3


@pytest.fixture
def directed(rng):
    """A directed graph with isolated nodes, sinks, self-loops and rows that are stored twice."""
    n = 40
    rows = rng.integers(0, 34, (2, 90)).astype(np.int32)  # the last six nodes have no edge
    rows = np.concatenate([rows, rows[:, :7], np.array([[3, 3, 8], [3, 3, 8]], dtype=np.int32)], axis=1)
    rows[0, rows[0] == 5] = 6  # node 5 only receives
    pairs, counts = np.unique(rows, axis=1, return_counts=True)
    labels = rng.integers(0, CLASSES, n)
    features = rng.random((n, 9)) + labels[:, None] / 4
    graph = from_edges(pairs, features, labels=labels, weights=counts, directed=True)
    return replace(graph, rows=rows)


def released(graph, split, setting, start):
    """The released code's loop: test accuracy and values of the filter at the best validation epoch, and the last h."""
    n, (source, target) = graph.nodes, torch.tensor(graph.rows).long()
    x, y = torch.tensor(graph.features, dtype=torch.float64), torch.tensor(graph.labels)
    train, validation, test = (torch.tensor(part) for part in (split.train, split.validation, split.test))
    # get_laplacian drops self-loops and divides by the out-degrees; messages flow from source to target.
    weight = torch.zeros(n, n, dtype=torch.float64)
    for a, b in zip(source.tolist(), target.tolist(), strict=True):
        if a != b:
            weight[a, b] += 1
    out = weight.sum(dim=1)
    root = torch.where(out > 0, out.rsqrt(), 0.0)
    laplacian = (torch.eye(n, dtype=torch.float64) - root[:, None] * weight * root[None, :]).T
    q = [2 * i / 5 for i in range(6)]
    w1, b1, w2, b2 = (part.clone().requires_grad_() for part in start)
    t = torch.ones(6, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam(
        [
            {"params": [w1, b1, w2, b2], "lr": setting.learning_rate, "weight_decay": setting.weight_decay},
            {"params": [t], "lr": setting.filter_learning_rate, "weight_decay": setting.weight_decay},
        ]
    )

    def forward():
        signal = torch.relu(x @ w1 + b1) @ w2 + b2
        differences = torch.relu(t)
        total, product = differences[0] * signal, signal
        for k in range(1, 6):
            gaps = torch.tensor([q[i + k] - q[i] for i in range(6 - k)], dtype=torch.float64)
            differences = (differences[1:] - differences[:-1]) / gaps
            product = laplacian @ product - q[k - 1] * product
            total = total + differences[0] * product
        return total

    h, pivot, best, found = 1 / CLASSES, 1 / CLASSES, -1.0, None
    g1, g2, g3 = setting.gammas
    for epoch in range(EPOCHS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(forward()[train], y[train])
        loss = loss + g1 * (pivot - h) * t[:2].norm() + g2 * abs(h - pivot) * t[2:4].norm()
        loss = loss + g3 * (h - pivot) * t[4:].norm()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            predicted = forward().argmax(dim=1)
        accuracy = [(predicted[part] == y[part]).double().mean().item() for part in (train, validation, test)]
        if accuracy[1] > best:
            best, found = accuracy[1], (accuracy, torch.relu(t).detach().clone(), epoch + 1)
        if epoch % 10 == 0:
            filled = predicted.clone()
            filled[train] = y[train]
            h = (filled[source] == filled[target]).double().mean().item()
    return found, t.detach(), h


@pytest.mark.parametrize("gammas", [(0.0, 3.0, 5.0), (3.0, 5.0, 0.0)])
def test_the_released_variant_is_the_authors_loop(directed, gammas, rng):
    order = rng.permutation(directed.nodes)
    split = Split(order[:20], order[20:30], order[30:], protocol="random", index=0)
    config = Config(
        variant="released",
        gammas=gammas,
        learning_rate=0.01,
        filter_learning_rate=0.02,
        weight_decay=5e-4,
        max_epochs=EPOCHS,
        history_interval=1,
    )
    options = Options(hidden=16, dropout=0.0, propagation_dropout=0.0)
    model = build("newtonnet", directed, options, seeds=[0], dtype=torch.float64)
    start = [model.weight1[:, 0], model.bias1[0], model.weight2[0], model.bias2[0]]
    expected, last, h = released(directed, split, config, [part.detach().clone() for part in start])
    largest = last.abs().max().item()

    (record,) = fit(model, directed, [split], [config])
    accuracies, values, epoch = expected
    assert record.outcome.best_epoch == epoch
    assert (record.outcome.train, record.outcome.validation, record.outcome.test) == pytest.approx(accuracies, abs=1e-9)
    assert record.outcome.values == pytest.approx(values.tolist(), abs=1e-9)
    assert record.outcome.largest_value >= largest - 1e-9
    estimates = record.history["homophily"]
    assert estimates[110] == pytest.approx(h, abs=1e-6)  # epoch 111 is the last that refreshes it


def test_the_authors_loop_is_followed_to_its_last_step(directed, rng):
    order = rng.permutation(directed.nodes)
    split = Split(order[:20], order[20:30], order[30:], protocol="random", index=0)
    config = Config(
        variant="released", gammas=(1.0, 1.0, 1.0), filter_learning_rate=0.002, max_epochs=EPOCHS, history_interval=0
    )
    options = Options(hidden=16, dropout=0.0, propagation_dropout=0.0)
    model = build("newtonnet", directed, options, seeds=[0], dtype=torch.float64)
    start = [part.detach().clone() for part in (model.weight1[:, 0], model.bias1[0], model.weight2[0], model.bias2[0])]
    _, last, _ = released(directed, split, config, start)

    run = Run(model, graph_source(model, directed, [split], config), [config])
    while not run.finished:
        run.step()
    torch.testing.assert_close(run.model.filter_parameters()["values"][:, 0].detach(), last, rtol=0, atol=1e-9)
