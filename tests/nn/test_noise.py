import numpy as np
import pytest
import torch

from newtonnet.nn import Noise, dropout
from newtonnet.nn.noise import _mixed, _mixed_word, check_rate


def test_masks_have_mean_one_and_the_asked_rate():
    mask = Noise(0, (1,), 7).drop_shared(torch.ones(400, 500), 0.3, stream=0)
    assert float((mask == 0).float().mean()) == pytest.approx(0.3, abs=0.005)
    assert float(mask.mean()) == pytest.approx(1.0, abs=0.01)
    assert mask.unique().tolist() == pytest.approx([0.0, 1 / 0.7], rel=1e-4)


def test_a_members_mask_does_not_depend_on_its_neighbours():
    alone = dropout(torch.ones(40, 1, 7), rate=0.5, noise=Noise(0, (5,), 3), stream=1)
    together = dropout(torch.ones(40, 3, 7), rate=0.5, noise=Noise(0, (2, 5, 9), 3), stream=1)
    assert torch.equal(together[:, 1], alone[:, 0])
    assert not torch.equal(together[:, 0], together[:, 1])


@pytest.mark.parametrize("other", [Noise(0, (5,), 4), Noise(0, (6,), 3)])
def test_masks_change_with_epoch_and_seed(other):
    template = torch.ones(40, 1, 7)
    mask = dropout(template, rate=0.5, noise=Noise(0, (5,), 3), stream=1)
    assert not torch.equal(mask, dropout(template, rate=0.5, noise=other, stream=1))
    assert not torch.equal(mask, dropout(template, rate=0.5, noise=Noise(0, (5,), 3), stream=2))
    assert torch.equal(mask, dropout(template, rate=0.5, noise=Noise(1, (5,), 3), stream=1))


@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_a_rate_outside_zero_to_one_is_refused(rate):
    with pytest.raises(ValueError, match="dropout rate"):
        check_rate(rate)


def test_negative_seeds_have_masks_of_their_own():
    masks = dropout(torch.ones(50, 2, 4), rate=0.5, noise=Noise(0, (-1, -2), 1), stream=0)
    assert not torch.equal(masks[:, 0], masks[:, 1])


def test_streams_differ_and_do_not_depend_on_the_shape_of_others():
    noise = Noise(0, (1,), 1)
    assert not torch.equal(
        dropout(torch.ones(50, 1, 4), rate=0.5, noise=noise, stream=1),
        dropout(torch.ones(50, 1, 4), rate=0.5, noise=noise, stream=2),
    )


@pytest.mark.parametrize("word", [0, 1, -1, -7, 2**63, 2**64 - 1, 0x9E3779B97F4A7C15])
def test_one_word_is_mixed_as_an_array_is(word):
    assert _mixed_word(word) == int(_mixed(np.array([word % 2**64], dtype=np.uint64))[0])
