"""How do I find the 4%?

Where few nodes are positive, a model that finds none of them is 96% accurate. Tune for average precision, and choose
from which probability on a node counts as positive: here so that the F1 score is best, or so that 80% of the
positives are found. Thresholds are chosen on held-out predictions.
"""

import matplotlib.pyplot as plt
import numpy as np

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import customers
from newtonnet.metrics import precision_recall
from newtonnet.tables import load_tables

graph = load_tables(*customers(1000, leaving=0.04, labelled=1.0), label_column="status")
hidden = np.random.default_rng(1).random(graph.nodes) < 0.5
y = np.where(hidden, -1, graph.labels)
positive = graph.labels[hidden] == graph.class_names.index("left")

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for threshold in (None, "f1", "recall=0.8"):
    model = NewtonNetClassifier("ridge", metric="average_precision", threshold=threshold, tune="off").fit(graph, y)
    shares = model.predict_proba(graph)[hidden]
    called = model.decide(shares) == graph.class_names.index("left")
    hits = (called & positive).sum()
    print(f"threshold {threshold}: {called.sum()} nodes called positive, {hits} of {positive.sum()} positives found")
    axes.plot(100 * hits / positive.sum(), 100 * hits / max(called.sum(), 1), "o", label=f"threshold {threshold}")
curve = precision_recall(shares[:, graph.class_names.index("left")], positive)
axes.plot(100 * curve.recall, 100 * curve.precision, color="grey", zorder=0)
axes.set(xlabel="positives found, % (recall)", ylabel="precision, %")
axes.legend()
