"""Models in several arms on the same graphs and splits, each searched equally long: what one has over another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from newtonnet.datasets import CATALOGUE
from newtonnet.search import Space
from newtonnet.search.published import SCORES
from newtonnet.training.statistics import SIGNIFICANT, Estimate, holm

from .cells import Cell
from .claim import Claim, Request
from .exhibit import FAILS, HOLDS, OPEN, PARTLY, UNSURE, Finding, Report, Table
from .exhibit import Cell as Entry
from .results import Line
from .score_tables import HERO
from .scores import equal_searches, gain, how_made, score
from .stored import Stored, read_stored
from .table1 import FEW, QUICK, chosen_datasets

UNPUBLISHED = "not in the paper"


@dataclass(frozen=True)
class Arm:
    """One of the models that are compared.

    Attributes:
        title: what tables call it.
        model: by its name in the zoo.
        label: of its search; none for the search of the model by itself.
        fixed: what every setting of it has.
        space: what is varied; the model's own space if not given.
    """

    title: str
    model: str = HERO
    label: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    space: Space | None = None


@dataclass(frozen=True)
class Contest:
    """A statement that one arm is better than another, both by their titles."""

    statement: str
    ours: str
    theirs: str


def claim_of_arms(
    name: str,
    graphs: Mapping[str, str],
    *,
    arms: Sequence[Arm],
    contests: Sequence[Contest],
    statement: str,
    title: str,
    remark: str,
) -> Claim:
    """A claim that the paper does not make: what an arm has over another, after equally many settings of all.

    Args:
        name: what ``newtonnet reproduce`` calls it.
        graphs: the graphs, each with its protocol.
        arms: all that are searched; one without a label is the search of its model by itself, which other tables show.
        contests: the statements, which Holm counts together.
        statement: the claim in one sentence.
        title: of the table.
        remark: what to know of the arms.
    """

    def cells(request: Request, results: Path) -> list[Cell]:
        trials = QUICK if request.profile == "quick" else FEW
        return [
            Cell(dataset, arm.model, trials, arm.label, protocol=graphs[dataset], fixed=arm.fixed, space=arm.space)
            for dataset in chosen_datasets(request, list(graphs))
            for arm in arms
        ]

    def summarise(lines: Sequence[Line]) -> Report:
        return _compare(
            lines, contests, title=title, remark=remark, command=f"newtonnet reproduce {name} --profile paper"
        )

    return Claim(
        name=name,
        statement=statement,
        place=UNPUBLISHED,
        units=lambda request: (),
        summarise=summarise,
        options=frozenset({"datasets"}),
        load=lambda results: _load(results, arms, graphs),
        cells=cells,
    )


def _load(results: Path, arms: Sequence[Arm], graphs: Mapping[str, str]) -> list[Line]:
    """Graphs of which all arms are stored, each with as many settings as the shortest search, by their titles."""
    lines: list[Line] = []
    for dataset, protocol in graphs.items():
        found = {
            arm.title: read_stored(results, dataset, arm.model, label=arm.label, protocol=protocol) for arm in arms
        }
        there = {title: stored for title, stored in found.items() if stored is not None}
        equal = equal_searches(*there.values()) if len(there) == len(arms) else None
        if equal is not None:
            lines.append(dict(zip(there, equal, strict=True)))
    return lines


def _compare(lines: Sequence[Line], contests: Sequence[Contest], *, title: str, remark: str, command: str) -> Report:
    """The scores of all arms by both selections, and the differences that the statements are about, nested."""
    if not lines:
        return Report((Finding(contests[0].statement, "nothing stored", UNPUBLISHED, OPEN),))
    rows: list[tuple[Entry, ...]] = []
    gains: list[dict[str, Estimate]] = [{} for _ in contests]
    known = any((_dataset(line), HERO) in SCORES for line in lines)
    for line in lines:
        dataset = _dataset(line)
        for own, contest in zip(gains, contests, strict=True):
            found = gain(line[contest.ours], line[contest.theirs], "nested")
            if found is not None:
                own[dataset] = found
        shown = (score(stored, selection) for stored in line.values() for selection in ("paper", "nested"))
        paper = SCORES.get((dataset, HERO))
        rows.append(
            (
                dataset,
                *(None if one is None else str(one) for one in shown),
                *(own[dataset].signed if dataset in own else None for own in gains),
                *((None if paper is None else f"{paper[0]:.2f} ± {paper[1]:.1f}",) * known),
                len(next(iter(line.values())).trials),
            )
        )
    columns = (
        "graph",
        *(name for arm in lines[0] for name in (arm, "nested")),
        *(f"{contest.ours} − {contest.theirs}" for contest in contests),
        *(("NewtonNet, the paper",) * known),
        "settings",
    )
    return Report(
        tuple(
            _finding(contest.statement, own, beside=[other for other in gains if other is not own])
            for contest, own in zip(contests, gains, strict=True)
        ),
        tables=(Table(title, columns, tuple(rows), _notes(lines, remark, command)),),
        data={
            f"{contest.ours} − {contest.theirs}": {name: [one.mean, one.low, one.high] for name, one in own.items()}
            for contest, own in zip(contests, gains, strict=True)
        },
    )


def _notes(lines: Sequence[Line], remark: str, command: str) -> tuple[str, ...]:
    stored: list[Stored] = [one for line in lines for one in line.values()]
    entries = [CATALOGUE[_dataset(line)] for line in lines]
    other = ", ".join(entry.name for entry in entries if entry.metric == "roc_auc")
    return (
        f"Test score in percent{f' (ROC-AUC on {other})' * bool(other)}. {how_made(stored)} Differences by nested "
        "selection, paired by split, with 95% intervals by the variance of Nadeau and Bengio; verdicts are by Holm "
        f"over all of them. {remark}",
        *(f"{entry.name}: {'; '.join(entry.warnings)}." for entry in entries if entry.warnings),
        f"Command: `{command}`",
    )


def _dataset(line: Line) -> str:
    return str(next(iter(line.values())).dataset)


def _finding(statement: str, gains: Mapping[str, Estimate], *, beside: Sequence[Mapping[str, Estimate]]) -> Finding:
    ours = "; ".join(f"{name} {one.signed}" for name, one in gains.items())
    named = f"{statement} ({', '.join(gains)})" if gains else statement
    others = [one for other in beside for one in other.values()]
    return Finding(named, ours or "no scores", UNPUBLISHED, judge_gains(list(gains.values()), beside=others))


def judge_gains(gains: Sequence[Estimate], *, beside: Sequence[Estimate] = ()) -> str:
    """The verdict on gains that should all be above 0: not certain where none is clear, by Holm over all of them.

    Args:
        gains: one for each graph.
        beside: gains that another statement of the same claim is judged by, which Holm counts too.

    >>> found = ((2.0, 0.001), (0.5, 0.3), (-2.0, 0.001))
    >>> up, flat, down = (Estimate(mean, mean - 1, mean + 1, p, splits=10) for mean, p in found)
    >>> judge_gains([up, up]), judge_gains([up, flat]), judge_gains([flat, flat]), judge_gains([up, down])
    ('holds', 'holds in part', 'not certain', 'does not hold')
    """
    if not gains:
        return OPEN
    adjusted = holm([gain.p for gain in (*gains, *beside)])
    clear = [gain.mean for gain, p in zip(gains, adjusted, strict=False) if p < SIGNIFICANT]
    if any(mean < 0 for mean in clear):
        return FAILS
    better = len(clear)
    return HOLDS if better == len(gains) else PARTLY if better else UNSURE
