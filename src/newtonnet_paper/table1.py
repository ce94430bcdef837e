"""The comparison of all methods as two claims: on the graphs of the paper's Table 1, and on graphs beyond it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from newtonnet.datasets import CATALOGUE
from newtonnet.datasets import summarise as describe
from newtonnet.search import published

from . import scores
from .cells import HERO, StoredSearch, model_cells, read_all
from .claim import Claim, Line, define_claim
from .exhibit import Finding, Report, Table, Verdict, nothing_stored
from .scores import NAMES, Searches, SplitScores, standing

PAPER_GRAPHS = dict.fromkeys(published.DATASETS, "random")
"""The graphs of Table 1, each with its protocol."""

BEYOND_GRAPHS = {
    "chameleon-filtered": "fixed",
    "squirrel-filtered": "fixed",
    "cornell-corrected": "random",
    "minesweeper": "random",
    "amazon-computers": "random",
    "amazon-photo": "random",
    "johnshopkins55": "random",
    "cornell5": "random",
}
"""Graphs without duplicates, with corrected data, and larger ones; the filtered graphs have published splits."""

_BEYOND_STATEMENT = "NewtonNet also leads on graphs that the paper does not have (nested selection)"


def by_cell(lines: Sequence[Line]) -> dict[tuple[str, str], StoredSearch]:
    """Stored searches by data set and model."""
    return {(line["stored"].dataset, line["stored"].model): line["stored"] for line in lines}


def summarise_paper(lines: Sequence[Line]) -> Report:
    """Both selections, intervals and tests of every stored cell, and the paper's numbers."""
    there = by_cell(lines)
    if not there:
        return nothing_stored("NewtonNet reaches the published accuracy", "Table 1", bare=True)
    done = _searched(there, PAPER_GRAPHS)
    absent = [name for name in PAPER_GRAPHS if name not in done and not describe(name).available]
    made = scores.how_made(list(there.values()))
    fill = "; ".join(f"{name}: `{_command('table1', name)}`" for name in absent)
    matrix = scores.overview(
        there,
        {name: "data not available" if name in absent else "" for name in PAPER_GRAPHS},
        title="All methods on all graphs",
        notes=[
            "Test score in percent by the paper's selection; in brackets the paper's own mean. "
            f"{scores.SUPERSCRIPTS} {made}",
            *[f"Data not available; put the files in $NEWTONNET_DATA and fill a row with: {fill}"] * bool(fill),
            f"Command: `{_command('table1')}`",
        ],
    )
    ours = scores.newtonnet_table(there, done, made, *_warnings(done))
    effort = scores.effort_table(there, done, command=_command("table1"))
    return _report("table1", there, (_reaches(there, done), _leads(there, done)), (matrix, ours, effort), done)


def summarise_beyond(lines: Sequence[Line]) -> Report:
    """The same tables as for the paper's graphs, without published numbers."""
    there = by_cell(lines)
    if not there:
        return nothing_stored(_BEYOND_STATEMENT, "not tested", bare=True)
    done = _searched(there, BEYOND_GRAPHS)
    matrix = scores.overview(
        there,
        {name: f"{protocol} splits" if name in done else "not searched" for name, protocol in BEYOND_GRAPHS.items()},
        title="Graphs that the paper does not have",
        notes=[
            f"Test score in percent by the paper's selection{' (ROC-AUC on minesweeper)' * ('minesweeper' in done)}. "
            f"{scores.SUPERSCRIPTS} A dash: not searched; the command below does it. "
            + scores.how_made(list(there.values())),
            *_warnings(done),
            f"Command: `{_command('beyond')}`",
        ],
    )
    ours = scores.newtonnet_table(there, done)
    effort = scores.effort_table(there, list(BEYOND_GRAPHS), command=_command("beyond"))
    found = standing(there, done)
    finding = Finding(_BEYOND_STATEMENT, str(found), "not tested", found.verdict(found.whole))
    return _report("beyond", there, (finding,), (matrix, ours, effort), done)


