import numpy as np
import pytest
import torch

from newtonnet.nn import ChebNetOptions, GCNOptions, MixHopOptions, Noise, TunedGCNOptions, build


def relu(x):
    return np.maximum(x, 0)


def standardise(x, w, i):
    """Batch normalisation in evaluation, written out."""
    return w[f"norm{i}_scale"] * (x - w[f"norm{i}_mean"]) / np.sqrt(w[f"norm{i}_variance"] + 1e-5) + w[f"norm{i}_shift"]


def naive_gcn(laplacian, x, w, options):
    smooth = np.eye(len(x)) - laplacian
    for i in range(1, options.layers + 1):
        x = smooth @ x @ w[f"layer{i}_weight"]
        if i < options.layers:
            x = relu(standardise(x, w, i) if options.batch_norm else x + w[f"bias{i}"])
    return x + w[f"bias{options.layers}"]


def naive_chebnet(laplacian, x, w, options):
    n, argument = len(x), laplacian - np.eye(len(x))
    polynomials = [np.eye(n), argument]
    while len(polynomials) <= options.degree:
        polynomials.append(2 * argument @ polynomials[-1] - polynomials[-2])
    for i in range(1, options.layers + 1):
        thetas = np.split(w[f"layer{i}_weight"], options.degree + 1, axis=1)
        x = sum(t @ x @ theta for t, theta in zip(polynomials, thetas, strict=False)) + w[f"bias{i}"]
        x = relu(x) if i < options.layers else x
    return x


def naive_mixhop(laplacian, x, w, options):
    smooth = np.eye(len(x)) - laplacian
    for i in range(1, options.layers + 1):
        weights = np.split(w[f"layer{i}_weight"], options.hops + 1, axis=1)
        biases = np.split(w[f"layer{i}_bias"], options.hops + 1)
        powers = [np.linalg.matrix_power(smooth, j) for j in range(options.hops + 1)]
        x = np.hstack([power @ (x @ a + b) for power, a, b in zip(powers, weights, biases, strict=True)])
        x = relu(standardise(x, w, i)) if i < options.layers else x
    return x @ w["project_weight"] + w["project_bias"]


def naive_tuned_gcn(laplacian, x, w, options):
    smooth, outputs = np.eye(len(x)) - laplacian, []
    for i in range(1, options.layers + 1):
        y = smooth @ x @ w[f"layer{i}_weight"] + (w[f"bias{i}"] if options.norm != "batch" else 0)
        if options.residual:
            y = y + x @ w[f"residual{i}_weight"] + w[f"residual{i}_bias"]
        if options.norm == "batch":
            y = standardise(y, w, i)
        if options.norm == "layer":
            y = (y - y.mean(axis=1, keepdims=True)) / np.sqrt(y.var(axis=1, keepdims=True) + 1e-5)
            y = y * w[f"norm{i}_scale"] + w[f"norm{i}_shift"]
        x = relu(y)
        outputs.append(x)
    return (sum(outputs) if options.jumping else x) @ w["output_weight"] + w["output_bias"]


