"""Predict with either model on a filter bank."""

from collections.abc import Mapping

from torch import Tensor

from newtonnet.graphs import Graph

from .boosting import BoostingOptions, predict_boosting
from .features import Shown
from .ridge import RidgeOptions, predict_ridge
from .trained import Probabilities


def predict_bank(
    state: Mapping[str, Tensor], options: BoostingOptions | RidgeOptions, graph: Graph, shown: Shown
) -> Probabilities:
    """Probabilities of the classes for every node, shape ``(n, C)``; of numbers as targets predictions, ``(n, 1)``.

    Args:
        state: of the trained bank.
        options: with which it was trained.
        graph: that of training, or another with the same features.
        shown: labels that neighbours may see, shape ``(n,)``, -1 where none is shown (of numbers NaN); usually those of
            all training nodes. A node's own label has no effect on its own probabilities.
    """
    if isinstance(options, BoostingOptions):
        return predict_boosting(state, options, graph, shown)
    return predict_ridge(state, options, graph, shown)
