"""Two CSV files and a few labels in; a label with its probability for every node out."""

import csv
import tempfile
from pathlib import Path

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm
from newtonnet.tables import load_tables

folder = Path(tempfile.mkdtemp())
graph = csbm(0.1, nodes=300, features=100)  # stands for your own data; these lines only write it to files
with (folder / "people.csv").open("w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["name", *(f"trait{i}" for i in range(100)), "team"])
    for i, (row, label) in enumerate(zip(graph.features.tolist(), graph.labels, strict=True)):
        table.writerow([f"person {i}", *row, ("red", "blue")[label] if i % 5 == 0 else ""])  # one in five is known
with (folder / "meetings.csv").open("w", newline="") as file:
    csv.writer(file).writerows([("a", "b"), *((f"person {i}", f"person {j}") for i, j in graph.pairs.T)])

mine = load_tables(folder / "people.csv", folder / "meetings.csv", label_column="team")
model = NewtonNetClassifier(time_budget=10).fit(mine)
model.save(folder / "model.safetensors")

labels, shares = model.predict(mine), model.predict_proba(mine).max(axis=1)
for i in range(1, 4):
    print(f"{mine.node_names[i]}: {labels[i]} ({shares[i]:.0%})")
right = sum(("red", "blue")[truth] == label for truth, label in zip(graph.labels, labels, strict=True))
print(f"{right / 300:.0%} right; neighbours share a label {model.homophily_:.0%} of the time")
