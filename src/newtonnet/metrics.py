"""Scores of probabilities and of numbers; decisions where one class is rare: a threshold, weights of the classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

METRICS = ("accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "average_precision")
"""What a model can be tuned and scored by; the last two need the order of probabilities only."""

NUMBER_METRICS = ("r2", "d2_absolute_error")
"""The same for numbers as targets: 1 for perfect predictions, 0 for those of the best constant."""

Shares = NDArray[np.floating[Any]]
"""Probabilities of the classes, shape ``(v, C)``."""
Classes = NDArray[np.int64]
"""Class of each node, shape ``(v,)``."""
Truth = Classes | NDArray[np.float64]
"""Class or number of each node, shape ``(v,)``."""


def score(metric: str, shares: Shares, truth: Truth, *, threshold: "Threshold | None" = None) -> float:
    r"""One of :data:`METRICS` for the probabilities of nodes whose classes are known, or of numbers' own metrics.

    ``balanced_accuracy`` is the mean over classes of the share found (recall), ``f1_macro`` the mean of the classes' F1
    :math:`2 p r / (p + r)`; both over the classes that occur in the truth. ``roc_auc`` and ``average_precision`` are
    those of the rarer of two classes, and of several the mean over each class against the others.

    Args:
        metric: its name.
        shares: probabilities, ``(v, C)``.
        truth: classes, ``(v,)``; for :data:`NUMBER_METRICS` numbers, and ``shares`` are predictions (see
            :func:`number_score`).
        threshold: of two classes, from which probability on one of them is predicted; the more probable one is
            predicted if not given.

    >>> shares = np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]])
    >>> [round(score(metric, shares, np.array([0, 0, 1, 1])), 3) for metric in METRICS]
    [0.75, 0.75, 0.733, 0.75, 0.833]
    """
    if metric in NUMBER_METRICS:
        return number_score(metric, shares, truth.astype(np.float64))
    truth = truth.astype(np.int64, copy=False)
    if metric not in METRICS:
        raise ValueError(f"unknown metric {metric!r}; available: {', '.join(METRICS)}")
    if metric in METRICS[3:]:
        ranked = roc_auc if metric == "roc_auc" else average_precision
        classes = [rarer(truth)] if shares.shape[1] == 2 else range(shares.shape[1])
        rows = [(shares[:, c], truth == c) for c in classes]
        both = [(x, positive) for x, positive in rows if 0 < positive.sum() < len(truth)]
        if not both:
            needed = "both" if shares.shape[1] == 2 else "two"
            raise ValueError(f"{metric} needs nodes of {needed} classes; use accuracy, or other nodes")
        return float(np.mean([ranked(x, positive) for x, positive in both]))
    predicted = decide(shares, threshold)
    if metric == "accuracy":
        return float((predicted == truth).mean())
    found = np.bincount(truth[predicted == truth], minlength=shares.shape[1])
    occur = np.bincount(truth, minlength=shares.shape[1])
    called = np.bincount(predicted, minlength=shares.shape[1])
    whole = occur if metric == "balanced_accuracy" else (occur + called) / 2
    return float((found[occur > 0] / whole[occur > 0]).mean())


def number_score(metric: str, predicted: Shares, truth: NDArray[np.float64]) -> float:
    r"""One of :data:`NUMBER_METRICS` for predicted numbers.

    .. math:: R^2 = 1 - \frac{\sum_i (y_i - \hat y_i)^2}{\sum_i (y_i - \bar y)^2}, \qquad
              D^2 = 1 - \frac{\sum_i |y_i - \hat y_i|}{\sum_i |y_i - \mathrm{median}(y)|}

    Args:
        metric: its name.
        predicted: numbers, ``(v,)``, or ``(v, 1)``.
        truth: the true numbers, ``(v,)``; if they are all equal, the errors are not divided.

    >>> round(number_score("r2", np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 6.0])), 4)
    0.3571
    """
    if metric not in NUMBER_METRICS:
        raise ValueError(f"unknown metric {metric!r}; available: {', '.join(NUMBER_METRICS)}")
    error = truth - np.asarray(predicted, dtype=np.float64).reshape(len(truth))
    if metric == "r2":
        return float(1 - (error**2).sum() / (((truth - truth.mean()) ** 2).sum() or 1.0))
    return float(1 - np.abs(error).sum() / (np.abs(truth - np.median(truth)).sum() or 1.0))


def rarer(truth: Classes) -> int:
    """The class of two that fewer nodes have, the second if both are equal; 0 or 1."""
    return int(2 * (truth == 1).sum() <= len(truth))


def decide(shares: Shares, threshold: "Threshold | None" = None) -> Classes:
    """The predicted class of each node, ``(v,)``: the most probable one, or that of a threshold for two classes."""
    if threshold is None:
        return np.asarray(shares.argmax(axis=1))
    if shares.shape[1] != 2:
        raise ValueError(f"a threshold is for two classes, got {shares.shape[1]}")
    found = shares[:, threshold.place] >= threshold.value
    return np.where(found, threshold.place, 1 - threshold.place)


def roc_auc(scores: Shares, positive: NDArray[np.bool_]) -> float:
    """Chance that a random positive outranks a random negative, ties counted half; both must occur.

    >>> roc_auc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    0.75
    """
    from scipy.stats import rankdata  # slow to import

    count = int(positive.sum())
    above = rankdata(scores)[positive].sum() - count * (count + 1) / 2
    return float(above / (count * (len(positive) - count)))


def average_precision(scores: Shares, positive: NDArray[np.bool_]) -> float:
    """Mean over the positives of the precision among the nodes scored at least as high; a positive must occur.

    >>> round(average_precision(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True])), 4)
    0.8333
    """
    curve = precision_recall(scores, positive)
    return float(np.sum(np.diff(curve.recall, prepend=0) * curve.precision))


@dataclass(frozen=True, eq=False)
class Curve:
    """Precision and recall of predicting the positive class from each threshold on, the highest first, all ``(m,)``.

    ``found`` is the number of positives that are predicted, ``called`` the number of all nodes that are.
    """

    threshold: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    found: NDArray[np.int64]
    called: NDArray[np.int64]

    @property
    def f1(self) -> NDArray[np.float64]:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return np.divide(2 * self.precision * self.recall, total, out=np.zeros_like(total), where=total > 0)


def precision_recall(scores: Shares, positive: NDArray[np.bool_]) -> Curve:
    """The curve over all thresholds that divide these nodes; between two scores a threshold lies in their middle."""
    order = np.argsort(-scores, kind="stable")
    falling = np.asarray(scores, dtype=np.float64)[order]
    last = np.flatnonzero(np.diff(falling, append=-np.inf))  # equal scores are never divided
    found = np.cumsum(positive[order], dtype=np.int64)[last]
    below = np.append(falling[last[1:]], 0.0) if len(last) > 1 else np.zeros(1)
    between = (falling[last] + np.minimum(below, falling[last])) / 2
    return Curve(between, found / (last + 1), found / max(int(positive.sum()), 1), found, last + 1)


@dataclass(frozen=True)
class Threshold:
    """A threshold on the probability of one of two classes, and what it reached where it was chosen.

    Attributes:
        rule: ``f1``, ``precision=0.9`` or the like.
        value: predict the class from this probability on.
        precision: share of the predicted that are of the class, where it was chosen.
        recall: share of the class that is predicted, there.
        place: which of the two classes.
        reached: whether the rule's precision or recall is exceeded by a standard error; if not, the nearest was chosen.
        held_out: the same threshold on the predictions that it was chosen on; None: that is ``value``.
    """

    rule: str
    value: float
    precision: float
    recall: float
    place: int = 1
    reached: bool = True
    held_out: float | None = None

    @property
    def where_chosen(self) -> "Threshold":
        """The threshold for the predictions that it was chosen on."""
        return self if self.held_out is None else replace(self, value=self.held_out)

    def moved(self, before: Shares, after: Shares) -> "Threshold":
        """The threshold for other predictions, of which as large a share is of the class.

        Args:
            before: probabilities of some nodes, ``(u, 2)``, by models like those that it was chosen on.
            after: of the same nodes by the model that it is for, ``(v, 2)``.
        """
        falling = np.sort(np.asarray(after[:, self.place], dtype=np.float64))[::-1]
        share = float((before[:, self.place] >= self.value).mean()) if len(before) else 0.0
        count = round(share * len(falling))
        if len(falling) < LEAST_MOVED or not 0 < count < len(falling):
            return self
        return replace(self, value=float(falling[count - 1] + falling[count]) / 2, held_out=self.value)


LEAST_MOVED = 50
"""Nodes that are needed to move a threshold from some predictions to others."""
DOUBT = 1.0
"""Standard errors by which a precision or recall must exceed what a rule asks for."""


def lower_bound(found: NDArray[np.int64], of: NDArray[np.int64] | int) -> NDArray[np.float64]:
    r"""Lower end of Wilson's interval of a share, :data:`DOUBT` standard errors z below it.

    .. math:: \Bigl(p + \frac{z^2}{2n} - z \sqrt{\frac{p (1 - p)}{n} + \frac{z^2}{4 n^2}}\Bigr) \Big/
              \Bigl(1 + \frac{z^2}{n}\Bigr)

    >>> lower_bound(np.array([1, 70, 700]), np.array([1, 100, 1000])).round(3)
    array([0.5  , 0.652, 0.685])
    """
    share, extra = found / of, DOUBT**2 / np.asarray(of)
    reach = np.sqrt(share * (1 - share) * extra + extra**2 / 4)
    return np.asarray((share + extra / 2 - reach) / (1 + extra))


def choose_threshold(rule: str, shares: Shares, truth: Classes) -> Threshold:
    """The threshold for the rarer of two classes that follows a rule on held-out nodes.

    Of all thresholds the best of a few nodes exceeds a precision by chance, and falls short of it on others. So its
    :func:`lower_bound` must reach what the rule asks for; where nodes are too few for it, the nearest is taken.

    Args:
        rule: ``f1``: the largest F1; ``precision=P``: the largest recall with at least this precision; ``recall=R``:
            the largest precision with at least this recall.
        shares: probabilities of nodes that the model was not fitted on, ``(v, 2)``.
        truth: their classes, ``(v,)``.

    >>> scores, truth = np.repeat([0.9, 0.6, 0.4, 0.2, 0.1], 20), np.repeat([1, 1, 0, 0, 0], 20)
    >>> chosen = choose_threshold("precision=0.7", np.stack([1 - scores, scores], axis=1), truth)
    >>> chosen.value, chosen.precision, chosen.recall, chosen.reached
    (0.5, 1.0, 1.0, True)
    """
    kind, bound = parse_rule(rule)
    if shares.shape[1] != 2:
        raise ValueError(f"a threshold is for two classes, got {shares.shape[1]}; use no threshold")
    place = rarer(truth)
    if len(np.unique(truth)) != 2:
        raise ValueError("a threshold needs held-out nodes of both classes")
    curve = precision_recall(shares[:, place], truth == place)
    if kind == "f1":
        best, reached = int(curve.f1.argmax()), True
    else:
        positives = int((truth == place).sum())
        held, wanted = lower_bound(curve.found, curve.called), curve.recall
        if kind == "recall":
            held, wanted = lower_bound(curve.found, positives), curve.precision
        enough = held >= bound - 1e-12
        reached = bool(enough.any())
        best = int(np.where(enough, wanted, -1).argmax()) if reached else int(held.argmax())
    value, precision, recall = (float(part[best]) for part in (curve.threshold, curve.precision, curve.recall))
    return Threshold(rule, value, precision, recall, place, reached)


def parse_rule(rule: str) -> tuple[str, float]:
    """The kind of a threshold rule and its bound; an error for anything else."""
    kind, _, text = rule.partition("=")
    try:
        bound = float(text) if text else 0.0
    except ValueError:
        bound = -1.0
    if not (rule == "f1" or (kind in ("precision", "recall") and 0 < bound <= 1)):
        raise ValueError(f"threshold must be f1, precision=0.9, recall=0.8 or the like, got {rule!r}")
    return kind, bound


def class_weights(
    given: str | Mapping[str, float] | None, labels: Classes, class_names: Sequence[str]
) -> NDArray[np.float64] | None:
    r"""How much a node of each class counts in the loss, ``(C,)``; None if all count alike.

    Args:
        given: ``balanced``: :math:`n / (C\, n_c)`, so that every class counts alike; or a weight above 0 for some
            classes by name, 1 for the others.
        labels: classes of the training nodes, -1 where unknown.
        class_names: one for each class.

    >>> class_weights("balanced", np.array([0, 0, 0, 1]), ("ok", "fraud"))
    array([0.66666667, 2.        ])
    >>> class_weights({"fraud": 5}, np.array([0, 1]), ("ok", "fraud"))
    array([1., 5.])
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given != "balanced":
            raise ValueError(f"class_weight must be 'balanced', weights by class or None, got {given!r}")
        counts = np.bincount(labels[labels >= 0], minlength=len(class_names))
        weights = np.divide(
            counts.sum(), counts * max((counts > 0).sum(), 1), out=np.ones(len(counts)), where=counts > 0
        )
        return np.asarray(weights)
    names = {str(name): float(weight) for name, weight in given.items()}
    unknown = sorted(names.keys() - set(class_names))
    if unknown:
        raise ValueError(f"class_weight names {unknown[0]!r}, which is no class; classes: {', '.join(class_names)}")
    bad = [name for name, weight in names.items() if not 0 < weight < np.inf]
    if bad:
        raise ValueError(f"class_weight must be above 0, got {names[bad[0]]} for {bad[0]!r}")
    return np.array([names.get(name, 1.0) for name in class_names])
