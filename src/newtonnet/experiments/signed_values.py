"""More than the paper's model as a claim: filter values of either sign, with the regulariser and without."""

from collections.abc import Sequence
from pathlib import Path

from newtonnet.search import model_space

from .arms import Arm, Contest, arm_cells, compare_arms, load_arms
from .beyond import GRAPHS as BEYOND_GRAPHS
from .cells import Cell
from .claim import Claim, Request
from .exhibit import Report
from .results import Line
from .table1 import FEW, QUICK, chosen_datasets

GRAPHS = {name: BEYOND_GRAPHS[name] for name in ("minesweeper", "johnshopkins55")}
"""Where the comparison shows NewtonNet significantly behind another method; each with its protocol."""

ARMS = (
    Arm("NewtonNet"),
    Arm("signed", label="signed", fixed={"nonnegative": False}),
    Arm(
        "signed, no regulariser",
        label="signed-unregularised",
        fixed={"nonnegative": False, "gammas": [0.0, 0.0, 0.0]},
        space={name: values for name, values in model_space("newtonnet").items() if name != "variant"},
    ),
)
CONTESTS = (
    Contest("Filter values of either sign add to NewtonNet", "signed", "NewtonNet"),
    Contest("With signed values the regulariser is better left out", "signed, no regulariser", "signed"),
)


def cells(request: Request, results: Path) -> list[Cell]:
    """Equally many settings of the three; NewtonNet by itself is the search of the comparison."""
    chosen = {dataset: GRAPHS[dataset] for dataset in chosen_datasets(request, list(GRAPHS))}
    return arm_cells(ARMS, chosen, QUICK if request.profile == "quick" else FEW)


def load(results: Path) -> list[Line]:
    """What is stored of all three."""
    return load_arms(results, ARMS, GRAPHS)


def summarise(lines: Sequence[Line]) -> Report:
    """What signs add, and what the regulariser does to them."""
    return compare_arms(
        lines,
        CONTESTS,
        title="NewtonNet with filter values of either sign",
        remark="The paper's values are at least 0. These graphs were chosen after the comparison had shown NewtonNet "
        "behind on them. The search with the regulariser may set its gammas to 0.",
        command="newtonnet reproduce signed --profile paper",
        published="not in the paper",
    )


SIGNED_VALUES = Claim(
    name="signed",
    statement="What filter values of either sign add to NewtonNet, whose values are at least 0 in the paper.",
    place="not in the paper",
    units=lambda request: (),
    summarise=summarise,
    options=frozenset({"datasets"}),
    load=load,
    cells=cells,
)
