"""Memory of a fit: its peak before it starts, and the settings that stay within a limit."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch

from newtonnet.graphs import Features, Graph, from_edges
from newtonnet.meaning import counted
from newtonnet.memory import in_words
from newtonnet.nn import build
from newtonnet.out_of_core import MAPPED, OUT_OF_CORE_MODEL, PROPAGATION_MEMORY, Batching
from newtonnet.training import MemberBytes, member_bytes, plan_parts

from .candidates import candidate_size, group_by_shape
from .families import BANK
from .members import Candidate
from .portfolio import FINALISTS, INSTANT, first_folds

LIBRARIES = 50 * 10**6
"""What a fit loads after its start: scikit-learn's trees, plotly, buffers of the threads."""
STARTED = 20 * 10**6
"""What any training takes."""
WINDOW = 64 << 20
"""Mapped bytes of a store that is read through windows, at most."""
CERTAIN = 0.95
"""Share of a limit that is planned with; the rest is for what is not counted."""


SURE = 1.1
"""A peak that depends on the time is said if it is so much larger than the other."""


class GraphSizes(NamedTuple):
    """What the memory of a fit depends on: numbers of nodes, stored edges, features, classes and labelled nodes.

    ``feature_entries`` is the number of stored entries of sparse features, None if they are dense.
    """

    nodes: int
    entries: int
    features: int
    feature_entries: int | None
    classes: int
    labelled: int
    numbers: bool = False

    @property
    def feature_bytes(self) -> int:
        """For one copy of the features."""
        return 4 * self.nodes * self.features if self.feature_entries is None else 8 * self.feature_entries


def graph_sizes(graph: Graph) -> GraphSizes:
    """The sizes of a graph."""
    features: Features = graph.features
    stored = int(features.nnz) if isinstance(features, sp.csr_array) else None
    known, numbers = len(graph.labelled), graph.targets is not None
    return GraphSizes(graph.nodes, int(graph.adjacency.nnz), features.shape[1], stored, graph.classes, known, numbers)


@dataclass(frozen=True)
class FitMemory:
    """Bytes that a fit takes beside what the process holds when it starts.

    Attributes:
        first: peak of the settings that are always tried, on the folds that they are tried on.
        most: peak if there is time for all.
        largest: model of the setting that takes most.
    """

    first: int
    most: int
    largest: str


def fit_memory(
    listed: Sequence[Candidate], sizes: GraphSizes, *, folds: int, threads: int, max_memory: int | None = None
) -> FitMemory:
    """The peak of trying settings on a graph with ``max_memory`` bytes for it."""
    instant = [one for one in listed if one.model == INSTANT]
    others = [one for one in listed if one.model != INSTANT]
    groups = _largest(_groups(listed))

    several = len(listed) > 1

    def needed(group: Sequence[Candidate], folds: int) -> int:
        return group_memory(group, sizes, folds=folds, threads=threads, max_memory=max_memory, several=several)

    needs = {i: needed(group, folds) for i, group in enumerate(groups)}
    largest = max(needs, key=lambda i: needs[i])
    tried = first_folds(folds, sizes.labelled, several=several)
    first = max(needed([one], tried) for one in (*instant[:1], *others[:1]))
    return FitMemory(_shared(sizes) + first, _shared(sizes) + max(first, needs[largest]), groups[largest][0].model)


def within(
    listed: Sequence[Candidate], sizes: GraphSizes, *, folds: int, resident: int, limit: int, reached: int = 0
) -> tuple[list[Candidate], int, str]:
    """The settings that can be trained within a limit on the process, the memory for each, and a note on the others.

    An error says the least possible if there are none, or if the process has ``reached`` more than the limit before.
    """
    held = resident + _shared(sizes) + LIBRARIES
    room, kept = int(CERTAIN * limit) - held, list[Candidate]()
    for group in _groups(listed):
        for count in range(len(group), 0, -1):
            if _least(group[:count], sizes, folds, several=len(listed) > 1) <= room:
                kept += group[:count]
                break
    if not kept or reached > limit:
        least = min(_least([one], sizes, folds, several=len(listed) > 1) for one in listed)
        least = max(int((held + least) / CERTAIN), reached)
        raise ValueError(
            f"max_memory is {limit / 1e6:,.0f} MB, but this fit takes at least {-(-least // 10**7) * 10:,} MB; allow "
            "more"
        )
    kept = [one for one in listed if any(one is other for other in kept)]
    left = [one for one in listed if not any(one is other for other in kept)]
    models = ", ".join(dict.fromkeys(one.model for one in left))
    note = f"{counted(len(left), 'setting')} left out, of {models}: they need more than {in_words(limit)} of memory."
    return kept, room, note if left else ""


