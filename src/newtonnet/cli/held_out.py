"""A model and its rivals on the same folds, within the time there is."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from newtonnet.estimator import CrossValidation, NewtonNetClassifier, cross_validate
from newtonnet.graphs import Graph

Pair = tuple[NDArray[np.int64], NDArray[np.int64]]
Step = Callable[[str], Callable[[str, float, float], None]]
"""From what is being done to what is told how far it is."""

GIVEN = 0.9
"""Share of the time left that fits get; the rest is for the page."""
LEAST = 0.2
"""Share of a fit's time that is left to it, however long what comes before and after training takes."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What the folds that came to their end say, and what was left out."""

    ours: CrossValidation | None
    others: Mapping[str, CrossValidation]
    remarks: Sequence[str]


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
    """Cross-validate a model, then its rivals; each of them gets the time that the model had on that fold.

    Every fit has an equal part of the time that is left, so what one does not use is passed on to those that follow; a
    rival's part is kept for it. A fold that was cut short by Ctrl-C does not count, nor does a rival that lacks one.
    Where earlier fits took longer than they were told to, later ones are told to take less.

    Args:
        classifier: the model; it is not changed.
        graph: the graph with its labels.
        pairs: training and test nodes of each fold.
        rivals: other models.
        deadline: when to be done, by the monotonic clock.
        overhead: seconds by which a fit is expected to exceed the time it is given.
        stop: whether somebody asked to stop.
        step: hears how far it is.
    """
    if not pairs:
        return Judged(None, {}, [])
    budgets: list[float] = []
    found: list[CrossValidation] = []
    fits = len(pairs) * (1 + len(rivals))
    try:
        for number, pair in enumerate(pairs):
            began = time.monotonic()
            if stop() or began >= deadline:
                break
            part = GIVEN * (deadline - began) / (fits - number)
            budgets.append(max(part - overhead, LEAST * part))
            tell = step(f"{classifier.model}, fold {number + 1} of {len(pairs)}")
            one = _fold(classifier, graph, pair, budgets[-1], stop, tell)
            found += [] if one is None else [one]
            overhead = max(overhead, time.monotonic() - began - budgets[-1])
    except ValueError as reason:
        return Judged(None, {}, [f"There is no cross-validation: {reason}."])
    if not found:
        return Judged(None, {}, [f"There is no cross-validation: {_why(stop)}."])
    remarks = []
    if len(found) < len(pairs):
        remarks.append(f"The scores are those of {len(found)} of {len(pairs)} folds: {_why(stop)}.")
    others = {}
    for rival in rivals:
        try:
            rows = []
            for number, (pair, budget) in enumerate(zip(pairs[: len(found)], budgets, strict=False)):
                tell = step(f"{rival.model}, fold {number + 1} of {len(found)}")
                over = stop() or time.monotonic() >= deadline
                one = None if over else _fold(rival, graph, pair, budget, stop, tell)
                rows += [] if one is None else [one]
        except ValueError as reason:
            remarks.append(f"There is no comparison with {rival.model}: {reason}.")
            continue
        if len(rows) == len(found):
            others[rival.model] = _joined(rows)
        else:
            remarks.append(f"There is no comparison with {rival.model}: {_why(stop)}.")
    return Judged(_joined(found), others, remarks)


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
    one = clone(classifier).set_params(time_budget=budget)
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
