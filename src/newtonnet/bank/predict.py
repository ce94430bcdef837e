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


def check_bank(state: Mapping[str, Tensor], features: int, classes: int) -> None:
    """Refuse a state from a file that belongs to other sizes, or whose trees are deeper than they can be."""
    if state["sizes"].tolist() != [features, classes]:
        raise ValueError(f"a bank for {features} features and {classes} classes is expected, got {state['sizes']}")
    if "trees.depth" in state and not 0 <= int(state["trees.depth"]) <= len(state["trees.column"]):
        raise ValueError("the trees of a bank are deeper than the number of their nodes")
