"""Probabilities from a trained state and the blocks of a graph."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.graphs import Graph
from newtonnet.nn import Options
from newtonnet.training import Setting

from .batches import RESIDENT, RowReader, Worker
from .evaluation import sequential_logits
from .model import OutOfCoreNet
from .run import make_filter
from .store import FeatureStore, open_store


def predict_out_of_core(
    state: Mapping[str, Tensor],
    setting: Setting,
    *,
    store: str | Path | FeatureStore,
    graph: Graph | None = None,
    nodes: NDArray[np.int64] | None = None,
    batch: int = 65536,
    max_memory: int | None = None,
) -> NDArray[np.float32]:
    """Probabilities of all classes from a trained state and the blocks.

    Args:
        state: of a training with this setting.
        setting: the one it was trained with.
        store: the complete blocks of a graph with the same features.
        graph: only needed where the points follow the graph's density.
        nodes: for which nodes, ascending; all if not given.
        batch: nodes that are worked on at once.
        max_memory: bytes of blocks that may be mapped at once; 1 GB if not given.

    Returns:
        Shape ``(n, C)``, or one row for each of the nodes.
    """
    blocks = store if isinstance(store, FeatureStore) else open_store(store)
    filter = make_filter(setting, graph)
    if not blocks.complete or blocks.identity.degree < filter.degree:
        have = f"degree {blocks.identity.degree}" if blocks.complete else "parts that are missing"
        raise ValueError(f"{blocks.folder} has {have}, but a filter of degree {filter.degree} needs all; precompute it")
    features, classes = state["weight1"].shape[0], next(reversed(_biases(state))).shape[1]
    if features != blocks.identity.features:
        raise ValueError(f"the model knows {features} features, {blocks.folder} has {blocks.identity.features}")
    options: Options = setting.options
    model = OutOfCoreNet(filter, features=features, classes=classes, seed=0, hidden=options.hidden)
    model.load_state_dict(dict(state))
    rows = RowReader(blocks, filter.degree, resident=RESIDENT if max_memory is None else max_memory)
    wanted = np.arange(blocks.identity.nodes) if nodes is None else nodes
    out = np.empty((len(wanted), classes), dtype=np.float32)
    for place, logits in sequential_logits(model, rows, wanted, batch=batch, worker=Worker()):
        out[place] = torch.softmax(logits, dim=1).numpy()
    return out


def _biases(state: Mapping[str, Tensor]) -> list[Tensor]:
    return [state[name] for name in ("bias1", "bias2") if name in state]
