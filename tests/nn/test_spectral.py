import warnings

import numpy as np
import pytest
import torch
from scipy.interpolate import BarycentricInterpolator

from newtonnet.datasets import csbm
from newtonnet.graphs import from_edges, from_scipy, propagate
from newtonnet.nn import Noise, Options, SpectralNet, build, dropout
from newtonnet.polynomials import chebyshev_points, equispaced, newton_filter


@pytest.fixture(scope="module")
def graph():
    return csbm(0.3, nodes=60, features=20, seed=3)


def randomised(model):
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, dtype=parameter.dtype, generator=generator))
    return model


def test_logits_equal_equation_6_written_out_in_numpy(graph):
    model = randomised(build("newtonnet", graph, Options(hidden=8), seeds=(0, 1), dtype=torch.float64))
    logits = model(model.prepare(graph)).detach().numpy()
    adjacency = graph.adjacency.toarray().astype(np.float64)
    degree = adjacency.sum(axis=1)
    scale = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1e-300)), 0)
    frequencies, vectors = np.linalg.eigh(np.eye(len(degree)) - scale[:, None] * adjacency * scale)
    parameters = {name: value.detach().numpy() for name, value in model.named_parameters()}
    x = np.asarray(graph.features, dtype=np.float64)
    for p in range(2):
        hidden = np.maximum(x @ parameters["weight1"][:, p] + parameters["bias1"][p], 0)
        encoded = hidden @ parameters["weight2"][p] + parameters["bias2"][p]
        values = np.maximum(parameters["filter_values"][:, p], 0)
        response = BarycentricInterpolator(2 * np.arange(6) / 5, values)(frequencies)
        np.testing.assert_allclose(logits[:, p], vectors @ (response[:, None] * (vectors.T @ encoded)), atol=1e-9)


def test_training_pass_drops_features_hidden_units_and_signals_each_with_its_own_mask(graph):
    options = Options(hidden=8, dropout=0.3, propagation_dropout=0.6)
    model = randomised(build("newtonnet", graph, options, seeds=(4, 5), dtype=torch.float64))
    noise = Noise(7, model.seeds, 3)
    inputs = model.prepare(graph)
    logits = model(inputs, noise).detach()
    x = torch.tensor(graph.features, dtype=torch.float64)
    x = noise.drop_shared(x, 0.3, stream=0)
    hidden = torch.relu(torch.einsum("nf,fph->nph", x, model.weight1) + model.bias1)
    hidden = dropout(hidden, rate=0.3, noise=noise, stream=1)
    encoded = torch.einsum("nph,phc->npc", hidden, model.weight2) + model.bias2
    encoded = dropout(encoded, rate=0.6, noise=noise, stream=2)
    expected = propagate(inputs.operator, encoded, model.filter.coefficients(model.filter_parameters()))
    torch.testing.assert_close(logits, expected.detach(), rtol=1e-10, atol=1e-10)


def test_model_is_permutation_equivariant(graph, rng):
    model = randomised(build("newtonnet", graph, Options(hidden=8), dtype=torch.float64))
    order = rng.permutation(graph.nodes)
    moved = from_scipy(graph.adjacency[order][:, order], np.asarray(graph.features)[order], labels=graph.labels[order])
    logits = model(model.prepare(graph)).detach().numpy()
    np.testing.assert_allclose(model(model.prepare(moved)).detach().numpy(), logits[order], atol=1e-10)


def test_gradients_of_every_parameter_match_finite_differences(graph):
    model = randomised(build("newtonnet", graph, Options(hidden=3, nonnegative=False), dtype=torch.float64))
    inputs, noise = model.prepare(graph), Noise(0, (0,), 1)
    names = [name for name, _ in model.named_parameters()]

    def loss(*parameters):
        state = dict(zip(names, parameters, strict=True))
        return (torch.func.functional_call(model, state, (inputs, noise)) ** 2).sum()

    start = tuple(p.detach().clone().requires_grad_() for p in model.parameters())
    assert torch.autograd.gradcheck(loss, start)


def test_without_edges_the_filter_is_its_amplitude_at_one():
    graph = from_edges([[], []], np.eye(4), labels=[0, 1, 0, 1])
    model = randomised(build("newtonnet", graph, Options(nonnegative=False), dtype=torch.float64))
    plain = randomised(build("newtonnet", graph, Options(nonnegative=False), dtype=torch.float64))
    with torch.no_grad():
        plain.filter_values.fill_(1)
    at_one = model.filter.response(torch.ones(1), model.filter_parameters()).item()
    torch.testing.assert_close(model(model.prepare(graph)), at_one * plain(plain.prepare(graph)))


def test_evaluation_has_no_noise_and_training_repeats_by_seed_and_epoch(graph):
    model = build("newtonnet", graph, Options(hidden=8))
    inputs = model.prepare(graph)
    assert torch.equal(model(inputs), model(inputs))
    first, again, later = (model(inputs, Noise(0, (0,), epoch)) for epoch in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, later)


def test_taking_members_copies_their_parameters(graph):
    model = build("newtonnet", graph, seeds=(3, 4, 5))
    part = model.take(torch.tensor([2, 0]))
    assert part.seeds == (5, 3)
    inputs = model.prepare(graph)
    torch.testing.assert_close(part(inputs), model(inputs)[:, [2, 0]], rtol=1e-5, atol=1e-6)
    with torch.no_grad():
        part.weight2.fill_(0)
    assert float(model.weight2.detach().abs().sum()) > 0


@pytest.mark.parametrize(
    ("points", "warned"), [(equispaced(14), False), (equispaced(15), True), (equispaced(30), True)]
)
def test_ill_conditioned_points_are_warned_of_in_float32_only(points, warned):
    def make(dtype):
        return SpectralNet(newton_filter(points), features=3, classes=2, seeds=(0,), dtype=dtype)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(torch.float64)
        SpectralNet(newton_filter(chebyshev_points(30)), features=3, classes=2, seeds=(0,))
    if warned:
        with pytest.warns(UserWarning, match="amplifies rounding"):
            make(torch.float32)
    else:
        make(torch.float32)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(degree=0), "degree K must be at least 1"),
        (Options(points="random"), "unknown points 'random'"),
        (Options(points=(0.0, 1.0, 1.0)), "distinct"),
        (Options(points=(0.0, 2.5)), r"\[0, 2\]"),
        (Options(hidden=-1), "hidden must be at least 0"),
        (Options(dropout=1.0), "dropout rate"),
        (Options(propagation_dropout=-0.5), "dropout rate"),
    ],
)
def test_bad_options_are_refused(graph, options, message):
    with pytest.raises(ValueError, match=message):
        build("newtonnet", graph, options)


def test_unknown_models_and_other_feature_counts_are_refused(graph):
    with pytest.raises(ValueError, match=r"unknown model .newton.; did you mean 'newtonnet'\? available: .*newtonnet"):
        build("newton", graph)
    with pytest.raises(ValueError, match="takes 20 features"):
        build("newtonnet", graph).prepare(from_edges([[0], [1]], np.eye(3), labels=[0, 1, 1]))
    with pytest.raises(ValueError, match="at least one member"):
        build("newtonnet", graph, seeds=())
