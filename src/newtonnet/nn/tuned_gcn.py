"""Tuned GCN: the same layers as GCN with residual maps, normalisation and depth, the strongest simple rival."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from newtonnet.graphs import Graph

from .inputs import check_features, normalised_inputs
from .layered import Layered, Linear, check_shape, multiply
from .layers import FeatureMatrix, Inputs, dropout
from .noise import Noise

NORMS = ("none", "batch", "layer")
LAYER_NORM_EPSILON = 1e-5


@dataclass(frozen=True)
class TunedGCNOptions:
    """Tuned GCN's shape; the authors tune it for every graph, the defaults are in the middle of their ranges."""

    hidden: int = 256
    """Width of the hidden layers."""
    layers: int = 3
    """Number of graph layers, all of them hidden."""
    dropout: float = 0.5
    """Dropout after every graph layer; the features have none."""
    norm: str = "none"
    """``none``, ``batch`` or ``layer``: normalisation before the ReLU."""
    residual: bool = False
    """Add a learned linear map of a layer's input to its output."""
    jumping: bool = False
    """Classify the sum of all layers' outputs instead of the last one."""


class TunedGCN(Layered):
    r"""GCN's layers with everything that makes deep networks train.

    .. math:: H' = \mathrm{drop}(\mathrm{ReLU}(\mathrm{norm}(\tilde A H W + b\ [+ H W_r + b_r]))), \qquad
              Z = H^L W_o + b_o

    The residual is a learned map of the layer's input, not the identity. Glorot start for W, torch's for the rest, b
    starts at 0 and is left out before a BatchNorm, which would take it out again. The optional linear map on the
    features, with dropout, that the authors' code has is left out too.

    Args:
        graph: gives the numbers of features and classes.
        options: the model's shape.
        seeds: one for each member.
        dtype: float32, or float64 for checks.

    References:
        Luo, Shi, Wu, Classic GNNs are Strong Baselines: Reassessing GNNs for Node Classification, 2024, Section 3.
    """

    def __init__(self, graph: Graph, options: TunedGCNOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        check_shape(options.hidden, options.layers, options.dropout)
        if options.norm not in NORMS:
            raise ValueError(f"unknown norm {options.norm!r}; available: {', '.join(NORMS)}")
        numbers = range(1, options.layers + 1)
        hidden, features = options.hidden, graph.features.shape[1]
        linears: list[Linear] = []
        for i in numbers:
            inputs = features if i == 1 else hidden
            linears.append(Linear(f"layer{i}", inputs, hidden, glorot=True, reads_matrix=i == 1))
            if options.residual:
                linears.append(Linear(f"residual{i}", inputs, hidden, reads_matrix=i == 1))
        super().__init__(
            name="tuned-gcn",
            options=asdict(options),
            seeds=seeds,
            linears=[*linears, Linear("output", hidden, graph.classes)],
            norms={f"norm{i}": hidden for i in numbers if options.norm == "batch"},
            dtype=dtype,
        )
        for i in numbers:
            if options.norm != "batch":
                self._add_constant(f"bias{i}", hidden, 0.0, dtype)
            if options.norm == "layer":
                self._add_constant(f"norm{i}_scale", hidden, 1.0, dtype)
                self._add_constant(f"norm{i}_shift", hidden, 0.0, dtype)
        self.shape, self.features = options, features

    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph's features and its normalised adjacency with self-loops."""
        check_features(graph, self.features)
        return normalised_inputs(graph, self_loops=True, dtype=self.dtype, device=device)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        x: Tensor | FeatureMatrix = inputs.features
        outputs: list[Tensor] = []
        for i in range(1, self.shape.layers + 1):
            hidden = multiply(inputs.operator, self._linear(f"layer{i}", x))
            if self.shape.norm != "batch":
                hidden = hidden + self._get(f"bias{i}")
            if self.shape.residual:
                hidden = hidden + self._linear(f"residual{i}", x)
            hidden = torch.relu(self._normalise(i, hidden, training=noise is not None))
            x = dropout(hidden, rate=self.shape.dropout, noise=noise, stream=i)
            outputs.append(x)
        return self._linear("output", sum(outputs[1:], start=outputs[0]) if self.shape.jumping else outputs[-1])

    def _normalise(self, i: int, x: Tensor, *, training: bool) -> Tensor:
        if self.shape.norm == "batch":
            return self._norm(f"norm{i}", x, training=training)
        if self.shape.norm == "layer":
            centred = torch.nn.functional.layer_norm(x, x.shape[2:], eps=LAYER_NORM_EPSILON)
            return centred * self._get(f"norm{i}_scale") + self._get(f"norm{i}_shift")
        return x
