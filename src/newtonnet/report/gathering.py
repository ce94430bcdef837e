"""From a fitted classifier, its graph and its cross-validations to the findings of the page; nothing is trained."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from newtonnet import __version__
from newtonnet.estimator import (
    CrossValidation,
    GraphEstimator,
    OutOfFold,
    calibration_bins,
    calibration_error,
    calibration_interval,
    held_out_intervals,
    held_out_sets,
    influence,
)
from newtonnet.graphs import (
    Features,
    Graph,
    assortativity,
    components,
    energy_density,
    homophily,
    isolated_nodes,
    known_edges,
    spectral_density,
)
from newtonnet.meaning import listed
from newtonnet.metrics import NUMBER_METRICS, Threshold, Truth, decide, number_score, precision_recall, rarer
from newtonnet.out_of_core import OUT_OF_CORE_MODEL
from newtonnet.training import Config, Record

from .findings import (
    NAN,
    Data,
    EnsembleMember,
    Findings,
    GraphHomophily,
    HeldOutResults,
    History,
    IntervalCoverage,
    ModelScores,
    NodeGroup,
    NumberErrors,
    NumberResults,
    PrecisionRecall,
    Response,
    SetCoverage,
    Spectrum,
    TargetSummary,
)
from .words import is_known, percent, share_interval, undrawn

ALMOST_ALL = 0.99
"""Share of predictions for the largest class from which on accuracy says little."""
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
REACH = 1.959964
"""Standard errors to each side of a 95% interval."""
FEW = 10
"""A class with fewer labelled nodes gets a warning."""
UNBALANCED = 10
"""Ratio of the largest to the smallest class from which classes are called unbalanced."""
DEGREES = (1, 3, 10)
"""Numbers of neighbours from which the next group of nodes begins."""
OWN_VALIDATION = "validation"
"""Protocol in the records of a fit with the caller's validation nodes."""
MANY = 0.1
"""Share of the nodes from which isolated or repeated nodes get a warning."""
PARTS, DRAWN = 5, 2000
"""Parts of the held-out nodes by their true number, and nodes in the scatter plots at most."""
BLOCK_ROWS = 1 << 16
"""Rows of features that are hashed at a time."""


def gather(
    classifier: GraphEstimator,
    graph: Graph,
    probabilities: NDArray[np.float64],
    *,
    title: str,
    command: str,
    seconds: float,
    ours: CrossValidation | None = None,
    others: Mapping[str, CrossValidation] | None = None,
    method: str = "",
    left_out: Mapping[str, str] | None = None,
    columns: str = "",
    data_warnings: Sequence[str] = (),
    warnings: Sequence[str] = (),
    max_memory: int | None = None,
) -> Findings:
    """Collect everything that the page of a fit shows.

    Args:
        classifier: fitted on all labels; or a regressor.
        graph: the graph it was fitted on.
        probabilities: its predicted probabilities for every node, shape ``(n, C)``; of numbers predictions, ``(n, 1)``.
        title: title of the page.
        command: the command that repeats the run.
        seconds: duration of the run.
        ours: cross-validation of the classifier.
        others: cross-validations of other models on the same splits, by name.
        method: how nodes were held out, in a sentence.
        left_out: columns that were not used as features, with the reason.
        columns: how each column was read.
        data_warnings: warnings about the tables.
        warnings: warnings about the run.
        max_memory: memory limit in bytes; a spectrum that needs more is not estimated. No limit by default.
    """
    needed = spectrum_bytes(graph)
    fits = max_memory is None or needed <= max_memory
    too_large = f"it needs about {needed / 1e6:,.0f} MB of memory, more than the run was allowed"
    numbers = graph.targets is not None
    aim = classifier.metric != "accuracy" or classifier.threshold_ is not None
    predicted = probabilities[:, 0] if numbers else probabilities.argmax(axis=1)
    filled = np.where(graph.labels >= 0, graph.truth, predicted)
    return Findings(
        title=title,
        model=classifier.model,
        command=command,
        version=__version__,
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
            warnings=[*data_warnings, *graph_warnings(graph, left_out=left_out, aim=aim)],
            target=_target(graph) if numbers else None,
        ),
        homophily=graph_homophily(graph, learned=classifier.homophily_),
        spectrum=_spectrum(graph, filled) if fits else None,
        response=_response(classifier, graph, filled),
        history=[training_history(record) for record in classifier.records_],
        evaluation=_evaluation(classifier, graph, ours, others or {}, method) if ours else None,
        cut_at=_cut_at(classifier),
        curve=None if numbers else _precision_recall(classifier),
        sets=None if numbers else _sets(classifier),
        leaderboard=classifier.leaderboard_,
        warnings=[
            *warnings,
            *([] if fits else [f"The graph's spectrum was not estimated: {too_large}."]),
            *(_filter_warnings(classifier) if graph.edges else []),
            *([] if numbers or ours is None or classifier.threshold_ else _majority_warning(ours, graph)),
        ],
    )


