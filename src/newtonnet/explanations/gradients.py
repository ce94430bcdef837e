"""Networks of several graph layers explained by gradients: exact for the ReLU pattern, or integrated along a path."""

from collections.abc import Sequence
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
STEPS = 32
INTEGRATED = f"integrated gradients from features of 0, {STEPS} steps"

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
    along the straight line from there, by Gauss and Legendre's rule, with a remainder.

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
    points, weights = (np.ones(1), np.ones(1)) if linear else _gauss_legendre(STEPS)
    if isinstance(model, NewtonStack):
        inputs = replace(inputs, extra=model.extra_columns(inputs))
    leaves = [_values(matrix).detach().clone().requires_grad_() for matrix in _matrices(inputs)]
    names = model.extra_names(graph.class_names) if isinstance(model, NewtonStack) else ()
    gradients = [[torch.zeros_like(leaf) for leaf in leaves] for _ in nodes]
    for point, weight in zip(points.tolist(), weights.tolist(), strict=True):
        scaled = [point * leaf for leaf in leaves]
        for i, difference in enumerate(_differences(model(_with_values(inputs, scaled)), nodes, pairs)):
            found = torch.autograd.grad(difference, scaled, retain_graph=True, allow_unused=True)
            for total, gradient in zip(gradients[i], found, strict=True):
                total.add_(0 if gradient is None else gradient, alpha=weight)  # None: an input that is not read
    with torch.no_grad():
        totals, origins = (
            _differences(model(_with_values(inputs, [point * leaf for leaf in leaves])), nodes, pairs).tolist()
            for point in (1.0, 0.0)
        )
    return [
        _explain(graph, inputs, leaves, names, *row, linear=linear)
        for row in zip(nodes, pairs, gradients, totals, origins, distances, strict=True)
    ]


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


def _gauss_legendre(steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points in (0, 1) and their weights, which sum to 1."""
    points, weights = np.polynomial.legendre.leggauss(steps)
    return (points + 1) / 2, weights / 2


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
