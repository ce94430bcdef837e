"""Held-out scores of a model and its rivals: by the kept model itself, or by fits on other folds, in time."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from newtonnet.estimator import CrossValidation, GraphEstimator, cross_validate, fold_pairs, score
from newtonnet.graphs import Graph
from newtonnet.meaning import counted
from newtonnet.metrics import Truth
from newtonnet.tables import Reading

from .steps import StartStep

Pair = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Training and test nodes of a fold."""

FOLDS = 5
"""Default number of folds; fewer if there are fewer labels."""
FEW = 10
"""With fewer labelled nodes a score says nothing; there is one only if folds or test nodes are asked for."""
GIVEN = 0.9
"""Share of the remaining time that fits receive; the rest is for the page."""
LEAST = 0.2
"""Smallest share of its time slice that a fit receives, however large the overhead is."""
WORTH = 2
"""A fit should have at least this multiple of its overhead; otherwise fewer folds are run."""
FEWEST = 2
"""Folds that are always attempted: one fold alone gives no differences."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of held-out nodes by all models, how they were held out, and warnings about what was skipped."""

    ours: CrossValidation | None
    others: Mapping[str, CrossValidation]
    warnings: Sequence[str]
    method: str = ""


def fitted_parts(reading: Reading) -> tuple[Graph, NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """The graph with the labels to fit on, and its validation and test nodes, None without a column that names them."""
    graph, parts = reading.graph, reading.parts
    if parts is None:
        return graph, None, None
    known = {name: nodes[graph.labels[nodes] >= 0] for name, nodes in parts.items()}
    fitted = np.full(graph.nodes, -1, dtype=np.int64)
    for name in ("train", "validation"):
        fitted[known[name]] = graph.labels[known[name]]
    validation, test = (known[name] if len(known[name]) else None for name in ("validation", "test"))
    return graph.relabelled(fitted), validation, test


@dataclass(frozen=True, eq=False)
class Nodes:
    """Which nodes can be held out to evaluate a model.

    Attributes:
        pairs: training and test nodes of every fold; empty for no evaluation by folds.
        validation: the caller's validation nodes, if there are any.
        test: the caller's test nodes, whose labels the fit did not have, if there are any.
        truth: classes, or numbers, of all nodes, shape ``(n,)``.
        refit: fit again on the folds even if there is little time for it.
    """

    pairs: Sequence[Pair]
    validation: NDArray[np.int64] | None
    test: NDArray[np.int64] | None
    truth: Truth
    refit: bool


def evaluate(
    classifier: GraphEstimator,
    graph: Graph,
    rivals: Sequence[GraphEstimator],
    nodes: Nodes,
    *,
    spent: float,
    overhead: float,
    deadline: float,
    stop: Callable[[], bool],
    start_step: StartStep,
) -> HeldOut:
    """Evaluate the kept model itself on the caller's nodes, or where there is no time to fit again on folds."""
    own, labelled = nodes.validation is not None or nodes.test is not None, len(graph.labelled)
    if labelled < FEW and not own and not nodes.refit:
        return HeldOut(None, {}, [f"Evaluation skipped: {counted(labelled, 'labelled node')}, too few for a score."])
    enough = can_refit(spent, deadline - time.monotonic(), 1 + len(rivals), len(nodes.pairs))
    if own or (nodes.pairs and not nodes.refit and not enough):
        return evaluate_kept(
            classifier, graph, rivals, nodes, seconds=spent, deadline=deadline, stop=stop, start_step=start_step
        )
    return evaluate_models(
        classifier, graph, nodes.pairs, rivals, deadline=deadline, overhead=overhead, stop=stop, start_step=start_step
    )


def can_refit(spent: float, left: float, models: int, folds: int) -> bool:
    """Whether every model can be fitted on every fold with at least half of the time that the kept one took."""
    return folds > 0 and GIVEN * left / (models * folds) >= spent / 2


def evaluate_kept(
    classifier: GraphEstimator,
    graph: Graph,
    rivals: Sequence[GraphEstimator],
    held: Nodes,
    *,
    seconds: float,
    deadline: float,
    stop: Callable[[], bool],
    start_step: StartStep,
) -> HeldOut:
    """Evaluate the kept model itself, and rivals fitted once each, in equal parts of the time that is left.

    Args:
        classifier: the fitted model.
        graph: the graph with the labels of the fit.
        rivals: models to compare with.
        held: nodes to evaluate on: test nodes if there are any, otherwise labelled nodes, predicted out of fold by
            those members of the model that were not trained on them; the folds of a rival are the same.
        seconds: time that the fit took.
        deadline: a time on the monotonic clock.
        stop: asks to stop.
        start_step: announces a step.
    """
    validation, test, truth = held.validation, held.test, held.truth

    def predictions(one: GraphEstimator, seconds: float) -> CrossValidation:
        nodes, shares = one.out_of_fold_.nodes, one.out_of_fold_.probabilities
        if test is not None:
            nodes, shares = [test], [one.answers(graph)[test]]
        scores = [score(one.metric, part, truth[own]) for own, part in zip(nodes, shares, strict=True)]
        return CrossValidation(np.array(scores), np.array([seconds]), [one], nodes, shares)

    ours, others, refused = predictions(classifier, seconds), dict[str, CrossValidation](), dict[str, str]()
    for number, rival in enumerate(rivals):
        began = time.monotonic()
        limit = GIVEN * (deadline - began) / (len(rivals) - number)
        if stop() or limit <= 0:
            refused[rival.model] = "the run was stopped" if stop() else "the time limit was reached"
            continue
        try:
            fitted = rival.set_params(time_limit=limit).fit(
                graph, validation=validation, stop=stop, on_epoch=start_step(rival.model)
            )
        except ValueError as reason:
            refused[rival.model] = str(reason)
            continue
        if stop() and not fitted.complete_:
            refused[rival.model] = "the run was stopped"
            continue
        others[rival.model] = predictions(fitted, time.monotonic() - began)
    common, whole = _keys(ours), len(ours.test)
    for name, one in list(others.items()):  # of folds that not all had time for, none counts
        if shared := [key for key in common if key in _keys(one)]:
            common = shared
        else:
            del others[name]
            refused[name] = "it had no time for the folds of the others"
    warnings = [f"Comparison with {name} skipped: {reason}." for name, reason in refused.items()]
    if len(common) < whole:
        warnings.append(f"The scores are from {len(common)} of {whole} folds: the time limit was reached.")
    warnings += _hurried(others)
    rows = {name: _take(one, common) for name, one in {"": ours, **others}.items()}
    shown = rows.pop("")
    count = sum(len(part) for part in shown.test)
    return HeldOut(shown, rows, warnings, _method(count, len(graph.labelled), test=test, validation=validation))


def _method(count: int, labelled: int, *, test: NDArray[np.int64] | None, validation: NDArray[np.int64] | None) -> str:
    """How the kept model was evaluated on ``count`` nodes, in a sentence."""
    if test is not None:
        return f"The kept model was evaluated on the {counted(count, 'test node')}, whose labels it has not seen."
    if validation is not None:
        return (
            f"The kept model was evaluated on the {counted(count, 'validation node')}; they chose its settings, so "
            "this is slightly optimistic."
        )
    predicted = f"Each of {counted(count, 'labelled node')} was predicted by the"
    if count < labelled:
        predicted = f"Of {counted(labelled, 'labelled node')}, {count:,} were predicted, each by those"
    return (
        f"{predicted} members of the kept model that were not trained on it; they stopped training where they "
        "predicted such nodes best, so this is slightly optimistic."
    )


def _hurried(others: Mapping[str, CrossValidation]) -> list[str]:
    """A warning for every rival that had no time to try a second setting."""
    short = [
        name for name, one in others.items() if any(not fit.complete_ and fit.tried_ < 2 for fit in one.estimators)
    ]
    return [f"{name} had time for a single setting, so its score may be too low." for name in short]


def _keys(found: CrossValidation) -> list[bytes]:
    """What tells the folds apart: their nodes."""
    return [nodes.tobytes() for nodes in found.test]


def _take(found: CrossValidation, keys: Sequence[bytes]) -> CrossValidation:
    """The folds with these keys, in this order."""
    places = [_keys(found).index(key) for key in keys]
    return replace(
        found,
        scores=found.scores[places],
        test=[found.test[place] for place in places],
        probabilities=[found.probabilities[place] for place in places],
    )


def held_out_folds(graph: Graph, folds: int | None, seed: int) -> list[Pair]:
    """Training and test nodes of every fold; None chooses :data:`FOLDS`, or the number of labels if that is smaller."""
    labelled = len(graph.labelled)
    count = min(FOLDS, labelled) if folds is None else folds
    if count != 0 and not 2 <= count <= labelled:
        raise ValueError(f"folds must be 0, or between 2 and the {labelled} labelled nodes, got {count}")
    return fold_pairs(graph, count, seed=seed) if count else []


def evaluate_models(
    classifier: GraphEstimator,
    graph: Graph,
    pairs: Sequence[Pair],
    rivals: Sequence[GraphEstimator],
    *,
    deadline: float,
    overhead: float = 0.0,
    stop: Callable[[], bool],
    start_step: StartStep,
) -> HeldOut:
    """Cross-validate a model and its rivals fold by fold, so that they can be compared whenever the time runs out.

    All models receive the same time on a fold, an equal part of the time that is left; unused time passes to the next
    fold. A fold counts only if all models finished it; a rival that finished none is left out. If fits exceed their
    time, by ``overhead`` until the first fits show it, later ones receive less; if too little would remain for a fit,
    fewer folds are run. ``deadline`` is a time on the monotonic clock.
    """
    if not pairs:
        return HeldOut(None, {}, [])
    done: dict[str, list[CrossValidation]] = {one.model: [] for one in (classifier, *rivals)}
    refused: dict[str, str] = {}
    excess: list[float] = []

    for number, pair in enumerate(pairs):
        models = [one for one in (classifier, *rivals) if one.model not in refused]
        left = deadline - time.monotonic()
        beyond = max(excess, default=overhead)
        affordable = int(GIVEN * left / max(WORTH * beyond * len(models), 1e-9))
        more = min(len(pairs) - number, max(affordable, FEWEST - number))
        # A fold that cannot be finished would not count.
        if stop() or left <= 0 or more <= 0 or (number and left < beyond * len(models)):
            break
        part = GIVEN * left / (len(models) * more)
        limit = max(part - beyond, LEAST * part)
        for one in models:
            began = time.monotonic()
            if stop() or began >= deadline:
                break
            limited = clone(one).set_params(time_limit=limit)
            report = start_step(f"{one.model}, fold {number + 1} of {len(pairs)}")
            try:
                found = cross_validate(limited, graph, [pair], stop=stop, on_epoch=report)
            except ValueError as reason:
                if one is classifier:
                    return HeldOut(None, {}, [f"Cross-validation skipped: too few labelled nodes ({reason})."])
                refused[one.model] = str(reason)
                continue
            if not stop() or found.estimators[0].complete_:  # else Ctrl-C cut it short
                done[one.model].append(found)
            excess.append(max(time.monotonic() - began - limit, 0.0))
    why = "the run was stopped" if stop() else "the time limit was reached"
    return _common_folds(classifier.model, done, refused, folds=len(pairs), why=why)


def _common_folds(
    model: str, done: Mapping[str, Sequence[CrossValidation]], refused: Mapping[str, str], *, folds: int, why: str
) -> HeldOut:
    """Keep the folds that all models finished, and say why there are no more."""
    compared = {name: rows for name, rows in done.items() if name == model or (rows and name not in refused)}
    common = min(len(rows) for rows in compared.values())
    if common == 0:
        return HeldOut(None, {}, [f"Cross-validation skipped: {why}."])
    joined = {name: _join(rows[:common]) for name, rows in compared.items()}
    warnings = [f"The scores are from {common} of {folds} folds: {why}."] if common < folds else []
    missing = {name: refused.get(name, why) for name in done if name not in compared}
    warnings += [f"Comparison with {name} skipped: {reason}." for name, reason in missing.items()]
    warnings += _hurried({name: one for name, one in joined.items() if name != model})
    method = f"For each of {counted(common, 'fold')}, the model was fitted again without its nodes."
    return HeldOut(joined.pop(model), joined, warnings, method)


def _join(folds: Sequence[CrossValidation]) -> CrossValidation:
    return CrossValidation(
        scores=np.concatenate([fold.scores for fold in folds]),
        seconds=np.concatenate([fold.seconds for fold in folds]),
        estimators=[one for fold in folds for one in fold.estimators],
        test=[nodes for fold in folds for nodes in fold.test],
        probabilities=[shares for fold in folds for shares in fold.probabilities],
    )
