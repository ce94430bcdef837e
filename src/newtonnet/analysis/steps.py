"""The steps of an analysis: their names, and their progress for the caller and for a progress bar."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from newtonnet.progress import Draw
from newtonnet.report import percent
from newtonnet.training import OnEpoch, Progress


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
