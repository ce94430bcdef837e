"""The filter as a layer: the stack in dense numpy with a filter in powers of the Laplacian, and what it reads."""

import numpy as np
import pytest
import torch

from newtonnet import kernels
from newtonnet.datasets import csbm, make_splits
from newtonnet.graphs import from_edges, from_scipy
from newtonnet.nn import NewtonStackOptions, Noise, TunedGCNOptions, build
from newtonnet.training import Config, fit


def filtered(operator, x, values):
    """g(I - S) x by powers of I - S, with g through the values at equispaced points, the same or one per column."""
    values = values.reshape(len(values), -1)
    powers = np.linalg.solve(np.vander(np.linspace(0, 2, len(values)), increasing=True), values)
    laplacian = np.eye(len(operator)) - operator
    return sum(c * (np.linalg.matrix_power(laplacian, k) @ x) for k, c in enumerate(powers))


def normalised(y, w, i, norm):
    if norm == "batch":
        y = (y - w[f"norm{i}_mean"]) / np.sqrt(w[f"norm{i}_variance"] + 1e-5)
    if norm == "none":
        y = y + w[f"bias{i}"]
    if norm == "layer":
        y = (y - y.mean(axis=1, keepdims=True)) / np.sqrt(y.var(axis=1, keepdims=True) + 1e-5)
    return y if norm == "none" else y * w[f"norm{i}_scale"] + w[f"norm{i}_shift"]


def naive_stack(operators, x, extra, w, options):
    outputs, hidden = [], options.hidden
    directions = ("", "against")[: len(operators)]
    for i in range(0 if options.projection else 1, options.layers + 1):
        maps = [w[f"residual{i}_weight"], *(w[f"{prefix}layer{i}_weight"] for prefix in directions if i)]
        y = x @ np.hstack(maps)
        if not outputs and extra is not None:
            y = y + extra @ w["extra_weight"]
        total = y[:, :hidden]
        for k, prefix in enumerate(directions if i else (), 1):
            signals = y[:, k * hidden : (k + 1) * hidden]
            total = total + filtered(operators[k - 1], signals, w[f"{prefix}filter{i}_values"])
        x = np.maximum(normalised(total, w, i, options.norm), 0)
        outputs.append(x)
    return (sum(outputs[int(options.projection) :]) if options.jumping else x) @ w["output_weight"] + w["output_bias"]


def standardised(counts, w):
    return (np.log1p(counts.astype(float)) - w["degree_mean"]) / w["degree_scale"]


@pytest.fixture(scope="module")
def two_way_graph():
    """A directed graph in which a circle keeps every node's edges in and out above 0."""
    rng = np.random.default_rng(3)
    circle = np.stack([np.arange(12), (np.arange(12) + 1) % 12])
    more = np.array([(i, j) for i in range(12) for j in range(12) if i != j and rng.random() < 0.2]).T
    return from_edges(np.hstack([circle, more]), rng.normal(size=(12, 4)), labels=np.arange(12) % 3, directed=True)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
