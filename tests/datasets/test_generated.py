import time

import numpy as np
import pytest
from sklearn.datasets import load_digits

from newtonnet.datasets import csbm, customers, digits
from newtonnet.datasets.generated import _pairs_across, _pairs_inside
from newtonnet.graphs import homophily
from newtonnet.tables import load_tables


@pytest.mark.parametrize("h", [0.0, 0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize(("per_class", "mean_degree"), [(False, 5), (True, 10)])
def test_block_model_has_the_asked_homophily_and_degree(h, per_class, mean_degree):
    graph = csbm(h, nodes=6000, features=2, per_class=per_class)
    edges = graph.edges
    assert homophily(graph).edge == pytest.approx(h, abs=4 * np.sqrt(0.25 / edges) + 1e-3)
    assert 2 * edges / 6000 == pytest.approx(mean_degree, rel=4 / np.sqrt(edges))
    assert np.bincount(graph.labels).tolist() == [3000, 3000]


def test_every_pair_is_equally_likely():
    """The count of each pair over many draws is binomial; a chi-square of their spread."""
    rng = np.random.default_rng(0)
    for draw, size in ((lambda: _pairs_inside(rng, 9, 0.2), 36), (lambda: _pairs_across(rng, 4, 7, 0.1), 28)):
        seen: dict[tuple[int, int], int] = {}
        p = 0.2 if size == 36 else 0.1
        for _ in range(4000):
            for pair in draw().T.tolist():
                seen[tuple(pair)] = seen.get(tuple(pair), 0) + 1
        counts = np.array([*seen.values(), *[0] * (size - len(seen))])
        assert len(seen) == size
        chi = ((counts - 4000 * p) ** 2).sum() / (4000 * p * (1 - p))
        assert abs(chi - size) < 5 * np.sqrt(2 * size)


def test_pairs_inside_are_decoded_without_rounding_errors():
    class Every:
        def binomial(self, total, p):
            return total

        def choice(self, total, count, replace):
            return np.arange(total)

    pairs = _pairs_inside(Every(), 200, 1.0)
    assert (pairs[0] > pairs[1]).all()
    assert len(set(map(tuple, pairs.T.tolist()))) == 200 * 199 // 2
    assert pairs.max() == 199


@pytest.mark.parametrize(("per_class", "n"), [(False, 1000), (True, 500)])
def test_features_are_the_papers_mixture(per_class, n):
    graph = csbm(0.5, nodes=1000, features=2000, mu=400.0, per_class=per_class)
    signs = 2.0 * graph.labels - 1
    x = np.asarray(graph.features, dtype=np.float64)
    signal = (signs[:, None] * x).mean(axis=0)
    noise = x - signs[:, None] * signal
    assert noise.std() == pytest.approx(1 / np.sqrt(2000), rel=0.01)
    # |sqrt(mu / n) u|^2 with u ~ N(0, I / F) is mu / n, give or take a factor 1 +- sqrt(2 / F).
    assert (signal**2).sum() == pytest.approx(400 / n, rel=5 * np.sqrt(2 / 2000))


def test_block_models_repeat_by_seed():
    assert csbm(0.3, nodes=100, features=5, seed=4).checksum == csbm(0.3, nodes=100, features=5, seed=4).checksum
    assert csbm(0.3, nodes=100, features=5, seed=4).checksum != csbm(0.3, nodes=100, features=5, seed=5).checksum


def test_a_quarter_of_a_million_edges_takes_seconds():
    started = time.monotonic()
    graph = csbm(0.2, nodes=100_000, features=2)
    assert graph.edges == pytest.approx(250_000, rel=0.01)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "change",
    [
        {"homophily": -0.1},
        {"homophily": 1.1},
        {"nodes": 1},
        {"features": 0},
        {"degree": 0.0},
        {"mu": -1.0},
        {"nodes": 8},
    ],
)
def test_impossible_block_models_are_refused(change):
    with pytest.raises(ValueError, match=r"homophily|expected|degree"):
        csbm(**{"homophily": 0.9, "nodes": 100, "features": 3, **change})


@pytest.mark.parametrize("neighbours", [-1, 1797])
def test_digits_have_at_most_all_others_as_neighbours(neighbours):
    with pytest.raises(ValueError, match=f"neighbours must be from 0 to 1796, got {neighbours}$"):
        digits(neighbours=neighbours)


def test_digits_are_joined_to_their_nearest_images():
    graph = digits()
    images, labels = load_digits(return_X_y=True)
    assert graph.labels.tolist() == labels.tolist()
    distance = ((images[0] - images) ** 2).sum(axis=1)
    nearest = np.argsort(distance, kind="stable")[1:6]
    assert set(nearest) <= set(graph.adjacency[[0]].indices)
    assert graph.classes == 10
    assert homophily(graph).edge > 0.95


def test_customers_have_the_asked_shares_and_tend_to_leave_together():
    nodes, edges = customers(2000, leaving=0.1, labelled=1.0, seed=3)
    graph = load_tables(nodes, edges, label_column="status")
    assert np.bincount(graph.labels).tolist() == [200, 1800]
    assert homophily(graph).edge > 0.85
    assert homophily(graph).adjusted > 0.2
    half = customers(2000, labelled=0.5)[0]["status"]
    assert half.null_count == pytest.approx(1000, abs=100)


def test_customers_of_different_seeds_share_no_id_and_those_of_one_seed_are_the_same():
    first, second, again = (customers(100, seed=seed)[0] for seed in (0, 1, 0))
    assert not set(first["id"].to_pylist()) & set(second["id"].to_pylist())
    assert first.equals(again)


@pytest.mark.parametrize("wrong", [{"count": 3}, {"leaving": 1.0}, {"labelled": 0.0}])
def test_customers_that_cannot_be_made_are_refused(wrong):
    with pytest.raises(ValueError, match="expected count >= 16"):
        customers(**{"count": 100, **wrong})
