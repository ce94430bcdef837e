"""Populations that are a stack of named linear maps and normalisations, without dropout on what they read."""

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from newtonnet.graphs import Operator, propagate

from .batch_norm import batch_norm, batch_norm_start
from .layers import FeatureMatrix, bounded_start, feature_linear, glorot_bound, member_linear
from .noise import check_rate
from .population import Population


@dataclass(frozen=True)
class Linear:
    """A linear map that every member has of its own, or several of one shape side by side.

    Attributes:
        name: prefix of its parameters ``{name}_weight`` and ``{name}_bias``.
        inputs: number of inputs.
        outputs: number of outputs of each of the maps.
        maps: how many maps of this shape read the same input.
        glorot: start as Glorot and Bengio do and without a bias; otherwise as torch's linear layer does, with one.
        reads_matrix: reads a :class:`FeatureMatrix`, so that the weight is stored as ``(inputs, P, outputs)``.
    """

    name: str
    inputs: int
    outputs: int
    maps: int = 1
    glorot: bool = False
    reads_matrix: bool = False


class Layered(Population, ABC):
    """A population whose layers are found by name.

    Args:
        name: the model's name in the zoo.
        options: the model's options as plain data, for records.
        seeds: one for each member.
        linears: its linear maps, in the order in which their start weights are drawn.
        norms: name and width of each batch normalisation.
        dtype: float32, or float64 for checks.
    """

    def __init__(
        self,
        *,
        name: str,
        options: Mapping[str, Any],
        seeds: Sequence[int],
        linears: Sequence[Linear],
        norms: Mapping[str, int],
        dtype: torch.dtype,
    ) -> None:
        super().__init__(name=name, options=options, seeds=seeds, filter=None)
        self._add_linears(linears, dtype)
        for norm, width in norms.items():
            learned, state = batch_norm_start(len(self.seeds), width, dtype)
            for part, start in (learned | state).items():
                self._add(f"{norm}_{part}", start, axis=0, group="encoder", learned=part in learned)

    def _add_linears(self, linears: Sequence[Linear], dtype: torch.dtype) -> None:
        names: list[str] = []
        shapes: list[tuple[int, ...]] = []
        bounds: list[float] = []
        for linear in linears:
            width = linear.maps * linear.outputs
            bound = glorot_bound(linear.inputs, linear.outputs) if linear.glorot else linear.inputs**-0.5
            parts = [("weight", (linear.inputs, width))] + ([] if linear.glorot else [("bias", (width,))])
            names += [f"{linear.name}_{part}" for part, _ in parts]
            shapes += [shape for _, shape in parts]
            bounds += [bound] * len(parts)
        inner = {f"{linear.name}_weight" for linear in linears if linear.reads_matrix}
        for name, start in zip(names, bounded_start(self.seeds, shapes, bounds), strict=True):
            value = start.transpose(0, 1) if name in inner else start
            self._add(name, value.to(dtype), axis=int(name in inner), group="encoder")

    def _add_constant(self, name: str, width: int, value: float, dtype: torch.dtype) -> None:
        """Learned numbers ``(P, width)`` that start at one value."""
        self._add(name, torch.full((len(self.seeds), width), value, dtype=dtype), axis=0, group="encoder")

    def _get(self, name: str) -> Tensor:
        parameter: Tensor = getattr(self, name)
        return parameter

    def _linear(self, name: str, x: Tensor | FeatureMatrix) -> Tensor:
        """A named map of all members, with its bias where it has one: to ``(n, P, outputs)``."""
        weight = self._get(f"{name}_weight")
        bias = self._get(f"{name}_bias") if f"{name}_bias" in self.axes else None
        if isinstance(x, Tensor):
            return member_linear(x, weight, bias)
        product = feature_linear(x, weight, rate=0.0, noise=None, stream=0)
        return product if bias is None else product + bias

    def _norm(self, name: str, x: Tensor, *, training: bool) -> Tensor:
        """A named batch normalisation of all members."""
        return batch_norm(
            x,
            self._get(f"{name}_scale"),
            self._get(f"{name}_shift"),
            mean=self._get(f"{name}_mean"),
            variance=self._get(f"{name}_variance"),
            training=training,
        )


def multiply(operator: Operator, x: Tensor, factor: float = 1.0) -> Tensor:
    """The operator's matrix times signals ``(n, P, d)``, times a factor."""
    coefficients = x.new_tensor([0.0, -factor])  # T_1(L - I) is minus the matrix
    return propagate(operator, x, coefficients[:, None].expand(-1, x.shape[1]))


def check_shape(hidden: int, layers: int, rate: float) -> None:
    """Refuse a network without width, without layers, or with an impossible dropout."""
    check_count("hidden", hidden)
    check_count("layers", layers)
    check_rate(rate)


def check_count(name: str, value: int, least: int = 1) -> None:
    """Refuse a width or a number of layers that is too small."""
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
