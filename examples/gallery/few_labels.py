"""How many labels do I need?

Images of hand-written digits, each linked to the five most similar ones. With few labels per digit the edges are
worth most: what is known about one image is passed on to its neighbours. An MLP sees the same pixels and labels, but
no edges.
"""

import matplotlib.pyplot as plt
import numpy as np

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import digits

graph = digits()
order = np.random.default_rng(0).permutation(graph.nodes)
counts = (5, 10, 40)
scores = {"ridge": [], "mlp": []}  # ridge regression on filtered features is the quickest model of the portfolio
for count in counts:
    shown = np.concatenate([order[graph.labels[order] == digit][:count] for digit in range(10)])
    y = np.full(graph.nodes, -1)
    y[shown] = graph.labels[shown]
    for name, row in scores.items():
        model = NewtonNetClassifier(name, tune="off", max_epochs=60).fit(graph, y)
        row.append(100 * model.score(graph, np.where(y < 0, graph.labels, -1)))
        print(f"{count:2d} labels per digit, {name}: {row[-1]:.1f}% correct")

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, row in scores.items():
    axes.plot(counts, row, marker="o", label={"ridge": "with edges", "mlp": "without edges (MLP)"}[name])
axes.set(xlabel="labels per digit", ylabel="accuracy, %", xscale="log", xticks=counts, xticklabels=counts)
axes.legend()
