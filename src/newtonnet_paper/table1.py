"""The comparison of all methods as two claims: on the graphs of the paper's Table 1, and on graphs beyond it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from newtonnet.datasets import CATALOGUE
from newtonnet.datasets import summarise as describe
from newtonnet.search import published

from . import scores
from .cells import HERO, StoredSearch, chosen_datasets, model_cells, read_all
from .claim import Line, Request, Unit, define_claim, own_lines
from .exhibit import Finding, Report, Table, Value, Verdict, make_table, nothing_stored
from .final import EPOCHS, Final, chosen_settings, final_hours, final_units, read_finals, seeds_of
from .scores import NAMES, Searches, SplitScores, standing

PAPER_GRAPHS = dict.fromkeys(published.DATASETS, "random")
"""The graphs of Table 1, each with its protocol."""

BEYOND_GRAPHS = {
    "chameleon-filtered": "fixed",
    "squirrel-filtered": "fixed",
    "cornell-corrected": "random",
    "minesweeper": "random",
    "tolokers": "fixed",
    "amazon-computers": "random",
    "amazon-photo": "random",
    "johnshopkins55": "random",
    "cornell5": "random",
}
"""Graphs without duplicates, with corrected data, and larger ones; the filtered graphs have published splits."""

_BEYOND_STATEMENT = "NewtonNet also leads on graphs that the paper does not have (nested selection)"


def by_cell(lines: Sequence[Line]) -> dict[tuple[str, str], StoredSearch]:
    """Stored lists by data set and model."""
    return {(line["stored"].dataset, line["stored"].model): line["stored"] for line in lines if "stored" in line}


def summarise_paper(lines: Sequence[Line]) -> Report:
    """Both selections, intervals and tests of every stored cell, and the paper's numbers."""
    there = by_cell(lines)
    if not there:
        return nothing_stored("NewtonNet reaches the published accuracy", "Table 1", bare=True)
    finals = read_finals([line["final"] for line in lines if "final" in line], chosen_settings(there))
    done = _searched(there, PAPER_GRAPHS)
    absent = [name for name in PAPER_GRAPHS if name not in done and not describe(name).available]
    made = scores.how_made(list(there.values()))
    fill = "; ".join(f"{name}: `{_command('table1', name)}`" for name in absent)
    matrix = scores.overview(
        there,
        {name: "data not available" if name in absent else _unequal(there, name) for name in PAPER_GRAPHS},
        finals={cell: final.scores for cell, final in finals.items()},
        title="All methods on all graphs",
        notes=[
            "Test score in percent; in brackets the paper's own mean. Every method tries a list of settings that was "
            "drawn before any score was seen, equally many on a graph; the one with the best mean validation score "
            f"is to be trained again for {EPOCHS} epochs without early stopping, and the score is then the mean of "
            f"these trainings (so far: {_seeds_text(finals)}). Lists: {made}",
            *scores.chebnetii_note(there, done),
            *[f"Data not available; put the files in $NEWTONNET_DATA and fill a row with: {fill}"] * bool(fill),
            f"Command: `{_command('table1')}`",
        ],
    )
    ours = scores.newtonnet_table(there, done, made, *_warnings(done))
    effort = scores.effort_table(there, done, command=_command("table1"))
    tables = (matrix, ours, *_variance_table(finals), effort)
    short = scores.short_table(there, done, {cell: final.scores for cell, final in finals.items()})
    report = _report("table1", there, (_reaches(there, done), _leads(there, done)), tables, done, finals)
    return replace(report, headline=short)


def _unequal(there: Searches, dataset: str) -> str:
    """A remark where the methods of a graph have not tried equally many settings yet."""
    counts = [len(stored.trials) for (name, _), stored in there.items() if name == dataset]
    return f"{min(counts)} to {max(counts)} settings so far" if len(set(counts)) > 1 else ""


def _seeds_text(finals: Mapping[tuple[str, str], Final]) -> str:
    """Numbers of seeds with their graphs, for people."""
    graphs: dict[int, list[str]] = {}
    for name in dict.fromkeys(dataset for dataset, _ in finals):
        graphs.setdefault(seeds_of(name), []).append(name)
    texts = (f"{seeds} seed{'s' * (seeds > 1)} on {', '.join(names)}" for seeds, names in graphs.items())
    return "; ".join(texts) or "none"


