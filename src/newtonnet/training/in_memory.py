"""Training on a graph in memory: one batch per epoch, which is the graph; its loss, scores and homophily."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from newtonnet import kernels
from newtonnet.datasets import Split
from newtonnet.graphs import Graph
from newtonnet.metrics import score
from newtonnet.nn import Inputs, Noise, Population, dropout, is_native

from .config import Config
from .loop import Batch, Evaluation, FinalEvaluation
from .shape import adjusted_pivot, neighbour_correlation, predicted_homophily, training_homophily

LABELS = 255
"""Which of an epoch's masks draws the labels that are shown; layers take theirs from 0 on."""


@dataclass(frozen=True, eq=False)
class Targets:
    """Labels ``(n,)``, 0 where unknown, and which nodes train, validate and test each member, bool, ``(3, n, P)``.

    Of numbers as targets, the labels are floating-point numbers and there is one class.
    """

    labels: Tensor
    masks: Tensor
    classes: int

    @property
    def numbers(self) -> bool:
        """Whether the targets are numbers, not classes."""
        return self.labels.is_floating_point()

    @cached_property
    def sizes(self) -> Tensor:
        """Nodes in each part of each member's split, ``(3, P)``."""
        return self.masks.sum(dim=1)

    @cached_property
    def column(self) -> Tensor:
        """The labels as a column ``(n, 1)``, in bytes where these hold them."""
        return self.labels[:, None].to(torch.uint8 if self.classes <= kernels.MOST_CLASSES else torch.int64)

    @cached_property
    def training(self) -> tuple[Tensor, Tensor, Tensor]:
        """Every node that trains a member, m in all: its label and member, and places of its logits, class by class."""
        nodes, members = self.masks[0].nonzero(as_tuple=True)
        first = self.classes * (nodes * self.masks.shape[2] + members)
        places = torch.arange(self.classes, device=first.device)[:, None] + first
        return self.labels[nodes], members, places.flatten()

    def baseline(self, metric: str) -> Tensor:
        """Of numbers, the summed errors of the best constant on each part of each member's split, ``(3, P)``.

        It is 1 where they are all equal, and NaN for an empty part.
        """
        sums = torch.empty(len(self.masks), self.masks.shape[2], dtype=torch.float64)
        for i, part in enumerate(self.masks):
            for p, inside in enumerate(part.T):
                own = self.labels[inside].double().cpu().numpy()
                if len(own) == 0:
                    sums[i, p] = float("nan")
                    continue
                error = (own - own.mean()) ** 2 if metric == "r2" else np.abs(own - np.median(own))
                sums[i, p] = float(error.sum()) or 1.0
        return sums.to(self.labels.device)

    @property
    def unknown(self) -> float:
        """What stands for a label that is not shown."""
        return float("nan") if self.numbers else -1

    def shown(self) -> Tensor:
        """The labels of each member's training nodes, and -1 (of numbers NaN) everywhere else, ``(n, P)``."""
        return torch.where(self.masks[0], self.labels[:, None], self.unknown)

    def halves(self, share: float, noise: Noise) -> tuple[Tensor, "Targets"]:
        """Some of the labels in :meth:`shown`, and the targets of a loss on the other training nodes.

        What is drawn depends on the member's seed and the epoch alone. A member that the draw leaves without a node to
        learn from is shown nothing.
        """
        train = self.masks[0]
        hidden = dropout(train[..., None].float(), rate=share, noise=noise, stream=LABELS)[..., 0] > 0
        hidden = torch.where(hidden.any(dim=0), hidden, train)
        shown = torch.where(train & ~hidden, self.labels[:, None], self.unknown)
        return shown, Targets(self.labels, hidden[None], self.classes)

    def take(self, members: Tensor) -> "Targets":
        """The targets of some of the members."""
        return Targets(self.labels, self.masks[:, :, members], self.classes)


def make_targets(graph: Graph, splits: Sequence[Split], device: torch.device | str = "cpu") -> Targets:
    """Labels and splits as tensors."""
    masks = np.zeros((3, graph.nodes, len(splits)), dtype=np.bool_)
    for p, split in enumerate(splits):
        for i, nodes in enumerate((split.train, split.validation, split.test)):
            masks[i, nodes, p] = True
    known = np.maximum(graph.labels, 0) if graph.targets is None else np.nan_to_num(graph.targets)
    labels = torch.from_numpy(known)
    return Targets(labels.to(device), torch.from_numpy(masks).to(device), graph.classes)


