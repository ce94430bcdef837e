"""The models by name: how each is built and with which options."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from newtonnet.graphs import Graph
from newtonnet.polynomials import chebyshev_points, check_points, equispaced, newton_filter

from .population import Population
from .spectral import SpectralNet


@dataclass(frozen=True)
class Options:
    """A model's shape, the same for all members of a population; the defaults are the paper's where it has one."""

    degree: int = 5
    """Degree K of the filter."""
    points: str | tuple[float, ...] = "equispaced"
    """``equispaced``, ``chebyshev``, or the points themselves (then the degree follows from them)."""
    nonnegative: bool = True
    """Pass the filter's values through a ReLU."""
    hidden: int = 64
    """Width of the encoder."""
    dropout: float = 0.5
    """Dropout on the features and on the hidden layer."""
    propagation_dropout: float = 0.5
    """Dropout between encoder and filter."""


def build(
    name: str,
    graph: Graph,
    options: Options | None = None,
    *,
    seeds: Sequence[int] = (0,),
    dtype: torch.dtype = torch.float32,
) -> Population:
    """A population of one model of the zoo, sized for a graph.

    Args:
        name: one of :data:`ZOO`.
        graph: gives the numbers of features and classes.
        options: the model's shape; its defaults if not given.
        seeds: one for each member.
        dtype: float32, or float64 for checks.
    """
    if name not in ZOO:
        raise ValueError(f"unknown model {name!r}; available: {', '.join(sorted(ZOO))}")
    if graph.classes < 2:
        raise ValueError(f"graph {graph.name!r} has {graph.classes} class; at least 2 are needed")
    return ZOO[name](graph, options or Options(), seeds, dtype)


def _newtonnet(graph: Graph, options: Options, seeds: Sequence[int], dtype: torch.dtype) -> Population:
    return SpectralNet(
        newton_filter(interpolation_points(options), nonnegative=options.nonnegative),
        features=graph.features.shape[1],
        classes=graph.classes,
        seeds=seeds,
        hidden=options.hidden,
        dropout=options.dropout,
        propagation_dropout=options.propagation_dropout,
        name="newtonnet",
        options=asdict(options),
        dtype=dtype,
    )


def interpolation_points(options: Options) -> Tensor:
    """The points that the options name, ascending order not required."""
    named: dict[str, Callable[[int], Tensor]] = {"equispaced": equispaced, "chebyshev": chebyshev_points}
    if not isinstance(options.points, str):
        return check_points(options.points)
    if options.points not in named:
        raise ValueError(f"unknown points {options.points!r}; available: {', '.join(named)}, or a list of numbers")
    return named[options.points](options.degree)


ZOO: dict[str, Callable[[Graph, Options, Sequence[int], torch.dtype], Population]] = {"newtonnet": _newtonnet}
