"""What stored scores of the frequency study show: how importances follow homophily, and whether they last."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import mannwhitneyu

from newtonnet.training.statistics import SIGNIFICANT
from newtonnet_paper.exhibit import (
    BANDS,
    FAILS,
    HOLDS,
    OPEN,
    PARTLY,
    UNSURE,
    Curves,
    Figure,
    Finding,
    Report,
    Series,
    Table,
)
from newtonnet_paper.results import Line

from .agreement import agreement, agreement_table, repeated
from .trends import Array, Trend, crossing, trends

PIVOT = 0.5
"""1/C: the block model has two classes."""

FEWEST = 5
"""Homophilies that a trend needs."""


def summarise(lines: Sequence[Line]) -> Report:
    """Findings, importances and their curves for every size that was measured.

    A few homophilies with a longer protocol, beside a trend of the same size, are there to be compared with it.
    """
    stored = trends(lines)
    pairs = [
        (short, trend)
        for trend in stored
        if len(trend.homophily) < FEWEST
        for short in stored
        if repeated(short, trend)
    ]
    curves = [trend for trend in stored if all(trend is not longer for _, longer in pairs)]
    return Report(
        findings=(
            *(finding for trend in curves for finding in _findings(trend, alone=len(curves) == 1)),
            *(finding for short, longer in pairs for finding in agreement(short, longer)),
        )
        or (_nothing(),),
        tables=(*(_table(trend) for trend in curves), *(agreement_table(*pair) for pair in pairs)),
        figures=(Figure("importance", _CAPTION, tuple(_curves(trend) for trend in curves)),) if curves else (),
        data={
            trend.title: {
                "homophily": trend.homophily.tolist(),
                **{band: trend.importance[:, i].round(4).tolist() for i, band in enumerate(BANDS)},
                "rank_correlation": {"low": trend.rank_correlation(0), "high": trend.rank_correlation(2)},
                "crossing": crossing(trend.homophily, trend.importance[:, 0], trend.importance[:, 2]),
            }
            for trend in stored
        },
    )


def _findings(trend: Trend, *, alone: bool) -> list[Finding]:
    size = "" if alone else f", {trend.title}"
    low, middle, high = trend.importance.T
    claims = (
        f"importance of low frequencies rises with h{size}",
        f"importance of high frequencies falls with h{size}",
        f"importance of middle frequencies peaks between{size}",
        f"low and high change places near 1/C{size}",
    )
    published = ("rises (curve only)", "falls (curve only)", "rises, then falls", "around 0.5")
    if len(trend.homophily) < FEWEST:
        few = f"{len(trend.homophily)} of at least {FEWEST} homophilies"
        return [Finding(claim, few, paper, OPEN) for claim, paper in zip(claims, published, strict=True)]
    rising, falling = trend.rank_correlation(0), trend.rank_correlation(2)
    peak = float(trend.homophily[int(middle.argmax())])
    place = crossing(trend.homophily, low, high)
    trending = (_trend_verdict(rising, trend.chance(0)), _trend_verdict(-falling, trend.chance(2)))
    verdicts = (*trending, _peak_verdict(trend), _crossing_verdict(place, sure=trending == (HOLDS, HOLDS)))
    thirds = ", ".join(f"{part.mean():.2f}" for part in _thirds(trend))
    ours = (
        f"rank correlation {rising:+.2f}",
        f"rank correlation {falling:+.2f}",
        f"largest at h = {peak:g} ({middle.max():.2f}); mean over the thirds of h {thirds}",
        "they do not" if place is None else f"at h = {place:g}",
    )
    return [Finding(*row) for row in zip(claims, ours, published, verdicts, strict=True)]


def _trend_verdict(correlation: float, chance: float) -> str:
    """By the rank correlation in the direction of the claim; a few homophilies reach a large one by chance."""
    if chance >= SIGNIFICANT:
        return UNSURE
    return HOLDS if correlation >= 0.7 else PARTLY if correlation >= 0.4 else FAILS


def _thirds(trend: Trend) -> list[Array]:
    """Importance of the middle band in the lower, the middle and the upper third of homophily."""
    places = np.digitize(trend.homophily, (1 / 3, 2 / 3))
    return [trend.importance[places == third, 1] for third in range(3)]


def _peak_verdict(trend: Trend) -> str:
    """Whether the middle third is above both others by more than chance (the test of Mann and Whitney, one-sided)."""
    lower, between, upper = _thirds(trend)
    if not min(len(lower), len(between), len(upper)):
        return UNSURE
    chances = [mannwhitneyu(between, end, alternative="greater").pvalue for end in (lower, upper)]
    if max(chances) < SIGNIFICANT:
        return HOLDS
    return FAILS if max(chances) > 1 - SIGNIFICANT else UNSURE


def _crossing_verdict(place: float | None, *, sure: bool) -> str:
    """How near the place is; not certain unless both trends are: curves without one cross anywhere."""
    if place is None or abs(place - PIVOT) > 0.2:
        return FAILS
    return UNSURE if not sure else HOLDS if abs(place - PIVOT) <= 0.1 else PARTLY


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
            f"Command: `{trend.command}`",
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
