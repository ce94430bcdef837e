"""How do I score next week's nodes with the old graph around them?

New customers have few links among themselves and many to old customers. Give `predict` one table with old and new
nodes, and all edges: the old ones are context, the new ones get their predictions. With a table of the new nodes
alone, their edges to old nodes would have to be dropped (`unknown_edges="drop"`), and with them what those neighbours
know.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import newtonnet
from newtonnet import Analysis, NewtonNetClassifier
from newtonnet.datasets import customers

nodes, edges = (table.to_pandas() for table in customers(600, labelled=1.0))
new = pd.to_datetime(nodes["joined"]).rank(pct=True) > 0.85
old = nodes[~new]
old_edges = edges[edges["source"].isin(old["id"]) & edges["target"].isin(old["id"])]

with tempfile.TemporaryDirectory() as folder:
    model = NewtonNetClassifier("ridge", transferable=True, tune="off")
    options = {"classifier": model, "folds": 0, "compare": False, "time_limit": 20, "label_column": "status"}
    newtonnet.analyse(old, old_edges, **options).save(f"{folder}/run")
    run = Analysis.load(f"{folder}/run")

unlabelled = nodes.drop(columns="status")
around = run.predict(unlabelled, edges).predictions[new.to_numpy()]
alone = run.predict(unlabelled[new], edges, unknown_edges="drop").predictions
truth = nodes.loc[new, "status"].to_numpy()
scores = {
    "old nodes around them": 100 * np.mean(around["label"].to_numpy() == truth),
    "new nodes alone": 100 * np.mean(alone["label"].to_numpy() == truth),
}
print("; ".join(f"{name}: {value:.1f}% correct" for name, value in scores.items()))
figure, axes = plt.subplots(figsize=(6, 2.2), layout="constrained")
axes.barh(list(scores), list(scores.values()))
axes.set(xlabel="accuracy on new customers, %", xlim=(0, 100))
