"""The steps of an analysis: their names, their progress for the caller and for a progress bar, and their memory."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from newtonnet.estimator import GraphEstimator, TriedSetting, state_memory
from newtonnet.graphs import Graph
from newtonnet.memory import peak_memory, resident_memory
from newtonnet.progress import Draw
from newtonnet.report import duration, metric_name, percent, spectrum_bytes
from newtonnet.training import OnEpoch, Progress

from .explaining import explained_bytes


@dataclass(frozen=True)
class AnalysisProgress:
    """How far an analysis is.

    Attributes:
        step: the current step, such as ``the model`` or ``gcn, fold 2 of 5``.
        activity: what the step is doing; empty when it starts.
        share: the finished share of the step, between 0 and 1.
        best: best validation score so far; NaN when the step starts.
        left: seconds until the time limit.
    """

    step: str
    activity: str
    share: float
    best: float
    left: float


Show = Callable[[AnalysisProgress], None]
StartStep = Callable[[str], OnEpoch]
"""Announces a step by its name and returns the function that reports its progress."""


def make_show(draw: Draw, on_epoch: Show | None) -> Show:
    """A function that draws the bar and tells the caller."""

    def show(state: AnalysisProgress) -> None:
        left = f"{int(state.left) // 60}:{int(state.left) % 60:02d} left"
        doing = f"{state.step}: {state.activity}" if state.activity else state.step
        draw(doing, state.share, f"best {percent(state.best)}, {left}" if state.activity else left)
        if on_epoch is not None:
            on_epoch(state)

    return show


def make_steps(show: Show, say: Callable[[str], None], deadline: float, opening: list[str]) -> StartStep:
    """Announce steps; the opening lines are said once training has begun, so that an error before that stands alone."""

    def start(step: str) -> OnEpoch:
        def report(state: Progress) -> None:
            while state.step and opening:
                say(opening.pop(0))
            left = max(deadline - time.monotonic(), 0.0)
            show(AnalysisProgress(step, state.step, state.share, state.best, left))

        report(Progress(0, 0, 0, math.nan, share=0.0))
        return report

    return start


def first_predictions(say: Callable[[str], None], started: float, metric: str) -> Callable[[TriedSetting], None]:
    """Say once how soon a first setting could predict, and how well it predicts nodes that it was not trained on."""
    said = False

    def report(tried: TriedSetting) -> None:
        nonlocal said
        if not said:
            seconds = duration(time.monotonic() - started)
            score = f"{metric_name(metric)} {percent(tried.validation)} out of sample"
            say(f"first predictions after {seconds}: {tried.model}, {score}")
        said = True

    return report


def room_left(classifier: GraphEstimator, usual: int | None) -> int | None:
    """What is left of the memory that is allowed, or the usual amount without a limit."""
    return usual if classifier.limit is None else max(classifier.limit - resident_memory(), 1)


def memory_line(
    classifier: GraphEstimator, rivals: Sequence[GraphEstimator], graph: Graph, before: int, *, validation: bool
) -> str:
    """The line about the peak of the run; an error if it cannot stay within the limit."""
    reached, limit = peak_memory(), classifier.limit
    reached = reached if reached > before else 0
    needs = [classifier.fit_memory(graph, validation=validation, reached=reached)]
    for rival in rivals:
        with suppress(ValueError):  # one that does not fit is left out, and the page says so
            needs.append(rival.fit_memory(graph, validation=validation))
    page = explained_bytes(graph) + (0 if limit is not None else spectrum_bytes(graph))
    return state_memory(needs, resident=resident_memory(), reached=reached, page=page, limit=limit)
