"""Scores of stored trials as tables need them: both selections in percent, with intervals and how they were made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from newtonnet.datasets import CATALOGUE
from newtonnet.search import SELECTIONS, Selection, best_trial
from newtonnet.training.statistics import Estimate, compare, estimate, holm

from .stored import Stored

NAMES = {
    "mlp": "MLP",
    "gcn": "GCN",
    "mixhop": "MixHop",
    "appnp": "APPNP",
    "chebnet": "ChebNet",
    "gprgnn": "GPRGNN",
    "bernnet": "BernNet",
    "chebnetii": "ChebNetII",
    "jacobiconv": "JacobiConv",
    "glognn++": "GloGNN++",
    "newtonnet": "NewtonNet",
}
"""The methods of the comparison as their authors write them, in the paper's order."""


@dataclass(frozen=True)
class Score:
    """One study's test score by one selection, in percent."""

    test: tuple[float | None, ...]
    mean: float
    std: float
    """ddof 0, as in the paper."""
    low: float
    high: float

    def __str__(self) -> str:
        """Mean ± std.

        >>> str(Score((80.0, 90.0), 85.0, 5.0, 70.0, 100.0))
        '85.00 ± 5.00'
        """
        return f"{self.mean:.2f} ± {self.std:.2f}"

    @property
    def interval(self) -> str:
        """The interval in brackets."""
        return f"[{self.low:.2f}, {self.high:.2f}]"


def score(stored: Stored | None, selection: str = "paper") -> Score | None:
    """The score of a study by ``paper`` or ``nested`` selection; None where fewer than two splits have one."""
    if stored is None:
        return None
    chosen: Selection = SELECTIONS[selection](stored.trials)
    test = tuple(None if value is None else 100 * value for value in chosen.test)
    if chosen.mean is None or chosen.std is None:
        return None
    found = estimate(test, split_ratio(stored.dataset, stored.protocol))
    if found is None:
        return None
    return Score(test, 100 * chosen.mean, 100 * chosen.std, found.low, found.high)


def gammas_text(stored: Stored) -> str:
    """The gammas of the setting that the paper's selection takes."""
    return ", ".join(f"{gamma:g}" for gamma in stored.value(best_trial(stored.trials), "gammas"))


_NODES = {"cornell-corrected": 183}
"""Of graphs without published numbers; what is near a third on a large graph is not on a small one."""


def split_ratio(dataset: str, protocol: str) -> float:
    """Test nodes for each training node: by the number of nodes where that is known, else by the protocol's shares.

    >>> split_ratio("texas", "random") == split_ratio("cornell-corrected", "random") == 38 / 109
    True
    """
    entry = CATALOGUE.get(dataset)
    if protocol == "fixed":
        return 0.2 / 0.48 if entry is not None and entry.fixed in ("geom-gcn", "filtered") else 0.5
    tenths = int(protocol[-1]) if protocol.startswith("weak-") else 6
    n = _NODES.get(dataset) or (None if entry is None or entry.published is None else entry.published.nodes)
    if n is None:
        return 2 / tenths
    return (n - 6 * n // 10 - 2 * n // 10) / (tenths * n // 10)


def gain(ours: Stored, theirs: Stored, selection: str) -> Estimate | None:
    """One study's score less another's on the same splits, by one selection; None where either has no score."""
    one, other = score(ours, selection), score(theirs, selection)
    if one is None or other is None:
        return None
    return compare(one.test, other.test, split_ratio(ours.dataset, ours.protocol))


def against(pairs: Mapping[str, tuple[Score, Score]], ratio: float) -> dict[str, tuple[Estimate, float]]:
    """The first less the second of every pair on one graph, and the p-values that Holm adjusts for all of them."""
    found = {name: compare(one.test, other.test, ratio) for name, (one, other) in pairs.items()}
    known = {name: difference for name, difference in found.items() if difference is not None}
    adjusted = holm([difference.p for difference in known.values()])
    return {name: (difference, p) for (name, difference), p in zip(known.items(), adjusted, strict=True)}


FEWEST = 4
"""Settings that a search needs before it is compared with another, unless its space has no more."""


def equal_searches(*studies: Stored) -> tuple[Stored, ...] | None:
    """Studies with the same number of settings: the first ones of each, as many as the shortest search has tried.

    A search that has tried its whole space would find no more and does not shorten the others. None where one has
    hardly begun.
    """
    count = min((stored.length for stored in studies if not stored.exhausted), default=None)
    if count is None:
        return studies
    return tuple(stored.first(count) for stored in studies) if count >= FEWEST else None


def chance(p: float) -> str:
    """A p-value for people.

    >>> chance(0.0312), chance(0.0001)
    ('0.031', '<0.001')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def how_made(stored: Sequence[Stored], *, tried: str = "{} settings tried for each cell") -> str:
    """Protocol, splits, loop and number of settings of some studies, in one sentence.

    Args:
        stored: the studies.
        tried: how the number of settings is told.
    """
    words = {
        "random": "random (60/20/20 of the labelled nodes, successive permutations of RandomState(33780))",
        "fixed": "fixed (the published splits)",
    }
    protocols = list(dict.fromkeys(words.get(one.protocol, one.protocol) for one in stored))
    splits = _span([len(one.trials[0].test) for one in stored])
    settings = tried.format(_span([len(one.trials) for one in stored]))
    epochs = _span([int(one.study["max_epochs"]) for one in stored])
    patience = ", ".join(dict.fromkeys(str(one.study["patience"]) for one in stored))
    numerics = ", ".join(dict.fromkeys(str(one.study["numerics"]) for one in stored))
    return (
        f"Protocol {' and '.join(protocols)}; {splits} splits; {settings}; at most {epochs} "
        f"epochs, patience {patience}; numerics {numerics}; test score at the best validation epoch, mean ± std "
        "(ddof 0) over splits."
    )


def _span(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"
