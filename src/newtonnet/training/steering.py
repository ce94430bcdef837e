"""The shape-aware penalty during a run: what each member's bands are pulled by, and the homophily that it follows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.graphs import Graph
from newtonnet.nn import Population

from .config import Config
from .shape import Reals, adjusted_pivot, band_masks, band_pull, penalise, predicted_homophily


class Steering:
    """The penalty of all members.

    Attributes:
        homophily: learned h of every member, ``(P,)``; the pivot until it is learned, and always without edges.
        pivot: where encouraging turns into discouraging, ``(P,)``.
        active: whether anyone who still trains has a penalty.
    """

    def __init__(
        self, model: Population, graph: Graph, configs: Sequence[Config], pairs: Tensor, degrees: Tensor
    ) -> None:
        self.shared, self.graph, self.pairs, self.degrees = configs[0], graph, pairs, degrees
        self.bands = band_masks(model.filter.points).numpy() if model.filter is not None else np.zeros((3, 0), np.bool_)
        self.gammas = np.array([config.gammas for config in configs]).T
        self.pivot = np.full(len(configs), 1 / graph.classes)
        self.homophily = self.pivot.copy()
        self.stay(np.arange(len(configs)))

    def stay(self, places: NDArray[np.int64]) -> None:
        """Go on with the members at these places."""
        self.places, self.present = places, self.gammas[:, places]
        self.active = bool(self.present.any())
        self._follow()

    def restore(self, homophily: Reals, pivot: Reals) -> None:
        """Follow what was learned before."""
        self.homophily, self.pivot = homophily, pivot
        self._follow()

    def add_slopes(self, model: Population, gradients: dict[str, Tensor]) -> Reals:
        """The penalty on the raw values or on the filter's amplitudes; its slopes are added to the gradients."""
        if not self.active or model.filter is None:
            return np.zeros(1)
        parameters, shared = model.filter_parameters(), self.shared
        penalty, slopes = penalise(
            model.filter, parameters, self.bands, self.pull, raw=shared.penalises_raw, squared=shared.squared
        )
        for name, slope in slopes.items():
            gradients[f"filter_{name}"] = gradients[f"filter_{name}"] + slope
        return penalty

    def learn(self, classes: Tensor, epoch: int, *, wanted: bool) -> Tensor | None:
        """Learn the homophily of predicted classes ``(n, P)`` anew where it is due.

        Args:
            classes: predicted, with training labels put in.
            epoch: of which some refresh it.
            wanted: whether somebody else needs it in this epoch.

        Returns:
            Shape ``(P,)`` for those that train; None where it is neither due nor wanted.
        """
        due = self.active and epoch % self.shared.refresh == 0 and self.pairs.shape[1] > 0  # no edges tell nothing
        if not due and not wanted:
            return None
        homophily = predicted_homophily(self.pairs, classes)
        if due:
            self.homophily[self.places] = homophily.cpu().numpy()
            if self.shared.pivot == "adjusted":
                pivot = adjusted_pivot(self.degrees, classes, self.graph.classes)
                self.pivot[self.places] = pivot.cpu().numpy()
            self._follow()
        return homophily

    def _follow(self) -> None:
        excess = self.homophily[self.places] - self.pivot[self.places]
        self.pull = band_pull(excess, self.present)
