"""Every method with a filter: its own paper written out in dense numpy, and the laws that all of them obey."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev as npcheb

from newtonnet.datasets import csbm, make_splits
from newtonnet.graphs import from_edges, from_scipy
from newtonnet.nn import ZOO, Noise, build
from newtonnet.training import Config, Run, fit
from newtonnet.training.in_memory import graph_source
from newtonnet.training.record import FREQUENCIES

PAIR = from_edges([[0], [1]], np.eye(2), labels=[0, 1])
FILTERS = {name: build(name, PAIR).filter for name in ZOO}
FILTERED = [name for name, g in FILTERS.items() if g is not None]
LEARNED = [name for name in FILTERED if FILTERS[name].start]
FIXED = [name for name in FILTERED if not FILTERS[name].start]


def small(name, **changes):
    """The model's default options, made narrow where they have these fields, with some changed."""
    options = ZOO[name].options
    known = {field.name for field in fields(options)}
    narrow = {key: value for key, value in {"hidden": 4, "degree": 4}.items() if key in known}
    return replace(options, **{**narrow, **{key: value for key, value in changes.items() if key in known}})


def randomised(model):
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, dtype=parameter.dtype, generator=generator))
    return model


def member(model, p):
    """One member's parameters in float64 numpy, by name."""
    return {
        name: parameter.detach().select(model.axes[name], p).double().numpy()
        for name, parameter in model.named_parameters()
    }


# The forward pass of each method as its own paper or code writes it: dense, member by member, in powers and loops.


def normalised(graph, *, self_loops=False):
    """D^-1/2 A D^-1/2, or the same with self-loops; a node without an edge has a row of zeros."""
    adjacency = graph.adjacency.toarray().astype(np.float64)
    if self_loops:
        adjacency = adjacency + np.eye(len(adjacency))
    degree = adjacency.sum(axis=1)
    degree[degree == 0] = 1
    return np.diag(degree**-0.5) @ adjacency @ np.diag(degree**-0.5)


def encoded(graph, w):
    x = np.asarray(graph.features, dtype=np.float64)
    return np.maximum(x @ w["weight1"] + w["bias1"], 0) @ w["weight2"] + w["bias2"]


def mlp_reference(graph, options, w):
    return encoded(graph, w)


def appnp_reference(graph, options, w):
    adjacency, h = normalised(graph, self_loops=True), encoded(graph, w)
    z = h
    for _ in range(options.degree):
        z = (1 - options.alpha) * adjacency @ z + options.alpha * h
    return z


def gprgnn_reference(graph, options, w):
    adjacency, h = normalised(graph, self_loops=True), encoded(graph, w)
    gammas = w["filter_weights"]
    return sum(gammas[k] * np.linalg.matrix_power(adjacency, k) @ h for k in range(options.degree + 1))


def bernnet_reference(graph, options, w):
    h, K = encoded(graph, w), options.degree
    laplacian = np.eye(len(h)) - normalised(graph)
    other = 2 * np.eye(len(h)) - laplacian
    z = np.zeros_like(h)
    for k in range(K + 1):
        theta = max(w["filter_weights"][k], 0)
        term = np.linalg.matrix_power(other, K - k) @ np.linalg.matrix_power(laplacian, k) @ h
        z += theta * math.comb(K, k) / 2**K * term
    return z


def chebnetii_reference(graph, options, w):
    """Coefficients by the double sum of Eq. (8), the first halved; then the recurrence on L - I."""
    h, K = encoded(graph, w), options.degree
    t, shifted = np.maximum(w["filter_values"], 0), -normalised(graph)
    x = [math.cos((K - j + 0.5) * math.pi / (K + 1)) for j in range(K + 1)]
    c = [2 / (K + 1) * sum(t[j] * math.cos(k * math.acos(x[j])) for j in range(K + 1)) for k in range(K + 1)]
    terms = [h, shifted @ h]
    for _ in range(2, K + 1):
        terms.append(2 * shifted @ terms[-1] - terms[-2])
    return c[0] / 2 * terms[0] + sum(c[k] * terms[k] for k in range(1, K + 1))


