import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

from newtonnet.datasets import Split, csbm
from newtonnet.training import in_memory, roc_auc
from newtonnet.training.in_memory import cross_entropy, evaluate, make_targets


@pytest.fixture(scope="module")
def graph():
    return csbm(0.5, nodes=90, features=3)


@pytest.fixture
def splits(rng):
    chosen = []
    for index in range(3):
        nodes = rng.permutation(90)
        chosen.append(Split(nodes[: 20 + index], nodes[30:50], nodes[50:80], index=index))
    return chosen


def test_scores_and_loss_equal_scikit_learns(graph, splits, rng):
    logits = rng.standard_normal((90, 3, 2))
    targets = make_targets(graph, splits)
    accuracy = evaluate("accuracy", torch.tensor(logits), targets).scores
    auc = evaluate("roc_auc", torch.tensor(logits), targets).scores
    learned = torch.tensor(logits, requires_grad=True)
    loss = cross_entropy(learned, targets)
    loss.sum().backward()
    loss, gradients = loss.detach(), learned.grad
    for p, split in enumerate(splits):
        for i, part in enumerate((split.train, split.validation, split.test)):
            y, z = graph.labels[part], logits[part, p]
            assert float(accuracy[i, p]) == pytest.approx(accuracy_score(y, z.argmax(axis=1)))
            assert float(auc[i, p]) == pytest.approx(roc_auc_score(y, z[:, 1] - z[:, 0]))
        probabilities = np.exp(logits[split.train, p]) / np.exp(logits[split.train, p]).sum(axis=1, keepdims=True)
        assert float(loss[p]) == pytest.approx(log_loss(graph.labels[split.train], probabilities, labels=[0, 1]))
        expected = np.zeros((90, 2))
        expected[split.train] = (probabilities - np.eye(2)[graph.labels[split.train]]) / len(split.train)
        np.testing.assert_allclose(gradients[:, p], expected, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"class_weight": (1.0, 3.0)}, {"label_smoothing": 0.2}])
def test_the_kernels_find_the_loss_gradient_and_scores_of_torch(options, graph, splits, rng, monkeypatch):
    logits, targets = torch.from_numpy(rng.standard_normal((90, 3, 2))), make_targets(graph, splits)
    logits[5, 1, 0] = float("inf")
    found = []
    for native in (True, False):
        monkeypatch.setattr(in_memory, "is_native", (lambda x: True) if native else (lambda x: False))
        if native and not in_memory.kernels.available():
            pytest.skip("the kernels were not built")
        learned = logits.clone().requires_grad_()
        loss = cross_entropy(learned, targets, **options)
        (loss * torch.tensor([2.0, 1.0, 0.5])).sum().backward()  # as reduction="sum" does
        scores = evaluate("accuracy", learned, targets)
        found.append([loss.detach(), learned.grad, scores.scores, scores.finite, scores.classes.long()])
        assert scores.logits is learned
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs, equal_nan=True)
    assert found[0][3].tolist() == [True, False, True]


def test_auc_counts_ties_half(rng):
    margin, positive = rng.integers(0, 4, 60).astype(float), rng.random(60) < 0.3
    assert roc_auc(torch.tensor(margin), torch.tensor(positive)) == pytest.approx(roc_auc_score(positive, margin))


def test_auc_of_one_class_is_not_a_number():
    assert np.isnan(roc_auc(torch.tensor([1.0, 2.0]), torch.tensor([True, True])))


def test_the_binary_loss_is_that_of_each_classs_own_sigmoid(graph, splits, rng):
    logits = rng.standard_normal((90, 3, 2))
    found = cross_entropy(torch.tensor(logits), make_targets(graph, splits), binary=True)
    for p, split in enumerate(splits):
        sigmoid = 1 / (1 + np.exp(-logits[split.train, p]))
        one_hot = np.eye(2)[graph.labels[split.train]]
        expected = -(one_hot * np.log(sigmoid) + (1 - one_hot) * np.log(1 - sigmoid)).mean()
        assert float(found[p]) == pytest.approx(expected)
