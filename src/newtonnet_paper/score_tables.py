"""Tables of scores: methods on graphs by both selections, with intervals and paired tests against NewtonNet."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from newtonnet.search.published import SCORES
from newtonnet.training.statistics import SIGNIFICANT, Estimate

from .exhibit import FAILS, HOLDS, OPEN, PARTLY, UNSURE, Cell, Table
from .scores import NAMES, Score, against, chance, equal_searches, gammas_text, how_made, score, split_ratio
from .stored import Stored

Cells = Mapping[tuple[str, str], Stored]
"""(dataset, model) to what is stored."""

HERO = "newtonnet"


def as_json(cells: Cells) -> dict[str, dict[str, dict[str, Any]]]:
    """Dataset, then method, to scores in percent; ``mean`` is the paper's selection."""
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for (dataset, model), stored in cells.items():
        paper, nested = score(stored), score(stored, "nested")
        if paper is None or nested is None:
            continue
        published = _published(stored)
        table.setdefault(dataset, {})[model] = {
            "mean": round(paper.mean, 4),
            "std": round(paper.std, 4),
            "ci": [round(paper.low, 4), round(paper.high, 4)],
            "paper": None if published is None else published[0],
            "nested": round(nested.mean, 4),
        }
    return table


def overview(
    cells: Cells, datasets: Sequence[str], *, title: str, remarks: Mapping[str, str], notes: Sequence[str]
) -> Table:
    """Graphs in rows and methods in columns: mean ± std by the paper's selection, the published mean in brackets.

    A search that is shorter than others on its graph has its number of settings raised behind it.

    Args:
        cells: what is stored.
        datasets: the rows.
        title: the table's.
        remarks: a word behind a graph's name.
        notes: below the table.
    """
    rows = []
    for dataset in datasets:
        row: list[Cell] = [f"{dataset} ({remarks[dataset]})" if dataset in remarks else dataset]
        for model in NAMES:
            found = score(cells.get((dataset, model)))
            ours = "–" if found is None else f"{found.mean:.2f} ± {found.std:.1f}"
            published = SCORES.get((dataset, model))
            beside = "" if published is None else f" ({published[0]:.2f})"
            row.append(ours + beside + _raised(cells, dataset, model))
        rows.append(tuple(row))
    return Table(title, ("graph", *NAMES.values()), tuple(rows), tuple(notes))


RAISED = "A raised number: so many settings were tried, fewer than for others on the graph."


