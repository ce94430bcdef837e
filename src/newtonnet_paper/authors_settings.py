"""The authors' own settings as a claim: NewtonNet as they published it, trained to the end as they do."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from newtonnet.search import difference
from newtonnet.search.published import DATASETS, SCORES
from newtonnet.search.settings import find_setting
from newtonnet.training.statistics import compare

from .cells import Cell
from .claim import Claim, Request
from .exhibit import OPEN, Finding, Report, Table
from .exhibit import Cell as Entry
from .results import Line
from .score_tables import HERO
from .scores import Score, score, split_ratio
from .stored import Stored, read_stored
from .table1 import chosen_datasets, reaches

LABEL = "published"


def cells(request: Request, results: Path) -> list[Cell]:
    """One setting on every graph; both profiles are the same."""
    made = []
    for dataset in chosen_datasets(request, DATASETS):
        setting = difference(find_setting(dataset, HERO, LABEL), find_setting(dataset, HERO, "default"))
        made.append(Cell(dataset, HERO, 1, LABEL, fixed=setting, space={}, source=LABEL, patience=None))
    return made


def load(results: Path) -> list[Line]:
    """The runs to the end, each with the search that tried the same setting and stopped early, where there is one."""
    lines: list[Line] = []
    for dataset in DATASETS:
        stored = read_stored(results, dataset, HERO, label=LABEL, patience=None)
        if stored is not None:
            lines.append({"stored": stored, "search": read_stored(results, dataset, HERO)})
    return lines


def summarise(lines: Sequence[Line]) -> Report:
    """Both loops beside the paper's number, and what the patience costs."""
    if not lines:
        return Report((Finding(_STATEMENT, "nothing stored", "Table 1", OPEN),))
    rows: list[tuple[Entry, ...]] = []
    known: dict[str, tuple[Score, str]] = {}
    data: dict[str, dict[str, float | None]] = {}
    for line in lines:
        stored: Stored = line["stored"]
        found = score(stored)
        if found is None:
            continue
        name, published = stored.dataset, SCORES[stored.dataset, HERO]
        known[name] = found, "the authors' settings"
        early = _stopped(line["search"])
        stopped = None if early is None else score(early)
        cost = None if stopped is None else compare(found.test, stopped.test, split_ratio(name, stored.protocol))
        learned = [value for value in stored.trials[0].homophily if value is not None]
        rows.append(
            (
                name,
                str(found),
                found.interval,
                f"{published[0]:.2f} ± {published[1]:.1f}",
                None if stopped is None else str(stopped),
                None if cost is None or stopped is None else "the same" if stopped.test == found.test else cost.signed,
                f"{np.mean(learned):.2f}" if learned else None,
            )
        )
        data[name] = {
            "mean": found.mean,
            "std": found.std,
            "stopped": None if stopped is None else stopped.mean,
            "paper": published[0],
        }
    table = Table("The authors' settings and loop", _COLUMNS, tuple(rows), _notes(lines))
    return Report((reaches(_STATEMENT, known),), tables=(table,), data=data, headline=table)


_STATEMENT = "With the authors' settings NewtonNet reaches the published accuracy"
_COLUMNS = ("graph", "here", "95% interval", "the paper", "stopped early", "to the end − stopped early", "learned h")


def _stopped(search: Stored | None) -> Stored | None:
    """The search's own trial of the published setting."""
    if search is None:
        return None
    own = tuple(trial for trial in search.trials if trial.source == LABEL)
    return replace(search, trials=own) if own else None


def _notes(lines: Sequence[Line]) -> tuple[str, ...]:
    study = lines[0]["stored"].study
    return (
        f"Test score in percent, mean ± std (ddof 0) over {study['splits']} splits, protocol random; "
        f"{study['max_epochs']} epochs, test score at the best validation epoch; stopped early: by a patience of 200 "
        'epochs, as in the searches; the same: no best epoch lies behind that. The settings are for `variant="code"`.',
        "Command: `newtonnet reproduce published`",
    )


PUBLISHED = Claim(
    name="published",
    statement="NewtonNet as its authors ran it: their settings, their loss, their 2000 epochs.",
    place="Section 6.1, Appendix D, Table 1",
    units=lambda request: (),
    summarise=summarise,
    options=frozenset({"datasets"}),
    load=load,
    cells=cells,
)
