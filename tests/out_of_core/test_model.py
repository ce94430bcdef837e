"""The out-of-core network: gradients against differences, and agreement with the in-memory network."""

import numpy as np
import pytest
import torch

from newtonnet.nn import Noise, Options, build
from newtonnet.out_of_core import OutOfCoreNet, propagate_to_disk
from newtonnet.out_of_core.batches import BatchRows, RowReader
from newtonnet.polynomials import equispaced, newton_filter


def network(hidden, *, features=3, classes=2, degree=4, dropout=0.0, dtype=torch.float64):
    filter = newton_filter(equispaced(degree))
    return OutOfCoreNet(filter, features=features, classes=classes, seed=5, hidden=hidden, dropout=dropout, dtype=dtype)


@pytest.mark.parametrize("hidden", [0, 6])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_gradients_of_values_and_weights_match_finite_differences(hidden, dropout, rng):
    model = network(hidden, dropout=dropout)
    terms = torch.from_numpy(rng.normal(size=(5, 7, 3)))
    noise = Noise(0, (5,), 3)

    def loss():
        return torch.nn.functional.cross_entropy(model(BatchRows(terms), noise)[:, 0], torch.arange(7) % 2)

    with torch.no_grad():  # away from the corners of both ReLUs
        model.filter_values.add_(torch.from_numpy(rng.uniform(0, 0.5, size=(5, 1))))
    gradients = torch.autograd.grad(loss(), list(model.parameters()))
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        for place in range(parameter.numel()):
            with torch.no_grad():
                flat, step = parameter.view(-1), 1e-6
                flat[place] += step
                above = loss()
                flat[place] -= 2 * step
                below = loss()
                flat[place] += step
            assert float((above - below) / (2 * step)) == pytest.approx(float(gradient.flatten()[place]), abs=1e-7)


@pytest.mark.parametrize("name", ["weighted", "plain"])
def test_one_linear_map_without_bias_does_not_care_about_the_order(request, tmp_path, name, rng):
    graph = request.getfixturevalue(name)
    options = Options(degree=4, hidden=0, dropout=0.0, propagation_dropout=0.0)
    inside = build("newtonnet", graph, options, seeds=[5])
    values = torch.from_numpy(rng.uniform(0, 2, size=(5, 1))).float()
    outside = network(0, features=graph.features.shape[1], classes=graph.classes, dtype=torch.float32)
    with torch.no_grad():
        inside.filter_values.copy_(values)
        outside.filter_values.copy_(values)
        inside.bias1.zero_()
        outside.bias1.zero_()
        store = propagate_to_disk(graph, tmp_path / "s", degree=4)
        ours = outside(RowReader(store, 4).read(np.arange(graph.nodes)))
        theirs = inside(inside.prepare(graph))
    assert torch.equal(inside.weight1, outside.weight1)
    assert (ours - theirs).abs().max() < 1e-5 * max(1.0, float(theirs.abs().max()))


def test_start_weights_are_those_of_the_network_in_memory(weighted):
    inside = build("newtonnet", weighted, Options(hidden=6, degree=4), seeds=[5])
    outside = network(6, features=7, classes=3, dtype=torch.float32)
    theirs = dict(inside.named_parameters())
    assert {name: tuple(p.shape) for name, p in outside.named_parameters()} == {
        name: tuple(p.shape) for name, p in theirs.items()
    }
    assert all(torch.equal(p, theirs[name]) for name, p in outside.named_parameters())


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_dropout_depends_on_the_place_in_the_batch_alone(cut, rng):
    model = network(6, dropout=0.5, dtype=torch.float32)
    terms = torch.from_numpy(rng.normal(size=(5, 7, 3))).float()
    noise = Noise(0, (5,), 3)
    whole = model(BatchRows(terms), noise)
    parts = torch.cat([model(BatchRows(terms[:, :cut]), noise), model(BatchRows(terms[:, cut:], cut), noise)])
    assert torch.allclose(whole, parts, atol=1e-6)
    assert not torch.allclose(whole, model(BatchRows(terms), Noise(0, (5,), 4)))
    assert not torch.allclose(whole, model(BatchRows(terms)))
