"""From a fitted classifier, its graph and its cross-validations to the findings of the page; nothing is trained."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix

from newtonnet.estimator import CrossValidation, NewtonNetClassifier
from newtonnet.graphs import (
    Features,
    Graph,
    components,
    energy_density,
    homophily,
    isolated_nodes,
    known_edges,
    spectral_density,
)
from newtonnet.meaning import listed
from newtonnet.out_of_core import OUT_OF_CORE_MODEL
from newtonnet.training import Config, Record, estimate

from .findings import (
    NAN,
    Data,
    EnsembleMember,
    Findings,
    GraphHomophily,
    HeldOutResults,
    History,
    ModelScores,
    Response,
    Spectrum,
)
from .words import DEEP, has_width, is_known, percent

AT_POINTS = ("newtonnet", "chebnetii")
"""Models whose filter interpolates values at points."""
NONNEGATIVE = ("chebnetii", "bernnet", "appnp")
"""Models whose filter is non-negative by construction."""
MIN_EPOCHS = 30
"""With fewer epochs a filter still looks like its initial state."""
PROBES = 16
"""Signals used to estimate the spectrum, or the number of classes if larger."""
PER_SIGNAL, PER_ENTRY = 28, 18
"""Bytes the estimate needs per node and signal, and per entry of the adjacency."""
BINS = 10
"""Bins of equal width for calibration."""
FEW = 10
"""A class with fewer labelled nodes gets a warning."""
UNBALANCED = 10
"""Ratio of the largest to the smallest class from which classes are called unbalanced."""
MANY = 0.1
"""Share of the nodes from which isolated or repeated nodes get a warning."""

BLOCK_ROWS = 1 << 16
"""Rows of features that are hashed at a time."""


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
    data_warnings: Sequence[str] = (),
    warnings: Sequence[str] = (),
    max_memory: int | None = None,
) -> Findings:
    """Collect everything that the page of a fit shows.

    Args:
        classifier: fitted on all labels.
        graph: the graph it was fitted on.
        probabilities: its predicted probabilities for every node, shape ``(n, C)``.
        title: title of the page.
        command: the command that repeats the run.
        seconds: duration of the run.
        ours: cross-validation of the classifier.
        others: cross-validations of other models on the same splits, by name.
        left_out: columns that were not used as features, with the reason.
        columns: how each column was read.
        data_warnings: warnings about the tables.
        warnings: warnings about the run.
        max_memory: memory limit in bytes; a spectrum that needs more is not estimated. No limit by default.
    """
    needed = spectrum_bytes(graph)
    fits = max_memory is None or needed <= max_memory
    too_large = f"it needs about {needed / 1e6:,.0f} MB of memory, more than the run was allowed"
    filled = np.where(graph.labels >= 0, graph.labels, probabilities.argmax(axis=1))
    return Findings(
        title=title,
        model=classifier.model,
        command=command,
        version=version("newtonnet"),
        metric=classifier.metric,
        ensemble=_ensemble(classifier),
        tried=classifier.tried_,
        seconds=seconds,
        data=Data(
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
            warnings=[*data_warnings, *graph_warnings(graph, left_out=left_out)],
        ),
        homophily=graph_homophily(graph, learned=classifier.homophily_),
        spectrum=_spectrum(graph, filled) if fits else None,
        response=_response(classifier, graph, filled),
        history=[training_history(record) for record in classifier.records_],
        evaluation=evaluate(graph, classifier.model, ours, others or {}, metric=classifier.metric) if ours else None,
        cut_at=_cut_at(classifier),
        warnings=[
            *warnings,
            *([] if fits else [f"The graph's spectrum was not estimated: {too_large}."]),
            *(_filter_warnings(classifier) if graph.edges else []),
        ],
    )


def graph_homophily(graph: Graph, *, learned: float | None = None) -> GraphHomophily:
    """The homophily of a graph's labels, with its chance level.

    Args:
        graph: the graph with its labels.
        learned: homophily of a model's predictions.
    """
    found = homophily(graph)
    return GraphHomophily(_finite(found.edge), known_edges(graph), _finite(learned), _finite(found.chance))


def training_history(record: Record) -> History:
    """The training curves of a record."""
    return History(
        epochs=[int(epoch) for epoch in record.history["epoch"] if epoch is not None],
        train=[_finite(score) for score in record.history["train"]],
        validation=[_finite(score) for score in record.history["validation"]],
        homophily=[_finite(share) for share in record.history["homophily"]],
        best_epoch=record.outcome.best_epoch,
    )


def spectrum_bytes(graph: Graph) -> int:
    """Memory needed to estimate a graph's spectrum."""
    return PER_SIGNAL * graph.nodes * max(PROBES, graph.classes) + PER_ENTRY * int(graph.adjacency.nnz)


