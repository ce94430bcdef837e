"""Normalised operators of a graph as int32 CSR tensors: computed once, passed around, never cached in a layer."""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from newtonnet import kernels

from .graph import Graph, check_int32
from .plan import Plan, make_plan, row_blocks


@dataclass(frozen=True, eq=False)
class Operator:
    r"""The normalised adjacency :math:`\hat A`, so that :math:`L = I - \hat A` and :math:`L - I = -\hat A`.

    Attributes:
        matrix: sparse CSR, shape ``(n, n)``.
        transpose: its transpose for the backward pass; the same tensor where the graph is undirected.
        scale: :math:`S` where the matrix is :math:`S A S` for a pattern :math:`A` of ones; None where it has weights.
        kernel: ``native`` (compiled at installation) or ``vendor`` (torch's own sparse product); None uses the native
            one where it was built.
    """

    matrix: Tensor
    transpose: Tensor
    scale: Tensor | None = None
    kernel: str | None = None

    @property
    def nodes(self) -> int:
        """Number of nodes n."""
        return int(self.matrix.shape[0])

    def to(self, dtype: torch.dtype, device: torch.device | str = "cpu") -> "Operator":
        """The same operator in another type or place."""
        matrix = self.matrix.to(device=device, dtype=dtype)
        transpose = matrix if self.symmetric else self.transpose.to(device=device, dtype=dtype)
        scale = None if self.scale is None else self.scale.to(device=device, dtype=dtype)
        return Operator(matrix, transpose, scale, self.kernel)

    @property
    def symmetric(self) -> bool:
        """Whether one matrix serves both directions."""
        return self.transpose is self.matrix

    @cached_property
    def plan(self) -> Plan | None:
        """How the native kernel multiplies the matrix, chosen once; None where the vendor's kernel does it."""
        return make_plan(self.matrix, self.scale) if self._native else None

    @cached_property
    def transpose_plan(self) -> Plan | None:
        """The same for the transpose."""
        if self.symmetric:
            return self.plan
        return make_plan(self.transpose, self.scale) if self._native else None

    @cached_property
    def entries(self) -> tuple[kernels.Entries, kernels.Entries] | None:
        """The matrix and its transpose for kernels that work in the nodes' own order; None where torch does it."""
        if not self._native:
            return None
        matrix = kernels.make_pattern(self.matrix), self.matrix.values()
        if self.symmetric:
            return matrix, matrix
        return matrix, (kernels.make_pattern(self.transpose), self.transpose.values())

    @property
    def _native(self) -> bool:
        if self.kernel not in (None, "native", "vendor"):
            raise ValueError(f"the kernel must be native, vendor or None, got {self.kernel!r}")
        possible = kernels.available() and self.matrix.device.type == "cpu" and self.matrix.dtype in kernels.KINDS
        if self.kernel == "native" and not possible:
            raise ValueError(
                "the native kernel needs float32 or float64 on the CPU, and newtonnet installed with a C++ compiler"
            )
        return possible and self.kernel != "vendor"

    def describe(self) -> str:
        """Which kernel multiplies by this operator, and how."""
        return "vendor kernel (torch's sparse product)" if self.plan is None else self.plan.describe()


def normalised_operator(
    graph: Graph, *, self_loops: bool = False, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
) -> Operator:
    r"""The graph's normalised adjacency, plain or with self-loops.

    .. math:: \hat A = D^{-1/2} A D^{-1/2} \qquad\text{or}\qquad \tilde A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}

    An isolated node has a zero row in :math:`\hat A`: the Laplacian has 1 there and a filter acts on it as
    :math:`g(1)`. With self-loops it has a one on the diagonal and the filter acts as :math:`g(0)`.

    On a directed graph signals flow from source to target, as in the message passing of PyTorch Geometric, so the
    operator is the transpose of :math:`\hat A`, with D the out-degrees.

    Args:
        graph: the graph; edge weights count in the degrees.
        self_loops: add a loop of weight 1 to every node (GCN, APPNP, GPRGNN) or none (NewtonNet and most others).
        dtype: float32 or float64.
        device: where the operator lives.
    """
    operator = normalise(graph.adjacency, self_loops=self_loops, symmetric=not graph.directed, dtype=dtype)
    if graph.directed:
        operator = Operator(operator.transpose, operator.matrix, operator.scale)
    return operator.to(dtype, device)


def normalise(
    adjacency: sp.csr_array, *, self_loops: bool = False, symmetric: bool, dtype: torch.dtype = torch.float64
) -> Operator:
    """The operator of a bare matrix; a directed one is divided by its row sums on both sides."""
    n = adjacency.shape[0]
    matrix = adjacency + sp.eye_array(n, dtype=adjacency.dtype, format="csr") if self_loops else adjacency
    counts = np.diff(matrix.indptr)
    ones = bool((matrix.data == 1).all())
    degree = counts.astype(np.float64) if ones else matrix @ np.ones(n)
    scale = np.power(degree, -0.5, out=np.zeros(n), where=degree > 0)
    values = torch.empty(matrix.nnz, dtype=dtype)
    for rows in row_blocks(matrix.indptr):  # some rows at a time, because float64 takes twice the memory
        inside = slice(matrix.indptr[rows.start], matrix.indptr[rows.stop])
        exact = np.repeat(scale[rows], counts[rows]) * scale[matrix.indices[inside]] * matrix.data[inside]
        values[inside] = torch.from_numpy(exact).to(dtype)
    forward = sparse_tensor(matrix, values)
    # A node without neighbours may have any scale; one with neighbours that reach it but none of its own has scale 0.
    pattern = ones and (symmetric or bool((degree > 0).all()))
    transpose = forward
    if not symmetric:
        turned = sp.csr_array((values.numpy(), matrix.indices, matrix.indptr), shape=matrix.shape).T
        transpose = sparse_tensor(sp.csr_array(turned))
    own = torch.from_numpy(np.where(degree > 0, scale, 1.0)).to(dtype) if pattern else None
    return Operator(forward, transpose, own)


def sparse_tensor(matrix: sp.csr_array, values: Tensor | None = None) -> Tensor:
    """A copy of a scipy CSR matrix as a torch CSR tensor with int32 indices; ``values`` replaces its own, uncopied."""
    check_int32(int(matrix.indptr[-1]), "entries of a matrix")
    check_int32(max(matrix.shape), "rows or columns of a matrix")
    return csr_tensor(
        torch.from_numpy(matrix.indptr.astype(np.int32)),
        torch.from_numpy(matrix.indices.astype(np.int32)),
        torch.tensor(matrix.data) if values is None else values,
        (int(matrix.shape[0]), int(matrix.shape[1])),
    )


def csr_tensor(rows: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """A torch CSR tensor from row pointers, column indices and values; its parts are trusted, not checked."""
    with warnings.catch_warnings():  # torch says once per process that its CSR support is in beta
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(rows, columns, values, size=shape, check_invariants=False)
