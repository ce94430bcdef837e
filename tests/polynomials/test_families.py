"""Each method's filter against the formula of its own paper, the eigendecomposition and the worked examples."""

import math

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev as npcheb
from numpy.polynomial import polynomial as nppoly
from scipy.special import eval_chebyt, eval_jacobi, eval_legendre

from newtonnet.graphs import normalised_operator, propagate
from newtonnet.nn import build
from newtonnet.polynomials import (
    bernstein_filter,
    chebyshev_points,
    equispaced,
    identity_filter,
    jacobi_filter,
    legendre_filter,
    monomial_filter,
    newton_filter,
    pagerank_filter,
)

DEGREES = [1, 2, 3, 5, 10, 20]
TINY = ["path", "ring", "two cliques", "random"]
FREQUENCIES = np.linspace(0, 2, 41)
CHANNELS = 3


def chebyshev_interpolation_filter(degree=10):
    """ChebNetII's filter: values at the Chebyshev points."""
    return newton_filter(chebyshev_points(degree))


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


# Formulas in numpy: frequencies (m,), degree and raw parameters to amplitudes (m,), or (m, C) for Jacobi's channels.


def identity_formula(frequency, degree):
    return np.ones_like(frequency)


def pagerank_formula(alpha):
    def formula(frequency, degree):
        q = (1 - alpha) * (1 - frequency)
        geometric = np.full_like(q, float(degree))  # the sum of q^k below the degree, where q = 1
        np.divide(1 - q**degree, 1 - q, out=geometric, where=q != 1)
        return alpha * geometric + q**degree

    return formula


def monomial_formula(frequency, degree, weights):
    return nppoly.polyval(1 - frequency, weights)


def bernstein_formula(frequency, degree, weights):
    terms = [
        max(theta, 0) * math.comb(degree, k) * (2 - frequency) ** (degree - k) * frequency**k
        for k, theta in enumerate(weights)
    ]
    return sum(terms) / 2**degree


def chebyshev_interpolation_formula(frequency, degree, values):
    """ChebNetII's Eq. (8): the double sum over the points and the polynomials, the first of them halved."""
    x = [math.cos((degree - j + 0.5) * math.pi / (degree + 1)) for j in range(degree + 1)]
    total = np.zeros_like(frequency)
    for k in range(degree + 1):
        c = sum(max(t, 0) * eval_chebyt(k, point) for t, point in zip(values, x, strict=True)) * 2 / (degree + 1)
        total += (c / 2 if k == 0 else c) * eval_chebyt(k, frequency - 1)
    return total


def jacobi_formula(a, b, alpha):
    def formula(frequency, degree, weights, gates):
        total = np.zeros((len(frequency), weights.shape[1]))
        for k in range(degree + 1):
            scale = math.prod(alpha * math.tanh(gate) for gate in gates[:k])
            total += eval_jacobi(k, a, b, 1 - frequency)[:, None] * scale * weights[k]
        return total

    return formula


def legendre_formula(frequency, degree, weights):
    return sum(weight * eval_legendre(k, 1 - frequency) for k, weight in enumerate(weights))


def released_formula(a, b, alpha):
    """JacobiConv's released recurrence on z in its own order of operations, gates inside, wrong sign included."""

    def formula(frequency, degree, weights, gates):
        z, scales = 1 - frequency, [alpha * math.tanh(gate) for gate in gates]
        terms = [np.ones_like(z), scales[0] * ((a - b) / 2 + (a + b + 2) / 2 * z)]
        for k in range(2, degree + 1):
            d = 2 * k * (k + a + b) * (2 * k - 2 + a + b)
            first = scales[k - 1] * (2 * k + a + b - 1) * (2 * k + a + b) * (2 * k + a + b - 2) / d
            second = scales[k - 1] * (2 * k + a + b - 1) * (a**2 - b**2) / d
            third = scales[k - 1] * scales[k - 2] * 2 * (k - 1 + a) * (k - 1 + b) * (2 * k + a + b) / d
            terms.append(first * z * terms[-1] - second * terms[-1] - third * terms[-2])
        return np.stack(terms, axis=1) @ weights

    return formula


