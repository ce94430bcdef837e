"""Residual, normalised stacks of graph layers: tuned GCN, and the Newton stack whose layers learn filters."""

from abc import ABC
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.graphs import Graph, Operator, propagate
from newtonnet.polynomials import equispaced, newton_filter

from .activation import Running, activate
from .encoder import feature_linear
from .inputs import FeatureMatrix, Inputs, averaging_operator
from .layers import check_shape, multiply
from .noise import Noise, check_rate
from .population import Population
from .spectral import check_condition

NORMS = ("none", "batch", "layer")


@dataclass(frozen=True)
class TunedGCNOptions:
    """Tuned GCN's shape; the authors tune it for every graph, the defaults are in the middle of their ranges."""

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


@dataclass(frozen=True)
class NewtonStackOptions:
    """The Newton stack's shape."""

    hidden: int = 64
    """Width of the hidden layers."""
    layers: int = 6
    """Number of graph layers, all of them hidden."""
    dropout: float = 0.2
    """Dropout after every hidden layer; the features have none."""
    norm: str = "batch"
    """``none``, ``batch`` or ``layer``: normalisation before the ReLU."""
    jumping: bool = False
    """Classify the sum of all layers' outputs instead of the last one."""
    degree: int = 1
    """Degree K of every layer's filter; the stack as a whole reaches ``layers`` times as far."""
    per_channel: bool = False
    """One filter for each hidden unit of a layer instead of one for all."""
    mean: bool = False
    """Filter with the means over neighbours, D^-1 A, instead of D^-1/2 A D^-1/2; they have the same frequencies."""
    directed: bool = False
    """Filter along and against the arrows of a directed graph, with filters and weights of their own."""
    projection: bool = False
    """A hidden layer without edges before the first graph layer."""
    log_degree: bool = True
    """Read the standardised logarithm of every node's degree beside its features."""
    labels: float = 0.0
    """Share of the training labels that each training step shows as inputs while the loss is on the others; 0: labels
    are no inputs. In evaluation all of them are shown."""


class _Stack(Population, ABC):
    """What both stacks share: norm, ReLU and dropout, and the linear map to classes."""

    shape: TunedGCNOptions | NewtonStackOptions

    def check_options(self, options: TunedGCNOptions | NewtonStackOptions) -> None:
        """Refuse a shape that no stack can have."""
        check_shape(options.hidden, options.layers, options.dropout)
        if options.norm not in NORMS:
            raise ValueError(f"unknown norm {options.norm!r}; available: {', '.join(NORMS)}")

    def add_normalisation(self, i: int) -> None:
        """Register what layer i's normalisation needs; without one it has a bias."""
        hidden = self.shape.hidden
        if self.shape.norm == "none":
            self.add_constant(f"bias{i}", hidden, 0.0)
        if self.shape.norm == "batch":
            self.add_norm(f"norm{i}", hidden)
        if self.shape.norm == "layer":
            self.add_constant(f"norm{i}_scale", hidden, 1.0)
            self.add_constant(f"norm{i}_shift", hidden, 0.0)

    def activate(
        self,
        i: int,
        x: Tensor,
        noise: Noise | None,
        operators: Sequence[Operator] = (),
        weight: Tensor | None = None,
    ) -> Tensor:
        """Layer i's sum, normalisation, ReLU and dropout, as :func:`activate` has them."""
        norm, running = self.shape.norm, None
        scale = None if norm == "none" else self.parameter(f"norm{i}_scale")
        shift = self.parameter(f"bias{i}" if norm == "none" else f"norm{i}_shift")
        if norm == "batch":
            mean, variance = self.parameter(f"norm{i}_mean"), self.parameter(f"norm{i}_variance")
            running = Running(mean, variance, training=noise is not None)
        return activate(
            x,
            scale,
            shift,
            weight=weight,
            operators=operators,
            running=running,
            by_node=norm == "layer",
            rate=self.shape.dropout,
            noise=noise,
            stream=i,
        )

    def classify(self, outputs: Sequence[Tensor]) -> Tensor:
        """Logits ``(n, P, C)`` from the last layer's output, or from the sum of all layers'."""
        return self.linear("output", sum(outputs[1:], start=outputs[0]) if self.shape.jumping else outputs[-1])


