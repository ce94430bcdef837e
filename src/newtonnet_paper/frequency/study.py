"""The frequency study as a claim: one unit of work is one graph and one split, with all filters on it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newtonnet.datasets import csbm
from newtonnet.graphs import homophily
from newtonnet_paper.claim import Claim, Request, Unit

from .bands import candidate_filters
from .summary import summarise
from .training import Protocol, sparse_split, train_filters
from .trends import EPOCHS, HOMOPHILIES, MASKS, NODES

FEWEST_NODES = 400
"""Below, 2.5% of the nodes are fewer than ten."""


def units(request: Request) -> list[Unit]:
    """One unit for each homophily and mask; all homophilies of the first mask come first."""
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
        "test": _rounded(scores.test),
        "validation": _rounded(scores.validation),
        "last": _rounded(scores.last),
    }


def _rounded(values: NDArray[np.float64]) -> list[float]:
    rounded: list[float] = values.round(5).tolist()
    return rounded


FREQUENCY = Claim(
    name="frequency",
    statement=(
        "The more homophilous a graph, the more low and the less high frequency its best filters let through; "
        "the two change places near h = 1/C, and the middle band matters most there."
    ),
    place="Section 3.2, Fig. 1b; other sizes, Appendix E.3, by --nodes and --features",
    units=units,
    summarise=summarise,
    options=frozenset({"nodes", "features", "homophilies"}),
)
