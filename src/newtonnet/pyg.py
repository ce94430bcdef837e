"""The door for PyTorch Geometric users: the learned spectral filter as a layer of their own models."""

from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from newtonnet.graphs import Operator, normalise, propagate
from newtonnet.nn import check_condition
from newtonnet.polynomials import equispaced, newton_filter


class NewtonConv(nn.Module):
    r"""Filter node signals with the polynomial through learnable values at fixed points of the spectrum.

    .. math:: x' = g(L)\,x, \qquad L = I - D^{-1/2} A D^{-1/2}, \qquad g(q_k) = t_k

    The layer keeps the number of channels and mixes none of them; put linear layers around it. As in PyTorch Geometric,
    an undirected edge is given in both directions, repeated edges add up and messages flow from source to target;
    self-loops are left out. Nothing of a graph is remembered between calls, and edge weights get no gradient.

    Args:
        degree: degree K of the filter; the points' number decides where points are given.
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
        self.filter = newton_filter(equispaced(degree) if points is None else points, nonnegative=nonnegative)
        check_condition(self.filter, torch.get_default_dtype())
        self.values = nn.Parameter(self.filter.start["values"].to(torch.get_default_dtype()))

    def reset_parameters(self) -> None:
        """Set the values back to ones."""
        with torch.no_grad():
            self.values.fill_(1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """Filtered signals, shape ``(n, d)`` like ``x``."""
        if x.ndim != 2:
            raise ValueError(f"x must have shape (nodes, channels), got {tuple(x.shape)}")
        operator = _operator(edge_index, edge_weight, len(x)).to(x.dtype, x.device)
        coefficients = self.filter.coefficients({"values": self.values})
        return propagate(operator, x[:, None, :], coefficients[:, None])[:, 0]

    def extra_repr(self) -> str:
        """The degree, for printing."""
        return f"degree={self.filter.degree}"


def _operator(edge_index: Tensor, edge_weight: Tensor | None, n: int) -> Operator:
    if edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise ValueError(f"edge_index must have shape (2, E), got {tuple(edge_index.shape)}")
    source, target = edge_index.detach().cpu().numpy()
    weight = np.ones(len(source)) if edge_weight is None else edge_weight.detach().cpu().numpy().astype(np.float64)
    if weight.shape != source.shape:
        raise ValueError(f"expected {len(source)} edge weights, got shape {weight.shape}")
    if len(source) and (min(source.min(), target.min()) < 0 or max(source.max(), target.max()) >= n):
        raise ValueError(f"edge_index names nodes outside 0..{n - 1}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError("edge weights must be finite and not negative")
    kept = source != target
    adjacency = sp.csr_array((weight[kept], (source[kept], target[kept])), shape=(n, n))
    adjacency.sum_duplicates()
    forward = normalise(adjacency, symmetric=False)
    return Operator(forward.transpose, forward.matrix)
