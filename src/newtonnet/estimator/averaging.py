"""Which settings to average: those whose average predicts the labels held back best."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .scoring import Shares, likelihood, score

ROUNDS = 8
"""Times that a setting is added to the average, at most."""


def average(held: Mapping[int, Shares], truth: NDArray[np.int64], *, metric: str) -> tuple[dict[int, float], Shares]:
    """Weights of the settings, and their average's probabilities.

    One setting after another is added, with repetition, as long as the average gains: by score, and by likelihood where
    scores are equal.

    Args:
        held: for each setting probabilities of the same nodes ``(v, C)``, by members that had not seen their labels.
        truth: the nodes' classes, ``(v,)``.
        metric: what to gain in.

    References:
        Caruana, Niculescu-Mizil, Crew, Ksikes, Ensemble Selection from Libraries of Models, 2004.
    """
    picked: list[int] = []
    total = np.zeros_like(next(iter(held.values())))
    reached = (-1.0, -np.inf)
    for _ in range(ROUNDS):
        means = {place: (total + shares) / (len(picked) + 1) for place, shares in held.items()}
        gains = {place: (score(metric, mean, truth), likelihood(mean, truth)) for place, mean in means.items()}
        place = max(gains, key=lambda candidate: gains[candidate])
        if gains[place] <= reached:
            break
        picked.append(place)
        total, reached = total + held[place], gains[place]
    return {place: picked.count(place) / len(picked) for place in dict.fromkeys(picked)}, total / len(picked)