def _raised(cells: Cells, dataset: str, model: str) -> str:
    """The number of settings in raised digits where other methods on the graph have more; else nothing."""
    stored = cells.get((dataset, model))
    most = max((len(one.trials) for (name, _), one in cells.items() if name == dataset), default=0)
    if stored is None or stored.exhausted or len(stored.trials) == most:
        return ""
    return " " + str(len(stored.trials)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def newtonnet_table(cells: Cells, datasets: Sequence[str]) -> Table:
    """One row for each graph with trials of NewtonNet: both selections beside the published number."""
    rows = []
    for dataset in datasets:
        stored = cells.get((dataset, HERO))
        paper, nested = score(stored), score(stored, "nested")
        if stored is None or paper is None or nested is None:
            continue
        published = _published(stored)
        rows.append(
            (
                dataset,
                str(paper),
                paper.interval,
                str(nested),
                nested.interval,
                None if published is None else f"{published[0]:.2f} ± {published[1]:.1f}",
                gammas_text(stored),
                len(stored.trials),
            )
        )
    columns = ("graph", *_BOTH, "the paper", "gammas", "settings")
    return Table("NewtonNet", columns, tuple(rows))


_BOTH = ("paper's selection", "95% interval", "nested selection", "95% interval, nested")


def graph_table(cells: Cells, dataset: str, *, command: str) -> Table | None:
    """All methods on one graph, tested against NewtonNet; None where nothing is stored."""
    there = {model: cells[dataset, model] for model in NAMES if (dataset, model) in cells}
    by = {name: _scores(there, name) for name in ("paper", "nested")}
    if not by["paper"]:
        return None
    rows: list[tuple[Cell, ...]] = []
    tests = {name: differences(cells, dataset, name) for name in by}
    for model, stored in there.items():
        if model not in by["paper"]:
            rows.append((NAMES[model], *("failed",) * 9, len(stored.trials)))
            continue
        paper, nested, published = by["paper"][model], by["nested"][model], _published(stored)
        tested = [
            word
            for name in by
            for word in (
                (tests[name][model][0].signed, chance(tests[name][model][1])) if model in tests[name] else (None, None)
            )
        ]
        rows.append(
            (
                NAMES[model],
                str(paper),
                paper.interval,
                str(nested),
                nested.interval,
                None if published is None else f"{published[0]:.2f} ± {published[1]:.1f}",
                *tested,
                len(stored.trials),
            )
        )
    columns = (
        "method",
        *_BOTH,
        "the paper",
        "NewtonNet − method",
        "p",
        "NewtonNet − method, nested",
        "p, nested",
        "settings",
    )
    metric = next(iter(there.values())).study["metric"]
    notes = (
        f"{'ROC-AUC' if metric == 'roc_auc' else 'Accuracy'} in percent. {how_made(list(there.values()))} "
        "Intervals and p by the t distribution with the variance of Nadeau and Bengio; p by Holm over the methods. "
        "Where a search has fewer settings, NewtonNet − method and p take as many of NewtonNet's, its first; one that "
        "has tried its whole space is compared with all of them.",
        f"Command: `{command}`",
    )
    return Table(dataset, columns, tuple(rows), notes)


def differences(cells: Cells, dataset: str, selection: str = "paper") -> Mapping[str, tuple[Estimate, float]]:
    """NewtonNet less every other method of one graph with its adjusted p, both with as many settings tried."""
    there = {model: cells[dataset, model] for model in NAMES if (dataset, model) in cells}
    ours = there.pop(HERO, None)
    if ours is None:
        return {}
    pairs: dict[str, tuple[Score, Score]] = {}
    for model, other in there.items():
        mine, theirs = (score(one, selection) for one in equal_searches(ours, other) or (None, None))
        if mine is not None and theirs is not None:
            pairs[model] = mine, theirs
    return against(pairs, split_ratio(dataset, ours.protocol))


@dataclass(frozen=True)
class Standing:
    """How NewtonNet stands against the other methods, by nested selection and with equal searches.

    Attributes:
        whole: graphs on which every method has a score.
        first: those of them on which no method has a better mean, each with its least lead over another method.
        clear: those of them on which every other method is significantly worse.
        ahead: (graph, method) where NewtonNet is significantly better.
        behind: (graph, method) where it is significantly worse.
        compared: number of pairs.
    """

    whole: tuple[str, ...]
    first: Mapping[str, tuple[str, Estimate]]
    clear: tuple[str, ...]
    ahead: tuple[tuple[str, str], ...]
    behind: tuple[tuple[str, str], ...]
    compared: int

    def verdict(self, led: Collection[str]) -> str:
        """On the statement that NewtonNet is first on these graphs: what may be chance speaks neither way."""
        if not self.compared:
            return OPEN
        clear = set(led) & set(self.clear)
        if clear:
            return HOLDS if clear == set(led) and not self.behind else PARTLY
        return FAILS if self.behind else UNSURE

    def __str__(self) -> str:
        """One line for people."""
        leads = ", ".join(f"{name}: {lead.signed} over {NAMES[model]}" for name, (model, lead) in self.first.items())
        return (
            f"first by mean on {len(self.first)} of the {len(self.whole)} graphs with all methods"
            + (f" ({leads})" if leads else "")
            + f"; of {self.compared} comparisons significantly better in {len(self.ahead)}{_by_graph(self.ahead)}, "
            f"significantly worse in {len(self.behind)}{_by_graph(self.behind)}"
        )


def _by_graph(pairs: Sequence[tuple[str, str]]) -> str:
    """Methods behind their graphs, in brackets."""
    graphs = dict.fromkeys(graph for graph, _ in pairs)
    told = (f"{name}: {', '.join(NAMES[model] for graph, model in pairs if graph == name)}" for name in graphs)
    return f" ({'; '.join(told)})" if pairs else ""


def standing(cells: Cells, datasets: Sequence[str]) -> Standing:
    """NewtonNet against all others on some graphs."""
    tests = {name: differences(cells, name, "nested") for name in datasets}
    pairs = [(name, model, *found) for name, one in tests.items() for model, found in one.items()]
    sure = [(name, model, difference.mean) for name, model, difference, p in pairs if p < SIGNIFICANT]
    whole = tuple(name for name, one in tests.items() if len(one) == len(NAMES) - 1)
    nearest = {name: min(tests[name].items(), key=lambda found: found[1][0].mean) for name in whole}
    first = {name: (model, lead) for name, (model, (lead, _)) in nearest.items() if lead.mean >= 0}
    return Standing(
        whole=whole,
        first=first,
        clear=tuple(name for name in first if all(p < SIGNIFICANT for _, p in tests[name].values())),
        ahead=tuple((name, model) for name, model, mean in sure if mean > 0),
        behind=tuple((name, model) for name, model, mean in sure if mean < 0),
        compared=len(pairs),
    )


def _scores(stored: Mapping[str, Stored], selection: str) -> dict[str, Score]:
    found = {model: score(one, selection) for model, one in stored.items()}
    return {model: one for model, one in found.items() if one is not None}


def scores_of(cells: Cells, dataset: str, selection: str = "paper") -> dict[str, Score]:
    """The methods of one graph that have a score."""
    return _scores({model: cells[dataset, model] for model in NAMES if (dataset, model) in cells}, selection)


def _published(stored: Stored) -> tuple[float, float] | None:
    return SCORES.get((stored.dataset, stored.model)) if stored.protocol == "random" else None
