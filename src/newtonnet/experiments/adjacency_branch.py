"""More than the paper's model as a claim: NewtonNet with an adjacency branch, beside LINKX, whose idea that is."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from newtonnet.datasets import CATALOGUE

from .ablation import judge_gains
from .cells import Cell
from .claim import Claim, Request
from .exhibit import OPEN, Finding, Report, Table
from .exhibit import Cell as Entry
from .published import SCORES
from .results import Line
from .score_tables import HERO
from .scores import equal_searches, gain, how_made, score
from .statistics import Estimate
from .stored import Stored, read_stored
from .table1 import FEW, QUICK, chosen_datasets

GRAPHS = ("chameleon", "squirrel")
"""Where knowing a node's neighbours by name helps most."""

LABEL = "branch"
BRANCH: Mapping[str, float] = {"branch": 64, "branch_learning_rate": 0.003}
ARMS = {"plain": (HERO, ""), LABEL: (HERO, LABEL), "linkx": ("linkx", "")}
"""Each with its model and its label."""


def cells(request: Request, results: Path) -> list[Cell]:
    """Equally many settings of the three; NewtonNet by itself is the search of Table 1."""
    trials = QUICK if request.profile == "quick" else FEW
    return [
        Cell(dataset, model, trials, label, fixed=BRANCH if label else {})
        for dataset in chosen_datasets(request, GRAPHS)
        for model, label in ARMS.values()
    ]


def load(results: Path) -> list[Line]:
    """Graphs of which all three are stored, each with as many settings as the shortest search."""
    lines: list[Line] = []
    for dataset in GRAPHS:
        found = {arm: read_stored(results, dataset, model, label=label) for arm, (model, label) in ARMS.items()}
        there = {arm: stored for arm, stored in found.items() if stored is not None}
        equal = equal_searches(*there.values()) if len(there) == len(ARMS) else None
        if equal is not None:
            lines.append(dict(zip(there, equal, strict=True)))
    return lines


def summarise(lines: Sequence[Line]) -> Report:
    """What the branch adds, and whether anything is left of it beside LINKX."""
    if not lines:
        return Report((Finding(_ADDS, "nothing stored", _PUBLISHED, OPEN),))
    rows: list[tuple[Entry, ...]] = []
    gains: dict[str, dict[str, Estimate]] = {"plain": {}, "linkx": {}}
    for line in lines:
        dataset = line[LABEL].dataset
        for rival, own in gains.items():
            found = gain(line[LABEL], line[rival], "nested")
            if found is not None:
                own[dataset] = found
        shown = (score(line[arm], selection) for arm in ARMS for selection in ("paper", "nested"))
        published = SCORES[dataset, HERO]
        rows.append(
            (
                dataset,
                *(None if one is None else str(one) for one in shown),
                *(own[dataset].signed if dataset in own else None for own in gains.values()),
                f"{published[0]:.2f} ± {published[1]:.1f}",
                len(line[LABEL].trials),
            )
        )
    stored: list[Stored] = [line[arm] for line in lines for arm in ARMS]
    done = [line[LABEL].dataset for line in lines]
    warned = [f"{name}: {'; '.join(CATALOGUE[name].warnings)}." for name in done if CATALOGUE[name].warnings]
    notes = (
        f"Accuracy in percent. {how_made(stored)} Differences by nested selection, paired by split, with 95% intervals "
        "by the variance of Nadeau and Bengio; verdicts are by Holm over both statements. The branch adds "
        "W₂ ReLU(A W₁) to the logits and has a weight for every node, so it cannot leave its graph.",
        *warned,
        "Command: `newtonnet reproduce branch --profile paper`",
    )
    table = Table("NewtonNet with an adjacency branch", _COLUMNS, tuple(rows), notes)
    data = {rival: {name: [one.mean, one.low, one.high] for name, one in own.items()} for rival, own in gains.items()}
    adds, more = gains["plain"], gains["linkx"]
    return Report((_finding(_ADDS, adds, beside=more), _finding(_MORE, more, beside=adds)), tables=(table,), data=data)


_ADDS = "An adjacency branch adds to NewtonNet"
_MORE = "NewtonNet with the branch is better than LINKX"
_PUBLISHED = "not in the paper"
_COLUMNS = (
    "graph",
    "NewtonNet",
    "nested",
    "with branch",
    "nested",
    "LINKX",
    "nested",
    "with branch − NewtonNet",
    "with branch − LINKX",
    "NewtonNet, the paper",
    "settings",
)


def _finding(statement: str, gains: Mapping[str, Estimate], *, beside: Mapping[str, Estimate]) -> Finding:
    ours = "; ".join(f"{name} {one.signed}" for name, one in gains.items())
    named = f"{statement} ({', '.join(gains)})" if gains else statement
    return Finding(
        named, ours or "no scores", _PUBLISHED, judge_gains(list(gains.values()), beside=list(beside.values()))
    )


ADJACENCY_BRANCH = Claim(
    name="branch",
    statement="What a network on the rows of the adjacency adds to NewtonNet, which is no part of the paper's model.",
    place="not in the paper",
    units=lambda request: (),
    summarise=summarise,
    options=frozenset({"datasets"}),
    load=load,
    cells=cells,
)