def jacobi_case(a, b, alpha, *, released=False):
    sign = "released" if released else "paper"
    return pytest.param(
        "jacobiconv",
        lambda K: jacobi_filter(K, channels=CHANNELS, a=a, b=b, alpha=alpha, released=released),
        (released_formula if released else jacobi_formula)(a, b, alpha),
        id=f"jacobi({a}, {b}, {sign})",
    )


# The method, its filter of degree K, and its formula.
FAMILIES = [
    pytest.param("mlp", lambda K: identity_filter(), identity_formula, id="identity"),
    pytest.param("appnp", lambda K: pagerank_filter(K, alpha=0.1), pagerank_formula(0.1), id="pagerank(0.1)"),
    pytest.param("appnp", lambda K: pagerank_filter(K, alpha=0.9), pagerank_formula(0.9), id="pagerank(0.9)"),
    pytest.param("appnp", lambda K: pagerank_filter(K, alpha=0.0), pagerank_formula(0.0), id="pagerank(0)"),
    pytest.param("gprgnn", monomial_filter, monomial_formula, id="monomial"),
    pytest.param("bernnet", bernstein_filter, bernstein_formula, id="bernstein"),
    pytest.param("chebnetii", chebyshev_interpolation_filter, chebyshev_interpolation_formula, id="chebyshev"),
    jacobi_case(0.5, 1.5, 1.5),
    jacobi_case(1.0, -0.25, 0.5),
    jacobi_case(0.5, 1.5, 1.5, released=True),
    jacobi_case(2.0, -0.25, 0.5, released=True),
    jacobi_case(-1.0, 0.5, 1.0, released=True),
    pytest.param("legendre", legendre_filter, legendre_formula, id="legendre"),
]
WITH_SELF_LOOPS = {"appnp", "gprgnn"}


def random_parameters(g, rng):
    return {name: rng.normal(size=start.shape) for name, start in g.start.items()}


def torched(parameters):
    return {name: tensor(value) for name, value in parameters.items()}


def relative_error(got, expected):
    return float(np.abs(got.numpy() - expected).max() / max(np.abs(expected).max(), 1e-300))


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize(("method", "family", "formula"), FAMILIES)
def test_response_is_the_published_formula(method, family, formula, degree, rng):
    g = family(degree)
    parameters = random_parameters(g, rng)
    got = g.response(tensor(FREQUENCIES), torched(parameters))
    assert relative_error(got, formula(FREQUENCIES, degree, **parameters)) < 1e-11


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("tiny", TINY)
@pytest.mark.parametrize(("method", "family", "formula"), FAMILIES)
def test_filtering_equals_eigendecomposition(method, family, formula, tiny, degree, tiny_graphs, dense_laplacian, rng):
    graph, g = tiny_graphs[tiny], family(degree)
    parameters, x = random_parameters(g, rng), rng.normal(size=(graph.nodes, CHANNELS))
    # The operator is the one that the method's own network reads the graph with.
    operator = build(method, graph, dtype=torch.float64).prepare(graph).operator
    coefficients = g.coefficients(torched(parameters))[:, None]
    got = propagate(operator, tensor(x)[:, None], coefficients)[:, 0]
    frequencies, vectors = np.linalg.eigh(dense_laplacian(graph, self_loops=method in WITH_SELF_LOOPS))
    response = formula(frequencies, degree, **parameters).reshape(graph.nodes, -1)
    assert relative_error(got, vectors @ (response * (vectors.T @ x))) < 1e-10


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize(("method", "family", "formula"), FAMILIES)
def test_filter_has_its_degree_and_is_judged_at_low_and_high_frequencies(method, family, formula, degree):
    g = family(degree)
    assert g.degree == (0 if method == "mlp" else degree)
    assert float(g.points.min()) < 2 / 3
    assert float(g.points.max()) > 4 / 3


# Worked examples on the path 0-1-2 with the signal (1, 2, 4), to the digits they are published with.


def start_of(g, **changed):
    return {**g.start, **torched(changed)}


