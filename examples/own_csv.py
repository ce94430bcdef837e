"""Two CSV files and a few labels in; a label with its probability for every node out."""

import csv
import tempfile
from pathlib import Path

from newtonnet import Analysis, NewtonNetClassifier, analyse
from newtonnet.datasets import csbm

folder = Path(tempfile.mkdtemp())
graph = csbm(0.1, nodes=300, features=100)  # stands for your own data; these lines only write it to files
with (folder / "people.csv").open("w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["name", *(f"trait{i}" for i in range(100)), "team"])
    for i, (row, label) in enumerate(zip(graph.features.tolist(), graph.labels, strict=True)):
        table.writerow([f"person {i}", *row, ("red", "blue")[label] if i % 5 == 0 else ""])  # one in five is known
with (folder / "meetings.csv").open("w", newline="") as file:
    csv.writer(file).writerows([("a", "b"), *((f"person {i}", f"person {j}") for i, j in graph.pairs.T)])

analysis = analyse(
    folder / "people.csv",
    folder / "meetings.csv",
    label_column="team",
    classifier=NewtonNetClassifier(transferable=True),
    folds=2,
    compare=False,
    time_limit=15,
)
analysis.save(folder / "run")  # model, predictions.csv and report.html

print(analysis.summary["headline"])
print(Analysis.load(folder / "run").predictions[["node", "label", "probability"]].head(4))
labels = analysis.predictions["label"]
right = sum(("red", "blue")[truth] == label for truth, label in zip(graph.labels, labels, strict=True))
print(f"{right / 300:.0%} right; cross-validation expected {analysis.summary['cross_validation']['mean']:.0%}")
