import numpy as np
import pytest
import torch

from newtonnet.nn.layers import batch_norm, batch_norm_start


def start(members, width):
    learned, state = batch_norm_start(members, width, torch.float64)
    return learned["scale"], learned["shift"], state["mean"], state["variance"]


def test_every_member_equals_torchs_own_layer_in_training_and_evaluation():
    torch.manual_seed(0)
    scale, shift, mean, variance = start(3, 5)
    scale.copy_(torch.randn(3, 5)), shift.copy_(torch.randn(3, 5))
    layers = [torch.nn.BatchNorm1d(5, dtype=torch.float64) for _ in range(3)]
    for p, layer in enumerate(layers):
        layer.load_state_dict({"weight": scale[p], "bias": shift[p]}, strict=False)
    for training in (True, True, True, False):
        x = (3 * torch.randn(20, 3, 5, dtype=torch.float64) + 1).requires_grad_()
        y = batch_norm(x, scale, shift, mean=mean, variance=variance, training=training)
        direction = torch.randn_like(y)
        (gradient,) = torch.autograd.grad((y * direction).sum(), x)
        for p, layer in enumerate(layers):
            own = x.detach()[:, p].clone().requires_grad_()
            expected = layer.train(training)(own)
            (wanted,) = torch.autograd.grad((expected * direction[:, p]).sum(), own)
            torch.testing.assert_close(y[:, p], expected, rtol=1e-10, atol=1e-10)
            torch.testing.assert_close(gradient[:, p], wanted, rtol=1e-10, atol=1e-10)
            torch.testing.assert_close(mean[p], layer.running_mean, rtol=1e-10, atol=1e-10)
            torch.testing.assert_close(variance[p], layer.running_var, rtol=1e-10, atol=1e-10)


def test_training_equals_the_formula_and_moves_the_running_statistics_by_a_tenth(rng):
    x = rng.normal(2.0, 3.0, size=(7, 2, 4))
    scale, shift, mean, variance = start(2, 4)
    y = batch_norm(torch.tensor(x), scale, shift, mean=mean, variance=variance, training=True)
    np.testing.assert_allclose(y, (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5), atol=1e-12)
    np.testing.assert_allclose(mean, 0.1 * x.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(variance, 0.9 + 0.1 * x.var(axis=0, ddof=1), atol=1e-12)


def test_evaluation_uses_the_running_statistics_and_leaves_them(rng):
    x = rng.normal(size=(7, 2, 4))
    scale, shift, mean, variance = start(2, 4)
    mean.fill_(0.5), variance.fill_(4.0)
    y = batch_norm(torch.tensor(x), scale, shift, mean=mean, variance=variance, training=False)
    np.testing.assert_allclose(y, (x - 0.5) / np.sqrt(4.0 + 1e-5), atol=1e-12)
    assert bool((mean == 0.5).all())
    assert bool((variance == 4.0).all())


def test_one_node_cannot_be_normalised_in_training():
    scale, shift, mean, variance = start(1, 2)
    one = torch.ones(1, 1, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match="at least 2 nodes"):
        batch_norm(one, scale, shift, mean=mean, variance=variance, training=True)
    batch_norm(one, scale, shift, mean=mean, variance=variance, training=False)
