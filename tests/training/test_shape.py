import numpy as np
import pytest
import torch

from newtonnet import kernels
from newtonnet.datasets import csbm, make_splits
from newtonnet.graphs import from_edges, homophily
from newtonnet.nn import Options, build
from newtonnet.polynomials import chebyshev_points, equispaced
from newtonnet.training import (
    Config,
    Run,
    adjusted_pivot,
    band_masks,
    fit,
    predicted_homophily,
    shape_penalty,
)
from newtonnet.training.in_memory import graph_source
from newtonnet.training.shape import training_homophily


@pytest.mark.parametrize(
    ("points", "sizes"),
    [
        (equispaced(5), [2, 2, 2]),
        (equispaced(3), [1, 1, 2]),
        (equispaced(8), [3, 3, 3]),
        (chebyshev_points(5), [2, 2, 2]),
    ],
)
def test_bands_go_by_the_value_of_the_points(points, sizes):
    masks = band_masks(points)
    assert masks.sum(dim=1).tolist() == sizes
    assert masks.sum(dim=0).tolist() == [1] * len(points)
    assert (points[masks[0]] < 2 / 3).all()
    assert (points[masks[2]] >= 4 / 3).all()


def test_bands_do_not_depend_on_the_order_of_the_points():
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    assert torch.equal(band_masks(equispaced(5)[order]), band_masks(equispaced(5))[:, order])


@pytest.mark.parametrize("squared", [True, False])
def test_penalty_is_the_papers_formula(rng, squared):
    t, h, gammas = rng.standard_normal((6, 4)), rng.random(4), rng.random((3, 4))
    ours = shape_penalty(
        torch.tensor(t),
        band_masks(equispaced(5)),
        homophily=torch.tensor(h),
        pivot=torch.tensor(0.2, dtype=torch.float64),
        gammas=torch.tensor(gammas),
        squared=squared,
    )
    for p in range(4):
        low, middle, high = (np.linalg.norm(t[i : i + 2, p]) ** (2 if squared else 1) for i in (0, 2, 4))
        expected = (
            gammas[0, p] * (0.2 - h[p]) * low
            + gammas[1, p] * abs(h[p] - 0.2) * middle
            + gammas[2, p] * (h[p] - 0.2) * high
        )
        assert float(ours[p]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("h", "encouraged"), [(0.9, 0), (0.1, 2)])
def test_descent_raises_the_band_that_homophily_favours_and_lowers_the_others(h, encouraged):
    t = torch.ones(6, 1, dtype=torch.float64, requires_grad=True)
    bands = band_masks(equispaced(5))
    shape_penalty(
        t, bands, homophily=torch.tensor([h]), pivot=torch.tensor(0.5), gammas=torch.ones(3, 1, dtype=torch.float64)
    ).sum().backward()
    for band in range(3):
        assert ((-t.grad[bands[band], 0] > 0) == (band == encouraged)).all()


def test_plain_norm_has_gradient_zero_where_a_band_is_zero():
    t = torch.zeros(6, 1, requires_grad=True)
    shape_penalty(
        t,
        band_masks(equispaced(5)),
        homophily=torch.tensor([0.9]),
        pivot=torch.tensor(0.5),
        gammas=torch.ones(3, 1),
        squared=False,
    ).sum().backward()
    assert torch.equal(t.grad, torch.zeros(6, 1))


def test_channels_of_one_filter_each_are_averaged():
    t = torch.arange(12.0, dtype=torch.float64).view(6, 1, 2)
    rest = {"homophily": torch.tensor([0.9]), "pivot": torch.tensor(0.5), "gammas": torch.ones(3, 1).double()}
    bands = band_masks(equispaced(5))
    each = [float(shape_penalty(t[:, :, d], bands, **rest)) for d in range(2)]
    assert float(shape_penalty(t, bands, **rest)) == pytest.approx(np.mean(each))


def test_predicted_homophily_counts_edges_of_each_member(rng):
    pairs, classes = rng.integers(0, 30, (2, 200)), rng.integers(0, 3, (30, 5))
    expected = [(classes[pairs[0], p] == classes[pairs[1], p]).mean() for p in range(5)]
    assert predicted_homophily(torch.tensor(pairs), torch.tensor(classes)).tolist() == pytest.approx(expected)
    assert predicted_homophily(torch.zeros(2, 0, dtype=torch.int32), torch.zeros(3, 2)).tolist() == [0, 0]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("members", [1, 8, 13, 64])
@pytest.mark.parametrize("edges", [1, 255, 256, 20_000])
def test_predicted_homophily_of_classes_in_bytes_is_exact(members, edges, native, rng, monkeypatch):
    if not native:
        monkeypatch.setattr(kernels, "available", lambda: False)
    pairs, classes = rng.integers(0, 30, (2, edges)), rng.integers(0, 3, (30, members))
    classes[:, -1] = 255  # all edges agree, so every byte is as full as it can be
    expected = (classes[pairs[0]] == classes[pairs[1]]).mean(axis=0)
    found = predicted_homophily(torch.tensor(pairs).int(), torch.tensor(classes, dtype=torch.uint8))
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-15)


