"""A generated graph is what was asked for, and the same on every machine."""

import numpy as np

from newtonnet_paper.scale_graph import generate


def test_a_graph_is_generated_the_same_whatever_the_memory(tmp_path):
    graph = generate(tmp_path / "f", nodes=1000, edges=5000, features=7)
    again = generate(tmp_path / "g", nodes=1000, edges=5000, features=7, entries=50)
    assert again.checksum == graph.checksum
    other = generate(tmp_path / "h", nodes=1000, edges=5000, features=7, seed=1)
    assert other.checksum != again.checksum


def test_a_generated_graph_has_the_homophily_and_the_signal_it_was_asked_for(tmp_path):
    graph = generate(tmp_path / "g", nodes=20_000, edges=100_000, homophily=0.1)
    rows = np.repeat(np.arange(graph.nodes), np.diff(graph.adjacency.rows))
    assert abs((graph.labels[rows] == graph.labels[graph.adjacency.columns]).mean() - 0.1) < 0.005
    gap = graph.features[1::2].mean(axis=0) - graph.features[::2].mean(axis=0)
    assert abs(np.linalg.norm(gap) - 0.5) < 0.05
