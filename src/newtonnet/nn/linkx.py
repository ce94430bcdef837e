"""LINKX: features and adjacency rows are encoded apart, then joined; nothing is propagated."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import torch
from torch import Tensor

from newtonnet.graphs import Graph

from .inputs import FeatureMatrix, Inputs, adjacency_features, adjacency_inputs, fingerprint
from .layers import check_count, check_shape
from .noise import Noise, dropout
from .population import Population


@dataclass(frozen=True)
class LinkxOptions:
    """LINKX's shape; the authors search it, the defaults are in the middle of their ranges."""

    hidden: int = 64
    """Width of all hidden layers."""
    layers: int = 2
    """Linear maps of the MLP at the end."""
    adjacency_layers: int = 1
    """Linear maps of the MLP on the adjacency."""
    feature_layers: int = 1
    """Linear maps of the MLP on the features."""
    dropout: float = 0.5
    """Dropout in the MLP at the end; the other two have none."""


class Linkx(Population):
    r"""Two encoders, one of which reads the adjacency as features, and an MLP on both.

    .. math:: h_A = \mathrm{MLP}_A(A), \quad h_X = \mathrm{MLP}_X(X), \quad
              Z = \mathrm{MLP}_f(\mathrm{ReLU}(W [h_A \Vert h_X] + b + h_A + h_X))

    A is raw, without loops; an MLP is (linear, ReLU, BatchNorm, dropout) and again, then linear. The MLP on the
    adjacency has a weight for every node, so the model is tied to its graph. The authors' code shifts the adjacency
    where node 0 has no edge, and its optional inner dropout acts in evaluation too: neither is repeated here.

    References:
        Lim et al., Large Scale Learning on Non-Homophilous Graphs: New Benchmarks and Strong Simple Methods, 2021,
        Eqs. (1) and (2).
    """

    def __init__(self, graph: Graph, options: LinkxOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        check_shape(options.hidden, options.layers, options.dropout)
        check_count("adjacency_layers", options.adjacency_layers)
        check_count("feature_layers", options.feature_layers)
        hidden, features = options.hidden, graph.features.shape[1]
        super().__init__(name="linkx", options=asdict(options), seeds=seeds, features=features, dtype=dtype)
        self.rate, self.transductive = options.dropout, fingerprint(graph)
        self.depths: dict[str, int] = {}
        self._add_mlp("adjacency", [graph.nodes, *[hidden] * options.adjacency_layers], reads_features=True)
        self._add_mlp("features", [features, *[hidden] * options.feature_layers], reads_features=True)
        self.add_linear("join", 2 * hidden, hidden)
        self._add_mlp("final", [*[hidden] * options.layers, graph.classes])

    def _add_mlp(self, name: str, widths: Sequence[int], *, reads_features: bool = False) -> None:
        """Linear maps numbered from 1, with a normalisation behind each but the last."""
        self.depths[name] = len(widths) - 1
        for i, (before, after) in enumerate(pairwise(widths), 1):
            self.add_linear(f"{name}{i}", before, after, reads_features=reads_features and i == 1)
            if i < self.depths[name]:
                self.add_norm(f"{name}{i}_norm", after)

    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph's features and its adjacency as features, refused for another graph's number of nodes."""
        self.check(graph)
        return adjacency_inputs(graph, row_normalised=False, dtype=self.dtype, device=device)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        links = self._apply_mlp("adjacency", adjacency_features(inputs), noise, rate=0.0)
        own = self._apply_mlp("features", inputs.features, noise, rate=0.0)
        joined = self.linear("join", torch.cat([links, own], dim=2)) + links + own
        return self._apply_mlp("final", torch.relu(joined), noise, rate=self.rate)

    def _apply_mlp(self, name: str, x: Tensor | FeatureMatrix, noise: Noise | None, *, rate: float) -> Tensor:
        for i in range(1, self.depths[name]):
            hidden = torch.relu(self.linear(f"{name}{i}", x))
            hidden = self.norm(f"{name}{i}_norm", hidden, training=noise is not None)
            x = dropout(hidden, rate=rate, noise=noise, stream=i)
        return self.linear(f"{name}{self.depths[name]}", x)