def _searched(there: Searches, graphs: Iterable[str]) -> list[str]:
    return [dataset for dataset in graphs if any(name == dataset for name, _ in there)]


def _report(
    claim: str, there: Searches, findings: tuple[Finding, ...], tables: tuple[Table, ...], done: Sequence[str]
) -> Report:
    """The given tables, the first of them as headline, and a table for each graph."""
    own = (scores.graph_table(there, name, command=_command(claim, name)) for name in done)
    all_tables = (*tables, *(table for table in own if table is not None))
    return Report(findings, tables=all_tables, data=scores.as_json(there), bare=True, headline=tables[0])


def _warnings(datasets: Sequence[str]) -> list[str]:
    return [f"{name}: {'; '.join(CATALOGUE[name].warnings)}." for name in datasets if CATALOGUE[name].warnings]


def _command(claim: str, dataset: str = "") -> str:
    return f"newtonnet-paper reproduce {claim} --profile paper" + f" --datasets {dataset}" * bool(dataset)


def falls_short(ours: float, theirs: tuple[float, float]) -> bool:
    """Whether a score is below the paper's mean less half its standard deviation."""
    return ours < theirs[0] - theirs[1] / 2


def reaches(statement: str, known: Mapping[str, tuple[SplitScores, str]]) -> Finding:
    """Whether NewtonNet reaches the published accuracy; ``known`` maps a graph to our score and the settings tried."""
    rule = "reached: our mean is at least the paper's − std/2; short: our whole 95% interval is below that"
    if not known:
        return Finding(statement, "no trials of NewtonNet", rule, Verdict.OPEN)
    short = [
        f"{name} ({one.mean:.2f} {one.interval}, {tried}; the paper {scores.published_text(name)})"
        for name, (one, tried) in known.items()
        if falls_short(one.high, published.SCORES[name, HERO])
    ]
    reached = [name for name, (one, _) in known.items() if not falls_short(one.mean, published.SCORES[name, HERO])]
    names = f" ({', '.join(reached)})" if reached else ""
    ours = f"reached on {len(reached)} of {len(known)} graphs{names}; short on {len(short)}"
    ours += f": {'; '.join(short)}" if short else ""
    if short:
        return Finding(statement, ours, rule, Verdict.PARTLY if reached else Verdict.FAILS)
    return Finding(statement, ours, rule, Verdict.HOLDS if len(reached) == len(known) else Verdict.UNSURE)


def _reaches(there: Searches, done: Sequence[str]) -> Finding:
    found = {name: scores.scores_of(there, name, "nested").get(HERO) for name in done}
    known = {
        name: (one, f"{len(there[name, HERO].trials)} settings tried") for name, one in found.items() if one is not None
    }
    return reaches("NewtonNet reaches the published accuracy (nested selection)", known)


def _leads(there: Searches, done: Sequence[str]) -> Finding:
    found = standing(there, done)
    led = [name for name in found.whole if max(NAMES, key=lambda model: published.SCORES[name, model][0]) == HERO]
    statement = "NewtonNet has the best score of all methods (nested selection)"
    return Finding(statement, str(found), f"first on {len(led)} of these {len(found.whole)}", found.verdict(led))


def _claim(name: str, graphs: Mapping[str, str], summarise: Callable[[Sequence[Line]], Report]) -> Claim:
    """Every method on every graph; NewtonNet is searched first, since all others are tested against it."""
    cells = partial(model_cells, graphs, sorted(NAMES, key=lambda model: model != HERO))
    return define_claim(name, summarise, load=partial(read_all, graphs=graphs, models=NAMES), cells=cells)


TABLE1 = _claim("table1", PAPER_GRAPHS, summarise_paper)

BEYOND = _claim("beyond", BEYOND_GRAPHS, summarise_beyond)
