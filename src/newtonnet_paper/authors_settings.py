"""The authors' own settings as a claim: NewtonNet as they published it, trained to the end as they do."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from newtonnet.search import difference, find_setting, published

from .cells import HERO, Cell, chosen_datasets, read_stored
from .claim import Line, Request, define_claim
from .exhibit import Report, Value, make_table, nothing_stored
from .scores import SplitScores, published_text, score
from .table1 import reaches

LABEL = "released"
"""Of the studies: the settings belong to the released code."""

AUTHORS_CODE = {"texas": (85.00, 5.65), "cornell": (84.47, 6.39)}
"""Mean and std that the authors' own code gave on the same ten splits."""

_STATEMENT = "With the authors' settings NewtonNet reaches the published accuracy"


def cells(request: Request, results: Path) -> list[Cell]:
    """One setting on every graph; both profiles are the same."""
    made = []
    for dataset in chosen_datasets(request, published.DATASETS):
        setting = difference(find_setting(dataset, HERO, "published"), find_setting(dataset, HERO, "default"))
        made.append(Cell(dataset, HERO, 1, LABEL, fixed=setting, space={}, source="published", patience=None))
    return made


def load(results: Path) -> list[Line]:
    """The complete trainings."""
    found = [read_stored(results, name, HERO, label=LABEL, patience=None, repeats=True) for name in published.DATASETS]
    return [{"stored": stored} for stored in found if stored is not None]


def summarise(lines: Sequence[Line]) -> Report:
    """Scores with the authors' settings and training, and the paper's number."""
    rows: list[dict[str, Value]] = []
    known: dict[str, tuple[SplitScores, str]] = {}
    data: dict[str, dict[str, float | None]] = {}
    for stored in (line["stored"] for line in lines):
        found, name = score(stored), stored.dataset
        if found is None:
            continue
        known[name] = found, "the authors' settings"
        learned = [value for value in stored.trials[0].homophily if value is not None]
        mean, std = AUTHORS_CODE.get(name, (None, None))
        rows.append(
            {
                "graph": name,
                "here": str(found),
                "95% interval": found.interval,
                "the paper": published_text(name),
                "the authors' code, run here": None if mean is None else f"{mean:.2f} ± {std:.2f}",
                "learned h": f"{np.mean(learned):.2f}" if learned else None,
                "learned h, the paper": published.HOMOPHILY.get(name),
            }
        )
        data[name] = {"mean": found.mean, "std": found.std, "paper": published.SCORES[name, HERO][0], "code": mean}
    if not rows:
        return nothing_stored(_STATEMENT, "Table 1")
    study = lines[0]["stored"].study
    table = make_table(
        "The authors' settings and training",
        rows,
        f"Test score in percent, mean ± std (ddof 0) over {study['splits']} splits, protocol random; "
        f'{study["max_epochs"]} epochs, test score at the best validation epoch; `variant="released"` on the '
        "symmetrised graph. The authors' own code was run on the same splits, with the same settings and one seed, on "
        "the symmetrised graphs: most of the distance to the paper there is not due to this implementation.",
        "Command: `newtonnet-paper reproduce published`",
    )
    return Report((reaches(_STATEMENT, known),), tables=(table,), data=data, headline=table)


PUBLISHED = define_claim("published", summarise, load=load, cells=cells)
