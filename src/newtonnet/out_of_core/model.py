"""The network that filters first: a learned sum of precomputed blocks, then two linear maps."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from newtonnet.kernels import Mask
from newtonnet.nn import Noise, check_condition, member_linear, uniform_start
from newtonnet.nn.noise import check_rate, drop
from newtonnet.polynomials import Filter


class FilterFirst(nn.Module):
    r"""A filter whose powers are known beforehand, and an encoder behind it, on any rows of a graph.

    .. math:: H = \sum_{k=0}^{K} c_k(t)\, T_k(L - I)\, X, \qquad
              Z = W_2\,\mathrm{drop}(\mathrm{ReLU}(W_1\,\mathrm{drop}(H) + b_1)) + b_2

    The paper transforms first: there the filter acts on the classes' signals, here on the features. Rows do not depend
    on each other any more. Parameters have the names and shapes of :class:`newtonnet.nn.SpectralNet` with one member
    and, for one seed, its start values.

    Args:
        filter: any filter with one response for all channels.
        features: number of features F.
        classes: number of classes C.
        seed: of the start weights and of the dropout masks.
        hidden: width of the hidden layer; 0 for one linear map.
        dropout: rate on the filtered features and on the hidden layer.
        dtype: float32, or float64 for checks.
    """

    weight1: nn.Parameter
    bias1: nn.Parameter
    weight2: nn.Parameter
    bias2: nn.Parameter

    def __init__(
        self,
        filter: Filter,
        *,
        features: int,
        classes: int,
        seed: int,
        hidden: int = 64,
        dropout: float = 0.5,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        if hidden < 0:
            raise ValueError(f"hidden must be at least 0, got {hidden}")
        check_rate(dropout)
        check_condition(filter, dtype)
        self.filter, self.seed, self.hidden, self.dropout = filter, seed, hidden, dropout
        widths = [features, hidden, classes] if hidden else [features, classes]
        shapes: list[tuple[int, ...]] = [shape for pair in pairwise(widths) for shape in (pair, pair[1:])]
        fan_ins = [before for before in widths[:-1] for _ in range(2)]
        names = [f"{kind}{i}" for i in range(1, len(widths)) for kind in ("weight", "bias")]
        for name, start in zip(names, uniform_start([seed], shapes, fan_ins), strict=True):
            value = start.transpose(0, 1).contiguous() if name == "weight1" else start
            self.register_parameter(name, nn.Parameter(value.to(dtype)))
        for name, start in filter.start.items():
            self.register_parameter(f"filter_{name}", nn.Parameter(start.to(dtype)[:, None].clone()))
        self.axes = {name: int(name == "weight1" or name not in names) for name in self.learned()}
        self.groups = {name: "encoder" if name in names else "filter" for name in self.learned()}

    def learned(self) -> dict[str, nn.Parameter]:
        """All parameters by name."""
        return dict(self.named_parameters())

    def filter_parameters(self) -> dict[str, Tensor]:
        """The filter's raw parameters by their own names, each ``(m, 1)``."""
        return {name: self.get_parameter(f"filter_{name}") for name in self.filter.start}

    def forward(self, blocks: Tensor, noise: Noise | None = None, first: int = 0) -> Tensor:
        """Logits of some rows.

        Args:
            blocks: their rows of all blocks, ``(K+1, B, F)``.
            noise: masks of this step; None in evaluation.
            first: place of the first row in its batch, which decides on the masks.

        Returns:
            Shape ``(B, 1, C)``.
        """
        _, rows, features = blocks.shape
        coefficients = self.filter.coefficients(self.filter_parameters())
        filtered = (coefficients.T @ blocks.flatten(1)).view(rows, 1, features)
        x = self._drop(filtered, noise, 0, first)
        inner = torch.addmm(self.bias1.flatten(), x.flatten(1), self.weight1.flatten(1))[:, None]
        if not self.hidden:
            return inner
        return member_linear(self._drop(torch.relu(inner), noise, 1, first), self.weight2, self.bias2)

    def _drop(self, x: Tensor, noise: Noise | None, stream: int, first: int) -> Tensor:
        if noise is None or self.dropout == 0:
            return x
        mask = noise.members(self.dropout, stream=stream)
        dropped: Tensor = _Drop.apply(x, mask, first)  # type: ignore[no-untyped-call]
        return dropped


class _Drop(torch.autograd.Function):
    """Dropout of rows that begin at some place of a batch; the way back makes the same mask again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, mask: Mask, first: int) -> Tensor:
        ctx.mask, ctx.first = mask, first
        return drop(x, mask, first=first)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return drop(gradient, ctx.mask, first=ctx.first), None, None
