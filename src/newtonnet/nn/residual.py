"""The residual, normalised stack of graph layers that tuned GCN and the Newton stack share."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from newtonnet.graphs import Graph, Operator

from .inputs import check_features, normalised_inputs
from .layered import Layered, Linear, check_shape
from .layers import FeatureMatrix, Inputs, dropout
from .noise import Noise

NORMS = ("none", "batch", "layer")
LAYER_NORM_EPSILON = 1e-5


@dataclass(frozen=True)
class StackOptions:
    """The shape of a stack; the defaults are in the middle of the ranges that tuned GCN's authors search."""

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


class ResidualStack(Layered, ABC):
    r"""Graph layers with everything that makes deep networks train; what S is, the model says.

    .. math:: H' = \mathrm{drop}(\mathrm{ReLU}(\mathrm{norm}(S H W + b\ [+ H W_r + b_r]))), \qquad
              Z = H^L W_o + b_o

    The residual is a learned map of the layer's input, not the identity. Glorot start for W, torch's for the rest, b
    starts at 0 and is left out before a BatchNorm, which would take it out again.

    Args:
        graph: gives the numbers of features and classes.
        options: the model's shape.
        seeds: one for each member.
        dtype: float32, or float64 for checks.
        name: the model's name in the zoo.
        self_loops: propagate on the graph with self-loops.
    """

    def __init__(
        self,
        graph: Graph,
        options: StackOptions,
        seeds: Sequence[int],
        dtype: torch.dtype,
        *,
        name: str,
        self_loops: bool,
    ) -> None:
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
            name=name,
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
        self.shape, self.features, self.self_loops = options, features, self_loops

    @abstractmethod
    def _propagate(self, i: int, operator: Operator, x: Tensor) -> Tensor:
        """Layer i's S times signals ``(n, P, hidden)``."""

    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph's features and its normalised adjacency."""
        check_features(graph, self.features)
        return normalised_inputs(graph, self_loops=self.self_loops, dtype=self.dtype, device=device)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        x: Tensor | FeatureMatrix = inputs.features
        outputs: list[Tensor] = []
        for i in range(1, self.shape.layers + 1):
            hidden = self._propagate(i, inputs.operator, self._linear(f"layer{i}", x))
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
