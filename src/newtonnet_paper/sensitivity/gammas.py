"""Accuracy over one gamma at a time, and how much more the gammas matter on one graph than on another."""

from collections.abc import Sequence

from newtonnet.search import best_trial
from newtonnet.training import GAMMAS
from newtonnet.training.statistics import Estimate, compare, contrast
from newtonnet_paper.exhibit import BANDS, FAILS, HOLDS, OPEN, UNSURE, Curves, Finding, Table
from newtonnet_paper.results import Line
from newtonnet_paper.scores import how_made, split_ratio
from newtonnet_paper.stored import Stored

from .grids import GAMMA_GRAPHS, STRENGTHS
from .measured import COMMAND, ONE, estimate_text, estimates_over, percent, series_of, source_of


def gamma_curves(graph: str, lines: Sequence[Line]) -> Curves:
    """The three gammas of a graph, each alone; strengths stand equally far apart."""
    places = {strength: float(i) for i, strength in enumerate(STRENGTHS)}
    series = []
    own = [line for line in lines if line["stored"].dataset == graph]
    for line in own:
        found = [(places[x], one) for x, one in estimates_over(line["stored"], line["what"]) if x in places]
        series.append(series_of(line["what"], found, role=BANDS[GAMMAS.index(line["what"])]))
    ticks = tuple((place, f"{strength:g}") for strength, place in places.items())
    return Curves(graph, "strength of the gamma", "test accuracy, %", tuple(series), ticks=ticks)


def gamma_table(lines: Sequence[Line]) -> Table:
    """A row for each graph and gamma."""
    rows = []
    for line in lines:
        found = dict(estimates_over(line["stored"], line["what"]))
        values = tuple(estimate_text(found.get(strength)) for strength in STRENGTHS)
        rows.append((line["stored"].dataset, line["what"], *values, source_of(line)))
    notes = (
        f"Accuracy in percent with 95% intervals. {how_made([line['stored'] for line in lines], tried=ONE)} "
        "Other fields are those of the setting of the source in the last column.",
        COMMAND,
    )
    columns = ("graph", "varied", *(f"{strength:g}" for strength in STRENGTHS), "setting")
    return Table("One gamma at a time", columns, tuple(rows), notes)


def gamma_findings(lines: Sequence[Line]) -> list[Finding]:
    """How far accuracy moves with the gammas, heterophilous beside homophilous."""
    moves: dict[str, tuple[str, Estimate]] = {}
    for graph in GAMMA_GRAPHS:
        own = [line for line in lines if line["stored"].dataset == graph]
        # By validation, so that the test scores of the one chosen are not the largest by chance.
        most = max(own, key=lambda line: _reach(line["stored"]), default=None)
        found = None if most is None else _move(most["stored"])
        if most is not None and found is not None:
            moves[graph] = most["what"], found
    statement = "The gammas matter more on chameleon than on citeseer"
    if set(moves) != set(GAMMA_GRAPHS):
        return [Finding(statement, "not all grids are stored", "yes", OPEN)] if lines else []
    more = contrast([moves["chameleon"][1]], [moves["citeseer"][1]])
    told = "; ".join(f"{graph}: {one.signed} by {gamma}" for graph, (gamma, one) in moves.items())
    ours = (
        "by the gamma that moves the validation score most, from the strength that validates worst to the best: "
        f"{told}; chameleon − citeseer {more.signed}"
    )
    return [Finding(statement, ours, "yes", HOLDS if more.low > 0 else FAILS if more.high < 0 else UNSURE)]


def _reach(stored: Stored) -> float:
    """How far the mean validation score moves with the strength of a gamma."""
    scores = [trial.objective for trial in stored.trials]
    return max(scores) - min(scores)


def _move(stored: Stored) -> Estimate | None:
    """What is gained from the strength of a gamma that validates worst to the one that validates best."""
    best, worst = best_trial(stored.trials), min(stored.trials, key=lambda trial: trial.objective)
    return compare(percent(best), percent(worst), split_ratio(stored.dataset, stored.protocol))
