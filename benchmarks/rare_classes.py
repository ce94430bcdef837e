"""What class weights and thresholds promise and keep where one of two classes is rare, on nodes that were hidden.

    python benchmarks/rare_classes.py --splits 3 --time-limit 8

Every split hides a fifth of the labels. The default classifier is fitted on the others, plainly and with
class_weight="balanced"; thresholds are chosen on out-of-fold predictions and moved to the average, much as
``threshold=`` does, and are then used on the hidden nodes. Precision and recall are those of the rare class, means over
splits: first where the threshold was chosen, then on the hidden nodes.
"""

import argparse

import numpy as np

from newtonnet import Graph, NewtonNetClassifier
from newtonnet.datasets import load, make_splits
from newtonnet.graphs import from_edges
from newtonnet.metrics import choose_threshold, decide, rarer

RULES = (None, "f1", "recall=0.8", "precision=0.7")
FITS = {"plain": {}, "balanced": {"class_weight": "balanced", "metric": "balanced_accuracy"}}


def generated(nodes: int = 10_000, share: float = 0.02, seed: int = 0) -> Graph:
    """A graph in which few nodes are of the second class; they are a little unlike the others, and know each other."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(nodes) < share).astype(np.int64)
    rare = np.flatnonzero(truth)
    ends = np.hstack([rng.integers(nodes, size=(2, 3 * nodes)), rare[rng.integers(len(rare), size=(2, 2 * len(rare)))]])
    features = rng.normal(size=(nodes, 8)) + 0.7 * truth[:, None] * (np.arange(8) < 4)
    return from_edges(ends, features, labels=truth, name="generated, 2%")


def reached(predicted: np.ndarray, truth: np.ndarray, place: int) -> tuple[float, float, float]:
    """Precision and recall of the rare class, and balanced accuracy."""
    called, real = predicted == place, truth == place
    found = (called & real).sum()
    return (
        found / max(called.sum(), 1),
        found / real.sum(),
        (found / real.sum() + (~called & ~real).sum() / (~real).sum()) / 2,
    )


def rows(graph: Graph, splits: int, time_limit: float) -> list[str]:
    """Lines of the table for one graph."""
    kept: dict[tuple[str, str | None], list[tuple[float, ...]]] = {}
    for split in make_splits(graph, "stratified", count=splits):
        labels = graph.labels.copy()
        labels[split.test] = -1
        shown = graph.relabelled(labels)
        for name, changes in FITS.items():
            model = NewtonNetClassifier(time_limit=time_limit, threads=1, **changes).fit(shown)
            everywhere = model.predict_proba(shown)
            shares, truth = everywhere[split.test], graph.labels[split.test]
            _, held, held_truth = model.out_of_fold_.whole
            place, new = rarer(held_truth), labels < 0
            singles = model._by_one_fold(shown, model.out_of_fold_)[new]
            for rule in RULES:
                first = None if rule is None else choose_threshold(rule, held, held_truth)
                moved = None if first is None else first.moved(singles, everywhere[new])
                chosen = reached(decide(held, first), held_truth, place)
                after = reached(decide(shares, moved), truth, place)
                kept.setdefault((name, rule), []).append((*chosen[:2], *after))
    lines = []
    for (name, rule), found in kept.items():
        numbers = " | ".join(f"{100 * value:.1f}" for value in np.mean(found, axis=0))
        lines.append(f"| {graph.name} | {name} | {rule or 'more probable class'} | {numbers} |")
    return lines


def main() -> None:
    """Fit and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=8.0, help="seconds of each fit")
    parser.add_argument("--graph", choices=["minesweeper", "generated"], help="only this one")
    given = parser.parse_args()
    print("| graph | fit | threshold | precision held out | recall held out | precision | recall | balanced accuracy |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name in (given.graph,) if given.graph else ("minesweeper", "generated"):
        graph = load(name) if name == "minesweeper" else generated()
        print("\n".join(rows(graph, given.splits, given.time_limit)), flush=True)


if __name__ == "__main__":
    main()
