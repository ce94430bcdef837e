"""NewtonNet with and without a part, all searched equally long: regulariser, adjacency branch, signed values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from newtonnet.datasets import CATALOGUE
from newtonnet.search import Space, model_space
from newtonnet.training import Estimate, contrast, holm

from .cells import HERO, Cell, StoredSearch, chosen_datasets, read_stored, trials_of
from .claim import Claim, Line, Request, define_claim
from .exhibit import Finding, Report, Table, Value, Verdict, make_table, nothing_stored
from .scores import equal_searches, gain, gammas_text, how_made, p_text, published_text, score, verdict_on_gains
from .table1 import BEYOND_GRAPHS

UNPUBLISHED = "not in the paper"
NO_GAMMAS = [0.0, 0.0, 0.0]
_INTERVALS = "paired by split, with 95% intervals by the variance of Nadeau and Bengio"

HETEROPHILOUS = ("chameleon", "squirrel", "crocodile")
GRAPHS = ("cora", "citeseer", *HETEROPHILOUS)
WITHOUT = "unregularised"
"""Label of the searches whose gammas are 0."""

_STATEMENT = "Regularisation helps most where homophily is near 1/C"
_PUBLISHED = "Fig. 4: large gains on chameleon, squirrel and crocodile, small ones on cora and citeseer"


def unregularised_space() -> Space:
    """NewtonNet's space where the gammas are 0."""
    return {name: values for name, values in model_space(HERO).items() if name != "variant"}


def cells(request: Request, results: Path) -> list[Cell]:
    """Both arms on every graph; the arm with the regulariser is the search of Table 1."""
    arms = []
    for dataset in chosen_datasets(request, GRAPHS):
        with_ = Cell(dataset, HERO, trials_of(request.profile, dataset))
        arms += [with_, replace(with_, label=WITHOUT, fixed={"gammas": NO_GAMMAS}, space=unregularised_space())]
    return arms


def load(results: Path) -> list[Line]:
    """Graphs of which both arms are stored, each cut to the same number of trials.

    Table 1's search may set all gammas to 0: such trials belong to the arm without, before those of its own search,
    which may have tried the same setting again.
    """
    lines: list[Line] = []
    for dataset in GRAPHS:
        with_, without = (read_stored(results, dataset, HERO, label=label) for label in ("", WITHOUT))
        if with_ is None or without is None:
            continue
        shaped = tuple(trial for trial in with_.trials if any(with_.value(trial, "gammas")))
        bare = [trial for trial in with_.trials if trial not in shaped]
        known = {with_.identity(trial) for trial in bare}
        own = without.first(without.length).trials
        plain = (*bare, *(trial for trial in own if without.identity(trial) not in known))
        count = min(len(shaped), len(plain))
        if count:
            lines.append(
                {"with": replace(with_, trials=shaped[:count]), "without": replace(without, trials=plain[:count])}
            )
    return lines


def summarise(lines: Sequence[Line]) -> Report:
    """The difference between the arms on every graph, by both selections."""
    if not lines:
        return nothing_stored(_STATEMENT, _PUBLISHED)
    gains, nested = (_gains(lines, "with", "without", selection) for selection in ("paper", "nested"))
    adjusted = dict(zip(nested, holm([one.p for one in nested.values()]), strict=True))
    rows: list[dict[str, Value]] = []
    for line in lines:
        dataset = line["with"].dataset
        if dataset in gains and dataset in nested:
            rows.append(
                {
                    "graph": dataset,
                    **{arm: str(score(line[arm])) for arm in line},
                    "difference": gains[dataset].signed,
                    **{f"{arm}, nested": str(score(line[arm], "nested")) for arm in line},
                    "difference, nested": nested[dataset].signed,
                    "p, nested": p_text(adjusted[dataset]),
                    "gammas": gammas_text(line["with"]),
                    "settings": len(line["with"].trials),
                }
            )
    table = make_table(
        "NewtonNet with and without regularisation",
        rows,
        f"Accuracy in percent. {how_made([one for line in lines for one in line.values()])} Both arms have the same "
        "number of settings; trials of Table 1's search with all gammas 0 count for the arm without, before those of "
        "its own search. Gammas are those that the paper's selection chooses. Differences are "
        f"{_INTERVALS}; p-values are adjusted by Holm's method for the number of graphs. The settings of the arm with "
        "include the authors' gammas.",
        "Command: `newtonnet-paper reproduce ablation --profile paper`",
    )
    data = {
        name: {"mean": one.mean, "ci": [one.low, one.high], "p": one.p, "nested": nested[name].mean}
        for name, one in gains.items()
        if name in nested
    }
    statement, verdict = "Regularisation improves accuracy (nested selection)", verdict_on_gains(list(nested.values()))
    helps = Finding(statement, _gains_text(nested), "on all five", verdict)
    return Report((helps, _helps_more(nested)), tables=(table,), data=data)


