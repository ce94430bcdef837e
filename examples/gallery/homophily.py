"""Are neighbours alike or different?

The same model on two graphs: in one 90% of the edges join nodes of the same class, in the other 10%. Nobody says
which is which: it learns the homophily and a filter that keeps low frequencies (what neighbours have in common) in
the first graph and high frequencies (how they differ) in the second.
"""

import matplotlib.pyplot as plt
import numpy as np

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm
from newtonnet.graphs import homophily

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for ratio in (0.9, 0.1):
    graph = csbm(ratio, nodes=400, features=400)
    hidden = np.arange(graph.nodes) % 2 == 0
    model = NewtonNetClassifier(tune="off", settings={"gammas": (1.0, 1.0, 1.0)}, max_epochs=150, folds=2)
    model.fit(graph, np.where(hidden, -1, graph.labels))
    accuracy = model.score(graph, np.where(hidden, graph.labels, -1))
    print(f"homophily {homophily(graph).edge:.2f}, learned {model.homophily_:.2f}; accuracy {accuracy:.2f}")
    frequencies = np.linspace(0, 2, 100)
    axes.plot(frequencies, model.filter_(frequencies), label=f"homophily {ratio}")
axes.set(xlabel="frequency", ylabel="learned filter")
axes.legend()
