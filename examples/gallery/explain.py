"""Why was this node predicted so?

An explanation splits the difference between the two most probable classes: by the nodes whose features contributed,
by features, and by frequencies. Each split is complete: the bars, the bias and the remainder sum to the total.
"""

import matplotlib.pyplot as plt

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import customers
from newtonnet.tables import TableOptions, read_tables

reading = read_tables(*customers(400), TableOptions(label_column="status"))
graph, names = reading.graph, reading.encoding.feature_names
model = NewtonNetClassifier(tune="off", metric="roc_auc", max_epochs=150).fit(graph)
node = int(model.predict_proba(graph)[:, 0].argmax())
why = model.explain(graph, node)

first, second = (graph.class_names[place] for place in why.classes)
print(f"{graph.node_names[node]}: {first} rather than {second} by {why.total:.2f} ({why.method})")
print(f"frequencies: {', '.join(f'{band} {value:+.2f}' for band, value in why.bands.items())}; bias {why.bias:+.2f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
nodes = [(f"{graph.node_names[i]} ({hops} hops)", value) for i, hops, value in why.top_nodes(6)]
features = [(names[i], value) for i, value in why.top_features(6)]
for axes, rows, title in ((left, nodes, "nodes"), (right, features, "features")):
    axes.barh([name for name, _ in rows][::-1], [value for _, value in rows][::-1])
    axes.set(title=title, xlabel=f"for {first} →")
