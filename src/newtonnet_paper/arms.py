"""Arms beyond the paper: a wider space, what makes the regulariser work, few labels, and a stack of filters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from newtonnet.search import Space, model_space, published
from newtonnet.training import Estimate, compare

from .ablation import NO_GAMMAS, UNPUBLISHED, WITHOUT, Arm, ArmStudy, Contest, claim_of_arms, unregularised_space
from .cells import HERO, Cell, StoredSearch, chosen_datasets, chosen_setting, read_stored
from .claim import Line, Request, define_claim
from .exhibit import Finding, Report, Value, make_table, nothing_stored
from .scores import NAMES, how_made, split_ratio, verdict_on_gains
from .table1 import BEYOND_GRAPHS

_DECAY = (0.0, 5e-4, 2e-3, 5e-3, 2e-2)
_FREE_FILTER = {"filter_weight_decay": 0.0}


def _wider(model: str, **more: tuple[Any, ...]) -> Space:
    return {**model_space(model), "weight_decay": _DECAY, "label_smoothing": (0.0, 0.1), **more}


WIDE = claim_of_arms(
    ArmStudy(
        "wide",
        dict.fromkeys(published.DATASETS, ("random",)),
        arms=(
            Arm("NewtonNet, paper's space"),
            Arm(
                "NewtonNet",
                label="wide",
                fixed=_FREE_FILTER,
                space=_wider(HERO, degree=(5, 10), points=("equispaced", "chebyshev"), nonnegative=(True, False)),
            ),
            Arm("GPRGNN", "gprgnn", "wide", _FREE_FILTER, _wider("gprgnn", degree=(5, 10))),
            Arm("ChebNetII", "chebnetii", "wide", _FREE_FILTER, _wider("chebnetii", degree=(5, 10))),
            Arm("GCN", "gcn", "wide", space=_wider("gcn")),
        ),
        contests=(
            Contest("A wider space improves NewtonNet", "NewtonNet", "NewtonNet, paper's space"),
            *(
                Contest(f"NewtonNet is better than {name}", "NewtonNet", name)
                for name in ("GPRGNN", "ChebNetII", "GCN")
            ),
        ),
        title="Beyond the paper's space",
        remark="All but the first arm also try weight decays up to 0.02, none on the filter, label smoothing of 0.1, "
        "and degrees 5 and 10 where they have one; NewtonNet also Chebyshev points and signed values.",
    )
)

_MECHANISM = {
    **dict.fromkeys(("citeseer", "chameleon", "crocodile"), ("random",)),
    **dict.fromkeys(("chameleon-filtered", "squirrel-filtered"), ("fixed",)),
}
_NONE = Arm("no penalty", label=WITHOUT, fixed={"gammas": NO_GAMMAS}, space=unregularised_space())

MECHANISM = claim_of_arms(
    ArmStudy(
        "mechanism",
        _MECHANISM,
        arms=(
            Arm("penalty"),
            Arm("sign flipped", label="flipped", fixed={"flipped": True}),
            Arm("unit norm", label="unit", fixed={"unit": True}),
            Arm("true h", label="all-labels", fixed={"homophily": "all-labels"}),
            Arm("weighted pivot", label="weighted", fixed={"pivot": "weighted"}),
            _NONE,
        ),
        contests=(
            Contest("The penalty improves NewtonNet", "penalty", "no penalty"),
            Contest("Its direction matters: flipped it is worse", "penalty", "sign flipped"),
            Contest(
                "It is the shape, not the scale: with values of unit norm it still helps", "unit norm", "no penalty"
            ),
            Contest("The true homophily is better than the learned one", "true h", "penalty"),
            Contest("The weighted homophily is the better one", "weighted pivot", "penalty"),
        ),
        title="What makes the regulariser work",
        remark="Sign flipped: it encourages what the paper discourages. Unit norm: the filter's values are divided by "
        "their root mean square, since an encouraged band has no minimum and may only scale the logits. True h: "
        "counted with the labels of all nodes, which no method may know.",
    )
)

FEW_LABELS = claim_of_arms(
    ArmStudy(
        "few-labels",
        dict.fromkeys(
            ("cora", "citeseer", "chameleon", "squirrel-filtered", "minesweeper"), ("few-5", "few-20", "weak-0.05")
        ),
        arms=(Arm("NewtonNet"), _NONE, *(Arm(NAMES[model], model) for model in ("gcn", "gprgnn", "chebnetii"))),
        contests=(
            Contest("With few labels the penalty improves NewtonNet", "NewtonNet", "no penalty"),
            *(
                Contest(f"With few labels NewtonNet is better than {name}", "NewtonNet", name)
                for name in ("GCN", "GPRGNN", "ChebNetII")
            ),
        ),
        title="Few labels",
        remark="few-5 and few-20: that many training nodes of every class; weak-0.05: a twentieth of all nodes. "
        "Validation and test nodes are those of the random protocol. Settings are chosen for every place by itself.",
        trials=6,
    )
)

STACK = claim_of_arms(
    ArmStudy(
        "stack",
        {name: (protocol,) for name, protocol in BEYOND_GRAPHS.items()},
        arms=(Arm("NewtonNet"), Arm("stack of filters", "newton-stack"), Arm("GCN", "gcn")),
        contests=(
            Contest("A stack of filters is better than one", "stack of filters", "NewtonNet"),
            Contest("A stack of filters is better than GCN", "stack of filters", "GCN"),
        ),
        title="A filter in every layer",
        remark="The stack (`newton-stack`) is a deep network with degrees and training labels among its inputs.",
    )
)

FACTORS: Mapping[str, tuple[Any, Any]] = {
    "points": ("equispaced", "chebyshev"),
    "degree": (5, 10),
    "nonnegative": (True, False),
    "gammas": ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]),
}
"""Two values of each."""
_STATEMENTS = {
    "points": ("Chebyshev points", "Chebyshev points are better than equispaced ones"),
    "degree": ("K = 10", "Degree 10 is better than 5"),
    "nonnegative": ("signed", "Values of either sign are better than nonnegative ones"),
    "gammas": ("penalty", "The regulariser improves NewtonNet"),
}
"""A column and a statement for the second value of each."""
_FACTORIAL = "vary-factors"


def factorial_cells(request: Request, results: Path) -> list[Cell]:
    """All sixteen combinations around the setting that NewtonNet's list chooses; both profiles are the same."""
    made = []
    for dataset in chosen_datasets(request, list(_MECHANISM)):
        (protocol,) = _MECHANISM[dataset]
        begun = _factorial(results, dataset)
        source, setting = begun.repeated if begun else chosen_setting(results, dataset, HERO, protocol=protocol)
        kept = {name: value for name, value in setting.items() if name not in FACTORS and "gamma" not in name}
        made.append(Cell(dataset, HERO, 16, _FACTORIAL, protocol, kept, dict(FACTORS), source))
    return made


