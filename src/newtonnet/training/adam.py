"""Adam for a population: one step for all members, each with its own learning rates and weight decays."""

from collections.abc import Sequence
from copy import copy

import torch
from torch import Tensor

from newtonnet import kernels
from newtonnet.kernels import BETAS, EPSILON
from newtonnet.nn import Population, is_native

from .config import Config


class Adam:
    """Kingma and Ba's optimiser, or its variant with decoupled decay; moments and rates carry the population axis."""

    def __init__(self, model: Population, configs: Sequence[Config]) -> None:
        self.decoupled, self.steps = configs[0].decoupled, 0
        self._own(model)
        self.first, self.second = (
            {name: torch.zeros_like(parameter) for name, parameter in self.parameters.items()} for _ in range(2)
        )
        self.rates, self.decays = {}, {}
        for name, parameter in self.parameters.items():
            group, shape = model.groups[name], [1] * parameter.ndim
            shape[model.axes[name]] = len(configs)
            self.rates[name] = parameter.new_tensor([config.rate(group) for config in configs]).view(shape)
            self.decays[name] = parameter.new_tensor([config.decay(group) for config in configs]).view(shape)
        self._share()

    def _own(self, model: Population) -> None:
        self.model, self.parameters = model, model.learned()
        self.learned = list(self.parameters.values())
        self.native = all(map(is_native, self.learned))

    def _share(self) -> None:
        """Arrays for the kernel that share the memory of the tensors: making them in every step would cost time."""
        kinds = (self.parameters, self.first, self.second, self.rates, self.decays)
        names = self.parameters if self.native else ()
        self.blocks = {name: kernels.arrays(*(tensors[name] for tensors in kinds)) for name in names}

    @torch.no_grad()
    def step(self) -> None:
        """Move every member's parameters once by their gradients, and clear these."""
        self.steps += 1
        move = self._native_step if self.native else self._torch_step
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
        axis, gradient = self.model.axes[name], gradient.contiguous()
        kernels.adam_step(self.blocks[name], gradient, axis=axis, step=self.steps, decoupled=self.decoupled)

    def take(self, model: Population, members: Tensor) -> "Adam":
        """The optimiser of some of the members, whose population is ``model``."""
        part = copy(self)
        part._own(model)
        for kind in ("first", "second", "rates", "decays"):
            tensors: dict[str, Tensor] = getattr(self, kind)
            setattr(part, kind, {n: t.index_select(model.axes[n], members) for n, t in tensors.items()})
        part._share()
        return part
