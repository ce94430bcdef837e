"""The parts models are made of: features that may be sparse, and linear maps of a whole population."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from newtonnet.graphs import Features, Operator, csr_tensor, sparse_tensor

from .noise import Noise


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """The features X of all nodes, ``(n, F)``: a dense block, or CSR with its transpose for the backward pass.

    Attributes:
        matrix: dense, or sparse CSR.
        transpose: the CSR of the transpose, or None where the matrix is dense.
        order: positions of the transpose's values among the matrix's values.
    """

    matrix: Tensor
    transpose: Tensor | None = None
    order: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Inputs:
    """A graph as a model reads it.

    Attributes:
        features: the nodes' features.
        operator: the matrix that signals are propagated with.
        adjacency: the adjacency as features too, for models with a weight for every node; None for all others.
    """

    features: FeatureMatrix
    operator: Operator
    adjacency: FeatureMatrix | None = None


def feature_matrix(features: Features, dtype: torch.dtype, device: torch.device | str = "cpu") -> FeatureMatrix:
    """Move a graph's features to torch, as sparse as they are."""
    if not isinstance(features, sp.csr_array):
        return FeatureMatrix(torch.tensor(features, dtype=dtype, device=device))
    numbered = sp.csr_array((np.arange(features.nnz), features.indices, features.indptr), shape=features.shape)
    turned = sp.csr_array(numbered.T)
    values = features.data[turned.data]
    transpose = sparse_tensor(sp.csr_array((values, turned.indices, turned.indptr), shape=turned.shape))
    return FeatureMatrix(
        sparse_tensor(features).to(device=device, dtype=dtype),
        transpose.to(device=device, dtype=dtype),
        torch.from_numpy(turned.data).to(device),
    )


def feature_linear(features: FeatureMatrix, weight: Tensor, *, rate: float, noise: Noise | None, stream: int) -> Tensor:
    r"""First layer of all members at once, with dropout on the features.

    .. math:: H_{:,p,:} = \mathrm{drop}(X)\, W_p

    Dropout touches only the non-zeros of sparse features, which has the same distribution as on a dense block.

    Args:
        features: :math:`X`, ``(n, F)``.
        weight: :math:`W`, ``(F, P, h)``.
        rate: dropout rate, applied where noise is given.
        noise: masks of this epoch; None in evaluation.
        stream: which of the epoch's masks to use.

    Returns:
        Shape ``(n, P, h)``.
    """
    flat = weight.flatten(1)
    if features.transpose is None:
        x = features.matrix
        if noise is not None and rate > 0:
            x = x * noise.shared(x, rate, stream=stream)
        product = x @ flat
    else:
        values = features.matrix.values()
        if noise is not None and rate > 0:
            values = values * noise.shared(values, rate, stream=stream)
        product = _SparseLinear.apply(features, values, flat)  # type: ignore[no-untyped-call]
    return product.view(-1, *weight.shape[1:])


class _SparseLinear(torch.autograd.Function):
    """X W with sparse X: forward by X, backward by its transpose, both CSR."""

    @staticmethod
    def forward(ctx: Any, features: FeatureMatrix, values: Tensor, weight: Tensor) -> Tensor:
        ctx.features, ctx.values = features, values
        return torch.mm(_with_values(features.matrix, values), weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor]:
        features = ctx.features
        transpose = _with_values(features.transpose, ctx.values[features.order])
        return None, None, torch.mm(transpose, gradient.contiguous())


def _with_values(matrix: Tensor, values: Tensor) -> Tensor:
    rows, columns = matrix.shape
    return csr_tensor(matrix.crow_indices(), matrix.col_indices(), values, (rows, columns))


def member_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Each member's own linear map: ``(n, P, h)`` with ``(P, h, C)`` and ``(P, C)`` to ``(n, P, C)``."""
    product: Tensor = torch.bmm(x.transpose(0, 1), weight).transpose(0, 1)
    return product if bias is None else product + bias


def dropout(x: Tensor, *, rate: float, noise: Noise | None, stream: int) -> Tensor:
    """Each member's own dropout on ``(n, P, d)``; the identity in evaluation or at rate 0."""
    return x if noise is None or rate == 0 else x * noise.members(x, rate, stream=stream)


def uniform_start(seeds: Sequence[int], shapes: Sequence[tuple[int, ...]], fan_ins: Sequence[int]) -> list[Tensor]:
    r"""Start weights uniform in :math:`\pm 1/\sqrt{\text{fan in}}`, drawn for each member from its own seed.

    Args:
        seeds: one for each member.
        shapes: the shape of each weight for one member.
        fan_ins: number of inputs of each weight.

    Returns:
        For each weight all members' draws stacked along a new first axis.
    """
    return bounded_start(seeds, shapes, [1 / math.sqrt(fan_in) for fan_in in fan_ins])


def glorot_bound(inputs: int, outputs: int) -> float:
    r"""The bound :math:`\sqrt{6 / (\text{fan in} + \text{fan out})}` of Glorot and Bengio's uniform start weights."""
    return math.sqrt(6 / (inputs + outputs))


def bounded_start(seeds: Sequence[int], shapes: Sequence[tuple[int, ...]], bounds: Sequence[float]) -> list[Tensor]:
    """Start weights uniform within a bound of their own, as :func:`uniform_start` draws and returns them."""
    draws: list[list[Tensor]] = [[] for _ in shapes]
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed % 2**63)
        for weight, shape, bound in zip(draws, shapes, bounds, strict=True):
            weight.append(torch.empty(shape).uniform_(-bound, bound, generator=generator))
    return [torch.stack(weight) for weight in draws]