def _feature_kind(graph: Graph) -> str:
    features = graph.features
    if not isinstance(features, sp.csr_array):
        return "dense"
    square = features.shape == (graph.nodes, graph.nodes) and features.nnz == graph.nodes
    return "one indicator per node" if square and bool((features.diagonal() == 1).all()) else "sparse"


def _spectrum(graph: Graph, filled: NDArray[np.int64]) -> Spectrum | None:
    """The spectrum, and the energy of the centred one-hot labels in it; None for a directed graph."""
    if graph.directed:
        return None
    one_hot = np.eye(graph.classes, dtype=np.float32)[filled]
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
        homophily=float(np.mean(known)) if known else NAN,
        squared=config.squared,
    )


def _shown_model(classifier: NewtonNetClassifier) -> str:
    """The model whose filter is shown, by the name it has in the settings."""
    model = classifier.records_[0].model
    return "newtonnet" if model == OUT_OF_CORE_MODEL else model


def _ensemble(classifier: NewtonNetClassifier) -> list[EnsembleMember]:
    """The members; the filter that is shown belongs to the first one with its model and weight, if any."""
    members: list[EnsembleMember] = []
    shown = None if classifier.filter_ is None else (_shown_model(classifier), classifier.filter_weight_)
    for one in classifier.settings_:
        settings = {name: value for name, value in one.items() if name not in ("model", "weight")}
        drawn = (one["model"], one["weight"]) == shown and not any(member.drawn for member in members)
        members.append(EnsembleMember(one["model"], one["weight"], settings, drawn))
    return members


def _filter_warnings(classifier: NewtonNetClassifier) -> list[str]:
    """A warning where the filter shown has less than half of the ensemble's weight."""
    share = classifier.filter_weight_
    if classifier.filter_ is None or share >= 0.5:
        return []
    if share == 0:
        return [f"{DEEP} The filter shown is the best single filter tried; it is not used for the predictions."]
    return [f"The model is an ensemble; the filter shown belongs to a member with {percent(share, 0)} of the weight."]


def _cut_at(classifier: NewtonNetClassifier) -> int | None:
    longest = max(record.outcome.epochs for record in classifier.records_)
    return None if classifier.complete_ or longest >= MIN_EPOCHS else longest


def _finite(number: float | None) -> float | None:
    return float(number) if is_known(number) else None


def evaluate(
    graph: Graph, model: str, ours: CrossValidation, others: Mapping[str, CrossValidation], *, metric: str = "accuracy"
) -> HeldOutResults:
    """Evaluate a model on the nodes held out in its cross-validation, and others, by name, on the same splits."""
    truth = graph.labels[np.concatenate(list(ours.test))]
    shares = np.concatenate(list(ours.probabilities))
    confusion = confusion_matrix(truth, shares.argmax(axis=1), labels=np.arange(graph.classes))
    correct, true, predicted = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    bins = calibration(shares, truth)
    return HeldOutResults(
        ours=_scores(graph, model, ours, metric),
        others=[_scores(graph, name, other, metric) for name, other in others.items()],
        majority=float(true.max() / len(truth)),
        confusion=confusion.tolist(),
        precision=_ratios(correct, predicted),
        recall=_ratios(correct, true),
        f1=_ratios(2 * correct, true + predicted),
        bins=bins,
        calibration_error=sum(abs(sure - right) * count for sure, right, count in bins) / len(truth),
    )


def _ratios(above: NDArray[np.int64], below: NDArray[np.int64]) -> list[float | None]:
    return [float(a / b) if b else None for a, b in zip(above, below, strict=True)]


def _scores(graph: Graph, model: str, found: CrossValidation, metric: str) -> ModelScores:
    """Mean and 95% interval over splits, corrected for training nodes that the splits share, within 0 and 1."""
    held = float(np.mean([len(test) for test in found.test]))
    ratio = held / max(len(graph.labelled) - held, 1)
    interval = estimate(found.scores.tolist(), ratio)
    known = [(interval.low, interval.high)] if interval is not None and has_width(interval.low, interval.high) else []
    if metric == "accuracy":
        # Stratified folds vary less than new nodes would; one fold, or folds with equal scores, do not vary at all.
        known.append(_wilson(graph, found))
    low, high = (min(low for low, _ in known), max(high for _, high in known)) if known else (NAN, NAN)
    within = (max(low, 0.0), min(high, 1.0))
    return ModelScores(model, found.scores.tolist(), found.mean, within, float(found.seconds.sum()), ratio)


