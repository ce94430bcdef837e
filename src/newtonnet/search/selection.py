"""Which setting is reported: two ways to choose by validation scores, both from the same trials."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .trial import Trial


@dataclass(frozen=True)
class Selection:
    """The chosen trial of each split and its test score there; None where it failed or the split has no test nodes."""

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
        """Its standard deviation, ddof 0 as in the paper."""
        known = [score for score in self.test if score is not None]
        return float(np.std(known)) if known else None

    def score(self, digits: int = 2) -> str:
        """Mean ± std in percent, for people."""
        if self.mean is None or self.std is None:
            return "none"
        return f"{100 * self.mean:.{digits}f} ± {100 * self.std:.{digits}f}"


def best_trial(trials: Sequence[Trial]) -> Trial:
    """The trial with the best mean validation score over the splits; of several the earliest."""
    if not trials:
        raise ValueError("there are no trials to choose from")
    # Means of the same scores in another order differ in the last digit.
    return min(trials, key=lambda trial: (-round(trial.objective, 12), trial.number))


def paper_selection(trials: Sequence[Trial]) -> Selection:
    """One setting for all splits, the one with the best mean validation score: the paper's way.

    A split's test nodes are validation nodes of other splits, so its score is a little too good.
    """
    best = best_trial(trials)
    return Selection((best.number,) * len(best.test), best.validation, best.test)


def nested_selection(trials: Sequence[Trial]) -> Selection:
    """For each split the setting that is best on this split's own validation nodes; of several the earliest."""
    if not trials:
        raise ValueError("there are no trials to choose from")

    def rank(trial: Trial, split: int) -> tuple[float, int]:
        score = trial.validation[split]
        return (np.inf if score is None else -score, trial.number)

    splits = range(len(trials[0].validation))
    chosen = [min(trials, key=lambda trial, split=split: rank(trial, split)) for split in splits]  # type: ignore[misc]
    return Selection(
        tuple(trial.number for trial in chosen),
        tuple(trial.validation[split] for split, trial in zip(splits, chosen, strict=True)),
        tuple(trial.test[split] for split, trial in zip(splits, chosen, strict=True)),
    )


SELECTIONS = {"paper": paper_selection, "nested": nested_selection}
"""By the names that commands and tables use."""
