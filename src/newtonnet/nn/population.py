"""What every model is: a population of members of one shape that read the same graph and learn side by side."""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from newtonnet.graphs import Graph, normalised_operator
from newtonnet.polynomials import Filter

from .encoder import feature_linear
from .inputs import FeatureMatrix, Inputs, feature_matrix, fingerprint
from .layers import batch_norm, member_linear
from .noise import Noise


class Population(nn.Module, ABC):
    """P models of one shape; activations are ``(n, P, d)``.

    A model is a constructor that adds parameters and a ``forward``. Members finish one by one, so every parameter has
    an axis that runs over members: all are the model's own, none a sub-module's. Start weights are drawn for each
    member from its own seed, in the order in which they are added.

    Args:
        name: the model's name in the zoo.
        options: the model's options as plain data, for records.
        seeds: one seed for each member: of its start weights and of its dropout masks.
        filter: the spectral filter that is the model's last step, or None for a model that has none.
        features: number of features that it reads; checked by :meth:`prepare` if given.
        self_loops: propagate on the graph with self-loops.
        dtype: float32, or float64 for checks.

    Attributes:
        axes: for each parameter the axis that runs over members.
        groups: for each parameter the group whose learning rate and weight decay it takes.
        filters: every filter that :meth:`add_filter` has registered, by its prefix; the shape regulariser acts on all.
        shown: share of the training labels that a training step shows to a model that reads labels; 0 for all others.
        transductive: the graph that a model with weights for every node is tied to (see :func:`fingerprint`); None for
            a model that can be applied to another graph.
    """

    def __init__(
        self,
        *,
        name: str,
        options: Mapping[str, Any],
        seeds: Sequence[int],
        filter: Filter | None = None,
        features: int | None = None,
        self_loops: bool = False,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        if not seeds:
            raise ValueError("a population needs at least one member, got no seeds")
        self.name = name
        self.options = dict(options)
        self.seeds = tuple(int(seed) for seed in seeds)
        self.axes: dict[str, int] = {}
        self.groups: dict[str, str] = {}
        self.filter = filter
        self.filters: dict[str, Filter] = {}
        self.shown = 0.0
        self.features, self.self_loops = features, self_loops
        self.transductive: tuple[int, str] | None = None
        self._start_dtype = dtype
        self._generators = [torch.Generator().manual_seed(seed % 2**63) for seed in self.seeds]

    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph as this model reads it, computed once for a whole run; by default features and normalised edges."""
        self.check(graph)
        operator = normalised_operator(graph, self_loops=self.self_loops, dtype=self.dtype, device=device)
        return Inputs(feature_matrix(graph.features, self.dtype, device), operator)

    def check(self, graph: Graph) -> None:
        """Refuse a graph with another number of features, or another graph than a transductive model is tied to.

        The order of the nodes is not checked: code that reorders them must reorder the model's rows too.
        """
        found = graph.features.shape[1]
        if self.features not in (None, found):
            raise ValueError(f"the model takes {self.features} features, graph {graph.name!r} has {found}")
        if self.transductive is not None and fingerprint(graph) != self.transductive:
            raise ValueError(
                f"model {self.name!r} has weights for each of the {self.transductive[0]} nodes of the graph it was "
                f"built for, and {graph.name!r} ({graph.nodes} nodes) is another one; train it again there, or use a "
                "model that can be applied to other graphs"
            )

    @abstractmethod
    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits, shape ``(n, P, C)``; with dropout where noise is given."""

    def add(self, name: str, value: Tensor, *, axis: int, group: str = "encoder", learned: bool = True) -> None:
        """Register a parameter.

        Args:
            name: its name.
            value: where it starts, for all members.
            axis: the axis that runs over members.
            group: whose learning rate and weight decay it takes: ``encoder``, ``filter``, ``gates`` or ``branch``.
            learned: whether training moves it; what it does not move is state, such as a running mean.
        """
        self.register_parameter(name, nn.Parameter(value.to(self._start_dtype).contiguous(), learned))
        self.axes[name] = axis
        self.groups[name] = group

    def draw(self, shape: tuple[int, ...], bound: float) -> Tensor:
        """The next start weights of all members, uniform within a bound, ``(P, *shape)``."""
        return torch.stack(
            [torch.empty(shape).uniform_(-bound, bound, generator=generator) for generator in self._generators]
        )

    def add_constant(self, name: str, width: int, value: float, *, learned: bool = True) -> None:
        """Register numbers ``(P, width)`` that start at one value."""
        self.add(name, torch.full((len(self.seeds), width), value, dtype=self._start_dtype), axis=0, learned=learned)

    def add_linear(
        self,
        name: str,
        inputs: int,
        outputs: int,
        *,
        maps: int = 1,
        glorot: bool = False,
        reads_features: bool = False,
    ) -> None:
        """Register a linear map that every member has of its own, for :meth:`linear`.

        Args:
            name: prefix of its parameters ``{name}_weight`` and ``{name}_bias``.
            inputs: number of inputs.
            outputs: number of outputs of each of the maps.
            maps: how many maps of this shape read the same input, side by side.
            glorot: start as Glorot and Bengio do and without a bias; otherwise as torch's linear layer does, with one.
            reads_features: reads a :class:`FeatureMatrix`, so that the weight is stored as ``(inputs, P, outputs)``.
        """
        width = maps * outputs
        bound = math.sqrt(6 / (inputs + outputs)) if glorot else inputs**-0.5
        weight = self.draw((inputs, width), bound)
        self.add(f"{name}_weight", weight.transpose(0, 1) if reads_features else weight, axis=int(reads_features))
        if not glorot:
            self.add(f"{name}_bias", self.draw((width,), bound), axis=0)

    def add_norm(self, name: str, width: int) -> None:
        """Register a batch normalisation of so many channels, for :meth:`norm`."""
        for part, start in {"scale": 1.0, "shift": 0.0, "mean": 0.0, "variance": 1.0}.items():
            self.add_constant(f"{name}_{part}", width, start, learned=part in ("scale", "shift"))

    def add_filter(self, filter: Filter, prefix: str = "filter") -> None:
        """Register the raw parameters of a filter as ``{prefix}_{parameter}``, each ``(m, P)`` or ``(m, P, d)``."""
        self.filters[prefix] = filter
        for name, start in filter.start.items():
            value = start.unsqueeze(1).repeat(1, len(self.seeds), *[1] * (start.ndim - 1))
            self.add(f"{prefix}_{name}", value, axis=1, group="gates" if name == "gates" else "filter")

    def parameter(self, name: str) -> Tensor:
        """A parameter by its name."""
        found: Tensor = getattr(self, name)
        return found

    def linear(self, name: str, x: Tensor | FeatureMatrix) -> Tensor:
        """A named map of all members, with its bias where it has one: to ``(n, P, outputs)``."""
        weight = self.parameter(f"{name}_weight")
        bias = self.parameter(f"{name}_bias") if f"{name}_bias" in self.axes else None
        if isinstance(x, Tensor):
            return member_linear(x, weight, bias)
        product = feature_linear(x, weight)
        return product if bias is None else product + bias

    def norm(self, name: str, x: Tensor, *, training: bool) -> Tensor:
        """A named batch normalisation of all members."""
        scale, shift, mean, variance = (
            self.parameter(f"{name}_{part}") for part in ("scale", "shift", "mean", "variance")
        )
        return batch_norm(x, scale, shift, mean=mean, variance=variance, training=training)

    @property
    def dtype(self) -> torch.dtype:
        """The type of every parameter."""
        return next(self.parameters()).dtype

    @property
    def deterministic(self) -> bool:
        """Whether training and evaluation compute the same logits, so that one pass serves both."""
        return False

    def filter_parameters(self, prefix: str = "filter") -> dict[str, Tensor]:
        """A filter's raw parameters by their own names, each ``(m, P)`` or ``(m, P, d)``; none without a filter."""
        start = self.filters[prefix].start if prefix in self.filters else {}
        return {name: self.parameter(f"{prefix}_{name}") for name in start}

    def take(self, members: Tensor) -> Self:
        """A population of some of the members, with parameters of its own."""
        part = copy.copy(self)
        part._parameters = {
            name: nn.Parameter(parameter.detach().index_select(self.axes[name], members), parameter.requires_grad)
            for name, parameter in self.named_parameters()
        }
        part.seeds = tuple(self.seeds[int(member)] for member in members)
        part._generators = [self._generators[int(member)] for member in members]
        return part

    def put(self, state: Mapping[str, Tensor]) -> None:
        """Overwrite all parameters with a state of the same shapes."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name not in state or state[name].shape != parameter.shape:  # it would be broadcast
                    found = tuple(state[name].shape) if name in state else "none"
                    raise ValueError(f"state {name} must have shape {tuple(parameter.shape)}, got {found}")
                parameter.copy_(state[name])

    def learned(self) -> dict[str, nn.Parameter]:
        """The parameters that training moves; the others, such as running means, are state."""
        return {name: parameter for name, parameter in self.named_parameters() if parameter.requires_grad}


Builder = Callable[[Graph, Any, Sequence[int], torch.dtype], Population]
"""Graph (for the numbers of features and classes), options, one seed for each member, and type to a population."""
