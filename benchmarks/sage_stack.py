"""The usual choice: a residual, normalised GraphSAGE stack in plain torch, on a published split.

    python benchmarks/sage_stack.py minesweeper --split 0 --seconds 60

Prints the test score at the epoch with the best validation score; everything is at its usual value, nothing is tuned.
"""

import argparse
import json
import time
import warnings

import numpy as np
import torch
from scipy import sparse
from sklearn.metrics import roc_auc_score
from torch import nn

from newtonnet.datasets import load, load_splits


class Stack(nn.Module):
    """Each layer adds to its input: maps of the node and of its neighbours' mean, LayerNorm, ReLU, dropout."""

    def __init__(self, features: int, classes: int, width: int = 64, layers: int = 5) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(features, width), nn.Linear(width, classes)
        self.own = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.near = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))

    def forward(self, x: torch.Tensor, means: torch.Tensor) -> torch.Tensor:
        """Logits of all nodes."""
        h = torch.relu(self.enter(x))
        for own, near, norm in zip(self.own, self.near, self.norm, strict=True):
            h = h + nn.functional.dropout(torch.relu(norm(own(h) + means @ near(h))), 0.2, self.training)
        return self.leave(h)


def main() -> None:
    """Train for the given time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--protocol", default="fixed", help="fixed, or a protocol of newtonnet.datasets.load_splits")
    parser.add_argument("--metric", choices=("accuracy", "roc_auc"), help="roc_auc for minesweeper and tolokers")
    parser.add_argument("--json", action="store_true", help="print one JSON value")
    given = parser.parse_args()
    graph, split = load(given.dataset), load_splits(given.dataset, given.protocol)[given.split]
    metric = given.metric or ("roc_auc" if given.dataset in ("minesweeper", "tolokers") else "accuracy")
    features = graph.features.toarray() if sparse.issparse(graph.features) else np.array(graph.features)
    x, y = torch.tensor(features, dtype=torch.float32), torch.tensor(graph.labels)
    rows, columns = (torch.from_numpy(np.array(part)) for part in (graph.adjacency.indptr, graph.adjacency.indices))
    counts = rows.diff()
    warnings.filterwarnings("ignore", message="Sparse")
    means = torch.sparse_csr_tensor(rows, columns, (1.0 / counts).repeat_interleave(counts), size=(graph.nodes,) * 2)
    train, parts = torch.tensor(split.train), (split.validation, split.test)
    torch.manual_seed(0)
    model = Stack(x.shape[1], graph.classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    best, epoch, end = (-1.0, -1.0, 0), 0, time.monotonic() + given.seconds
    while time.monotonic() < end:
        epoch += 1
        model.train()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x, means)[train], y[train]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            logits = model(x, means).numpy()
        if metric == "roc_auc":
            scores = [roc_auc_score(graph.labels[part], logits[part, 1] - logits[part, 0]) for part in parts]
        else:
            scores = [np.mean(logits[part].argmax(axis=1) == graph.labels[part]) for part in parts]
        best = max(best, (scores[0], scores[1], epoch), key=lambda found: found[0])
    if given.json:
        print(json.dumps({"metric": metric, "test": best[1], "validation": best[0], "epochs": epoch}))
        return
    scores = f"test {metric} {100 * best[1]:.2f}, validation {100 * best[0]:.2f}"
    print(f"{given.dataset} split {given.split}: {scores} at epoch {best[2]} of {epoch}")


if __name__ == "__main__":
    main()
