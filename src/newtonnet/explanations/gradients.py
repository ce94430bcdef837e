"""Networks of several graph layers explained by gradients: exact for the ReLU pattern, or integrated along a path."""

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.graphs import Graph, Operator, band_coefficients, csr_tensor, propagate
from newtonnet.nn import FeatureMatrix, Inputs, NewtonStack, Population

from .explanation import Explanation, Pair, make_explanation
from .spectral import LINKS

GRADIENT = "gradient times input: exact for the ReLU pattern"
INTEGRATED = "integrated gradients from features of 0"

TOLERANCE = 0.05
"""Largest sum of the errors of all first pieces of the path of integrated gradients, as a share of how far the logits
move along it; errors of opposite sign cancel, so that remainders are about a fifth of it."""
MOST_STEPS = 600
"""Gradients for a node after which none follow, whatever the remainder is."""
PIECES = (0.0, 1 / 1024, 1 / 256, 1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0)
"""Where the path is cut at first. A layer normalisation undoes the scale of its input, so that it answers to features
near 0 nearly as to the whole ones: most of the way lies in the first pieces."""
POINTS, WEIGHTS = (0.5 - math.sqrt(0.15), 0.5, 0.5 + math.sqrt(0.15)), (5 / 18, 8 / 18, 5 / 18)
"""Gauss and Legendre's rule with three points of a piece, of which one is its middle."""

COLUMNS = 256
"""Features whose frequencies are computed at once."""

PRODUCTS = 1e9
"""Multiplications up to which the gradient is split into frequency bands; above, everything is unresolved."""


def explain_by_gradient(
    model: Population,
    graph: Graph,
    inputs: Inputs,
    nodes: Sequence[int],
    pairs: Sequence[Pair],
    distances: Sequence[NDArray[np.signedinteger]],
) -> list[Explanation]:
    r"""The contributions to the logits of some nodes, for a population of one of any model.

    .. math:: n_j = \sum_f x_{jf} \frac{\partial (z_a - z_b)}{\partial x_{jf}}

    A network of linear maps, ReLUs and frozen batch normalisations is linear in its features for the ReLU pattern at
    hand, so these sum to the difference of the logits less a bias. Any other model, such as one with layer
    normalisation, is explained by integrated gradients, whose bias is its answer to features of 0: the mean gradient
    along the straight line from there, in as many steps as the remainder asks for.

    Args:
        model: a population of one member.
        graph: the graph.
        inputs: the graph as the model prepared it.
        nodes: the nodes to explain.
        pairs: two classes for each of them.
        distances: for each of them the hops to all nodes.

    References:
        Sundararajan, Taly, Yan, Axiomatic Attribution for Deep Networks, 2017, Eq. (1).
    """
    linear = is_piecewise_linear(model)
    if isinstance(model, NewtonStack):
        inputs = replace(inputs, extra=model.extra_columns(inputs))
    leaves = [_values(matrix).detach().clone().requires_grad_() for matrix in _matrices(inputs)]
    names = model.extra_names(graph.class_names) if isinstance(model, NewtonStack) else ()

    def answers(share: float, some: Sequence[int], gradients: bool) -> tuple[Tensor, list[list[Tensor]]]:
        """The differences of some nodes for a share of the features and, if wanted, their gradients."""
        with torch.set_grad_enabled(gradients):
            scaled = [share * leaf for leaf in leaves]
            found = _differences(
                model(_with_values(inputs, scaled)), [nodes[i] for i in some], [pairs[i] for i in some]
            )
        rows = [torch.autograd.grad(one, scaled, retain_graph=True, allow_unused=True) for one in found if gradients]
        # None: an input that is not read
        whole = [[torch.zeros_like(x) if g is None else g for x, g in zip(leaves, row, strict=True)] for row in rows]
        return found.detach().double(), whole

    if linear:
        totals, gradients = answers(1.0, range(len(nodes)), True)
        origins = totals
    else:
        totals, origins, gradients = _integrate(answers, leaves, len(nodes))
    return [
        _explain(graph, inputs, leaves, names, *row, linear=linear)
        for row in zip(nodes, pairs, gradients, totals.tolist(), origins.tolist(), distances, strict=True)
    ]


def _integrate(
    answers: Callable[[float, Sequence[int], bool], tuple[Tensor, list[list[Tensor]]]],
    leaves: Sequence[Tensor],
    count: int,
) -> tuple[Tensor, Tensor, list[list[Tensor]]]:
    r"""Mean gradients of some differences along the straight line from inputs of 0, and the differences at both ends.

    .. math:: \int_0^1 \nabla F(t x)\, dt = \sum_p \int_{a_p}^{b_p} \nabla F(t x)\, dt, \qquad
              x \cdot \int_a^b \nabla F(t x)\, dt = F(b x) - F(a x)

    The second equation gives the error of every piece of the path: a piece whose three gradients do not sum to what
    the difference gains there is cut in half, as often as a node needs it.
    """
    every = list(range(count))
    ends = [answers(share, every, False)[0] for share in PIECES]
    moved = torch.stack(ends).diff(dim=0).abs().sum(dim=0)
    allowed = TOLERANCE / len(PIECES) * moved.clamp(min=1e-6)
    means = [[torch.zeros_like(leaf) for leaf in leaves] for _ in every]
    steps = np.zeros(count, dtype=np.int64)
    pieces = deque(zip(PIECES, PIECES[1:], ends, ends[1:], [every] * (len(PIECES) - 1), strict=False))
    while pieces:
        low, high, before, after, some = pieces.popleft()
        sums = [[torch.zeros_like(leaf) for leaf in leaves] for _ in some]
        middle = before.clone()
        for point, weight in zip(POINTS, WEIGHTS, strict=True):
            found, gradients = answers(low + point * (high - low), some, True)
            if point == 0.5:
                middle[some] = found
            for total, row in zip(sums, gradients, strict=True):
                for part, gradient in zip(total, row, strict=True):
                    part.add_(gradient, alpha=weight * (high - low))
        steps[some] += len(POINTS)
        rest = []
        for i, total in zip(some, sums, strict=True):
            gained = sum(float((leaf.detach() * part).double().sum()) for leaf, part in zip(leaves, total, strict=True))
            wrong = abs(gained - float(after[i] - before[i])) > float(allowed[i])
            waiting = sum(i in piece[-1] for piece in pieces)
            if wrong and steps[i] + len(POINTS) * (waiting + 2) <= MOST_STEPS:
                rest.append(i)
                continue
            for mean, part in zip(means[i], total, strict=True):
                mean.add_(part)
        if rest:
            centre = (low + high) / 2
            pieces.extend([(low, centre, before, middle, rest), (centre, high, middle, after, rest)])
    return ends[-1], ends[0], means