def _evaluation(
    estimator: GraphEstimator,
    graph: Graph,
    ours: CrossValidation,
    others: Mapping[str, CrossValidation],
    method: str,
) -> HeldOutResults | NumberResults:
    """The results of classes or of numbers on held-out nodes."""
    held: OutOfFold | None = estimator.out_of_fold_
    if graph.targets is not None:
        found = evaluate_numbers(graph, estimator.model, ours, others, metric=estimator.metric)
        return replace(found, intervals=interval_coverage(held), method=method)
    threshold: Threshold | None = getattr(estimator, "threshold_", None)
    if threshold and held and all(map(operator.is_, ours.test, held.nodes)):  # by members of one fold
        threshold = threshold.where_chosen
    results = evaluate(graph, estimator.model, ours, others, metric=estimator.metric, threshold=threshold)
    return replace(results, uncalibrated_error=held.calibration[0] if held else None, method=method)


def _target(graph: Graph) -> TargetSummary:
    """The known numbers of a graph."""
    known = graph.truth[graph.labelled]
    quantiles = np.quantile(known, [0, 0.25, 0.5, 0.75, 1]).tolist()
    return TargetSummary(
        graph.class_names[0], float(known.mean()), float(known.std()), quantiles, len(np.unique(known))
    )


def evaluate_numbers(
    graph: Graph, model: str, ours: CrossValidation, others: Mapping[str, CrossValidation], *, metric: str
) -> NumberResults:
    """Evaluate a model of numbers on the nodes held out in its cross-validation, and others on the same splits."""
    truth = graph.truth[np.concatenate(list(ours.test))].astype(np.float64)
    predicted = np.concatenate(list(ours.probabilities))[:, 0]
    error = predicted - truth
    order = np.argsort(truth, kind="stable")
    parts = [part for part in np.array_split(order, PARTS) if len(part)]
    some = np.random.default_rng(0).permutation(len(truth))[:DRAWN]
    return NumberResults(
        ours=_scores(graph, model, ours, metric),
        others=[_scores(graph, name, other, metric, ours) for name, other in others.items()],
        errors=NumberErrors(
            r2=number_score("r2", predicted, truth),
            mae=float(np.abs(error).mean()),
            rmse=float(np.sqrt((error**2).mean())),
            constant_mae=float(np.abs(truth - np.median(truth)).mean()),
            constant_rmse=float(truth.std()),
        ),
        truth=[float(f"{value:.6g}") for value in truth[some]],
        predicted=[float(f"{value:.6g}") for value in predicted[some]],
        parts=[
            (
                float(truth[part[0]]),
                float(truth[part[-1]]),
                len(part),
                float(np.abs(error[part]).mean()),
                float(error[part].mean()),
            )
            for part in parts
        ],
        intervals=None,
    )


def interval_coverage(held: OutOfFold | None, coverage: float = 0.9) -> IntervalCoverage | None:
    """Coverage and width of the intervals of held-out nodes; None where nothing was held out."""
    if held is None:
        return None
    ends, known = held_out_intervals(held.probabilities, held.truth, coverage), np.concatenate(list(held.truth))
    inside = (ends[:, 0] <= known) & (known <= ends[:, 1])
    width = (ends[:, 1] - ends[:, 0])[np.isfinite(ends).all(axis=1)]
    return IntervalCoverage(coverage, float(inside.mean()), float(width.mean()) if len(width) else 0.0)


