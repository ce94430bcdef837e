"""Prediction sets and intervals with a stated coverage, calibrated on predictions of nodes that were held out."""

from __future__ import annotations  # so that help() prints the names of types and not all that they stand for

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Calibration:
    """Scores of held-out nodes: the larger, the worse a node's label or target agreed with its prediction.

    Attributes:
        scores: ascending within each fold, one fold after another, ``(m,)``.
        folds: number of nodes in each fold, ``(F,)``.
        nodes: the nodes that the scores belong to, ``(m,)``.
    """

    scores: Array
    folds: NDArray[np.int64]
    nodes: NDArray[np.int64]

    def fold(self, number: int) -> Array:
        """The scores of one fold, ascending."""
        ends = np.cumsum(self.folds)
        return self.scores[ends[number] - self.folds[number] : ends[number]]


def set_scores(probabilities: ArrayLike) -> Array:
    r"""How much more probable other classes are: the mass above each class, shape ``(..., C)``.

    .. math:: s(x, y) = \sum_{k:\ p_k(x) > p_y(x)} p_k(x)

    A set :math:`\{y : s(x, y) \le q\}` takes classes from the most probable down until the mass taken exceeds q. The
    most probable class has score 0, so no set is empty; there are no random numbers, so a node's set is the same in
    every call and every order of the nodes. (Where the accuracy is above the coverage that was asked for, sets of one
    class cover more than that.)

    >>> set_scores([[0.2, 0.5, 0.3]]).round(3)
    array([[0.8, 0. , 0.5]])

    References:
        Romano, Sesia, Candès, Classification with Valid and Adaptive Coverage, 2020, without the randomisation.
    """
    shares = np.asarray(probabilities, dtype=np.float64)
    order = np.argsort(-shares, axis=-1, kind="stable")
    falling = np.take_along_axis(shares, order, axis=-1)
    above = np.cumsum(falling, axis=-1) - falling
    # Equal probabilities have equal scores: that of the first among them.
    above = np.where(np.diff(falling, axis=-1, prepend=np.inf) == 0, 0, above)
    scores = np.empty_like(above)
    np.put_along_axis(scores, order, np.maximum.accumulate(above, axis=-1), axis=-1)
    return scores


def calibrate(scores: ArrayLike, folds: ArrayLike, nodes: ArrayLike | None = None) -> Calibration:
    """Keep the scores of held-out nodes for :func:`prediction_sets` or :func:`prediction_intervals`.

    Args:
        scores: of every held-out node, ``(m,)``: its label's :func:`set_scores`, or for a number as target the absolute
            difference from the prediction, by a model that was not fitted on it.
        folds: the number of that model, 0 .. F-1, ``(m,)``.
        nodes: the nodes; their places in ``scores`` if not given.
    """
    values, numbers = np.asarray(scores, dtype=np.float64), np.asarray(folds, dtype=np.int64)
    if values.ndim != 1 or values.shape != numbers.shape or len(values) == 0:
        raise ValueError(f"expected one score and one fold for each node, got shapes {values.shape}, {numbers.shape}")
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite numbers")
    order = np.lexsort((values, numbers))
    places = np.arange(len(values)) if nodes is None else np.asarray(nodes, dtype=np.int64)
    return Calibration(values[order], np.bincount(numbers), places[order])