def _factorial(results: Path, dataset: str) -> StoredSearch | None:
    return read_stored(results, dataset, HERO, label=_FACTORIAL, protocol=_MECHANISM[dataset][0], repeats=True)


def load_factorial(results: Path) -> list[Line]:
    """Graphs with all combinations."""
    found = (_factorial(results, dataset) for dataset in _MECHANISM)
    return [{"stored": one} for one in found if one is not None and len(one.trials) >= 2 ** len(FACTORS)]


def main_effect(stored: StoredSearch, factor: str) -> Estimate | None:
    """The mean over the other factors of what one of them changes, in points, paired by split."""
    first = json_value(FACTORS[factor][0])
    sides: dict[bool, list[tuple[float | None, ...]]] = {True: [], False: []}
    for trial in stored.trials:
        sides[json_value(stored.value(trial, factor)) == first].append(trial.test)
    means = [[_mean(scores) for scores in zip(*sides[side], strict=True)] for side in (False, True)]
    return compare(means[0], means[1], split_ratio(stored.dataset, stored.protocol))


def json_value(value: Any) -> Any:
    """Lists for tuples, as stored."""
    return list(value) if isinstance(value, tuple) else value


def _mean(scores: Sequence[float | None]) -> float | None:
    return None if None in scores else 100 * float(np.mean([score for score in scores if score is not None]))


def summarise_factorial(lines: Sequence[Line]) -> Report:
    """The main effect of each factor on each graph."""
    if not lines:
        return nothing_stored("What matters in NewtonNet", UNPUBLISHED)
    effects = {one.dataset: {name: main_effect(one, name) for name in FACTORS} for one in (x["stored"] for x in lines)}
    rows: list[dict[str, Value]] = [
        {"graph": graph, **{_STATEMENTS[name][0]: None if one is None else one.signed for name, one in own.items()}}
        for graph, own in effects.items()
    ]
    table = make_table(
        "Points, degree, sign and penalty",
        rows,
        "Main effects in points of test score: the mean over all combinations of the other three, paired by split, "
        "with 95% intervals by the variance of Nadeau and Bengio. All else is the setting that NewtonNet's list "
        "chooses. " + how_made([line["stored"] for line in lines], tried="{} combinations"),
        "Command: `newtonnet-paper reproduce factorial`",
    )
    gains = {name: [own[name] for own in effects.values()] for name in FACTORS}
    known = {name: [one for one in found if one is not None] for name, found in gains.items()}
    findings = []
    for name, (_, statement) in _STATEMENTS.items():
        own = zip(effects, gains[name], strict=True)
        text = "; ".join(f"{graph} {one.signed}" for graph, one in own if one is not None)
        others = [one for other, found in known.items() if other != name for one in found]
        findings.append(Finding(statement, text, UNPUBLISHED, verdict_on_gains(known[name], others=others)))
    return Report(tuple(findings), tables=(table,))


FACTORIAL = define_claim("factorial", summarise_factorial, load=load_factorial, cells=factorial_cells)
