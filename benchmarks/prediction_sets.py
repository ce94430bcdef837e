"""Coverage and size of 90% prediction sets on nodes that the default classifier has not seen, over random splits.

    python benchmarks/prediction_sets.py runs --seconds 170     # fits what is missing in the folder runs, then prints
    python benchmarks/prediction_sets.py runs --seconds 0       # prints only

Every split hides a fifth of the labels; the classifier is fitted on the others within its time limit, and its sets for
the hidden ones are counted. Beside them stands the plain alternative, the k most probable classes for every node, with
the least k that covers 90% of the out-of-fold predictions. A fit is one file of the folder and is not repeated.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from newtonnet import Graph, NewtonNetClassifier
from newtonnet.datasets import load, make_splits
from newtonnet.graphs import from_edges

NAMES = ("cora", "chameleon-filtered", "squirrel-filtered", "minesweeper", "generated")
COVERAGE = 0.9


def generated(nodes: int = 2000, classes: int = 5, noise: float = 1.3, seed: int = 0) -> Graph:
    """A graph of several classes whose neighbours agree a little more often than by chance, with noisy features."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=nodes)
    ends = rng.integers(nodes, size=(2, 12 * nodes))
    ends = ends[:, (truth[ends[0]] == truth[ends[1]]) | (rng.random(ends.shape[1]) < 0.25)]
    features = np.eye(classes)[truth] + noise * rng.normal(size=(nodes, classes))
    return from_edges(ends, features, labels=truth, name="generated")


def fit(name: str, number: int, path: Path, *, time_limit: float) -> None:
    """Fit on one split and keep the probabilities and sets of its hidden nodes."""
    graph = generated() if name == "generated" else load(name)
    split = make_splits(graph, "random", count=number + 1)[number]
    labels = graph.labels.copy()
    labels[split.test] = -1
    shown = graph.relabelled(labels)
    model = NewtonNetClassifier(time_limit=time_limit, threads=1).fit(shown)
    shares = model.predict_proba(shown)
    sets = model.predict_set(shown, COVERAGE, probabilities=shares)[split.test]
    _, held, held_truth = model.out_of_fold_.whole
    truth = graph.labels[split.test]
    np.savez(path, sets=sets, shares=shares[split.test], truth=truth, held=held, held_truth=held_truth)


def least_top(shares: np.ndarray, truth: np.ndarray) -> int:
    """The least k for which the k most probable classes hold the true one often enough."""
    rank = (shares > shares[np.arange(len(truth)), truth][:, None]).sum(axis=1)
    return 1 + int(np.quantile(rank, COVERAGE, method="higher"))


def row(files: list[Path]) -> list[str]:
    """Means over splits, as cells of the table."""
    found = []
    for path in files:
        kept = np.load(path)
        truth, every = kept["truth"], np.arange(len(kept["truth"]))
        right = kept["shares"].argmax(axis=1) == truth
        k = least_top(kept["held"], kept["held_truth"])
        top = np.argsort(-kept["shares"], axis=1, kind="stable")[:, :k] == truth[:, None]
        sizes = kept["sets"].sum(axis=1)
        found.append([right.mean(), kept["sets"][every, truth].mean(), sizes.mean(), k, top.any(axis=1).mean()])
    accuracy, covered, size, k, top_covered = np.mean(found, axis=0)
    error = np.std([one[1] for one in found]) / max(len(found) - 1, 1) ** 0.5
    return [
        f"{len(files)}",
        f"{100 * accuracy:.1f}",
        f"{100 * covered:.1f} ± {100 * error:.1f}",
        f"{size:.2f}",
        f"{100 * top_covered:.1f}",
        f"{k:.2f}",
    ]


def main() -> None:
    """Fit what is missing for some seconds, and print the table of what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no fit after so many seconds")
    parser.add_argument("--time-limit", type=float, default=8.0, help="seconds of each fit")
    parser.add_argument("--graph", choices=NAMES, action="append", help="fit only this one; repeatable")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    for number in range(given.splits):
        for name in given.graph or NAMES:
            path = given.folder / f"{name}-{number}.npz"
            if not path.exists() and time.monotonic() - begun < given.seconds:
                fit(name, number, path, time_limit=given.time_limit)
    print("| graph | splits | accuracy, % | covered, % | classes in a set | top-k covered, % | k |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in NAMES:
        files = sorted(given.folder.glob(f"{name}-[0-9]*.npz"))
        if files:
            print("|", " | ".join([name, *row(files)]), "|")


if __name__ == "__main__":
    main()