def _precision_recall(classifier: Any, most: int = 200) -> PrecisionRecall | None:
    """The curve of out-of-fold predictions for the rarer of two classes, at some of its thresholds."""
    held: OutOfFold | None = classifier.out_of_fold_
    if held is None or len(classifier.classes_) != 2:
        return None
    _, shares, classes = held.whole
    place = rarer(classes) if classifier.threshold_ is None else classifier.threshold_.place
    truth = classes == place
    if not truth.any():
        return None
    curve = precision_recall(shares[:, place], truth)
    some = np.unique(np.linspace(0, len(curve.threshold) - 1, most).astype(int))
    threshold, precision, recall = (
        np.round(part[some], 4).tolist() for part in (curve.threshold, curve.precision, curve.recall)
    )
    return PrecisionRecall(place, threshold, precision, recall, float(truth.mean()), classifier.threshold_)


def set_coverage(held: OutOfFold | None, coverage: float = 0.9) -> SetCoverage | None:
    """Coverage and size of the prediction sets of held-out nodes; None where nothing was held out."""
    if held is None:
        return None
    sets, known = held_out_sets(held.probabilities, held.truth, coverage), np.concatenate(list(held.truth))
    covered, sizes = sets[np.arange(len(known)), known], sets.sum(axis=1)
    of_class = [known == c for c in range(sets.shape[1])]
    return SetCoverage(
        aim=coverage,
        reached=float(covered.mean()),
        size=float(sizes.mean()),
        alone=float((sizes == 1).mean()),
        by_class=[
            (float(covered[own].mean()), float(sizes[own].mean())) if own.any() else (None, None) for own in of_class
        ],
    )


def _sets(classifier: GraphEstimator) -> SetCoverage | None:
    found = set_coverage(classifier.out_of_fold_)
    chosen = classifier.records_[0].split["protocol"] == OWN_VALIDATION
    return None if found is None else replace(found, own_split=chosen)


def _majority_warning(ours: CrossValidation, graph: Graph) -> list[str]:
    """Whether nearly all held-out nodes are predicted to be of the largest class."""
    truth = graph.labels[np.concatenate(list(ours.test))]
    largest = int(np.bincount(truth).argmax())
    predicted = float((np.concatenate(list(ours.probabilities)).argmax(axis=1) == largest).mean())
    if predicted < ALMOST_ALL or float((truth == largest).mean()) > predicted:
        return []
    return [
        f"{predicted:.1%} of the held-out nodes are predicted to be {graph.class_names[largest]}, the largest class: "
        "accuracy says little. To find other classes, use class_weight balanced, a threshold, or metric "
        "balanced_accuracy or average_precision."
    ]


def graph_homophily(graph: Graph, *, learned: float | None = None) -> GraphHomophily:
    """The homophily of a graph's labels, with its chance level.

    Args:
        graph: the graph with its labels.
        learned: homophily of a model's predictions.
    """
    if graph.targets is not None:
        measured = _finite(assortativity(graph))
        return GraphHomophily(measured, known_edges(graph), _finite(learned), None if measured is None else 0.0)
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


def _spectrum(graph: Graph, filled: Truth) -> Spectrum | None:
    """The spectrum, and the energy of the centred one-hot labels (or numbers) in it; None for a directed graph."""
    if graph.directed:
        return None
    if graph.targets is None:
        one_hot = np.eye(graph.classes, dtype=np.float32)[filled]
    else:
        one_hot = (filled / (np.abs(filled).max() or 1.0))[:, None].astype(np.float32)
    density = spectral_density(graph)
    energy = energy_density(graph, one_hot - one_hot.mean(axis=0))
    return Spectrum(
        frequencies=density.frequencies.tolist(),
        density=density.density.tolist(),
        label_energy=energy.density.tolist(),
        predicted=len(graph.labelled) < graph.nodes,
    )