def cross_entropy(
    logits: Tensor,
    targets: Targets,
    *,
    binary: bool = False,
    class_weight: Sequence[float] | None = None,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Mean cross entropy of each member over its training nodes, from logits ``(n, P, C)`` to ``(P,)``.

    ``binary``: that of each class's own sigmoid on one-hot labels, averaged over the classes. With ``class_weight``
    ``(C,)`` the mean is weighted by the nodes' classes. ``label_smoothing`` spreads this share of every label evenly
    over the classes.
    """
    if not binary and is_native(logits):
        loss: Tensor = _CrossEntropy.apply(logits, targets, class_weight, label_smoothing)  # type: ignore[no-untyped-call]
        return loss
    labels, members, places = targets.training
    # Classes come first: a handful of them is too few to work along.
    chosen = logits.reshape(-1).index_select(0, places).view(targets.classes, -1)
    if binary:
        one_hot = nn.functional.one_hot(labels, targets.classes).T.to(chosen)
        one_hot = one_hot.lerp(torch.full_like(one_hot, 1 / targets.classes), label_smoothing)
        each = nn.functional.binary_cross_entropy_with_logits(chosen, one_hot, reduction="none").mean(dim=0)
    else:
        logarithms = chosen.log_softmax(dim=0)
        each = nn.functional.nll_loss(logarithms.T, labels, reduction="none")
        if label_smoothing:
            each = each.lerp(-logarithms.mean(dim=0), label_smoothing)
    if class_weight is not None:
        weights = each.new_tensor(class_weight)[labels]
        sums = each.new_zeros(2, logits.shape[1]).index_add(1, members, torch.stack([weights * each, weights]))
        return sums[0] / sums[1]
    return _mean(each, logits, targets)


class _CrossEntropy(torch.autograd.Function):
    """The native kernel, which finds the gradient on the way."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, targets: Targets, class_weight: Sequence[float] | None, label_smoothing: float
    ) -> Tensor:
        loss, of_logits = kernels.cross_entropy(
            logits.contiguous(), targets.labels, targets.masks[0].contiguous(), class_weight, label_smoothing
        )
        ctx.save_for_backward(of_logits)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (of_logits,) = ctx.saved_tensors
        if not gradient.eq(1).all():  # it is 1 where the members' losses are summed
            of_logits = of_logits * gradient[:, None]
        return of_logits, None, None, None


def number_loss(logits: Tensor, targets: Targets, *, absolute: bool = False) -> Tensor:
    """Mean squared or absolute error of each member over its training nodes, from outputs ``(n, P, 1)`` to ``(P,)``."""
    truth, _, places = targets.training
    error = logits.reshape(-1).index_select(0, places) - truth.to(logits.dtype)
    return _mean(error.abs() if absolute else error.square(), logits, targets)


def _mean(each: Tensor, logits: Tensor, targets: Targets) -> Tensor:
    """Mean over each member's training nodes, ``(m,)`` to ``(P,)``."""
    if logits.shape[1] == 1:  # the same with fewer steps, which small graphs notice
        return each.mean(dim=0, keepdim=True)
    return each.new_zeros(logits.shape[1]).index_add(0, targets.training[1], each) / targets.sizes[0]


def evaluate_numbers(metric: str, outputs: Tensor, targets: Targets, baseline: Tensor) -> Evaluation:
    """Predictions and scores of outputs ``(n, P, 1)``; for ``baseline`` see :meth:`Targets.baseline`."""
    values, truth = outputs.detach()[..., 0].double(), targets.labels[:, None]
    error = (values - truth).square() if metric == "r2" else (values - truth).abs()
    scores = 1 - torch.where(targets.masks, error, 0.0).sum(dim=1) / baseline
    known = torch.where(targets.masks[0], truth, values)
    finite = torch.isfinite(values.sum(dim=0))
    return Evaluation(scores, finite, known, outputs if outputs.requires_grad else None)