class TunedGCN(_Stack):
    r"""GCN's layers with everything that makes deep networks train.

    .. math:: H' = \mathrm{drop}(\mathrm{ReLU}(\mathrm{norm}(\tilde A H W + b\ [+ H W_r + b_r]))), \qquad
              Z = H^L W_o + b_o

    The residual is a learned map of the layer's input, not the identity. Glorot start for W, torch's for the rest, b
    starts at 0 and is left out before a BatchNorm, which would take it out again. The optional linear map on the
    features, with dropout, that the authors' code has is left out.

    References:
        Luo, Shi, Wu, Classic GNNs are Strong Baselines: Reassessing GNNs for Node Classification, 2024, Section 3.
    """

    shape: TunedGCNOptions

    def __init__(self, graph: Graph, options: TunedGCNOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        self.check_options(options)
        hidden, features = options.hidden, graph.features.shape[1]
        super().__init__(
            name="tuned-gcn", options=asdict(options), seeds=seeds, features=features, self_loops=True, dtype=dtype
        )
        self.shape = options
        for i in range(1, options.layers + 1):
            inputs = features if i == 1 else hidden
            self.add_linear(f"layer{i}", inputs, hidden, glorot=True, reads_features=i == 1)
            if options.residual:
                self.add_linear(f"residual{i}", inputs, hidden, reads_features=i == 1)
            if options.norm == "layer":
                self.add_constant(f"bias{i}", hidden, 0.0)
            self.add_normalisation(i)
        self.add_linear("output", hidden, graph.classes)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        x: Tensor | FeatureMatrix = inputs.features
        outputs: list[Tensor] = []
        for i in range(1, self.shape.layers + 1):
            hidden = multiply(inputs.operator, self.linear(f"layer{i}", x))
            if self.shape.residual:
                hidden = hidden + self.linear(f"residual{i}", x)
            if self.shape.norm == "layer":
                hidden = hidden + self.parameter(f"bias{i}")
            x = self.activate(i, hidden, noise)
            outputs.append(x)
        return self.classify(outputs)


class NewtonStack(_Stack):
    r"""A deep network whose layers are the paper's filter, signed and of small degree, beside a map of their own input.

    .. math:: H' = \mathrm{drop}(\mathrm{ReLU}(\mathrm{norm}(H W_r + g_l(L) H W\ [+ \bar g_l(L^\top) H \bar W]))),
              \qquad g_l(q_k) = t_{l,k}, \qquad Z = H^L W_o + b_o

    Layer l learns its own values :math:`t_{l,k}` at the equispaced points :math:`q_k`, in the optimiser's group of
    filters. They start at :math:`1 - q_k`, which is :math:`g(L) = \hat A`. The Laplacian has no self-loops: what a node
    says itself goes through :math:`W_r`. The shape regulariser acts on every layer's filter alike; the network as a
    whole has no single response (``filter`` is None).

    The first layer reads the features and, beside them, the logarithm of the degree and the labels that are shown
    (``labels``): a row of weights for every class, zero for a node whose label is hidden; of numbers as targets the
    number, 0 where it is hidden, and whether it is shown, both divided by the share of the known numbers that is shown,
    so that sums over neighbours do not grow with it. A step of training shows a
    share of a member's training labels, drawn anew from its seed and the epoch, and takes the loss on the others, so
    that no node's own label reaches its loss; evaluation shows all of them. (Scores on training nodes therefore say
    nothing.) A model that reads labels refuses inputs without :meth:`Inputs.show`; on a graph without known labels show
    -1 everywhere.

    References:
        Xu et al., Shape-aware Graph Spectral Learning, 2024, Eq. (5), in a stack like that of Luo, Shi, Wu, Classic
        GNNs are Strong Baselines: Reassessing GNNs for Node Classification, 2024, Section 3; labels as inputs: Shi et
        al., Masked Label Prediction: Unified Message Passing Model for Semi-Supervised Classification, 2021.
    """

    shape: NewtonStackOptions

    def __init__(self, graph: Graph, options: NewtonStackOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        self.check_options(options)
        check_rate(options.labels)
        hidden, features, classes = options.hidden, graph.features.shape[1], graph.classes
        super().__init__(name="newton-stack", options=asdict(options), seeds=seeds, features=features, dtype=dtype)
        self.shape, self.shown, self.classes = options, options.labels, classes
        points = equispaced(options.degree)
        filter = newton_filter(points, nonnegative=False, channels=hidden if options.per_channel else None)
        start = (1 - points)[:, None] * filter.start["values"] if options.per_channel else 1 - points
        filter = replace(filter, start={"values": start})
        check_condition(filter, dtype)
        self.directions = ("", "against") if options.directed else ("",)
        known = 2 if classes == 1 else classes
        extra = (known if self.shown else 0) + (len(self.directions) if options.log_degree else 0)
        first = 0 if options.projection else 1
        for i in range(first, options.layers + 1):
            inputs = features if i == first else hidden
            self.add_linear(f"residual{i}", inputs, hidden, glorot=True, reads_features=i == first)
            for prefix in self.directions if i else ():
                self.add_linear(f"{prefix}layer{i}", inputs, hidden, glorot=True, reads_features=i == first)
                self.add_filter(filter, f"{prefix}filter{i}")
            if i == first and extra:
                self.add_linear("extra", extra, hidden, maps=1 + len(self.directions) * bool(i), glorot=True)
            self.add_normalisation(i)
        self.add_linear("output", hidden, classes)
        if self.shown and classes == 1:
            share = len(graph.labelled) / graph.nodes
            self.add("known_share", torch.full((len(seeds), 1), share), axis=0, learned=False)
        if options.log_degree:
            degrees = _log_degrees(graph, directed=options.directed)
            for name, value in {"mean": degrees.mean(axis=0), "scale": degrees.std(axis=0)}.items():
                whole = torch.from_numpy(np.where(value > 0, value, 1.0) if name == "scale" else value)
                self.add(f"degree_{name}", whole.repeat(len(seeds), 1), axis=0, learned=False)

    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph's features, its operator or, if directed, both, and its degrees."""
        inputs = super().prepare(graph, device)
        if self.shape.directed or self.shape.mean:
            adjacency, mean = graph.adjacency, self.shape.mean
            along = averaging_operator(adjacency, mean=mean, dtype=self.dtype, device=device)
            against = None
            if self.shape.directed:
                against = averaging_operator(adjacency.T.tocsr(), mean=mean, dtype=self.dtype, device=device)
            inputs = replace(inputs, operator=along, against=against)
        if self.shape.log_degree:
            degrees = torch.from_numpy(_log_degrees(graph, directed=self.shape.directed)).to(device, self.dtype)
            inputs = replace(inputs, degrees=degrees)
        return inputs

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        x: Tensor | FeatureMatrix = inputs.features
        outputs: list[Tensor] = []
        operators = [operator for operator in (inputs.operator, inputs.against) if operator is not None]
        for i in range(0 if self.shape.projection else 1, self.shape.layers + 1):
            names = [f"residual{i}", *(f"{prefix}layer{i}" for prefix in self.directions if i)]
            maps = [self.parameter(f"{name}_weight") for name in names]
            extra = self.extra_columns(inputs) if not outputs else None
            others = [] if extra is None else list(self.parameter("extra_weight").chunk(len(maps), dim=2))
            if isinstance(x, FeatureMatrix) and x.transpose is None and x.matrix.shape[1] <= self.shape.hidden:
                # No wider than what a layer returns, so that each member can have a copy beside its own columns.
                x = x.matrix[:, None].expand(-1, len(self.seeds), -1)
                maps = [weight.transpose(0, 1) for weight in maps]
                if extra is not None:
                    x, extra = torch.cat([x, extra], dim=2), None
                    maps = [torch.cat(both, dim=1) for both in zip(maps, others, strict=True)]
            if isinstance(x, Tensor) and i > 0 and self.shape.degree == 1:
                x = self.activate(i, x, noise, operators, torch.stack(self._fold(i, maps, axis=0), dim=1))
                outputs.append(x)
                continue
            folded = i > 0 and self.shape.degree == 1 and not self.shape.directed
            if folded:
                maps = self._fold(i, maps, axis=1)
                others = self._fold(i, others, axis=0) if others else others
            weight = torch.cat(maps, dim=2)
            mapped = _linear(x, weight) if isinstance(x, Tensor) else feature_linear(x, weight)
            if extra is not None:
                mapped = mapped + _linear(extra, torch.cat(others, dim=2))
            if folded:
                x = self.activate(i, mapped, noise, operators)
            else:
                x = self.activate(i, self._filter(i, inputs, mapped), noise)
            outputs.append(x)
        return self.classify(outputs[1:] if self.shape.projection else outputs)

    def _fold(self, i: int, maps: Sequence[Tensor], *, axis: int) -> list[Tensor]:
        r"""Weights with filters of degree 1 inside: :math:`H W_r + g(L) H W = H (W_r + c_0 W) + \hat A H (-c_1 W)`."""
        own, *others = maps
        folded = []
        for prefix, near in zip(self.directions, others, strict=True):
            name = f"{prefix}filter{i}"
            coefficients = self.filters[name].coefficients(self.filter_parameters(name))
            first, second = coefficients if coefficients.ndim == 3 else coefficients[..., None]
            if axis == 0:
                first, second = first[:, None], second[:, None]
            own = own + first * near
            folded.append(-second * near)
        return [own, *folded]

    def _filter(self, i: int, inputs: Inputs, mapped: Tensor) -> Tensor:
        """A layer's own part and its filtered parts added up, ``(n, P, hidden)``."""
        hidden, *neighbours = torch.split(mapped, self.shape.hidden, dim=2)
        for prefix, signals in zip(self.directions if i else (), neighbours, strict=True):
            name, operator = f"{prefix}filter{i}", inputs.against if prefix else inputs.operator
            assert operator is not None
            coefficients = self.filters[name].coefficients(self.filter_parameters(name))
            hidden = hidden + propagate(operator, signals, coefficients)
        return hidden

    def extra_names(self, class_names: Sequence[str]) -> tuple[str, ...]:
        """What the columns beside the features are."""
        degrees = ("log out-degree", "log in-degree") if self.shape.directed else ("log degree",)
        labels = tuple(f"known label {name}" for name in class_names)
        if self.classes == 1:
            labels = (f"{class_names[0]} known", f"known {class_names[0]}")
        return (degrees if self.shape.log_degree else ()) + (labels if self.shown else ())

    def extra_columns(self, inputs: Inputs) -> Tensor | None:
        """Columns that the first layer reads beside the features, ``(n, P, E)``; None where there are none."""
        if inputs.extra is not None:
            return inputs.extra
        columns = []
        if self.shape.log_degree:
            assert inputs.degrees is not None
            mean, scale = self.parameter("degree_mean"), self.parameter("degree_scale")
            columns.append((inputs.degrees[:, None] - mean) / scale)
        if self.shown:
            if inputs.labels is None:
                raise ValueError(
                    f"model {self.name!r} reads labels, and these inputs show none; give them by "
                    "inputs.show(labels), -1 for every node whose label is not known"
                )
            labels = inputs.labels.expand(-1, len(self.seeds))
            if labels.is_floating_point() != (self.classes == 1):
                raise ValueError(
                    f"model {self.name!r} has {self.classes} outputs; show classes to several, numbers to 1"
                )
            if labels.is_floating_point():
                shown = ~labels.isnan()
                share = shown.to(self.dtype).mean(dim=0).clamp(min=1 / len(shown))
                factor = self.parameter("known_share")[:, 0] / share
                both = torch.stack([shown, torch.where(shown, labels, 0.0)], dim=2).to(self.dtype)
                columns.append(both * factor[:, None])
                return torch.cat(columns, dim=2)
            one_hot = labels.new_zeros((*labels.shape, self.classes + 1), dtype=self.dtype)
            columns.append(one_hot.scatter_(2, labels[..., None] + 1, 1.0)[..., 1:])
        return torch.cat(columns, dim=2) if columns else None


def _linear(x: Tensor, weight: Tensor) -> Tensor:
    """Each member's own wide map, ``(n, P, h)`` with ``(P, h, d)`` to ``(n, P, d)``; of one member contiguous."""
    return torch.bmm(x.transpose(0, 1), weight).transpose(0, 1)


def _log_degrees(graph: Graph, *, directed: bool) -> NDArray[np.float64]:
    """log(1 + degree) of every node, ``(n, 1)``; if directed, of leaving and of arriving edges, ``(n, 2)``."""
    leaving = np.diff(graph.adjacency.indptr)
    counts = [leaving, np.bincount(graph.adjacency.indices, minlength=graph.nodes)] if directed else [leaving]
    return np.log1p(np.stack(counts, axis=1, dtype=np.float64))
