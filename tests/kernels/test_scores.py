"""The loss, the scores and agreeing edges against torch in float64, finite differences and plain counting."""

import pytest
import torch
from torch.nn import functional

from newtonnet import kernels
from newtonnet.kernels import use_threads
from newtonnet.kernels.native import instruction_sets, load

TYPES = [torch.float32, torch.float64]
TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-13}
OPTIONS = [(False, 0.0), (True, 0.0), (False, 0.1), (True, 1.0)]
"""Whether classes have weights, and the label smoothing."""


@pytest.fixture(params=["baseline", "avx2", "avx512"], autouse=True)
def native(request, monkeypatch):
    """The module for every instruction set that this machine has."""
    if not kernels.available() or request.param not in instruction_sets():
        pytest.skip(f"no kernels for {request.param}")
    module = load(request.param)
    monkeypatch.setattr("newtonnet.kernels.scores.native", lambda: module)
    return module


@pytest.fixture
def every_thread(monkeypatch):
    """Threads are used however little work there is."""
    monkeypatch.setattr("newtonnet.kernels.threads.WORTH_A_THREAD", 0)


def logits_of(rng, n, members, classes, dtype):
    """Logits, some of them far apart, and labels."""
    logits = torch.tensor(rng.standard_normal((n, members, classes)) * rng.choice([1, 10, 50], (n, 1, 1)), dtype=dtype)
    return logits, torch.from_numpy(rng.integers(0, classes, n))


def chosen(rng, *shape, share=0.5):
    return torch.from_numpy(rng.random(shape) < share)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("weighted", "smoothing"), OPTIONS)
def test_the_loss_and_its_gradient_equal_torchs(weighted, smoothing, dtype, rng, every_thread):
    for classes in [*range(1, 21), 67]:
        n, members = (3, 90, 300, 600)[classes % 4], (1, 2, 5)[classes % 3]
        logits, labels = logits_of(rng, n, members, classes, dtype)
        training = chosen(rng, n, members)
        training[0] = True
        weights = (rng.random(classes) + 0.1).tolist() if weighted else None
        with use_threads(1 + classes % 3):
            loss, gradient = kernels.cross_entropy(logits, labels, training, weights, smoothing)
        wide = logits.double().requires_grad_()
        logarithms = wide.log_softmax(dim=2)
        own = -(1 - smoothing) * logarithms[torch.arange(n), :, labels] - smoothing * logarithms.mean(dim=2)
        by_class = torch.tensor(weights or [1.0] * classes, dtype=torch.float64)
        share = training * by_class[labels][:, None]
        expected = (share * own).sum(dim=0) / share.sum(dim=0)
        (of_logits,) = torch.autograd.grad(expected.sum(), wide)
        torch.testing.assert_close(loss.double(), expected.detach(), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        torch.testing.assert_close(gradient.double(), of_logits, rtol=0, atol=TOLERANCE[dtype])
        assert gradient[~training].eq(0).all()


def test_the_gradient_is_that_of_finite_differences(rng):
    logits, labels = logits_of(rng, 7, 2, 3, torch.float64)
    training = chosen(rng, 7, 2, share=0.8)
    _, gradient = kernels.cross_entropy(logits, labels, training, [1.0, 2.0, 0.5], 0.2)
    for place in range(logits.numel()):
        losses = []
        for step in (1e-5, -1e-5):
            moved = logits.clone()
            moved.view(-1)[place] += step
            losses.append(kernels.cross_entropy(moved, labels, training, [1.0, 2.0, 0.5], 0.2)[0].sum())
        assert (losses[0] - losses[1]) / 2e-5 == pytest.approx(float(gradient.view(-1)[place]), abs=1e-9)


def test_a_logit_far_below_the_largest_has_no_share():
    logits = torch.tensor([0.0, -80.0, -86.9, -87.1, -1e30, float("-inf")]).view(1, 1, 6)
    _, gradient = kernels.cross_entropy(logits, torch.tensor([0]), torch.ones(1, 1).bool(), None, 0.0)
    expected = torch.exp(logits.double()).float()
    expected[..., 0], expected[..., 3:] = 0, 0
    torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=0)


def test_shares_are_accurate_to_a_few_units_in_the_last_place():
    steps = torch.linspace(0, 86, 100_000)
    logits = torch.stack([torch.zeros_like(steps), -steps], dim=1)[None]
    _, gradient = kernels.cross_entropy(logits, torch.tensor([0]), torch.ones(1, len(steps)).bool(), None, 0.0)
    assert (gradient[0, :, 1].double() / torch.sigmoid(-steps.double()) - 1).abs().max() < 2e-7