def evaluate(metric: str, logits: Tensor, targets: Targets) -> Evaluation:
    """Predictions and scores of logits ``(n, P, C)`` by one of the metrics."""
    values = logits.detach()
    if is_native(values) and targets.classes <= kernels.MOST_CLASSES:
        classes, correct, finite = kernels.evaluate(values.contiguous(), targets.labels, targets.masks.contiguous())
    else:
        labels = targets.column
        predicted = values.max(dim=2).indices.to(labels.dtype)  # the same as argmax in half the time
        correct = (targets.masks & (predicted == labels)).sum(dim=1)
        finite = torch.isfinite(values.sum(dim=(0, 2)))  # a sum is not finite where one of its numbers is not
        classes = torch.where(targets.masks[0], labels, predicted)
    if metric == "accuracy":
        scores = correct.double() / targets.sizes
    elif metric == "roc_auc" and values.shape[2] == 2:
        scores = _roc_auc(values, targets)
    else:
        scores = _scores(metric, values, targets)
    return Evaluation(scores, finite, classes, logits if logits.requires_grad else None)


def _scores(metric: str, logits: Tensor, targets: Targets) -> Tensor:
    """Any metric of each member on each part of its split, ``(3, P)``; NaN for an empty part."""
    shares, truth = logits.softmax(dim=2).cpu().numpy(), targets.labels.cpu().numpy()
    scores = np.full((len(targets.masks), logits.shape[1]), np.nan)
    for (i, p), _ in np.ndenumerate(scores):
        inside = targets.masks[i, :, p].cpu().numpy()
        # A part of one class has no ranking; logits that are not finite are found by the caller.
        if len(np.unique(truth[inside])) > 1 and np.isfinite(shares[inside, p]).all():
            scores[i, p] = score(metric, shares[inside, p], truth[inside])
    return torch.from_numpy(scores)


def _roc_auc(logits: Tensor, targets: Targets) -> Tensor:
    margin = logits[..., 1] - logits[..., 0]
    positive = targets.labels == 1
    rows = [[roc_auc(margin[mask, p], positive[mask]) for p, mask in enumerate(part.T)] for part in targets.masks]
    return torch.tensor(rows, dtype=torch.float64)


def roc_auc(margin: Tensor, positive: Tensor) -> float:
    """Chance that a random positive outranks a random negative, ties counted half; NaN without one of either.

    >>> roc_auc(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([False, False, True, True]))
    0.75
    """
    above, below = margin[positive].contiguous(), margin[~positive].sort().values
    if len(above) == 0 or len(below) == 0:
        return float("nan")
    wins = torch.searchsorted(below, above) + torch.searchsorted(below, above, right=True)
    return float(wins.double().mean() / (2 * len(below)))


