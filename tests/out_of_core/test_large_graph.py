"""A graph on disk says in one line what it is."""

import numpy as np

from newtonnet.out_of_core import as_large, open_graph, write_adjacency, write_graph


def test_a_graph_on_disk_is_printed_in_one_line(tmp_path, rng):
    ring = np.stack([np.arange(2000), np.roll(np.arange(2000), 1)])
    graph = write_graph(
        tmp_path / "big",
        [ring],
        features=[rng.standard_normal((2000, 3), dtype=np.float32)],
        labels=[np.arange(2000) % 2],
        nodes=2000,
        name="ring",
    )
    told = f"LargeGraph('ring', nodes=2000, edges=2000, features=3, classes=2, folder='{tmp_path / 'big'}')"
    assert repr(graph) == str(graph) == repr(open_graph(tmp_path / "big")) == told
    assert repr(graph.adjacency) == "Adjacency(nodes=2000, edges=2000, weighted=False)"


def test_one_in_memory_too(tmp_path, weighted):
    assert repr(as_large(weighted)) == (
        f"LargeGraph('weighted', nodes=60, edges={weighted.edges}, features=7, classes=3, folder=None)"
    )
    written = write_adjacency(tmp_path / "a", weighted)
    assert repr(written) == f"Adjacency(nodes=60, edges={weighted.edges}, weighted=True)"
