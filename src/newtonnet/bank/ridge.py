"""Ridge regression on the filter bank in closed form: its strength and columns by exact leave-one-out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from torch import Tensor

from newtonnet.datasets import Split
from newtonnet.graphs import Graph

from .features import BankColumn, BankLayout, Shown
from .trained import (
    Bank,
    Probabilities,
    Stop,
    TrainedBank,
    limited_threads,
    node_weights,
    prediction_bank,
    training_bank,
    validation_scores,
)

STRENGTHS = tuple(10.0 ** np.arange(-4, 2.1, 0.5))
"""Penalties that are tried, in units of the columns' mean square."""
JUDGED = 20_000
"""Number of training nodes whose leave-one-out errors choose; the others are left out in between."""
SHARPNESS = 4.0
"""How sharp probabilities are before anything is known."""


@dataclass(frozen=True)
class RidgeOptions:
    """Ridge regression on a filter bank; for the columns see ``BankLayout``."""

    filter: str = "chebyshev"
    hops: int = 3
    components: int = 128
    walks: int = 2
    structure: bool = True
    label_hops: int = 2
    eigenvectors: int = 0

    @property
    def layout(self) -> BankLayout:
        """Which columns the bank has."""
        return BankLayout(**{field.name: getattr(self, field.name) for field in fields(BankLayout)})


def train_ridge(
    graph: Graph,
    split: Split,
    options: RidgeOptions,
    *,
    seed: int = 0,
    threads: int | None = None,
    stop: Stop = None,
    absolute: bool = False,
    class_weight: Sequence[float] | None = None,
    eigenvectors: Tensor | None = None,
) -> TrainedBank:
    r"""Regress classes, or numbers, on the columns of the bank; bands and strength have the least leave-one-out error.

    .. math:: \hat y_{-i} - y_i = \frac{\hat y_i - y_i}{1 - h_{ii}}, \qquad
        H = Z (Z^\top Z + \alpha I)^{-1} Z^\top + \tfrac1t 1 1^\top

    for centred columns Z; where nodes count :math:`w_i`, of mean 1, their rows of Z, of 1 and of the residuals are
    multiplied by :math:`\sqrt{w_i}`.

    All columns are tried, then those without labels, then fewer and fewer degrees. The columns are taken as given: a
    node's own label is not in its row, but may be in its neighbours' rows.

    Args:
        graph: the graph; labels of the training nodes are read, and those of validation nodes to score the result.
        split: training and validation nodes; test nodes are not read.
        options: the bank.
        seed: not used; nothing is random.
        threads: number of threads; None: as many as the libraries choose.
        stop: asked between two sets of columns; the best so far is returned when it says so.
        absolute: not used; the error is squared.
        class_weight: how much a node of each class counts in the squared error, ``(C,)``; None: all count alike.
        eigenvectors: those of the graph for the options, where they are known.
    """
    begun = time.monotonic()
    with limited_threads(threads):
        bank = training_bank(graph, split, options.layout, eigenvectors)
        values = filled(bank)
        truth, numbers = graph.truth[split.train], graph.targets is not None
        targets = truth[:, None].astype(np.float64) if numbers else np.eye(graph.classes)[truth]
        rows, counts = values[split.train], node_weights(graph.labels[split.train], class_weight)
        shift, scale = _scales(rows, bank.columns, counts)
        rows = (rows - shift) / scale
        fit, columns, ended = _search(rows, targets, counts, bank.columns, options, stop)
        weights = np.zeros((rows.shape[1], graph.classes))
        weights[columns] = fit.weights
        sharpness, offsets = 1.0, np.zeros(1)
        if not numbers:
            sharpness, offsets = _calibrate(fit.left_out, truth.astype(np.int64), counts)
    state = bank.state | {
        "weights": torch.from_numpy((weights / scale[:, None]) * sharpness),
        "offsets": torch.from_numpy(
            (np.average(targets, axis=0, weights=counts) - (shift / scale) @ weights) * sharpness + offsets
        ),
        "strength": torch.tensor(fit.strength, dtype=torch.float64),
    }
    held = _answers(values[split.validation] @ state["weights"].numpy() + state["offsets"].numpy())
    left_out = _answers(fit.left_out * sharpness + offsets)
    scores = validation_scores(held, graph.truth[split.validation])
    return TrainedBank(state, scores, held, left_out, time.monotonic() - begun, ended)


def predict_ridge(state: Mapping[str, Tensor], options: RidgeOptions, graph: Graph, shown: Shown) -> Probabilities:
    """Probabilities of the classes for every node, shape ``(n, C)``, or predicted numbers, ``(n, 1)``."""
    values = filled(prediction_bank(state, options.layout, graph, shown))
    return _answers(values @ state["weights"].numpy() + state["offsets"].numpy())


def _answers(logits: NDArray[np.float64]) -> Probabilities:
    """Probabilities of logits ``(n, C)``; of numbers as targets, whose C is 1, the outputs themselves."""
    return logits if logits.shape[1] == 1 else np.asarray(softmax(logits, axis=1))


