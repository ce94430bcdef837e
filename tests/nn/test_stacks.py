"""The filter as a layer: the stack in dense numpy with a filter from the eigendecomposition, and its special cases."""

import numpy as np
import pytest
import torch
from scipy.interpolate import BarycentricInterpolator

from newtonnet.datasets import csbm, make_splits
from newtonnet.graphs import from_edges
from newtonnet.nn import NewtonStackOptions, TunedGCNOptions, build
from newtonnet.training import Config, fit


def filtered(laplacian, x, values):
    """U g(Λ) Uᵀ x with g through the values at equispaced points, for all columns or for each its own."""
    frequencies, vectors = np.linalg.eigh(laplacian)
    points = np.linspace(0, 2, len(values))
    response = BarycentricInterpolator(points, values)(frequencies).reshape(len(x), -1)
    return vectors @ (response * (vectors.T @ x))


def naive_stack(laplacian, x, w, options):
    outputs = []
    for i in range(1, options.layers + 1):
        values = w[f"filter{i}_values"]
        y = filtered(laplacian, x @ w[f"layer{i}_weight"], np.maximum(values, 0) if options.nonnegative else values)
        y = y + (w[f"bias{i}"] if options.norm != "batch" else 0)
        if options.residual:
            y = y + x @ w[f"residual{i}_weight"] + w[f"residual{i}_bias"]
        if options.norm == "batch":
            y = (y - w[f"norm{i}_mean"]) / np.sqrt(w[f"norm{i}_variance"] + 1e-5)
        if options.norm == "layer":
            y = (y - y.mean(axis=1, keepdims=True)) / np.sqrt(y.var(axis=1, keepdims=True) + 1e-5)
        if options.norm != "none":
            y = y * w[f"norm{i}_scale"] + w[f"norm{i}_shift"]
        x = np.maximum(y, 0)
        outputs.append(x)
    return (sum(outputs) if options.jumping else x) @ w["output_weight"] + w["output_bias"]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
@pytest.mark.parametrize(
    "options",
    [
        NewtonStackOptions(hidden=5, layers=3),
        NewtonStackOptions(hidden=5, layers=2, degree=5, nonnegative=True, norm="layer"),
        NewtonStackOptions(hidden=5, layers=2, degree=1, norm="none", residual=False, jumping=True),
        NewtonStackOptions(hidden=5, layers=3, per_channel=True),
    ],
)
def test_logits_equal_a_dense_reference_in_numpy(
    random_graph, dense_laplacian, randomise, member, options, dtype, tolerance
):
    model = randomise(build("newton-stack", random_graph, options, seeds=(0, 1), dtype=dtype))
    logits = model(model.prepare(random_graph)).detach().double().numpy()
    x = np.asarray(random_graph.features, dtype=np.float64)
    for p in range(2):
        expected = naive_stack(dense_laplacian(random_graph), x, member(model, p), options)
        np.testing.assert_allclose(logits[:, p], expected, rtol=0, atol=tolerance * np.abs(expected).max())


def test_stack_starts_as_a_network_that_knows_no_edges(random_graph):
    model = build("newton-stack", random_graph, NewtonStackOptions(hidden=5, layers=3), dtype=torch.float64)
    edgeless = from_edges([[], []], random_graph.features, labels=random_graph.labels)
    torch.testing.assert_close(model(model.prepare(random_graph)), model(model.prepare(edgeless)))


@pytest.mark.parametrize("residual", [True, False])
def test_with_the_right_values_it_is_a_tuned_gcn_on_a_regular_graph(two_cliques, randomise, assign, member, residual):
    """On cliques of 4 nodes self-loops only mix in the identity: Ã = (I + 3 Â) / 4 = I - 3 L / 4."""
    shape = {"hidden": 5, "layers": 2, "norm": "layer", "residual": residual}
    gcn = randomise(build("tuned-gcn", two_cliques, TunedGCNOptions(**shape), dtype=torch.float64))
    stack = build("newton-stack", two_cliques, NewtonStackOptions(**shape, degree=2), dtype=torch.float64)
    assign(stack, **member(gcn, 0), filter1_values=[1, 0.25, -0.5], filter2_values=[1, 0.25, -0.5])
    logits = gcn(gcn.prepare(two_cliques)).detach()
    torch.testing.assert_close(stack(stack.prepare(two_cliques)).detach(), logits, rtol=1e-9, atol=1e-9)


def test_values_learn_at_the_filters_rate_and_everything_else_at_the_encoders(member):
    """Adam's first step is as long as the rate."""
    graph = csbm(0.2, nodes=100, features=20, seed=3)
    config = Config(learning_rate=0.01, filter_learning_rate=0.02, weight_decay=0, max_epochs=1)
    options = NewtonStackOptions(hidden=4, layers=2, norm="layer")
    before, after = (build("newton-stack", graph, options, dtype=torch.float64) for _ in range(2))
    fit(after, graph, make_splits(graph, count=1), [config])
    for key, value in member(after, 0).items():
        rate = 0.02 if key.startswith("filter") else 0.01
        assert np.abs(value - member(before, 0)[key]).max() == pytest.approx(rate, rel=1e-3), key


def test_gammas_are_refused():
    graph = csbm(0.2, nodes=60, features=8)
    with pytest.raises(
        ValueError, match="'newton-stack' learns no spectral filter as its last step, so its gammas must be 0"
    ):
        fit(build("newton-stack", graph), graph, make_splits(graph, count=1), [Config(gammas=(1.0, 0.0, 0.0))])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (NewtonStackOptions(degree=0), "degree K must be at least 1"),
        (NewtonStackOptions(layers=0), "layers must be at least 1"),
        (NewtonStackOptions(norm="group"), "unknown norm 'group'"),
    ],
)
def test_bad_options_are_refused(random_graph, options, message):
    with pytest.raises(ValueError, match=message):
        build("newton-stack", random_graph, options)


def test_ill_conditioned_points_are_warned_of(random_graph):
    with pytest.warns(UserWarning, match="amplifies rounding"):
        build("newton-stack", random_graph, NewtonStackOptions(degree=16))
