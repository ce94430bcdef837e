"""How do I score next week's nodes with the old graph around them?

New customers have few links among themselves and many to old customers. Give `predict` one table with old and new
nodes, and all edges: the old ones are context, the new ones get their predictions. With a table of the new nodes
alone, their edges to old nodes would have to be dropped (`unknown_edges="drop"`), and with them what those neighbours
know.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np

import newtonnet
from newtonnet import Analysis, NewtonNetClassifier
from newtonnet.datasets import customers

nodes, edges = customers(600, labelled=1.0)
joined = np.array(nodes["joined"].to_pylist(), dtype="datetime64[D]")
new = joined > np.quantile(joined.astype(int), 0.85).astype("datetime64[D]")
old_ids = set(nodes["id"].filter(~new).to_pylist())
old_edges = edges.filter([a in old_ids and b in old_ids for a, b in zip(*edges.to_pydict().values(), strict=True)])

with tempfile.TemporaryDirectory() as folder:
    model = NewtonNetClassifier("ridge", transferable=True, tune="off")
    options = {"classifier": model, "folds": 0, "compare": False, "time_limit": 20, "label_column": "status"}
    newtonnet.analyse(nodes.filter(~new), old_edges, **options).save(f"{folder}/run")
    run = Analysis.load(f"{folder}/run")

unlabelled = nodes.drop_columns("status")
around = run.predict(unlabelled, edges).predictions[new]
alone = run.predict(unlabelled.filter(new), edges, unknown_edges="drop").predictions
truth = np.array(nodes["status"].to_pylist())[new]
scores = {
    "old nodes around them": 100 * np.mean(around["label"].to_numpy() == truth),
    "new nodes alone": 100 * np.mean(alone["label"].to_numpy() == truth),
}
print("; ".join(f"{name}: {value:.1f}% correct" for name, value in scores.items()))
figure, axes = plt.subplots(figsize=(6, 2.2), layout="constrained")
axes.barh(list(scores), list(scores.values()))
axes.set(xlabel="accuracy on new customers, %", xlim=(0, 100))
