"""Every basis against a closed form of numpy or scipy, and the changes of basis against published matrices."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from numpy.polynomial import Chebyshev, Legendre
from numpy.polynomial import chebyshev as npcheb
from numpy.polynomial.polynomial import polyvander
from scipy.interpolate import BarycentricInterpolator
from scipy.special import binom, eval_chebyt, eval_jacobi
from scipy.stats import binom as binomial

from newtonnet.polynomials import (
    bernstein,
    chebyshev,
    chebyshev_points,
    equispaced,
    jacobi,
    monomial,
    newton,
    newton_filter,
    to_chebyshev,
)

DEGREES = [1, 2, 3, 5, 10, 20, 30]
# The settings published for JacobiConv, except actor's a = -1, which is outside the Jacobi family.
EXPONENTS = [(2, -0.25), (-0.5, -0.5), (1.5, 0.25), (0, 0), (0.5, 0.25), (-0.5, 0), (-0.75, 0.25), (0.5, 1.5)]

Z = np.concatenate([[-1.0, 0.0, 1.0], np.random.default_rng(3).uniform(-1, 1, size=30)])


def exact_products(x, points):
    """Products of (x - q_i) in rational numbers, shape (m, K+1)."""
    q = [Fraction(float(v)) for v in points]
    return np.array([[float(math.prod(Fraction(float(v)) - r for r in q[:k])) for k in range(len(q))] for v in x])


CLOSED_FORMS = [
    pytest.param(lambda x, K: monomial(x, K), polyvander, id="monomial"),
    pytest.param(lambda x, K: chebyshev(x, K), lambda z, K: eval_chebyt(np.arange(K + 1), z[:, None]), id="chebyshev"),
    pytest.param(
        lambda x, K: chebyshev(x, K), lambda z, K: np.cos(np.arange(K + 1) * np.arccos(z)[:, None]), id="cosines"
    ),
    pytest.param(
        lambda x, K: newton(1 + x, equispaced(K)),
        lambda z, K: exact_products(1 + z, 2 * np.arange(K + 1) / K),
        id="newton",
    ),
    pytest.param(
        lambda x, K: bernstein((1 + x) / 2, K),
        lambda z, K: binomial.pmf(np.arange(K + 1), K, (1 + z[:, None]) / 2),
        id="bernstein",
    ),
    *(
        pytest.param(
            lambda x, K, a=a, b=b: jacobi(x, K, a=a, b=b),
            lambda z, K, a=a, b=b: eval_jacobi(np.arange(K + 1), a, b, z[:, None]),
            id=f"jacobi({a}, {b})",
        )
        for a, b in EXPONENTS
    ),
]


@pytest.mark.parametrize("degree", DEGREES)
@pytest.mark.parametrize(("basis", "closed_form"), CLOSED_FORMS)
def test_basis_matches_its_closed_form(basis, closed_form, degree):
    expected = closed_form(Z, degree)
    scale = np.abs(expected).max(axis=0)
    np.testing.assert_allclose(basis(torch.from_numpy(Z), degree).numpy() / scale, expected / scale, atol=1e-11)


@pytest.mark.parametrize(
    ("z", "expected"),
    [(1.0, [1, 1.5, 1.875, 2.1875]), (0.0, [1, -0.5, -0.625, 0.4375]), (-1.0, [1, -2.5, 4.375, -6.5625])],
)
def test_jacobi_reproduces_the_worked_table(z, expected):
    got = jacobi(torch.tensor([z], dtype=torch.float64), 3, a=0.5, b=1.5)
    np.testing.assert_allclose(got.numpy()[0], expected, atol=1e-14)


def test_jacobi_with_minus_half_twice_is_a_scaled_chebyshev():
    k = np.arange(31)
    expected = eval_chebyt(k, Z[:, None]) * binom(2 * k, k) / 4.0**k
    np.testing.assert_allclose(jacobi(torch.from_numpy(Z), 30, a=-0.5, b=-0.5).numpy(), expected, atol=1e-12)


def test_jacobi_mirrors_when_its_exponents_swap():
    got = jacobi(torch.from_numpy(-Z), 12, a=0.5, b=1.5).numpy()
    swapped = jacobi(torch.from_numpy(Z), 12, a=1.5, b=0.5).numpy()
    np.testing.assert_allclose(got, swapped * (-1.0) ** np.arange(13), atol=1e-12)


def test_jacobi_with_an_exponent_of_minus_one_still_follows_the_explicit_sum():
    # sum_s binom(k+a, k-s) binom(k+b, s) ((z-1)/2)^s ((z+1)/2)^(k-s) for (a, b) = (-1, 1/2) by hand:
    # P_1 = 3/4 (z - 1), P_2 = 5/32 (z - 1)(7z + 1).
    z = torch.from_numpy(Z)
    got = jacobi(z, 2, a=-1.0, b=0.5)
    expected = torch.stack([torch.ones_like(z), 0.75 * (z - 1), 5 / 32 * (z - 1) * (7 * z + 1)], dim=1)
    np.testing.assert_allclose(got.numpy(), expected.numpy(), atol=1e-14)


@pytest.mark.parametrize(("a", "b"), [(-1.0, -1.0), (-1.5, -1.5), (-2.5, -1.5)])
def test_jacobi_without_a_recurrence_is_refused(a, b):
    with pytest.raises(ValueError, match="recurrence"):
        jacobi(torch.zeros(1), 4, a=a, b=b)


@pytest.mark.parametrize("degree", [1, 2, 5, 30])
def test_newton_polynomial_k_vanishes_at_the_points_before_k(degree):
    values = newton(equispaced(degree), equispaced(degree)).numpy()
    np.testing.assert_array_equal(values == 0, np.triu(np.ones_like(values), 1))


@pytest.mark.parametrize("degree", [1, 2, 5, 10, 30])
def test_bernstein_polynomials_sum_to_one(degree):
    s = torch.linspace(0, 1, 23, dtype=torch.float64)
    np.testing.assert_allclose(bernstein(s, degree).sum(dim=1).numpy(), 1, atol=1e-13)


@pytest.mark.parametrize(
    "basis",
    [
        lambda x: monomial(x, 6),
        lambda x: chebyshev(x, 6),
        lambda x: newton(x, equispaced(6)),
        lambda x: bernstein(x, 6),
        lambda x: jacobi(x, 6, a=0.5, b=1.5),
    ],
    ids=["monomial", "chebyshev", "newton", "bernstein", "jacobi"],
)
def test_basis_has_the_right_gradient(basis):
    x = torch.tensor([0.17, 0.55, 0.92], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(basis, x)


@pytest.mark.parametrize("degree", DEGREES)
def test_chebyshev_basis_changes_into_itself(degree):
    got = to_chebyshev(lambda frequency: chebyshev(frequency - 1, degree), degree)
    np.testing.assert_allclose(got.numpy(), np.eye(degree + 1), atol=1e-13)


@pytest.mark.parametrize("degree", DEGREES)
def test_powers_of_the_centred_frequency_change_as_in_numpy(degree):
    got = to_chebyshev(lambda frequency: monomial(frequency - 1, degree), degree).numpy()
    for m in range(degree + 1):
        expected = np.zeros(degree + 1)
        expected[: m + 1] = npcheb.poly2cheb(np.eye(degree + 1)[m])[: m + 1]
        np.testing.assert_allclose(got[:, m], expected, atol=1e-13)


@pytest.mark.parametrize("degree", DEGREES)
def test_powers_of_the_frequency_change_by_binomials(degree):
    # l^m = (2 cos^2(theta / 2))^m = 2^-m binom(2m, m) + 2^(1-m) sum_k binom(2m, m-k) cos(k theta).
    got = to_chebyshev(lambda frequency: monomial(frequency, degree), degree).numpy()
    for m in range(degree + 1):
        expected = [(2 - (k == 0)) * math.comb(2 * m, m - k) / 2**m if k <= m else 0.0 for k in range(degree + 1)]
        np.testing.assert_allclose(got[:, m], expected, atol=1e-12 * 2.0**m)


@pytest.mark.parametrize("degree", DEGREES)
def test_powers_of_the_adjacency_change_by_the_closed_form_of_gprgnn(degree):
    # With z = 1 - l: c_k = (-1)^k 2^(1-m) binom(m, (m-k)/2) for m - k even and not negative, halved for k = 0.
    got = to_chebyshev(lambda frequency: monomial(1 - frequency, degree), degree).numpy()
    expected = np.zeros((degree + 1, degree + 1))
    for m in range(degree + 1):
        for k in range(m % 2, m + 1, 2):
            expected[k, m] = (-1) ** k * 2.0 ** (1 - m) * math.comb(m, (m - k) // 2) / (1 + (k == 0))
    np.testing.assert_allclose(got, expected, atol=1e-13)


@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
@pytest.mark.parametrize("degree", DEGREES)
def test_newton_basis_changes_as_numpys_polynomials_from_roots(points, degree):
    q = points(degree)
    got = to_chebyshev(lambda frequency: newton(frequency, q), degree).numpy()
    for k in range(degree + 1):
        expected = np.zeros(degree + 1)
        expected[: k + 1] = npcheb.chebfromroots(q.numpy()[:k] - 1)
        np.testing.assert_allclose(got[:, k], expected, atol=1e-12 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("degree", [1, 2, 3, 5, 10])
def test_legendre_basis_changes_as_in_numpy(degree):
    got = to_chebyshev(lambda frequency: jacobi(frequency - 1, degree, a=0, b=0), degree).numpy()
    for k in range(degree + 1):
        expected = Legendre.basis(k).convert(kind=Chebyshev).coef
        np.testing.assert_allclose(got[: len(expected), k], expected, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), EXPONENTS)
def test_jacobi_basis_changes_as_numpy_interpolates_scipy(a, b):
    got = to_chebyshev(lambda frequency: jacobi(frequency - 1, 30, a=a, b=b), 30).numpy()
    for k in range(31):
        expected = npcheb.chebinterpolate(lambda z, k=k: eval_jacobi(k, a, b, z), 40)[:31]
        np.testing.assert_allclose(got[:, k], expected, atol=1e-12 * np.abs(expected).max())


def test_bernnet_matrix_of_degree_two_is_the_published_one():
    got = to_chebyshev(lambda frequency: bernstein(frequency / 2, 2), 2)
    np.testing.assert_allclose(
        got.numpy(), [[0.375, 0.25, 0.375], [-0.5, 0, 0.5], [0.125, -0.25, 0.125]], rtol=0, atol=1e-15
    )


@pytest.mark.parametrize("degree", DEGREES)
def test_bernstein_coefficients_give_the_same_curve_after_the_change(degree, rng):
    theta = rng.random(degree + 1)
    c = to_chebyshev(lambda frequency: bernstein(frequency / 2, degree), degree).numpy() @ theta
    expected = binomial.pmf(np.arange(degree + 1), degree, (1 + Z[:, None]) / 2) @ theta
    np.testing.assert_allclose(npcheb.chebval(Z, c), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("gammas", "expected"),
    [
        ([0.5, -1.0, 0.25, 2.0], [0.625, -0.5, 0.125, -0.5]),
        ([0.1, 0.09, 0.081, 0.729], [0.1405, -0.63675, 0.0405, -0.18225]),
    ],
    ids=["GPRGNN", "APPNP"],
)
def test_worked_coefficients_of_adjacency_powers_are_reproduced(gammas, expected):
    c = to_chebyshev(lambda frequency: monomial(1 - frequency, 3), 3) @ torch.tensor(gammas, dtype=torch.float64)
    np.testing.assert_allclose(c, expected, atol=1e-14)


def test_worked_coefficients_of_jacobi_conv_are_reproduced():
    scale = 1.5 * math.tanh(2 / 3)
    matrix = to_chebyshev(lambda frequency: jacobi(1 - frequency, 3, a=0.5, b=1.5), 3)
    c = matrix @ torch.tensor([1, scale, scale**2, scale**3], dtype=torch.float64)
    np.testing.assert_allclose(c, [0.933615, -2.546695, 0.556053, -1.169048], atol=1e-6)


def test_chebnet_ii_matrix_of_degree_two_is_the_published_one():
    third, root = 1 / 3, 1 / math.sqrt(3)
    np.testing.assert_allclose(
        newton_filter(chebyshev_points(2)).matrix.numpy(),
        [[third, third, third], [-root, 0, root], [third, -2 * third, third]],
        rtol=0,
        atol=1e-15,
    )


@pytest.mark.parametrize("degree", DEGREES)
def test_values_at_chebyshev_points_change_by_the_closed_form_of_chebnet_ii(degree):
    k, j = np.meshgrid(np.arange(degree + 1), np.arange(degree + 1), indexing="ij")
    expected = (2 - (k == 0)) / (degree + 1) * np.cos(k * (degree - j + 0.5) * np.pi / (degree + 1))
    np.testing.assert_allclose(newton_filter(chebyshev_points(degree)).matrix.numpy(), expected, atol=1e-13)


@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
@pytest.mark.parametrize("degree", DEGREES)
def test_values_change_into_the_curve_that_scipy_draws_through_them(points, degree, rng):
    q, t = points(degree)[torch.from_numpy(rng.permutation(degree + 1))], rng.normal(size=degree + 1)
    expected = BarycentricInterpolator(q.numpy(), t, rng=0)(1 + Z)
    got = npcheb.chebval(Z, newton_filter(q).matrix.numpy() @ t)
    np.testing.assert_allclose(got, expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("degree", [1, 2, 5, 8])
def test_values_change_into_the_coefficients_that_numpy_fits(degree, rng):
    q, t = equispaced(degree), rng.normal(size=degree + 1)
    expected = npcheb.chebfit(q.numpy() - 1, t, degree)
    np.testing.assert_allclose(newton_filter(q).matrix.numpy() @ t, expected, atol=1e-11)


def test_points_in_float32_are_changed_in_float64():
    q = torch.tensor([0.0, 0.5, 1.0, 2.0])
    assert newton_filter(q).matrix.dtype == torch.float64


@pytest.mark.parametrize("degree", [0, -1])
def test_change_of_basis_below_degree_one_is_refused(degree):
    with pytest.raises(ValueError, match="at least 1"):
        to_chebyshev(lambda frequency: frequency[:, None], degree)
