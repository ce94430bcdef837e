"""The frequency study as a claim: importances of the three bands over homophily, from all filters on many graphs."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu, spearmanr, t

from newtonnet.datasets import csbm
from newtonnet.graphs import homophily
from newtonnet.training import SIGNIFICANT
from newtonnet_paper.claim import Line, Request, Unit, define_claim
from newtonnet_paper.exhibit import BANDS, Curves, Figure, Finding, Report, Series, Table, Value, Verdict, make_table

from .training import Protocol, candidate_filters, importances, sparse_split, train_filters

Array = NDArray[np.float64]

MASKS = {"quick": 1, "paper": 5}
EPOCHS = {"quick": 300, "paper": 1200}
"""For each profile."""
NODES = 800
HOMOPHILIES = tuple(round(0.05 * i, 2) for i in range(21))
"""Defaults of a request."""
FEWEST_NODES = 400
"""With fewer, 2.5% of the nodes are fewer than ten."""
FEWEST = 5
"""Homophilies that a trend needs."""
PIVOT = 0.5
"""1/C: the block model has two classes."""

_CAPTION = "Mean amplitude of the best 5% of 216 fixed filters in each third of the spectrum, over homophily."


def units(request: Request) -> list[Unit]:
    """One unit for each homophily and mask, with all filters; all homophilies of the first mask come first."""
    nodes = int(request.options.get("nodes", NODES))
    features = int(request.options.get("features", nodes))
    asked = dict.fromkeys(request.options.get("homophilies", HOMOPHILIES))
    if nodes < FEWEST_NODES or features < 1:
        raise ValueError(f"expected at least {FEWEST_NODES} nodes and 1 feature, got {nodes} and {features}")
    for h in asked:
        if not 0 <= h <= 1:
            raise ValueError(f"homophilies must be between 0 and 1, got {h:g}")
    keys = [
        {"homophily": float(h), "mask": mask, "nodes": nodes, "features": features, "epochs": EPOCHS[request.profile]}
        for mask in range(MASKS[request.profile])
        for h in asked
    ]
    return [Unit(key, partial(_measure, key)) for key in keys]


def _measure(key: Mapping[str, Any]) -> dict[str, Any]:
    """ROC-AUC of every filter on one graph and split."""
    graph = csbm(key["homophily"], nodes=key["nodes"], features=key["features"], seed=0)
    split = sparse_split(graph, key["mask"])
    scores = train_filters(graph, split, candidate_filters(), Protocol(epochs=key["epochs"]), seed=key["mask"])
    return {
        "measured_homophily": round(homophily(graph).edge, 5),
        **{name: getattr(scores, name).round(5).tolist() for name in ("test", "validation", "last")},
    }


@dataclass(frozen=True, eq=False)
class Trend:
    """Importances of the low, middle and high band over homophily, for graphs of one size.

    Attributes:
        homophily: ascending, ``(m,)``.
        importance: by the mean score over masks, ``(m, 3)``.
        alone: by each mask alone, ``(m, masks, 3)``.
        best: mean ROC-AUC of the best filter, ``(m,)``.
    """

    nodes: int
    features: int
    epochs: int
    homophily: Array
    importance: Array
    alone: Array
    best: Array

    @property
    def masks(self) -> int:
        """Number of splits."""
        return int(self.alone.shape[1])

    @property
    def size(self) -> str:
        """Size of the graphs."""
        return f"{self.nodes} nodes, {self.features} features"

    @property
    def protocol(self) -> str:
        """Number and length of the trainings of each filter."""
        return f"{self.masks} mask{'s' * (self.masks > 1)}, {self.epochs} epochs"

    @property
    def title(self) -> str:
        """Size and protocol."""
        return f"{self.size} ({self.protocol})"

    @property
    def command(self) -> str:
        """The command that measures it."""
        profile = next((name for name, epochs in EPOCHS.items() if epochs == self.epochs), "paper")
        words = [f"newtonnet-paper reproduce frequency --profile {profile}"]
        words += [f"--nodes {self.nodes}"] * (self.nodes != NODES)
        words += [f"--features {self.features}"] * (self.features != self.nodes)
        if tuple(self.homophily.tolist()) != HOMOPHILIES:
            words.append("--homophilies " + ",".join(f"{h:g}" for h in self.homophily))
        return " ".join(words)

    @property
    def crossing(self) -> float | None:
        """Where the importances of the low and the high band cross."""
        return crossing(self.homophily, self.importance[:, 0], self.importance[:, 2])

    def rank_correlation(self, band: int) -> tuple[float, float]:
        """Spearman's rank correlation of a band's importance with homophily and its p-value; 0 and 1 if constant."""
        values = self.importance[:, band]
        if len(values) < 3 or np.ptp(values) == 0:
            return 0.0, 1.0
        found = spearmanr(self.homophily, values)
        return round(float(found.statistic), 4), float(found.pvalue)


def trends(lines: Sequence[Line]) -> list[Trend]:
    """One trend for each size of graphs and number of epochs, the shorter first."""
    filters = candidate_filters()
    groups: dict[tuple[int, int, int], dict[float, dict[int, Array]]] = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        key = line["key"]
        size = (key["nodes"], key["features"], key["epochs"])
        groups[size][key["homophily"]][key["mask"]] = np.array(line["test"])
    found = []
    for (nodes, features, epochs), by_homophily in sorted(groups.items()):
        # Every homophily counts with the same number of masks.
        masks = min(len(scores) for scores in by_homophily.values())
        complete = {h: [scores[mask] for mask in sorted(scores)[:masks]] for h, scores in sorted(by_homophily.items())}
        means = [np.mean(scores, axis=0) for scores in complete.values()]
        importance = np.array([importances(mean, filters) for mean in means])
        alone = np.array([[importances(score, filters) for score in scores] for scores in complete.values()])
        best = np.array([mean.max() for mean in means])
        found.append(Trend(nodes, features, epochs, np.array(list(complete)), importance, alone, best))
    return found


def crossing(homophily: Array, low: Array, high: Array) -> float | None:
    """The homophily that best separates the graphs where high outweighs low from those where low outweighs high.

    With noise the curves may cross several times; the place with the fewest graphs on the wrong side is chosen, and the
    middle one of several. None where every graph is on one side.

    >>> crossing(np.array([0.0, 0.2, 0.4, 0.6]), np.array([0.0, 0.1, 0.9, 1.0]), np.array([1.0, 0.9, 0.2, 0.0]))
    0.3
    """
    sign = np.sign(low - high)
    wrong = [int((sign[:k] > 0).sum() + (sign[k:] < 0).sum()) for k in range(len(sign) + 1)]
    places = [k for k, count in enumerate(wrong) if count == min(wrong)]
    k = places[len(places) // 2]
    return None if k in (0, len(sign)) else round(float(homophily[k - 1] + homophily[k]) / 2, 4)


def summarise(lines: Sequence[Line]) -> Report:
    """Findings, importances and their curves for every size that was measured.

    A few homophilies with a longer protocol, next to a trend of the same size, are compared with that trend.
    """
    stored = trends(lines)
    few = [trend for trend in stored if len(trend.homophily) < FEWEST]
    pairs = [(short, longer) for longer in few for short in stored if repeated(short, longer)]
    curves = [trend for trend in stored if all(trend is not longer for _, longer in pairs)]
    nothing = Finding("frequency importance follows homophily", "nothing stored", "Fig. 1b", Verdict.OPEN)
    return Report(
        findings=(
            *(finding for trend in curves for finding in _findings(trend, alone=len(curves) == 1)),
            *(finding for pair in pairs for finding in agreement(*pair)),
        )
        or (nothing,),
        tables=(*(_table(trend) for trend in curves), *(agreement_table(*pair) for pair in pairs)),
        figures=(Figure("importance", _CAPTION, tuple(_curves(trend) for trend in curves)),) if curves else (),
        data={
            trend.title: {
                "homophily": trend.homophily.tolist(),
                **{band: trend.importance[:, i].round(4).tolist() for i, band in enumerate(BANDS)},
                "rank_correlation": {"low": trend.rank_correlation(0)[0], "high": trend.rank_correlation(2)[0]},
                "crossing": trend.crossing,
            }
            for trend in stored
        },
    )


def _findings(trend: Trend, *, alone: bool) -> list[Finding]:
    size = "" if alone else f", {trend.title}"
    published = {
        "importance of low frequencies rises with h": "rises (curve only)",
        "importance of high frequencies falls with h": "falls (curve only)",
        "importance of middle frequencies peaks between": "rises, then falls",
        "importances of low and high frequencies cross near 1/C": "around 0.5",
    }
    if len(trend.homophily) < FEWEST:
        few = f"{len(trend.homophily)} of at least {FEWEST} homophilies"
        return [Finding(claim + size, few, paper, Verdict.OPEN) for claim, paper in published.items()]
    middle, place = trend.importance[:, 1], trend.crossing
    (rising, rising_p), (falling, falling_p) = trend.rank_correlation(0), trend.rank_correlation(2)
    trending = (_trend_verdict(rising, rising_p), _trend_verdict(-falling, falling_p))
    thirds = ", ".join(f"{part.mean():.2f}" for part in _thirds(trend))
    peak = f"largest at h = {trend.homophily[int(middle.argmax())]:g} ({middle.max():.2f})"
    found = (
        (f"rank correlation {rising:+.2f}", trending[0]),
        (f"rank correlation {falling:+.2f}", trending[1]),
        (f"{peak}; mean over the thirds of h {thirds}", _peak_verdict(trend)),
        (
            "they do not cross" if place is None else f"at h = {place:g}",
            _crossing_verdict(place, sure=trending == (Verdict.HOLDS, Verdict.HOLDS)),
        ),
    )
    return [
        Finding(claim + size, ours, paper, verdict)
        for (claim, paper), (ours, verdict) in zip(published.items(), found, strict=True)
    ]


def _trend_verdict(correlation: float, p: float) -> Verdict:
    """By the rank correlation in the direction of the claim; few homophilies can have a large one by chance."""
    if p >= SIGNIFICANT:
        return Verdict.UNSURE
    return Verdict.HOLDS if correlation >= 0.7 else Verdict.PARTLY if correlation >= 0.4 else Verdict.FAILS


def _thirds(trend: Trend) -> list[Array]:
    """Importance of the middle band in the lower, the middle and the upper third of homophily."""
    places = np.digitize(trend.homophily, (1 / 3, 2 / 3))
    return [trend.importance[places == third, 1] for third in range(3)]


def _peak_verdict(trend: Trend) -> Verdict:
    """Whether the middle third is significantly above both others (one-sided test of Mann and Whitney)."""
    lower, between, upper = _thirds(trend)
    if not min(len(lower), len(between), len(upper)):
        return Verdict.UNSURE
    p = max(mannwhitneyu(between, end, alternative="greater").pvalue for end in (lower, upper))
    return Verdict.HOLDS if p < SIGNIFICANT else Verdict.FAILS if p > 1 - SIGNIFICANT else Verdict.UNSURE


def _crossing_verdict(place: float | None, *, sure: bool) -> Verdict:
    """By the distance to the pivot; not certain unless both trends are, since flat curves cross anywhere."""
    if place is None or abs(place - PIVOT) > 0.2:
        return Verdict.FAILS
    return Verdict.UNSURE if not sure else Verdict.HOLDS if abs(place - PIVOT) <= 0.1 else Verdict.PARTLY


def _table(trend: Trend) -> Table:
    return make_table(
        f"Frequency importance: {trend.title}",
        [
            {
                "h": round(float(h), 4),
                **{band: round(float(value), 2) for band, value in zip(BANDS, values, strict=True)},
                "best ROC-AUC": round(float(best), 4),
            }
            for h, values, best in zip(trend.homophily, trend.importance, trend.best, strict=True)
        ],
        "Mean amplitude of the 11 best of 216 filters by test ROC-AUC, each at its best validation epoch "
        "(evaluated every 10), averaged over masks; h of 0 and 1 stands for 1e-5 and 1 - 1e-5.",
        "Loss: cross entropy of two classes (the released code: binary cross entropy on one-hot labels).",
        f"Command: `{trend.command}`",
    )


def _curves(trend: Trend) -> Curves:
    series = tuple(
        Series(
            f"{band} frequencies",
            tuple(trend.homophily.tolist()),
            tuple(trend.importance[:, i].tolist()),
            tuple(trend.alone[:, :, i].std(axis=1).tolist()) if trend.masks > 1 else (),
            role=band,
        )
        for i, band in enumerate(BANDS)
    )
    return Curves(trend.title, "homophily h", "importance", series, upright=((PIVOT, "1/C"),))


def repeated(short: Trend, longer: Trend) -> bool:
    """Whether one mask of few epochs was measured again, with several masks of more epochs."""
    longer_protocol = short.epochs < longer.epochs and short.masks == 1 < longer.masks
    return longer_protocol and short.size == longer.size and bool(_shared(short, longer))


def agreement(short: Trend, longer: Trend) -> list[Finding]:
    """Whether one mask of the short protocol agrees with a further mask of the longer one, at each shared homophily."""
    found = []
    for i, j in _shared(short, longer):
        low, high = next_mask(longer.alone[j])
        mine = short.importance[i]
        texts = ", ".join(
            f"{band} {value:.2f} in [{bottom:.2f}, {top:.2f}]"
            for band, value, bottom, top in zip(BANDS, mine, low, high, strict=True)
        )
        inside = bool(((low <= mine) & (mine <= high)).all())
        ordered = bool((np.argsort(mine) == np.argsort(longer.importance[j])).all())
        found.append(
            Finding(
                f"{short.protocol}, order the bands as {longer.protocol}, do, within the spread of masks "
                f"(h = {longer.homophily[j]:g})",
                f"{'the same order' if ordered else 'another order'}; {texts}",
                longer.protocol,
                Verdict.HOLDS if inside and ordered else Verdict.FAILS,
            )
        )
    return found


def next_mask(alone: Array) -> tuple[Array, Array]:
    """The 95% prediction interval of a further mask, if masks are normally distributed.

    >>> low, high = next_mask(np.array([[1.0], [2.0], [3.0]]))
    >>> float(low[0].round(3)), float(high[0].round(3))
    (-2.968, 6.968)
    """
    masks = len(alone)
    reach = float(t.ppf(0.975, masks - 1)) * np.std(alone, axis=0, ddof=1) * math.sqrt(1 + 1 / masks)
    middle = alone.mean(axis=0)
    return middle - reach, middle + reach


def agreement_table(short: Trend, longer: Trend) -> Table:
    """Both protocols, line by line."""
    rows: list[tuple[Value, ...]] = []
    for i, j in _shared(short, longer):
        h = round(float(longer.homophily[j]), 4)
        for trend, k in ((short, i), (longer, j)):
            values = (f"{value:.2f}" for value in trend.importance[k])
            rows.append((h, trend.protocol, *values, round(float(trend.best[k]), 4)))
        single = zip(longer.alone[j].mean(axis=0), longer.alone[j].std(axis=0), strict=True)
        rows.append((h, "each of these masks alone", *(f"{mean:.2f} ± {std:.2f}" for mean, std in single), None))
    return Table(
        f"Short and full protocol: {short.size}",
        ("h", "protocol", *BANDS, "best ROC-AUC"),
        tuple(rows),
        (
            "± is the standard deviation over masks (ddof 0). The protocols agree where the one mask, which is also "
            "the first of the longer protocol, has the same order of bands and lies in the 95% prediction interval of "
            "a further mask of the longer protocol; such an interval is wide.",
            f"Commands: `{short.command}` and `{longer.command}`",
        ),
    )


def _shared(short: Trend, longer: Trend) -> list[tuple[int, int]]:
    """Indices of the homophilies that both have."""
    places = {float(h): i for i, h in enumerate(short.homophily)}
    return [(places[float(h)], j) for j, h in enumerate(longer.homophily) if float(h) in places]


FREQUENCY = define_claim("frequency", summarise, units=units, options=("nodes", "features", "homophilies"))
