"""A model and its rivals on the same folds, within the time there is."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from newtonnet.estimator import CrossValidation, NewtonNetClassifier, cross_validate, fold_pairs
from newtonnet.graphs import Graph

Pair = tuple[NDArray[np.int64], NDArray[np.int64]]
Step = Callable[[str], Callable[[str, float, float], None]]
"""From what is being done to what is told how far it is."""

FOLDS = 5
"""Parts of the labels that are held out in turn, where there are as many labels."""
GIVEN = 0.9
"""Share of the time left that fits get; the rest is for the page."""
LEAST = 0.2
"""Share of a fit's time that is left to it, however long what comes before and after training takes."""

WORTH = 2
"""Times its overhead that a fit should have; rather than less, there are fewer folds."""
FEWEST = 2
"""Folds that are tried in any case: one alone says nothing about differences."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What the folds that came to their end say, and what was left out."""

    ours: CrossValidation | None
    others: Mapping[str, CrossValidation]
    remarks: Sequence[str]


def hold_out(graph: Graph, folds: int | None, seed: int) -> list[Pair]:
    """Labelled nodes to train on and to judge by, for each fold; none for 0 folds."""
    labelled = len(graph.labelled)
    count = min(FOLDS, labelled) if folds is None else folds
    if count != 0 and not 2 <= count <= labelled:
        raise ValueError(f"--folds must be 0, or between 2 and the {labelled} labelled nodes, got {count}")
    return fold_pairs(graph, count, seed=seed) if count else []


def judge_models(
    classifier: NewtonNetClassifier,
    graph: Graph,
    pairs: Sequence[Pair],
    rivals: Sequence[NewtonNetClassifier],
    *,
    deadline: float,
    overhead: float = 0.0,
    stop: Callable[[], bool],
    step: Step,
) -> Judged:
    """Cross-validate a model and its rivals, fold by fold: whatever time there is, they can be compared.

    Every fit has an equal part of the time that is left, the same for all models on a fold; what one does not use is
    passed on to the next fold. A fold counts only where all models came to its end, Ctrl-C or not; a rival without any
    is left out. Where fits take longer than they were told to, later ones are told to take less, and if that would be
    next to nothing there are fewer folds.

    Args:
        classifier: the model; it is not changed.
        graph: the graph with its labels.
        pairs: training and test nodes of each fold.
        rivals: other models.
        deadline: when to be done, by the monotonic clock.
        overhead: seconds by which a fit is expected to exceed the time it is given, until the first ones show it.
        stop: whether somebody asked to stop.
        step: hears how far it is.
    """
    if not pairs:
        return Judged(None, {}, [])
    done: dict[str, list[CrossValidation]] = {one.model: [] for one in (classifier, *rivals)}
    refused: dict[str, str] = {}
    seen: list[float] = []
    for number, pair in enumerate(pairs):
        models = [one for one in (classifier, *rivals) if one.model not in refused]
        left = deadline - time.monotonic()
        beyond = max(seen, default=overhead)
        more = min(len(pairs) - number, max(_affordable(left, beyond * len(models)), FEWEST - number))
        # A fold that cannot come to its end would count for nothing.
        if stop() or left <= 0 or more <= 0 or (number and left < beyond * len(models)):
            break
        part = GIVEN * left / (len(models) * more)
        budget = max(part - beyond, LEAST * part)
        for one in models:
            began = time.monotonic()
            if stop() or began >= deadline:
                break
            try:
                tell = step(f"{one.model}, fold {number + 1} of {len(pairs)}")
                found = _fold(one, graph, pair, budget, stop, tell)
            except ValueError as reason:
                if one is classifier:
                    return Judged(
                        None, {}, [f"There is no cross-validation, for which more nodes have to be labelled: {reason}."]
                    )
                refused[one.model] = str(reason)
                continue
            done[one.model] += [] if found is None else [found]
            seen.append(max(time.monotonic() - began - budget, 0.0))
    return _judged(classifier.model, done, refused, folds=len(pairs), why=_why(stop))


def _affordable(left: float, overhead: float) -> int:
    """Folds for which there is time; models that could hardly train would be judged by what they are not.

    >>> _affordable(100.0, 9.0), _affordable(100.0, 90.0)
    (5, 0)
    """
    return int(GIVEN * left / max(WORTH * overhead, 1e-9))


def _judged(
    model: str, done: Mapping[str, Sequence[CrossValidation]], refused: Mapping[str, str], *, folds: int, why: str
) -> Judged:
    """The folds that all have, and why there are no more."""
    compared = {name: rows for name, rows in done.items() if name == model or (rows and name not in refused)}
    common = min(len(rows) for rows in compared.values())
    if common == 0:
        return Judged(None, {}, [f"There is no cross-validation: {why}."])
    joined = {name: _joined(rows[:common]) for name, rows in compared.items()}
    remarks = [f"The scores are those of {common} of {folds} folds: {why}."] if common < folds else []
    missing = {name: refused.get(name, why) for name in done if name not in compared}
    remarks += [f"There is no comparison with {name}: {reason}." for name, reason in missing.items()]
    return Judged(joined.pop(model), joined, remarks)


def _why(stop: Callable[[], bool]) -> str:
    return "it was stopped" if stop() else "there was no time left"


def _fold(
    classifier: NewtonNetClassifier,
    graph: Graph,
    pair: Pair,
    budget: float,
    stop: Callable[[], bool],
    tell: Callable[[str, float, float], None],
) -> CrossValidation | None:
    """One fold within a time; None where Ctrl-C cut it short."""
    one = clone(classifier).set_params(time_limit=budget)
    found = cross_validate(one, graph, [pair], stop=stop, progress=lambda _: tell)
    return None if stop() and not found.estimators[0].complete_ else found


def _joined(folds: Sequence[CrossValidation]) -> CrossValidation:
    return CrossValidation(
        scores=np.concatenate([fold.scores for fold in folds]),
        seconds=np.concatenate([fold.seconds for fold in folds]),
        estimators=[one for fold in folds for one in fold.estimators],
        test=[nodes for fold in folds for nodes in fold.test],
        probabilities=[shares for fold in folds for shares in fold.probabilities],
    )