@dataclass(frozen=True, eq=False)
class GraphSource:
    """The source of batches of a graph in memory.

    Attributes:
        inputs: the graph as the model reads it; a model that reads labels is shown those of all its training nodes.
        pairs: ends of every edge that homophily counts, int32, ``(2, E)``.
        degrees: number of edges at each node, ``(n,)``.
        targets: labels and splits.
        shared: the options of the loop.
        seeds: one for each member.
        shown: share of the training labels that a step shows; the loss is on the others.
    """

    inputs: Inputs
    pairs: Tensor
    degrees: Tensor
    targets: Targets
    shared: Config
    seeds: tuple[int, ...] = ()
    shown: float = 0.0

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.targets.classes

    @property
    def has_edges(self) -> bool:
        """Whether there is a homophily to learn."""
        return self.pairs.shape[1] > 0

    def batches(self, epoch: int) -> Iterable[Batch]:
        """The whole graph, once."""
        if self.shown == 0:
            return (Batch(self.inputs, epoch, self.targets),)
        shown, hidden = self.targets.halves(self.shown, Noise(0, self.seeds, epoch))
        return (Batch(self.inputs.show(shown), epoch, hidden),)

    def loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Loss of each member over its training nodes, without those whose labels are shown."""
        kind = self.shared.loss
        if self.targets.numbers:
            mean = number_loss(logits, batch.targets, absolute=kind == "absolute")
        else:
            mean = cross_entropy(
                logits,
                batch.targets,
                binary=kind == "binary",
                class_weight=self.shared.class_weight,
                label_smoothing=self.shared.label_smoothing,
            )
        return mean * batch.targets.sizes[0] if self.shared.reduction == "sum" else mean

    def reduce(self, loss: Tensor, parameters: Sequence[nn.Parameter]) -> Tensor:
        """The loss: there are no other workers."""
        return loss

    def evaluate(self, model: Population, epoch: int) -> Evaluation:
        """Scores of all nodes; a model without dropout keeps its autograd graph for the next epoch."""
        with torch.set_grad_enabled(model.deterministic):
            logits = model(self.inputs)
        return self._evaluate(self.shared.metric, logits)

    def _evaluate(self, metric: str, logits: Tensor) -> Evaluation:
        if self.targets.numbers:
            return evaluate_numbers(self.shared.metric, logits, self.targets, self._baseline)
        return evaluate(metric, logits, self.targets)

    @cached_property
    def _baseline(self) -> Tensor:
        return self.targets.baseline(self.shared.metric)

    def homophily(self, model: Population, evaluation: Evaluation, *, chance: bool) -> tuple[Tensor, Tensor | None]:
        """Predicted homophily of each member, and the one that chance gives."""
        assert evaluation.classes is not None
        if self.targets.numbers:  # chance is always 0
            return self._correlation(evaluation.classes), None
        expected = adjusted_pivot(self.degrees, evaluation.classes, self.classes) if chance else None
        if self.shared.homophily != "predicted":
            return self._counted_homophily, expected
        return predicted_homophily(self.pairs, evaluation.classes, self._edge_weights), expected

    def _correlation(self, values: Tensor) -> Tensor:
        """Homophily of numbers: of the predicted ones, or of the known ones over edges between training nodes."""
        if self.shared.homophily == "predicted":
            weights = None if self._edge_weights is None else self._edge_weights[:, None]
            return neighbour_correlation(self.pairs, values, weights)
        train = self.targets.masks[0] if self.shared.homophily == "train-edges" else self.targets.masks.any(dim=0)
        inside = train[self.pairs.long()].all(dim=0)
        return neighbour_correlation(self.pairs, self.targets.labels[:, None].expand_as(train), inside)

    @cached_property
    def _edge_weights(self) -> Tensor | None:
        """How much every edge counts, float64, ``(E,)``; None: all alike."""
        if self.shared.pivot != "weighted":
            return None
        return self.degrees[self.pairs.long()].double().prod(dim=0).rsqrt()

    @cached_property
    def _counted_homophily(self) -> Tensor:
        """By true labels: those of training nodes, or in studies of all."""
        labels, counted, chance = self.targets.labels, self.targets.masks[0], 1 / self.classes
        if self.shared.homophily == "all-labels":
            counted = (labels >= 0)[:, None].expand_as(counted)
        return training_homophily(self.pairs, labels, counted, chance=chance, weights=self._edge_weights)

    @torch.no_grad()
    def finish(self, model: Population) -> FinalEvaluation:
        """Scores of all nodes."""
        found = self._evaluate("accuracy", model(self.inputs))
        homophily = self.homophily(model, found, chance=False)[0].cpu().numpy()
        scores = np.full(found.scores.shape, np.nan)  # those of the best epoch stand
        tested = scores[2] if self.targets.numbers else found.scores[2].cpu().numpy()
        return FinalEvaluation(scores, tested, homophily)

    def take(self, members: Tensor) -> Self:
        """The source of some of the members."""
        seeds = tuple(self.seeds[member] for member in members.tolist())
        return replace(self, inputs=self.inputs.take(members), targets=self.targets.take(members), seeds=seeds)


def graph_source(
    model: Population, graph: Graph, splits: Sequence[Split], shared: Config, device: torch.device | str = "cpu"
) -> GraphSource:
    """The source of batches of a graph, for members of these splits; the released code counts edges as stored."""
    rows = graph.rows if shared.variant == "released" else None
    with warnings.catch_warnings():  # the graph's arrays are read-only, and nothing here writes to them
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        pairs = torch.from_numpy(graph.pairs if rows is None else rows).to(device)
    degrees = torch.bincount(pairs.flatten(), minlength=graph.nodes)
    inputs, targets = model.prepare(graph, device), make_targets(graph, splits, device)
    if model.shown > 0:
        inputs = inputs.show(targets.shown())
    return GraphSource(inputs, pairs, degrees, targets, shared, model.seeds, model.shown)
