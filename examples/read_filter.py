"""Reading what was learned: the same model on two graphs of opposite homophily, and the filter it chose for each."""

import numpy as np

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm
from newtonnet.graphs import homophily
from newtonnet.report import draw_response

shaped = {"gammas": (1.0, 1.0, 1.0)}  # let the learned homophily shape the filter
for ratio in (0.9, 0.1):
    graph = csbm(ratio, nodes=400, features=400)
    hidden = np.arange(graph.nodes) % 2 == 0  # half of the labels are kept back
    model = NewtonNetClassifier(tune="off", settings=shaped, max_epochs=200)
    model.fit(graph, np.where(hidden, -1, graph.labels))
    learned = model.filter_
    print(f"true homophily {homophily(graph).edge:.2f}, learned {model.homophily_:.2f}")
    print(f"accuracy on hidden labels {model.score(graph, np.where(hidden, graph.labels, -1)):.2f}")
    print(f"g at 0, 1 and 2 (largest 1): {np.round(learned([0.0, 1.0, 2.0]), 2)}")
    print(draw_response(learned.scaled.mean(axis=0)), end="\n\n")
