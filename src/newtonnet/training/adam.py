"""Adam for a population: one step for all members, each with its own learning rates and weight decays."""

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor, nn

from newtonnet import kernels
from newtonnet.kernels import BETAS, EPSILON
from newtonnet.nn import is_native

from .config import Config


class Learner(Protocol):
    """What Adam asks of a model: its parameters, and for each the population axis and the group of its rates."""

    axes: dict[str, int]
    groups: dict[str, str]

    def learned(self) -> dict[str, nn.Parameter]:
        """The parameters that training moves."""


class Adam:
    """Kingma and Ba's optimiser, or its variant with decoupled decay; moments and rates carry the population axis."""

    def __init__(self, model: Learner, configs: Sequence[Config]) -> None:
        self.model = model
        self.steps = 0
        self.decoupled = configs[0].decoupled
        self.parameters = parameters = model.learned()
        self.first = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
        self.second = {name: torch.zeros_like(parameter) for name, parameter in parameters.items()}
        self.rates, self.decays = {}, {}
        for name, parameter in parameters.items():
            group = model.groups[name]
            shape = [1] * parameter.ndim
            shape[model.axes[name]] = len(configs)
            self.rates[name] = parameter.new_tensor([config.rate(group) for config in configs]).view(shape)
            self.decays[name] = parameter.new_tensor([config.decay(group) for config in configs]).view(shape)

    @cached_property
    def learned(self) -> list[nn.Parameter]:
        """The parameters in their order."""
        return list(self.parameters.values())

    @torch.no_grad()
    def step(self) -> None:
        """Move every member's parameters once by their gradients, and clear these."""
        self.steps += 1
        move = self._native_step if self._native else self._torch_step
        for name, parameter in self.parameters.items():
            if parameter.grad is not None:
                move(name, parameter, parameter.grad)
                parameter.grad = None

    def _torch_step(self, name: str, parameter: Tensor, gradient: Tensor) -> None:
        first_bias, second_bias = (1 - beta**self.steps for beta in BETAS)
        if self.decoupled:
            parameter.mul_(1 - self.rates[name] * self.decays[name])
        else:
            gradient = torch.addcmul(gradient, self.decays[name], parameter)
        first, second = self.first[name], self.second[name]
        first.lerp_(gradient, 1 - BETAS[0])
        second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        scale = (second / second_bias).sqrt_().add_(EPSILON)
        parameter.addcdiv_(first * self.rates[name], scale, value=-1 / first_bias)

    def _native_step(self, name: str, parameter: Tensor, gradient: Tensor) -> None:
        moments, rates = (self.first[name], self.second[name]), (self.rates[name], self.decays[name])
        axis, gradient = self.model.axes[name], gradient.contiguous()
        kernels.adam_step(parameter, gradient, *moments, *rates, axis=axis, step=self.steps, decoupled=self.decoupled)

    @cached_property
    def _native(self) -> bool:
        return all(is_native(parameter) for parameter in self.learned)

    def take(self, model: Learner, members: Tensor) -> "Adam":
        """The optimiser of some of the members, whose population is ``model``."""
        part = object.__new__(Adam)
        part.model, part.steps, part.decoupled = model, self.steps, self.decoupled
        part.parameters = model.learned()
        for kind in ("first", "second", "rates", "decays"):
            tensors: dict[str, Tensor] = getattr(self, kind)
            setattr(part, kind, {n: t.index_select(model.axes[n], members) for n, t in tensors.items()})
        return part