@pytest.mark.parametrize(
    "options",
    [
        NewtonStackOptions(hidden=5, layers=3, log_degree=False),
        NewtonStackOptions(hidden=5, layers=3, labels=0.5),
        NewtonStackOptions(hidden=4, layers=3, labels=0.5),  # narrower than the features
        NewtonStackOptions(hidden=5, layers=2, degree=3, norm="layer", labels=0.5),
        NewtonStackOptions(hidden=5, layers=2, norm="none", jumping=True, projection=True, labels=0.5),
        NewtonStackOptions(hidden=5, layers=3, degree=2, per_channel=True, mean=True),
    ],
)
def test_logits_equal_a_dense_reference_in_numpy(random_graph, randomise, member, options, dtype, tolerance):
    model = randomise(build("newton-stack", random_graph, options, seeds=(0, 1), dtype=dtype))
    shown = torch.from_numpy(np.stack([random_graph.labels, np.full(random_graph.nodes, -1)], axis=1))
    shown[::2, 0] = -1
    logits = model(model.prepare(random_graph).show(shown)).detach().double().numpy()
    adjacency = random_graph.adjacency.toarray().astype(np.float64)
    degree, counts = adjacency.sum(axis=1), (adjacency > 0).sum(axis=1)
    root = np.diag(np.maximum(degree, 1e-300) ** -0.5 * (degree > 0))
    operator = root @ root @ adjacency if options.mean else root @ adjacency @ root
    x = np.asarray(random_graph.features, dtype=np.float64)
    for p in range(2):
        w = member(model, p)
        columns = [standardised(counts[:, None], w)] if options.log_degree else []
        columns += [shown[:, p : p + 1].numpy() == np.arange(random_graph.classes)] if options.labels else []
        extra = np.hstack(columns).astype(float) if columns else None
        expected = naive_stack([operator], x, extra, w, options)
        np.testing.assert_allclose(logits[:, p], expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("degree", [1, 2])
def test_a_directed_graph_is_filtered_along_and_against_its_arrows(two_way_graph, randomise, member, mean, degree):
    options = NewtonStackOptions(hidden=5, layers=3, degree=degree, directed=True, mean=mean)
    model = randomise(build("newton-stack", two_way_graph, options, dtype=torch.float64))
    logits = model(model.prepare(two_way_graph)).detach()[:, 0].numpy()
    a = two_way_graph.adjacency.toarray().astype(np.float64)
    out, into = a.sum(axis=1), a.sum(axis=0)
    operators = [a / out[:, None], a.T / into[:, None]]
    if not mean:
        operators = [a / np.sqrt(out[:, None] * into), (a / np.sqrt(out[:, None] * into)).T]
    w = member(model, 0)
    extra = standardised(np.stack([out, into], axis=1), w)
    expected = naive_stack(operators, np.asarray(two_way_graph.features, dtype=np.float64), extra, w, options)
    np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_logits_and_gradients_are_the_same_without_the_kernels(
    two_way_graph, randomise, monkeypatch, directed, norm, dtype, tolerance
):
    options = NewtonStackOptions(hidden=6, layers=3, directed=directed, norm=norm, per_channel=directed)
    found = []
    for native in (kernels.available(), False):
        monkeypatch.setattr(kernels, "available", lambda native=native: native)
        model = randomise(build("newton-stack", two_way_graph, options, seeds=(0, 1), dtype=dtype))
        logits = model(model.prepare(two_way_graph), Noise(0, model.seeds, 2))
        logits.square().sum().backward()
        found.append([logits.detach(), *(parameter.grad for parameter in model.learned().values())])
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=tolerance * float(theirs.abs().max()))


def test_it_starts_as_plain_propagation_beside_a_map_of_its_own_input(random_graph, member):
    for degree in (1, 2):
        for per_channel in (False, True):
            options = NewtonStackOptions(hidden=5, layers=1, degree=degree, per_channel=per_channel)
            values = member(build("newton-stack", random_graph, options), 0)["filter1_values"]
            np.testing.assert_allclose(values.reshape(degree + 1, -1)[:, 0], 1 - np.linspace(0, 2, degree + 1))


@pytest.mark.parametrize("residual", [True, False])
def test_with_the_right_values_it_is_a_tuned_gcn_on_a_regular_graph(two_cliques, randomise, assign, member, residual):
    """On cliques of 4 nodes self-loops only mix in the identity: Ã = (I + 3 Â) / 4 = I - 3 L / 4."""
    shape = {"hidden": 5, "layers": 2, "norm": "layer"}
    gcn = randomise(build("tuned-gcn", two_cliques, TunedGCNOptions(**shape, residual=residual), dtype=torch.float64))
    options = NewtonStackOptions(**shape, degree=2, log_degree=False)
    stack = build("newton-stack", two_cliques, options, dtype=torch.float64)
    w = member(gcn, 0)
    with torch.no_grad():  # the stack has no bias before a LayerNorm
        for name, parameter in gcn.named_parameters():
            parameter.mul_(0 if name[:-1] == "bias" or (name.startswith("residual") and name.endswith("bias")) else 1)
    for i in (1, 2):
        own = w.pop(f"residual{i}_weight") if residual else np.zeros_like(w[f"layer{i}_weight"])
        w.pop(f"bias{i}")
        w.pop(f"residual{i}_bias", None)
        w |= {f"residual{i}_weight": own, f"filter{i}_values": [1, 0.25, -0.5]}
    assign(stack, **w)
    logits = gcn(gcn.prepare(two_cliques)).detach()
    torch.testing.assert_close(stack(stack.prepare(two_cliques)).detach(), logits, rtol=1e-9, atol=1e-9)


def test_values_learn_at_the_filters_rate_and_everything_else_at_the_encoders(member):
    """Adam's first step is as long as the rate."""
    graph = csbm(0.2, nodes=100, features=20, seed=3)
    config = Config(learning_rate=0.01, filter_learning_rate=0.02, weight_decay=0, max_epochs=1)
    options = NewtonStackOptions(hidden=4, layers=2, norm="layer")
    before, after = (build("newton-stack", graph, options, dtype=torch.float64) for _ in range(2))
    fit(after, graph, make_splits(graph, count=1), [config])
    for key in after.learned():
        rate = 0.02 if key.startswith("filter") else 0.01
        assert np.abs(member(after, 0)[key] - member(before, 0)[key]).max() == pytest.approx(rate, rel=1e-3), key


