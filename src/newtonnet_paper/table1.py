"""The paper's main table as a claim: eleven methods on its data sets, from the trials of equal searches."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from newtonnet.datasets import CATALOGUE
from newtonnet.datasets import summarise as describe
from newtonnet.search.published import DATASETS, SCORES
from newtonnet.search.settings import UNTOUCHED

from .cells import Cell
from .claim import PROFILES, Claim, Request
from .effort import effort_table
from .exhibit import FAILS, HOLDS, OPEN, PARTLY, UNSURE, Finding, Report, Table
from .results import Line
from .score_tables import HERO, RAISED, Cells, as_json, graph_table, newtonnet_table, overview, scores_of, standing
from .scores import NAMES, Score, how_made
from .stored import Stored, read_stored

QUICK = 4
"""Settings for each cell in a first look; a longer search goes on from them."""
MANY, FEW = 40, 12
SMALL = ("cora", "citeseer", "chameleon", "squirrel", "texas", "cornell")


def trials_of(profile: str, dataset: str) -> int:
    """Settings that a cell tries: 40 on the six small graphs and 12 on the others, or 4 for a first look.

    >>> trials_of("paper", "cora"), trials_of("paper", "pubmed"), trials_of("quick", "cora")
    (40, 12, 4)
    """
    return QUICK if profile == "quick" else MANY if dataset in SMALL else FEW


def full_search(dataset: str) -> int:
    """Settings that a cell of the longest profile tries."""
    return trials_of(PROFILES[-1], dataset)


def chosen_datasets(request: Request, datasets: Sequence[str]) -> list[str]:
    """The graphs that a request names, all at hand if it names none."""
    named = request.options.get("datasets")
    if named is None:
        return [name for name in datasets if describe(name).available]
    for name in named:
        if name not in datasets:
            raise ValueError(f"{name!r} is none of the graphs here: {', '.join(datasets)}")
    return list(dict.fromkeys(named))


def cells(request: Request, results: Path) -> list[Cell]:
    """Every method on every graph that is asked for; NewtonNet first, which all others are tested against."""
    names = chosen_datasets(request, DATASETS)
    models = [HERO, *(model for model in NAMES if model != HERO)]
    return [Cell(dataset, model, trials_of(request.profile, dataset)) for dataset in names for model in models]


def load(results: Path) -> list[Line]:
    """What is stored of every cell."""
    return stored_lines(results, [(dataset, "random") for dataset in DATASETS])


def stored_lines(results: Path, graphs: Sequence[tuple[str, str]]) -> list[Line]:
    """What is stored of every method on some graphs, each with its protocol."""
    found = [
        read_stored(results, dataset, model, protocol=protocol)
        for dataset, protocol in graphs
        if dataset not in UNTOUCHED
        for model in NAMES
    ]
    return [{"stored": one} for one in found if one is not None]


def summarise(lines: Sequence[Line]) -> Report:
    """Both selections, intervals and tests of every cell that is stored, beside the paper's numbers."""
    there = by_cell(lines)
    if not there:
        return Report((_nothing(),), data={}, bare=True)
    done = [dataset for dataset in DATASETS if any(name == dataset for name, _ in there)]
    remarks = {name: "data not at hand" for name in DATASETS if name not in done and not describe(name).available}
    made = how_made(list(there.values()))
    fill = "; ".join(f"{name}: `{_command(name)}`" for name in remarks)
    notes = (
        "Test score in percent by the paper's selection; in brackets the paper's own mean. " + RAISED + " " + made,
        *((f"Data not at hand; with its files in $NEWTONNET_DATA a row is filled by: {fill}",) * bool(fill)),
        "Command: `newtonnet reproduce table1 --profile paper`",
    )
    matrix = overview(there, DATASETS, title="All methods on all graphs", remarks=remarks, notes=notes)
    tables = (graph_table(there, dataset, command=_command(dataset)) for dataset in done)
    ours = newtonnet_table(there, done)
    warned = [f"{name}: {'; '.join(CATALOGUE[name].warnings)}." for name in done if CATALOGUE[name].warnings]
    short = Table(ours.title, ours.columns, ours.rows, (made, *warned))
    effort = effort_table(there, done, full_search, command="newtonnet reproduce table1 --profile paper")
    return Report(
        findings=(_reaches(there, done), _leads(there, done)),
        tables=(matrix, short, effort, *(table for table in tables if table is not None)),
        data=as_json(there),
        bare=True,
        headline=matrix,
    )


def by_cell(lines: Sequence[Line]) -> dict[tuple[str, str], Stored]:
    """Stored studies by data set and model."""
    return {(line["stored"].dataset, line["stored"].model): line["stored"] for line in lines}


def falls_short(ours: Score, published: tuple[float, float]) -> bool:
    """Whether the upper end of our interval is below the paper's mean less half its standard deviation."""
    return ours.high < _bound(published)


def _bound(published: tuple[float, float]) -> float:
    """The paper's mean less half its standard deviation."""
    return published[0] - published[1] / 2


def reaches(statement: str, known: Mapping[str, tuple[Score, str]]) -> Finding:
    """Whether NewtonNet reaches the published accuracy, falls short of it, or may do either.

    Args:
        statement: what is claimed.
        known: a graph's name to our score and what was tried for it.
    """
    rule = "reached: our mean is at least the paper's − std/2; short: our whole 95% interval is below that"
    short = [
        f"{name} ({one.mean:.2f} {one.interval}, {tried}; "
        f"the paper {SCORES[name, HERO][0]:.2f} ± {SCORES[name, HERO][1]:.1f})"
        for name, (one, tried) in known.items()
        if falls_short(one, SCORES[name, HERO])
    ]
    if not known:
        return Finding(statement, "no trials of NewtonNet", rule, OPEN)
    reached = [name for name, (one, _) in known.items() if one.mean >= _bound(SCORES[name, HERO])]
    told = f" ({', '.join(reached)})" if reached else ""
    ours = f"reached on {len(reached)} of {len(known)} graphs{told}; short on {len(short)}" + (
        f": {'; '.join(short)}" if short else ""
    )
    if short:
        return Finding(statement, ours, rule, PARTLY if reached else FAILS)
    return Finding(statement, ours, rule, HOLDS if len(reached) == len(known) else UNSURE)


def _reaches(there: Cells, done: Sequence[str]) -> Finding:
    found = {name: scores_of(there, name, "nested").get(HERO) for name in done}
    known = {
        name: (one, f"{len(there[name, HERO].trials)} settings tried") for name, one in found.items() if one is not None
    }
    return reaches("NewtonNet reaches the published accuracy (nested selection)", known)


def _leads(there: Cells, done: Sequence[str]) -> Finding:
    statement = "NewtonNet has the best score of all methods (nested selection)"
    found = standing(there, done)
    led = [name for name in found.whole if max(NAMES, key=lambda model: SCORES[name, model][0]) == HERO]
    ours = str(found) if found.compared else "too few trials"
    return Finding(statement, ours, f"first on {len(led)} of these {len(found.whole)}", found.verdict(led))


def _nothing() -> Finding:
    return Finding("NewtonNet reaches the published accuracy", "nothing stored", "Table 1", OPEN)


def _command(dataset: str) -> str:
    return f"newtonnet reproduce table1 --profile paper --datasets {dataset}"


TABLE1 = Claim(
    name="table1",
    statement="NewtonNet classifies nodes better than ten other methods on graphs of all homophilies.",
    place="Section 6.2, Table 1",
    units=lambda request: (),
    summarise=summarise,
    options=frozenset({"datasets"}),
    load=load,
    cells=cells,
)
