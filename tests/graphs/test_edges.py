"""What is counted over blocks of edges is what is counted over all of them at once."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from newtonnet.graphs import components, from_edges, homophily, isolated_nodes, known_edges
from newtonnet.graphs.graph import edge_blocks


@pytest.fixture(params=[1, 7, 1 << 20])
def block(request, monkeypatch):
    """Entries of a block: one row, some, or all of them."""
    monkeypatch.setattr("newtonnet.graphs.plan.ENTRIES", request.param)


@pytest.fixture
def graphs(tiny_graphs, arrows):
    none = from_edges([[], []], np.eye(3), labels=[0, 1, -1])
    return [*tiny_graphs.values(), arrows, none]


@pytest.mark.usefixtures("block")
def test_blocks_are_the_pairs_in_their_order(graphs):
    for graph in graphs:
        dense = graph.adjacency.toarray()
        expected = np.argwhere(dense if graph.directed else np.triu(dense)).T
        np.testing.assert_array_equal(np.concatenate(list(edge_blocks(graph)), axis=1), expected)
        np.testing.assert_array_equal(graph.pairs, expected)
        assert all(ends.dtype == np.int32 for ends in edge_blocks(graph))


@pytest.mark.usefixtures("block")
def test_edges_between_labels_and_nodes_without_an_edge_are_counted(graphs):
    for graph in graphs:
        assert known_edges(graph) == sum(min(graph.labels[a], graph.labels[b]) >= 0 for a, b in graph.pairs.T)
        assert isolated_nodes(graph) == graph.nodes - len(set(graph.pairs.ravel().tolist()))


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("edges", [0, 20, 35, 80])
def test_components_are_those_of_scipy(edges, rng):
    for directed in (False, True):
        graph = from_edges(rng.integers(0, 50, (2, edges)), np.ones((50, 1)), directed=directed)
        expected = connected_components(graph.adjacency, directed=False, return_labels=False)
        assert components(graph) == expected


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_a_long_chain_is_one_component_however_it_is_numbered(order, rng):
    n = 300
    places = {"ascending": np.arange(n), "descending": np.arange(n)[::-1], "shuffled": rng.permutation(n)}[order]
    assert components(from_edges([places[:-1], places[1:]], np.ones((n, 1)))) == 1


def test_homophily_does_not_depend_on_the_blocks(graphs, rng, monkeypatch):
    large = from_edges(rng.integers(0, 60, (2, 400)), np.ones((60, 1)), labels=rng.integers(-1, 3, 60))
    expected = [repr(homophily(graph)) for graph in (*graphs, large)]
    monkeypatch.setattr("newtonnet.graphs.plan.ENTRIES", 5)
    assert [repr(homophily(graph)) for graph in (*graphs, large)] == expected
