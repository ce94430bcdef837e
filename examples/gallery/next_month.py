"""Does last month's model work on next month's table?

A model that is fitted with `transferable=True` predicts on other graphs with the same columns. Here it meets
customers it has never seen. Read the new table with the encoding of the old one, so that every column has the same
meaning; `newtonnet predict` and `Analysis.predict` do that for you.
"""

import matplotlib.pyplot as plt
import numpy as np

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import customers
from newtonnet.metrics import precision_recall
from newtonnet.tables import TableOptions, read_tables

april = read_tables(*customers(600, seed=4), TableOptions(label_column="status"))
may = read_tables(
    *customers(600, labelled=1.0, seed=5),
    TableOptions(label_column="status"),
    columns=april.columns,
    encoding=april.encoding,
    class_names=april.graph.class_names,
)
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, title in (("ridge", "with edges"), ("mlp", "without edges (MLP)")):
    model = NewtonNetClassifier(name, transferable=True, metric="roc_auc", tune="off", max_epochs=100).fit(april.graph)
    print(f"{title}: ROC-AUC {100 * model.score(may.graph):.1f}% in May; in April {100 * model.validation_score_:.1f}%")
    left = list(model.classes_).index("left")
    curve = precision_recall(model.predict_proba(may.graph)[:, left], np.asarray(may.graph.labels) == left)
    axes.plot(100 * curve.recall, 100 * curve.precision, label=title)
axes.set(xlabel="leavers found, % (recall)", ylabel="precision, %", title="May, by the model of April")
axes.legend()
