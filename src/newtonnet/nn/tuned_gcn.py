"""Tuned GCN: the same layers as GCN with residual maps, normalisation and depth, the strongest simple rival."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from newtonnet.graphs import Graph, Operator

from .layered import multiply
from .residual import ResidualStack, StackOptions


@dataclass(frozen=True)
class TunedGCNOptions(StackOptions):
    """Tuned GCN's shape; the authors tune it for every graph, the defaults are in the middle of their ranges."""


class TunedGCN(ResidualStack):
    r"""GCN's layers with everything that makes deep networks train: the stack with :math:`S = \tilde A`.

    .. math:: H' = \mathrm{drop}(\mathrm{ReLU}(\mathrm{norm}(\tilde A H W + b\ [+ H W_r + b_r]))), \qquad
              Z = H^L W_o + b_o

    The optional linear map on the features, with dropout, that the authors' code has is left out.

    Args:
        graph: gives the numbers of features and classes.
        options: the model's shape.
        seeds: one for each member.
        dtype: float32, or float64 for checks.

    References:
        Luo, Shi, Wu, Classic GNNs are Strong Baselines: Reassessing GNNs for Node Classification, 2024, Section 3.
    """

    def __init__(self, graph: Graph, options: TunedGCNOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        super().__init__(graph, options, seeds, dtype, name="tuned-gcn", self_loops=True)

    def _propagate(self, i: int, operator: Operator, x: Tensor) -> Tensor:
        return multiply(operator, x)