def jacobiconv_reference(graph, options, w):
    """A linear map, then the recurrence with its gates inside; the sign of its middle term is the option's."""
    x = np.asarray(graph.features, dtype=np.float64)
    a, b, adjacency = options.a, options.b, normalised(graph)
    scales = options.alpha * np.tanh(w["filter_gates"])
    terms = [x @ w["weight1"] + w["bias1"]]
    terms.append(scales[0] * ((a - b) / 2 * terms[0] + (a + b + 2) / 2 * adjacency @ terms[0]))
    for k in range(2, options.degree + 1):
        d = 2 * k * (k + a + b) * (2 * k + a + b - 2)
        theta = (2 * k + a + b - 1) * (2 * k + a + b) * (2 * k + a + b - 2) / d
        theta1 = (2 * k + a + b - 1) * (a**2 - b**2) / d * (-1 if options.released else 1)
        theta2 = 2 * (k + a - 1) * (k + b - 1) * (2 * k + a + b) / d
        step = theta * adjacency @ terms[-1] + theta1 * terms[-1]
        terms.append(scales[k - 1] * step - scales[k - 1] * scales[k - 2] * theta2 * terms[-2])
    z = np.zeros_like(terms[0])
    for k, term in enumerate(terms):
        for channel in range(z.shape[1]):
            z[:, channel] += w["filter_weights"][k, channel] * term[:, channel]
    return z


def legendre_reference(graph, options, w):
    """Bonnet's recurrence (k + 1) P_{k+1} = (2k + 1) z P_k - k P_{k-1} with z the normalised adjacency."""
    adjacency, terms = normalised(graph), [encoded(graph, w)]
    terms.append(adjacency @ terms[0])
    for k in range(1, options.degree):
        terms.append(((2 * k + 1) * adjacency @ terms[k] - k * terms[k - 1]) / (k + 1))
    return sum(weight * term for weight, term in zip(w["filter_weights"], terms, strict=True))


REFERENCES = [
    pytest.param("mlp", mlp_reference, {}, id="mlp"),
    pytest.param("appnp", appnp_reference, {"alpha": 0.2}, id="appnp"),
    pytest.param("gprgnn", gprgnn_reference, {}, id="gprgnn"),
    pytest.param("bernnet", bernnet_reference, {}, id="bernnet"),
    pytest.param("chebnetii", chebnetii_reference, {}, id="chebnetii"),
    pytest.param("legendre", legendre_reference, {}, id="legendre"),
    pytest.param("jacobiconv", jacobiconv_reference, {"a": 0.5, "b": 1.5, "alpha": 1.5}, id="jacobiconv"),
    pytest.param(
        "jacobiconv", jacobiconv_reference, {"a": 2.0, "b": -0.25, "alpha": 0.5, "released": True}, id="released"
    ),
]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-9)])
@pytest.mark.parametrize("degree", [1, 2, 5, 10])
@pytest.mark.parametrize(("name", "reference", "changes"), REFERENCES)
def test_logits_equal_the_paper_written_out_in_numpy(name, reference, changes, degree, dtype, tolerance, random_graph):
    options = small(name, hidden=8, degree=degree, **changes)
    model = randomised(build(name, random_graph, options, seeds=(0, 1), dtype=dtype))
    logits = model(model.prepare(random_graph)).detach().double().numpy()
    for p in range(2):
        expected = reference(random_graph, options, member(model, p))
        np.testing.assert_allclose(logits[:, p], expected, rtol=0, atol=tolerance * np.abs(expected).max())


def test_mlp_reproduces_its_worked_example():
    graph = from_edges([[0], [1]], [[1, -2], [0, 1], [2, 1]], labels=[0, 1, 0])
    model = build("mlp", graph, replace(ZOO["mlp"].options, hidden=2), dtype=torch.float64)
    weights = {
        "weight1": [[[1, 0.5]], [[-1, 1]]],
        "bias1": [[0, 0.5]],
        "weight2": [[[1, 0], [2, -1]]],
        "bias2": [[0.5, 0]],
    }
    model.put({name: torch.tensor(value, dtype=torch.float64) for name, value in weights.items()})
    logits = model(model.prepare(graph))[:, 0].detach()
    np.testing.assert_allclose(logits, [[3.5, 0], [3.5, -1.5], [6.5, -2.5]], atol=1e-12)


@pytest.mark.parametrize("name", FIXED)
def test_a_fixed_filter_is_the_same_for_every_member(name, random_graph):
    model = randomised(build(name, random_graph, small(name), seeds=(0, 1, 2), dtype=torch.float64))
    logits = model(model.prepare(random_graph))
    alone = model.take(torch.tensor([1]))
    torch.testing.assert_close(alone(alone.prepare(random_graph)), logits[:, 1:2])


# Laws of the whole zoo: a new row with a filter joins by itself.


@pytest.fixture(scope="module")
def graph():
    return csbm(0.2, nodes=100, features=20, seed=3)