def filled(bank: Bank) -> NDArray[np.float64]:
    """The columns in float64, with equal shares where no label is reached; of numbers as targets 0."""
    classes, values = int(bank.state["sizes"][1]), bank.values.astype(np.float64)
    np.copyto(values, 0.0 if classes == 1 else 1 / classes, where=np.isnan(values))
    return values


def _search(
    rows: NDArray[np.float64],
    targets: NDArray[np.float64],
    counts: NDArray[np.float64],
    columns: tuple[BankColumn, ...],
    options: RidgeOptions,
    stop: Stop,
) -> tuple["_Fit", NDArray[np.bool_], bool]:
    """The best fit and its columns, with labels and without them, then of fewer degrees; and whether that was all."""
    label = np.array([column.signal in ("label", "reached") for column in columns])
    degree = np.where(label, 0, [column.degree for column in columns])
    gram = rows.T @ (counts[:, None] * rows) if len(rows) >= rows.shape[1] else None
    judged = slice(None, None, -(-len(rows) // JUDGED))

    def fit(
        kept: NDArray[np.bool_], strengths: Sequence[float] = STRENGTHS, judged: slice = judged
    ) -> tuple[_Fit, NDArray[np.bool_]]:
        inner = None if gram is None else gram[np.ix_(kept, kept)]
        return _leave_one_out(rows[:, kept], inner, targets, counts, strengths, judged), kept

    best, ended = fit(np.ones(len(columns), dtype=np.bool_)), True
    for change in (~label, *(degree <= hops for hops in range(options.hops - 1, -1, -1))):
        ended = stop is None or not stop()
        if not ended:
            break
        kept = best[1] & change
        if kept.any() and not np.array_equal(kept, best[1]):
            best = min(best, fit(kept), key=lambda one: one[0].error)
    if judged.step > 1:
        best = fit(best[1], (best[0].strength,), slice(None))
    return *best, ended


def _scales(
    rows: NDArray[np.float64], columns: tuple[BankColumn, ...], counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and scale of each column; components of one degree share their scale, so that noise stays small."""
    shift = np.average(rows, axis=0, weights=counts)
    variance = np.average((rows - shift) ** 2, axis=0, weights=counts)
    degrees = np.array([column.degree if column.signal == "component" else -1 for column in columns])
    for degree in np.unique(degrees[degrees >= 0]):
        variance[degrees == degree] = variance[degrees == degree].mean()
    return shift, np.sqrt(np.where(variance > 1e-12, variance, 1.0))


@dataclass(frozen=True, eq=False)
class _Fit:
    error: float
    strength: float
    weights: NDArray[np.float64]
    left_out: NDArray[np.float64]


def _leave_one_out(
    rows: NDArray[np.float64],
    gram: NDArray[np.float64] | None,
    targets: NDArray[np.float64],
    counts: NDArray[np.float64],
    strengths: Sequence[float] = STRENGTHS,
    judged: slice = slice(None),
) -> _Fit:
    """The best strength for centred columns Z ``(t, m)`` by the error on the rows that are judged.

    ``gram`` is Z'WZ, None where m > t; ``counts`` is the diagonal of W, ``(t,)``, of mean 1.
    """
    count, mean, root = len(rows), np.average(targets, axis=0, weights=counts), np.sqrt(counts)[:, None]
    rows, targets = root * rows, root * (targets - mean)
    if gram is None:
        squares, left = np.linalg.eigh(rows @ rows.T)
        kept = squares > 1e-10 * squares[-1]
        squares, left = squares[kept], left[:, kept]
        directions = (rows.T @ left) / np.sqrt(squares)
    else:
        squares, directions = np.linalg.eigh(gram)
        squares = squares.clip(min=0)
    inner = directions.T @ (rows.T @ targets)
    turned, truth, root = rows[judged] @ directions, targets[judged], root[judged]
    energy = turned**2
    fits = []
    for strength in strengths:
        inverse = 1 / (squares + strength * count)
        hat = energy @ inverse + root[:, 0] ** 2 / count
        left_out = truth + (turned @ (inverse[:, None] * inner) - truth) / np.maximum(1 - hat, 1e-6)[:, None]
        fits.append(_Fit(float(((left_out - truth) ** 2).mean()), strength, inverse, mean + left_out / root))
    best = min(fits, key=lambda one: one.error)
    return replace(best, weights=directions @ (best.weights[:, None] * inner))


def _calibrate(
    scores: NDArray[np.float64], truth: NDArray[np.int64], counts: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Factor and offsets that make softmax(factor * scores + offsets) most likely, drawn to 4 and 0 by a unit prior."""
    from scipy.optimize import minimize  # slow to import

    targets = np.eye(scores.shape[1])[truth]

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        factor, offsets = np.exp(parameters[0]), parameters[1:]
        logarithms = log_softmax(factor * scores + offsets, axis=1)
        gradient = counts[:, None] * (np.exp(logarithms) - targets)
        prior = parameters - start
        value = -(counts[:, None] * logarithms * targets).sum() + (prior**2).sum() / 2
        return value, np.concatenate([[factor * (gradient * scores).sum()], gradient.sum(axis=0)]) + prior

    start = np.concatenate([[np.log(SHARPNESS)], np.zeros(scores.shape[1])])
    found = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return float(np.exp(found[0])), found[1:]