MONOMIAL, BERNSTEIN, INTERPOLATION = monomial_filter(3), bernstein_filter(2), chebyshev_interpolation_filter(2)
JACOBI = jacobi_filter(3, channels=1, a=0.5, b=1.5, alpha=1.5)
RELEASED = jacobi_filter(3, channels=1, a=0.5, b=1.5, alpha=1.5, released=True)
EXAMPLES = [
    pytest.param(
        pagerank_filter(3, alpha=0.1),
        {},
        True,
        [0.1405, -0.63675, 0.0405, -0.18225],
        [1, 0.1, -0.638],
        [1.775029, 2.555885, 2.544154],
        id="appnp",
    ),
    pytest.param(
        MONOMIAL,
        start_of(MONOMIAL, weights=[0.5, -1, 0.25, 2]),
        True,
        [0.625, -0.5, 0.125, -0.5],
        [1.75, 0.5, -0.25],
        [3.502851, 4.158748, 4.440351],
        id="gprgnn",
    ),
    pytest.param(
        BERNSTEIN,
        start_of(BERNSTEIN, weights=[1, 0.5, 2]),
        False,
        [1.25, 0.5, 0.25],
        [1, 1, 2],
        [1.542893, 1.232233, 4.542893],
        id="bernnet",
    ),
    pytest.param(
        BERNSTEIN,
        start_of(BERNSTEIN, weights=[-1, 1, 0.5]),
        False,
        [0.4375, 0.25, -0.1875],
        [0, 0.625, 0.5],
        [-0.666053, -0.383883, 1.208947],
        id="bernnet with a negative weight",
    ),
    pytest.param(
        INTERPOLATION,
        start_of(INTERPOLATION, values=[1, 0.5, 2]),
        False,
        [1.166667, 0.577350, 0.666667],
        [1.255983, 0.5, 2.410684],
        [3.016837, 1.625425, 4.516837],
        id="chebnetii",
    ),
    pytest.param(
        JACOBI,
        JACOBI.start,
        False,
        [0.933615, -2.546695, 0.556053, -1.169048],
        [5.205411, 0.377562, -2.226074],
        [8.412681, 16.116470, 9.545367],
        id="jacobiconv",
    ),
    pytest.param(
        RELEASED,
        RELEASED.start,
        False,
        None,
        [6.367341, 0.185093, -1.434846],
        [11.404959, 18.724944, 11.960237],
        id="jacobiconv released",
    ),
]


@pytest.mark.parametrize(("g", "parameters", "self_loops", "coefficients", "curve", "output"), EXAMPLES)
def test_worked_example_is_reproduced(g, parameters, self_loops, coefficients, curve, output, path):
    got = g.coefficients(parameters).reshape(-1, 1)
    if coefficients is not None:
        np.testing.assert_allclose(got[:, 0], coefficients, atol=1e-5)
    np.testing.assert_allclose(g.response(tensor([0.0, 1.0, 2.0]), parameters).flatten(), curve, atol=1e-5)
    operator = normalised_operator(path, self_loops=self_loops, dtype=torch.float64)
    filtered = propagate(operator, tensor([1.0, 2.0, 4.0]).view(3, 1, 1), got)
    np.testing.assert_allclose(filtered.flatten(), output, atol=1e-5)


def test_chebnet_ii_on_the_mirrored_operator_reproduces_its_penn94_example(path):
    operator = normalised_operator(path, self_loops=True, dtype=torch.float64)
    c = INTERPOLATION.coefficients({"values": tensor([1.0, 0.5, 2.0])}) * tensor([1.0, -1.0, 1.0])
    filtered = propagate(operator, tensor([1.0, 2.0, 4.0]).view(3, 1, 1), c[:, None])
    np.testing.assert_allclose(filtered.flatten(), [3.611743, 6.016643, 6.977768], atol=1e-5)


@pytest.mark.parametrize(
    ("z", "paper", "released"),
    [
        (1.0, [1, 1.5, 1.875, 2.1875], [1, 1.5, 2.34375, 3.390625]),
        (0.0, [1, -0.5, -0.625, 0.4375], [1, -0.5, -0.78125, 0.328125]),
        (-1.0, [1, -2.5, 4.375, -6.5625], [1, -2.5, 3.59375, -4.484375]),
    ],
)
def test_both_signs_of_jacobi_reproduce_their_worked_table(z, paper, released):
    for g, table in ((JACOBI, paper), (RELEASED, released)):
        unscaled = {"gates": tensor([math.atanh(1 / 1.5)] * 3)}
        columns = [g.response(tensor([1 - z]), {**unscaled, "weights": unit[:, None]}) for unit in tensor(np.eye(4))]
        np.testing.assert_allclose(torch.cat(columns).flatten(), table, atol=1e-12)