def state_memory(needs: Sequence[FitMemory], *, resident: int, reached: int, page: int, limit: int | None) -> str:
    """The line that says the peak of a run: that of all its fits, one after another, and of its page.

    Args:
        needs: of every fit.
        resident: bytes that the process holds now.
        reached: the most that it held while the tables were read.
        page: what the page takes.
        limit: ``max_memory``.
    """
    held = resident + LIBRARIES
    first = max(reached, held + page, *(held + one.first for one in needs))
    top = max(needs, key=lambda one: one.most)
    most = max(first, held + top.most)
    if limit is not None:
        first, most = min(first, limit), min(most, limit)
    line = f"memory: about {in_words(first)} at most"
    if most > SURE * first:
        line = f"memory: about {in_words(first)}, up to {in_words(most)} if there is time for all of {top.largest}"
    return line


def group_memory(
    group: Sequence[Candidate],
    sizes: GraphSizes,
    *,
    folds: int,
    threads: int,
    max_memory: int | None = None,
    several: bool = True,
) -> int:
    """Peak bytes of training settings of one shape together."""
    model, options = group[0].model, group[0].setting.options
    if model in BANK:
        return bank_memory(model, options, sizes)
    if model == OUT_OF_CORE_MODEL:
        return out_of_core_memory(options, sizes, max_memory)
    members, own = _members(group, sizes, folds, several), _inputs(options, sizes)
    room = None if max_memory is None else max(max_memory - own, _least(group, sizes, folds, several=several) - own)
    return own + plan_parts(_member(model, options, sizes), members, threads=threads, max_memory=room).bytes


def bank_memory(model: str, options: Any, sizes: GraphSizes) -> int:
    """Ridge or boosting: the columns of the bank in float32, those of the training nodes again, and the graph."""
    layout, train = options.layout, 0.8 * sizes.labelled
    outputs = (2 if sizes.numbers else sizes.classes + 1) * layout.label_hops
    columns = (layout.hops + 1) * min(sizes.features, layout.components) + outputs + 2 + layout.walks
    columns += 3 * layout.eigenvectors  # they are found in float64, among two to three times as many vectors
    bytes_of_all, bytes_of_trained = (16, 48) if model == INSTANT else (12, 12)
    return int(STARTED + columns * (bytes_of_all * sizes.nodes + bytes_of_trained * train) + 60 * sizes.entries)


