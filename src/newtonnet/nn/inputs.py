"""How a graph becomes what a model reads: features that may be sparse, and an operator to propagate with."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from newtonnet import kernels
from newtonnet.graphs import Features, Graph, Operator, csr_tensor, sparse_tensor
from newtonnet.kernels import Pattern, Turned

from .noise import Noise

BLOCK_ROWS = 1536
"""Rows of 64 numbers, about, that stay in a core's own cache."""

WORTH_A_BLOCK = 4
"""Entries of a feature, on average, below which a block of rows costs more than it saves."""


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
        """The entries of a sparse matrix and of its transpose for the native kernel; None where it is not available."""
        if self.transpose is None or self.matrix.device.type != "cpu" or not kernels.available():
            return None
        return kernels.make_pattern(self.matrix), kernels.make_pattern(self.transpose)

    @cached_property
    def turned(self) -> Turned | None:
        """The entries of the transpose in blocks of rows for the native kernel; None where it is not available."""
        if self.patterns is None:
            return None
        nodes, features = (max(size, 1) for size in self.matrix.shape)
        most = max(self.matrix.values().numel() // (WORTH_A_BLOCK * features), 1)
        return kernels.turn(self.matrix, -(-nodes // min(-(-nodes // BLOCK_ROWS), most)))

    def dropped(self, rate: float, noise: Noise | None, stream: int) -> "Tensor | Entries":
        """The dense block, or the entries of sparse features, after dropout with one mask for all members.

        Dropout touches only the non-zeros of sparse features, which has the same distribution as on a dense block.
        """
        noisy = noise is not None and rate > 0
        values = self.matrix if self.transpose is None else self.matrix.values()
        values = noise.drop_shared(values, rate, stream=stream) if noise is not None and noisy else values
        return values if self.transpose is None else Entries(self, values, dropped=noisy)


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
        patterns = self.features.patterns
        if patterns is not None:
            return kernels.multiply(patterns[0], self.values, weight.contiguous(), gaps=self.dropped)
        return torch.mm(_with_values(self.features.matrix, self.values), weight.flatten(1)).view(-1, *weight.shape[1:])

    def transposed_product(self, gradient: Tensor) -> Tensor:
        """X' G: ``(n, P, d)`` to ``(F, P, d)``."""
        features = self.features
        if features.order is None or features.transpose is None:
            raise TypeError("dense features have no transpose of their own")
        block = gradient.contiguous()
        if features.patterns is not None:
            return kernels.multiply(features.patterns[1], self.values, block, order=features.order, gaps=self.dropped)
        values = self.values.index_select(0, features.order)
        return torch.mm(_with_values(features.transpose, values), block.flatten(1)).view(-1, *gradient.shape[1:])


def _with_values(matrix: Tensor, values: Tensor) -> Tensor:
    rows, columns = matrix.shape
    return csr_tensor(matrix.crow_indices(), matrix.col_indices(), values, (rows, columns))


@dataclass(frozen=True, eq=False)
class Inputs:
    """A graph as a model reads it.

    Attributes:
        features: the nodes' features.
        operator: the matrix that signals are propagated with.
        adjacency: the adjacency as features too, for models with a weight for every node; None for all others.
        against: the operator against the arrows, for models that read a directed graph in both directions.
        degrees: log(1 + degree) of every node, ``(n, 1)``, or of both directions, ``(n, 2)``, for models that read it.
        labels: the classes that are shown to models which read labels, int64, ``(n, P)``, -1 where none is, or numbers,
            NaN where none is; None until :meth:`show` is called.
        extra: what a stack reads beside the features, ``(n, P, e)``, instead of what it makes of degrees and labels.
    """

    features: FeatureMatrix
    operator: Operator
    adjacency: FeatureMatrix | None = None
    against: Operator | None = None
    degrees: Tensor | None = None
    labels: Tensor | None = None
    extra: Tensor | None = None

    def show(self, labels: Tensor) -> "Inputs":
        """The same inputs with labels shown; models that read none ignore them.

        Args:
            labels: class of every node, -1 where it is not shown; int64, ``(n, P)``, or ``(n,)`` for all members.
                Numbers as targets are float64, NaN where they are not shown.
        """
        nodes = self.operator.nodes
        if labels.dtype not in (torch.int64, torch.float64) or labels.ndim not in (1, 2) or len(labels) != nodes:
            got = f"{labels.dtype} of shape {tuple(labels.shape)}"
            raise ValueError(f"labels must be int64 of shape ({nodes},) or ({nodes}, P), numbers float64, got {got}")
        return replace(self, labels=labels if labels.ndim == 2 else labels[:, None])

    def take(self, members: Tensor) -> "Inputs":
        """The inputs of some of the members, which differ in the labels that are shown."""
        shared = self.labels is None or self.labels.shape[1] == 1
        return self if shared or self.labels is None else replace(self, labels=self.labels[:, members])


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


def adjacency_inputs(
    graph: Graph, *, row_normalised: bool, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> Inputs:
    r"""The features, and the adjacency both as features and as operator.

    Args:
        graph: the graph.
        row_normalised: take :math:`(D + I)^{-1} (A + I)`, whose rows sum to 1, instead of :math:`A` as it is.
        dtype: float32 or float64.
        device: where to put them.
    """
    matrix = sp.csr_array(graph.adjacency, dtype=np.float64)
    if row_normalised:
        matrix = sp.csr_array(matrix + sp.eye_array(graph.nodes, format="csr"))
        rows = np.asarray(matrix.sum(axis=1))
        matrix.data /= np.repeat(rows, np.diff(matrix.indptr))
    adjacency = feature_matrix(matrix, dtype, device)
    transpose = adjacency.matrix if adjacency.transpose is None else adjacency.transpose
    return Inputs(feature_matrix(graph.features, dtype, device), Operator(adjacency.matrix, transpose), adjacency)


def averaging_operator(
    adjacency: sp.csr_array, *, mean: bool, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> Operator:
    r"""An operator along the edges of a matrix that need not be symmetric.

    Args:
        adjacency: :math:`A`; row i has the edges that leave node i.
        mean: take means, :math:`D_r^{-1} A`, instead of :math:`D_r^{-1/2} A D_c^{-1/2}`, with the row and column sums.
        dtype: float32 or float64.
        device: where to put it.
    """
    matrix = sp.csr_array(adjacency, dtype=np.float64)
    rows, columns = (np.asarray(matrix.sum(axis=axis)) for axis in (1, 0))
    left, right = (-1.0, 0.0) if mean else (-0.5, -0.5)
    matrix.data *= np.repeat(np.power(rows, left, where=rows > 0, out=rows), np.diff(matrix.indptr))
    matrix.data *= np.power(columns, right, where=columns > 0, out=columns)[matrix.indices]
    transpose = sparse_tensor(sp.csr_array(matrix.T))
    return Operator(sparse_tensor(matrix), transpose).to(dtype, device)


def with_adjacency(inputs: Inputs, graph: Graph) -> Inputs:
    """The same inputs and the raw adjacency as features, in the operator's type and place."""
    matrix, operator = sp.csr_array(graph.adjacency, dtype=np.float64), inputs.operator.matrix
    return replace(inputs, adjacency=feature_matrix(matrix, operator.dtype, operator.device))


def adjacency_features(inputs: Inputs) -> FeatureMatrix:
    """The adjacency as features; an error where inputs were prepared by a model that does not read it."""
    if inputs.adjacency is None:
        raise ValueError("these inputs have no adjacency features; prepare the graph with the model that reads them")
    return inputs.adjacency


def fingerprint(graph: Graph) -> tuple[int, str]:
    """Number of nodes and a hash of their sorted degrees: enough to tell graphs apart, whatever the nodes' order."""
    degrees = np.sort(np.diff(graph.adjacency.indptr))
    return graph.nodes, hashlib.sha256(degrees.tobytes()).hexdigest()[:16]
