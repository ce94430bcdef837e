"""Spectral networks: an encoder, then a learned polynomial filter of the graph's Laplacian."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from newtonnet.graphs import Graph, propagate
from newtonnet.polynomials import Filter

from .encoder import encode, feature_linear
from .inputs import Inputs, adjacency_features, with_adjacency
from .layers import check_count, member_linear
from .noise import Noise, check_rate, dropout
from .population import Population

TRUSTED_CONDITION = 400.0
"""Above this amplification float32 no longer gives five digits; equispaced points pass it at degree 15."""


@dataclass(frozen=True)
class Branch:
    r"""The shape of a two-layer network that reads a node's row of the raw adjacency, which is LINKX's idea.

    .. math:: Z_A = W_2\,\mathrm{drop}(\mathrm{ReLU}(A W_1 + b_1)) + b_2

    A is neither normalised nor given self-loops, and its entries are never dropped. :math:`W_1` has a row for every
    node, so the branch learns who is linked to whom: it is tied to its graph, and where nodes are duplicated, as in
    Chameleon and Squirrel, it rewards memorising them. Its numbers belong beside LINKX's.

    Attributes:
        graph: number of nodes n and fingerprint of the graph it is for.
        hidden: number of hidden units h.
        dropout: rate on the hidden units.

    References:
        Lim et al., Large Scale Learning on Non-Homophilous Graphs: New Benchmarks and Strong Simple Methods, 2021,
        Eq. (1).
    """

    graph: tuple[int, str]
    hidden: int
    dropout: float = 0.8

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise ValueError(f"a branch must be at least 1 wide, got {self.hidden}; a width of 0 stands for none")
        check_rate(self.dropout)


class SpectralNet(Population):
    r"""Two-layer encoder, dropout, filter: the paper's Eq. (6) for a population.

    .. math:: Z = g(L)\, f_\theta(X)\ [+ Z_A], \qquad
              f_\theta(X) = W_2\,\mathrm{drop}(\mathrm{ReLU}(W_1\,\mathrm{drop}(X)))

    Args:
        filter: any polynomial filter; its Chebyshev coefficients go to the propagation kernel.
        features: number of features F.
        classes: number of classes C.
        seeds: one for each member.
        hidden: width of the encoder's hidden layer; 0 makes the encoder one linear map.
        dropout: rate on the features and on the hidden layer.
        propagation_dropout: rate on the encoder's output, before the filter.
        self_loops: filter the Laplacian of the graph with self-loops.
        branch: shape of an adjacency branch whose logits :math:`Z_A` are added; none if not given.
        name: the model's name in the zoo.
        options: the model's options as plain data, for records.
        dtype: float32, or float64 for checks.
    """

    filter: Filter
    weight1: Tensor
    bias1: Tensor
    weight2: Tensor
    bias2: Tensor

    def __init__(
        self,
        filter: Filter,
        *,
        features: int,
        classes: int,
        seeds: Sequence[int],
        hidden: int = 64,
        dropout: float = 0.5,
        propagation_dropout: float = 0.5,
        self_loops: bool = False,
        branch: Branch | None = None,
        name: str = "spectral",
        options: Mapping[str, Any] | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        shared: Any = {"features": features, "self_loops": self_loops, "dtype": dtype}
        super().__init__(name=name, options=options or {}, seeds=seeds, filter=filter, **shared)
        check_count("hidden", hidden, least=0)
        check_rate(dropout)
        check_rate(propagation_dropout)
        check_condition(filter, dtype)
        self.hidden, self.dropout, self.propagation_dropout, self.branch = hidden, dropout, propagation_dropout, branch
        self._add_maps("", [features, hidden, classes] if hidden else [features, classes])
        if branch is not None:  # drawn last, so that the encoder starts as without it
            self.transductive = branch.graph
            self._add_maps("branch_", [branch.graph[0], branch.hidden, classes], group="branch")
        self.add_filter(filter)

    def _add_maps(self, prefix: str, widths: Sequence[int], group: str = "encoder") -> None:
        """Weights and biases between these widths, numbered from 1; the first of them reads features."""
        for i, (before, after) in enumerate(pairwise(widths), 1):
            bound = 1 / math.sqrt(before)
            weight = self.draw((before, after), bound)
            self.add(f"{prefix}weight{i}", weight.transpose(0, 1) if i == 1 else weight, axis=int(i == 1), group=group)
            self.add(f"{prefix}bias{i}", self.draw((after,), bound), axis=0, group=group)

    @property
    def deterministic(self) -> bool:
        """Whether there is no dropout anywhere."""
        noisy = self.branch is not None and self.branch.dropout > 0
        return self.dropout == 0 and self.propagation_dropout == 0 and not noisy

    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph's features and its normalised operator; for a branch also the adjacency of the graph it is for."""
        inputs = super().prepare(graph, device)
        return inputs if self.branch is None else with_adjacency(inputs, graph)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        rate, last = self.dropout, self.propagation_dropout
        if self.hidden:
            weights = (self.weight1, self.bias1, self.weight2, self.bias2)
            encoded = encode(inputs.features, weights, rate=rate, noise=noise, output_rate=last)
        else:
            encoded = feature_linear(inputs.features, self.weight1, rate=rate, noise=noise, stream=0) + self.bias1
            encoded = dropout(encoded, rate=last, noise=noise, stream=2)
        logits = propagate(inputs.operator, encoded, self._coefficients())
        return logits if self.branch is None else logits + self._branch_logits(self.branch, inputs, noise)

    def _branch_logits(self, branch: Branch, inputs: Inputs, noise: Noise | None) -> Tensor:
        """What the branch adds to the logits, ``(n, P, C)``."""
        weight1, bias1, weight2, bias2 = (
            self.parameter(f"branch_{name}") for name in ("weight1", "bias1", "weight2", "bias2")
        )
        hidden = torch.relu(feature_linear(adjacency_features(inputs), weight1) + bias1)
        return member_linear(dropout(hidden, rate=branch.dropout, noise=noise, stream=3), weight2, bias2)

    def _coefficients(self) -> Tensor:
        """Chebyshev coefficients of every member's filter, ``(K+1, P)`` or ``(K+1, P, d)``."""
        coefficients = self.filter.coefficients(self.filter_parameters())
        # A fixed filter is the same for every member.
        return coefficients if coefficients.ndim > 1 else coefficients[:, None].expand(-1, len(self.seeds))


def check_condition(filter: Filter, dtype: torch.dtype) -> None:
    """Warn where interpolation amplifies float32's rounding so much that the filter is not what its values say."""
    condition = filter.condition()
    if dtype == torch.float32 and condition > TRUSTED_CONDITION:
        error = condition * torch.finfo(dtype).eps
        warnings.warn(
            f"the {filter.name} filter of degree {filter.degree} amplifies rounding {condition:.3g} times at these "
            f"points: relative errors of about {error:.0e} in float32; use Chebyshev points or a lower degree",
            stacklevel=3,
        )
