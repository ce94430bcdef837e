"""The kernel against U g(Lambda) U^T x, against published outputs, and its gradients against finite differences."""

import math

import numpy as np
import pytest
import torch
from scipy.interpolate import BarycentricInterpolator
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from newtonnet.graphs import normalised_operator, propagate
from newtonnet.polynomials import bernstein, chebyshev_points, equispaced, jacobi, monomial, newton_filter, to_chebyshev

DEGREES = [1, 2, 5, 8, 11, 14, 20, 30]
POINTS = {"equispaced": equispaced, "chebyshev": chebyshev_points}
TINY = ["path", "ring", "two cliques", "random"]


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


def chebyshev_series_oracle(matrix, x, c):
    """Sum of c_k cos(k arccos(-matrix)) x for a symmetric matrix, one member and channel at a time."""
    eigenvalues, vectors = np.linalg.eigh(-matrix)
    angles = np.arccos(eigenvalues.clip(-1, 1))
    c = np.broadcast_to(c.reshape(*c.shape, *[1] * (3 - c.ndim)), (len(c), *x.shape[1:]))
    result = np.empty_like(x)
    for member in np.ndindex(*x.shape[1:]):
        g = sum(c[(k, *member)] * np.cos(k * angles) for k in range(len(c)))
        result[(slice(None), *member)] = vectors @ (g * (vectors.T @ x[(slice(None), *member)]))
    return result


def interpolated_oracle(laplacian, x, points, values):
    """U g(Lambda) U^T x with g drawn by scipy through (points, values), one member at a time."""
    frequencies, vectors = np.linalg.eigh(laplacian)
    result = np.empty_like(x)
    for p in range(x.shape[1]):
        g = BarycentricInterpolator(points, values[:, p], rng=0)(frequencies)
        result[:, p] = vectors @ (g[:, None] * (vectors.T @ x[:, p]))
    return result


def relative_error(got, expected):
    return float(np.abs(got.double().numpy() - expected).max() / np.abs(expected).max())


def single_precision(array):
    """Numbers that float32 holds exactly, so that only the arithmetic is judged."""
    return array.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("nonnegative", [True, False], ids=["relu", "free"])
@pytest.mark.parametrize("order", ["ascending", "shuffled"])
@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("degree", DEGREES)
def test_filtering_equals_eigendecomposition(degree, points, order, nonnegative, random_graph, dense_laplacian, rng):
    q = POINTS[points](degree)
    q = q[torch.from_numpy(rng.permutation(degree + 1))] if order == "shuffled" else q
    t, x = rng.normal(size=(degree + 1, 2)), rng.normal(size=(40, 2, 3))
    t[0, :] = [0.7, 1.3]  # at least one value survives the ReLU
    g = newton_filter(q, nonnegative=nonnegative)
    operator = normalised_operator(random_graph, dtype=torch.float64)
    got = propagate(operator, tensor(x), g.coefficients({"values": tensor(t)}))
    values = np.maximum(t, 0) if nonnegative else t
    expected = interpolated_oracle(dense_laplacian(random_graph), x, q.numpy(), values)
    assert relative_error(got, expected) < 1e-8


@pytest.mark.parametrize("nonnegative", [True, False], ids=["relu", "free"])
@pytest.mark.parametrize("order", ["ascending", "shuffled"])
@pytest.mark.parametrize(
    ("points", "degree"),
    # 15 equispaced points amplify by 283: on a graph without frequencies near the ends, where g is largest, rounding
    # the operator to float32 alone can cost 2e-5 of the largest entry. This graph has them; the next test has the law.
    [("chebyshev", degree) for degree in DEGREES] + [("equispaced", degree) for degree in DEGREES if degree <= 14],
)
def test_filtering_in_float32_equals_eigendecomposition(
    degree, points, order, nonnegative, random_graph, dense_laplacian, rng
):
    q = POINTS[points](degree)
    q = q[torch.from_numpy(rng.permutation(degree + 1))] if order == "shuffled" else q
    t, x = single_precision(rng.normal(size=(degree + 1, 2))), single_precision(rng.normal(size=(40, 2, 3)))
    t[0, :] = [0.75, 1.25]
    g = newton_filter(q, nonnegative=nonnegative)
    got = propagate(normalised_operator(random_graph), tensor(x).float(), g.coefficients({"values": tensor(t).float()}))
    values = np.maximum(t, 0) if nonnegative else t
    expected = interpolated_oracle(dense_laplacian(random_graph), x, q.numpy(), values)
    assert got.dtype == torch.float32
    assert relative_error(got, expected) < 1e-5