@pytest.mark.parametrize("name", FILTERED)
def test_model_is_permutation_equivariant(name, random_graph, rng):
    model = randomised(build(name, random_graph, small(name), seeds=(0, 1), dtype=torch.float64))
    order = rng.permutation(random_graph.nodes)
    adjacency, features = random_graph.adjacency[order][:, order], np.asarray(random_graph.features)[order]
    moved = from_scipy(adjacency, features, labels=random_graph.labels[order])
    logits = model(model.prepare(random_graph)).detach().numpy()
    got = model(model.prepare(moved)).detach().numpy()
    np.testing.assert_allclose(got, logits[order], rtol=0, atol=1e-12 * np.abs(logits).max())


@pytest.mark.parametrize("name", FILTERED)
def test_gradients_of_every_parameter_match_finite_differences(name, random_graph):
    model = randomised(build(name, random_graph, small(name, hidden=3), seeds=(0, 1), dtype=torch.float64))
    inputs, noise = model.prepare(random_graph), Noise(0, (0, 1), 1)
    learned = model.learned()

    def loss(*parameters):
        state = dict(zip(learned, parameters, strict=True))
        return (torch.func.functional_call(model, state, (inputs, noise)) ** 2).sum(dim=(0, 2)) / 100

    start = tuple(parameter.detach().clone().requires_grad_() for parameter in learned.values())
    assert torch.autograd.gradcheck(loss, start, rtol=1e-4)