@pytest.mark.parametrize(("alpha", "scale"), [(0.5, 0.380797), (1, 0.761594), (1.5, 0.874174), (2, 0.924234)])
def test_jacobi_scales_start_where_they_are_published(alpha, scale):
    g = jacobi_filter(2, channels=1, a=0, b=0, alpha=alpha)
    second = {**g.start, "weights": tensor([[0.0], [1.0], [0.0]])}
    assert float(g.response(tensor([0.0]), second)) == pytest.approx(scale, abs=1e-6)


def test_appnp_weights_of_the_worked_example():
    np.testing.assert_allclose(monomial_filter(3, alpha=0.1).start["weights"], [0.1, 0.09, 0.081, 0.729], atol=1e-12)


# Identities.


@pytest.mark.parametrize("degree", DEGREES)
def test_chebnet_ii_passes_through_its_points(degree, rng):
    t = rng.uniform(0.1, 2, size=degree + 1)
    got = chebyshev_interpolation_filter(degree).response(chebyshev_points(degree), {"values": tensor(t)})
    np.testing.assert_allclose(got, t, atol=1e-12)


@pytest.mark.parametrize("degree", DEGREES)
def test_jacobi_with_minus_half_twice_is_a_scaled_chebyshev(degree):
    g = jacobi_filter(degree, channels=degree + 1, a=-0.5, b=-0.5, alpha=2)
    parameters = {"weights": tensor(np.eye(degree + 1)), "gates": tensor(np.full(degree, math.atanh(0.5)))}
    k = np.arange(degree + 1)
    expected = [math.comb(2 * i, i) / 4**i for i in k] * npcheb.chebvander(1 - FREQUENCIES, degree)
    np.testing.assert_allclose(g.response(tensor(FREQUENCIES), parameters), expected, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("steps", DEGREES)
def test_appnp_equals_its_iteration(steps, alpha, random_graph, dense_laplacian, rng):
    h = rng.normal(size=(40, 2))
    adjacency = np.eye(40) - dense_laplacian(random_graph, self_loops=True)
    z = h
    for _ in range(steps):
        z = (1 - alpha) * adjacency @ z + alpha * h
    operator = normalised_operator(random_graph, self_loops=True, dtype=torch.float64)
    got = propagate(operator, tensor(h)[:, None], pagerank_filter(steps, alpha=alpha).coefficients({})[:, None])
    np.testing.assert_allclose(got[:, 0], z, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("degree", DEGREES)
def test_gprgnn_starts_as_appnp(degree, alpha):
    gprgnn, appnp = monomial_filter(degree, alpha=alpha), pagerank_filter(degree, alpha=alpha)
    assert torch.equal(gprgnn.coefficients(gprgnn.start), appnp.coefficients({}))
    assert float(appnp.response(tensor([0.0]), {})) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("degree", DEGREES)
def test_bernstein_with_equal_weights_is_constant(degree):
    got = bernstein_filter(degree).response(tensor(FREQUENCIES), {"weights": tensor([0.7] * (degree + 1))})
    np.testing.assert_allclose(got, 0.7, atol=1e-13)


@pytest.mark.parametrize("family", [bernstein_filter, chebyshev_interpolation_filter, legendre_filter])
def test_bernnet_chebnet_ii_and_legendre_start_as_an_mlp(family):
    g = family(10)
    np.testing.assert_allclose(g.response(tensor(FREQUENCIES), g.start), 1, atol=1e-13)


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (-0.5, -0.5), (1.0, -1.0)])
def test_both_signs_of_jacobi_agree_where_the_exponents_have_equal_squares(a, b, rng):
    paper, released = (jacobi_filter(8, channels=2, a=a, b=b, released=sign) for sign in (False, True))
    parameters = torched(random_parameters(paper, rng))
    assert torch.equal(paper.coefficients(parameters), released.coefficients(parameters))


# Populations and gradients.


@pytest.mark.parametrize(("method", "family", "formula"), FAMILIES)
def test_population_of_parameters_equals_its_members(method, family, formula, rng):
    g = family(5)
    if not g.start:
        return
    members = [random_parameters(g, rng) for _ in range(4)]
    together = {name: tensor(np.stack([member[name] for member in members], axis=1)) for name in g.start}
    response = g.response(tensor(FREQUENCIES), together)
    for p, member in enumerate(members):
        np.testing.assert_allclose(response[:, p], formula(FREQUENCIES, 5, **member), atol=1e-10)


