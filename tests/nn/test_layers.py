import numpy as np
import pytest
import scipy.sparse as sp
import torch

from newtonnet.nn import Noise, feature_matrix
from newtonnet.nn.layers import feature_linear, member_linear, uniform_start


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


def test_start_weights_depend_on_the_members_own_seed_only():
    together = uniform_start([1, 2], [(5, 3), (3,)], [5, 5])
    alone = uniform_start([2], [(5, 3), (3,)], [5, 5])
    assert all(torch.equal(both[1], one[0]) for both, one in zip(together, alone, strict=True))
    large = uniform_start([0], [(400, 100)], [400])[0]
    assert float(large.abs().max()) <= 1 / 20
    assert float(large.std()) == pytest.approx(1 / 20 / 3**0.5, rel=0.02)
