"""Spectral networks: an encoder, then a learned polynomial filter of the graph's Laplacian."""

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from newtonnet.graphs import Graph, propagate
from newtonnet.polynomials import Filter

from .branch import Branch, branch_logits
from .encoder import encode
from .inputs import adjacency_features, check_features, check_same_graph, normalised_inputs, with_adjacency
from .layers import Inputs, dropout, feature_linear, uniform_start
from .noise import Noise, check_rate
from .population import Population

TRUSTED_CONDITION = 400.0
"""Above this amplification float32 no longer gives five digits; equispaced points pass it at degree 15."""


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
    branch_weight1: Tensor
    branch_bias1: Tensor
    branch_weight2: Tensor
    branch_bias2: Tensor

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
        super().__init__(name=name, options=options or {}, seeds=seeds, filter=filter)
        if hidden < 0:
            raise ValueError(f"hidden must be at least 0, got {hidden}")
        check_rate(dropout)
        check_rate(propagation_dropout)
        check_condition(filter, dtype)
        self.dropout = dropout
        self.propagation_dropout = propagation_dropout
        self.self_loops = self_loops
        self.hidden = hidden
        self.branch = branch
        self.known = None if branch is None else branch.known
        encoder = [features, hidden, classes] if hidden else [features, classes]
        self._add_linears(encoder, [branch.known[0], branch.hidden, classes] if branch is not None else [], dtype)
        for parameter, start in filter.start.items():
            value = start.to(dtype).unsqueeze(1).repeat(1, len(seeds), *[1] * (start.ndim - 1))
            self._add(f"filter_{parameter}", value, axis=1, group="gates" if parameter == "gates" else "filter")

    def _add_linears(self, encoder: Sequence[int], branch: Sequence[int], dtype: torch.dtype) -> None:
        """Weights and biases between these widths; the branch's are drawn last, so the encoder starts as without it."""
        for_matrix: dict[str, bool] = {}
        shapes: list[tuple[int, ...]] = []
        fan_ins: list[int] = []
        for prefix, widths in (("", encoder), ("branch_", branch)):
            for i, (before, after) in enumerate(pairwise(widths), 1):
                for_matrix |= {f"{prefix}weight{i}": i == 1, f"{prefix}bias{i}": False}
                shapes += [(before, after), (after,)]
                fan_ins += [before, before]
        for (name, inner), start in zip(for_matrix.items(), uniform_start(self.seeds, shapes, fan_ins), strict=True):
            value = start.transpose(0, 1) if inner else start
            self._add(name, value.to(dtype), axis=int(inner), group="branch" if "branch" in name else "encoder")

    @property
    def deterministic(self) -> bool:
        """Whether there is no dropout anywhere."""
        noisy = self.branch is not None and self.branch.dropout > 0
        return self.dropout == 0 and self.propagation_dropout == 0 and not noisy

    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph's features and its normalised operator; for a branch also the adjacency of the graph it knows."""
        check_features(graph, self.get_parameter("weight1").shape[0])
        inputs = normalised_inputs(graph, self_loops=self.self_loops, dtype=self.dtype, device=device)
        check_same_graph(graph, self.known, model=self.name)
        return inputs if self.branch is None else with_adjacency(inputs, graph)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        if self.hidden:
            weights = (self.weight1, self.bias1, self.weight2, self.bias2)
            encoded = encode(inputs.features, weights, rate=self.dropout, noise=noise)
        else:
            rate = self.dropout
            encoded = feature_linear(inputs.features, self.weight1, rate=rate, noise=noise, stream=0) + self.bias1
        encoded = dropout(encoded, rate=self.propagation_dropout, noise=noise, stream=2)
        logits = propagate(inputs.operator, encoded, self._coefficients())
        if self.branch is None:
            return logits
        branch = (self.branch_weight1, self.branch_bias1, self.branch_weight2, self.branch_bias2)
        return logits + branch_logits(self.branch, adjacency_features(inputs), branch, noise=noise, stream=3)

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
