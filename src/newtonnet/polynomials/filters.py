"""A spectral filter: a map from its parameters to Chebyshev coefficients, with its start values."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from . import bases
from .points import check_points, equispaced

Parameters = Mapping[str, Tensor]
"""Raw parameters by name, each ``(m,)``, ``(m, P)`` or ``(m, P, d)``: the filter's axis comes first."""


@dataclass(frozen=True, eq=False)
class Filter:
    r"""A polynomial filter :math:`g(\lambda) = \sum_k c_k T_k(\lambda - 1)` with :math:`c = M\,\mathrm{link}(p)`.

    Every polynomial filter is a link on its raw parameters followed by a constant matrix, so all of them share
    one kernel: the Chebyshev recurrence on :math:`L - I`.

    Attributes:
        name: what it is called in records and pictures.
        start: start values of the raw parameters, by name, each of shape ``(m,)``, or ``(m, d)`` for one filter per
            channel; none at all for a fixed filter.
        link: raw parameters to the numbers the matrix takes, shape ``(m, ...)``.
        matrix: :math:`M`, float64, shape ``(K+1, m)``.
        points: where the filter's shape is regularised, float64, shape ``(Q,)``.
    """

    name: str
    start: Parameters
    link: Callable[[Parameters], Tensor]
    matrix: Tensor
    points: Tensor

    @property
    def degree(self) -> int:
        """The polynomial's degree K."""
        return len(self.matrix) - 1

    def coefficients(self, parameters: Parameters) -> Tensor:
        """Chebyshev coefficients on ``L - I``: ``(K+1,)``, ``(K+1, P)`` or ``(K+1, P, d)``, like the parameters."""
        linked = self.link(parameters)
        return _contract(self.matrix, linked)

    def response(self, frequency: Tensor, parameters: Parameters) -> Tensor:
        r"""The filter's amplitude :math:`g(\lambda)`.

        Args:
            frequency: :math:`\lambda` in [0, 2], shape ``(m,)``.
            parameters: raw parameters, each ``(.., P)`` or the like.

        Returns:
            Shape ``(m,)`` followed by the parameters' own trailing axes.

        >>> g = newton_filter(equispaced(2))
        >>> g.response(torch.tensor([0.0, 1.0, 2.0]), {"values": torch.tensor([1.0, 0.5, 2.0])})
        tensor([1.0000, 0.5000, 2.0000])
        """
        coefficients = self.coefficients(parameters)
        basis = bases.chebyshev(frequency.double() - 1, self.degree)
        return _contract(basis, coefficients)

    def amplitudes(self, parameters: Parameters) -> Tensor:
        """The response at the filter's own points."""
        linked = self.link(parameters)
        return linked if self._at_points is None else _contract(self._at_points, linked)

    @cached_property
    def _at_points(self) -> Tensor | None:
        """From linked parameters to the response at the points; None where they are the same numbers."""
        sampled = bases.chebyshev(self.points.double() - 1, self.degree) @ self.matrix
        same = sampled.shape[0] == sampled.shape[1] and torch.allclose(sampled, torch.eye(len(sampled)).to(sampled))
        return None if same else sampled

    def condition(self, resolution: int = 2001) -> float:
        r"""How much an error of the linked parameters can grow: :math:`\max_\lambda \sum_j |(T(\lambda - 1) M)_j|`.

        For an interpolating filter this is the Lebesgue constant of its points.

        >>> round(newton_filter(equispaced(5)).condition(), 2)
        3.11
        """
        grid = torch.linspace(0, 2, resolution, dtype=torch.float64)
        return float((bases.chebyshev(grid - 1, self.degree) @ self.matrix).abs().sum(dim=1).max())


def newton_filter(
    points: Tensor | Iterable[float] | None = None, *, nonnegative: bool = True, channels: int | None = None
) -> Filter:
    r"""The paper's filter: the polynomial through learnable values :math:`t_k` at fixed points :math:`q_k`.

    .. math:: g(\lambda) = \sum_{k=0}^{K} \hat g_t[q_0, \dots, q_k] \prod_{i<k} (\lambda - q_i), \qquad g(q_k) = t_k

    Args:
        points: distinct points in [0, 2] in any order; the paper's equispaced ones of degree 5 if not given.
        nonnegative: pass the raw values through a ReLU, as the released code does; the paper's text leaves them free.
        channels: one filter for each of so many channels, which the paper does not have; one for all if not given.

    Returns:
        A filter with one parameter ``values`` of shape ``(K+1,)`` or ``(K+1, channels)``, all ones at the start
        (:math:`g \equiv 1`).

    References:
        Xu et al., Shape-aware Graph Spectral Learning, 2024, Eq. (5) and (6).
    """
    q = equispaced(5) if points is None else check_points(points)
    return Filter(
        name="newton",
        start={"values": torch.ones(len(q) if channels is None else (len(q), channels), dtype=torch.float64)},
        link=_nonnegative_values if nonnegative else _values,
        matrix=bases.values_to_chebyshev(q),
        points=q,
    )


def _values(parameters: Parameters) -> Tensor:
    return parameters["values"]


def _nonnegative_values(parameters: Parameters) -> Tensor:
    return torch.relu(parameters["values"])


def _contract(matrix: Tensor, block: Tensor) -> Tensor:
    """Sum over the matrix's second and the block's first axis, in the block's type and place."""
    product: Tensor = matrix.to(block) @ block if block.ndim < 3 else torch.tensordot(matrix.to(block), block, dims=1)
    return product
