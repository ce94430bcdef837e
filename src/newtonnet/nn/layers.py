"""The parts models are made of: features that may be sparse, and linear maps of a whole population."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from newtonnet import kernels
from newtonnet.graphs import Features, Operator, csr_tensor, sparse_tensor
from newtonnet.kernels import Pattern

from .noise import Noise

FULL_LANES = 16
"""Columns that a dense product works on at once."""


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

    @cached_property
    def patterns(self) -> tuple[Pattern, Pattern] | None:
        """The entries of a sparse matrix and of its transpose for the native kernel; None where it cannot be had."""
        if self.transpose is None or self.matrix.device.type != "cpu" or not kernels.available():
            return None
        return kernels.make_pattern(self.matrix), kernels.make_pattern(self.transpose)


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of sparse features in one pass.

    Attributes:
        features: the features.
        values: what their entries are, some of them dropped.
        dropped: whether dropout has made zeros of them.
    """

    features: FeatureMatrix
    values: Tensor
    dropped: bool

    def product(self, weight: Tensor) -> Tensor:
        """X W: ``(F, P, d)`` to ``(n, P, d)``."""
        features = self.features
        if features.patterns is not None:
            return kernels.multiply(features.patterns[0], self.values, weight.contiguous(), gaps=self.dropped)
        return torch.mm(_with_values(features.matrix, self.values), weight.flatten(1)).view(-1, *weight.shape[1:])

    def activated(self, weight: Tensor, bias: Tensor, mask: kernels.Mask | None) -> Tensor:
        """drop(max(X W + b, 0)) by the native kernel: ``(F, P, d)`` and ``(P, d)`` to ``(n, P, d)``."""
        pattern, values = self.features.patterns[0], self.values  # type: ignore[index]
        return kernels.multiply(
            pattern, values, weight.contiguous(), gaps=self.dropped, bias=bias.contiguous(), mask=mask
        )

    def transposed_product(self, gradient: Tensor) -> Tensor:
        """X' G: ``(n, P, d)`` to ``(F, P, d)``."""
        features = self.features
        if features.order is None or features.transpose is None:
            raise TypeError("dense features have no transpose of their own")
        if features.patterns is not None:
            block = gradient.contiguous()
            return kernels.multiply(features.patterns[1], self.values, block, order=features.order, gaps=self.dropped)
        turned = self.values.index_select(0, features.order)
        flat = gradient.flatten(1).contiguous()
        return torch.mm(_with_values(features.transpose, turned), flat).view(-1, *gradient.shape[1:])


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
    if features.transpose is None:
        return (dropped_features(features.matrix, rate, noise, stream) @ weight.flatten(1)).view(-1, *weight.shape[1:])
    entries = dropped_entries(features, rate, noise, stream)
    product: Tensor = _SparseLinear.apply(entries, weight)  # type: ignore[no-untyped-call]
    return product


def dropped_entries(features: FeatureMatrix, rate: float, noise: Noise | None, stream: int) -> Entries:
    """Dropout of the entries of sparse features, with one mask for all members."""
    values = dropped_features(features.matrix.values(), rate, noise, stream)
    return Entries(features, values, dropped=noise is not None and rate > 0)


def dropped_features(x: Tensor, rate: float, noise: Noise | None, stream: int) -> Tensor:
    """Dropout of a block of features, or of the values of their entries, with one mask for all members."""
    return x if noise is None or rate == 0 else noise.drop_shared(x, rate, stream=stream)


class _SparseLinear(torch.autograd.Function):
    """X W with sparse X: forward by X, backward by its transpose, both CSR."""

    @staticmethod
    def forward(ctx: Any, entries: Entries, weight: Tensor) -> Tensor:
        ctx.entries = entries
        return entries.product(weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        return None, ctx.entries.transposed_product(gradient)


def _with_values(matrix: Tensor, values: Tensor) -> Tensor:
    rows, columns = matrix.shape
    return csr_tensor(matrix.crow_indices(), matrix.col_indices(), values, (rows, columns))


def member_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Each member's own linear map: ``(n, P, h)`` with ``(P, h, C)`` and ``(P, C)`` to ``(n, P, C)``."""
    classes = weight.shape[2]
    if classes < FULL_LANES:
        # The vendor's product is several times slower on a few columns than on sixteen.
        weight = nn.functional.pad(weight, (0, FULL_LANES - classes))
    product: Tensor = torch.bmm(x.transpose(0, 1), weight).transpose(0, 1)[..., :classes]
    return product if bias is None else product + bias


def dropout(x: Tensor, *, rate: float, noise: Noise | None, stream: int) -> Tensor:
    """Each member's own dropout on ``(n, P, d)``; the identity in evaluation or at rate 0."""
    return x if noise is None or rate == 0 else noise.drop_members(x, rate, stream=stream)


def member_mask(rate: float, noise: Noise | None, *, stream: int) -> kernels.Mask | None:
    """What decides on each member's own dropout; None in evaluation or at rate 0."""
    return None if noise is None or rate == 0 else noise.members(rate, stream=stream)


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