def out_of_core_memory(options: Any, sizes: GraphSizes, max_memory: int | None) -> int:
    """The larger of propagating features, some columns at a time, and of reading batches of them."""
    n, terms, steps = sizes.nodes, options.degree + 1, out_of_core_batches(options, sizes)
    columns = max(1, min(sizes.features, (PROPAGATION_MEMORY if max_memory is None else max_memory) // (12 * n)))
    store = 4 * n * sizes.features * terms
    mapped = store if store <= (MAPPED if max_memory is None else max_memory - steps) else min(WINDOW, store)
    return int(max(30 * 10**6 + 4 * n + 12 * n * columns, steps + mapped))


def out_of_core_batches(options: Any, sizes: GraphSizes) -> int:
    """What training out of core takes beside the store."""
    batch = min(Batching().batch, max(sizes.labelled, 1))
    read = 4 * (options.degree + 1) * sizes.features * batch
    return int(STARTED + read + 40 * batch * options.hidden + 12 * sizes.nodes + 100 * sizes.labelled)


def _groups(listed: Sequence[Candidate]) -> list[list[Candidate]]:
    return [[listed[i] for i in group] for group in group_by_shape(dict(enumerate(listed)))]


def _largest(groups: Sequence[list[Candidate]]) -> list[list[Candidate]]:
    """Of every model the widest and deepest group, with and without weights for every node; measuring takes time."""
    found: dict[tuple[str, bool], list[Candidate]] = {}
    for group in sorted(groups, key=lambda group: (_size(group[0]), len(group))):
        found[group[0].model, bool(getattr(group[0].setting.options, "branch", 0))] = group
    return list(found.values())


def _size(candidate: Candidate) -> int:
    """What the memory of settings of one model grows with."""
    return candidate_size(candidate) + int(getattr(candidate.setting.options, "eigenvectors", 0))


def _members(group: Sequence[Candidate], sizes: GraphSizes, folds: int, several: bool) -> int:
    """Members of the largest population that is made of a group: on the first folds, or of finalists on the rest."""
    first = first_folds(folds, sizes.labelled, several=several)
    return max(len(group) * first, min(len(group), FINALISTS) * (folds - first))


def _least(group: Sequence[Candidate], sizes: GraphSizes, folds: int, *, several: bool) -> int:
    """What a group takes if one member trains at a time."""
    model, options = group[0].model, group[0].setting.options
    if model in BANK:
        return bank_memory(model, options, sizes)
    if model == OUT_OF_CORE_MODEL:
        return out_of_core_memory(options, sizes, 1)
    member, members = _member(model, options, sizes), _members(group, sizes, folds, several)
    weights = plan_parts(member, 1, threads=1, max_memory=None).bytes - member.running
    return int(1.02 * (members * weights + member.running)) + _inputs(options, sizes)


def _shared(sizes: GraphSizes) -> int:
    """What every fit makes of a graph: standardised features, probabilities, and results by node."""
    return sizes.feature_bytes + sizes.nodes * (100 + 48 * sizes.classes)


def _inputs(options: Any, sizes: GraphSizes) -> int:
    """A graph as a network reads it: features, the operator, for a branch the adjacency again, labels and masks."""
    sparse = 3 * sizes.feature_bytes if sizes.feature_entries is not None else sizes.feature_bytes
    operator = (40 if getattr(options, "branch", 0) else 20) * sizes.entries
    return STARTED + sparse + operator + 60 * sizes.nodes


def _member(model: str, options: Any, sizes: GraphSizes) -> MemberBytes:
    """What one member takes on a graph, from two small graphs: every tensor has a row for each node, or none."""
    per_node = None if sizes.feature_entries is None else -(-sizes.feature_entries // max(sizes.nodes, 1))
    small, large = _measured(model, options, sizes.features, per_node, sizes.classes, sizes.numbers)
    low, high = _small(sizes.classes)
    share = (sizes.nodes - low) / (high - low)
    ends = {field.name: (getattr(small, field.name), getattr(large, field.name)) for field in fields(MemberBytes)}
    return MemberBytes(**{name: max(int(a + share * (b - a)), 0) for name, (a, b) in ends.items()})


@lru_cache(maxsize=256)
def _measured(
    model: str, options: Any, features: int, per_node: int | None, classes: int, numbers: bool
) -> tuple[MemberBytes, MemberBytes]:
    found = []
    for nodes in _small(classes):
        matrix: Any = np.ones((nodes, features), dtype=np.float32)
        if per_node is not None:
            places = np.arange(nodes * per_node) % max(features, 1)
            rows = np.arange(nodes + 1) * per_node
            matrix = sp.csr_array((np.ones(len(places), dtype=np.float32), places, rows), shape=(nodes, features))
        ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes])
        graph = from_edges(ring, matrix, labels=np.arange(nodes) % classes)
        if numbers:
            graph = graph.with_targets(np.arange(nodes, dtype=np.float64), "number")
        population = build(model, graph, options, seeds=[0])
        inputs = population.prepare(graph).show(torch.tensor(graph.truth))
        found.append(member_bytes(population, inputs))
    return found[0], found[1]


def _small(classes: int) -> tuple[int, int]:
    """Odd numbers of nodes, which no layer is as wide as."""
    nodes = 2 * max(33, classes) + 1
    return nodes, 2 * nodes - 1
