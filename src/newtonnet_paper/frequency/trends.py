"""Stored scores of the frequency study as importances over homophily: one trend for each size and length."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from newtonnet_paper.results import Line

from .bands import candidate_filters, importances

Array = NDArray[np.float64]

MASKS = {"quick": 1, "paper": 5}
EPOCHS = {"quick": 300, "paper": 1200}
"""Of each profile."""
NODES = 800
HOMOPHILIES = tuple(round(0.05 * i, 2) for i in range(21))
"""Of a request that names none."""


@dataclass(frozen=True, eq=False)
class Trend:
    """One size of graph: importances of the low, middle and high band over homophily."""

    nodes: int
    features: int
    epochs: int
    masks: int
    homophily: Array
    importance: Array
    """Shape ``(m, 3)``."""
    alone: Array
    """Of each mask alone, ``(m, masks, 3)``."""
    best: Array
    """Mean ROC-AUC of the best filter, ``(m,)``."""

    @property
    def title(self) -> str:
        """What was measured, in a few words."""
        return f"{self.size} ({self.protocol})"

    @property
    def size(self) -> str:
        """Of its graphs."""
        return f"{self.nodes} nodes, {self.features} features"

    @property
    def protocol(self) -> str:
        """How often and how long each filter was trained."""
        return f"{self.masks} mask{'s' * (self.masks > 1)}, {self.epochs} epochs"

    @property
    def spread(self) -> Array:
        """Standard deviation over masks of the importances of each mask alone, ``(m, 3)``."""
        return np.asarray(self.alone.std(axis=1))

    @property
    def command(self) -> str:
        """What measures it."""
        profile = next((name for name, epochs in EPOCHS.items() if epochs == self.epochs), "paper")
        words = [f"newtonnet reproduce frequency --profile {profile}"]
        words += [f"--nodes {self.nodes}"] * (self.nodes != NODES)
        words += [f"--features {self.features}"] * (self.features != self.nodes)
        if tuple(self.homophily.tolist()) != HOMOPHILIES:
            words.append("--homophilies " + ",".join(f"{h:g}" for h in self.homophily))
        return " ".join(words)

    def rank_correlation(self, band: int) -> float:
        """Spearman's rank correlation of a band's importance with homophily; 0 where it does not vary."""
        return self._ranks(band)[0]

    def chance(self, band: int) -> float:
        """How often ranks without any order would have that correlation or a larger one, of either sign."""
        return self._ranks(band)[1]

    def _ranks(self, band: int) -> tuple[float, float]:
        values = self.importance[:, band]
        if len(values) < 3 or np.ptp(values) == 0:
            return 0.0, 1.0
        found = spearmanr(self.homophily, values)
        return round(float(found.statistic), 4), float(found.pvalue)


def trends(lines: Sequence[Line]) -> list[Trend]:
    """One for each size of graphs and number of epochs, the shorter first."""
    filters = candidate_filters()
    groups: dict[tuple[int, int, int], dict[float, dict[int, Array]]] = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        key = line["key"]
        size = (key["nodes"], key["features"], key["epochs"])
        groups[size][key["homophily"]][key["mask"]] = np.array(line["test"])
    found = []
    for (nodes, features, epochs), by_homophily in sorted(groups.items()):
        # Graphs are compared on equal terms: a further mask waits until every homophily has it.
        masks = min(len(scores) for scores in by_homophily.values())
        complete = {h: [scores[mask] for mask in sorted(scores)[:masks]] for h, scores in sorted(by_homophily.items())}
        means = [np.mean(scores, axis=0) for scores in complete.values()]
        alone = [[importances(score, filters) for score in scores] for scores in complete.values()]
        found.append(
            Trend(
                nodes,
                features,
                epochs,
                masks,
                homophily=np.array(list(complete)),
                importance=np.array([importances(mean, filters) for mean in means]),
                alone=np.array(alone),
                best=np.array([mean.max() for mean in means]),
            )
        )
    return found


def crossing(homophily: Array, low: Array, high: Array) -> float | None:
    """The homophily that best parts the graphs where high outweighs low from those where low outweighs high.

    With noise the curves may cross several times; the place with the fewest graphs on the wrong side is taken, and the
    middle one of several. None where every graph is on one side.

    >>> crossing(np.array([0.0, 0.2, 0.4, 0.6]), np.array([0.0, 0.1, 0.9, 1.0]), np.array([1.0, 0.9, 0.2, 0.0]))
    0.3
    """
    sign = np.sign(low - high)
    wrong = [int((sign[:k] > 0).sum() + (sign[k:] < 0).sum()) for k in range(len(sign) + 1)]
    places = [k for k, count in enumerate(wrong) if count == min(wrong)]
    k = places[len(places) // 2]
    return None if k in (0, len(sign)) else round(float(homophily[k - 1] + homophily[k]) / 2, 4)
