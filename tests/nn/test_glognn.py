import numpy as np
import pytest
import torch

from newtonnet.nn import GloGNNOptions, build

DEEP = GloGNNOptions(hidden=6, hidden_layers=2, adjacency="raw", delta=0.2, layers=3, orders=3, alpha=0.0, beta=3.0)
OPTIONS = [
    GloGNNOptions(hidden=6, gamma=0.3),
    GloGNNOptions(hidden=6, gamma=0.0, delta=0.0, alpha=0.1, layers=1, orders=4),
    DEEP,
]


def dense_adjacency(graph, kind):
    adjacency = graph.adjacency.toarray().astype(np.float64)
    if kind == "raw":
        return adjacency
    looped = adjacency + np.eye(len(adjacency))
    return looped / looped.sum(axis=1, keepdims=True)


def naive_layer(h, encoded, adjacency, sigma, powers, options):
    """Z written out with n rows and columns, and its n × n inverse."""
    n, keep, sigma = len(h), 1 - options.gamma, np.diag(sigma)
    near = sum(weight * np.linalg.matrix_power(adjacency, k) for k, weight in enumerate(powers, 1))
    left = keep * h @ sigma @ h.T + options.beta * near - options.gamma * keep * encoded @ sigma @ h.T
    z = left @ np.linalg.inv(keep**2 * h @ h.T + (options.alpha + options.beta) * np.eye(n))
    return keep * z @ h @ sigma + options.gamma * encoded


