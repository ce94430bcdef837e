"""The classifier with its defaults beside what a user would try first: a GraphSAGE stack, and boosted trees."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from newtonnet.datasets import CATALOGUE
from newtonnet.search import UNTOUCHED

from .bench import find_reference
from .benchmark import BENCHMARK, LONG, SHORT, fit_classifier, split_of
from .claim import Line, Request, Unit, define_claim, own_lines
from .exhibit import Finding, Report, Value, Verdict, make_table, nothing_stored
from .portfolio import FAMILIES

OURS = "default"
SCRIPTS = {"SAGE stack": "sage_stack.py", "boosting": "neighbour_boosting.py"}
"""Scripts of the folder ``benchmarks`` of a checkout."""
SPLITS = 5
SECONDS = 60.0
MARGIN = 1.0
"""Points that the classifier may be behind the better of the others."""
QUICK = ("cornell-corrected", "johnshopkins55")
"""Small graphs that the benchmark does not have, so that all three methods run."""

_STATEMENT = (
    "On no graph is the mean of the classifier's defaults more than a point behind the better of a GraphSAGE stack "
    "and boosted trees with neighbours' columns"
)


def graphs() -> tuple[str, ...]:
    """All graphs: those of the portfolio's study, then those that nothing was ever chosen on."""
    return (*FAMILIES, *UNTOUCHED)


def units(request: Request) -> list[Unit]:
    """One unit for each split, graph and method; the methods of a split run one after another.

    Where the benchmark has the classifier with the same time and splits, it is not measured again.
    """
    chosen = request.options.get("datasets") or (QUICK if request.profile == "quick" else graphs())
    unknown = set(chosen) - set(graphs())
    if unknown:
        raise ValueError(f"{min(unknown)} is not in the comparison; available: {', '.join(graphs())}")
    return [
        Unit(
            {"dataset": dataset, "split": split, "method": method, "budget": SECONDS},
            partial(_run, dataset, split, method),
        )
        for split in range(1 if request.profile == "quick" else SPLITS)
        for dataset in graphs()
        if dataset in chosen
        for method in (OURS, *SCRIPTS)
        if method != OURS or dataset not in (*LONG, *SHORT)
    ]


def load(results: Path) -> list[Line]:
    """The stored lines, and those of the benchmark with one minute and labels as inputs."""
    shared = [
        {**line, "key": {"dataset": line["key"]["dataset"], "split": line["key"]["split"], "method": OURS}}
        for line in own_lines(BENCHMARK, results)
        if line["key"]["minutes"] * 60 == SECONDS and line["key"]["labels"]
    ]
    return [*own_lines(USUAL, results), *shared]


def _run(dataset: str, split: int, method: str) -> dict[str, Any]:
    """Train on the training nodes, choose on the validation nodes, and score the test nodes."""
    protocol, index = split_of(dataset, split)
    if method == OURS:
        return fit_classifier(dataset, protocol, index, seconds=SECONDS)
    reference = find_reference()
    if reference is None:
        raise ValueError("the folder benchmarks was not found; run this command in a checkout of the project")
    command = [sys.executable, str(reference.with_name(SCRIPTS[method])), dataset, "--split", str(index), "--json"]
    command += ["--protocol", protocol, "--metric", CATALOGUE[dataset].metric]
    command += ["--seconds", str(SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def summarise(lines: Sequence[Line]) -> Report:
    """Means over the splits that all three methods have, and the classifier's distance to the better of the others."""
    rows: list[dict[str, Value]] = []
    fine: dict[str, bool] = {}
    whole = len(set(graphs()) - set(UNTOUCHED))
    for dataset in graphs():
        scores = {
            method: {
                line["key"]["split"]: 100 * line["test"]
                for line in lines
                if line["key"]["dataset"] == dataset and line["key"]["method"] == method
            }
            for method in (OURS, *SCRIPTS)
        }
        common = sorted(set.intersection(*(set(own) for own in scores.values())))
        if not common:
            continue
        means = {method: float(np.mean([own[split] for split in common])) for method, own in scores.items()}
        spread = {method: float(np.std([own[split] for split in common])) for method, own in scores.items()}
        behind = max(means[method] for method in SCRIPTS) - means[OURS]
        required = dataset not in UNTOUCHED
        if required:
            fine[dataset] = behind <= MARGIN
        rows.append(
            {
                "graph": dataset + ("" if required else " (reported only)"),
                "splits": len(common),
                **{method: f"{mean:.2f} ± {spread[method]:.2f}" for method, mean in means.items()},
                "ahead of the better": f"{-behind:+.2f}",
            }
        )
    if not rows:
        return nothing_stored(_STATEMENT, "not in the paper")
    table = make_table(
        "The classifier beside what a user would try first",
        rows,
        f"Test accuracy in percent (ROC-AUC where a graph is scored by it), mean ± standard deviation over splits, "
        f"those of the benchmark. The classifier and the stack have {SECONDS:.0f} s on 2 cores; boosting ends by "
        "itself. Training nodes train and validation nodes choose.",
        "Command: `newtonnet-paper reproduce usual --profile paper`, after `benchmark`, which trains the classifier on "
        "most of these graphs",
    )
    late = [name for name, good in fine.items() if not good]
    ours = f"true on {len(fine) - len(late)} of {len(fine)}" + (f" (not on {', '.join(late)})" if late else "")
    missing = f"; {whole - len(fine)} other graphs are not measured yet" if len(fine) < whole else ""
    verdict = Verdict.by_count(len(fine) - len(late), len(fine))
    if missing and verdict == Verdict.HOLDS:
        verdict = Verdict.UNSURE
    finding = Finding(_STATEMENT, ours + missing, "not in the paper", verdict)
    return Report((finding,), tables=(table,), headline=replace(table, notes=()))


USUAL = define_claim("usual", summarise, units=units, options=("datasets",), load=load, version=2)
