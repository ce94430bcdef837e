"""Normalised operators of a graph as int32 CSR tensors: computed once, passed around, never cached in a layer."""

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from .graph import Graph


@dataclass(frozen=True, eq=False)
class Operator:
    r"""The normalised adjacency :math:`\hat A`, so that :math:`L = I - \hat A` and :math:`L - I = -\hat A`.

    Attributes:
        matrix: sparse CSR, shape ``(n, n)``.
        transpose: its transpose for the backward pass; the same tensor where the graph is undirected.
    """

    matrix: Tensor
    transpose: Tensor

    @property
    def nodes(self) -> int:
        """Number of nodes n."""
        return int(self.matrix.shape[0])

    def to(self, dtype: torch.dtype, device: torch.device | str = "cpu") -> "Operator":
        """The same operator in another type or place."""
        matrix = self.matrix.to(device=device, dtype=dtype)
        symmetric = self.transpose is self.matrix
        return Operator(matrix, matrix if symmetric else self.transpose.to(device=device, dtype=dtype))


def normalised_operator(
    graph: Graph, *, self_loops: bool = False, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
) -> Operator:
    r"""The graph's normalised adjacency, plain or with self-loops.

    .. math:: \hat A = D^{-1/2} A D^{-1/2} \qquad\text{or}\qquad \tilde A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}

    An isolated node has a zero row in :math:`\hat A`: the Laplacian has 1 there and a filter acts on it as
    :math:`g(1)`. With self-loops it has a one on the diagonal and the filter acts as :math:`g(0)`.

    Args:
        graph: the graph; edge weights count in the degrees.
        self_loops: add a loop of weight 1 to every node (GCN, APPNP, GPRGNN) or none (NewtonNet and most others).
        dtype: float32 or float64.
        device: where the operator lives.
    """
    return normalise(graph.adjacency, self_loops=self_loops, symmetric=not graph.directed).to(dtype, device)


def normalise(adjacency: sp.csr_array, *, self_loops: bool = False, symmetric: bool) -> Operator:
    """The operator of a bare matrix, float64; a directed one is divided by its row sums on both sides."""
    matrix = adjacency.astype(np.float64)
    if self_loops:
        matrix = sp.csr_array(matrix + sp.eye_array(matrix.shape[0], format="csr"))
    degree = np.asarray(matrix.sum(axis=1))
    with np.errstate(divide="ignore"):
        scale = np.where(degree > 0, degree**-0.5, 0.0)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    scaled = sp.csr_array(
        (scale[rows] * matrix.data * scale[matrix.indices], matrix.indices, matrix.indptr), matrix.shape
    )
    forward = sparse_tensor(scaled)
    return Operator(forward, forward if symmetric else sparse_tensor(sp.csr_array(scaled.T)))


def sparse_tensor(matrix: sp.csr_array) -> Tensor:
    """A scipy CSR matrix as a torch CSR tensor with int32 indices, which the vendor library multiplies fastest."""
    return csr_tensor(
        torch.from_numpy(matrix.indptr.astype(np.int32)),
        torch.from_numpy(matrix.indices.astype(np.int32)),
        torch.tensor(matrix.data),
        (int(matrix.shape[0]), int(matrix.shape[1])),
    )


def csr_tensor(rows: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A torch CSR tensor from row pointers, column indices and values; its parts are trusted, not checked."""
    with warnings.catch_warnings():  # torch says once per process that its CSR support is in beta
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(rows, columns, values, size=shape, check_invariants=False)