@pytest.mark.parametrize("dtype", TYPES)
def test_a_member_has_the_same_bits_alone_and_with_any_number_of_threads(dtype, rng, every_thread):
    logits, labels = logits_of(rng, 1000, 7, 5, dtype)
    masks = chosen(rng, 3, 1000, 7)
    pairs = torch.from_numpy(rng.integers(0, 1000, (2, 3000))).int()
    for weights, smoothing in ((None, 0.0), ([1.0, 2.0, 3.0, 4.0, 5.0], 0.1)):
        with use_threads(1):
            together = kernels.cross_entropy(logits, labels, masks[0], weights, smoothing)
            scores = kernels.evaluate(logits, labels, masks)
            agreeing = kernels.agreeing(pairs, scores[0])
        for threads in (2, 3):
            with use_threads(threads):
                again = kernels.cross_entropy(logits, labels, masks[0], weights, smoothing)
                assert all(map(torch.equal, again, together))
                assert all(map(torch.equal, kernels.evaluate(logits, labels, masks), scores))
                assert torch.equal(kernels.agreeing(pairs, scores[0]), agreeing)
        for p in range(7):
            own, mask = logits[:, p : p + 1].contiguous(), masks[:, :, p : p + 1].contiguous()
            loss, gradient = kernels.cross_entropy(own, labels, mask[0], weights, smoothing)
            assert torch.equal(loss[0], together[0][p])
            assert torch.equal(gradient[:, 0], together[1][:, p])
            for part, whole in zip(kernels.evaluate(own, labels, mask), scores, strict=True):
                assert torch.equal(part[..., 0], whole[..., p])


@pytest.mark.parametrize("nodes", [0, 5])
def test_the_loss_over_no_node_is_not_a_number(nodes):
    training = torch.zeros(nodes, 2).bool()
    training[:, 1] = True
    loss, gradient = kernels.cross_entropy(torch.ones(nodes, 2, 3), torch.zeros(nodes).long(), training, None, 0.0)
    assert torch.isnan(loss).tolist() == [True, nodes == 0]
    assert gradient[:, 0].eq(0).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
def test_a_logit_that_is_not_finite_reaches_its_own_member_alone(wrong, dtype, rng):
    for place in range(6):
        logits, labels = logits_of(rng, 100, 3, 6, dtype)
        logits[60, 1, place] = wrong
        labels[60] = 2
        everything = torch.ones(3, 100, 3).bool()
        loss, gradient = kernels.cross_entropy(logits, labels, everything[0], None, 0.0)
        expected = functional.cross_entropy(logits[:, 1], labels)
        torch.testing.assert_close(loss[1], expected, equal_nan=True, rtol=1e-5, atol=0)
        assert torch.isfinite(loss[[0, 2]]).all()
        assert torch.isfinite(gradient[:, [0, 2]]).all()
        assert torch.isfinite(gradient[60, 1]).all() == (wrong == float("-inf"))
        assert kernels.evaluate(logits, labels, everything)[2].tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", TYPES)
def test_predictions_and_their_counts_equal_torchs(dtype, rng, every_thread):
    for classes in [*range(1, 21), 256]:
        n, members = (1, 70, 300, 600)[classes % 4], (1, 2, 10, 16, 33, 130)[classes % 6]
        logits, labels = logits_of(rng, n, members, classes, dtype)
        masks = chosen(rng, 3, n, members)
        with use_threads(1 + classes % 3):
            found, correct, finite = kernels.evaluate(logits, labels, masks)
        predicted = logits.max(dim=2).indices
        assert torch.equal(found.long(), torch.where(masks[0], labels[:, None], predicted))
        assert torch.equal(correct, (masks & (predicted == labels[:, None])).sum(dim=1))
        assert finite.all()


@pytest.mark.parametrize("dtype", TYPES)
def test_the_first_of_equal_logits_is_predicted(dtype, rng):
    logits = torch.from_numpy(rng.integers(0, 3, (200, 3, 9))).to(dtype)
    logits[0] = float("-inf")
    logits[1, :, 4:6] = float("inf")
    found = kernels.evaluate(logits, torch.zeros(200).long(), torch.zeros(3, 200, 3).bool())[0]
    first = torch.tensor([[row.index(max(row)) for row in node] for node in logits.tolist()])
    assert torch.equal(found.long(), first)


