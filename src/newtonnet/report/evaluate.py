"""What cross-validations say about a model: scores with intervals, errors class by class, and calibration."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from newtonnet.estimator import CrossValidation
from newtonnet.graphs import Graph
from newtonnet.training.statistics import estimate

from .findings import Evaluation, Scores
from .quantities import has_width

BINS = 10
"""Of equal width, for calibration."""


def evaluate(
    graph: Graph, model: str, ours: CrossValidation, others: Mapping[str, CrossValidation], *, metric: str = "accuracy"
) -> Evaluation:
    """Judge a model by the nodes held out from it.

    Args:
        graph: the graph with its labels.
        model: the model's name.
        ours: its cross-validation.
        others: that of other models by name, on the same splits.
        metric: what the scores are.
    """
    truth = graph.labels[np.concatenate(list(ours.test))]
    shares = np.concatenate(list(ours.probabilities))
    predicted = shares.argmax(axis=1)
    classes = np.arange(graph.classes)
    # Undefined where a class was never predicted, or none of its nodes was held out.
    each = precision_recall_fscore_support(truth, predicted, labels=classes, zero_division=np.nan)
    precision, recall, f1 = ([None if np.isnan(value) else float(value) for value in row] for row in each[:3])
    bins = calibration(shares, truth)
    return Evaluation(
        ours=scores(graph, model, ours, metric=metric),
        others=[scores(graph, name, other, metric=metric) for name, other in others.items()],
        majority=float(np.bincount(truth).max() / len(truth)),
        confusion=confusion_matrix(truth, predicted, labels=classes).tolist(),
        precision=precision,
        recall=recall,
        f1=f1,
        bins=bins,
        calibration_error=sum(abs(sure - right) * count for sure, right, count in bins) / len(truth),
    )


def scores(graph: Graph, model: str, found: CrossValidation, *, metric: str = "accuracy") -> Scores:
    """Mean and 95% interval over splits whose training nodes overlap, within 0 and 1.

    The spread of splits tells nothing for a single one, nor where all happen to agree. Folds with equal shares of every
    class agree too well even where the labels are few, so an accuracy's interval is never narrower than Wilson's for as
    many nodes as were held out.
    """
    held = float(np.mean([len(test) for test in found.test]))
    ratio = held / max(len(graph.labelled) - held, 1)
    interval = estimate(found.scores.tolist(), ratio)
    known = [(interval.low, interval.high)] if interval is not None and has_width(interval.low, interval.high) else []
    if metric == "accuracy":
        known.append(_wilson(graph, found))
    within = (float("nan"), float("nan"))
    if known:
        within = (max(min(low for low, _ in known), 0.0), min(max(high for _, high in known), 1.0))
    return Scores(model, found.scores.tolist(), found.mean, within, float(found.seconds.sum()), ratio)


def _wilson(graph: Graph, found: CrossValidation) -> tuple[float, float]:
    """Wilson's 95% interval of the share that is right among the nodes held out, each counted once."""
    nodes = np.concatenate(list(found.test))
    right = float((np.concatenate(list(found.probabilities)).argmax(axis=1) == graph.labels[nodes]).mean())
    count = len(np.unique(nodes))
    interval = binomtest(round(right * count), count).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def calibration(shares: NDArray[np.float64], truth: NDArray[np.int64]) -> list[tuple[float, float, int]]:
    """Mean confidence, share correct and number of nodes of each bin that has any.

    Args:
        shares: probability of each class, shape ``(v, C)``.
        truth: the classes, shape ``(v,)``.

    >>> calibration(np.array([[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]), np.array([0, 0, 0]))
    [(0.5, 1.0, 1), (0.75, 0.5, 2)]
    """
    sure = shares.max(axis=1)
    right = shares.argmax(axis=1) == truth
    place = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    return [
        (float(sure[place == b].mean()), float(right[place == b].mean()), int((place == b).sum()))
        for b in np.unique(place)
    ]
