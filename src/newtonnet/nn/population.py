"""What every model is: a population of members of one shape that read the same graph and learn side by side."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from newtonnet.graphs import Graph
from newtonnet.polynomials import Filter

from .layers import Inputs
from .noise import Noise


class Population(nn.Module, ABC):
    """P models of one shape; activations are ``(n, P, d)``, and every parameter knows its population axis.

    Attributes:
        name: the model's name in the zoo.
        options: the model's options as plain data, for records.
        seeds: one seed for each member: of its start weights and of its dropout masks.
        axes: for each parameter the axis that runs over members.
        groups: for each parameter the group whose learning rate and weight decay it takes.
        filter: the spectral filter, or None for a model that has none.
        known: the graph that a model with weights for every node is bound to (see :func:`fingerprint`), None for one
            that can leave its graph.
    """

    def __init__(self, *, name: str, options: Mapping[str, Any], seeds: Sequence[int], filter: Filter | None) -> None:
        super().__init__()
        if not seeds:
            raise ValueError("a population needs at least one member, got no seeds")
        self.name = name
        self.options = dict(options)
        self.seeds = tuple(int(seed) for seed in seeds)
        self.axes: dict[str, int] = {}
        self.groups: dict[str, str] = {}
        self.filter = filter
        self.known: tuple[int, str] | None = None

    @abstractmethod
    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph as this model reads it, computed once for a whole run."""

    @abstractmethod
    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits, shape ``(n, P, C)``; with dropout where noise is given."""

    @property
    def dtype(self) -> torch.dtype:
        """The type of every parameter."""
        return next(self.parameters()).dtype

    @property
    def deterministic(self) -> bool:
        """Whether training and evaluation compute the same logits, so that one pass serves both."""
        return False

    def filter_parameters(self) -> dict[str, Tensor]:
        """The filter's raw parameters by their own names, each ``(m, P)`` or ``(m, P, d)``."""
        start = self.filter.start if self.filter is not None else {}
        return {name: getattr(self, f"filter_{name}") for name in start}

    def take(self, members: Tensor) -> Self:
        """A population of some of the members, with parameters of its own."""
        part = copy.copy(self)
        part._parameters = {
            name: nn.Parameter(parameter.detach().index_select(self.axes[name], members), parameter.requires_grad)
            for name, parameter in self.named_parameters()
        }
        part.seeds = tuple(self.seeds[int(member)] for member in members)
        return part

    def put(self, state: Mapping[str, Tensor]) -> None:
        """Overwrite all parameters with a state of the same shapes."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                parameter.copy_(state[name])

    def learned(self) -> dict[str, nn.Parameter]:
        """The parameters that training moves; the others, such as running means, are state."""
        return {name: parameter for name, parameter in self.named_parameters() if parameter.requires_grad}

    def _add(self, name: str, value: Tensor, *, axis: int, group: str, learned: bool = True) -> None:
        self.register_parameter(name, nn.Parameter(value.contiguous(), learned))
        self.axes[name] = axis
        self.groups[name] = group