def _gains(lines: Sequence[Line], ours: str, theirs: str, selection: str = "nested") -> dict[str, Estimate]:
    found = {_place(line): gain(line[ours], line[theirs], selection) for line in lines}
    return {name: one for name, one in found.items() if one is not None}


def _gains_text(gains: Mapping[str, Estimate]) -> str:
    return "; ".join(f"{name} {one.signed}" for name, one in gains.items()) or "no scores"


def _helps_more(gains: dict[str, Estimate]) -> Finding:
    near = [one for name, one in gains.items() if name in HETEROPHILOUS]
    far = [one for name, one in gains.items() if name not in HETEROPHILOUS]
    if not near or not far:
        return Finding(_STATEMENT, "not all graphs are stored", _PUBLISHED, Verdict.OPEN)
    mean_near, mean_far = (sum(one.mean for one in group) / len(group) for group in (near, far))
    more = contrast(near, far)
    ours = (
        f"mean gain {mean_near:+.2f} on {len(near)} heterophilous graphs, {mean_far:+.2f} on {len(far)} homophilous, "
        f"difference {more.signed} on these graphs"
    )
    return Finding(_STATEMENT, ours, _PUBLISHED, Verdict.by_interval(more.low, more.high))


ABLATION = define_claim("ablation", summarise, load=load, cells=cells)


@dataclass(frozen=True)
class Arm:
    """One of the models that are compared, by its title in tables; its other fields are those of a ``Cell``."""

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


@dataclass(frozen=True)
class ArmStudy:
    """A claim that the paper does not make: the difference between arms after the same number of settings.

    Attributes:
        graphs: the graphs, each with its protocols.
        contests: the statements, which Holm's method counts together.
        title: title of the table.
        remark: a note below the table.
        trials: settings of each arm; by default those of the graph's lists.
    """

    name: str
    graphs: Mapping[str, tuple[str, ...]]
    arms: tuple[Arm, ...]
    contests: tuple[Contest, ...]
    title: str
    remark: str
    trials: int | None = None


def claim_of_arms(study: ArmStudy) -> Claim:
    """The claim of a comparison of arms."""
    return define_claim(study.name, partial(_compare, study), load=partial(_load, study), cells=partial(_cells, study))


def _cells(study: ArmStudy, request: Request, results: Path) -> list[Cell]:
    made = []
    for dataset in chosen_datasets(request, list(study.graphs)):
        trials = trials_of(request.profile, dataset)
        trials = trials if study.trials is None else min(trials, study.trials)
        for protocol, arm in product(study.graphs[dataset], study.arms):
            made.append(Cell(dataset, arm.model, trials, arm.label, protocol, fixed=arm.fixed, space=arm.space))
    return made


def _load(study: ArmStudy, results: Path) -> list[Line]:
    """Graphs of which all arms are stored, by the arms' titles, cut to the same number of settings."""
    lines: list[Line] = []
    for dataset, protocol in ((name, one) for name, protocols in study.graphs.items() for one in protocols):
        found = [read_stored(results, dataset, arm.model, label=arm.label, protocol=protocol) for arm in study.arms]
        there = [stored for stored in found if stored is not None]
        equal = equal_searches(*there) if len(there) == len(study.arms) else None
        if equal is not None:
            lines.append(dict(zip((arm.title for arm in study.arms), equal, strict=True)))
    return lines