def naive_glognn(graph, w, options):
    adjacency = dense_adjacency(graph, options.adjacency)
    own = np.asarray(graph.features, dtype=np.float64) @ w["features_weight"] + w["features_bias"]
    links = adjacency @ w["adjacency_weight"] + w["adjacency_bias"]
    x = np.maximum(options.delta * own + (1 - options.delta) * links, 0)
    for i in range(1, options.hidden_layers):
        x = np.maximum(x @ w[f"hidden{i}_weight"] + w[f"hidden{i}_bias"], 0)
    encoded = h = x @ w["classes_weight"] + w["classes_bias"]
    for _ in range(options.layers):
        h = naive_layer(h, encoded, adjacency, w["sigma"], w["powers"], options)
    return h


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
@pytest.mark.parametrize("options", OPTIONS)
def test_logits_equal_a_dense_reference_in_numpy(random_graph, randomise, member, options, dtype, tolerance):
    model = randomise(build("glognn++", random_graph, options, seeds=(0, 1), dtype=dtype))
    logits = model(model.prepare(random_graph)).detach().double().numpy()
    for p in range(2):
        expected = naive_glognn(random_graph, member(model, p), options)
        np.testing.assert_allclose(logits[:, p], expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize(
    ("sigma", "expected"),
    [
        ((1, 1), [[0.775952, 0.140319], [0.318981, -0.511830], [1.588609, 0.656452]]),
        ((0.5, 1.5), [[0.348504, -0.021292], [0.053018, -0.963199], [0.619097, 1.064389]]),
    ],
)
def test_one_layer_gives_the_worked_example(path, assign, sigma, expected):
    model = build("glognn++", path, GloGNNOptions(alpha=1, beta=0.5, gamma=0.2), dtype=torch.float64)
    assign(model, sigma=sigma, powers=(0.5, 0.25))
    h = torch.tensor([[1, 0], [0.5, -1], [2, 1]], dtype=torch.float64)
    encoded = torch.tensor([[1, 1], [0, -1], [1, 0.5]], dtype=torch.float64)
    gathered = model._gather(model.prepare(path), h[:, None], encoded[:, None])
    np.testing.assert_allclose(gathered.detach()[:, 0], expected, atol=1e-6)


def test_without_the_diagonal_z_minimises_the_papers_objective(random_graph, rng):
    """GloGNN's closed form against steps in random directions: no neighbour of Z is better."""
    options = GloGNNOptions(alpha=0.7, beta=0.4, gamma=0.3)
    adjacency = dense_adjacency(random_graph, "normalised")
    h, encoded = rng.normal(size=(2, 40, 3))
    near = 0.5 * adjacency + 0.5 * adjacency @ adjacency
    keep = 1 - options.gamma
    left = keep * h @ h.T + options.beta * near - options.gamma * keep * encoded @ h.T
    z = left @ np.linalg.inv(keep**2 * h @ h.T + (options.alpha + options.beta) * np.eye(40))

    def objective(z):
        fit = np.sum((h - keep * z @ h - options.gamma * encoded) ** 2)
        return fit + options.alpha * np.sum(z**2) + options.beta * np.sum((z - near) ** 2)

    assert all(objective(z + 1e-3 * rng.normal(size=z.shape)) > objective(z) for _ in range(20))
    model = build("glognn++", random_graph, options, dtype=torch.float64)
    with torch.no_grad():
        model.sigma.fill_(1)
    gathered = model._gather(model.prepare(random_graph), torch.tensor(h)[:, None], torch.tensor(encoded)[:, None])
    np.testing.assert_allclose(gathered.detach()[:, 0], keep * z @ h + options.gamma * encoded, atol=1e-9)


def test_nearly_parallel_classes_keep_their_digits_in_float32(random_graph):
    """H'H and alpha + beta are too far apart here for float32: solved in it, four of the seven digits are lost."""
    options = GloGNNOptions(hidden=6, gamma=0.0, alpha=0.0, beta=1.0)
    single, double = (build("glognn++", random_graph, options, dtype=d) for d in (torch.float32, torch.float64))
    with torch.no_grad():
        single.sigma.fill_(1)
        weight = single.classes_weight
        weight.copy_(1000 * (weight[..., :1] + 1e-3 * weight))
    double.put({name: parameter.double() for name, parameter in single.named_parameters()})
    logits, exact = (model(model.prepare(random_graph)).detach().double() for model in (single, double))
    assert float((logits - exact).abs().max() / exact.abs().max()) < 2e-6


def test_a_member_that_is_no_longer_finite_stops_nobody(random_graph):
    model = build("glognn++", random_graph, GloGNNOptions(hidden=6), seeds=(0, 1))
    whole = model(model.prepare(random_graph)).detach()
    for bad in (float("nan"), float("inf")):
        with torch.no_grad():
            model.classes_bias[0] = bad
        logits = model(model.prepare(random_graph)).detach()
        assert not logits[:, 0].isfinite().all()
        torch.testing.assert_close(logits[:, 1], whole[:, 1], rtol=1e-5, atol=1e-6)


def test_start_values_are_the_published_ones(random_graph):
    model = build("glognn++", random_graph, GloGNNOptions(orders=4), seeds=(0, 1))
    assert torch.equal(model.sigma, torch.full((2, 3), 1 / 3))
    assert torch.equal(model.powers, torch.full((2, 4), 0.25))
    assert 0.8 < float(model.adjacency_weight.detach().abs().max()) * np.sqrt(40) <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (GloGNNOptions(alpha=0.0, beta=0.0), "not both 0"),
        (GloGNNOptions(alpha=-1.0, beta=2.0), "alpha and beta must be at least 0"),
        (GloGNNOptions(gamma=1.0), "gamma must be at least 0 and below 1, got 1.0"),
        (GloGNNOptions(delta=1.5), "delta must be between 0 and 1, got 1.5"),
        (GloGNNOptions(orders=0), "orders must be at least 1"),
        (GloGNNOptions(hidden_layers=0), "hidden_layers must be at least 1"),
        (GloGNNOptions(adjacency="plain"), "adjacency must be 'normalised' or 'raw', got 'plain'"),
    ],
)
def test_bad_options_are_refused(random_graph, options, message):
    with pytest.raises(ValueError, match=message):
        build("glognn++", random_graph, options)
