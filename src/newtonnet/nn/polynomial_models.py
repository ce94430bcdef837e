"""The methods that are an encoder and a polynomial filter: options and builder of each."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from newtonnet.graphs import Graph, spectral_density
from newtonnet.polynomials import (
    Filter,
    bernstein_filter,
    chebyshev_points,
    check_points,
    equispaced,
    identity_filter,
    jacobi_filter,
    legendre_filter,
    monomial_filter,
    newton_filter,
    pagerank_filter,
    quantile_points,
)

from .inputs import fingerprint
from .population import Builder
from .spectral import Branch, SpectralNet


@dataclass(frozen=True)
class EncoderOptions:
    """The two-layer encoder that all of these share but JacobiConv; alone it is the MLP."""

    hidden: int = 64
    """Width of the hidden layer."""
    dropout: float = 0.5
    """Dropout on the features and on the hidden layer."""


@dataclass(frozen=True)
class Options(EncoderOptions):
    """NewtonNet's shape; the defaults are the paper's where it has one."""

    propagation_dropout: float = 0.5
    """Dropout between encoder and filter."""
    degree: int = 5
    """Degree K of the filter."""
    points: str | tuple[float, ...] = "equispaced"
    """``equispaced``, ``chebyshev``, ``density`` (where the graph's own frequencies lie), or the points themselves
    (then the degree follows from them)."""
    nonnegative: bool = True
    """Pass the filter's values through a ReLU."""
    unit: bool = False
    """Divide the filter's values by their root mean square, so that only their shape is learned."""
    values_start: str = "ones"
    """Where the filter's values start: ``ones``, or ``random``, uniform between 0 and 2, as in the paper's text."""
    per_channel: bool = False
    """One filter for each class instead of one for all."""
    branch: int = 0
    """Width of an adjacency branch added to the logits, which ties the model to its graph; 0: none (the paper)."""
    branch_dropout: float = 0.8
    """Dropout on the branch's hidden units."""


@dataclass(frozen=True)
class DegreeOptions(EncoderOptions):
    """The shape of BernNet, ChebNetII and the Legendre filter."""

    propagation_dropout: float = 0.5
    """Dropout between encoder and filter."""
    degree: int = 10
    """Degree of the filter."""


@dataclass(frozen=True)
class PagerankOptions(DegreeOptions):
    """APPNP's and GPRGNN's shape; the degree is the number of propagation steps."""

    propagation_dropout: float = 0.0
    alpha: float = 0.1
    """Chance to teleport home; for GPRGNN only where the weights start."""


@dataclass(frozen=True)
class JacobiOptions:
    """JacobiConv's shape: a linear model, one filter for each class."""

    dropout: float = 0.5
    """Dropout on the features."""
    propagation_dropout: float = 0.5
    """Dropout between the linear map and the filter."""
    degree: int = 10
    """Degree of the filter."""
    a: float = 1.0
    """First exponent of the Jacobi polynomials."""
    b: float = 1.0
    """Second exponent of the Jacobi polynomials."""
    alpha: float = 1.0
    """Bound of the coefficients' scales."""
    released: bool = False
    """Use the released code's recurrence, whose middle term has the wrong sign."""


def build_newtonnet(graph: Graph, options: Options, seeds: Sequence[int], dtype: torch.dtype) -> SpectralNet:
    """The paper's model: values at fixed points of the spectrum, Eq. (6)."""
    filter = newton_filter(
        interpolation_points(options, graph),
        nonnegative=options.nonnegative,
        unit=options.unit,
        channels=graph.classes if options.per_channel else None,
    )
    branch = Branch(fingerprint(graph), options.branch, options.branch_dropout) if options.branch != 0 else None
    if options.values_start not in ("ones", "random"):
        raise ValueError(f"values_start must be 'ones' or 'random', got {options.values_start!r}")
    model = build_spectral(filter, graph, name="newtonnet", options=options, seeds=seeds, dtype=dtype, branch=branch)
    if options.values_start == "random":
        values = model.parameter("filter_values").detach()
        values += model.draw((len(values), *values.shape[2:]), bound=1.0).transpose(0, 1).to(values)
    return model


def spectral_builder(name: str, make_filter: Callable[[Any, Graph], Filter], *, self_loops: bool = False) -> Builder:
    """The builder of a method that is an encoder and a filter.

    Args:
        name: the model's name in the zoo.
        make_filter: the model's options and the graph to its filter.
        self_loops: filter the Laplacian of the graph with self-loops.
    """

    def build(graph: Graph, options: Any, seeds: Sequence[int], dtype: torch.dtype) -> SpectralNet:
        given: Any = {"name": name, "options": options, "seeds": seeds, "dtype": dtype, "self_loops": self_loops}
        return build_spectral(make_filter(options, graph), graph, **given)

    return build


build_mlp = spectral_builder("mlp", lambda options, graph: identity_filter())
"""The encoder alone: the filter is the identity."""

build_appnp = spectral_builder(
    "appnp", lambda options, graph: pagerank_filter(options.degree, alpha=options.alpha), self_loops=True
)
"""Personalised PageRank of the encoder's output, on the graph with self-loops; biases as its successors have."""

build_gprgnn = spectral_builder(
    "gprgnn", lambda options, graph: monomial_filter(options.degree, alpha=options.alpha), self_loops=True
)
"""PageRank with learned weights, on the graph with self-loops."""

build_bernnet = spectral_builder("bernnet", lambda options, graph: bernstein_filter(options.degree))
"""A Bernstein polynomial with non-negative coefficients."""

build_chebnetii = spectral_builder("chebnetii", lambda options, graph: newton_filter(chebyshev_points(options.degree)))
"""Interpolation at the Chebyshev points (He, Wei, Wen, ChebNetII, 2022, Eq. (8))."""

build_jacobiconv = spectral_builder(
    "jacobiconv",
    lambda options, graph: jacobi_filter(
        options.degree,
        channels=graph.classes,
        a=options.a,
        b=options.b,
        alpha=options.alpha,
        released=options.released,
    ),
)
"""A linear map and, for each class, a Jacobi polynomial with gated coefficients."""

build_legendre = spectral_builder("legendre", lambda options, graph: legendre_filter(options.degree))
"""A sum of Legendre polynomials with free weights."""


def build_spectral(
    filter: Filter,
    graph: Graph,
    *,
    name: str,
    options: Any,
    seeds: Sequence[int],
    dtype: torch.dtype,
    self_loops: bool = False,
    branch: Branch | None = None,
) -> SpectralNet:
    """The network around any polynomial filter, its options written down for records.

    Args:
        filter: the filter.
        graph: gives the numbers of features and classes.
        name: the model's name in the zoo.
        options: a dataclass, of whose fields ``dropout`` and, 0 where there is none, ``hidden`` and
            ``propagation_dropout`` are read; whatever shapes the filter is for the caller to read.
        seeds: one for each member.
        dtype: float32, or float64 for checks.
        self_loops: filter the Laplacian of the graph with self-loops.
        branch: shape of an adjacency branch; none if not given.
    """
    return SpectralNet(
        filter,
        features=graph.features.shape[1],
        classes=graph.classes,
        seeds=seeds,
        hidden=getattr(options, "hidden", 0),
        dropout=options.dropout,
        propagation_dropout=getattr(options, "propagation_dropout", 0.0),
        self_loops=self_loops,
        branch=branch,
        name=name,
        options=asdict(options),
        dtype=dtype,
    )


def interpolation_points(options: Options, graph: Graph | None) -> Tensor:
    """The points that NewtonNet's options name; only those by density need the graph."""

    def follow_density(degree: int) -> Tensor:
        if graph is None:
            raise ValueError("points='density' needs the graph in memory; use equispaced, chebyshev or numbers")
        density = spectral_density(graph)
        return quantile_points(degree, torch.tensor(density.frequencies), torch.tensor(density.cumulative))

    named = {"equispaced": equispaced, "chebyshev": chebyshev_points, "density": follow_density}
    if not isinstance(options.points, str):
        return check_points(options.points)
    if options.points not in named:
        raise ValueError(f"unknown points {options.points!r}; available: {', '.join(named)}, or a list of numbers")
    return named[options.points](options.degree)
