"""A filter's response against independent interpolation, and the laws of its parameters."""

import math

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev as npcheb
from scipy.interpolate import BarycentricInterpolator

from newtonnet.polynomials import (
    Filter,
    bernstein,
    chebyshev_points,
    equispaced,
    lagrange_matrix,
    newton_filter,
    to_chebyshev,
)

DEGREES = [1, 2, 5, 8, 11, 14, 20, 30]


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.fixture
def bernstein_filter():
    """BernNet's filter of degree 2, built by hand: another filter than Newton's through the same class."""
    return Filter(
        name="bernstein",
        start={"theta": torch.ones(3, dtype=torch.float64)},
        link=lambda parameters: torch.relu(parameters["theta"]),
        matrix=to_chebyshev(lambda frequency: bernstein(frequency / 2, 2), 2),
        points=equispaced(2),
    )


@pytest.mark.parametrize("order", ["ascending", "shuffled"])
@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
@pytest.mark.parametrize("degree", DEGREES)
def test_response_passes_through_its_points(points, degree, order, rng):
    q = points(degree)
    q = q[torch.from_numpy(rng.permutation(degree + 1))] if order == "shuffled" else q
    t = torch.from_numpy(rng.normal(size=degree + 1))
    got = newton_filter(q, nonnegative=False).response(q, {"values": t})
    # 31 equispaced points amplify roundings by 7e6, Chebyshev's by 3.
    np.testing.assert_allclose(got.numpy(), t.numpy(), rtol=0, atol=max(1e-12, 1e-14 * newton_filter(q).condition()))


@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
@pytest.mark.parametrize("degree", DEGREES)
def test_response_matches_scipys_interpolant_between_the_points(points, degree, rng):
    q, t, frequency = points(degree), rng.normal(size=degree + 1), rng.uniform(0, 2, size=50)
    expected = BarycentricInterpolator(q.numpy(), t, rng=0)(frequency)
    got = newton_filter(q, nonnegative=False).response(torch.from_numpy(frequency), {"values": torch.from_numpy(t)})
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("degree", [2, 5, 14])
def test_response_evaluates_the_coefficients_as_numpy_does(degree, rng):
    g, parameters = newton_filter(equispaced(degree)), {"values": torch.from_numpy(rng.random(degree + 1))}
    frequency = rng.uniform(0, 2, size=20)
    expected = npcheb.chebval(frequency - 1, g.coefficients(parameters).numpy())
    np.testing.assert_allclose(g.response(torch.from_numpy(frequency), parameters).numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [5, 2, 0, 3, 1, 4]])
def test_order_of_the_points_does_not_change_the_curve(order, rng):
    q, t = equispaced(5), torch.from_numpy(rng.normal(size=6))
    frequency = torch.linspace(0, 2, 31, dtype=torch.float64)
    plain = newton_filter(q, nonnegative=False).response(frequency, {"values": t})
    permuted = newton_filter(q[order], nonnegative=False).response(frequency, {"values": t[order]})
    np.testing.assert_allclose(permuted.numpy(), plain.numpy(), atol=1e-13)


@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
@pytest.mark.parametrize("degree", DEGREES)
def test_filter_starts_as_the_identity(points, degree):
    g = newton_filter(points(degree))
    expected = np.eye(degree + 1)[0]
    np.testing.assert_allclose(g.coefficients(g.start).numpy(), expected, atol=1e-15 * g.condition() * degree**2)


def test_points_are_the_papers_when_none_are_given():
    np.testing.assert_allclose(newton_filter().points.numpy(), [0, 0.4, 0.8, 1.2, 1.6, 2.0], atol=1e-15)


def test_nonnegative_filter_reads_a_negative_value_as_zero(rng):
    frequency, t = torch.from_numpy(rng.uniform(0, 2, size=9)), tensor([-1.0, 0.5, 2.0])
    expected = BarycentricInterpolator([0.0, 1.0, 2.0], [0.0, 0.5, 2.0], rng=0)(frequency.numpy())
    np.testing.assert_allclose(newton_filter(equispaced(2)).response(frequency, {"values": t}), expected, atol=1e-14)


def test_free_filter_keeps_a_negative_value():
    got = newton_filter(equispaced(2), nonnegative=False).response(tensor([0.0]), {"values": tensor([-1.0, 0.5, 2.0])})
    assert float(got) == pytest.approx(-1.0)


def test_relu_blocks_the_gradient_of_a_negative_value():
    t = tensor([-1.0, 0.5, 2.0]).requires_grad_()
    newton_filter(equispaced(2)).coefficients({"values": t}).square().sum().backward()
    assert (t.grad != 0).tolist() == [False, True, True]


