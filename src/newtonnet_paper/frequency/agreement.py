"""A short protocol of the frequency study beside a longer one on the same graphs, to see whether they agree."""

import math

import numpy as np
from scipy.stats import t

from newtonnet_paper.exhibit import BANDS, FAILS, HOLDS, Cell, Finding, Table

from .trends import Array, Trend


def repeated(short: Trend, longer: Trend) -> bool:
    """Whether one mask of few epochs has been measured again, with several masks of more epochs."""
    return (
        (short.nodes, short.features) == (longer.nodes, longer.features)
        and short.epochs < longer.epochs
        and short.masks == 1 < longer.masks
        and bool(_shared(short, longer))
    )


def agreement(short: Trend, longer: Trend) -> list[Finding]:
    """One finding for each homophily that both have: the one mask against what a further one of the longer would be."""
    found = []
    for i, j in _shared(short, longer):
        low, high = next_mask(longer.alone[j])
        mine = short.importance[i]
        told = ", ".join(
            f"{band} {value:.2f} in [{bottom:.2f}, {top:.2f}]"
            for band, value, bottom, top in zip(BANDS, mine, low, high, strict=True)
        )
        inside = bool(((low <= mine) & (mine <= high)).all())
        ordered = bool((np.argsort(mine) == np.argsort(longer.importance[j])).all())
        found.append(
            Finding(
                f"{short.protocol}, order the bands as {longer.protocol}, do, within the spread of masks "
                f"(h = {longer.homophily[j]:g})",
                f"{'the same order' if ordered else 'another order'}; {told}",
                longer.protocol,
                HOLDS if inside and ordered else FAILS,
            )
        )
    return found


def next_mask(alone: Array) -> tuple[Array, Array]:
    """Where 95 of 100 further masks would be, if they vary as normally as these do.

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
    rows: list[tuple[Cell, ...]] = []
    for i, j in _shared(short, longer):
        h = round(float(longer.homophily[j]), 4)
        single = zip(longer.alone[j].mean(axis=0), longer.spread[j], strict=True)
        rows += [
            (h, short.protocol, *_two_places(short.importance[i]), round(float(short.best[i]), 4)),
            (h, longer.protocol, *_two_places(longer.importance[j]), round(float(longer.best[j]), 4)),
            (h, "each of these masks alone", *(f"{mean:.2f} ± {std:.2f}" for mean, std in single), None),
        ]
    return Table(
        f"Short and full protocol: {short.size}",
        ("h", "protocol", *BANDS, "best ROC-AUC"),
        tuple(rows),
        (
            "± is the standard deviation over masks (ddof 0). The protocols agree where the one mask, which is also "
            "the first of the longer protocol, orders the bands alike and lies in the 95% interval of a further mask "
            "of the longer; such an interval is wide.",
            f"Commands: `{short.command}` and `{longer.command}`",
        ),
    )


def _two_places(values: Array) -> tuple[str, ...]:
    return tuple(f"{value:.2f}" for value in values)


def _shared(short: Trend, longer: Trend) -> list[tuple[int, int]]:
    """Places of the homophilies that both have."""
    places = {float(h): i for i, h in enumerate(short.homophily)}
    return [(places[float(h)], j) for j, h in enumerate(longer.homophily) if float(h) in places]
