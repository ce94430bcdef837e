"""The models by name: how each is built, its defaults, and what to search over."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from newtonnet.graphs import Graph
from newtonnet.meaning import meant

from . import polynomial_models as models
from .glognn import GloGNN, GloGNNOptions
from .linkx import Linkx, LinkxOptions
from .population import Population
from .spatial import GCN, ChebNet, ChebNetOptions, GCNOptions, MixHop, MixHopOptions
from .stacks import NewtonStack, NewtonStackOptions, TunedGCN, TunedGCNOptions

FALLBACK: Mapping[str, tuple[Any, ...]] = {
    "learning_rate": (0.05, 0.01, 0.005),
    "weight_decay": (0.0, 5e-4),
    "dropout": (0.0, 0.1, 0.3, 0.5, 0.7, 0.9),
}
"""The NewtonNet paper's space, for whatever a method's authors do not search themselves."""

FILTER_FALLBACK: Mapping[str, tuple[Any, ...]] = {
    **FALLBACK,
    "filter_learning_rate": (0.05, 0.01, 0.005),
    "propagation_dropout": (0.0, 0.1, 0.3, 0.5, 0.7, 0.9),
}

STACK_SPACE: Mapping[str, tuple[Any, ...]] = {
    "learning_rate": (0.001, 0.005, 0.01),
    "weight_decay": (0.0, 5e-5, 5e-4, 1e-3, 1e-2),
    "hidden": (64, 256, 512),
    "layers": tuple(range(1, 11)),
    "dropout": (0.2, 0.3, 0.5, 0.7),
    "norm": ("none", "batch", "layer"),
    "residual": (False, True),
}
"""What the authors of tuned GCN search, and a stack with another layer too."""


@dataclass(frozen=True)
class ModelEntry:
    """One model of the zoo.

    Attributes:
        build: graph, options, seeds and type to a population.
        options: its default options, a dataclass of its own.
        training: fields of ``training.Config`` whose defaults differ for this model.
        space: names of options and training fields to the values a search may take.
        paper: where it was published.
        transductive: whether it has weights for every node, and so is tied to the graph it was built for.
    """

    build: Callable[[Graph, Any, Sequence[int], torch.dtype], Population]
    options: Any
    paper: str
    training: Mapping[str, Any] = field(default_factory=dict)
    space: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    transductive: bool = False


ZOO: dict[str, ModelEntry] = {
    "newtonnet": ModelEntry(
        models.build_newtonnet,
        models.Options(),
        "Xu et al., Shape-aware Graph Spectral Learning, 2024",
        training={"gammas": (1.0, 1.0, 1.0)},
        space={**FILTER_FALLBACK, "gamma1": (0, 1, 3, 5), "gamma2": (0, 1, 3, 5), "gamma3": (0, 1, 3, 5)},
    ),
    "mlp": ModelEntry(models.build_mlp, models.EncoderOptions(), "no paper", space=FALLBACK),
    "appnp": ModelEntry(
        models.build_appnp,
        models.PagerankOptions(),
        "Gasteiger, Bojchevski, Günnemann, Predict then Propagate, 2019",
        space={
            **FALLBACK,
            "propagation_dropout": (0.0, 0.1, 0.3, 0.5, 0.7, 0.9),
            "alpha": (0.1, 0.2, 0.5, 0.9),
        },
    ),
    "gprgnn": ModelEntry(
        models.build_gprgnn,
        models.PagerankOptions(propagation_dropout=0.5),
        "Chien et al., Adaptive Universal Generalized PageRank Graph Neural Network, 2021",
        training={"filter_weight_decay": 0.0},
        space={
            "learning_rate": (0.002, 0.01, 0.05),
            "weight_decay": (0.0, 5e-4),
            "alpha": (0.1, 0.2, 0.5, 0.9, 1.0, 0.0),
            "propagation_dropout": (0.0, 0.5, 0.7),
            "dropout": (0.5, 0.7),
        },
    ),
    "bernnet": ModelEntry(
        models.build_bernnet,
        models.DegreeOptions(),
        "He et al., BernNet: Learning Arbitrary Graph Spectral Filters via Bernstein Approximation, 2021",
        training={"filter_weight_decay": 0.0},
        space={
            "learning_rate": (0.01, 0.05),
            "filter_learning_rate": (0.001, 0.002, 0.01, 0.05),
            "weight_decay": (0.0, 5e-4),
            "propagation_dropout": (0.0, 0.5, 0.6, 0.7, 0.9),
        },
    ),
    "chebnetii": ModelEntry(
        models.build_chebnetii,
        models.DegreeOptions(),
        "He, Wei, Wen, Convolutional Neural Networks on Graphs with Chebyshev Approximation, Revisited, 2022",
        space={
            "learning_rate": (0.01, 0.05),
            "filter_learning_rate": (0.001, 0.01, 0.05),
            "weight_decay": (0.0, 5e-4),
            "filter_weight_decay": (0.0, 5e-4),
            "propagation_dropout": (0.0, 0.5, 0.6, 0.9),
        },
    ),
    "jacobiconv": ModelEntry(
        models.build_jacobiconv,
        models.JacobiOptions(),
        "Wang, Zhang, How Powerful are Spectral Graph Neural Networks, 2022",
        training={"learning_rate": 0.05, "filter_learning_rate": 0.01},
        space={
            **dict.fromkeys(("learning_rate", "filter_learning_rate"), (0.0005, 0.001, 0.005, 0.01, 0.05)),
            "gate_learning_rate": (5e-4, 0.001, 0.005, 0.01, 0.05),
            **{f"{group}weight_decay": (0.0, 5e-5, 1e-4, 5e-4, 1e-3) for group in ("", "filter_", "gate_")},
            "alpha": (0.5, 1.0, 1.5, 2.0),
            "a": tuple(i / 4 for i in range(-4, 9)),
            "b": tuple(i / 4 for i in range(-2, 9)),
            "dropout": tuple(i / 10 for i in range(10)),
            "propagation_dropout": tuple(i / 10 for i in range(10)),
        },
    ),
    "legendre": ModelEntry(
        models.build_legendre,
        models.DegreeOptions(),
        "no paper of the comparison; Legendre's polynomials in BernNet's network",
        training={"filter_weight_decay": 0.0},
        space=FILTER_FALLBACK,
    ),
    "gcn": ModelEntry(
        GCN,
        GCNOptions(),
        "Kipf, Welling, Semi-Supervised Classification with Graph Convolutional Networks, 2017",
        space={**FALLBACK, "layers": (2, 3), "batch_norm": (False, True)},
    ),
    "mixhop": ModelEntry(
        MixHop,
        MixHopOptions(),
        "Abu-El-Haija et al., MixHop: Higher-Order Graph Convolutional Architectures, 2019",
        training={"decoupled": True, "weight_decay": 1e-3},
        space={
            "learning_rate": (0.01, 0.005, 0.05),
            "weight_decay": (0.0, 5e-4, 1e-3),
            "hidden": (16, 32, 64),
            "layers": (2, 3),
            "dropout": (0.1, 0.3, 0.5, 0.7),
        },
    ),
    "chebnet": ModelEntry(
        ChebNet,
        ChebNetOptions(),
        "Defferrard, Bresson, Vandergheynst, Convolutional Neural Networks on Graphs, 2016",
        space={**FALLBACK, "degree": (1, 2, 3, 5), "hidden": (16, 32, 64)},
    ),
    "glognn++": ModelEntry(
        GloGNN,
        GloGNNOptions(),
        "Li et al., Finding Global Homophily in Graph Neural Networks When Meeting Heterophily, 2022",
        transductive=True,
        training={"weight_decay": 1e-4},
        space={
            "learning_rate": (0.01, 0.001),
            "weight_decay": (0.0, 1e-5, 1e-4, 1e-3, 0.1),
            "dropout": (0.0, 0.4, 0.6, 0.8),
            "alpha": (0.0, 0.01, 0.1, 1.0, 10.0),
            "beta": (0.1, 1.0, 10.0, 100.0, 1000.0, 2e4),
            "gamma": (0.0, 0.2, 0.5, 0.8, 0.9),
            "delta": (0.0, 0.5, 0.9, 1.0),
            "layers": (1, 2, 3),
            "orders": (1, 2, 3, 4),
        },
    ),
    "linkx": ModelEntry(
        Linkx,
        LinkxOptions(),
        "Lim et al., Large Scale Learning on Non-Homophilous Graphs, 2021",
        transductive=True,
        training={"decoupled": True, "weight_decay": 1e-3},
        space={
            "learning_rate": (0.05, 0.01, 0.002),
            "hidden": (16, 32, 64, 128, 256, 512),
            "layers": (1, 2, 3, 4),
            "adjacency_layers": (1, 2),
            "feature_layers": (1, 2),
            "dropout": (0.0, 0.5),
        },
    ),
    "tuned-gcn": ModelEntry(
        TunedGCN,
        TunedGCNOptions(),
        "Luo, Shi, Wu, Classic GNNs are Strong Baselines, 2024",
        training={"learning_rate": 0.005},
        space=STACK_SPACE,
    ),
    "newton-stack": ModelEntry(
        NewtonStack,
        NewtonStackOptions(),
        "no paper: the filter of Xu et al., 2024, as a layer in the stack of Luo, Shi, Wu, 2024",
        training={"learning_rate": 0.005, "filter_learning_rate": 0.05, "filter_weight_decay": 0.0},
        space={**STACK_SPACE, "filter_learning_rate": (0.05, 0.01, 0.005), "degree": (1, 2, 3, 5)},
    ),
}


def build(
    name: str,
    graph: Graph,
    options: Any = None,
    *,
    seeds: Sequence[int] = (0,),
    dtype: torch.dtype = torch.float32,
) -> Population:
    """A population of one model of the zoo, sized for a graph.

    Args:
        name: one of :data:`ZOO`.
        graph: gives the numbers of features and classes.
        options: the model's shape, an instance of its own options; its defaults if not given.
        seeds: one for each member.
        dtype: float32, or float64 for checks.
    """
    entry = find_model(name)
    if graph.classes < 2:
        raise ValueError(f"graph {graph.name!r} has {graph.classes} class; at least 2 are needed")
    if options is not None and type(options) is not type(entry.options):
        raise TypeError(f"model {name!r} takes {type(entry.options).__name__}, got {type(options).__name__}")
    return entry.build(graph, entry.options if options is None else options, seeds, dtype)


def find_model(name: str) -> ModelEntry:
    """The entry of a model, refused with the names there are."""
    if name not in ZOO:
        raise ValueError(f"unknown model {name!r}; {meant(name, ZOO)}available: {', '.join(sorted(ZOO))}")
    return ZOO[name]
