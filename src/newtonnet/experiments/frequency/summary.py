"""What stored scores of the frequency study show: importances over homophily, their trend and their crossing."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from newtonnet.experiments.exhibit import (
    BANDS,
    FAILS,
    HOLDS,
    OPEN,
    PARTLY,
    Curves,
    Figure,
    Finding,
    Report,
    Series,
    Table,
)
from newtonnet.experiments.results import Line

from .bands import candidate_filters, importances

Array = NDArray[np.float64]
PIVOT = 0.5
"""1/C: the block model has two classes."""

FEWEST = 5
"""Homophilies that a trend needs."""


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
    spread: Array
    """Standard deviation over masks of the importances of each mask alone, ``(m, 3)``."""
    best: Array
    """Mean ROC-AUC of the best filter, ``(m,)``."""

    @property
    def title(self) -> str:
        """What was measured, in a few words."""
        masks = f"{self.masks} mask" + "s" * (self.masks > 1)
        return f"{self.nodes} nodes, {self.features} features ({masks}, {self.epochs} epochs)"


def summarise(lines: Sequence[Line]) -> Report:
    """Findings, importances and their curves for every size that was measured."""
    trends = _trends(lines)
    return Report(
        findings=tuple(finding for trend in trends for finding in _findings(trend, alone=len(trends) == 1))
        or (_nothing(),),
        tables=tuple(_table(trend) for trend in trends),
        figures=(Figure("importance", _CAPTION, tuple(_curves(trend) for trend in trends)),) if trends else (),
        data={
            trend.title: {
                "homophily": trend.homophily.tolist(),
                **{band: trend.importance[:, i].round(4).tolist() for i, band in enumerate(BANDS)},
                "rank_correlation": {"low": _correlation(trend, 0), "high": _correlation(trend, 2)},
                "crossing": crossing(trend.homophily, trend.importance[:, 0], trend.importance[:, 2]),
            }
            for trend in trends
        },
    )


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


def _trends(lines: Sequence[Line]) -> list[Trend]:
    filters = candidate_filters()
    groups: dict[tuple[int, int, int], dict[float, dict[int, Array]]] = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        key = line["key"]
        size = (key["nodes"], key["features"], key["epochs"])
        groups[size][key["homophily"]][key["mask"]] = np.array(line["test"])
    trends = []
    for (nodes, features, epochs), by_homophily in sorted(groups.items()):
        # Graphs are compared on equal terms: a homophily without all masks waits until they are there.
        masks = max(len(scores) for scores in by_homophily.values())
        complete = {h: list(scores.values()) for h, scores in sorted(by_homophily.items()) if len(scores) == masks}
        means = [np.mean(scores, axis=0) for scores in complete.values()]
        alone = [[importances(score, filters) for score in scores] for scores in complete.values()]
        trends.append(
            Trend(
                nodes,
                features,
                epochs,
                masks,
                homophily=np.array(list(complete)),
                importance=np.array([importances(mean, filters) for mean in means]),
                spread=np.std(alone, axis=1),
                best=np.array([mean.max() for mean in means]),
            )
        )
    return trends


def _findings(trend: Trend, *, alone: bool) -> list[Finding]:
    at = "" if alone else f", {trend.title}"
    low, middle, high = trend.importance.T
    claims = (
        "importance of low frequencies rises with h",
        "importance of high frequencies falls with h",
        "importance of middle frequencies peaks between",
        "low and high change places near 1/C",
    )
    published = ("rises (curve only)", "falls (curve only)", "rises, then falls", "around 0.5")
    if len(trend.homophily) < FEWEST:
        few = f"{len(trend.homophily)} of at least {FEWEST} homophilies{at}"
        return [Finding(claim, few, paper, OPEN) for claim, paper in zip(claims, published, strict=True)]
    rising, falling = _correlation(trend, 0), _correlation(trend, 2)
    peak = float(trend.homophily[int(middle.argmax())])
    ends = max(middle[0], middle[-1])
    place = crossing(trend.homophily, low, high)
    verdicts = (
        _trend_verdict(rising),
        _trend_verdict(-falling),
        HOLDS if 0 < peak < 1 and middle.max() > 1.1 * ends else FAILS,
        FAILS
        if place is None
        else HOLDS
        if abs(place - PIVOT) <= 0.1
        else PARTLY
        if abs(place - PIVOT) <= 0.2
        else FAILS,
    )
    ours = (
        f"rank correlation {rising:+.2f}{at}",
        f"rank correlation {falling:+.2f}{at}",
        f"largest at h = {peak:g} ({middle.max():.2f}; {middle[0]:.2f} and {middle[-1]:.2f} at the ends){at}",
        ("they do not" if place is None else f"at h = {place:g}") + at,
    )
    return [Finding(*row) for row in zip(claims, ours, published, verdicts, strict=True)]


def _trend_verdict(correlation: float) -> str:
    return HOLDS if correlation >= 0.7 else PARTLY if correlation >= 0.4 else FAILS


def _correlation(trend: Trend, band: int) -> float:
    """Spearman's rank correlation of a band's importance with homophily; 0 where it does not vary."""
    values = trend.importance[:, band]
    if len(values) < 3 or np.ptp(values) == 0:
        return 0.0
    return round(float(spearmanr(trend.homophily, values).statistic), 4)


def _table(trend: Trend) -> Table:
    rows = tuple(
        (round(float(h), 4), *(round(float(value), 2) for value in values), round(float(best), 4))
        for h, values, best in zip(trend.homophily, trend.importance, trend.best, strict=True)
    )
    return Table(
        f"Frequency importance: {trend.title}",
        ("h", "low", "middle", "high", "best ROC-AUC"),
        rows,
        (
            "Mean amplitude of the 11 best of 216 filters by test ROC-AUC, each at its best validation epoch "
            "(evaluated every 10), averaged over masks; h of 0 and 1 stands for 1e-5 and 1 - 1e-5.",
            "Loss: cross entropy of two classes (the released code: binary cross entropy on one-hot labels).",
        ),
    )


def _curves(trend: Trend) -> Curves:
    h = tuple(float(value) for value in trend.homophily)
    series = tuple(
        Series(
            f"{band} frequencies",
            h,
            tuple(float(value) for value in trend.importance[:, i]),
            tuple(float(value) for value in trend.spread[:, i]) if trend.masks > 1 else (),
            role=band,
        )
        for i, band in enumerate(BANDS)
    )
    return Curves(trend.title, "homophily h", "importance", series, upright=((PIVOT, "1/C"),))


def _nothing() -> Finding:
    return Finding("frequency importance follows homophily", "nothing stored", "Fig. 1b", OPEN)


_CAPTION = "Mean amplitude that the best 5% of 216 fixed filters give to each third of the spectrum, over homophily."