def prediction_sets(
    probabilities: ArrayLike,
    calibration: Calibration,
    coverage: float = 0.9,
    *,
    adjacency: sp.csr_array | None = None,
    locality: float = 0.0,
) -> NDArray[np.bool_]:
    r"""The classes that are plausible for each node, so that the true one is among them for a share of ``coverage``.

    Class y belongs to the set of node x unless too few held-out nodes had a label as surprising as y would be here:

    .. math:: y \in C(x) \iff 1 + \sum_f \#\{j \in f : s_j \ge s_f(x, y)\} > (1 - \text{coverage}) (m + 1)

    where fold f's own model gives :math:`s_f(x, y)`. If held-out and predicted nodes are exchangeable, the coverage
    holds on average over nodes and labels (with a single fold exactly; with several it is near to it in practice and
    at least 2 · coverage − 1 in theory). It does not hold for nodes of another kind: a later year, another graph.

    With ``locality`` w, a node and its held-out neighbours count 1 + w times, so that sets follow regions of the graph
    where the model errs more. The coverage then holds approximately, on the safe side where w is large against the
    number of held-out nodes: a hundredth of it is a good start.

    Args:
        probabilities: by the model of each fold, ``(F, n, C)``, or one prediction for all folds, ``(n, C)``.
        calibration: scores of the held-out nodes.
        coverage: share of the nodes whose true class should be in their set.
        adjacency: the links of the predicted nodes to the calibration's ``nodes``; needed for ``locality``.
        locality: extra weight of held-out neighbours.

    Returns:
        Whether each class belongs to the set, ``(n, C)``; the most probable one on average always does.

    References:
        Vovk, Cross-conformal Predictors, 2015; Clarkson, Distribution Free Prediction Sets for Node Classification,
        2023, for weights by neighbourhood.
    """
    _check_coverage(coverage)
    shares = _by_fold(probabilities, calibration, 3)
    scores = set_scores(shares)
    total = len(calibration.scores)
    as_large = np.ones(shares.shape[1:])  # the node itself
    for fold, own in enumerate(scores):
        known = calibration.fold(fold)
        as_large += len(known) - np.searchsorted(known, own - 1e-12)
    weight = np.full((shares.shape[1], 1), total + 1.0)
    if locality:
        if adjacency is None or locality < 0:
            raise ValueError(f"locality must be at least 0 and needs the adjacency, got {locality}")
        near, count = _neighbours(scores, calibration, adjacency)
        as_large, weight = as_large + locality * (near + 1), weight + locality * (count + 1)
    sets = as_large > (1 - coverage) * weight * (1 + 1e-12)
    sets[np.arange(len(sets)), shares.mean(axis=0).argmax(axis=1)] = True
    return np.asarray(sets)


def held_out_sets(
    probabilities: Sequence[NDArray[np.floating]], truth: Sequence[NDArray[np.int64]], coverage: float = 0.9
) -> NDArray[np.bool_]:
    """Sets of held-out nodes, each fold's calibrated on the other folds, to see what coverage is reached.

    Args:
        probabilities: of the nodes of each fold, by a model that was not fitted on them, ``(v, C)`` each.
        truth: their classes, ``(v,)`` each; a single fold is cut into random halves.
        coverage: as in :func:`prediction_sets`.

    Returns:
        Fold after fold, ``(sum of v, C)``.
    """
    shares, labels, place = np.concatenate(list(probabilities)), np.concatenate(list(truth)), _places(truth)
    scores = set_scores(shares)[np.arange(len(labels)), labels]
    sets = np.ones(shares.shape, dtype=np.bool_)
    for fold in np.unique(place):
        inside = place == fold
        if not inside.all():
            sets[inside] = prediction_sets(shares[inside], calibrate(scores[~inside], place[~inside] * 0), coverage)
    return sets


def held_out_intervals(
    predictions: Sequence[NDArray[np.floating]], truth: Sequence[NDArray[np.float64]], coverage: float = 0.9
) -> Array:
    """Intervals of held-out nodes, each fold's calibrated on the other folds; as :func:`held_out_sets` for numbers.

    Args:
        predictions: of the nodes of each fold, by a model that was not fitted on them, ``(v, 1)`` each.
        truth: their numbers, ``(v,)`` each; a single fold is cut into random halves.
        coverage: as in :func:`prediction_sets`.

    Returns:
        Lower and upper ends, fold after fold, ``(sum of v, 2)``.
    """
    values = np.concatenate([part.reshape(-1) for part in predictions])
    errors, place = np.abs(values - np.concatenate(list(truth))), _places(truth)
    ends = np.tile([-np.inf, np.inf], (len(values), 1))
    for fold in np.unique(place):
        inside = place == fold
        if not inside.all():
            known = calibrate(errors[~inside], place[~inside] * 0)
            ends[inside] = np.stack(prediction_intervals(values[inside], known, coverage), axis=1)
    return ends


