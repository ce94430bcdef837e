"""Which customers will leave?

Two tables: customers, of whom half have a known status, and who called whom. `analyse` fits a model and predicts the
status of everyone else. Here the truth is known, so we can ask what a call list is worth: how many of those who leave
are among the first 5%, 10%, 20% of the list?
"""

import matplotlib.pyplot as plt
import numpy as np

import newtonnet
from newtonnet.datasets import customers

nodes, edges = (table.to_pandas() for table in customers(600, labelled=1.0))  # generated; yours may be files
truth = nodes["status"]
hidden = np.random.default_rng(0).random(len(nodes)) < 0.5
known = nodes.assign(status=truth.mask(hidden))

analysis = newtonnet.analyse(known, edges, label_column="status", time_limit=8, folds=0, compare=False)
table = analysis.predictions[hidden].assign(truth=truth[hidden])
print(analysis.summary["headline"])
print(table[["node", "label", "probability", "truth"]].head(5).to_string(index=False))

found = np.cumsum(table.sort_values("p(left)", ascending=False)["truth"] == "left")
share = np.arange(1, len(found) + 1) / len(found)
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(100 * share, 100 * found / found.iloc[-1], label="by predicted probability")
axes.plot([0, 100], [0, 100], color="grey", linestyle=":", label="in random order")
axes.set(xlabel="customers called, %", ylabel="leavers reached, %")
axes.legend()
