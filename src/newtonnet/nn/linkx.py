"""LINKX: features and adjacency rows are encoded apart, then joined; nothing is propagated."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from newtonnet.graphs import Graph

from .inputs import adjacency_features, adjacency_inputs, check_features, check_same_graph, fingerprint
from .layered import Layered, Linear, check_count, check_shape
from .layers import FeatureMatrix, Inputs, dropout
from .noise import Noise


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


class Linkx(Layered):
    r"""Two encoders, one of which reads the adjacency as features, and an MLP on both.

    .. math:: h_A = \mathrm{MLP}_A(A), \quad h_X = \mathrm{MLP}_X(X), \quad
              Z = \mathrm{MLP}_f(\mathrm{ReLU}(W [h_A \Vert h_X] + b + h_A + h_X))

    A is raw, without loops; an MLP is (linear, ReLU, BatchNorm, dropout) and again, then linear. The MLP on the
    adjacency has a weight for every node, so the model cannot leave its graph. The authors' code shifts the adjacency
    where node 0 has no edge, and its optional inner dropout acts in evaluation too: neither is repeated here.

    Args:
        graph: gives the numbers of nodes, features and classes.
        options: the model's shape.
        seeds: one for each member.
        dtype: float32, or float64 for checks.

    References:
        Lim et al., Large Scale Learning on Non-Homophilous Graphs: New Benchmarks and Strong Simple Methods, 2021,
        Eqs. (1) and (2).
    """

    def __init__(self, graph: Graph, options: LinkxOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        check_shape(options.hidden, options.layers, options.dropout)
        check_count("adjacency_layers", options.adjacency_layers)
        check_count("feature_layers", options.feature_layers)
        hidden, features = options.hidden, graph.features.shape[1]
        depths = {
            "adjacency": options.adjacency_layers,
            "features": options.feature_layers,
            "final": options.layers,
        }
        super().__init__(
            name="linkx",
            options=asdict(options),
            seeds=seeds,
            linears=[
                *_mlp("adjacency", [graph.nodes, *[hidden] * options.adjacency_layers], reads_matrix=True),
                *_mlp("features", [features, *[hidden] * options.feature_layers], reads_matrix=True),
                Linear("join", 2 * hidden, hidden),
                *_mlp("final", [*[hidden] * options.layers, graph.classes]),
            ],
            norms={f"{name}{i}_norm": hidden for name, depth in depths.items() for i in range(1, depth)},
            dtype=dtype,
        )
        self.depths, self.rate = depths, options.dropout
        self.features, self.known = features, fingerprint(graph)

    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph's features and its adjacency as features, refused for another graph's number of nodes."""
        check_features(graph, self.features)
        check_same_graph(graph, self.known, model=self.name)
        return adjacency_inputs(graph, row_normalised=False, dtype=self.dtype, device=device)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        links = self._apply_mlp("adjacency", adjacency_features(inputs), noise, rate=0.0)
        own = self._apply_mlp("features", inputs.features, noise, rate=0.0)
        joined = self._linear("join", torch.cat([links, own], dim=2)) + links + own
        return self._apply_mlp("final", torch.relu(joined), noise, rate=self.rate)

    def _apply_mlp(self, name: str, x: Tensor | FeatureMatrix, noise: Noise | None, *, rate: float) -> Tensor:
        for i in range(1, self.depths[name]):
            hidden = torch.relu(self._linear(f"{name}{i}", x))
            hidden = self._norm(f"{name}{i}_norm", hidden, training=noise is not None)
            x = dropout(hidden, rate=rate, noise=noise, stream=i)
        return self._linear(f"{name}{self.depths[name]}", x)


def _mlp(name: str, widths: Sequence[int], *, reads_matrix: bool = False) -> list[Linear]:
    """The linear maps of an MLP, numbered from 1."""
    return [
        Linear(f"{name}{i}", widths[i - 1], widths[i], reads_matrix=reads_matrix and i == 1)
        for i in range(1, len(widths))
    ]