def _places(truth: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The fold of each held-out node, fold after fold; of a single fold random halves."""
    place = np.repeat(np.arange(len(truth)), [len(fold) for fold in truth])
    return np.random.default_rng(0).permutation(len(place)) % 2 if len(truth) == 1 else place


def prediction_intervals(
    predictions: ArrayLike, calibration: Calibration, coverage: float = 0.9
) -> tuple[Array, Array]:
    r"""Lower and upper ends, so that a share of ``coverage`` of the true numbers lies between them.

    .. math:: [\,q^-\{f_{f(j)}(x) - R_j\},\ q^+\{f_{f(j)}(x) + R_j\}\,]

    over the held-out nodes j with their absolute errors :math:`R_j` and the model of their fold.

    Args:
        predictions: by the model of each fold, ``(F, n)``, or one prediction for all folds, ``(n,)``.
        calibration: absolute errors of the held-out nodes.
        coverage: as in :func:`prediction_sets`.

    Returns:
        Two arrays ``(n,)``; infinite if there are too few held-out nodes for this coverage.

    References:
        Barber, Candès, Ramdas, Tibshirani, Predictive Inference with the Jackknife+, 2021, Section 3 (CV+).
    """
    _check_coverage(coverage)
    values = _by_fold(predictions, calibration, 2)
    total = len(calibration.scores)
    rank = int(np.ceil(coverage * (total + 1) - 1e-9))
    if rank > total:
        return np.full(values.shape[1], -np.inf), np.full(values.shape[1], np.inf)
    folds = np.repeat(np.arange(len(calibration.folds)), calibration.folds)
    ends = np.empty((2, values.shape[1]))
    step = max(1, (1 << 22) // total)
    for start in range(0, values.shape[1], step):
        block = values[folds, start : start + step]  # (m, some nodes)
        errors = calibration.scores[:, None]
        ends[0, start : start + step] = np.partition(block - errors, total - rank, axis=0)[total - rank]
        ends[1, start : start + step] = np.partition(block + errors, rank - 1, axis=0)[rank - 1]
    return ends[0], ends[1]


def _neighbours(scores: Array, calibration: Calibration, adjacency: sp.csr_array) -> tuple[Array, Array]:
    """Number of held-out neighbours with a score as large as each class has, ``(n, C)``, and of all, ``(n, 1)``."""
    place = np.full(adjacency.shape[1], -1)
    place[calibration.nodes] = np.arange(len(calibration.nodes))
    sources = np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    held = place[adjacency.indices]
    sources, held = sources[held >= 0], held[held >= 0]
    folds = np.repeat(np.arange(len(calibration.folds)), calibration.folds)
    larger = calibration.scores[held][:, None] >= scores[folds[held], sources] - 1e-12
    near = np.zeros(scores.shape[1:])
    np.add.at(near, sources, larger.astype(np.float64))
    return near, np.bincount(sources, minlength=len(near))[:, None].astype(np.float64)


def _by_fold(predictions: ArrayLike, calibration: Calibration, axes: int) -> Array:
    """Predictions with an axis of folds in front."""
    values, folds = np.asarray(predictions, dtype=np.float64), len(calibration.folds)
    if values.ndim == axes - 1:
        values = np.broadcast_to(values, (folds, *values.shape))
    if values.ndim != axes or len(values) != folds:
        raise ValueError(f"expected predictions by one model or by each of {folds} folds, got shape {values.shape}")
    return values


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be between 0 and 1, got {coverage}")
