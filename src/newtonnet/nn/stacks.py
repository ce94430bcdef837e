"""Residual, normalised stacks of graph layers: tuned GCN, and the Newton stack whose layers learn filters."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from newtonnet.graphs import Graph, Operator, propagate
from newtonnet.polynomials import equispaced, newton_filter

from .inputs import FeatureMatrix, Inputs
from .layers import EPSILON, check_shape, multiply
from .noise import Noise, dropout
from .population import Population
from .spectral import check_condition

NORMS = ("none", "batch", "layer")


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


class ResidualStack(Population, ABC):
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
        hidden, features = options.hidden, graph.features.shape[1]
        super().__init__(
            name=name, options=asdict(options), seeds=seeds, features=features, self_loops=self_loops, dtype=dtype
        )
        self.shape = options
        for i in range(1, options.layers + 1):
            inputs = features if i == 1 else hidden
            self.add_linear(f"layer{i}", inputs, hidden, glorot=True, reads_features=i == 1)
            if options.residual:
                self.add_linear(f"residual{i}", inputs, hidden, reads_features=i == 1)
            if options.norm == "batch":
                self.add_norm(f"norm{i}", hidden)
            else:
                self.add_constant(f"bias{i}", hidden, 0.0)
            if options.norm == "layer":
                self.add_constant(f"norm{i}_scale", hidden, 1.0)
                self.add_constant(f"norm{i}_shift", hidden, 0.0)
        self.add_linear("output", hidden, graph.classes)

    @abstractmethod
    def propagate(self, i: int, operator: Operator, x: Tensor) -> Tensor:
        """Layer i's S times signals ``(n, P, hidden)``."""

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        x: Tensor | FeatureMatrix = inputs.features
        outputs: list[Tensor] = []
        for i in range(1, self.shape.layers + 1):
            hidden = self.propagate(i, inputs.operator, self.linear(f"layer{i}", x))
            if self.shape.norm != "batch":
                hidden = hidden + self.parameter(f"bias{i}")
            if self.shape.residual:
                hidden = hidden + self.linear(f"residual{i}", x)
            hidden = torch.relu(self._normalise(i, hidden, training=noise is not None))
            x = dropout(hidden, rate=self.shape.dropout, noise=noise, stream=i)
            outputs.append(x)
        return self.linear("output", sum(outputs[1:], start=outputs[0]) if self.shape.jumping else outputs[-1])

    def _normalise(self, i: int, x: Tensor, *, training: bool) -> Tensor:
        if self.shape.norm == "batch":
            return self.norm(f"norm{i}", x, training=training)
        if self.shape.norm == "layer":
            centred = torch.nn.functional.layer_norm(x, x.shape[2:], eps=EPSILON)
            return centred * self.parameter(f"norm{i}_scale") + self.parameter(f"norm{i}_shift")
        return x


@dataclass(frozen=True)
class TunedGCNOptions(StackOptions):
    """Tuned GCN's shape; the authors tune it for every graph, the defaults are in the middle of their ranges."""


class TunedGCN(ResidualStack):
    r"""GCN's layers with everything that makes deep networks train: the stack with :math:`S = \tilde A`.

    The optional linear map on the features, with dropout, that the authors' code has is left out.

    References:
        Luo, Shi, Wu, Classic GNNs are Strong Baselines: Reassessing GNNs for Node Classification, 2024, Section 3.
    """

    def __init__(self, graph: Graph, options: TunedGCNOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        super().__init__(graph, options, seeds, dtype, name="tuned-gcn", self_loops=True)

    def propagate(self, i: int, operator: Operator, x: Tensor) -> Tensor:
        """The operator times the signals."""
        return multiply(operator, x)


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
    """Pass the filters' values through a ReLU. Not by default: a value that reaches 0 there no longer gets a gradient,
    and there is no penalty here to revive it."""
    per_channel: bool = False
    """One filter for each hidden unit of a layer instead of one for all."""


class NewtonStack(ResidualStack):
    r"""Tuned GCN's stack with the paper's filter in the place of the averaging.

    .. math:: H' = \mathrm{drop}(\mathrm{ReLU}(\mathrm{norm}(g_l(L) H W + b\ [+ H W_r + b_r]))), \qquad
              g_l(q_k) = t_{l,k}

    Layer l learns its own values :math:`t_{l,k}` at the equispaced points :math:`q_k`, in the optimiser's group of
    filters; they start at 1, so the stack starts as an MLP that ignores the edges. They need a high
    learning rate (the zoo's is ten times the weights'). The Laplacian has no self-loops, as NewtonNet's.

    A stack of nonlinear layers has no single response whose bands could be compared with the homophily, so there is no
    shape-aware penalty (``filter`` is None and gammas are refused) and no ceiling on the values.

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
        for i in range(1, options.layers + 1):
            self.add_filter(self.layer_filter, f"filter{i}")

    def propagate(self, i: int, operator: Operator, x: Tensor) -> Tensor:
        """Layer i's filter on the signals."""
        return propagate(operator, x, self.layer_filter.coefficients({"values": self.parameter(f"filter{i}_values")}))
