"""Learned filters as a claim: NewtonNet's, ChebNetII's and BernNet's, averaged over the splits of one setting."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from newtonnet.graphs import BANDS as EDGES
from newtonnet.search import best_trial
from newtonnet.search.published import DATASETS
from newtonnet.training import FREQUENCIES

from .beyond import GRAPHS as BEYOND_GRAPHS
from .cells import Cell
from .claim import Claim, Request
from .exhibit import BANDS, FAILS, HOLDS, OPEN, PARTLY, Curves, Figure, Finding, Report, Role, Series, Table
from .results import Line
from .scores import NAMES, how_made
from .stored import Stored, read_stored
from .table1 import chosen_datasets, trials_of

METHODS: dict[str, Role] = {"newtonnet": "main", "chebnetii": "second", "bernnet": "high"}
"""Each with the colour of its curve."""

HOMOPHILOUS = ("cora", "citeseer", "pubmed")
MARGIN = 0.03
"""By how much shares must differ: they vary by as much between splits."""


def cells(request: Request, results: Path) -> list[Cell]:
    """The searches of Table 1, of the three methods."""
    names = chosen_datasets(request, DATASETS)
    return [Cell(dataset, model, trials_of(request.profile, dataset)) for dataset in names for model in METHODS]


def load(results: Path) -> list[Line]:
    """What is stored of the three methods on every graph."""
    graphs = {**dict.fromkeys(DATASETS, "random"), **BEYOND_GRAPHS}
    found = [
        read_stored(results, dataset, model, protocol=protocol)
        for dataset, protocol in graphs.items()
        for model in METHODS
    ]
    return [{"stored": one} for one in found if one is not None]


def summarise(lines: Sequence[Line]) -> Report:
    """Mean and spread of every filter, and what share of it lies in each band."""
    shapes = {(line["stored"].dataset, line["stored"].model): _responses(line["stored"]) for line in lines}
    shapes = {key: found for key, found in shapes.items() if len(found)}
    tried = {(line["stored"].dataset, line["stored"].model): len(line["stored"].trials) for line in lines}
    if not shapes:
        return Report((Finding(_STATEMENTS[0], "nothing stored", "Fig. 5", OPEN),))
    graphs = list(dict.fromkeys(graph for graph, _ in shapes))
    shares = {key: band_shares(found.mean(axis=0)) for key, found in shapes.items()}
    rows = tuple(
        (
            graph,
            NAMES[model],
            *(round(float(share), 3) for share in shares[graph, model]),
            len(shapes[graph, model]),
            tried[graph, model],
        )
        for graph, model in shapes
    )
    notes = (
        "Each split's filter is scaled to a largest magnitude of 1, since the encoder chooses its scale; mean "
        "magnitude of the mean filter in each band, as shares that sum to 1, so a flat filter has a third of each. "
        f"Differences of less than {MARGIN} count as none: a band is kept by a share above {1 / 3 + MARGIN:.3f}, "
        f"dropped by one below {1 / 3 - MARGIN:.3f}. {how_made([line['stored'] for line in lines])} The setting "
        "is the one the paper's selection takes.",
        "Command: `newtonnet reproduce filters --profile paper`",
    )
    return Report(
        findings=_findings(shares),
        tables=(Table("Share of each band", ("graph", "method", *BANDS, "splits", "settings"), rows, notes),),
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


_STATEMENTS = (
    "On homophilous graphs NewtonNet keeps low and drops middle and high frequencies",
    "On heterophilous graphs NewtonNet stresses high frequencies more than the others",
)
_CAPTION = "Learned filters, mean over splits and one standard deviation, each scaled to a largest magnitude of 1."

Shapes = dict[tuple[str, str], NDArray[np.float64]]


def _responses(stored: Stored) -> NDArray[np.float64]:
    """The selected trial's filter on every split that has one, each scaled to a largest magnitude of 1."""
    rows = [row for row in best_trial(stored.trials).response if len(row) == len(FREQUENCIES) and None not in row]
    found = np.array(rows, dtype=np.float64).reshape(-1, len(FREQUENCIES))
    largest = np.abs(found).max(axis=1, initial=0.0, keepdims=True)
    kept: NDArray[np.float64] = (found / np.where(largest == 0, 1, largest))[largest[:, 0] > 0]
    return kept


def band_shares(response: NDArray[np.float64]) -> NDArray[np.float64]:
    """How a filter's mean magnitudes in the low, middle and high third of the spectrum share their sum.

    >>> band_shares(np.where(np.array(FREQUENCIES) < 0.5, 1.0, 0.0)).tolist()
    [1.0, 0.0, 0.0]
    >>> band_shares(np.ones(len(FREQUENCIES))).round(3).tolist()
    [0.333, 0.333, 0.333]
    """
    bands = np.digitize(FREQUENCIES, EDGES)
    means = np.array([np.abs(response[bands == band]).mean() for band in range(3)])
    shares: NDArray[np.float64] = means / max(means.sum(), 1e-12)
    return shares


def _findings(shares: dict[tuple[str, str], NDArray[np.float64]]) -> tuple[Finding, ...]:
    ours = {graph: share for (graph, model), share in shares.items() if model == "newtonnet" and graph in DATASETS}
    low = {graph: share for graph, share in ours.items() if graph in HOMOPHILOUS}
    high = {graph: share for graph, share in ours.items() if graph not in HOMOPHILOUS}
    good_low = [
        graph for graph, share in low.items() if share[0] > 1 / 3 + MARGIN and max(share[1], share[2]) < 1 / 3 - MARGIN
    ]
    rivals = {
        graph: [shares[graph, model][2] for model in METHODS if model != "newtonnet" and (graph, model) in shares]
        for graph in high
    }
    high = {graph: share for graph, share in high.items() if len(rivals[graph]) == len(METHODS) - 1}
    more = [graph for graph, share in high.items() if share[2] > max(rivals[graph]) + MARGIN]
    text_low = ", ".join(f"{graph} low {share[0]:.2f}, high {share[2]:.2f}" for graph, share in low.items())
    text_high = ", ".join(
        f"{graph} {share[2]:.2f}, the others at most {max(rivals[graph]):.2f}" for graph, share in high.items()
    )
    return (
        Finding(_STATEMENTS[0], text_low or "nothing stored", "Fig. 5", _verdict(len(good_low), len(low))),
        Finding(
            _STATEMENTS[1],
            f"the largest share by at least {MARGIN} on {len(more)} of {len(high)} graphs ({text_high})"
            if high
            else "no graph with all three",
            "Fig. 5 and appendix",
            _verdict(len(more), len(high)),
        ),
    )


def _verdict(good: int, count: int) -> str:
    return OPEN if not count else HOLDS if good == count else PARTLY if good else FAILS


def _curves(graph: str, shapes: Shapes) -> Curves:
    series = []
    for model, role in METHODS.items():
        if (graph, model) in shapes:
            found = shapes[graph, model]
            mean, spread = found.mean(axis=0), found.std(axis=0)
            series.append(Series(NAMES[model], FREQUENCIES, tuple(mean.tolist()), tuple(spread.tolist()), role=role))
    return Curves(graph, "frequency λ", "g(λ), scaled", tuple(series), bands=True)


FILTERS = Claim(
    name="filters",
    statement="NewtonNet's filters are low-pass on homophilous and stress high frequencies on heterophilous graphs.",
    place="Section 6.5, Fig. 5; Appendix E.4",
    units=lambda request: (),
    summarise=summarise,
    options=frozenset({"datasets"}),
    load=load,
    cells=cells,
)