@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("name", TINY)
def test_float32_loses_no_more_than_the_points_condition_allows(name, degree, points, tiny_graphs, rng):
    graph, g = tiny_graphs[name], newton_filter(POINTS[points](degree), nonnegative=False)
    t, x = rng.uniform(-1, 1, size=(degree + 1, 1)), rng.normal(size=(graph.nodes, 1, 1))
    exact = propagate(
        normalised_operator(graph, dtype=torch.float64), tensor(x), g.coefficients({"values": tensor(t)})
    ).numpy()
    single = propagate(normalised_operator(graph), tensor(x).float(), g.coefficients({"values": tensor(t).float()}))
    # An error of the operator counts by the slope of g, at most K^2 times its height (Markov).
    allowed = 6e-8 * degree**2 * g.condition() * np.linalg.norm(x)
    assert np.linalg.norm(single.double().numpy() - exact) < 3 * allowed


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("degree", [0, 1, 2, 7])
@pytest.mark.parametrize("name", TINY)
def test_series_equals_cosines_of_the_spectrum(name, degree, self_loops, tiny_graphs, dense_laplacian, rng):
    graph = tiny_graphs[name]
    x, c = rng.normal(size=(graph.nodes, 2, 3)), rng.normal(size=(degree + 1, 2))
    operator = normalised_operator(graph, self_loops=self_loops, dtype=torch.float64)
    adjacency = np.eye(graph.nodes) - dense_laplacian(graph, self_loops=self_loops)
    expected = chebyshev_series_oracle(adjacency, x, c)
    assert relative_error(propagate(operator, tensor(x), tensor(c)), expected) < 1e-12


@pytest.mark.parametrize("degree", [1, 2, 7])
def test_one_filter_per_channel_equals_cosines_of_the_spectrum(degree, random_graph, dense_laplacian, rng):
    x, c = rng.normal(size=(40, 2, 3)), rng.normal(size=(degree + 1, 2, 3))
    got = propagate(normalised_operator(random_graph, dtype=torch.float64), tensor(x), tensor(c))
    expected = chebyshev_series_oracle(np.eye(40) - dense_laplacian(random_graph), x, c)
    assert relative_error(got, expected) < 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("per_channel", [False, True])
def test_population_equals_its_members(per_channel, dtype, random_graph, rng):
    operator = normalised_operator(random_graph, dtype=dtype)
    x = torch.as_tensor(rng.normal(size=(40, 5, 3)), dtype=dtype)
    c = torch.as_tensor(rng.normal(size=(7, 5, 3) if per_channel else (7, 5)), dtype=dtype)
    together = propagate(operator, x, c)
    for p in range(5):
        alone = propagate(operator, x[:, p : p + 1], c[:, p : p + 1])
        torch.testing.assert_close(together[:, p : p + 1], alone)


def test_one_filter_for_all_channels_is_the_same_filter_in_each(random_graph, rng):
    operator = normalised_operator(random_graph, dtype=torch.float64)
    x, c = tensor(rng.normal(size=(40, 2, 3))), tensor(rng.normal(size=(5, 2)))
    shared, repeated = propagate(operator, x, c), propagate(operator, x, c[..., None].expand(5, 2, 3))
    torch.testing.assert_close(shared, repeated)


def test_filtering_does_not_depend_on_the_signals_memory_layout(random_graph, rng):
    operator = normalised_operator(random_graph, dtype=torch.float64)
    x, c = tensor(rng.normal(size=(3, 2, 40))), tensor(rng.normal(size=(5, 2)))
    strided = x.permute(2, 1, 0)
    torch.testing.assert_close(propagate(operator, strided, c), propagate(operator, strided.contiguous(), c))


def test_filtering_leaves_its_inputs_alone(random_graph, rng):
    operator = normalised_operator(random_graph, dtype=torch.float64)
    x, c = tensor(rng.normal(size=(40, 2, 3))), tensor(rng.normal(size=(5, 2)))
    before = x.clone(), c.clone(), operator.matrix.to_dense()
    propagate(operator, x.requires_grad_(), c.requires_grad_()).sum().backward()
    for now, then in zip((x, c, operator.matrix.to_dense()), before, strict=True):
        torch.testing.assert_close(now.detach(), then, rtol=0, atol=0)


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("degree", [0, 1, 2, 5])
def test_gradients_match_finite_differences(degree, per_channel, two_cliques, rng):
    operator = normalised_operator(two_cliques, dtype=torch.float64)
    x = tensor(rng.normal(size=(8, 2, 2))).requires_grad_()
    c = tensor(rng.normal(size=(degree + 1, 2, 2) if per_channel else (degree + 1, 2))).requires_grad_()
    assert torch.autograd.gradcheck(lambda signals, series: propagate(operator, signals, series), (x, c))


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_gradients_match_finite_differences_on_a_directed_graph(degree, per_channel, arrows, rng):
    operator = normalised_operator(arrows, dtype=torch.float64)
    x = tensor(rng.normal(size=(6, 2, 2))).requires_grad_()
    c = tensor(rng.normal(size=(degree + 1, 2, 2) if per_channel else (degree + 1, 2))).requires_grad_()
    assert torch.autograd.gradcheck(lambda signals, series: propagate(operator, signals, series), (x, c))


