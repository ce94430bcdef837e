"""The fused rest of a layer: the same by the native kernels and by torch, values and gradients, in every shape."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from newtonnet import kernels
from newtonnet.graphs import normalised_operator
from newtonnet.nn import Noise
from newtonnet.nn.activation import Running, activate
from newtonnet.nn.inputs import averaging_operator

pytestmark = pytest.mark.skipif(not kernels.available(), reason="needs the compiled kernels")


def run(operator, dtype, *, norm, training, members, width, nodes, seed=0):
    """Result, gradients of everything that goes in, and running statistics."""
    generator = torch.Generator().manual_seed(seed)

    def numbers(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    x = (numbers(nodes, members, width * (1 if operator is None else 2)) * 3 + 2).requires_grad_()
    scale, shift = (numbers(members, width).requires_grad_() for _ in range(2))
    statistics = Running(numbers(members, width), numbers(members, width).abs() + 0.5, training)
    running = statistics if norm == "batch" else None
    noise = Noise(0, tuple(range(members)), 3) if training else None
    kinds = {"operator": operator, "running": running, "by_node": norm == "layer"}
    y = activate(x, scale if norm else None, shift, **kinds, rate=0.3, noise=noise, stream=2)
    y.backward(numbers(*y.shape))
    state = [] if running is None else [running.mean, running.variance]
    return [y.detach(), x.grad, shift.grad, *([scale.grad] if norm else []), *state]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 2e-5)])
@pytest.mark.parametrize("kind", ["none", "symmetric", "mean"])
@pytest.mark.parametrize("norm", ["batch", "layer", None])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("members", "width"), [(1, 64), (3, 5), (2, 37), (1, 1)])
def test_native_kernels_and_torch_do_the_same(
    random_graph, monkeypatch, dtype, tolerance, kind, norm, training, members, width
):
    operator = {
        "none": None,
        "symmetric": normalised_operator(random_graph, dtype=dtype),
        "mean": averaging_operator(random_graph.adjacency, mean=True, dtype=dtype),
    }[kind]
    shape = {"norm": norm, "training": training, "members": members, "width": width, "nodes": random_graph.nodes}
    native = run(operator, dtype, **shape)
    monkeypatch.setattr("newtonnet.nn.activation.is_native", lambda x: False)
    for mine, theirs in zip(native, run(operator, dtype, **shape), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance * max(1.0, float(theirs.abs().max())))


def test_without_gradients_evaluation_is_the_same_in_one_pass(random_graph):
    operator = normalised_operator(random_graph)
    x, line = torch.randn(random_graph.nodes, 2, 14), torch.rand(2, 7)
    running = Running(torch.randn(2, 7), torch.rand(2, 7) + 0.1, training=False)
    with_graph = activate(x, line, line, operator=operator, running=running)
    with torch.no_grad():
        torch.testing.assert_close(activate(x, line, line, operator=operator, running=running), with_graph)


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
