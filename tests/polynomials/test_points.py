"""Where the points lie, in which order they are stable, and what is refused."""

import math

import numpy as np
import pytest
import torch

from newtonnet.polynomials import chebyshev_points, check_points, equispaced, leja_order

DEGREES = [1, 2, 5, 8, 11, 14, 20, 30]


@pytest.mark.parametrize("degree", DEGREES)
def test_equispaced_points_are_numpys_linspace(degree):
    np.testing.assert_allclose(equispaced(degree).numpy(), np.linspace(0, 2, degree + 1), rtol=0, atol=1e-15)


@pytest.mark.parametrize("degree", DEGREES)
def test_chebyshev_points_are_numpys_first_kind_points_moved_to_the_spectrum(degree):
    expected = 1 + np.polynomial.chebyshev.chebpts1(degree + 1)
    np.testing.assert_allclose(chebyshev_points(degree).numpy(), expected, rtol=0, atol=2e-15)


@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
@pytest.mark.parametrize("degree", DEGREES)
def test_points_ascend_strictly(points, degree):
    assert bool((points(degree).diff() > 0).all())


@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
@pytest.mark.parametrize("degree", [0, -3])
def test_degree_below_one_is_refused(points, degree):
    with pytest.raises(ValueError, match="at least 1"):
        points(degree)


@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
@pytest.mark.parametrize("degree", DEGREES)
def test_leja_order_visits_every_point_once(points, degree, rng):
    q = points(degree)[torch.from_numpy(rng.permutation(degree + 1))]
    assert sorted(leja_order(q).tolist()) == list(range(degree + 1))


@pytest.mark.parametrize("points", [equispaced, chebyshev_points])
@pytest.mark.parametrize("degree", DEGREES)
def test_leja_order_is_greedy(points, degree, rng):
    q = points(degree)[torch.from_numpy(rng.permutation(degree + 1))].numpy()
    order = leja_order(torch.from_numpy(q)).tolist()
    assert abs(q[order[0]] - 1) == max(abs(q - 1))
    for k in range(1, degree + 1):
        seen = q[order[:k]]
        best = max(math.prod(abs(candidate - seen)) for candidate in q)
        assert math.prod(abs(q[order[k]] - seen)) >= best * (1 - 1e-12)


def test_leja_order_of_four_equal_steps_takes_the_ends_then_the_middle():
    assert leja_order(equispaced(4)).tolist()[:3] == [0, 4, 2]


def test_leja_order_of_many_points_does_not_underflow():
    # The product over 400 points of [0, 2] is far below the smallest float32.
    q = chebyshev_points(400).float()
    assert sorted(leja_order(q).tolist()) == list(range(401))


@pytest.mark.parametrize(
    "given",
    [[2.0, 0.0, 0.5], (2.0, 0.0, 0.5), np.array([2.0, 0.0, 0.5]), torch.tensor([2.0, 0.0, 0.5]), iter([2.0, 0.0, 0.5])],
    ids=["list", "tuple", "numpy", "float32 tensor", "iterator"],
)
def test_check_points_keeps_the_order_and_gives_float64(given):
    q = check_points(given)
    assert q.dtype == torch.float64
    assert q.tolist() == [2.0, 0.0, 0.5]


@pytest.mark.parametrize(
    ("points", "word"),
    [
        ([], "at least 2"),
        ([1.0], "at least 2"),
        (torch.zeros(2, 2), "at least 2"),
        (torch.tensor(1.0), "at least 2"),
        ([-0.1, 1.0], "spectrum"),
        ([0.0, 2.1], "spectrum"),
        ([0.0, math.nan], "spectrum"),
        ([0.0, math.inf], "spectrum"),
        ([0.0, 1.0, 0.0], "distinct"),
    ],
)
def test_points_that_cannot_carry_an_interpolant_are_refused(points, word):
    with pytest.raises(ValueError, match=word):
        check_points(points)