@pytest.mark.parametrize("nonnegative", [True, False], ids=["relu", "free"])
@pytest.mark.parametrize("shape", [(2,), (2, 2)], ids=["per member", "per member and channel"])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_gradients_of_signals_and_values_match_finite_differences(directed, shape, nonnegative, arrows, ring, rng):
    graph = arrows if directed else ring
    operator, g = normalised_operator(graph, dtype=torch.float64), newton_filter(nonnegative=nonnegative)
    x = tensor(rng.normal(size=(graph.nodes, 2, 2))).requires_grad_()
    t = tensor(rng.normal(size=(6, *shape))).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda signals, values: propagate(operator, signals, g.coefficients({"values": values})), (x, t)
    )


def test_gradient_of_only_the_signals_or_only_the_coefficients_is_the_same(random_graph, rng):
    operator = normalised_operator(random_graph, dtype=torch.float64)
    x, c = tensor(rng.normal(size=(40, 2, 3))), tensor(rng.normal(size=(5, 2)))
    weights = tensor(rng.normal(size=(40, 2, 3)))

    def gradients(*wanted):
        leaves = {name: value.clone().requires_grad_(name in wanted) for name, value in {"x": x, "c": c}.items()}
        (propagate(operator, leaves["x"], leaves["c"]) * weights).sum().backward()
        return [leaves[name].grad for name in wanted]

    for alone, together in zip([*gradients("x"), *gradients("c")], gradients("x", "c"), strict=True):
        torch.testing.assert_close(alone, together)


def test_backward_of_an_undirected_filter_is_the_filter_itself(random_graph, rng):
    operator = normalised_operator(random_graph, dtype=torch.float64)
    x, c = tensor(rng.normal(size=(40, 1, 2))).requires_grad_(), tensor(rng.normal(size=(6, 1)))
    upstream = tensor(rng.normal(size=(40, 1, 2)))
    propagate(operator, x, c).backward(upstream)
    torch.testing.assert_close(x.grad, propagate(operator, upstream, c))


class LiveBlocks(TorchDispatchMode):
    """The largest number of dense blocks of at least ``size`` bytes that were alive at the same time."""

    def __init__(self, size):
        super().__init__()
        self.size, self.alive, self.peak = size, {}, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for block in result if isinstance(result, tuple | list) else (result,):
            if isinstance(block, torch.Tensor) and block.layout == torch.strided:
                storage = block.untyped_storage()
                if storage.nbytes() >= self.size:
                    reference = StorageWeakRef(storage)
                    self.alive[reference.cdata] = reference
        self.alive = {key: reference for key, reference in self.alive.items() if not reference.expired()}
        self.peak = max(self.peak, len(self.alive))
        return result


@pytest.mark.parametrize("degree", [3, 10, 50])
def test_memory_is_a_handful_of_blocks_whatever_the_degree(degree, random_graph, rng):
    operator = normalised_operator(random_graph, dtype=torch.float64)
    x, c = tensor(rng.normal(size=(40, 60, 2))).requires_grad_(), tensor(rng.normal(size=(degree + 1, 60)))
    with LiveBlocks(x.nbytes) as blocks:
        propagate(operator, x, c.requires_grad_()).square().sum().backward()
    assert 2 <= blocks.peak <= 9


@pytest.mark.parametrize("degree", [3, 10, 50])
def test_nothing_but_signals_and_coefficients_is_kept_for_the_backward_pass(degree, random_graph, rng):
    operator = normalised_operator(random_graph, dtype=torch.float64)
    x, c = tensor(rng.normal(size=(40, 2, 3))).requires_grad_(), tensor(rng.normal(size=(degree + 1, 2)))
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda saved: kept.append(saved) or saved, lambda saved: saved):
        propagate(operator, x, c.requires_grad_())
    assert sorted(saved.numel() for saved in kept) == sorted([x.numel(), c.numel()])


