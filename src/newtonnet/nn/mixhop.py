"""MixHop: layers that hold several powers of the adjacency side by side."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from newtonnet.graphs import Graph

from .inputs import check_features, normalised_inputs
from .layered import Layered, Linear, check_count, check_shape, multiply
from .layers import FeatureMatrix, Inputs, dropout
from .noise import Noise


@dataclass(frozen=True)
class MixHopOptions:
    """MixHop's shape in the version of the LINKX repository."""

    hidden: int = 16
    """Width of a hidden layer for each power of the adjacency."""
    layers: int = 2
    """Number of graph layers, the last of which is as wide as the classes for each power."""
    hops: int = 2
    """Highest power of the adjacency."""
    dropout: float = 0.5
    """Dropout on the hidden layers; the features have none."""


class MixHop(Layered):
    r"""In every layer several powers of the adjacency side by side.

    .. math:: H' = \big\Vert_{j=0}^{J} \tilde A^j (H W_j + \mathbf 1 b_j^\top)

    Hidden layers: BatchNorm, ReLU, dropout. The last layer emits C channels for each power, and a linear map brings
    them to C. This is the LINKX repository's version, which the NewtonNet paper's comparison uses: the bias is
    propagated too, widths are equal and the output is a linear map. The paper has no biases, a width for each power,
    dropout and unit length on the features, and a softmax-weighted sum at the end.

    Args:
        graph: gives the numbers of features and classes.
        options: the model's shape.
        seeds: one for each member.
        dtype: float32, or float64 for checks.

    References:
        Abu-El-Haija et al., MixHop: Higher-Order Graph Convolutional Architectures via Sparsified Neighborhood Mixing,
        2019, Eq. (2); Lim et al., Large Scale Learning on Non-Homophilous Graphs, 2021 (code).
    """

    def __init__(self, graph: Graph, options: MixHopOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        check_shape(options.hidden, options.layers, options.dropout)
        check_count("hops", options.hops)
        maps = options.hops + 1
        outputs = [options.hidden] * (options.layers - 1) + [graph.classes]
        inputs = [graph.features.shape[1]] + [maps * options.hidden] * (options.layers - 1)
        layers = [
            Linear(f"layer{i}", before, after, maps=maps, reads_matrix=i == 1)
            for i, (before, after) in enumerate(zip(inputs, outputs, strict=True), 1)
        ]
        super().__init__(
            name="mixhop",
            options=asdict(options),
            seeds=seeds,
            linears=[*layers, Linear("project", maps * graph.classes, graph.classes)],
            norms={f"norm{i}": maps * options.hidden for i in range(1, options.layers)},
            dtype=dtype,
        )
        self.layers, self.rate, self.features, self.hops = options.layers, options.dropout, inputs[0], options.hops

    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph's features and its normalised adjacency with self-loops."""
        check_features(graph, self.features)
        return normalised_inputs(graph, self_loops=True, dtype=self.dtype, device=device)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        x: Tensor | FeatureMatrix = inputs.features
        for i in range(1, self.layers):
            hidden = self._norm(f"norm{i}", self._mix(i, inputs, x), training=noise is not None)
            x = dropout(torch.relu(hidden), rate=self.rate, noise=noise, stream=i)
        return self._linear("project", self._mix(self.layers, inputs, x))

    def _mix(self, i: int, inputs: Inputs, x: Tensor | FeatureMatrix) -> Tensor:
        mapped = self._linear(f"layer{i}", x)
        width = mapped.shape[2] // (self.hops + 1)
        blocks = [mapped[..., :width]]
        rest = mapped[..., width:]
        for _ in range(self.hops):  # all higher powers take a step together, then the lowest of them is done
            moved = multiply(inputs.operator, rest)
            blocks.append(moved[..., :width])
            rest = moved[..., width:]
        return torch.cat(blocks, dim=2)
