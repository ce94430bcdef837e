"""An average of trained members, as plain data: it is built for whatever graph it is asked about."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from newtonnet.graphs import Graph
from newtonnet.out_of_core import OUT_OF_CORE_MODEL

from .filter_first import Store, each_filtered_probability
from .members import Member, each_probability, together
from .scoring import sharpened
from .tuning import Tuned


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Members and their weights, which sum to 1.

    Attributes:
        members: in the order of the settings they belong to.
        weights: shape ``(M,)``.
        class_names: the classes that they tell apart.
        temperature: what makes the average's probabilities honest.
    """

    members: Sequence[Member]
    weights: Sequence[float]
    class_names: tuple[str, ...]
    temperature: float

    def probabilities(
        self, graph: Graph, *, device: str = "cpu", store: Store = None, max_memory: int | None = None
    ) -> NDArray[np.float64]:
        """Mean probability of each class for every node, shape ``(n, C)``.

        Args:
            graph: with the features that the members know.
            device: where to compute.
            store: for members of the precomputed regime, the folder with this graph's blocks, made where needed; one
                with another graph's is left alone, and a temporary one is made.
            max_memory: bytes for these blocks.
        """
        unlabelled = graph.relabelled(np.full(graph.nodes, -1, dtype=np.int64), self.class_names)
        total = np.zeros((graph.nodes, len(self.class_names)))
        for places in self._alike():
            mine = [self.members[place] for place in places]
            if mine[0].model == OUT_OF_CORE_MODEL:
                rows = each_filtered_probability(mine, unlabelled, store=store, max_memory=max_memory)
            else:
                rows = each_probability(together(mine, unlabelled), unlabelled, device)
            for place, shares in zip(places, rows, strict=True):
                total += self.weights[place] * shares
        return sharpened(total, self.temperature)

    def _alike(self) -> list[list[int]]:
        """Places of members that one population can hold."""
        alike: dict[str, list[int]] = {}
        for place, member in enumerate(self.members):
            alike.setdefault(repr((member.model, member.options)), []).append(place)
        return list(alike.values())


def ensemble_of(tuned: Tuned, class_names: tuple[str, ...]) -> Ensemble:
    """The members of the settings that were kept, each with an equal share of its setting's weight."""
    members = [member for own in tuned.chosen for member in own.members]
    weights = [own.weight / len(own.members) for own in tuned.chosen for _ in own.members]
    return Ensemble(members, weights, class_names, tuned.temperature)
