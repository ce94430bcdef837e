"""From a fitted classifier, its graph and its cross-validations to the findings of the page; nothing is trained."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet.estimator import CrossValidation, NewtonNetClassifier
from newtonnet.graphs import Graph, components, energy_density, homophily, isolated_nodes, known_edges, spectral_density
from newtonnet.out_of_core import OUT_OF_CORE_MODEL
from newtonnet.training import Config

from .cautions import cautions
from .evaluate import evaluate
from .findings import Agreement, Data, Findings, History, Part, Response, Spectrum
from .quantities import percent
from .words import DEEP

AT_POINTS = ("newtonnet", "chebnetii")
"""Models whose filter is a polynomial through values at points."""
NONNEGATIVE = ("chebnetii", "bernnet", "appnp")
"""Models whose filter has no values below 0, where no option says so."""


SHAPED = 30
"""Epochs below which a filter still looks like its start."""

PROBES = 16
"""Signals with which the spectrum is estimated, or as many as there are classes."""
PER_SIGNAL, PER_ENTRY = 28, 18
"""Bytes that the estimate takes for each node and signal, and for each entry of the adjacency."""


def gather(
    classifier: NewtonNetClassifier,
    graph: Graph,
    probabilities: NDArray[np.float64],
    *,
    title: str,
    command: str,
    seconds: float,
    ours: CrossValidation | None = None,
    others: Mapping[str, CrossValidation] | None = None,
    left_out: Mapping[str, str] | None = None,
    columns: str = "",
    notes: Sequence[str] = (),
    remarks: Sequence[str] = (),
    max_memory: int | None = None,
) -> Findings:
    """Everything that the page shows.

    Args:
        classifier: fitted on all labels.
        graph: the graph it was fitted on.
        probabilities: its own for every node, shape ``(n, C)``.
        title: of the page.
        command: what repeats the run.
        seconds: that it took.
        ours: the same classifier, cross-validated.
        others: other models by name, on the same splits.
        left_out: columns that gave no features, and what they hold.
        columns: what every column was taken for.
        notes: what a careful reader should know about the tables.
        remarks: what happened on the way.
        max_memory: bytes that the estimate of the spectrum may take, which is left out where it would take more; any
            number if not given.
    """
    needed = spectrum_bytes(graph)
    fits = max_memory is None or needed <= max_memory
    told = [*remarks, *([] if fits else [_no_spectrum(needed)]), *(_shown_part(classifier) if graph.edges else [])]
    filled = np.where(graph.labels >= 0, graph.labels, probabilities.argmax(axis=1))
    return Findings(
        title=title,
        model=classifier.model,
        command=command,
        version=version("newtonnet"),
        metric=classifier.metric,
        parts=_parts(classifier),
        tried=classifier.tried_,
        seconds=seconds,
        data=_data(graph, left_out or {}, columns, notes),
        agreement=_agreement(graph, classifier.homophily_),
        spectrum=_spectrum(graph, filled) if fits else None,
        response=_response(classifier, graph, filled),
        history=_history(classifier),
        evaluation=None
        if ours is None
        else evaluate(graph, classifier.model, ours, others or {}, metric=classifier.metric),
        cut_at=_cut_at(classifier),
        remarks=told,
    )


def spectrum_bytes(graph: Graph) -> int:
    """Memory that the estimate of a graph's spectrum takes."""
    return PER_SIGNAL * graph.nodes * max(PROBES, graph.classes) + PER_ENTRY * int(graph.adjacency.nnz)


def _no_spectrum(needed: int) -> str:
    return (
        f"The graph's spectrum was not estimated: that would take about {needed / 1e6:,.0f} MB of memory, more than "
        "the run was allowed."
    )


def _data(graph: Graph, left_out: Mapping[str, str], columns: str, notes: Sequence[str]) -> Data:
    return Data(
        nodes=graph.nodes,
        edges=graph.edges,
        features=int(graph.features.shape[1]),
        feature_kind=_feature_kind(graph),
        class_names=graph.class_names,
        class_counts=np.bincount(graph.labels[graph.labelled], minlength=graph.classes).tolist(),
        isolated=isolated_nodes(graph),
        components=components(graph),
        weighted=graph.weighted,
        columns=columns,
        warnings=[*notes, *cautions(graph, left_out=left_out)],
    )


