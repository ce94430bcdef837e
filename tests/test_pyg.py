import numpy as np
import pytest
import torch
from scipy.interpolate import BarycentricInterpolator
from torch_geometric.utils import get_laplacian, to_dense_adj

from newtonnet.pyg import NewtonConv


@pytest.fixture
def symmetric(rng):
    pairs = rng.integers(0, 12, (2, 20))
    return torch.tensor(np.concatenate([pairs, pairs[::-1]], axis=1))


def laplacian(edge_index, edge_weight=None, n=14):
    index, weight = get_laplacian(edge_index, edge_weight, normalization="sym", num_nodes=n, dtype=torch.float64)
    # PyTorch Geometric's messages flow from source to target, so the matrix acts transposed.
    return to_dense_adj(index, edge_attr=weight, max_num_nodes=n)[0].T.numpy()


def test_layer_is_the_filter_on_pygs_own_laplacian(symmetric, rng):
    layer = NewtonConv(degree=5, nonnegative=False).double()
    values = rng.standard_normal(6)
    layer.values.data = torch.tensor(values)
    x = rng.standard_normal((14, 3))
    frequencies, vectors = np.linalg.eigh(laplacian(symmetric))
    response = BarycentricInterpolator(np.linspace(0, 2, 6), values)(frequencies)
    expected = vectors @ (response[:, None] * (vectors.T @ x))
    np.testing.assert_allclose(layer(torch.tensor(x), symmetric).detach().numpy(), expected, atol=1e-10)


def test_directed_and_weighted_edges_follow_pygs_convention(rng):
    edge_index = torch.tensor(rng.integers(0, 14, (2, 60)))
    weight = torch.tensor(rng.random(60) + 0.1)
    layer = NewtonConv(points=[0.0, 1.0, 2.0], nonnegative=False).double()
    layer.values.data = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)  # g(λ) = λ
    x = rng.standard_normal((14, 2))
    expected = laplacian(edge_index, weight) @ x
    np.testing.assert_allclose(layer(torch.tensor(x), edge_index, weight).detach().numpy(), expected, atol=1e-12)


def test_gradients_of_signals_and_values_match_finite_differences(rng):
    edge_index = torch.tensor(rng.integers(0, 8, (2, 20)))
    layer = NewtonConv(degree=4, nonnegative=False).double()
    x = torch.tensor(rng.standard_normal((8, 2)), requires_grad=True)
    values = torch.tensor(rng.standard_normal(5), requires_grad=True)

    def run(x, values):
        return torch.func.functional_call(layer, {"values": values}, (x, edge_index))

    assert torch.autograd.gradcheck(run, (x, values))


def test_layer_starts_as_the_identity_and_can_be_reset(symmetric):
    layer, x = NewtonConv(), torch.randn(14, 3)
    assert layer.values.shape == (6,)
    torch.testing.assert_close(layer(x, symmetric), x)
    layer.values.data.fill_(3)
    layer.reset_parameters()
    torch.testing.assert_close(layer(x, symmetric), x)


def test_nothing_of_a_graph_is_remembered(symmetric):
    layer = NewtonConv(degree=2, nonnegative=False)
    layer.values.data = torch.tensor([1.0, 0.0, -1.0])
    x = torch.randn(14, 1)
    layer(x, symmetric)
    other = torch.tensor([[0, 1], [1, 0]])
    torch.testing.assert_close(layer(x[:2], other), x[:2].flip(0))


@pytest.mark.parametrize(
    ("edge_index", "weight", "message"),
    [
        (torch.tensor([[0], [9]]), None, "outside 0..3"),
        (torch.tensor([0, 1]), None, "shape"),
        (torch.tensor([[0], [1]]), torch.tensor([-1.0]), "not negative"),
        (torch.tensor([[0], [1]]), torch.tensor([float("nan")]), "finite"),
        (torch.tensor([[0], [1]]), torch.tensor([1.0, 2.0]), "expected 1 edge weights"),
    ],
)
def test_bad_edges_are_refused(edge_index, weight, message):
    with pytest.raises(ValueError, match=message):
        NewtonConv()(torch.zeros(4, 1), edge_index, weight)


def test_bad_points_and_degrees_are_refused_and_bad_conditioning_is_warned_of():
    with pytest.raises(ValueError, match="degree K"):
        NewtonConv(degree=0)
    with pytest.raises(ValueError, match="distinct"):
        NewtonConv(points=[0.0, 0.0])
    with pytest.warns(UserWarning, match="amplifies rounding"):
        NewtonConv(degree=20)