@pytest.mark.parametrize("shape", [(4,), (4, 3)], ids=["per member", "per member and channel"])
def test_population_of_parameters_equals_its_members(shape, rng):
    g, t = newton_filter(), rng.normal(size=(6, *shape))
    frequency = torch.linspace(0, 2, 7, dtype=torch.float64)
    population = g.response(frequency, {"values": torch.from_numpy(t)}).numpy()
    for member in np.ndindex(*shape):
        alone = g.response(frequency, {"values": torch.from_numpy(t[(slice(None), *member)])})
        np.testing.assert_allclose(population[(slice(None), *member)], alone.numpy(), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_coefficients_have_the_parameters_type(dtype):
    assert newton_filter().coefficients({"values": torch.ones(6, 2, dtype=dtype)}).dtype == dtype


@pytest.mark.parametrize("nonnegative", [True, False])
def test_response_has_the_right_gradient(nonnegative, rng):
    g = newton_filter(chebyshev_points(4), nonnegative=nonnegative)
    t = torch.from_numpy(rng.normal(size=(5, 2))).requires_grad_()
    frequency = torch.from_numpy(rng.uniform(0, 2, size=4)).requires_grad_()
    assert torch.autograd.gradcheck(lambda f, values: g.response(f, {"values": values}), (frequency, t))


@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
@pytest.mark.parametrize("degree", DEGREES)
def test_condition_of_an_interpolating_filter_is_its_lebesgue_constant(points, degree):
    q = points(degree)
    expected = lagrange_matrix(q, torch.linspace(0, 2, 2001, dtype=torch.float64)).abs().sum(dim=1).max().item()
    assert newton_filter(q).condition() == pytest.approx(expected, rel=1e-8)


def test_condition_of_bernsteins_filter_is_one(bernstein_filter):
    # The basis is nonnegative and sums to one, so no error grows.
    assert bernstein_filter.condition() == pytest.approx(1.0, rel=1e-12)


def test_condition_bounds_what_an_error_of_the_values_does(rng):
    g, frequency = newton_filter(equispaced(8), nonnegative=False), torch.linspace(0, 2, 401, dtype=torch.float64)
    noise = torch.from_numpy(rng.uniform(-1, 1, size=(9, 500)))
    grown = g.response(frequency, {"values": noise}).abs().max(dim=0).values / noise.abs().max(dim=0).values
    assert float(grown.max()) <= g.condition() * (1 + 1e-9)


def test_degree_is_the_number_of_points_less_one():
    assert newton_filter([0.0, 0.3, 1.9]).degree == 2


@pytest.mark.parametrize(
    ("theta", "curve", "coefficients"),
    [
        ([1.0, 0.5, 2.0], [1.0, 1.0, 2.0], [1.25, 0.5, 0.25]),
        ([-1.0, 1.0, 0.5], [0.0, 0.625, 0.5], [0.4375, 0.25, -0.1875]),
    ],
)
def test_bernnet_reproduces_its_worked_example(bernstein_filter, theta, curve, coefficients):
    parameters = {"theta": tensor(theta)}
    np.testing.assert_allclose(bernstein_filter.response(tensor([0.0, 1.0, 2.0]), parameters), curve, atol=1e-14)
    np.testing.assert_allclose(bernstein_filter.coefficients(parameters), coefficients, atol=1e-14)


def test_chebnet_ii_reproduces_its_worked_example():
    g, parameters = newton_filter(chebyshev_points(2)), {"values": tensor([1.0, 0.5, 2.0])}
    np.testing.assert_allclose(g.points, [0.133975, 1.0, 1.866025], atol=1e-6)
    np.testing.assert_allclose(g.coefficients(parameters), [7 / 6, 1 / math.sqrt(3), 2 / 3], atol=1e-14)
    np.testing.assert_allclose(g.response(tensor([0.0, 1.0, 2.0]), parameters), [1.255983, 0.5, 2.410684], atol=1e-6)


@pytest.mark.parametrize(
    ("points", "word"), [([0.0], "at least 2"), ([0.0, 3.0], "spectrum"), ([1.0, 1.0], "distinct")]
)
def test_points_that_cannot_carry_a_filter_are_refused(points, word):
    with pytest.raises(ValueError, match=word):
        newton_filter(points)


@pytest.mark.parametrize("nonnegative", [True, False])
def test_values_of_unit_norm_are_a_shape_without_a_scale(nonnegative):
    filter = newton_filter(equispaced(3), nonnegative=nonnegative, unit=True)
    values = torch.tensor([[1.0], [-2.0], [3.0], [0.0]], dtype=torch.float64)
    shape = filter.amplitudes({"values": values})
    torch.testing.assert_close(shape.square().mean(), torch.tensor(1.0, dtype=torch.float64))
    torch.testing.assert_close(filter.amplitudes({"values": 7 * values}), shape)
    torch.testing.assert_close(filter.amplitudes({"values": torch.ones_like(values)}), torch.ones_like(values))
    assert filter.amplitudes({"values": torch.zeros_like(values)}).isfinite().all()