def _variance_table(finals: Mapping[tuple[str, str], Final]) -> list[Table]:
    """How much of the variance is the split, the seed and rounding: of NewtonNet, and the mean over all methods."""
    rows: list[dict[str, Value]] = []
    for name in dict.fromkeys(dataset for dataset, _ in finals):
        shares = {model: final.shares for (graph, model), final in finals.items() if graph == name and final.shares}
        groups = {NAMES[HERO]: [shares[HERO]] if HERO in shares else [], "all methods": list(shares.values())}
        for who, found in groups.items():
            if found:
                split, seed = (100 * sum(one[i] or 0 for one in found) / len(found) for i in (0, 1))
                known = [one[2] for one in found if one[2] is not None]
                rounding = f"{100 * sum(known) / len(known):.0f}%" if known else None
                rows.append(
                    {
                        "graph": name,
                        "method": who,
                        "split": f"{split:.0f}%",
                        "seed": f"{seed:.0f}%",
                        "rounding": rounding,
                        "seeds": seeds_of(name),
                    }
                )
    note = (
        "Share of the variance of one training's test score. Rounding: the first training again with a learning rate "
        "that differs in the last digit; where it was not repeated, its share is part of the seed's."
    )
    return [make_table("Where the variance comes from", rows, note)] if rows else []


def summarise_beyond(lines: Sequence[Line]) -> Report:
    """The same tables as for the paper's graphs, without published numbers."""
    there = by_cell(lines)
    if not there:
        return nothing_stored(_BEYOND_STATEMENT, "not tested", bare=True)
    done = _searched(there, BEYOND_GRAPHS)
    matrix = scores.overview(
        there,
        {name: f"{protocol} splits" if name in done else "not tried" for name, protocol in BEYOND_GRAPHS.items()},
        title="Graphs that the paper does not have",
        notes=[
            f"Test score in percent by the paper's selection{' (ROC-AUC on minesweeper)' * ('minesweeper' in done)}. "
            "A dash: not tried; the command below does it. " + scores.how_made(list(there.values())),
            *scores.chebnetii_note(there, done),
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
    claim: str,
    there: Searches,
    findings: tuple[Finding, ...],
    tables: tuple[Table, ...],
    done: Sequence[str],
    finals: Mapping[tuple[str, str], Final] | None = None,
) -> Report:
    """The given tables, the first of them as headline, and a table for each graph."""
    trained = {cell: (final.seeds, final.scores) for cell, final in (finals or {}).items()}
    own = (scores.graph_table(there, name, command=_command(claim, name)) for name in done)
    all_tables = (*tables, *(table for table in own if table is not None))
    return Report(findings, tables=all_tables, data=scores.as_json(there, trained), bare=True, headline=tables[0])


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


def load(results: Path) -> list[Line]:
    """What is stored of every list, and every final training."""
    finals = [{"final": line} for line in own_lines(TABLE1, results)]
    return [*read_all(results, PAPER_GRAPHS, NAMES), *finals]


def after(request: Request, results: Path) -> list[Unit]:
    """The final trainings of the paper's profile."""
    return final_units(chosen_datasets(request, list(PAPER_GRAPHS)), results) if request.profile == "paper" else []


def plan(request: Request, results: Path) -> list[str]:
    """How long the final trainings take."""
    if request.profile != "paper":
        return []
    count, hours = final_hours(chosen_datasets(request, list(PAPER_GRAPHS)), own_lines(TABLE1, results), results)
    return [f"{count} final trainings of {EPOCHS} epochs: about {hours:.2f} h of one core"] if count else []


# NewtonNet comes first, since all others are tested against it.
_METHODS = sorted(NAMES, key=lambda model: model != HERO)

TABLE1 = define_claim(
    "table1",
    summarise_paper,
    load=load,
    cells=partial(model_cells, PAPER_GRAPHS, _METHODS),
    after=after,
    plan=plan,
)

BEYOND = define_claim(
    "beyond",
    summarise_beyond,
    load=partial(read_all, graphs=BEYOND_GRAPHS, models=NAMES),
    cells=partial(model_cells, BEYOND_GRAPHS, _METHODS),
)
