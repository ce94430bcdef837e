"""The gradient of an epoch is what plain torch gives, and any source of batches trains with the same loop."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from newtonnet.datasets import csbm, make_splits
from newtonnet.nn import Options, build
from newtonnet.training import Config, Run, band_masks, shape_penalty
from newtonnet.training.in_memory import GraphSource, graph_source

OPTIONS = Options(hidden=7, dropout=0.0, propagation_dropout=0.0, degree=4)


@pytest.fixture(scope="module", params=["dense features", "sparse features"])
def graph(request):
    graph = csbm(0.2, nodes=60, features=12, seed=5)
    return graph if request.param == "dense features" else replace(graph, features=sp.csr_array(graph.features))


def started(graph, configs, source=None, options=OPTIONS):
    model = build("newtonnet", graph, options, seeds=[config.seed for config in configs], dtype=torch.float64)
    splits = make_splits(graph, count=len(configs))
    ours = graph_source(model, graph, splits, Config())
    return Run(model, ours if source is None else source(ours), configs), splits


def dense_loss(graph, split, config, weights, homophily):
    """Cross entropy and penalty of one member with dense matrices and nothing of this package's layers."""
    weight1, bias1, weight2, bias2, values = weights
    features = graph.features.toarray() if sp.issparse(graph.features) else graph.features
    x = torch.from_numpy(np.asarray(features, dtype=np.float64))
    adjacency = torch.from_numpy(graph.adjacency.toarray().astype(np.float64))
    scale = torch.where(adjacency.sum(dim=1) > 0, adjacency.sum(dim=1), 1) ** -0.5
    laplacian = torch.eye(len(x), dtype=torch.float64) - scale[:, None] * adjacency * scale
    points, t = torch.linspace(0, 2, len(values), dtype=torch.float64), torch.relu(values)
    filter = torch.zeros_like(laplacian)
    for k in range(len(points)):  # Lagrange's form of the interpolating polynomial
        term = torch.eye(len(x), dtype=torch.float64)
        for j in set(range(len(points))) - {k}:
            term = term @ (laplacian - points[j] * torch.eye(len(x))) / (points[k] - points[j])
        filter = filter + t[k] * term
    logits = filter @ (torch.relu(x @ weight1 + bias1) @ weight2 + bias2)
    labels = torch.from_numpy(graph.labels)
    penalty = shape_penalty(
        t[:, None],
        band_masks(points),
        homophily=torch.tensor([homophily]),
        pivot=torch.tensor(0.5),
        gammas=torch.tensor([config.gammas]).T,
    )
    return torch.nn.functional.cross_entropy(logits[split.train], labels[split.train]) + penalty[0]


def test_the_gradient_of_a_step_is_that_of_plain_dense_torch(graph, monkeypatch):
    configs = [Config(seed=seed, gammas=(1.0, 2.0, 3.0), learning_rate=0.05) for seed in (3, 8)]
    run, splits = started(graph, configs)
    for _ in range(3):  # until there is a penalty
        run.step()
    names = ("weight1", "bias1", "weight2", "bias2", "filter_values")
    before = {name: run.model.parameter(name).detach().clone() for name in names}
    homophily, seen = run.homophily.copy(), {}

    def look():
        seen.update({name: run.model.parameter(name).grad.clone() for name in names})

    monkeypatch.setattr(run.optimizer, "step", look)
    run.step()
    assert (homophily != 1 / 2).all()
    for p, (config, split) in enumerate(zip(configs, splits, strict=True)):
        mine = [before[name].select(run.model.axes[name], p).clone().requires_grad_() for name in names]
        expected = torch.autograd.grad(dense_loss(graph, split, config, mine, homophily[p]), mine)
        for name, gradient in zip(names, expected, strict=True):
            torch.testing.assert_close(seen[name].select(run.model.axes[name], p), gradient, rtol=1e-9, atol=1e-11)


@dataclass(frozen=True, eq=False)
class Halves:
    """A source that steps twice in an epoch and averages over two workers, which are the same one."""

    inner: GraphSource
    classes: int = 2
    has_edges: bool = True

    def batches(self, epoch):
        (batch,) = self.inner.batches(epoch)
        return [replace(batch, key=2 * epoch), replace(batch, key=2 * epoch + 1)]

    def reduce(self, loss, parameters):
        for parameter in parameters:
            parameter.grad = (parameter.grad + parameter.grad) / 2
        return (loss + loss) / 2

    def evaluate(self, model, epoch):
        return replace(self.inner.evaluate(model, epoch), logits=None) if epoch % 2 == 0 else None

    def take(self, members):
        return Halves(self.inner.take(members))

    def __getattr__(self, name):
        return getattr(self.inner, name)


def test_an_epoch_of_two_batches_is_two_steps_and_what_is_not_evaluated_is_never_best(graph):
    config = Config(gammas=(1.0, 1.0, 1.0), max_epochs=6, history_interval=2)
    run, _ = started(graph, [config], Halves)
    while not run.finished:
        run.step()
    assert run.optimizer.steps == 12
    assert run.best_epoch[0] in (2, 4, 6)
    assert [float(row[0, 0]) for row in run.curves] == [2, 4, 6]
    assert run.finish().homophily.shape == (1,)


def test_a_restored_run_of_many_batches_ends_with_the_same_bits(graph):
    config = Config(gammas=(1.0, 1.0, 1.0), max_epochs=8, history_interval=2)
    options = replace(OPTIONS, dropout=0.4)
    whole, _ = started(graph, [config], Halves, options)
    first, _ = started(graph, [config], Halves, options)
    for _ in range(8):
        whole.step()
    for _ in range(5):
        first.step()
    second, _ = started(graph, [config], Halves, options)
    second.restore(first.state())
    while not second.finished:
        second.step()
    for name, tensor in whole.state().items():
        if name != "seconds":
            assert torch.equal(second.state()[name], tensor) or (tensor != tensor).any(), name