def _compare(study: ArmStudy, lines: Sequence[Line]) -> Report:
    """The scores of all arms by both selections, and the differences that the statements are about, nested."""
    if not lines:
        return nothing_stored(study.contests[0].statement, UNPUBLISHED)
    gains = {f"{one.ours} − {one.theirs}": _gains(lines, one.ours, one.theirs) for one in study.contests}
    theirs = {_place(line): _published(line) for line in lines}
    known = any(theirs.values())
    rows: list[tuple[Value, ...]] = []
    for line in lines:
        dataset = _place(line)
        found = (score(stored, selection) for stored in line.values() for selection in ("paper", "nested"))
        rows.append(
            (
                dataset,
                *(None if one is None else str(one) for one in found),
                *(own[dataset].signed if dataset in own else None for own in gains.values()),
                *((theirs[dataset],) * known),
                len(next(iter(line.values())).trials),
            )
        )
    arms = (name for arm in lines[0] for name in (arm, "nested"))
    columns = ("graph", *arms, *gains, *(("NewtonNet, the paper",) * known), "settings")
    findings = []
    for contest, own in zip(study.contests, gains.values(), strict=True):
        statement = f"{contest.statement} ({', '.join(own)})" if own else contest.statement
        others = [one for other in gains.values() if other is not own for one in other.values()]
        verdict = verdict_on_gains(list(own.values()), others=others)
        findings.append(Finding(statement, _gains_text(own), UNPUBLISHED, verdict))
    return Report(
        tuple(findings),
        tables=(Table(study.title, columns, tuple(rows), _notes(study, lines)),),
        data={
            name: {graph: [one.mean, one.low, one.high] for graph, one in own.items()} for name, own in gains.items()
        },
    )


def _notes(study: ArmStudy, lines: Sequence[Line]) -> tuple[str, ...]:
    stored: list[StoredSearch] = [one for line in lines for one in line.values()]
    entries = [CATALOGUE[name] for name in dict.fromkeys(one.dataset for one in stored)]
    other = ", ".join(entry.name for entry in entries if entry.metric == "roc_auc")
    return (
        f"Test score in percent{f' (ROC-AUC on {other})' * bool(other)}. {how_made(stored)} Differences are by nested "
        f"selection, {_INTERVALS}; verdicts use p-values adjusted by Holm's method for all of them. {study.remark}",
        *(f"{entry.name}: {'; '.join(entry.warnings)}." for entry in entries if entry.warnings),
        f"Command: `newtonnet-paper reproduce {study.name} --profile paper`",
    )


def _place(line: Line) -> str:
    """The graph, and its protocol where it is not the usual one."""
    one: StoredSearch = next(iter(line.values()))
    return one.dataset if one.protocol in ("random", "fixed") else f"{one.dataset} {one.protocol}"


def _published(line: Line) -> str | None:
    one: StoredSearch = next(iter(line.values()))
    return published_text(one.dataset, protocol=one.protocol)


ADJACENCY_BRANCH = claim_of_arms(
    ArmStudy(
        "branch",
        # Where knowing the identity of a node's neighbours helps most.
        dict.fromkeys(HETEROPHILOUS, ("random",)),
        arms=(
            Arm("NewtonNet"),
            Arm("with branch", label="branch", fixed={"branch": 64, "branch_learning_rate": 0.003}),
            Arm("LINKX", "linkx"),  # the origin of the branch
        ),
        contests=(
            Contest("An adjacency branch improves NewtonNet", "with branch", "NewtonNet"),
            Contest("NewtonNet with the branch is better than LINKX", "with branch", "LINKX"),
        ),
        title="NewtonNet with an adjacency branch",
        remark="The branch adds W₂ ReLU(A W₁) to the logits; it has a weight for every node, so the model is "
        "transductive.",
    )
)

SIGNED_VALUES = claim_of_arms(
    ArmStudy(
        "signed",
        # Where the comparison shows NewtonNet significantly behind another method.
        {name: (BEYOND_GRAPHS[name],) for name in ("minesweeper", "johnshopkins55")},
        arms=(
            Arm("NewtonNet"),
            Arm("signed", label="signed", fixed={"nonnegative": False}),
            Arm(
                "signed, no regulariser",
                label="signed-unregularised",
                fixed={"nonnegative": False, "gammas": NO_GAMMAS},
                space=unregularised_space(),
            ),
        ),
        contests=(
            Contest("Filter values of either sign improve NewtonNet", "signed", "NewtonNet"),
            Contest(
                "With signed values NewtonNet is better without the regulariser", "signed, no regulariser", "signed"
            ),
        ),
        title="NewtonNet with filter values of either sign",
        remark="The paper's values are nonnegative. These graphs were chosen after the comparison had shown NewtonNet "
        "behind on them. The search with the regulariser may set its gammas to 0.",
    )
)