@pytest.mark.parametrize("population", [None, 2], ids=["single", "population"])
@pytest.mark.parametrize(("method", "family", "formula"), FAMILIES)
def test_gradients_match_finite_differences(method, family, formula, population, rng):
    g, frequency = family(4), tensor([0.1, 0.9, 1.7])
    shapes = [s.shape if population is None else (s.shape[0], population, *s.shape[1:]) for s in g.start.values()]
    parameters = tuple(tensor(rng.normal(size=shape)).requires_grad_() for shape in shapes)
    if parameters:
        assert torch.autograd.gradcheck(
            lambda *raw: g.response(frequency, dict(zip(g.start, raw, strict=True))), parameters
        )


def test_gradients_reach_signals_weights_and_gates_through_the_kernel(path, rng):
    operator = normalised_operator(path, dtype=torch.float64)
    g = jacobi_filter(3, channels=2, a=0.5, b=1.5, alpha=1.5)
    shapes = [(3, 2, 2), (4, 2, 2), (3, 2)]  # two members of two channels each
    x, weights, gates = (tensor(rng.normal(size=shape)).requires_grad_() for shape in shapes)

    def filtered(x, weights, gates):
        return propagate(operator, x, g.coefficients({"weights": weights, "gates": gates}))

    assert torch.autograd.gradcheck(filtered, (x, weights, gates))
    assert all((torch.autograd.grad(filtered(x, weights, gates).sum(), gates)[0] != 0).flatten())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pagerank_filter(0), "degree K must be at least 1"),
        (lambda: monomial_filter(-1), "degree K must be at least 1"),
        (lambda: bernstein_filter(2.5), "whole, got 2.5"),
        (lambda: chebyshev_interpolation_filter(0), "degree K must be at least 1"),
        (lambda: legendre_filter(0), "degree K must be at least 1"),
        (lambda: jacobi_filter(0, channels=2), "degree K must be at least 1"),
        (lambda: pagerank_filter(3, alpha=1.1), "alpha must be between 0 and 1, got 1.1"),
        (lambda: monomial_filter(3, alpha=-0.1), "alpha must be between 0 and 1"),
        (lambda: monomial_filter(3, alpha=math.nan), "alpha must be between 0 and 1"),
        (lambda: jacobi_filter(3, channels=2, alpha=0), "alpha must be above 0"),
        (lambda: jacobi_filter(3, channels=2, alpha=math.inf), "alpha must be above 0 and finite"),
        (lambda: jacobi_filter(3, channels=0), "channels must be at least 1, got 0"),
        (lambda: jacobi_filter(3, channels=2, a=math.nan), "must be finite"),
        (lambda: jacobi_filter(3, channels=2, a=-1, b=-1), "no three-term recurrence"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "filter",
    [
        newton_filter(equispaced(4)),
        newton_filter(chebyshev_points(4), nonnegative=False),
        newton_filter(equispaced(4), channels=CHANNELS),
        bernstein_filter(4),
        chebyshev_interpolation_filter(4),
        monomial_filter(4),
        legendre_filter(4),
        jacobi_filter(4, channels=CHANNELS),
    ],
    ids=lambda filter: filter.name,
)
def test_autograd_differentiates_the_amplitudes(filter, rng):
    def draw(start):
        shape = (len(start), 2, *start.shape[1:])
        return tensor(rng.standard_normal(shape)).requires_grad_()

    parameters = {name: draw(start) for name, start in filter.start.items()}
    amplitudes = filter.amplitudes(parameters)
    slope = tensor(rng.standard_normal(amplitudes.shape))
    found = torch.autograd.grad(amplitudes, list(parameters.values()), slope)
    ours = dict(zip(parameters, found, strict=True))
    for name, parameter in parameters.items():
        moved = tensor(rng.standard_normal(parameter.shape))
        ends = [filter.amplitudes(parameters | {name: parameter + step * moved}) for step in (1e-6, -1e-6)]
        expected = float((slope * (ends[0] - ends[1])).sum().detach()) / 2e-6
        assert float((ours[name] * moved).sum()) == pytest.approx(expected, rel=1e-5, abs=1e-7)
