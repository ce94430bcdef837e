"""The authors' own settings as a claim: NewtonNet as they published it, trained to the end as they do."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from newtonnet.search import difference, find_setting, published
from newtonnet.training import compare

from .cells import HERO, Cell, StoredSearch, chosen_datasets, read_stored
from .claim import Line, Request, define_claim
from .exhibit import Report, Value, make_table, nothing_stored
from .scores import SplitScores, published_text, score, split_ratio
from .table1 import reaches

LABEL = "published"
_STATEMENT = "With the authors' settings NewtonNet reaches the published accuracy"


def cells(request: Request, results: Path) -> list[Cell]:
    """One setting on every graph; both profiles are the same."""
    made = []
    for dataset in chosen_datasets(request, published.DATASETS):
        setting = difference(find_setting(dataset, HERO, LABEL), find_setting(dataset, HERO, "default"))
        made.append(Cell(dataset, HERO, 1, LABEL, fixed=setting, space={}, source=LABEL, patience=None))
    return made


def load(results: Path) -> list[Line]:
    """The complete trainings, each with the search that tried the same setting and stopped early, if there is one."""
    lines: list[Line] = []
    for dataset in published.DATASETS:
        stored = read_stored(results, dataset, HERO, label=LABEL, patience=None)
        if stored is not None:
            lines.append({"stored": stored, "search": read_stored(results, dataset, HERO)})
    return lines


def summarise(lines: Sequence[Line]) -> Report:
    """Scores with and without early stopping, and the paper's number."""
    if not lines:
        return nothing_stored(_STATEMENT, "Table 1")
    rows: list[dict[str, Value]] = []
    known: dict[str, tuple[SplitScores, str]] = {}
    data: dict[str, dict[str, float | None]] = {}
    for line in lines:
        stored: StoredSearch = line["stored"]
        found, stopped, name = score(stored), score(_stopped(line["search"])), stored.dataset
        if found is None:
            continue
        known[name] = found, "the authors' settings"
        cost = None if stopped is None else compare(found.test, stopped.test, split_ratio(name, stored.protocol))
        learned = [value for value in stored.trials[0].homophily if value is not None]
        same = stopped is not None and stopped.test == found.test
        rows.append(
            {
                "graph": name,
                "here": str(found),
                "95% interval": found.interval,
                "the paper": published_text(name),
                "stopped early": None if stopped is None else str(stopped),
                "to the end − stopped early": None if cost is None else "the same" if same else cost.signed,
                "learned h": f"{np.mean(learned):.2f}" if learned else None,
            }
        )
        data[name] = {
            "mean": found.mean,
            "std": found.std,
            "stopped": None if stopped is None else stopped.mean,
            "paper": published.SCORES[name, HERO][0],
        }
    study = lines[0]["stored"].study
    table = make_table(
        "The authors' settings and training",
        rows,
        f"Test score in percent, mean ± std (ddof 0) over {study['splits']} splits, protocol random; "
        f"{study['max_epochs']} epochs, test score at the best validation epoch. Stopped early: by a patience of 200 "
        "epochs, as in the searches; the same: no best epoch comes after the stop. The settings are for "
        '`variant="code"`.',
        "Command: `newtonnet-paper reproduce published`",
    )
    return Report((reaches(_STATEMENT, known),), tables=(table,), data=data, headline=table)


def _stopped(search: StoredSearch | None) -> StoredSearch | None:
    """The search's own trial of the published setting."""
    own = () if search is None else tuple(trial for trial in search.trials if trial.source == LABEL)
    return replace(search, trials=own) if search is not None and own else None


PUBLISHED = define_claim("published", summarise, load=load, cells=cells)