def _feature_kind(graph: Graph) -> str:
    features = graph.features
    if not isinstance(features, sp.csr_array):
        return "numbers"
    own = features.shape == (graph.nodes, graph.nodes) and features.nnz == graph.nodes
    diagonal = own and bool((features.diagonal() == 1).all())
    return "one of its own for every node" if diagonal else "sparse"


def _agreement(graph: Graph, learned: float) -> Agreement:
    known = homophily(graph)
    return Agreement(_finite(known.edge), known_edges(graph), _finite(learned), _finite(known.chance))


def _spectrum(graph: Graph, filled: NDArray[np.int64]) -> Spectrum | None:
    """The spectrum, and the energy of the centred one-hot labels in it; none for a directed graph."""
    if graph.directed:
        return None
    one_hot = np.zeros((graph.nodes, graph.classes), dtype=np.float32)
    one_hot[np.arange(graph.nodes), filled] = 1.0
    density = spectral_density(graph)
    energy = energy_density(graph, one_hot - one_hot.mean(axis=0))
    return Spectrum(
        frequencies=density.frequencies.tolist(),
        density=density.density.tolist(),
        label_energy=energy.density.tolist(),
        predicted=len(graph.labelled) < graph.nodes,
    )


def _response(classifier: NewtonNetClassifier, graph: Graph, filled: NDArray[np.int64]) -> Response | None:
    learned = classifier.filter_
    if learned is None:
        return None
    record, model = classifier.records_[0], _shown_model(classifier)
    config = Config(**record.config)
    at_points = model in AT_POINTS
    known = [one.outcome.homophily for one in classifier.records_ if one.outcome.homophily is not None]
    return Response(
        frequencies=learned.frequencies.tolist(),
        responses=learned.responses.tolist(),
        points=learned.points.tolist() if at_points else [],
        values=learned.values.tolist() if at_points else [[] for _ in learned.values],
        nonnegative=bool(record.options.get("nonnegative", model in NONNEGATIVE)),
        gammas=config.gammas,
        pivot=1 / graph.classes if config.pivot == "uniform" else homophily(graph, filled).chance,
        homophily=float(np.mean(known)) if known else float("nan"),
        squared=config.squared,
    )


def _shown_model(classifier: NewtonNetClassifier) -> str:
    """The model whose filter is shown, by the name of its settings, in whatever regime it was trained."""
    model = classifier.records_[0].model
    return "newtonnet" if model == OUT_OF_CORE_MODEL else model


def _parts(classifier: NewtonNetClassifier) -> list[Part]:
    """What is averaged; the filter that is shown belongs to the first part of its model and weight, if to any."""
    kept = classifier.settings_
    shown = (_shown_model(classifier), classifier.filter_weight_)
    drawn = next((place for place, one in enumerate(kept) if (one["model"], one["weight"]) == shown), None)
    return [
        Part(
            model=one["model"],
            weight=one["weight"],
            settings={name: value for name, value in one.items() if name not in ("model", "weight")},
            drawn=classifier.filter_ is not None and place == drawn,
        )
        for place, one in enumerate(kept)
    ]


def _shown_part(classifier: NewtonNetClassifier) -> list[str]:
    """A remark where the filter that is shown decides less than half of what is predicted."""
    share = classifier.filter_weight_
    if classifier.filter_ is None or share >= 0.5:
        return []
    if share == 0:
        return [f"{DEEP} The filter shown is the best single one that was tried; it has no part in the predictions."]
    return [
        f"The model is an average; the filter shown belongs to the part that has {percent(share, 0)} of the weight."
    ]


def _cut_at(classifier: NewtonNetClassifier) -> int | None:
    longest = max(record.outcome.epochs for record in classifier.records_)
    return None if classifier.complete_ or longest >= SHAPED else longest


def _history(classifier: NewtonNetClassifier) -> list[History]:
    return [
        History(
            epochs=[int(epoch) for epoch in record.history["epoch"] if epoch is not None],
            train=[_finite(score) for score in record.history["train"]],
            validation=[_finite(score) for score in record.history["validation"]],
            homophily=[_finite(share) for share in record.history["homophily"]],
            best_epoch=record.outcome.best_epoch,
        )
        for record in classifier.records_
    ]


def _finite(number: float | None) -> float | None:
    return float(number) if number is not None and np.isfinite(number) else None
