"""Predict with either classifier on a filter bank."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.graphs import Graph

from .boosting import BoostingOptions, predict_boosting
from .ridge import RidgeOptions, predict_ridge
from .trained import Probabilities


def predict_bank(
    state: Mapping[str, Tensor], options: BoostingOptions | RidgeOptions, graph: Graph, shown: NDArray[np.int64]
) -> Probabilities:
    """Probabilities of the classes for every node, shape ``(n, C)``.

    Args:
        state: of the trained bank.
        options: with which it was trained.
        graph: that of training, or another with the same features.
        shown: labels that neighbours may see, shape ``(n,)``, -1 where none is shown; usually those of all training
            nodes. A node's own label has no effect on its own probabilities.
    """
    if isinstance(options, BoostingOptions):
        return predict_boosting(state, options, graph, shown)
    return predict_ridge(state, options, graph, shown)
