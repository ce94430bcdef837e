"""Terms on disk are those that the kernel computes in memory, and those of the eigendecomposition."""

import numpy as np
import pytest
import torch

from newtonnet import kernels
from newtonnet.graphs import normalised_operator, propagate
from newtonnet.out_of_core import open_store, propagate_to_disk, write_graph
from newtonnet.out_of_core.batches import RowReader
from newtonnet.polynomials import chebyshev_points, newton_filter


def dense(features):
    return features if isinstance(features, np.ndarray) else features.toarray()


def combined(store, coefficients):
    return sum(float(c) * store.term(k).astype(np.float64) for k, c in enumerate(coefficients))


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 3, 6, 10])
@pytest.mark.parametrize("name", ["weighted", "plain"])
def test_blocks_combined_are_the_filtered_features(request, tmp_path, name, degree, self_loops, rng):
    graph = request.getfixturevalue(name)
    store = propagate_to_disk(graph, tmp_path / "s", degree=degree, self_loops=self_loops)
    filter = newton_filter(chebyshev_points(degree))
    c = filter.coefficients({"values": torch.from_numpy(rng.uniform(0, 2, size=degree + 1))})
    operator = normalised_operator(graph, self_loops=self_loops)
    x = torch.tensor(dense(graph.features))[:, None]
    expected = propagate(operator, x, c[:, None].float())[:, 0].numpy()
    assert np.abs(combined(store, c) - expected).max() < 1e-5 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", ["path", "ring", "two cliques", "random"])
def test_blocks_combined_are_the_filter_of_every_eigenvector(tiny_graphs, tmp_path, name, dense_laplacian, rng):
    graph = tiny_graphs[name]
    store = propagate_to_disk(graph, tmp_path / "s", degree=6)
    frequencies, vectors = np.linalg.eigh(dense_laplacian(graph))
    filter, t = newton_filter(chebyshev_points(6)), {"values": torch.from_numpy(rng.uniform(0, 2, size=7))}
    g = filter.response(torch.from_numpy(frequencies), t).numpy()
    expected = vectors @ (g[:, None] * (vectors.T @ dense(graph.features).astype(np.float64)))
    assert np.abs(combined(store, filter.coefficients(t)) - expected).max() < 1e-5


@pytest.mark.parametrize("name", ["weighted", "plain"])
def test_the_vendor_product_gives_the_same_blocks(request, tmp_path, name, monkeypatch):
    graph = request.getfixturevalue(name)
    native = propagate_to_disk(graph, tmp_path / "n", degree=5)
    monkeypatch.setattr(kernels, "available", lambda: False)
    vendor = propagate_to_disk(graph, tmp_path / "v", degree=5)
    for k in range(6):
        assert np.allclose(native.term(k), vendor.term(k), atol=1e-5)


@pytest.mark.parametrize(("name", "width"), [("weighted", 3), ("plain", 15)])
def test_few_columns_and_few_rows_at_a_time_change_nothing(request, tmp_path, name, width, monkeypatch):
    graph = request.getfixturevalue(name)
    whole = propagate_to_disk(graph, tmp_path / "w", degree=4)
    monkeypatch.setattr("newtonnet.out_of_core.propagate.ENTRIES", 10)
    monkeypatch.setattr("newtonnet.graphs.graph.CHUNK", 100)
    cut = propagate_to_disk(graph, tmp_path / "c", degree=4, max_memory=(12 * width + 4) * graph.nodes)
    assert (whole.width, cut.width) == (graph.features.shape[1], width)
    for k in range(5):
        assert np.allclose(whole.term(k), cut.term(k), atol=1e-6)
    assert open_store(tmp_path / "c", verify=True).complete


def test_a_graph_from_pieces_on_disk_has_the_blocks_of_the_one_in_memory(tmp_path, weighted):
    coo = weighted.adjacency.tocoo()
    x, y = weighted.features, weighted.labels
    graph = write_graph(
        tmp_path / "g",
        [(np.stack([coo.row, coo.col]), coo.data)],
        (x[i : i + 7] for i in range(0, 60, 7)),
        (y[i : i + 9] for i in range(0, 60, 9)),
        nodes=60,
    )
    assert propagate_to_disk(graph, tmp_path / "a").checksum == propagate_to_disk(weighted, tmp_path / "b").checksum


def test_windows_read_the_same_rows_as_whole_files(tmp_path, weighted, monkeypatch, rng):
    store = propagate_to_disk(weighted, tmp_path / "s", degree=3)
    nodes = np.sort(rng.choice(60, size=25, replace=False))
    whole = RowReader(store, 3).read(nodes).terms
    monkeypatch.setattr("newtonnet.out_of_core.batches.WINDOW", 4 * 7 * 8)
    cut = RowReader(store, 3, max_memory=1000)
    assert not cut.whole
    assert torch.equal(cut.read(nodes).terms, whole)
    assert np.array_equal(whole[2], store.term(2)[nodes])


@pytest.mark.parametrize(("degree", "memory", "message"), [(0, None, "degree"), (3, 100, "max_memory")])
def test_what_cannot_be_computed_is_refused_and_leaves_nothing(tmp_path, weighted, degree, memory, message):
    with pytest.raises(ValueError, match=message):
        propagate_to_disk(weighted, tmp_path / "s", degree=degree, max_memory=memory)
    assert not (tmp_path / "s").exists()
