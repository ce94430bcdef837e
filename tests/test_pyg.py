import contextlib
import warnings

import numpy as np
import pytest
import torch
from scipy.interpolate import BarycentricInterpolator
from torch_geometric.utils import get_laplacian, to_dense_adj

from newtonnet import kernels
from newtonnet.pyg import NewtonConv

EDGE = torch.tensor([[0], [1]])


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
        (torch.tensor([[0], [1]]), torch.tensor([[1.0, 2.0]]), r"expected 1 edge weights.* got shape \(1, 2\)"),
        (torch.eye(2).to_sparse(), None, r"sparse adjacency must have shape \(4, 4\), got \(2, 2\)"),
        (torch.eye(4).to_sparse(), torch.ones(4), "sparse adjacency holds its weights; leave edge_weight out"),
    ],
)
def test_bad_edges_are_refused(edge_index, weight, message):
    with pytest.raises(ValueError, match=message):
        NewtonConv()(torch.zeros(4, 1), edge_index, weight)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("autocast", [True, False])
def test_half_precision_is_filtered_in_single_and_given_back_in_its_own_type(
    symmetric, rng, monkeypatch, native, dtype, autocast
):
    if not native:
        monkeypatch.setattr(kernels, "available", lambda: False)
    layer = NewtonConv(degree=8, nonnegative=False)
    layer.values.data = torch.tensor(rng.standard_normal(9), dtype=torch.float32)
    x = torch.tensor(rng.standard_normal((14, 3))).to(dtype).requires_grad_()
    exact = x.detach().double().requires_grad_()
    twin = NewtonConv(degree=8, nonnegative=False).double()
    twin.values.data = layer.values.data.double()
    with torch.autocast("cpu", dtype=torch.bfloat16) if autocast else contextlib.nullcontext():
        out = layer(x, symmetric)
        # Not at the matrix from values to coefficients, whose own way back autocast rounds here.
        (slope,) = torch.autograd.grad(out.float().square().sum(), x, retain_graph=True)
    (steps,) = torch.autograd.grad(out.float().square().sum(), layer.values)
    expected = twin(exact, symmetric)
    wanted = torch.autograd.grad(expected.square().sum(), (exact, twin.values))
    assert out.dtype == slope.dtype == dtype
    for found, exactly in zip((out, slope, steps), (expected, *wanted), strict=True):
        near = 4 * torch.finfo(dtype).eps * float(exactly.detach().abs().max())
        torch.testing.assert_close(found.double(), exactly, rtol=0, atol=near)


def test_a_layer_of_half_precision_computes_its_coefficients_in_single(symmetric):
    layer, x = NewtonConv(degree=10).bfloat16(), torch.randn(14, 3).bfloat16()
    torch.testing.assert_close(layer(x, symmetric), x, rtol=0, atol=0)
    layer(x, symmetric).sum().backward()
    assert layer.values.grad.dtype == torch.bfloat16


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (0, 0)])
def test_no_nodes_or_no_channels_are_filtered_to_nothing(shape):
    layer, x = NewtonConv(), torch.zeros(shape, requires_grad=True)
    edge_index = EDGE if shape[0] else EDGE[:, :0]
    out = layer(x, edge_index)
    assert out.shape == shape
    out.sum().backward()
    assert x.grad.shape == shape
    assert not layer.values.grad.any()


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.bool])
@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_weights_of_any_real_type_count_alone_or_in_a_column(symmetric, kind, shape):
    layer = NewtonConv(degree=2, nonnegative=False)
    layer.values.data = torch.tensor([1.0, 0.0, -1.0])
    weight, x = (torch.arange(symmetric.shape[1]) % 3).to(kind), torch.randn(14, 3)
    torch.testing.assert_close(layer(x, symmetric, weight.reshape(shape)), layer(x, symmetric, weight.float()))


