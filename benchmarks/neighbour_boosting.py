"""The usual choice for a graph with tabular features, as a yardstick: gradient boosting with neighbours' columns.

    python benchmarks/neighbour_boosting.py tolokers --split 0 --metric roc_auc

scikit-learn's gradient boosting on a node's own features, the mean features of its neighbours over two hops, its log
degree, and the classes of its neighbours among the training nodes; the validation nodes say when to stop.
"""

import argparse
import json
import time

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from newtonnet.datasets import load, load_splits
from newtonnet.graphs import Graph


def columns(graph: Graph, train: np.ndarray) -> np.ndarray:
    """Own and neighbours' features, log degree, and shares of the classes among neighbours that train."""
    degree = np.diff(graph.adjacency.indptr)
    mean = sp.diags_array(1 / np.maximum(degree, 1)) @ (graph.adjacency != 0).astype(np.float32)
    own = graph.features.toarray() if sp.issparse(graph.features) else graph.features
    classes = np.zeros((graph.nodes, graph.classes), dtype=np.float32)
    classes[train, graph.labels[train]] = 1
    near = mean @ own
    return np.column_stack([own, near, mean @ near, np.log1p(degree), mean @ classes])


def main() -> None:
    """Train on one split and print its test score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="a data set of the catalogue")
    parser.add_argument("--protocol", default="fixed", help="fixed: the published splits; random: 60/20/20")
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("--metric", choices=["accuracy", "roc_auc"], default="accuracy")
    parser.add_argument("--seconds", type=float, help="not used: boosting ends by itself")
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    given = parser.parse_args()
    begun = time.perf_counter()
    graph = load(given.name)
    split = load_splits(given.name, given.protocol, count=given.split + 1)[given.split]
    x, y = columns(graph, split.train), graph.labels
    seen = split.validation[np.isin(y[split.validation], y[split.train])]
    model = HistGradientBoostingClassifier(max_iter=300, early_stopping=True, n_iter_no_change=20, random_state=0)
    model.fit(x[split.train], y[split.train], X_val=x[seen], y_val=y[seen])
    parts = (split.test, split.validation)
    if given.metric == "accuracy":
        score, held = (float(model.score(x[part], y[part])) for part in parts)
    else:
        score, held = (float(roc_auc_score(y[part], model.predict_proba(x[part])[:, 1])) for part in parts)
    if given.json:
        print(json.dumps({"metric": given.metric, "test": score, "validation": held, "trees": model.n_iter_}))
        return
    print(f"{given.name} split {given.split}: {given.metric} {100 * score:.2f}, {time.perf_counter() - begun:.1f} s")


if __name__ == "__main__":
    main()
