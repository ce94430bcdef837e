"""Cross-validation of a model and its rivals on the same folds, within a time limit."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from newtonnet.estimator import CrossValidation, NewtonNetClassifier, cross_validate, fold_pairs
from newtonnet.graphs import Graph

Pair = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Training and test nodes of a fold."""
ReportProgress = Callable[[str, float, float], None]
"""Receives the current activity, the finished share of the step, and the best validation score so far."""
StartStep = Callable[[str], ReportProgress]
"""Announces a step by its name and returns the function that reports its progress."""

FOLDS = 5
"""Default number of folds; fewer if there are fewer labels."""
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
    """Cross-validations over the folds that all models finished, and warnings about what was skipped."""

    ours: CrossValidation | None
    others: Mapping[str, CrossValidation]
    warnings: Sequence[str]


def held_out_folds(graph: Graph, folds: int | None, seed: int) -> list[Pair]:
    """Training and test nodes of every fold; None chooses :data:`FOLDS`, or the number of labels if that is smaller."""
    labelled = len(graph.labelled)
    count = min(FOLDS, labelled) if folds is None else folds
    if count != 0 and not 2 <= count <= labelled:
        raise ValueError(f"folds must be 0, or between 2 and the {labelled} labelled nodes, got {count}")
    return fold_pairs(graph, count, seed=seed) if count else []


def evaluate_models(
    classifier: NewtonNetClassifier,
    graph: Graph,
    pairs: Sequence[Pair],
    rivals: Sequence[NewtonNetClassifier],
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

    def announce(model: str, _: int) -> ReportProgress:
        return start_step(f"{model}, fold {number + 1} of {len(pairs)}")

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
            try:
                found = cross_validate(limited, graph, [pair], stop=stop, progress=partial(announce, one.model))
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
    return HeldOut(joined.pop(model), joined, warnings)


def _join(folds: Sequence[CrossValidation]) -> CrossValidation:
    return CrossValidation(
        scores=np.concatenate([fold.scores for fold in folds]),
        seconds=np.concatenate([fold.seconds for fold in folds]),
        estimators=[one for fold in folds for one in fold.estimators],
        test=[nodes for fold in folds for nodes in fold.test],
        probabilities=[shares for fold in folds for shares in fold.probabilities],
    )