@pytest.mark.parametrize("members", [0, 1, 2, 7, 10, 16, 31, 64, 65, 200])
@pytest.mark.parametrize("edges", [0, 1, 255, 256, 3000])
def test_agreeing_edges_are_counted(members, edges, rng, every_thread):
    pairs = torch.from_numpy(rng.integers(0, 30, (2, edges))).int()
    classes = torch.from_numpy(rng.integers(0, 3, (30, members))).to(torch.uint8)
    classes[:, members // 2 :] = 255  # all edges agree, so every byte is as full as it can be
    for threads in (1, 3):
        with use_threads(threads):
            found = kernels.agreeing(pairs, classes)
        assert torch.equal(found, (classes[pairs[0].long()] == classes[pairs[1].long()]).sum(dim=0))


def test_nothing_is_written_beside_the_results(native, rng):
    logits, labels = logits_of(rng, 9, 5, 3, torch.float32)
    masks = chosen(rng, 3, 9, 5)
    whole, bytes_ = torch.full((9 * 15 + 64,), 7.0), torch.full((9 * 5 + 64,), 7, dtype=torch.uint8)
    blocks = kernels.arrays(logits, labels, masks[0], None), kernels.arrays(torch.empty(5), whole[:135].view(9, 5, 3))
    native.cross_entropy(*blocks[0], 0.0, *blocks[1], 1)
    counts = torch.empty(4, 5, dtype=torch.int64)
    native.evaluate(*kernels.arrays(logits, labels, masks, bytes_[:45].view(9, 5), counts), 1)
    assert whole[135:].eq(7).all()
    assert bytes_[45:].eq(7).all()
    assert bytes_[:45].lt(3).all()


INCOMPATIBLE = "incompatible function arguments"


def ones(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"logits": ones(4, 2)}, None),
        ({"logits": ones(4, 2, 0)}, "logits must be of"),
        ({"logits": ones(4, 2, 3).half()}, INCOMPATIBLE),
        ({"logits": ones(3, 2, 4).transpose(0, 2)}, None),
        ({"labels": torch.tensor([0, 1, 2])}, "labels must have shape"),
        ({"labels": torch.tensor([0, 1, 2, 3])}, "labels must be from 0 to 2"),
        ({"labels": torch.tensor([0, 1, 2, -1])}, "labels must be from 0 to 2"),
        ({"labels": torch.tensor([0, 1, 2, 1]).int()}, INCOMPATIBLE),
    ],
)
def test_wrong_logits_and_labels_are_refused(changed, message):
    given = {"logits": ones(4, 2, 3), "labels": torch.tensor([0, 1, 2, 1])}
    parts = ones(4, 2).bool(), ones(3, 4, 2).bool()
    kernels.cross_entropy(**given, training=parts[0], weights=None, smoothing=0.0)
    kernels.evaluate(**given, masks=parts[1])
    for f, rest in (
        (kernels.cross_entropy, {"training": parts[0], "weights": None, "smoothing": 0.0}),
        (kernels.evaluate, {"masks": parts[1]}),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            f(**(given | changed), **rest)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"training": ones(4, 1).bool()}, "training must have shape"),
        ({"training": ones(4, 2)}, INCOMPATIBLE),
        ({"weights": [1.0, 2.0]}, "weights must have shape"),
    ],
)
def test_wrong_masks_and_weights_of_a_loss_are_refused(changed, message):
    given = {"training": ones(4, 2).bool(), "weights": [1.0, 1.0, 1.0], "smoothing": 0.0}
    with pytest.raises((ValueError, TypeError), match=message):
        kernels.cross_entropy(ones(4, 2, 3), torch.zeros(4).long(), **(given | changed))


@pytest.mark.parametrize(
    ("masks", "classes", "message"),
    [
        (ones(2, 4, 2).bool(), 3, "masks must have shape"),
        (ones(3, 4, 2, dtype=torch.uint8), 3, INCOMPATIBLE),
        (ones(3, 4, 2).bool(), 257, "1 to 256 classes, got 257"),
    ],
)
def test_wrong_masks_and_too_many_classes_of_scores_are_refused(masks, classes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        kernels.evaluate(ones(4, 2, classes), torch.zeros(4).long(), masks)


@pytest.mark.parametrize(
    ("pairs", "classes", "message"),
    [
        ([[0, 1], [1, 4]], ones(4, 2, dtype=torch.uint8), "pairs must be of nodes from 0 to 3"),
        ([[0, -1], [1, 3]], ones(4, 2, dtype=torch.uint8), "pairs must be of nodes from 0 to 3"),
        ([[0, 1]], ones(4, 2, dtype=torch.uint8), "pairs must have shape"),
        ([[0, 1], [1, 3]], ones(4, 2, dtype=torch.int64), INCOMPATIBLE),
        ([[0, 1], [1, 3]], ones(4, dtype=torch.uint8), None),
    ],
)
def test_edges_that_end_outside_and_wrong_classes_are_refused(pairs, classes, message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        kernels.agreeing(torch.tensor(pairs).int(), classes)