def _response(classifier: GraphEstimator, graph: Graph, filled: Truth) -> Response | None:
    learned = classifier.filter_
    if learned is None:
        return None
    record, model = classifier.records_[0], _shown_model(classifier)
    config = Config(**record.config)
    at_points = model in AT_POINTS
    known = [one.outcome.homophily for one in classifier.records_ if one.outcome.homophily is not None]
    if graph.targets is not None:
        pivot = 0.0
    else:
        pivot = 1 / graph.classes if config.pivot == "uniform" else homophily(graph, filled.astype(np.int64)).chance
    return Response(
        frequencies=learned.frequencies.tolist(),
        responses=learned.responses.tolist(),
        points=learned.points.tolist() if at_points else [],
        values=learned.values.tolist() if at_points else [[] for _ in learned.values],
        nonnegative=bool(record.options.get("nonnegative", model in NONNEGATIVE)),
        gammas=config.gammas,
        pivot=pivot,
        homophily=float(np.mean(known)) if known else NAN,
        squared=config.squared,
    )


def _shown_model(classifier: GraphEstimator) -> str:
    """The model whose filter is shown, by the name it has in the settings."""
    model = classifier.records_[0].model
    return "newtonnet" if model == OUT_OF_CORE_MODEL else model


def _ensemble(classifier: GraphEstimator) -> list[EnsembleMember]:
    """The members; the filter that is shown belongs to the first one with its model and weight, if any."""
    members: list[EnsembleMember] = []
    shown = None if classifier.filter_ is None else (_shown_model(classifier), classifier.filter_weight_)
    for one in classifier.settings_:
        settings = {name: value for name, value in one.items() if name not in ("model", "weight")}
        drawn = (one["model"], one["weight"]) == shown and not any(member.drawn for member in members)
        members.append(EnsembleMember(one["model"], one["weight"], settings, drawn))
    return members


def _filter_warnings(classifier: GraphEstimator) -> list[str]:
    """A warning where the filter shown has less than half of the ensemble's weight."""
    share = classifier.filter_weight_
    if classifier.filter_ is None or share >= 0.5:
        return []
    if share == 0:
        why = undrawn([one["model"] for one in classifier.settings_])
        return [f"{why} The filter shown is the best single filter tried; it is not used for the predictions.".strip()]
    return [f"The model is an ensemble; the filter shown belongs to a member with {percent(share, 0)} of the weight."]


def _cut_at(classifier: GraphEstimator) -> int | None:
    longest = max(record.outcome.epochs for record in classifier.records_)
    return None if classifier.complete_ or longest >= MIN_EPOCHS else longest


def _finite(number: float | None) -> float | None:
    return float(number) if is_known(number) else None


def evaluate(
    graph: Graph,
    model: str,
    ours: CrossValidation,
    others: Mapping[str, CrossValidation],
    *,
    metric: str = "accuracy",
    threshold: Threshold | None = None,
) -> HeldOutResults:
    """Evaluate a model on the nodes held out in its cross-validation, and others, by name, on the same splits.

    Classes are confused as they are predicted, of two classes by the model's own ``threshold``.
    """
    truth = graph.labels[np.concatenate(list(ours.test))]
    shares = np.concatenate(list(ours.probabilities))
    pairs = truth * graph.classes + decide(shares, threshold)
    confusion = np.bincount(pairs, minlength=graph.classes**2).reshape(graph.classes, graph.classes)
    correct, true, predicted = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    bins = calibration_bins(shares, truth)
    return HeldOutResults(
        ours=_scores(graph, model, ours, metric),
        others=[_scores(graph, name, other, metric, ours) for name, other in others.items()],
        majority=float(true.max() / len(truth)),
        confusion=confusion.tolist(),
        precision=_ratios(correct, predicted),
        recall=_ratios(correct, true),
        f1=_ratios(2 * correct, true + predicted),
        bins=bins,
        calibration_error=calibration_error(shares, truth),
        calibration_interval=calibration_interval(shares, truth),
        groups=node_groups(graph, np.concatenate(list(ours.test)), decide(shares, threshold) == truth),
    )


