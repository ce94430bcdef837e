"""The models by name: how each is built, its defaults, and what to search over."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any

import torch

from newtonnet.graphs import Graph
from newtonnet.meaning import meant

from . import polynomial_models as models
from .adjacency_models import GloGNN, GloGNNOptions, Linkx, LinkxOptions
from .population import Builder, Population
from .spatial import GCN, ChebNet, ChebNetOptions, GCNOptions, MixHop, MixHopOptions
from .stacks import NewtonStack, NewtonStackOptions, TunedGCN, TunedGCNOptions


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

    build: Builder
    options: Any
    paper: str
    training: Mapping[str, Any] = field(default_factory=dict)
    space: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    transductive: bool = False


MODELS: Mapping[str, tuple[Builder, Any]] = {
    "newtonnet": (models.build_newtonnet, models.Options()),
    "mlp": (models.build_mlp, models.EncoderOptions()),
    "appnp": (models.build_appnp, models.PagerankOptions()),
    "gprgnn": (models.build_gprgnn, models.PagerankOptions(propagation_dropout=0.5)),
    "bernnet": (models.build_bernnet, models.DegreeOptions()),
    "chebnetii": (models.build_chebnetii, models.DegreeOptions()),
    "jacobiconv": (models.build_jacobiconv, models.JacobiOptions()),
    "legendre": (models.build_legendre, models.DegreeOptions()),
    "gcn": (GCN, GCNOptions()),
    "mixhop": (MixHop, MixHopOptions()),
    "chebnet": (ChebNet, ChebNetOptions()),
    "glognn++": (GloGNN, GloGNNOptions()),
    "linkx": (Linkx, LinkxOptions()),
    "tuned-gcn": (TunedGCN, TunedGCNOptions()),
    "newton-stack": (NewtonStack, NewtonStackOptions()),
}
"""Builder and default options of each model; the rest of its entry is in ``zoo.toml``."""


def _read_zoo() -> dict[str, ModelEntry]:
    data = tomllib.loads(files("newtonnet.nn").joinpath("zoo.toml").read_text(encoding="utf-8"))

    def space(given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        shared = space(data["spaces"][given["extends"]]) if "extends" in given else {}
        return shared | {name: tuple(values) for name, values in given.items() if name != "extends"}

    def entry(name: str, *, paper: str, transductive: bool = False, **given: Mapping[str, Any]) -> ModelEntry:
        training = {k: tuple(v) if isinstance(v, list) else v for k, v in given.get("training", {}).items()}
        return ModelEntry(*MODELS[name], paper, training, space(given.get("space", {})), transductive)

    return {name: entry(name, **data["models"][name]) for name in MODELS}


ZOO = _read_zoo()
"""The models by name."""


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
    if graph.classes < 2 and graph.targets is None:
        raise ValueError(f"graph {graph.name!r} has {graph.classes} class; at least 2 are needed")
    if options is not None and type(options) is not type(entry.options):
        raise TypeError(f"model {name!r} takes {type(entry.options).__name__}, got {type(options).__name__}")
    return entry.build(graph, entry.options if options is None else options, seeds, dtype)


def find_model(name: str) -> ModelEntry:
    """The entry of a model of the zoo, or of an installed package that has an entry point in ``newtonnet.models``."""
    if name not in ZOO:
        offered = entry_points(group="newtonnet.models")
        if name not in offered.names:
            names = sorted({*ZOO, *offered.names})
            raise ValueError(f"unknown model {name!r}; {meant(name, names)}available: {', '.join(names)}")
        source = f"model {name!r} of {offered[name].value}"
        try:
            entry = offered[name].load()
        except (ImportError, AttributeError) as reason:
            raise ValueError(f"{source} cannot be loaded ({reason})") from reason
        if not isinstance(entry, ModelEntry):
            raise ValueError(f"{source} must be a ModelEntry, got {type(entry).__name__}")
        ZOO[name] = entry
    return ZOO[name]