@pytest.mark.parametrize("name", FILTERED)
def test_population_equals_its_members(name, graph):
    gammas = [(1.0, 2.0, 3.0), (0.0, 0.0, 0.0), (3.0, 0.0, 1.0)] if name in LEARNED else [(0.0, 0.0, 0.0)] * 3
    different = [
        {"seed": 5, "learning_rate": 0.01, "gate_learning_rate": 0.03},
        {"seed": 1, "learning_rate": 0.05, "filter_learning_rate": 0.02, "weight_decay": 0.0},
        {"seed": 5, "learning_rate": 0.02, "filter_weight_decay": 0.1, "gate_weight_decay": 0.2},
    ]
    configs = [Config(max_epochs=20, gammas=g, **rest) for g, rest in zip(gammas, different, strict=True)]
    splits = make_splits(graph, count=3)

    def train(chosen):
        seeds = [configs[p].seed for p in chosen]
        model = build(name, graph, small(name), seeds=seeds, dtype=torch.float64)
        return model, fit(model, graph, [splits[p] for p in chosen], [configs[p] for p in chosen])

    together, records = train([0, 1, 2])
    for p in range(3):
        alone, (record,) = train([p])
        for key, value in member(alone, 0).items():
            np.testing.assert_allclose(member(together, p)[key], value, rtol=1e-8, atol=1e-8)
        assert record.id == records[p].id
        assert record.outcome.best_epoch == records[p].outcome.best_epoch
        assert record.outcome.test == records[p].outcome.test
        np.testing.assert_allclose(record.outcome.response, records[p].outcome.response, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", FILTERED)
def test_every_group_of_parameters_learns_at_its_own_rate(name, graph):
    """Adam's first step is as long as the rate."""
    config = Config(
        learning_rate=0.01, filter_learning_rate=0.02, gate_learning_rate=0.03, weight_decay=0, max_epochs=1
    )
    before, after = (build(name, graph, small(name), dtype=torch.float64) for _ in range(2))
    fit(after, graph, make_splits(graph, count=1), [config])
    steps = {key: np.abs(value - member(before, 0)[key]).max() for key, value in member(after, 0).items()}
    for key, step in steps.items():
        rate = 0.03 if key == "filter_gates" else 0.02 if key.startswith("filter_") else 0.01
        assert step == pytest.approx(rate, rel=1e-3), key


@pytest.mark.parametrize("name", FILTERED)
def test_record_holds_the_learned_filter_averaged_over_channels(name, graph):
    configs = [Config(seed=p, learning_rate=0.05, filter_learning_rate=0.05, max_epochs=8) for p in range(2)]
    model = build(name, graph, small(name), seeds=(0, 1), dtype=torch.float64)
    records = fit(model, graph, make_splits(graph, count=2), configs)
    g = model.filter
    coefficients = g.coefficients(model.filter_parameters()).detach().numpy()
    for p, record in enumerate(records):
        c = coefficients if coefficients.ndim == 1 else coefficients[:, p]
        c = c.mean(axis=1) if c.ndim == 2 else c
        assert record.outcome.points == tuple(g.points.tolist())
        np.testing.assert_allclose(record.outcome.values, npcheb.chebval(g.points.numpy() - 1, c), atol=1e-10)
        np.testing.assert_allclose(record.outcome.response, npcheb.chebval(np.array(FREQUENCIES) - 1, c), atol=1e-10)


# The shape-aware penalty on every learned filter.


@pytest.mark.parametrize("name", LEARNED)
def test_gammas_add_the_papers_penalty_on_the_amplitudes_of_every_learned_filter(name, graph):
    """Epoch 1 has no penalty yet, so both members enter epoch 2 alike and their losses differ by the penalty alone."""
    split, gammas = make_splits(graph, count=1)[0], (1.0, 2.0, 3.0)

    def train(epochs):
        configs = [Config(gammas=g, max_epochs=epochs, history_interval=1) for g in ((0.0, 0.0, 0.0), gammas)]
        model = build(name, graph, small(name), seeds=(0, 0), dtype=torch.float64)
        return model, fit(model, graph, [split, split], configs)

    model, _ = train(1)
    c = model.filter.coefficients(model.filter_parameters()).detach().numpy()[:, 1].reshape(model.filter.degree + 1, -1)
    q = model.filter.points.numpy()
    energy = (npcheb.chebval(q - 1, c) ** 2).mean(axis=0)
    low, middle, high = energy[q < 2 / 3].sum(), energy[(q >= 2 / 3) & (q < 4 / 3)].sum(), energy[q >= 4 / 3].sum()
    _, (plain, shaped) = train(3)
    excess = plain.history["homophily"][0] - 1 / 2
    penalty = -gammas[0] * excess * low + gammas[1] * abs(excess) * middle + gammas[2] * excess * high
    assert shaped.history["loss"][0] == plain.history["loss"][0]
    assert shaped.history["loss"][1] - plain.history["loss"][1] == pytest.approx(penalty, rel=1e-4, abs=5e-6)
    assert abs(penalty) > 0.01
    assert shaped.history["loss"][2] - plain.history["loss"][2] != pytest.approx(penalty, rel=1e-3)


@pytest.mark.parametrize("name", LEARNED)
def test_gammas_raise_high_above_low_frequencies_when_heterophilous(name):
    """Amplitudes without their sign, as the penalty sees them, after the last epoch: best epochs differ."""
    graph = csbm(0.05, nodes=400, features=400, mu=4.0, seed=1)
    split = make_splits(graph, count=1)[0]
    configs = [Config(gammas=g, max_epochs=100, history_interval=0) for g in ((0.1, 0.1, 0.1), (0.0, 0.0, 0.0))]
    model = build(name, graph, small(name, hidden=16, degree=10), seeds=(0, 0))
    run = Run(model, graph_source(model, graph, [split, split], configs[0]), configs)
    while not run.finished:
        run.step()
    frequency = torch.tensor(FREQUENCIES)
    amplitude = run.model.filter.response(frequency, run.model.filter_parameters()).detach().abs()
    shaped, plain = (amplitude[frequency > 4 / 3].mean(dim=0) - amplitude[frequency < 2 / 3].mean(dim=0)).reshape(2, -1)
    assert float(shaped.mean()) > float(plain.mean()) + 0.3


@pytest.mark.parametrize("name", FIXED)
def test_gammas_are_refused_without_a_learned_filter(name, graph):
    with pytest.raises(ValueError, match="learns no spectral filter, so its gammas must be 0"):
        fit(build(name, graph), graph, make_splits(graph, count=1), [Config(gammas=(0.0, 1.0, 0.0))])


@pytest.mark.parametrize("name", [name for name in LEARNED if "values" not in FILTERS[name].start])
def test_the_released_codes_penalty_is_refused_without_raw_values(name, graph):
    config = Config(gammas=(1.0, 1.0, 1.0), variant="released", max_epochs=1)
    with pytest.raises(ValueError, match="variant 'released' penalises raw values"):
        fit(build(name, graph), graph, make_splits(graph, count=1), [config])


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("appnp", {"alpha": 1.5}, "alpha must be between 0 and 1"),
        ("gprgnn", {"alpha": -0.5}, "alpha must be between 0 and 1"),
        ("bernnet", {"degree": 0}, "degree K must be at least 1"),
        ("chebnetii", {"degree": 0}, "degree K must be at least 1"),
        ("legendre", {"degree": 0}, "degree K must be at least 1"),
        ("chebnetii", {"hidden": -1}, "hidden must be at least 0"),
        ("jacobiconv", {"alpha": 0.0}, "alpha must be above 0"),
        ("jacobiconv", {"a": -1.0, "b": -1.0}, "no three-term recurrence"),
        ("mlp", {"dropout": 1.0}, "dropout rate"),
    ],
)
def test_bad_options_are_refused(name, changes, message, graph):
    with pytest.raises(ValueError, match=message):
        build(name, graph, replace(ZOO[name].options, **changes))


def test_options_of_another_model_are_refused(graph):
    with pytest.raises(TypeError, match="model 'bernnet' takes DegreeOptions, got JacobiOptions"):
        build("bernnet", graph, ZOO["jacobiconv"].options)