@pytest.mark.parametrize(
    ("self_loops", "basis", "coefficients", "expected"),
    [
        pytest.param(
            False,
            lambda frequency: bernstein(frequency / 2, 2),
            [1.0, 0.5, 2.0],
            [1.542893, 1.232233, 4.542893],
            id="BernNet",
        ),
        pytest.param(
            False,
            lambda frequency: bernstein(frequency / 2, 2),
            [0.0, 1.0, 0.5],
            [-0.666053, -0.383883, 1.208947],
            id="BernNet after ReLU",
        ),
        pytest.param(
            True,
            lambda frequency: monomial(1 - frequency, 3),
            [0.5, -1.0, 0.25, 2.0],
            [3.502851, 4.158748, 4.440351],
            id="GPRGNN",
        ),
        pytest.param(
            True,
            lambda frequency: monomial(1 - frequency, 3),
            [0.1, 0.09, 0.081, 0.729],
            [1.775029, 2.555885, 2.544154],
            id="APPNP",
        ),
        pytest.param(
            False,
            lambda frequency: jacobi(1 - frequency, 3, a=0.5, b=1.5),
            [(1.5 * math.tanh(2 / 3)) ** k for k in range(4)],
            [8.412681, 16.116470, 9.545367],
            id="JacobiConv",
        ),
    ],
)
def test_worked_examples_on_the_path_are_reproduced(self_loops, basis, coefficients, expected, path):
    operator = normalised_operator(path, self_loops=self_loops, dtype=torch.float64)
    c = to_chebyshev(basis, len(coefficients) - 1) @ tensor(coefficients)
    x = tensor(path.features).reshape(3, 1, 1)
    np.testing.assert_allclose(propagate(operator, x, c[:, None]).flatten(), expected, atol=1e-6)


def test_chebnets_worked_example_on_the_path_is_reproduced(path):
    x, c = tensor(path.features).reshape(3, 1, 1), tensor([[0.5], [-1.0], [0.25]])
    got = propagate(normalised_operator(path, dtype=torch.float64), x, c)
    np.testing.assert_allclose(got.flatten(), [2.914214, 5.035534, 3.664214], atol=1e-6)


def test_chebnet_iis_worked_example_on_the_path_is_reproduced(path):
    x, g = tensor(path.features).reshape(3, 1, 1), newton_filter(chebyshev_points(2))
    c = g.coefficients({"values": tensor([[1.0], [0.5], [2.0]])})
    got = propagate(normalised_operator(path, dtype=torch.float64), x, c)
    np.testing.assert_allclose(got.flatten(), [3.016837, 1.625425, 4.516837], atol=1e-6)


@pytest.mark.parametrize(
    ("self_loops", "frequency"), [(False, 1.0), (True, 0.0)], ids=["plain: g(1)", "with self-loops: g(0)"]
)
def test_isolated_node_is_multiplied_by_one_amplitude(self_loops, frequency, random_graph, rng):
    isolated = np.flatnonzero(random_graph.adjacency.toarray().sum(axis=1) == 0)
    g, t = newton_filter(equispaced(4), nonnegative=False), rng.normal(size=5)
    amplitude = BarycentricInterpolator(g.points.numpy(), t, rng=0)(frequency)
    x = rng.normal(size=(40, 1, 2))
    operator = normalised_operator(random_graph, self_loops=self_loops, dtype=torch.float64)
    got = propagate(operator, tensor(x), g.coefficients({"values": tensor(t)[:, None]}))
    assert len(isolated) == 9
    np.testing.assert_allclose(got.numpy()[isolated], amplitude * x[isolated], rtol=1e-12)


def test_relabelling_the_nodes_permutes_the_result(random_graph, dense_laplacian, rng):
    order = rng.permutation(40)
    operator = normalised_operator(random_graph, dtype=torch.float64)
    x, c = tensor(rng.normal(size=(40, 1, 2))), tensor(rng.normal(size=(6, 1)))
    from_dense = np.eye(40) - dense_laplacian(random_graph)[np.ix_(order, order)]
    expected = chebyshev_series_oracle(from_dense, x.numpy()[order], c.numpy())
    assert relative_error(propagate(operator, x, c)[order], expected) < 1e-12


@pytest.mark.parametrize(
    ("x", "c"),
    [
        (torch.zeros(3), torch.zeros(2, 1)),
        (torch.zeros(3, 1), torch.zeros(2, 1)),
        (torch.zeros(4, 1, 1), torch.zeros(2, 1)),
    ],
    ids=["one axis", "two axes", "another graph's"],
)
def test_signals_of_another_shape_are_refused(x, c, path):
    with pytest.raises(ValueError, match="signals must have shape"):
        propagate(normalised_operator(path), x, c)


@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 2, 1), (5, 1, 4), (5, 2, 4, 1)])
def test_coefficients_of_another_shape_are_refused(shape, path):
    with pytest.raises(ValueError, match="coefficients must have shape"):
        propagate(normalised_operator(path), torch.zeros(3, 2, 4), torch.zeros(shape))


def test_mixed_types_and_empty_polynomials_are_refused(path):
    x = torch.ones(3, 1, 1)
    with pytest.raises(TypeError, match="one type"):
        propagate(normalised_operator(path, dtype=torch.float64), x, torch.ones(2, 1))
    with pytest.raises(ValueError, match="at least one coefficient"):
        propagate(normalised_operator(path), x, torch.ones(0, 1))
