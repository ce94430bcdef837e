"""Random small graphs of every odd kind end in a result or in one clear line, never in a traceback or a NaN."""

import numpy as np
import pytest

from newtonnet import NewtonNetClassifier
from newtonnet.graphs import from_edges

pytestmark = pytest.mark.usefixtures("few_trees")
CLEAR = (
    "no labelled node",
    "labels of one class only",
    "no class has two labelled nodes",
    "every setting failed",
    "two labelled nodes of every class",
    "two classes among validation and test nodes",
)


def odd_graph(rng):
    """Few nodes, edges of every kind, features of every kind, any number of labels."""
    nodes = int(rng.integers(1, 30))
    kind = rng.choice(["none", "few", "many", "loops", "star", "twice"])
    count = {"none": 0, "few": nodes // 2, "many": 4 * nodes, "loops": nodes, "star": nodes, "twice": nodes}[kind]
    ends = rng.integers(0, nodes, size=(2, count))
    if kind == "loops":
        ends[1] = ends[0]
    if kind == "star":
        ends = np.stack([np.zeros(nodes, int), np.arange(nodes)])
    if kind == "twice":
        ends = np.concatenate([ends, ends, ends[::-1]], axis=1)
    width = int(rng.integers(1, 8))
    features = {
        "normal": lambda: rng.normal(size=(nodes, width)),
        "constant": lambda: np.full((nodes, width), 3.0),
        "zero": lambda: np.zeros((nodes, width)),
        "huge": lambda: 1e6 * rng.normal(size=(nodes, width)),
        "tiny": lambda: 1e-20 * rng.normal(size=(nodes, width)),
        "eye": lambda: np.eye(nodes),
    }[rng.choice(["normal", "constant", "zero", "huge", "tiny", "eye"])]()
    classes = int(rng.integers(1, 5))
    labels = rng.integers(0, classes, size=nodes)
    labels[rng.random(nodes) < rng.choice([0.0, 0.5, 0.9])] = -1
    weights = rng.choice([1.0, 1e-6, 1e6], size=ends.shape[1]) if rng.random() < 0.3 else None
    return from_edges(ends, features, labels=labels, weights=weights, class_names=[str(c) for c in range(classes)])


@pytest.mark.parametrize("block", range(8))
def test_odd_graphs_end_in_a_result_or_a_clear_line(block):
    fine = 0
    for case in range(25):
        rng = np.random.default_rng(1000 * block + case)
        graph = odd_graph(rng)
        model = NewtonNetClassifier(
            str(rng.choice(["newtonnet", "newtonnet", "gcn", "mlp", "glognn++", "linkx"])),
            tune=str(rng.choice(["auto", "off"], p=[0.1, 0.9])),
            metric=str(rng.choice(["accuracy", "roc_auc"], p=[0.9, 0.1])),
            folds=None if case % 5 == 0 else 2,  # as many as the labels allow, or few, which takes less time
            max_epochs=5,
            time_limit=0.3,
            threads=1,
        )
        refusal, shares = "", np.full((1, 1), np.nan)
        try:
            shares = model.fit(graph).predict_proba(graph)
        except ValueError as refused:
            refusal = str(refused)
        if refusal:
            assert any(line in refusal for line in CLEAR), refusal
            continue
        fine += 1
        assert np.isfinite(shares).all()
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
    assert fine >= 8
