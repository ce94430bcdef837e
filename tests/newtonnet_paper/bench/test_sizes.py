import numpy as np
import pytest

import newtonnet_paper.bench.sizes as sized_graphs
from newtonnet_paper.bench import SIZES, GraphSize, sized_graph
from newtonnet_paper.bench.sizes import real_or_sized, sized_pairs


@pytest.mark.parametrize("name", ["cora", "chameleon", "squirrel"])
def test_edges_are_as_many_as_asked_distinct_and_no_loops(name, rng):
    size = SIZES[name]
    first, second = sized_pairs(size, rng)
    assert len(first) == len(second) == size.edges
    assert (first < second).all()
    assert first.min() >= 0
    assert second.max() < size.nodes
    assert len(np.unique(first * size.nodes + second)) == size.edges


@pytest.mark.parametrize(
    ("name", "largest", "middle"), [("cora", 168, 3), ("chameleon", 732, 13), ("penn94", 4410, 50)]
)
def test_largest_and_median_degree_are_about_the_real_graphs(name, largest, middle, rng):
    degrees = np.bincount(sized_pairs(SIZES[name], rng).ravel(), minlength=SIZES[name].nodes)
    assert 0.7 * largest < degrees.max() < 1.3 * largest
    assert 0.7 * middle <= np.median(degrees) <= 1.4 * middle


def test_the_tail_is_a_power_law_of_the_rank(rng):
    size = GraphSize("tail", nodes=100_000, edges=500_000, largest=3000, skew=0.6)
    degrees = np.sort(np.bincount(sized_pairs(size, rng).ravel(), minlength=size.nodes))[::-1]
    ranks = np.geomspace(100, 10_000, 20).astype(int)
    slope = np.polyfit(np.log(ranks), np.log(degrees[ranks] - 1), 1)[0]
    assert slope == pytest.approx(-0.6, abs=0.05)


def test_a_seed_gives_one_graph_and_another_seed_another():
    size = GraphSize("small", nodes=100, edges=300, largest=30, skew=0.5, features=12, per_row=3)
    first, again, other = sized_graph(size, seed=1), sized_graph(size, seed=1), sized_graph(size, seed=2)
    assert first.checksum == again.checksum != other.checksum


def test_sparse_features_have_their_ones_and_dense_ones_are_dense():
    sparse = sized_graph(GraphSize("sparse", nodes=200, edges=400, largest=30, skew=0.5, features=100, per_row=5))
    assert (np.diff(sparse.features.indptr) == 5).all()
    assert set(sparse.features.data.tolist()) == {1.0}
    dense = sized_graph(GraphSize("dense", nodes=200, edges=400, largest=30, skew=0.5, features=3, classes=4))
    assert isinstance(dense.features, np.ndarray)
    assert np.bincount(dense.labels).tolist() == [50] * 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": 9}, "edges on 10 nodes"),
        ({"edges": 40}, "edges on 10 nodes"),
        ({"skew": 1.0}, "skew must be"),
        ({"largest": 10}, "largest degree"),
        ({"per_row": 17}, "17 non-zeros"),
    ],
)
def test_an_impossible_size_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        GraphSize(**{"name": "bad", "nodes": 10, "edges": 12, "largest": 6, "skew": 0.5} | change)


def test_a_graph_that_is_not_at_hand_has_a_stand_in_of_its_size(tmp_path, monkeypatch):
    monkeypatch.setenv("NEWTONNET_DATA", str(tmp_path))
    monkeypatch.setenv("NEWTONNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sized_graphs, "load", None)  # nothing may be downloaded
    graph = real_or_sized("cora")
    assert graph.name == "cora-sized"
    assert (graph.nodes, graph.edges, graph.features.shape[1], graph.classes) == (2708, 5278, 1433, 7)
