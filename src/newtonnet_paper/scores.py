"""Scores of stored searches and their tables: both selections in percent, with intervals and paired tests."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from newtonnet.datasets import CATALOGUE
from newtonnet.search import SELECTIONS, Selection, best_trial, published
from newtonnet.training import SIGNIFICANT, Estimate, compare, estimate, holm

from .cells import HERO, Cell, StoredSearch, trials_of
from .exhibit import Table, Value, Verdict, make_table

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

FEWEST = 4
"""Settings that a search needs before it is compared with another, unless its space has no more."""

Searches = Mapping[tuple[str, str], StoredSearch]
"""(dataset, model) to what is stored."""


@dataclass(frozen=True)
class SplitScores:
    """One study's test scores on all splits by one selection, in percent."""

    test: tuple[float | None, ...]
    mean: float
    std: float
    """ddof 0, as in the paper."""
    low: float
    high: float

    def __str__(self) -> str:
        """Mean ± std."""
        return f"{self.mean:.2f} ± {self.std:.2f}"

    @property
    def interval(self) -> str:
        """The 95% interval in brackets."""
        return f"[{self.low:.2f}, {self.high:.2f}]"


def score(stored: StoredSearch | None, selection: str = "paper") -> SplitScores | None:
    """The score of a study by ``paper`` or ``nested`` selection; None where fewer than two splits have one."""
    if stored is None:
        return None
    chosen: Selection = SELECTIONS[selection](stored.trials)
    test = tuple(None if value is None else 100 * value for value in chosen.test)
    found = estimate(test, split_ratio(stored.dataset, stored.protocol))
    if chosen.mean is None or chosen.std is None or found is None:
        return None
    return SplitScores(test, 100 * chosen.mean, 100 * chosen.std, found.low, found.high)


def scores_of(searches: Searches, dataset: str, selection: str = "paper") -> dict[str, SplitScores]:
    """The methods of one graph that have a score."""
    found = {model: score(searches.get((dataset, model)), selection) for model in NAMES}
    return {model: one for model, one in found.items() if one is not None}


def published_text(dataset: str, model: str = HERO, protocol: str = "random") -> str | None:
    """The paper's mean ± std; None where it has none.

    >>> published_text("texas"), published_text("digits")
    ('87.11 ± 3.8', None)
    """
    found = published.SCORES.get((dataset, model)) if protocol == "random" else None
    return None if found is None else f"{found[0]:.2f} ± {found[1]:.1f}"


def gammas_text(stored: StoredSearch) -> str:
    """The gammas of the setting that the paper's selection chooses."""
    return ", ".join(f"{gamma:g}" for gamma in stored.value(best_trial(stored.trials), "gammas"))


_NODES = {"cornell-corrected": 183}
"""Sizes of small graphs without published numbers, where rounding makes the shares inexact."""


