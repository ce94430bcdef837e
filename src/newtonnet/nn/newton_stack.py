"""NewtonNet's filter as a layer: a residual, normalised stack in which every layer learns a filter of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from newtonnet.graphs import Graph, Operator, propagate
from newtonnet.polynomials import equispaced, newton_filter

from .residual import ResidualStack, StackOptions
from .spectral import check_condition


@dataclass(frozen=True)
class NewtonStackOptions(StackOptions):
    """The Newton stack's shape; the defaults are what worked on graphs without leaks, where one filter is too weak."""

    hidden: int = 64
    layers: int = 6
    dropout: float = 0.2
    norm: str = "batch"
    residual: bool = True
    degree: int = 2
    """Degree K of every layer's filter; the stack as a whole reaches ``layers`` times as far."""
    nonnegative: bool = False
    """Pass the filters' values through a ReLU. Not by default: a value that reaches 0 there gets no gradient any more,
    and no penalty could revive it here."""
    per_channel: bool = False
    """One filter for each hidden unit of a layer instead of one for all."""


class NewtonStack(ResidualStack):
    r"""Tuned GCN's stack with the paper's filter in the place of the averaging.

    .. math:: H' = \mathrm{drop}(\mathrm{ReLU}(\mathrm{norm}(g_l(L) H W + b\ [+ H W_r + b_r]))), \qquad
              g_l(q_k) = t_{l,k}

    Layer l learns its own values :math:`t_{l,k}` at the equispaced points :math:`q_k`, in the optimiser's group of
    filters; they start at 1, so the stack starts as an MLP that knows no edges, and wants a quick rate for them (the
    zoo's is ten times the weights'). The Laplacian has no self-loops, as NewtonNet's.

    A stack of nonlinear layers has no single response whose bands could be compared with the homophily, so there is no
    shape-aware penalty (``filter`` is None and gammas are refused) and no ceiling on the values.

    Args:
        graph: gives the numbers of features and classes.
        options: the model's shape.
        seeds: one for each member.
        dtype: float32, or float64 for checks.

    References:
        Xu et al., Shape-aware Graph Spectral Learning, 2024, Eq. (5), in the stack of Luo, Shi, Wu, Classic GNNs are
        Strong Baselines: Reassessing GNNs for Node Classification, 2024, Section 3; the combination is ours.
    """

    def __init__(self, graph: Graph, options: NewtonStackOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        super().__init__(graph, options, seeds, dtype, name="newton-stack", self_loops=False)
        self.layer_filter = newton_filter(
            equispaced(options.degree),
            nonnegative=options.nonnegative,
            channels=options.hidden if options.per_channel else None,
        )
        check_condition(self.layer_filter, dtype)
        start = self.layer_filter.start["values"].to(dtype).unsqueeze(1)
        for i in range(1, options.layers + 1):
            values = start.repeat(1, len(self.seeds), *[1] * (start.ndim - 2))
            self._add(f"filter{i}_values", values, axis=1, group="filter")

    def _propagate(self, i: int, operator: Operator, x: Tensor) -> Tensor:
        return propagate(operator, x, self.layer_filter.coefficients({"values": self._get(f"filter{i}_values")}))