def _differences(logits: Tensor, nodes: Sequence[int], pairs: Sequence[Pair]) -> Tensor:
    """The differences of two logits that are explained, one for each node, or the numbers themselves."""
    first, second = zip(*pairs, strict=True)
    found = logits[list(nodes), 0, list(first)]
    return found if logits.shape[2] == 1 else found - logits[list(nodes), 0, list(second)]


def is_piecewise_linear(model: Population) -> bool:
    """Whether a model in evaluation is a linear map of its features for each pattern of its ReLUs."""
    return model.name != "glognn++" and model.options.get("norm") != "layer"


def _explain(
    graph: Graph,
    inputs: Inputs,
    leaves: Sequence[Tensor],
    names: tuple[str, ...],
    node: int,
    pair: Pair,
    gradients: Sequence[Tensor],
    total: float,
    origin: float,
    distances: NDArray[np.signedinteger],
    *,
    linear: bool,
) -> Explanation:
    products = [
        _array(matrix, (leaf * gradient).detach().double())
        for matrix, leaf, gradient in zip(_matrices(inputs), leaves, gradients, strict=True)
    ]
    contributions = np.asarray(products[0].sum(axis=1)).ravel()
    features = np.asarray(products[0].sum(axis=0)).ravel()
    if inputs.adjacency is not None:  # a link speaks for the node that it leads to
        links = np.asarray(products[1].sum(axis=0)).ravel()
        contributions, features, names = contributions + links, np.append(features, links.sum()), (LINKS,)
    elif inputs.extra is not None:
        contributions = contributions + products[1].sum(axis=1)
        features = np.concatenate([features, products[1].sum(axis=0)])
    return make_explanation(
        node,
        pair,
        GRADIENT if linear else INTEGRATED,
        total=total,
        bias=total - float(contributions.sum()) if linear else origin,
        contributions=contributions,
        distances=distances,
        features=features,
        inputs=names,
        bands=_bands(inputs.operator, graph, _array(inputs.features, gradients[0])),
    )


def _bands(operator: Operator, graph: Graph, gradient: Any) -> NDArray[np.float64] | None:
    """The inner product of the gradient with the low, middle and high frequencies of the features."""
    nodes, features = graph.features.shape
    entries, degree = operator.matrix.values().numel() + nodes, 64
    if not operator.symmetric or entries * features * degree > PRODUCTS:
        return None
    coefficients = band_coefficients(degree)[[0, 2]].T
    outer, whole = np.zeros(2), 0.0
    for start in range(0, features, COLUMNS):
        columns = slice(start, start + COLUMNS)
        signals, against = (_dense(block[:, columns]) for block in (graph.features, gradient))
        block = torch.from_numpy(signals).to(operator.matrix.dtype)
        parts = propagate(operator, torch.stack([block, block], dim=1), coefficients).double().numpy()
        outer += np.einsum("nbf,nf->b", parts, against)
        whole += float((signals * against).sum())
    return np.array([outer[0], whole - outer.sum(), outer[1]])


def _matrices(inputs: Inputs) -> list[FeatureMatrix]:
    """The inputs that contribute: features, and then the adjacency or what a stack reads beside the features."""
    extra = inputs.adjacency if inputs.extra is None else FeatureMatrix(inputs.extra[:, 0])
    return [inputs.features] if extra is None else [inputs.features, extra]


def _values(features: FeatureMatrix) -> Tensor:
    """The numbers of a block, or the entries of a sparse matrix."""
    return features.matrix if features.transpose is None else features.matrix.values()


def _with_values(inputs: Inputs, values: Sequence[Tensor]) -> Inputs:
    """The inputs with other numbers, in a form that has a gradient."""
    blocks = []
    for old, new in zip(_matrices(inputs), values, strict=True):
        matrix = old.matrix
        if old.transpose is not None:
            rows, columns = matrix.shape
            new = csr_tensor(matrix.crow_indices(), matrix.col_indices(), new, (rows, columns))
        blocks.append(FeatureMatrix(new))
    if inputs.extra is not None:
        return replace(inputs, features=blocks[0], extra=values[1][:, None])
    return replace(inputs, features=blocks[0], adjacency=blocks[1] if len(blocks) > 1 else None)


def _array(features: FeatureMatrix, values: Tensor) -> Any:
    """Numbers for the entries of a matrix as a numpy or a scipy array of its shape."""
    if features.transpose is None:
        return values.numpy()
    matrix = features.matrix
    parts = (values.numpy(), matrix.col_indices().numpy(), matrix.crow_indices().numpy())
    return sp.csr_array(parts, shape=tuple(matrix.shape))


def _dense(block: Any) -> NDArray[np.float64]:
    return np.asarray(block.toarray() if isinstance(block, sp.sparray) else block, dtype=np.float64)