def test_the_shape_regulariser_acts_on_every_layer(member):
    """On a homophilous graph it rewards low frequencies and punishes high ones, in each layer alike."""
    graph = csbm(0.9, nodes=200, features=20, seed=3)
    options = NewtonStackOptions(hidden=4, layers=3, degree=2)
    found = []
    for gammas in ((0.0, 0.0, 0.0), (5.0, 5.0, 5.0)):
        model = build("newton-stack", graph, options, dtype=torch.float64)
        config = Config(gammas=gammas, max_epochs=60, weight_decay=0.0, filter_learning_rate=0.02)
        fit(model, graph, make_splits(graph, count=1), [config])
        found.append([member(model, 0)[f"filter{i}_values"] for i in (1, 2, 3)])
    for free, shaped in zip(*found, strict=True):
        assert abs(shaped[0]) > abs(free[0])
        assert abs(shaped[2]) < abs(free[2])


def test_the_ceiling_bounds_every_layer(member):
    graph = csbm(0.9, nodes=100, features=20, seed=3)
    model = build("newton-stack", graph, NewtonStackOptions(hidden=4, layers=2))
    config = Config(gammas=(5.0, 5.0, 5.0), ceiling=1.05, max_epochs=40, filter_learning_rate=0.05)
    (record,) = fit(model, graph, make_splits(graph, count=1), [config])
    assert record.outcome.largest_value == pytest.approx(1.05)


def test_degrees_are_standardised_by_the_graph_it_was_built_for(random_graph):
    model = build("newton-stack", random_graph, NewtonStackOptions(hidden=4, layers=1), dtype=torch.float64)
    expected = np.log1p(np.diff(random_graph.adjacency.indptr))
    assert model.parameter("degree_mean").item() == pytest.approx(expected.mean())
    assert model.parameter("degree_scale").item() == pytest.approx(expected.std())
    assert not {"degree_mean", "degree_scale"} & set(model.learned())


def test_equal_degrees_are_no_column_of_nan(two_cliques):
    model = build("newton-stack", two_cliques, NewtonStackOptions(hidden=4, layers=1))
    assert model(model.prepare(two_cliques)).isfinite().all()


def test_labels_must_be_shown_to_a_model_that_reads_them(random_graph):
    model = build("newton-stack", random_graph, NewtonStackOptions(hidden=4, layers=1, labels=0.5), seeds=(0, 1))
    inputs = model.prepare(random_graph)
    with pytest.raises(ValueError, match=r"'newton-stack' reads labels, and these inputs show none; .*inputs.show"):
        model(inputs)
    unknown = torch.full((random_graph.nodes,), -1)
    for_all = model(inputs.show(unknown))
    assert torch.equal(for_all, model(inputs.show(unknown[:, None].repeat(1, 2))))
    for bad in (unknown[1:], unknown.int(), unknown[:, None, None]):
        with pytest.raises(ValueError, match=f"int64 of shape [(]{random_graph.nodes},[)] or"):
            inputs.show(bad)
    with pytest.raises(RuntimeError, match="out of bounds"):
        model(inputs.show(unknown + 1 + random_graph.classes))


def test_models_that_read_no_labels_ignore_what_is_shown(random_graph):
    model = build("newtonnet", random_graph)
    inputs = model.prepare(random_graph)
    assert torch.equal(model(inputs), model(inputs.show(torch.from_numpy(random_graph.labels))))


def test_an_isolated_node_has_finite_means():
    graph = from_scipy(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), np.eye(3), labels=[0, 1, 0])
    model = build("newton-stack", graph, NewtonStackOptions(hidden=4, layers=2, mean=True, directed=True))
    assert model(model.prepare(graph)).isfinite().all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (NewtonStackOptions(degree=0), "degree K must be at least 1"),
        (NewtonStackOptions(layers=0), "layers must be at least 1"),
        (NewtonStackOptions(norm="group"), "unknown norm 'group'"),
        (NewtonStackOptions(labels=1.0), "at least 0 and below 1"),
    ],
)
def test_bad_options_are_refused(random_graph, options, message):
    with pytest.raises(ValueError, match=message):
        build("newton-stack", random_graph, options)


def test_ill_conditioned_points_are_warned_of(random_graph):
    with pytest.warns(UserWarning, match="amplifies rounding"):
        build("newton-stack", random_graph, NewtonStackOptions(degree=16))
