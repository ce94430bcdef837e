"""The learned spectral filter as a layer for PyTorch Geometric models."""

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .graphs import Operator, normalise, propagate
from .nn import check_condition
from .polynomials import equispaced, newton_filter


class NewtonConv(nn.Module):
    r"""Filter node signals with the polynomial through learnable values at fixed points of the spectrum.

    .. math:: x' = g(L)\,x, \qquad L = I - D^{-1/2} A D^{-1/2}, \qquad g(q_k) = t_k

    The layer keeps the number of channels and mixes none of them; put linear layers around it. As in PyTorch Geometric,
    an undirected edge is given in both directions, repeated edges add up and messages flow from source to target;
    self-loops are left out. Nothing is cached between calls, and edge weights get no gradient.

    On a directed graph D holds out-degrees, as in ``get_laplacian`` and ``ChebConv`` (``gcn_norm`` takes in-degrees),
    and the weight of an edge is divided by the square roots of the out-degrees of both ends. So a node without
    out-edges neither sends nor receives messages: the filter multiplies its signal by :math:`g(1)`.

    Signals in half precision, and all signals under ``torch.autocast``, are filtered in float32 at least and returned
    in their own type.

    Args:
        degree: degree K of the filter; ignored if points are given, whose number is K + 1.
        points: distinct points in [0, 2]; equispaced ones if not given.
        nonnegative: pass the values through a ReLU.

    Attributes:
        values: the learnable values, shape ``(K+1,)``, all ones at the start (the layer is then the identity).

    >>> from torch_geometric.data import Data
    >>> layer = NewtonConv(degree=2, nonnegative=False)
    >>> with torch.no_grad():  # g(0) = 1, g(1) = 0, g(2) = -1: the normalised adjacency itself
    ...     _ = layer.values.copy_(torch.tensor([1.0, 0.0, -1.0]))
    >>> layer(torch.tensor([[1.0], [2.0]]), torch.tensor([[0, 1], [1, 0]])).detach()
    tensor([[2.],
            [1.]])
    """

    def __init__(
        self, degree: int = 5, points: Tensor | Iterable[float] | None = None, nonnegative: bool = True
    ) -> None:
        super().__init__()
        if isinstance(points, int | float):
            raise TypeError(
                f"points must be numbers in [0, 2], got {points}; NewtonConv keeps the number of channels: write "
                "NewtonConv(degree=5), and linear layers around it"
            )
        self.filter = newton_filter(equispaced(degree) if points is None else points, nonnegative=nonnegative)
        check_condition(self.filter, torch.get_default_dtype())
        self.values = nn.Parameter(self.filter.start["values"].to(torch.get_default_dtype()))

    def reset_parameters(self) -> None:
        """Set the values back to ones."""
        with torch.no_grad():
            self.values.fill_(1)

    def __prepare_scriptable__(self) -> None:  # what torch.jit.script asks of every module
        raise TypeError(
            "NewtonConv cannot be scripted by torch.jit, since it calls compiled kernels; call it from Python"
        )

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Filter signals.

        Args:
            x: floating-point signals, shape ``(n, d)``.
            edge_index: whole numbers, sources and targets, shape ``(2, E)``; or the transposed adjacency ``adj_t`` as a
                sparse tensor of weights, shape ``(n, n)``.
            edge_weight: weights that are not negative, shape ``(E,)`` or ``(E, 1)``; all 1 if not given.

        Returns:
            Shape and type of ``x``.
        """
        filtered = self._filtered
        if torch.compiler.is_compiling():  # which cannot look into scipy and the kernels
            filtered = torch.compiler.disable(filtered)  # type: ignore[no-untyped-call]
        return filtered(x, edge_index, edge_weight)

    def _filtered(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        _check_tensor("x", x)
        if not x.is_floating_point():
            raise TypeError(f"x must hold real floating-point numbers, got {x.dtype}; convert it with x.float()")
        if x.ndim != 2:
            raise ValueError(f"x must have shape (nodes, channels), got {tuple(x.shape)}")
        operator = _operator(edge_index, edge_weight, len(x)).to(_computed_in(x.dtype), x.device)
        with torch.autocast(x.device.type, enabled=False):  # it would round the coefficients to half precision
            coefficients = self.filter.coefficients({"values": self.values.to(_computed_in(self.values.dtype))})
            signals = x.to(operator.matrix.dtype)[:, None, :]
            return propagate(operator, signals, coefficients[:, None])[:, 0].to(x.dtype)

    def extra_repr(self) -> str:
        """The degree, for printing."""
        return f"degree={self.filter.degree}"


def _computed_in(dtype: torch.dtype) -> torch.dtype:
    """The type itself where there are kernels for it, else float32."""
    return dtype if dtype in (torch.float32, torch.float64) else torch.float32


def _check_tensor(name: str, given: object) -> None:
    if not isinstance(given, Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(given).__name__}; convert it with torch.as_tensor")
    if given.layout != torch.strided:
        raise TypeError(f"{name} must be dense, got {given.layout}; convert it with to_dense()")


def _operator(edge_index: Tensor, edge_weight: Tensor | None, n: int) -> Operator:
    if isinstance(edge_index, Tensor) and edge_index.layout != torch.strided:
        edge_index, edge_weight = _edges(edge_index, edge_weight, n)
    _check_tensor("edge_index", edge_index)
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"edge_index must have shape (2, E), got {tuple(edge_index.shape)}")
    if edge_index.is_floating_point() or edge_index.is_complex() or edge_index.dtype == torch.bool:
        raise TypeError(
            f"edge_index must hold whole numbers, got {edge_index.dtype}; convert it with edge_index.long()"
        )
    source, target = edge_index.detach().cpu().numpy()
    weight = np.ones(len(source)) if edge_weight is None else _weights(edge_weight, len(source))
    if len(source) and (min(source.min(), target.min()) < 0 or max(source.max(), target.max()) >= n):
        raise ValueError(f"edge_index names nodes outside 0..{n - 1}, the rows of x" if n else "x has no nodes to join")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("edge weights must be finite and not negative")
    kept = source != target
    adjacency = sp.csr_array((weight[kept], (source[kept], target[kept])), shape=(n, n))
    forward = normalise(adjacency, symmetric=False)
    return Operator(forward.transpose, forward.matrix)


def _edges(adj_t: Tensor, edge_weight: Tensor | None, n: int) -> tuple[Tensor, Tensor]:
    """Edges and weights of a sparse adjacency whose rows are targets."""
    if adj_t.shape != (n, n):
        raise ValueError(f"a sparse adjacency must have shape ({n}, {n}), got {tuple(adj_t.shape)}")
    if edge_weight is not None:
        raise ValueError("a sparse adjacency holds its weights; leave edge_weight out")
    entries = adj_t.detach().to_sparse(layout=torch.sparse_coo).coalesce()
    return entries.indices().flip(0), entries.values()


def _weights(edge_weight: Tensor, count: int) -> NDArray[np.float64]:
    _check_tensor("edge_weight", edge_weight)
    if edge_weight.is_complex():
        raise TypeError(f"edge_weight must hold real numbers, got {edge_weight.dtype}; take one part of them")
    weight: NDArray[np.float64] = edge_weight.detach().cpu().double().numpy()
    if weight.shape not in ((count,), (count, 1)):
        raise ValueError(f"expected {count} edge weights, one for each edge, got shape {weight.shape}")
    return weight.reshape(count)