def test_adjusted_pivot_is_the_chance_term_of_adjusted_homophily(rng):
    graph = from_edges(rng.integers(0, 40, (2, 150)), np.eye(40), labels=rng.integers(0, 3, 40))
    degrees = np.bincount(graph.pairs.ravel(), minlength=40)
    pivot = float(adjusted_pivot(torch.tensor(degrees), torch.tensor(graph.labels)[:, None], 3))
    measured = homophily(graph)
    assert (measured.edge - pivot) / (1 - pivot) == pytest.approx(measured.adjusted)


def test_adjusted_pivot_of_balanced_classes_is_one_over_c():
    pivot = adjusted_pivot(torch.ones(12), torch.arange(12)[:, None] % 4, 4)
    assert float(pivot) == pytest.approx(1 / 4)
    assert float(adjusted_pivot(torch.zeros(3), torch.zeros(3, 1), 2)) == 0.5


def test_the_pivot_decides_which_band_is_encouraged():
    """Nine tenths of one class: edges at random are 82% homophilous, far above 1/2 but just what chance gives."""
    rng = np.random.default_rng(3)
    labels = (np.arange(300) % 10 == 0).astype(int)
    graph = from_edges(rng.integers(0, 300, (2, 900)), rng.standard_normal((300, 8)) + labels[:, None], labels=labels)
    split = make_splits(graph, count=1)
    learned = {}
    for pivot in ("uniform", "adjusted"):
        config = Config(gammas=(5.0, 5.0, 5.0), pivot=pivot, max_epochs=100)
        (record,) = fit(build("newtonnet", graph), graph, split, [config])
        learned[pivot] = np.mean(record.outcome.values[:2]) - np.mean(record.outcome.values[4:])
    assert learned["uniform"] > learned["adjusted"] + 0.2


def test_density_points_follow_the_graph_and_stay_apart():
    graph = csbm(0.5, nodes=300, features=4, degree=20.0)
    model = build("newtonnet", graph, Options(points="density", degree=8))
    points = model.filter.points
    assert len(points) == 9
    # A dense random graph has its frequencies near 1, and so more points there than Chebyshev's.
    inner = ((points - 1).abs() < 0.5).sum()
    assert inner > ((chebyshev_points(8) - 1).abs() < 0.5).sum()
    assert model.filter.condition() < 100


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("squared", [True, False])
def test_the_penaltys_gradient_is_its_closed_form(nonnegative, raw, squared, per_channel, rng):
    """Weight times value, over the norm of the band where norms are plain; a ReLU cuts it."""
    graph = csbm(0.3, nodes=20, features=4)
    options = Options(nonnegative=nonnegative, per_channel=per_channel)
    variant, norm = "released" if raw else "paper", "squared" if squared else "norm"
    configs = [Config(gammas=tuple(rng.random(3)), variant=variant, penalty=norm) for _ in range(2)]
    model = build("newtonnet", graph, options, seeds=(0, 0), dtype=torch.float64)
    run = Run(model, graph_source(model, graph, make_splits(graph, count=2), configs[0]), configs)
    homophily = run.homophily[:] = rng.random(2)
    values = run.model.filter_parameters()["values"]
    with torch.no_grad():
        values.copy_(torch.from_numpy(rng.standard_normal(values.shape)))
    run.penalty().sum().backward()
    t, excess = values.detach().numpy().reshape(6, 2, -1), homophily - 1 / 2
    seen = t if raw or not nonnegative else np.maximum(t, 0)
    expected = np.zeros_like(t)
    for p, config in enumerate(configs):
        for band, sign in zip(range(3), (-excess[p], abs(excess[p]), excess[p]), strict=True):
            at = seen[2 * band : 2 * band + 2, p]
            scale = 2 if squared else 1 / np.maximum(np.linalg.norm(at, axis=0), 1e-300)
            expected[2 * band : 2 * band + 2, p] = config.gammas[band] * sign * scale * at / t.shape[2]
    np.testing.assert_allclose(values.grad.numpy().reshape(6, 2, -1), expected, rtol=1e-10, atol=1e-12)


def test_slices_by_index_leave_the_points_values_aside():
    points = torch.tensor([0.0, 0.1, 0.2, 1.0, 1.9, 2.0], dtype=torch.float64)
    assert band_masks(points).int().argmax(dim=0).tolist() == [0, 0, 0, 1, 2, 2]
    assert band_masks(points, (2, 4)).int().argmax(dim=0).tolist() == [0, 0, 1, 1, 2, 2]
    with pytest.raises(ValueError, match="leave no high frequencies"):
        band_masks(points, (2, 6))


def test_edges_between_training_nodes_are_counted_and_chance_stands_where_there_are_none():
    pairs, labels = torch.tensor([[0, 1, 2, 0], [1, 2, 3, 3]]), torch.tensor([0, 0, 1, 0])
    training = torch.tensor([[True, True], [True, False], [False, False], [True, False]])
    found = training_homophily(pairs, labels, training, chance=0.3)
    assert found.tolist() == pytest.approx([1.0, 0.3])
    weights = torch.tensor([1.0, 1.0, 1.0, 3.0], dtype=torch.float64)
    labels = torch.tensor([0, 0, 1, 1])
    assert training_homophily(pairs, labels, training, chance=0.3, weights=weights)[0] == pytest.approx(1 / 4)
    assert predicted_homophily(pairs, labels[:, None], weights).item() == pytest.approx(2 / 6)