def split_ratio(dataset: str, protocol: str) -> float:
    """Test nodes for each training node: by the number of nodes where it is known, else by the protocol's shares.

    >>> split_ratio("texas", "random") == split_ratio("cornell-corrected", "random") == 38 / 109
    True
    """
    entry = CATALOGUE.get(dataset)
    if protocol == "fixed":
        return 0.2 / 0.48 if entry is not None and entry.fixed in ("geom-gcn", "filtered") else 0.5
    twentieths = round(20 * float(protocol.removeprefix("weak-"))) if protocol.startswith("weak-") else 12
    known = None if entry is None else entry.published
    n = _NODES.get(dataset) or (None if known is None else known.nodes)
    if n is None:
        return 4 / twentieths
    train = twentieths * n // 20
    if protocol.startswith("few-") and known is not None:
        train = int(protocol.removeprefix("few-")) * known.classes
    return (n - 6 * n // 10 - 2 * n // 10) / train


def gain(ours: StoredSearch, theirs: StoredSearch, selection: str) -> Estimate | None:
    """The difference of two studies' scores on the same splits, by one selection; None where either has no score."""
    one, other = score(ours, selection), score(theirs, selection)
    if one is None or other is None:
        return None
    return compare(one.test, other.test, split_ratio(ours.dataset, ours.protocol))


def verdict_on_gains(gains: Sequence[Estimate], *, others: Sequence[Estimate] = ()) -> Verdict:
    """The verdict on gains that should all be above 0; Holm's method also counts ``others`` of the same claim.

    >>> found = ((2.0, 0.001), (0.5, 0.3), (-2.0, 0.001))
    >>> up, flat, down = (Estimate(mean, mean - 1, mean + 1, p, splits=10) for mean, p in found)
    >>> [str(verdict_on_gains(gains)) for gains in ([up, up], [up, flat], [flat, flat], [up, down])]
    ['holds', 'holds in part', 'not certain', 'does not hold']
    """
    if not gains:
        return Verdict.OPEN
    adjusted = holm([gain.p for gain in (*gains, *others)])
    clear = [gain.mean for gain, p in zip(gains, adjusted, strict=False) if p < SIGNIFICANT]
    if any(mean < 0 for mean in clear):
        return Verdict.FAILS
    return Verdict.HOLDS if len(clear) == len(gains) else Verdict.PARTLY if clear else Verdict.UNSURE


def against(pairs: Mapping[str, tuple[SplitScores, SplitScores]], ratio: float) -> dict[str, tuple[Estimate, float]]:
    """The difference within every pair on one graph, and its p-value, adjusted by Holm's method for all of them."""
    found = {name: compare(one.test, other.test, ratio) for name, (one, other) in pairs.items()}
    known = {name: difference for name, difference in found.items() if difference is not None}
    adjusted = holm([difference.p for difference in known.values()])
    return {name: (difference, p) for (name, difference), p in zip(known.items(), adjusted, strict=True)}


def equal_searches(*studies: StoredSearch) -> tuple[StoredSearch, ...] | None:
    """The studies cut to the same number of settings, that of the shortest search.

    A search that has tried its whole space would find no more and does not shorten the others. None where one has
    tried too few settings to be compared.
    """
    count = min((stored.length for stored in studies if not stored.exhausted), default=None)
    if count is None:
        return studies
    return tuple(stored.first(count) for stored in studies) if count >= FEWEST else None


def p_text(p: float) -> str:
    """A p-value for people."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def how_made(stored: Sequence[StoredSearch], *, tried: str = "{} settings tried for each cell") -> str:
    """Protocol, splits, number of settings (in the words of ``tried``) and training of some studies."""
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


def as_json(
    searches: Searches, trained: Mapping[tuple[str, str], tuple[int, SplitScores]] | None = None
) -> dict[str, dict[str, dict[str, Any]]]:
    """Dataset, then method, to scores in percent.

    ``mean`` is that of the final trainings, which ``trained`` has with their number of seeds; where there are none,
    ``seeds`` is 0 and ``mean`` is the list's own, by the paper's selection.
    """
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for (dataset, model), stored in searches.items():
        paper, nested = score(stored), score(stored, "nested")
        if paper is None or nested is None:
            continue
        theirs = published.SCORES.get((dataset, model)) if stored.protocol == "random" else None
        seeds, found = (trained or {}).get((dataset, model), (0, paper))
        table.setdefault(dataset, {})[model] = {
            "settings": len(stored.trials),
            "seeds": seeds,
            "mean": round(found.mean, 4),
            "std": round(found.std, 4),
            "ci": [round(found.low, 4), round(found.high, 4)],
            "paper": None if theirs is None else theirs[0],
            "nested": round(nested.mean, 4),
        }
    return table


def overview(
    searches: Searches,
    remarks: Mapping[str, str],
    *,
    finals: Mapping[tuple[str, str], SplitScores] | None = None,
    title: str,
    notes: Sequence[str],
) -> Table:
    """Mean ± std of all methods on the graphs in ``remarks``, and the published mean.

    The score is that of the final trainings, or where there are none the list's own by the paper's selection.
    """
    rows = []
    for dataset, remark in remarks.items():
        row: dict[str, Value] = {"graph": f"{dataset} ({remark})" if remark else dataset}
        for model, name in NAMES.items():
            found = (finals or {}).get((dataset, model)) or score(searches.get((dataset, model)))
            theirs = published.SCORES.get((dataset, model))
            ours = "–" if found is None else f"{found.mean:.2f} ± {found.std:.1f}"
            row[name] = ours + (f" ({theirs[0]:.2f})" if theirs else "")
        rows.append(row)
    return make_table(title, rows, *notes)


def short_table(searches: Searches, datasets: Sequence[str], finals: Mapping[tuple[str, str], SplitScores]) -> Table:
    """One line for each graph: NewtonNet, the paper's number, and the best of the other methods."""
    rows: list[dict[str, Value]] = []
    for dataset in datasets:
        found = {
            **scores_of(searches, dataset),
            **{name: one for (graph, name), one in finals.items() if graph == dataset},
        }
        ours = found.pop(HERO, None)
        best = max(found, key=lambda name: found[name].mean, default=None)
        counts = [len(stored.trials) for (graph, _), stored in searches.items() if graph == dataset]
        rows.append(
            {
                "graph": dataset,
                "NewtonNet": None if ours is None else f"{ours.mean:.1f} ± {ours.std:.1f}",
                "in the paper": None
                if (theirs := published.SCORES.get((dataset, HERO))) is None
                else f"{theirs[0]:.1f}",
                "best other method": None
                if best is None
                else f"{found[best].mean:.1f} ± {found[best].std:.1f} ({NAMES[best]})",
                "settings tried": _span(counts),
            }
        )
    return make_table("Table 1 in short", rows)


def chebnetii_note(searches: Searches, datasets: Sequence[str]) -> list[str]:
    """What ChebNetII is here, where it has a better mean than NewtonNet."""
    found = {name: scores_of(searches, name) for name in datasets}
    ahead = [name for name, one in found.items() if {HERO, "chebnetii"} <= one.keys()]
    ahead = [name for name in ahead if found[name]["chebnetii"].mean > found[name][HERO].mean]
    text = (
        "NewtonNet with Chebyshev points, K = 10 and no regulariser: that is ChebNetII here, which has a higher mean on"
    )
    return [f"{text} {', '.join(ahead)}."] * bool(ahead)


def _both_selections(stored: StoredSearch) -> dict[str, Value] | None:
    """Columns with the scores by both selections and the published one; None where there is no score."""
    paper, nested = score(stored), score(stored, "nested")
    if paper is None or nested is None:
        return None
    return {
        "paper's selection": str(paper),
        "95% interval": paper.interval,
        "nested selection": str(nested),
        "95% interval, nested": nested.interval,
        "the paper": published_text(stored.dataset, stored.model, stored.protocol),
    }


def newtonnet_table(searches: Searches, datasets: Sequence[str], *notes: str) -> Table:
    """One row for each graph with a score of NewtonNet: both selections and the published number."""
    rows: list[dict[str, Value]] = []
    for dataset in datasets:
        stored = searches.get((dataset, HERO))
        found = None if stored is None else _both_selections(stored)
        if stored is not None and found is not None:
            rows.append({"graph": dataset, **found, "gammas": gammas_text(stored), "settings": len(stored.trials)})
    return make_table("NewtonNet", rows, *notes)


def graph_table(searches: Searches, dataset: str, *, command: str) -> Table | None:
    """All methods on one graph, tested against NewtonNet; None where nothing is stored."""
    there = {model: searches[dataset, model] for model in NAMES if (dataset, model) in searches}
    found = {model: _both_selections(stored) for model, stored in there.items()}
    if not any(found.values()):
        return None
    tests = {suffix: differences(searches, dataset, name) for name, suffix in (("paper", ""), ("nested", ", nested"))}
    example = next(columns for columns in found.values() if columns)
    rows: list[dict[str, Value]] = []
    for model, stored in there.items():
        failed = found[model] is None
        row: dict[str, Value] = {"method": NAMES[model], **(found[model] or dict.fromkeys(example, "failed"))}
        for suffix, tested in tests.items():
            gap, p = tested.get(model, (None, 1.0))
            row[f"NewtonNet − method{suffix}"] = "failed" if failed else None if gap is None else gap.signed
            row[f"p{suffix}"] = "failed" if failed else None if gap is None else p_text(p)
        rows.append({**row, "settings": len(stored.trials)})
    metric = next(iter(there.values())).study["metric"]
    return make_table(
        dataset,
        rows,
        f"{'ROC-AUC' if metric == 'roc_auc' else 'Accuracy'} in percent. {how_made(list(there.values()))} Intervals "
        "and p-values use the t distribution with the variance of Nadeau and Bengio; p-values are adjusted by Holm's "
        "method for the number of methods on this graph; the findings adjust them for all graphs. Where a search has "
        "fewer settings than NewtonNet's, NewtonNet − method and p use only as many of NewtonNet's, its "
        "first; a search that has tried its whole space is compared with all.",
        *chebnetii_note(searches, [dataset]),
        f"Command: `{command}`",
    )


def differences(searches: Searches, dataset: str, selection: str = "paper") -> Mapping[str, tuple[Estimate, float]]:
    """NewtonNet less every other method of one graph with the adjusted p, both with the same number of settings."""
    there = {model: searches[dataset, model] for model in NAMES if (dataset, model) in searches}
    ours = there.pop(HERO, None)
    if ours is None:
        return {}
    pairs: dict[str, tuple[SplitScores, SplitScores]] = {}
    for model, other in there.items():
        mine, theirs = (score(one, selection) for one in equal_searches(ours, other) or (None, None))
        if mine is not None and theirs is not None:
            pairs[model] = mine, theirs
    return against(pairs, split_ratio(dataset, ours.protocol))


@dataclass(frozen=True)
class Standing:
    """NewtonNet compared with the other methods, by nested selection and with equal searches.

    Attributes:
        whole: graphs on which every method has a score.
        first: those of them on which no method has a better mean, each with the smallest lead over another method.
        clear: those of them on which every other method is significantly worse.
        ahead: (graph, method) where NewtonNet is significantly better, by Holm's method over all pairs.
        behind: (graph, method) where it is significantly worse, likewise.
        compared: number of pairs.
        by_graph: how many are better and worse by Holm's method over the pairs of each graph alone.
    """

    whole: tuple[str, ...]
    first: Mapping[str, tuple[str, Estimate]]
    clear: tuple[str, ...]
    ahead: tuple[tuple[str, str], ...]
    behind: tuple[tuple[str, str], ...]
    compared: int
    by_graph: tuple[int, int] = (0, 0)

    def verdict(self, led: Collection[str]) -> Verdict:
        """The verdict on "NewtonNet is first on these graphs"; differences that may be chance do not count."""
        if not self.compared:
            return Verdict.OPEN
        clear = set(led) & set(self.clear)
        if clear:
            return Verdict.HOLDS if clear == set(led) and not self.behind else Verdict.PARTLY
        return Verdict.FAILS if self.behind else Verdict.UNSURE

    def __str__(self) -> str:
        """One line for people."""
        if not self.compared:
            return "too few trials"
        leads = ", ".join(f"{name}: {lead.signed} over {NAMES[model]}" for name, (model, lead) in self.first.items())
        return (
            f"first by mean on {len(self.first)} of the {len(self.whole)} graphs with all methods"
            + (f" ({leads})" if leads else "")
            + f"; of {self.compared} comparisons significantly better in {len(self.ahead)}{_by_graph(self.ahead)}, "
            f"significantly worse in {len(self.behind)}{_by_graph(self.behind)}, by Holm's method over all of them; "
            "over those of each graph alone better in {} and worse in {}".format(*self.by_graph)
        )


def _by_graph(pairs: Sequence[tuple[str, str]]) -> str:
    """Graphs with their methods, in brackets."""
    graphs = dict.fromkeys(graph for graph, _ in pairs)
    texts = (f"{name}: {', '.join(NAMES[model] for graph, model in pairs if graph == name)}" for name in graphs)
    return f" ({'; '.join(texts)})" if pairs else ""


def standing(searches: Searches, datasets: Sequence[str]) -> Standing:
    """NewtonNet against all others on some graphs."""
    tests = {name: differences(searches, name, "nested") for name in datasets}
    pairs = [(name, model, *found) for name, one in tests.items() for model, found in one.items()]
    adjusted = holm([difference.p for _, _, difference, _ in pairs])
    overall = {(name, model): p for (name, model, _, _), p in zip(pairs, adjusted, strict=True)}
    sure = [(name, model, one.mean) for name, model, one, _ in pairs if overall[name, model] < SIGNIFICANT]
    by_graph = [one.mean > 0 for _, _, one, p in pairs if p < SIGNIFICANT]
    whole = tuple(name for name, one in tests.items() if len(one) == len(NAMES) - 1)
    nearest = {name: min(tests[name].items(), key=lambda found: found[1][0].mean) for name in whole}
    first = {name: (model, lead) for name, (model, (lead, _)) in nearest.items() if lead.mean >= 0}
    return Standing(
        whole=whole,
        first=first,
        clear=tuple(name for name in first if all(overall[name, model] < SIGNIFICANT for model in tests[name])),
        ahead=tuple((name, model) for name, model, mean in sure if mean > 0),
        behind=tuple((name, model) for name, model, mean in sure if mean < 0),
        compared=len(pairs),
        by_graph=(by_graph.count(True), by_graph.count(False)),
    )


def effort_table(searches: Searches, datasets: Sequence[str], *, command: str) -> Table:
    """Settings tried and wanted, hours of one core spent and left, and methods not begun, graph by graph."""
    counts = []
    for dataset in datasets:
        count = np.zeros(4)
        for model in NAMES:
            cell, stored = Cell(dataset, model, trials_of("paper", dataset)), searches.get((dataset, model))
            trials = () if stored is None else stored.trials
            done, hours = min(len(trials), cell.wanted), sum(trial.seconds for trial in trials) / 3600
            left = (cell.wanted - done) * hours / len(trials) if trials else 0.0
            count += (done, cell.wanted, hours, left)
        counts.append(count)
    idle = [[name for model, name in NAMES.items() if (dataset, model) not in searches] for dataset in datasets]
    total = sum(len(names) for names in idle)
    last = [
        *("all" if len(names) == len(NAMES) else ", ".join(names) for names in idle),
        f"{total} in all" * bool(total),
    ]
    rows: list[dict[str, Value]] = [
        {
            "graph": name,
            "settings tried": f"{tried:.0f} of {wanted:.0f}",
            "hours of one core": f"{spent:.1f}",
            "hours left": f"{left:.1f}" if left else "–",
            "not begun": idle_text,
        }
        for name, (tried, wanted, spent, left), idle_text in zip(
            (*datasets, "together"), (*counts, np.sum(counts, axis=0)), last, strict=True
        )
    ]
    return make_table(
        "Cost of the lists",
        rows,
        "Each setting is trained on all splits. Hours left are estimated from the mean time of the settings tried, and "
        "only for lists that have begun.",
        f"Command: `{command}`",
    )
