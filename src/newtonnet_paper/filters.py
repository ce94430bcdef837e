"""Learned filters as a claim: NewtonNet's, ChebNetII's and BernNet's, averaged over the splits of one setting."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from newtonnet.graphs import BANDS as EDGES
from newtonnet.search import best_trial
from newtonnet.training import FREQUENCIES

from .cells import StoredSearch, model_cells, read_all
from .claim import Line, define_claim
from .exhibit import BANDS, Curves, Figure, Finding, Report, Role, Series, Value, Verdict, make_table, nothing_stored
from .scores import NAMES, how_made
from .table1 import BEYOND_GRAPHS, PAPER_GRAPHS, by_cell

METHODS: dict[str, Role] = {"newtonnet": "main", "chebnetii": "second", "bernnet": "high"}
"""Each with the colour of its curve."""

HOMOPHILOUS = ("cora", "citeseer", "pubmed")
MARGIN = 0.03
"""The smallest difference between shares that counts: they vary by about as much between splits."""

Array = NDArray[np.float64]

_STATEMENTS = (
    "On homophilous graphs NewtonNet passes low frequencies and suppresses middle and high ones",
    "On heterophilous graphs NewtonNet amplifies high frequencies more than the other methods",
)
_CAPTION = "Learned filters, mean over splits and one standard deviation, each scaled to a largest magnitude of 1."


def summarise(lines: Sequence[Line]) -> Report:
    """Mean and spread of every filter, and the share of each band."""
    stored = by_cell(lines)
    shapes = {key: found for key, one in stored.items() if len(found := _responses(one))}
    if not shapes:
        return nothing_stored(_STATEMENTS[0], "Fig. 5")
    graphs = list(dict.fromkeys(graph for graph, _ in shapes))
    shares = {key: band_shares(found.mean(axis=0)) for key, found in shapes.items()}
    rows: list[dict[str, Value]] = [
        {
            "graph": graph,
            "method": NAMES[model],
            **{band: round(float(share), 3) for band, share in zip(BANDS, shares[graph, model], strict=True)},
            "splits": len(found),
            "settings": len(stored[graph, model].trials),
        }
        for (graph, model), found in shapes.items()
    ]
    table = make_table(
        "Share of each band",
        rows,
        "Each split's filter is scaled to a largest magnitude of 1, since the encoder determines its scale. The shares "
        "are the mean magnitudes of the mean filter in each band, scaled to sum to 1; a flat filter has a third of "
        f"each. Differences below {MARGIN} do not count: a band is passed if its share is above {1 / 3 + MARGIN:.3f}, "
        f"suppressed if it is below {1 / 3 - MARGIN:.3f}. {how_made([line['stored'] for line in lines])} The setting "
        "is the one that the paper's selection chooses.",
        "Command: `newtonnet-paper reproduce filters --profile paper`",
    )
    return Report(
        findings=_findings(shares),
        tables=(table,),
        figures=(Figure("learned", _CAPTION, tuple(_curves(graph, shapes) for graph in graphs)),),
        data={
            graph: {
                model: {"frequencies": FREQUENCIES, "mean": found.mean(axis=0).round(4).tolist()}
                for (name, model), found in shapes.items()
                if name == graph
            }
            for graph in graphs
        },
    )


def _responses(stored: StoredSearch) -> Array:
    """The selected trial's filter on every split that has one, each scaled to a largest magnitude of 1."""
    rows = [row for row in best_trial(stored.trials).response if len(row) == len(FREQUENCIES) and None not in row]
    found = np.array(rows, dtype=np.float64).reshape(-1, len(FREQUENCIES))
    largest = np.abs(found).max(axis=1, initial=0.0, keepdims=True)
    kept: Array = (found / np.where(largest == 0, 1, largest))[largest[:, 0] > 0]
    return kept


def band_shares(response: Array) -> Array:
    """A filter's mean magnitudes in the low, middle and high third of the spectrum, scaled to sum to 1.

    >>> band_shares(np.where(np.array(FREQUENCIES) < 0.5, 1.0, 0.0)).tolist()
    [1.0, 0.0, 0.0]
    >>> band_shares(np.ones(len(FREQUENCIES))).round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    bands = np.digitize(FREQUENCIES, EDGES)
    means = np.array([np.abs(response[bands == band]).mean() for band in range(3)])
    shares: Array = means / max(means.sum(), 1e-12)
    return shares


def _findings(shares: dict[tuple[str, str], Array]) -> tuple[Finding, ...]:
    ours = {graph: share for (graph, model), share in shares.items() if model == "newtonnet" and graph in PAPER_GRAPHS}
    low = {graph: share for graph, share in ours.items() if graph in HOMOPHILOUS}
    passed = [share[0] > 1 / 3 + MARGIN and max(share[1], share[2]) < 1 / 3 - MARGIN for share in low.values()]
    others = {
        graph: [shares[graph, model][2] for model in METHODS if model != "newtonnet" and (graph, model) in shares]
        for graph in ours
        if graph not in HOMOPHILOUS
    }
    high = {graph: (ours[graph][2], max(found)) for graph, found in others.items() if len(found) == len(METHODS) - 1}
    more = sum(mine > other + MARGIN for mine, other in high.values())
    text_low = ", ".join(f"{graph} low {share[0]:.2f}, high {share[2]:.2f}" for graph, share in low.items())
    text_high = "no graph with all three methods"
    if high:
        each = ", ".join(f"{graph} {mine:.2f}, the others at most {other:.2f}" for graph, (mine, other) in high.items())
        text_high = f"the largest share by at least {MARGIN} on {more} of {len(high)} graphs ({each})"
    return (
        Finding(_STATEMENTS[0], text_low or "nothing stored", "Fig. 5", Verdict.by_count(sum(passed), len(passed))),
        Finding(_STATEMENTS[1], text_high, "Fig. 5 and appendix", Verdict.by_count(more, len(high))),
    )


def _curves(graph: str, shapes: dict[tuple[str, str], Array]) -> Curves:
    series = []
    for model, role in METHODS.items():
        if (graph, model) in shapes:
            found = shapes[graph, model]
            mean, spread = found.mean(axis=0), found.std(axis=0)
            series.append(Series(NAMES[model], FREQUENCIES, tuple(mean.tolist()), tuple(spread.tolist()), role=role))
    return Curves(graph, "frequency λ", "g(λ), scaled", tuple(series), bands=True)


FILTERS = define_claim(
    "filters",
    summarise,
    load=partial(read_all, graphs={**PAPER_GRAPHS, **BEYOND_GRAPHS}, models=METHODS),
    cells=partial(model_cells, PAPER_GRAPHS, METHODS),  # the searches of Table 1
)
