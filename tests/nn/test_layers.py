import numpy as np
import pytest
import scipy.sparse as sp
import torch

from newtonnet import kernels
from newtonnet.nn import Noise, build, feature_linear, feature_matrix
from newtonnet.nn.layers import batch_norm, member_linear


@pytest.fixture
def dense(rng):
    x = rng.standard_normal((30, 12))
    x[rng.random((30, 12)) < 0.8] = 0
    return x.astype(np.float32)


def test_sparse_and_dense_features_give_the_same_layer_and_gradient(dense, rng):
    weight = torch.tensor(rng.standard_normal((12, 3, 4)), requires_grad=True)
    results = []
    for features in (dense, sp.csr_array(dense)):
        out = feature_linear(feature_matrix(features, torch.float64), weight, rate=0.0, noise=None, stream=0)
        (gradient,) = torch.autograd.grad((out**2).sum(), weight)
        results.append((out.detach().numpy(), gradient.numpy()))
    expected = np.einsum("nf,fph->nph", dense.astype(np.float64), weight.detach().numpy())
    np.testing.assert_allclose(results[0][0], expected, atol=1e-12)
    np.testing.assert_allclose(results[1][0], expected, atol=1e-12)
    np.testing.assert_allclose(results[1][1], results[0][1], atol=1e-12)


@pytest.mark.skipif(not kernels.available(), reason="kernels are not built")
@pytest.mark.parametrize(("features", "blocks"), [(5000, 1), (100, 4)])
def test_rare_features_are_not_cut_into_blocks_of_nodes(features, blocks):
    nodes = np.arange(5000)
    one_hot = sp.csr_array((np.ones(5000, dtype=np.float32), (nodes, nodes % features)), shape=(5000, features))
    assert len(feature_matrix(one_hot, torch.float32).turned.pattern.rows) == blocks * features + 1


def test_sparse_dropout_uses_one_mask_forward_and_backward(dense):
    features = feature_matrix(sp.csr_array(dense), torch.float64)
    noise = Noise(3, (0,), 1)
    weight = torch.randn(12, 2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    assert torch.autograd.gradcheck(lambda w: feature_linear(features, w, rate=0.5, noise=noise, stream=0), (weight,))
    kept = feature_linear(features, torch.eye(12, dtype=torch.float64)[:, None, :], rate=0.5, noise=noise, stream=0)
    ratio = kept[:, 0].numpy()[dense != 0] / dense[dense != 0]
    assert set(np.round(ratio, 6)) == {0.0, 2.0}
    assert (kept[:, 0].numpy()[dense == 0] == 0).all()


def test_each_member_has_its_own_linear_map(rng):
    x, weight, bias = rng.standard_normal((9, 3, 4)), rng.standard_normal((3, 4, 2)), rng.standard_normal((3, 2))
    out = member_linear(torch.tensor(x), torch.tensor(weight), torch.tensor(bias)).numpy()
    for p in range(3):
        np.testing.assert_allclose(out[:, p], x[:, p] @ weight[p] + bias[p], atol=1e-12)


def test_start_weights_depend_on_the_members_own_seed_only(path):
    together, alone = (build("mlp", path, seeds=seeds) for seeds in ((1, 2), (2,)))
    for shape in ((5, 3), (3,)):
        assert torch.equal(together.draw(shape, 0.4)[1], alone.draw(shape, 0.4)[0])
    large = alone.draw((400, 100), 1 / 20)
    assert float(large.abs().max()) <= 1 / 20
    assert float(large.std()) == pytest.approx(1 / 20 / 3**0.5, rel=0.02)


def start(members, width):
    ones, zeros = (make(members, width, dtype=torch.float64) for make in (torch.ones, torch.zeros))
    return ones, zeros, zeros.clone(), ones.clone()


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
