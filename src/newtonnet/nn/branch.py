"""An adjacency branch: a small network on the rows of the adjacency whose logits are added to a model's own."""

from dataclasses import dataclass

import torch
from torch import Tensor

from .layers import FeatureMatrix, dropout, feature_linear, member_linear
from .noise import Noise, check_rate


@dataclass(frozen=True)
class Branch:
    r"""The shape of a two-layer network that reads a node's row of the raw adjacency, which is LINKX's idea.

    .. math:: Z_A = W_2\,\mathrm{drop}(\mathrm{ReLU}(A W_1 + b_1)) + b_2

    A is neither normalised nor given self-loops, and its entries are never dropped. :math:`W_1` has a row for every
    node, so the branch learns who is linked to whom: it cannot leave its graph, and where nodes are duplicated, as in
    Chameleon and Squirrel, it rewards memorising them. Its numbers belong beside LINKX's.

    Attributes:
        known: number of nodes n and fingerprint of the graph it is for.
        hidden: number of hidden units h.
        dropout: rate on the hidden units.

    References:
        Lim et al., Large Scale Learning on Non-Homophilous Graphs: New Benchmarks and Strong Simple Methods, 2021,
        Eq. (1).
    """

    known: tuple[int, str]
    hidden: int
    dropout: float = 0.8

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise ValueError(f"a branch must be at least 1 wide, got {self.hidden}; a width of 0 stands for none")
        check_rate(self.dropout)


def branch_logits(
    branch: Branch,
    adjacency: FeatureMatrix,
    weights: tuple[Tensor, Tensor, Tensor, Tensor],
    *,
    noise: Noise | None,
    stream: int,
) -> Tensor:
    """What the branch adds to the logits.

    Args:
        branch: its shape.
        adjacency: :math:`A`, ``(n, n)``.
        weights: ``(n, P, h)``, ``(P, h)``, ``(P, h, C)`` and ``(P, C)``.
        noise: masks of this epoch; None in evaluation.
        stream: which of the epoch's masks to use.

    Returns:
        Shape ``(n, P, C)``.
    """
    weight1, bias1, weight2, bias2 = weights
    hidden = torch.relu(feature_linear(adjacency, weight1, rate=0.0, noise=None, stream=0) + bias1)
    return member_linear(dropout(hidden, rate=branch.dropout, noise=noise, stream=stream), weight2, bias2)
