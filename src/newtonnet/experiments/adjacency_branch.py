"""More than the paper's model as a claim: NewtonNet with an adjacency branch, beside LINKX, whose idea that is."""

from collections.abc import Sequence
from pathlib import Path

from .arms import Arm, Contest, arm_cells, compare_arms, load_arms
from .cells import Cell
from .claim import Claim, Request
from .exhibit import Report
from .results import Line
from .table1 import FEW, QUICK, chosen_datasets

GRAPHS = {"chameleon": "random", "squirrel": "random"}
"""Where knowing a node's neighbours by name helps most; each with its protocol."""

ARMS = (
    Arm("NewtonNet"),
    Arm("with branch", label="branch", fixed={"branch": 64, "branch_learning_rate": 0.003}),
    Arm("LINKX", "linkx"),
)
CONTESTS = (
    Contest("An adjacency branch adds to NewtonNet", "with branch", "NewtonNet"),
    Contest("NewtonNet with the branch is better than LINKX", "with branch", "LINKX"),
)


def cells(request: Request, results: Path) -> list[Cell]:
    """Equally many settings of the three; NewtonNet by itself is the search of Table 1."""
    chosen = {dataset: GRAPHS[dataset] for dataset in chosen_datasets(request, list(GRAPHS))}
    return arm_cells(ARMS, chosen, QUICK if request.profile == "quick" else FEW)


def load(results: Path) -> list[Line]:
    """What is stored of all three."""
    return load_arms(results, ARMS, GRAPHS)


def summarise(lines: Sequence[Line]) -> Report:
    """What the branch adds, and whether anything is left of it beside LINKX."""
    return compare_arms(
        lines,
        CONTESTS,
        title="NewtonNet with an adjacency branch",
        remark="The branch adds W₂ ReLU(A W₁) to the logits and has a weight for every node, so it cannot leave its "
        "graph.",
        command="newtonnet reproduce branch --profile paper",
        published="not in the paper",
    )


ADJACENCY_BRANCH = Claim(
    name="branch",
    statement="What a network on the rows of the adjacency adds to NewtonNet, which is no part of the paper's model.",
    place="not in the paper",
    units=lambda request: (),
    summarise=summarise,
    options=frozenset({"datasets"}),
    load=load,
    cells=cells,
)
