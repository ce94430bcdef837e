"""Newton's and Lagrange's forms against exact rational arithmetic, scipy and known polynomials."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from scipy.interpolate import BarycentricInterpolator, KroghInterpolator

from newtonnet.polynomials import (
    chebyshev_points,
    divided_differences,
    equispaced,
    lagrange_matrix,
    leja_order,
    newton_filter,
    newton_polynomial,
)

DEGREES = [1, 2, 5, 8, 11, 14, 20, 30]


def exact_differences(points, values):
    """g[q_0..q_k] from the recursive definition, one entry at a time, in rational numbers."""
    q, t = [Fraction(float(v)) for v in points], [Fraction(float(v)) for v in values]

    def difference(i, j):
        return t[i] if i == j else (difference(i + 1, j) - difference(i, j - 1)) / (q[j] - q[i])

    return np.array([float(difference(0, k)) for k in range(len(q))])


def relative_error(got, expected):
    got, expected = np.asarray(got, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    return float(np.abs(got - expected).max() / np.abs(expected).max())


def shuffled(points, rng):
    return points[torch.from_numpy(rng.permutation(len(points)))]


@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
@pytest.mark.parametrize("degree", [1, 2, 3, 5, 8])
def test_divided_differences_match_their_recursive_definition(points, degree, rng):
    q, t = shuffled(points(degree), rng), rng.normal(size=degree + 1)
    assert relative_error(divided_differences(q, torch.from_numpy(t)), exact_differences(q, t)) < 1e-12


@pytest.mark.parametrize("degree", [2, 5, 8])
def test_last_divided_difference_is_the_leading_coefficient(degree, rng):
    q = shuffled(equispaced(degree), rng)
    power = divided_differences(q, 3.0 * q**degree)
    assert float(power[-1]) == pytest.approx(3.0, rel=1e-10)


def test_divided_differences_of_a_lower_degree_polynomial_end_in_zeros(rng):
    q = shuffled(equispaced(7), rng)
    # g = 1 + q^2 has g[q0, q1, q2] = 1 and nothing above.
    coefficients = divided_differences(q, 1 + q**2)
    np.testing.assert_allclose(coefficients[2:].numpy(), [1, 0, 0, 0, 0, 0], atol=1e-10)


def test_divided_differences_of_the_exponential_at_equal_steps_have_a_closed_form():
    # Forward differences: g[q_0..q_k] = (e^h - 1)^k / (k! h^k) for g = exp and q_i = i h.
    h, q = 0.4, equispaced(5)
    expected = [(math.exp(h) - 1) ** k / (math.factorial(k) * h**k) for k in range(6)]
    np.testing.assert_allclose(divided_differences(q, q.exp()).numpy(), expected, rtol=1e-11)


def test_divided_differences_are_linear_in_the_values(rng):
    q, s, t = equispaced(6), torch.from_numpy(rng.normal(size=7)), torch.from_numpy(rng.normal(size=7))
    together = divided_differences(q, 2 * s - 3 * t)
    apart = 2 * divided_differences(q, s) - 3 * divided_differences(q, t)
    assert relative_error(together, apart) < 1e-12


def test_divided_differences_of_a_population_equal_its_members(rng):
    q, t = equispaced(5), torch.from_numpy(rng.normal(size=(4, 3, 6)))
    population = divided_differences(q, t)
    members = [[divided_differences(q, t[i, j]).tolist() for j in range(3)] for i in range(4)]
    np.testing.assert_array_equal(population.numpy(), np.array(members))


def test_divided_differences_have_the_right_gradient(rng):
    t = torch.from_numpy(rng.normal(size=(2, 5))).requires_grad_()
    assert torch.autograd.gradcheck(lambda values: divided_differences(chebyshev_points(4), values), t)


@pytest.mark.parametrize("degree", [1, 2, 5, 8, 11, 14])
@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
def test_newton_polynomial_matches_krogh(points, degree, rng):
    q, t = points(degree)[leja_order(points(degree))], rng.normal(size=degree + 1)
    at = np.linspace(0, 2, 41)
    got = newton_polynomial(q, divided_differences(q, torch.from_numpy(t)), torch.from_numpy(at))
    assert relative_error(got, KroghInterpolator(q.numpy(), t)(at)) < 1e-10


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
def test_newton_polynomial_passes_through_its_points(points, degree, rng):
    q, t = points(degree)[leja_order(points(degree))], torch.from_numpy(rng.normal(size=degree + 1))
    got = newton_polynomial(q, divided_differences(q, t), q)
    np.testing.assert_allclose(got.numpy(), t.numpy(), atol=1e-8)


def test_newton_polynomial_is_the_sum_of_its_products():
    # 2 + 3 (l - 1) - 4 (l - 1)(l - 0.5) written out.
    at = torch.tensor([[0.0, 0.25], [1.5, 2.0]], dtype=torch.float64)
    got = newton_polynomial(torch.tensor([1.0, 0.5, 9.0]), torch.tensor([2.0, 3.0, -4.0]), at)
    expected = 2 + 3 * (at - 1) - 4 * (at - 1) * (at - 0.5)
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-14)


def test_newton_polynomial_has_the_right_gradient_in_every_coefficient(rng):
    q, at = equispaced(4), torch.tensor([0.3, 1.1, 1.9], dtype=torch.float64)
    coefficients = torch.from_numpy(rng.normal(size=5)).requires_grad_()
    assert torch.autograd.gradcheck(lambda a: newton_polynomial(q, a, at), coefficients)


@pytest.mark.parametrize(("points", "gain"), [(equispaced, 20), (chebyshev_points, 1e4)])
def test_leja_order_keeps_digits_that_the_natural_order_loses_in_float32(points, gain, rng):
    q, t, at = points(20), rng.normal(size=21).astype(np.float32), np.linspace(0, 2, 101)
    truth = BarycentricInterpolator(q.numpy(), t.astype(np.float64), rng=0)(at)
    values = torch.from_numpy(t)

    def error(order):
        ordered = q[order].float()
        coefficients = divided_differences(ordered, values[order])
        return relative_error(newton_polynomial(ordered, coefficients, torch.from_numpy(at).float()), truth)

    leja, natural = error(leja_order(q)), error(torch.arange(21))
    assert leja < 1e-5
    assert natural > gain * leja


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
def test_lagrange_matrix_matches_scipys_barycentric_interpolator(points, degree, rng):
    q, at = shuffled(points(degree), rng), np.linspace(0.013, 1.987, 37)
    expected = BarycentricInterpolator(q.numpy(), np.eye(degree + 1), rng=0)(at)
    assert relative_error(lagrange_matrix(q, torch.from_numpy(at)), expected) < 1e-8


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
def test_lagrange_matrix_at_the_points_is_the_identity(points, degree, rng):
    q = shuffled(points(degree), rng)
    np.testing.assert_array_equal(lagrange_matrix(q, q).numpy(), np.eye(degree + 1))


@pytest.mark.parametrize("degree", [5, 20, 30])
def test_lagrange_matrix_is_exact_to_a_few_roundings_of_each_entry(degree):
    q, at = equispaced(degree), torch.tensor([0.31, 1.07, 1.96], dtype=torch.float64)
    exact = [Fraction(float(v)) for v in q]
    for i, row in enumerate(lagrange_matrix(q, at).tolist()):
        x = Fraction(float(at[i]))
        for j, entry in enumerate(row):
            expected = math.prod((x - p) / (exact[j] - p) for p in exact if p != exact[j])
            assert entry == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize("degree", DEGREES)
def test_lagrange_matrix_reproduces_constants(degree, rng):
    at = torch.from_numpy(rng.uniform(0, 2, size=50))
    np.testing.assert_allclose(lagrange_matrix(chebyshev_points(degree), at).sum(dim=1).numpy(), 1, atol=1e-12)


@pytest.mark.parametrize("degree", DEGREES)
def test_lebesgue_constant_of_chebyshev_points_has_its_closed_form(degree):
    # Rivlin: the largest value is taken at the ends and is a sum of cotangents.
    angles = (np.arange(degree + 1) + 0.5) * np.pi / (2 * (degree + 1))
    assert newton_filter(chebyshev_points(degree)).condition(4001) == pytest.approx(
        np.mean(1 / np.tan(angles)), rel=1e-10
    )


@pytest.mark.parametrize("degree", [2, 5, 8, 11])
def test_lebesgue_constant_is_the_largest_growth_of_signed_values(degree):
    q, grid = equispaced(degree), np.linspace(0, 2, 4001)
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * (degree + 1))).reshape(degree + 1, -1)[:, : 2**degree]
    worst = np.abs(BarycentricInterpolator(q.numpy(), signs, rng=0)(grid[:2000:8])).max()
    assert newton_filter(q).condition(4001) == pytest.approx(worst, rel=1e-3)


@pytest.mark.parametrize(
    ("points", "degree", "expected"),
    [(equispaced, 2, 1.25), (equispaced, 5, 3.106), (equispaced, 20, 1.0987e4), (chebyshev_points, 20, 2.9)],
)
def test_lebesgue_constants_are_the_published_ones(points, degree, expected):
    assert newton_filter(points(degree)).condition(4001) == pytest.approx(expected, rel=1e-2)
