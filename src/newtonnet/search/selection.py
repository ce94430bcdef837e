"""Which setting is reported: two ways to select by validation scores from the same trials."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .trials import Trial


@dataclass(frozen=True)
class Selection:
    """The selected trial of each split and its scores; None where it failed or the split has no test nodes."""

    trials: tuple[int, ...]
    validation: tuple[float | None, ...]
    test: tuple[float | None, ...]

    @property
    def mean(self) -> float | None:
        """Mean test score over the splits that have one."""
        known = [score for score in self.test if score is not None]
        return float(np.mean(known)) if known else None

    @property
    def std(self) -> float | None:
        """Standard deviation of the test score, with ddof 0 as in the paper."""
        known = [score for score in self.test if score is not None]
        return float(np.std(known)) if known else None

    def score(self, digits: int = 2) -> str:
        """Mean ± standard deviation in percent, as text."""
        if self.mean is None or self.std is None:
            return "none"
        return f"{100 * self.mean:.{digits}f} ± {100 * self.std:.{digits}f}"


def best_trial(trials: Sequence[Trial]) -> Trial:
    """The complete trial with the best mean validation score over the splits; the earliest of equal ones."""
    # Rounded: means of the same scores in another order differ in the last digit.
    return min(_complete(trials), key=lambda trial: (-round(trial.objective, 12), trial.number))


def paper_selection(trials: Sequence[Trial]) -> Selection:
    """One setting for all splits, the one with the best mean validation score, as in the paper.

    Its test score is slightly optimistic, because a split's test nodes are validation nodes of other splits.
    """
    best = best_trial(trials)
    return Selection((best.number,) * len(best.test), best.validation, best.test)


def nested_selection(trials: Sequence[Trial]) -> Selection:
    """For each split the setting that is best on that split's own validation nodes; the earliest of equal ones."""
    order = sorted(_complete(trials), key=lambda trial: trial.number)
    scores = np.array([trial.validation for trial in order], dtype=np.float64)  # NaN where a trial failed
    chosen = [order[i] for i in np.where(np.isnan(scores), -np.inf, scores).argmax(axis=0)]
    return Selection(
        tuple(trial.number for trial in chosen),
        tuple(trial.validation[split] for split, trial in enumerate(chosen)),
        tuple(trial.test[split] for split, trial in enumerate(chosen)),
    )


def _complete(trials: Sequence[Trial]) -> list[Trial]:
    """Without those that halving dropped; an error if there are no others."""
    complete = [trial for trial in trials if not trial.dropped]
    if not complete:
        raise ValueError("there are no complete trials to select from")
    return complete


SELECTIONS = {"paper": paper_selection, "nested": nested_selection}
"""Selections by the names used in commands and tables."""
