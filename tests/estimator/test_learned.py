import numpy as np
import pytest
import torch
from numpy.polynomial import Chebyshev

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm
from newtonnet.estimator import LearnedFilter
from newtonnet.nn import ZOO, ModelEntry, Options, SpectralNet
from newtonnet.polynomials import Filter, equispaced
from newtonnet.training import FREQUENCIES

BETWEEN = np.linspace(0, 2, 333)


def chebyshev_nodes(count):
    return 1 - np.cos(np.pi * (np.arange(count) + 0.5) / count)


def sampled(curves, points):
    """What a record keeps of these polynomials."""
    grid = np.array(FREQUENCIES)
    values, responses = (np.array([curve(places) for curve in curves]) for places in (points, grid))
    return LearnedFilter(points, values, grid, responses)


def draw(rng, degree, members=2):
    return [Chebyshev(rng.standard_normal(degree + 1), domain=[0, 2]) for _ in range(members)]


def scaled_mean(curves):
    grid = np.array(FREQUENCIES)
    return sum(curve(BETWEEN) / np.abs(curve(grid)).max() for curve in curves) / len(curves)


@pytest.mark.parametrize(
    ("degree", "points"),
    [
        (5, np.linspace(0, 2, 6)),
        (10, chebyshev_nodes(11)),
        (8, np.linspace(0, 2, 4)),  # fewer points than the polynomial has coefficients
        (3, np.linspace(0, 2, 12)),  # more
        (0, np.array([1.0])),
        (20, np.array([0.5])),
        (38, np.linspace(0, 2, 3)),
        (30, chebyshev_nodes(31)),
        (60, chebyshev_nodes(61)),  # of a higher degree than the frequencies alone determine
    ],
)
def test_between_points_and_frequencies_it_is_the_polynomial_itself(rng, degree, points):
    curves = draw(rng, degree)
    np.testing.assert_allclose(sampled(curves, points)(BETWEEN), scaled_mean(curves), atol=1e-7)


@pytest.mark.parametrize("count", [1, 3, 11, 20])  # of 11 some are frequencies but for rounding
def test_a_polynomial_that_the_record_does_not_determine_is_refused(rng, count):
    learned = sampled(draw(rng, 80), np.linspace(0, 2, count))
    with pytest.raises(ValueError, match=r"stored at \d+ frequencies do not determine the filter.*res") as refusal:
        learned(0.5)
    assert "\n" not in str(refusal.value)


def test_a_filter_of_zeros_is_zero_everywhere():
    learned = LearnedFilter(np.zeros(1), np.zeros((1, 1)), np.array(FREQUENCIES), np.zeros((1, 41)))
    np.testing.assert_array_equal(learned([0.0, 0.33, 2.0]), 0)


def test_it_has_the_shape_of_the_frequencies(rng):
    learned = sampled(draw(rng, 4), np.linspace(0, 2, 5))
    assert learned(1.0).shape == ()
    assert learned(np.ones((2, 3))).shape == (2, 3)


def test_an_own_filter_judged_at_few_points_is_the_one_that_was_trained(tmp_path):
    def build(graph, options, seeds, dtype):
        start = {"weights": torch.linspace(1, -1, 9, dtype=torch.float64)}
        filter = Filter("own", start, lambda raw: raw["weights"], torch.eye(9, dtype=torch.float64), equispaced(3))
        shape = {"features": graph.features.shape[1], "classes": graph.classes, "seeds": seeds}
        return SpectralNet(filter, **shape, name="own", dtype=dtype)

    ZOO["own"] = ModelEntry(build, Options(), "this test")
    try:
        model = NewtonNetClassifier("own", tune="off", max_epochs=5, folds=2).fit(csbm(0.1, nodes=100, features=20))
        curves = [
            Chebyshev(member.state["filter_weights"][:, 0].double().numpy(), domain=[0, 2])
            for member in model.ensemble_.members
        ]
        np.testing.assert_allclose(model.filter_(BETWEEN), scaled_mean(curves), atol=1e-9)
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(
            NewtonNetClassifier.load(tmp_path / "model").filter_(BETWEEN), model.filter_(BETWEEN)
        )
    finally:
        del ZOO["own"]