@pytest.mark.parametrize(
    ("x", "edge_index", "weight", "message"),
    [
        (torch.zeros(4, 1), EDGE.float(), None, "edge_index must hold whole numbers, got torch.float32"),
        (torch.zeros(4, 1), EDGE.bool(), None, "edge_index must hold whole numbers, got torch.bool"),
        (torch.zeros(4, 1).long(), EDGE, None, "x must hold real floating-point numbers, got torch.int64; .*float"),
        (torch.zeros(4, 1).cfloat(), EDGE, None, "x must hold real floating-point numbers, got torch.complex64"),
        (torch.zeros(4, 1), EDGE, torch.ones(1).cfloat(), "edge_weight must hold real numbers, got torch.complex64"),
        (np.zeros((4, 1)), EDGE, None, "x must be a tensor, got ndarray"),
        (torch.zeros(4, 1), EDGE.numpy(), None, "edge_index must be a tensor, got ndarray"),
        (torch.zeros(4, 1), EDGE.tolist(), None, "edge_index must be a tensor, got list"),
        (torch.zeros(4, 1), EDGE, [1.0], "edge_weight must be a tensor, got list"),
        (torch.eye(4).to_sparse(), EDGE, None, "x must be dense, got torch.sparse_coo; .*to_dense"),
    ],
)
def test_other_types_are_refused_in_one_line(x, edge_index, weight, message):
    with pytest.raises(TypeError, match=message) as refusal:
        NewtonConv()(x, edge_index, weight)
    assert "\n" not in str(refusal.value)


def test_a_node_without_out_edges_gets_nothing_either_and_is_scaled_by_g_of_1():
    layer = NewtonConv(points=[0.0, 1.0, 2.0], nonnegative=False)
    layer.values.data = torch.tensor([5.0, 0.25, -3.0])
    x = torch.tensor([[1.0], [2.0], [4.0]])
    edge_index = torch.tensor([[0, 1, 0], [1, 0, 2]])  # node 2 is a sink
    assert layer(x, edge_index)[2].item() == pytest.approx(0.25 * 4)


def test_bad_points_and_degrees_are_refused_and_bad_conditioning_is_warned_of():
    with pytest.raises(ValueError, match="degree K"):
        NewtonConv(degree=0)
    with pytest.raises(ValueError, match="distinct"):
        NewtonConv(points=[0.0, 0.0])
    with pytest.warns(UserWarning, match="amplifies rounding"):
        NewtonConv(degree=20)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_a_sparse_transposed_adjacency_gives_the_same_as_its_edges(layout, rng):
    dense = torch.tensor(rng.random((6, 6)) * (rng.random((6, 6)) < 0.4), dtype=torch.float32)
    source, target = dense.nonzero().T
    with warnings.catch_warnings():  # torch says that its CSR support is in beta
        warnings.simplefilter("ignore")
        adj_t = dense.T.contiguous().to_sparse(layout=layout)
    layer = NewtonConv(degree=3, nonnegative=False)
    layer.values.data = torch.tensor([1.0, 0.5, -0.5, 2.0])
    x = torch.randn(6, 2)
    torch.testing.assert_close(layer(x, adj_t), layer(x, torch.stack([source, target]), dense[source, target]))


def test_numbers_of_channels_are_refused_in_one_line():
    with pytest.raises(TypeError, match=r"points must be numbers in \[0, 2\], got 7; .* keeps the number of channels"):
        NewtonConv(16, 7)


def test_scripting_is_refused_in_one_line():
    for module in (NewtonConv(), torch.nn.Sequential(NewtonConv())):
        with pytest.raises(TypeError, match=r"NewtonConv cannot be scripted .*; call it from Python") as refusal:
            torch.jit.script(module)
        assert "\n" not in str(refusal.value)


@pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor that is not a leaf"
)  # torch.compile reads it itself
def test_a_compiled_model_gives_what_the_model_gives(symmetric):
    model = torch.nn.ModuleList([torch.nn.Linear(3, 2), NewtonConv(degree=3)])

    def forward(x):
        return model[1](model[0](x), symmetric).relu()

    x = torch.randn(14, 3, generator=torch.Generator().manual_seed(0))
    compiled = torch.compile(forward, backend="eager")(x)
    torch.testing.assert_close(compiled, forward(x))
    compiled.sum().backward()
    assert model[1].values.grad.abs().sum() > 0