def _wilson(graph: Graph, found: CrossValidation) -> tuple[float, float]:
    """Wilson's 95% interval of the accuracy on the held-out nodes, each counted once."""
    nodes = np.concatenate(list(found.test))
    right = float((np.concatenate(list(found.probabilities)).argmax(axis=1) == graph.labels[nodes]).mean())
    count = len(np.unique(nodes))
    interval = binomtest(round(right * count), count).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def calibration(shares: NDArray[np.float64], truth: NDArray[np.int64]) -> list[tuple[float, float, int]]:
    """Mean confidence, share correct and number of nodes of each non-empty bin.

    >>> calibration(np.array([[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]), np.array([0, 0, 0]))
    [(0.5, 1.0, 1), (0.75, 0.5, 2)]
    """
    sure = shares.max(axis=1)
    right = shares.argmax(axis=1) == truth
    place = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    bins = [place == b for b in np.unique(place)]
    return [(float(sure[one].mean()), float(right[one].mean()), int(one.sum())) for one in bins]


def graph_warnings(graph: Graph, *, left_out: Mapping[str, str] | None = None) -> list[str]:
    """Warnings about a graph's labels, edges and features, a sentence each; left out are columns with the reason."""
    return [*_label_warnings(graph), *_edge_warnings(graph), *_feature_warnings(graph, left_out or {})]


def _label_warnings(graph: Graph) -> list[str]:
    counts = np.bincount(graph.labels[graph.labelled], minlength=graph.classes)
    found = []
    single = [name for name, count in zip(graph.class_names, counts, strict=True) if count == 1]
    few = [name for name, count in zip(graph.class_names, counts, strict=True) if 1 < count < FEW]
    if single:
        found.append(f"Classes with only one labelled node, too few to measure a score: {listed(single)}.")
    if few:
        found.append(f"Classes with fewer than {FEW} labelled nodes, too few for a precise score: {listed(few)}.")
    largest, smallest = int(counts.max()), int(counts[counts > 0].min())
    if largest >= UNBALANCED * smallest and largest >= FEW:
        share = percent(largest / counts.sum(), 0)
        found.append(
            f"The classes are very unbalanced: {share} of the labels are {graph.class_names[int(counts.argmax())]!r}. "
            "Check the recall of each class as well as the accuracy."
        )
    return found


def _edge_warnings(graph: Graph) -> list[str]:
    if graph.edges == 0:
        return ["The graph has no edges: only the features can separate the classes."]
    found = []
    alone = isolated_nodes(graph)
    if alone >= MANY * graph.nodes:
        share = percent(alone / graph.nodes, 0)
        found.append(f"{share} of the nodes ({alone:,} of {graph.nodes:,}) have no edge: only their features are used.")
    if known_edges(graph) == 0:
        found.append("No edge joins two labelled nodes, so homophily cannot be measured.")
    return found


def _feature_warnings(graph: Graph, left_out: Mapping[str, str]) -> list[str]:
    columns = {reason: [name for name in left_out if left_out[name] == reason] for reason in left_out.values()}
    found = [f"Columns not used as features ({reason}): {listed(names)}." for reason, names in sorted(columns.items())]
    repeated = repeated_rows(graph.features)
    if repeated >= MANY * graph.nodes:
        found.append(
            f"{percent(repeated / graph.nodes, 0)} of the nodes have the same features as another node. If they are "
            "duplicates, the held-out scores are too high."
        )
    return found


def repeated_rows(features: Features) -> int:
    """Number of rows that repeat an earlier row, found by two hashes of every row.

    A hash is a sum of the entries' bits times random numbers in wrapping integers, so it is exact in any order.

    >>> repeated_rows(np.array([[1, 2], [3, 4], [1, 2], [1, 2]], dtype=np.float32))
    2
    """
    factors = np.random.default_rng(0).integers(2**64, size=(features.shape[1], 2), dtype=np.uint64)
    blocks = (features[i : i + BLOCK_ROWS] for i in range(0, features.shape[0], BLOCK_ROWS))
    hashes = np.concatenate([_hashes(block, factors) for block in blocks])
    return len(hashes) - len(np.unique(hashes, axis=0))


def _hashes(rows: Features, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hashes of some rows, one for each column of factors."""
    values = rows.data if isinstance(rows, sp.csr_array) else rows
    # Adding 0 turns -0 into 0, which has other bits.
    bits = (np.asarray(values, dtype=np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)
    if isinstance(rows, sp.csr_array):
        bits = sp.csr_array((bits, rows.indices, rows.indptr), shape=rows.shape)
    return np.asarray(bits @ factors)
