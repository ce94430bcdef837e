"""The fused rest of a layer: the same by the native kernels and by torch, values and gradients, in every shape."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from newtonnet import kernels
from newtonnet.graphs import from_edges, normalised_operator
from newtonnet.nn import Noise
from newtonnet.nn.activation import Running, activate
from newtonnet.nn.inputs import averaging_operator

pytestmark = pytest.mark.skipif(not kernels.available(), reason="needs the compiled kernels")


def run(operators, dtype, *, norm, training, members, width, nodes, inputs=None, seed=0):
    """Result, gradients of everything that goes in, and running statistics; with a weight where inputs are given."""
    generator = torch.Generator().manual_seed(seed)

    def numbers(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    x = (numbers(nodes, members, inputs or width * (1 + len(operators))) * 3 + 2).requires_grad_()
    weight = numbers(members, 1 + len(operators), inputs, width).requires_grad_() if inputs else None
    scale, shift = (numbers(members, width).requires_grad_() for _ in range(2))
    statistics = Running(numbers(members, width), numbers(members, width).abs() + 0.5, training)
    running = statistics if norm == "batch" else None
    noise = Noise(0, tuple(range(members)), 3) if training else None
    kinds = {"weight": weight, "operators": operators, "running": running, "by_node": norm == "layer"}
    y = activate(x, scale if norm else None, shift, **kinds, rate=0.3, noise=noise, stream=2)
    y.backward(numbers(*y.shape))
    state = [] if running is None else [running.mean, running.variance]
    learned = [x, shift, *([scale] if norm else []), *([weight] if inputs else [])]
    return [y.detach(), *(parameter.grad for parameter in learned), *state]


def check(monkeypatch, tolerance, operators, dtype, **shape):
    native = run(operators, dtype, **shape)
    monkeypatch.setattr("newtonnet.nn.activation.is_native", lambda x: False)
    for mine, theirs in zip(native, run(operators, dtype, **shape), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance * max(1.0, float(theirs.abs().max())))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 2e-5)])
@pytest.mark.parametrize("kind", ["none", "symmetric", "mean"])
@pytest.mark.parametrize("norm", ["batch", "layer", None])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("members", "width"), [(1, 64), (3, 5), (2, 37), (1, 1)])
def test_native_kernels_and_torch_do_the_same(
    random_graph, monkeypatch, dtype, tolerance, kind, norm, training, members, width
):
    operators = {
        "none": [],
        "symmetric": [normalised_operator(random_graph, dtype=dtype)],
        "mean": [averaging_operator(random_graph.adjacency, mean=True, dtype=dtype)],
    }[kind]
    shape = {"norm": norm, "training": training, "members": members, "width": width, "nodes": random_graph.nodes}
    check(monkeypatch, tolerance, operators, dtype, **shape)


@pytest.fixture(scope="module")
def directed_graph():
    """Of 300 nodes: more than the rows that a kernel works on at once."""
    return from_edges(np.random.default_rng(5).integers(0, 300, size=(2, 900)), np.ones((300, 1)), directed=True)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 2e-5)])
@pytest.mark.parametrize("directions", [0, 1, 2])
@pytest.mark.parametrize("norm", ["batch", "layer", None])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("members", "inputs", "width"), [(1, 64, 64), (3, 5, 7), (2, 37, 19), (1, 2, 3)])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_layer_with_its_weights_is_the_same_by_native_kernels_and_torch(
    directed_graph, monkeypatch, dtype, tolerance, directions, norm, training, members, inputs, width, threads
):
    monkeypatch.setattr("newtonnet.kernels.threads.WORTH_A_THREAD", 0)
    ways = [directed_graph.adjacency, directed_graph.adjacency.T.tocsr()][:directions]
    operators = [averaging_operator(way, mean=directions == 2, dtype=dtype) for way in ways]
    shape = {"norm": norm, "training": training, "members": members, "width": width, "nodes": 300, "inputs": inputs}
    with kernels.use_threads(threads, torch_count=1):
        check(monkeypatch, tolerance, operators, dtype, **shape)


def test_without_gradients_evaluation_is_the_same_in_one_pass(random_graph):
    operator = normalised_operator(random_graph)
    x, line = torch.randn(random_graph.nodes, 2, 14), torch.rand(2, 7)
    running = Running(torch.randn(2, 7), torch.rand(2, 7) + 0.1, training=False)
    with_graph = activate(x, line, line, operators=[operator], running=running)
    with torch.no_grad():
        torch.testing.assert_close(activate(x, line, line, operators=[operator], running=running), with_graph)


def test_variances_keep_their_digits_far_from_zero(rng):
    """The mean is 10,000 standard deviations away."""
    x = torch.from_numpy(rng.normal(size=(5000, 1, 8)) + 1e4)
    _, moments = kernels.combine(None, x.float(), moments=True)
    expected = x.float().double()
    np.testing.assert_allclose(moments[0], expected.mean(dim=0), rtol=1e-7)
    np.testing.assert_allclose(moments[1], expected.var(dim=0, correction=0), rtol=1e-3)


def test_several_threads_find_the_same_moments(rng):
    x = torch.from_numpy(rng.normal(size=(3001, 2, 40)))
    found = []
    for threads in (1, 2, 3):
        moments = torch.empty(2, 2, 40, dtype=torch.float64)
        blocks = kernels.arrays(None, x, torch.empty_like(x), None, None)
        kernels.native.native().combine(None, *blocks, None, *kernels.arrays(moments), threads)
        found.append(moments)
    for moments in found:
        torch.testing.assert_close(moments[0], x.mean(dim=0), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(moments[1], x.var(dim=0, correction=0), rtol=1e-12, atol=1e-12)


def test_a_vendor_operator_is_left_to_torch(random_graph):
    operator = normalised_operator(random_graph)
    assert replace(operator, kernel="vendor").entries is None
    assert operator.entries[0] is operator.entries[1]


def test_without_gradients_a_layer_with_its_weights_is_the_same(random_graph):
    operator = normalised_operator(random_graph)
    x, weight, line = torch.randn(random_graph.nodes, 2, 9), torch.randn(2, 2, 9, 7), torch.rand(2, 7)
    running = Running(torch.randn(2, 7), torch.rand(2, 7) + 0.1, training=False)
    with_graph = activate(x, line, line, weight=weight, operators=[operator], running=running)
    with torch.no_grad():
        without = activate(x, line, line, weight=weight, operators=[operator], running=running)
    torch.testing.assert_close(without, with_graph, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.zeros(4, 1, 5)}, "x must have shape"),
        ({"shift": None}, "scale and shift must be given together"),
        ({"moments": torch.zeros(2, 1, 3)}, "incompatible function arguments"),
    ],
)
def test_wrong_arrays_are_refused(change, message):
    given = {
        "x": torch.zeros(4, 1, 6),
        "out": torch.zeros(4, 1, 6),
        "scale": torch.ones(1, 6),
        "shift": torch.zeros(1, 6),
        "moments": None,
    }
    *blocks, moments = kernels.arrays(None, *(given | change).values())
    with pytest.raises((ValueError, TypeError), match=message):
        kernels.native.native().combine(None, *blocks, None, moments, 1)