def node_groups(graph: Graph, nodes: NDArray[np.int64], right: NDArray[np.bool_]) -> list[NodeGroup]:
    """Nodes by their number of neighbours and by what most of their labelled neighbours are, with the share right."""
    adjacency = graph.adjacency + graph.adjacency.T if graph.directed else graph.adjacency
    adjacency = sp.csr_array(adjacency)[nodes]
    degree = np.diff(adjacency.indptr)
    known = (graph.labels >= 0).astype(np.float64)
    labelled = adjacency @ known
    same = np.zeros(len(nodes))
    for c in range(graph.classes):
        inside = graph.labels[nodes] == c
        same[inside] = adjacency[inside] @ (graph.labels == c).astype(np.float64)
    found = {"no neighbours": degree == 0}
    for low, high in zip(DEGREES, (*DEGREES[1:], np.inf), strict=True):
        name = f"{low} or more neighbours" if high == np.inf else f"{low} to {int(high) - 1} neighbours"
        found[name] = (degree >= low) & (degree < high)
    found |= {
        "no labelled neighbour": (degree > 0) & (labelled == 0),
        "labelled neighbours mostly of its class": (labelled > 0) & (2 * same > labelled),
        "labelled neighbours mostly of other classes": (labelled > 0) & (2 * same <= labelled),
    }
    return [
        NodeGroup(name, int(own.sum()), share := float(right[own].mean()), share_interval(share, int(own.sum())))
        for name, own in found.items()
        if own.any()
    ]


def _ratios(above: NDArray[np.int64], below: NDArray[np.int64]) -> list[float | None]:
    return [float(a / b) if b else None for a, b in zip(above, below, strict=True)]


def _scores(
    graph: Graph, model: str, found: CrossValidation, metric: str, ours: CrossValidation | None = None
) -> ModelScores:
    """Mean over splits with its 95% interval over nodes, within 0 and 1, and how far our model is ahead."""
    mean, known = found.mean, _influences(graph, found, metric)
    if metric == "accuracy":
        interval = _wilson(graph, found)
    else:
        error = _standard_error(known)
        least = -np.inf if metric in NUMBER_METRICS else 0.0
        interval = (max(mean - REACH * error, least), min(mean + REACH * error, 1.0)) if error else (NAN, NAN)
    ahead = None
    if ours is not None:
        error = _standard_error([a - b for a, b in zip(_influences(graph, ours, metric), known, strict=True)])
        difference = ours.mean - mean
        ahead = (difference, difference - REACH * error, difference + REACH * error)
        if metric not in NUMBER_METRICS:
            ahead = (difference, max(ahead[1], -1.0), min(ahead[2], 1.0))
    return ModelScores(model, found.scores.tolist(), mean, interval, float(found.seconds.sum()), ahead)


def _influences(graph: Graph, found: CrossValidation, metric: str) -> list[NDArray[np.float64]]:
    """How much each node moves the score of its split."""
    return [
        influence(metric, shares, graph.truth[nodes])
        for nodes, shares in zip(found.test, found.probabilities, strict=True)
    ]


def _standard_error(influences: Sequence[NDArray[np.float64]]) -> float:
    """Of the mean over splits, whose nodes are different ones."""
    return float(np.sqrt(sum((part**2).sum() / len(part) ** 2 for part in influences)) / len(influences))


def _wilson(graph: Graph, found: CrossValidation) -> tuple[float, float]:
    """Wilson's 95% interval of the accuracy on the held-out nodes, each counted once."""
    nodes = np.concatenate(list(found.test))
    right = np.concatenate(list(found.probabilities)).argmax(axis=1) == graph.labels[nodes]
    return share_interval(float(right.mean()), len(np.unique(nodes)))


def graph_warnings(graph: Graph, *, left_out: Mapping[str, str] | None = None, aim: bool = False) -> list[str]:
    """Warnings about a graph's labels, edges and features; left out are columns, ``aim`` tells a chosen metric."""
    return [*_label_warnings(graph, aim), *_edge_warnings(graph), *_feature_warnings(graph, left_out or {})]


def _label_warnings(graph: Graph, aim: bool) -> list[str]:
    if graph.targets is not None:
        return []
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
            f"Check the recall of each class{'.' if aim else ', and see the options metric and threshold.'}"
        )
    return found


def _edge_warnings(graph: Graph) -> list[str]:
    if graph.edges == 0:
        return ["The graph has no edges: only the features are used."]
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
