"""Does it matter who follows whom?

Every account follows accounts of the next of four groups. Without directions a group and the one opposite look alike;
with them, who is followed tells the group. Edges are undirected unless you say `directed=True`
(`TableOptions(directed=True)` for tables).
"""

import matplotlib.pyplot as plt
import numpy as np

from newtonnet import NewtonNetClassifier
from newtonnet.graphs import from_edges

rng = np.random.default_rng(0)
group = rng.integers(0, 4, 600)
source = np.repeat(np.arange(600), 6)
members = [np.flatnonzero(group == number) for number in range(4)]
target = np.array([rng.choice(members[(group[node] + 1) % 4]) for node in source])
features = np.eye(4)[group] + rng.normal(0, 1.5, (600, 4))  # a weak hint
hidden = rng.random(600) < 0.7

scores = {}
for directed in (False, True):
    graph = from_edges([source, target], features, labels=group, directed=directed)
    model = NewtonNetClassifier("newton-stack", tune="off", settings={"directed": directed, "layers": 2}, folds=2)
    model.set_params(max_epochs=60).fit(graph, np.where(hidden, -1, group))
    scores[directed] = 100 * model.score(graph, np.where(hidden, group, -1))
    print(f"{'with' if directed else 'without'} directions: {scores[directed]:.1f}% correct")

figure, axes = plt.subplots(figsize=(6, 2.2), layout="constrained")
axes.barh(["undirected", "directed"], list(scores.values()))
axes.set(xlabel="accuracy, %", xlim=(0, 100))
