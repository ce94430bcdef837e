"""Which nodes need a second look?

A prediction set holds the classes that are plausible for a node: ask for 95%, and for 95% of the nodes the true class
is among them. A set of one class is a prediction to rely on; a larger one is a node for a person to look at. The
promise holds on average over nodes like the labelled ones.
"""

import matplotlib.pyplot as plt
import numpy as np

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import digits

graph = digits(neighbours=3)
rng = np.random.default_rng(0)
labelled = rng.random(graph.nodes) < 0.1
model = NewtonNetClassifier("mlp", tune="off", max_epochs=60).fit(graph, np.where(labelled, graph.labels, -1))

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for place, coverage in enumerate((0.95, 0.99)):
    sets = model.predict_set(graph, coverage)[~labelled]
    sizes = sets.sum(axis=1)
    covered = sets[np.arange(len(sets)), graph.labels[~labelled]].mean()
    print(f"asked for {coverage:.0%}: true class in {covered:.1%} of the sets; one class in {np.mean(sizes == 1):.1%}")
    counts = np.bincount(sizes, minlength=6)[1:6]
    axes.bar(np.arange(1, 6) + 0.4 * place - 0.2, counts, width=0.4, label=f"coverage {coverage:.0%}")
axes.set(xlabel="classes in the set", ylabel="nodes")
axes.legend()