REFERENCES = [
    ("gcn", GCNOptions(hidden=6), True, naive_gcn),
    ("gcn", GCNOptions(hidden=6, layers=1), True, naive_gcn),
    ("gcn", GCNOptions(hidden=6, layers=4, batch_norm=True), True, naive_gcn),
    ("chebnet", ChebNetOptions(hidden=6), False, naive_chebnet),
    ("chebnet", ChebNetOptions(hidden=6, layers=3, degree=1), False, naive_chebnet),
    ("chebnet", ChebNetOptions(hidden=6, layers=2, degree=5), False, naive_chebnet),
    ("mixhop", MixHopOptions(hidden=4), True, naive_mixhop),
    ("mixhop", MixHopOptions(hidden=4, layers=1), True, naive_mixhop),
    ("mixhop", MixHopOptions(hidden=4, layers=3, hops=3), True, naive_mixhop),
    ("tuned-gcn", TunedGCNOptions(hidden=6, layers=2), True, naive_tuned_gcn),
    ("tuned-gcn", TunedGCNOptions(hidden=6, layers=3, norm="batch", residual=True), True, naive_tuned_gcn),
    ("tuned-gcn", TunedGCNOptions(hidden=6, norm="layer", jumping=True), True, naive_tuned_gcn),
]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
@pytest.mark.parametrize(("name", "options", "self_loops", "naive"), REFERENCES)
def test_logits_equal_a_dense_reference_in_numpy(
    random_graph, dense_laplacian, randomise, member, name, options, self_loops, naive, dtype, tolerance
):
    model = randomise(build(name, random_graph, options, seeds=(0, 1), dtype=dtype))
    logits = model(model.prepare(random_graph)).detach().double().numpy()
    laplacian = dense_laplacian(random_graph, self_loops=self_loops)
    x = np.asarray(random_graph.features, dtype=np.float64)
    for p in range(2):
        expected = naive(laplacian, x, member(model, p), options)
        np.testing.assert_allclose(logits[:, p], expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def column(model, graph):
    """Logits of the first class; the worked examples have one output."""
    return model(model.prepare(graph)).detach()[:, 0, 0].numpy()


def test_gcn_gives_the_worked_example(path, assign):
    model = build("gcn", path, GCNOptions(hidden=2), dtype=torch.float64)
    assign(model, layer1_weight=[1, -1], bias1=[0, 3], layer2_weight=[[1, 0], [0.5, 0]], bias2=[-1, 0])
    np.testing.assert_allclose(column(model, path), [1.244246, 2.019707, 1.619246], atol=1e-6)


def test_chebnet_gives_the_worked_example(path, assign):
    model = build("chebnet", path, ChebNetOptions(degree=2, layers=1), dtype=torch.float64)
    assign(model, layer1_weight=[0.5, 0, -1, 0, 0.25, 0], bias1=[0, 0])
    np.testing.assert_allclose(column(model, path), [2.914214, 5.035534, 3.664214], atol=1e-6)


@pytest.mark.parametrize(
    ("projection", "expected"),
    [
        ((1, 0, 0), (1, 2, 4)),
        ((0, 1, 0), (1.316497, 2.707908, 2.816497)),
        ((0, 0, 1), (1.763747, 2.589923, 2.513747)),
        ((1, -1, 2), (3.210998, 4.471939, 6.210998)),
    ],
)
def test_mixhop_gives_the_worked_example(path, assign, projection, expected):
    model = build("mixhop", path, MixHopOptions(layers=1), dtype=torch.float64)
    weight = np.zeros((6, 2))
    weight[::2, 0] = projection
    assign(model, layer1_weight=[1, 0] * 3, layer1_bias=[0] * 6, project_weight=weight, project_bias=[0, 0])
    np.testing.assert_allclose(column(model, path), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("norm", "expected"),
    [
        ("layer", [[1.012219, 0.349164], [1.316421, 0], [2.802859, -1.401430]]),
        ("batch", [[0, 0], [0.626110, 0], [3.591475, -0.066895]]),
    ],
)
def test_tuned_gcn_gives_the_worked_example(path, assign, norm, expected):
    options = TunedGCNOptions(hidden=3, layers=1, dropout=0.0, norm=norm, residual=True)
    model = build("tuned-gcn", path, options, dtype=torch.float64)
    assign(model, layer1_weight=[1, 0, -1], residual1_weight=[0, 0.5, 2], residual1_bias=[0.5, 0, 0])
    if norm == "layer":
        assign(model, bias1=[0, 1, 0])  # a BatchNorm would take it out again
    assign(model, output_weight=[[1, 0], [0, 1], [2, -1]], output_bias=[0, 0])
    logits = model(model.prepare(path), Noise(0, (0,), 1)).detach()[:, 0]
    np.testing.assert_allclose(logits, expected, atol=1e-6)


def test_chebnet_of_degree_one_can_be_a_gcn_without_self_loops(random_graph, randomise, assign, member):
    """Θ_0 = 0 leaves minus the plain adjacency: an identity between two models' code paths."""
    model = randomise(build("chebnet", random_graph, ChebNetOptions(hidden=4, degree=1, layers=1), dtype=torch.float64))
    weight = member(model, 0)["layer1_weight"].copy()
    weight[:, :3] = 0
    assign(model, layer1_weight=weight)
    adjacency = random_graph.adjacency.toarray().astype(np.float64)
    scale = np.sqrt(np.maximum(adjacency.sum(axis=1), 1e-300))
    expected = -adjacency / scale[:, None] / scale @ np.asarray(random_graph.features) @ weight[:, 3:]
    logits = model(model.prepare(random_graph)).detach()[:, 0].numpy()
    np.testing.assert_allclose(logits, expected + member(model, 0)["bias1"], atol=1e-9)


def test_start_weights_keep_to_their_published_bounds(random_graph):
    wide = {"hidden": 50, "layers": 2}
    gcn = build("gcn", random_graph, GCNOptions(**wide))
    cheb = build("chebnet", random_graph, ChebNetOptions(**wide, degree=3))
    mix = build("mixhop", random_graph, MixHopOptions(**wide))
    bounds = [
        (gcn.layer1_weight, np.sqrt(6 / 55)),
        (gcn.layer2_weight, np.sqrt(6 / 53)),
        (cheb.layer1_weight, np.sqrt(6 / 55)),
        (cheb.layer2_weight, np.sqrt(6 / 53)),
        (mix.layer1_weight, np.sqrt(1 / 5)),
        (mix.layer1_bias, np.sqrt(1 / 5)),
        (mix.layer2_weight, np.sqrt(1 / 150)),
        (mix.project_weight, np.sqrt(1 / 9)),
    ]
    for weight, bound in bounds:
        assert 0.8 * bound < float(weight.detach().abs().max()) <= bound
    for bias in (gcn.bias1, gcn.bias2, cheb.bias1, cheb.bias2):
        assert not bias.detach().any()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gcn", GCNOptions(hidden=0), "hidden must be at least 1, got 0"),
        ("gcn", GCNOptions(layers=0), "layers must be at least 1, got 0"),
        ("gcn", GCNOptions(dropout=1.0), "dropout rate"),
        ("chebnet", ChebNetOptions(degree=0), "degree must be at least 1, got 0"),
        ("mixhop", MixHopOptions(hops=0), "hops must be at least 1, got 0"),
        ("tuned-gcn", TunedGCNOptions(norm="group"), "unknown norm 'group'; available: none, batch, layer"),
    ],
)
def test_bad_options_are_refused(random_graph, name, options, message):
    with pytest.raises(ValueError, match=message):
        build(name, random_graph, options)
