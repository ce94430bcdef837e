"""Normalised operators against a dense formula in numpy and against PyTorch Geometric's."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import get_laplacian, to_dense_adj

from newtonnet.graphs import csr_tensor, from_edges, normalise, normalised_operator, sparse_tensor

TINY = ["path", "ring", "two cliques", "random"]


def dense(tensor):
    return tensor.to_dense().double().numpy()


def pyg_edges(graph):
    """Both directions of every edge with its weight, as PyTorch Geometric wants them."""
    coo = graph.adjacency.tocoo()
    return torch.tensor(np.stack([coo.row, coo.col]), dtype=torch.int64), torch.tensor(coo.data, dtype=torch.float64)


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_operator_is_the_identity_less_the_dense_laplacian(name, self_loops, tiny_graphs, dense_laplacian):
    graph = tiny_graphs[name]
    expected = np.eye(graph.nodes) - dense_laplacian(graph, self_loops=self_loops)
    operator = normalised_operator(graph, self_loops=self_loops, dtype=torch.float64)
    np.testing.assert_allclose(dense(operator.matrix), expected, atol=1e-15)


def test_operator_of_the_path_with_self_loops_is_the_published_one(path):
    expected = [[0.5, 0.408248, 0], [0.408248, 0.333333, 0.408248], [0, 0.408248, 0.5]]
    np.testing.assert_allclose(dense(normalised_operator(path, self_loops=True).matrix), expected, atol=1e-6)


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_float32_operator_is_the_float64_one_rounded_once(name, self_loops, tiny_graphs):
    exact = normalised_operator(tiny_graphs[name], self_loops=self_loops, dtype=torch.float64).matrix
    single = normalised_operator(tiny_graphs[name], self_loops=self_loops).matrix
    assert single.dtype == torch.float32
    np.testing.assert_array_equal(single.to_dense().numpy(), exact.to_dense().numpy().astype(np.float32))


@pytest.mark.parametrize("name", TINY)
def test_laplacian_agrees_with_pytorch_geometric(name, tiny_graphs):
    graph = tiny_graphs[name]
    index, weight = get_laplacian(*pyg_edges(graph), normalization="sym", num_nodes=graph.nodes)
    expected = to_dense_adj(index, edge_attr=weight, max_num_nodes=graph.nodes)[0].numpy()
    operator = normalised_operator(graph, dtype=torch.float64)
    np.testing.assert_allclose(np.eye(graph.nodes) - dense(operator.matrix), expected, atol=1e-14)


@pytest.mark.parametrize("name", TINY)
def test_operator_with_self_loops_agrees_with_pytorch_geometrics_gcn(name, tiny_graphs):
    graph = tiny_graphs[name]
    index, weight = gcn_norm(*pyg_edges(graph), num_nodes=graph.nodes, add_self_loops=True)
    expected = to_dense_adj(index, edge_attr=weight, max_num_nodes=graph.nodes)[0].numpy()
    operator = normalised_operator(graph, self_loops=True, dtype=torch.float64)
    np.testing.assert_allclose(dense(operator.matrix), expected, atol=1e-14)


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_spectrum_of_the_laplacian_lies_between_0_and_2(name, self_loops, tiny_graphs):
    operator = normalised_operator(tiny_graphs[name], self_loops=self_loops, dtype=torch.float64)
    frequencies = 1 - np.linalg.eigvalsh(dense(operator.matrix))
    assert frequencies.min() >= -1e-12
    assert frequencies.max() <= (2 - 1e-3 if self_loops else 2 + 1e-12)


@pytest.mark.parametrize(("self_loops", "diagonal"), [(False, 0.0), (True, 1.0)])
def test_isolated_node_has_nothing_but_its_own_loop(self_loops, diagonal, random_graph):
    isolated = np.flatnonzero(random_graph.adjacency.toarray().sum(axis=1) == 0)
    rows = dense(normalised_operator(random_graph, self_loops=self_loops).matrix)[isolated]
    np.testing.assert_array_equal(rows, diagonal * np.eye(40)[isolated])


@pytest.mark.parametrize(("self_loops", "expected"), [(False, 0.0), (True, 1.0)])
def test_graph_without_edges_has_an_operator(self_loops, expected):
    graph = from_edges(np.zeros((2, 0), dtype=np.int64), np.ones((3, 1)))
    operator = normalised_operator(graph, self_loops=self_loops)
    np.testing.assert_array_equal(dense(operator.matrix), expected * np.eye(3))


@pytest.mark.parametrize("name", TINY)
def test_square_roots_of_the_degrees_have_frequency_zero(name, tiny_graphs):
    degree = tiny_graphs[name].adjacency.toarray().astype(np.float64).sum(axis=1)
    operator = dense(normalised_operator(tiny_graphs[name], dtype=torch.float64).matrix)
    np.testing.assert_allclose(operator @ np.sqrt(degree), np.sqrt(degree), atol=1e-14)


def test_plain_operator_ignores_the_scale_of_the_weights(random_graph):
    pairs = random_graph.pairs
    weights = random_graph.adjacency.toarray()[pairs[0], pairs[1]]
    scaled = from_edges(pairs, np.ones((40, 1)), weights=8 * weights)
    before, after = (dense(normalised_operator(g, dtype=torch.float64).matrix) for g in (random_graph, scaled))
    np.testing.assert_allclose(after, before, atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_indices_are_int32(directed, self_loops, dtype, arrows, random_graph):
    operator = normalised_operator(arrows if directed else random_graph, self_loops=self_loops, dtype=dtype)
    for tensor in (operator.matrix, operator.transpose):
        assert (tensor.crow_indices().dtype, tensor.col_indices().dtype) == (torch.int32, torch.int32)


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_undirected_operator_is_its_own_transpose(name, self_loops, tiny_graphs):
    operator = normalised_operator(tiny_graphs[name], self_loops=self_loops, dtype=torch.float64)
    np.testing.assert_allclose(dense(operator.matrix), dense(operator.matrix).T, atol=2e-16)


def test_undirected_operator_stores_its_matrix_once(random_graph):
    operator = normalised_operator(random_graph)
    again = operator.to(torch.float64)
    assert operator.transpose is operator.matrix
    assert again.transpose is again.matrix


@pytest.mark.parametrize("self_loops", [False, True])
def test_directed_operator_is_divided_by_the_out_degrees_and_goes_from_source_to_target(self_loops, arrows):
    weights = arrows.adjacency.toarray().astype(np.float64) + self_loops * np.eye(6)
    out = weights.sum(axis=1)
    scale = np.array([1 / np.sqrt(d) if d > 0 else 0.0 for d in out])
    operator = normalised_operator(arrows, self_loops=self_loops, dtype=torch.float64)
    np.testing.assert_allclose(dense(operator.matrix), np.diag(scale) @ weights.T @ np.diag(scale), atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_directed_operator_carries_its_transpose(dtype, arrows):
    operator = normalised_operator(arrows, dtype=dtype)
    matrix = dense(operator.matrix)
    assert np.abs(matrix - matrix.T).max() > 0.1
    np.testing.assert_array_equal(dense(operator.transpose), matrix.T)


def test_normalising_leaves_the_matrix_alone(random_graph):
    before = random_graph.adjacency.toarray()
    normalise(random_graph.adjacency, self_loops=True, symmetric=True)
    np.testing.assert_array_equal(random_graph.adjacency.toarray(), before)


def test_bare_matrix_is_normalised_in_float64(random_graph, dense_laplacian):
    operator = normalise(random_graph.adjacency, symmetric=True)
    assert operator.matrix.dtype == torch.float64
    np.testing.assert_allclose(dense(operator.matrix), np.eye(40) - dense_laplacian(random_graph), atol=1e-15)


def test_operator_in_another_type_has_the_same_entries(random_graph):
    operator = normalised_operator(random_graph)
    assert operator.to(torch.float64).matrix.dtype == torch.float64
    np.testing.assert_array_equal(dense(operator.to(torch.float64).matrix), dense(operator.matrix))


def test_sparse_tensor_has_the_entries_of_the_scipy_matrix(rng):
    matrix = sp.random_array((7, 4), density=0.4, rng=rng, format="csr")
    np.testing.assert_array_equal(sparse_tensor(matrix).to_dense().numpy(), matrix.toarray())


def test_sparse_tensor_does_not_share_the_matrix_memory():
    matrix = sp.csr_array(np.eye(3))
    tensor = sparse_tensor(matrix)
    matrix.data[:] = 5
    np.testing.assert_array_equal(tensor.to_dense().numpy(), np.eye(3))


def test_csr_tensor_multiplies_as_its_parts_say():
    rows, columns = torch.tensor([0, 2, 2, 3]), torch.tensor([0, 3, 1])
    tensor = csr_tensor(rows, columns, torch.tensor([1.0, 2.0, 3.0]), (3, 4))
    expected = [1 * 1 + 2 * 1000, 0, 3 * 10]
    assert (tensor @ torch.tensor([[1.0], [10.0], [100.0], [1000.0]])).flatten().tolist() == expected


def test_making_a_sparse_tensor_does_not_warn(rng):
    # torch says "in beta" once per process; asked to repeat itself, it must still be silenced here.
    before = torch.is_warn_always_enabled()
    try:
        torch.set_warn_always(True)
        sparse_tensor(sp.random_array((7, 4), density=0.4, rng=rng, format="csr"))
    finally:
        torch.set_warn_always(before)
