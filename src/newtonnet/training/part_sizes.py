"""How large the parts of a population are: what one member takes, against the cache and the memory allowed."""

from dataclasses import dataclass

import torch
from torch import Tensor

from newtonnet.nn import Inputs, Noise, Population

CACHED = 8 << 20
"""Bytes that torch's own operations keep for a part's backward pass, at most, if it has more than one member."""

COPIES = 6
"""Numbers kept for each parameter: itself, its gradient, two moments, the best so far, and a copy to return."""


def part_sizes(model: Population, inputs: Inputs, *, threads: int, max_memory: int | None) -> list[int]:
    """Members of each part: as many as fit the cache, or fewer where the memory allowed asks for it.

    Args:
        model: the population.
        inputs: the graph as it reads it.
        threads: parts that may train side by side.
        max_memory: bytes that training may take beside the graph, parameters of all members included.
    """
    population = len(model.seeds)
    if population == 1 and max_memory is None:
        return [1]
    member = member_bytes(model, inputs)
    owned = member.owned
    size = max(1, CACHED // max(member.by_torch, 1))
    if max_memory is not None:
        one = 2 * member.kept + COPIES * owned
        left = max_memory - 2 * population * owned
        if left < one:
            raise ValueError(
                f"training needs about {(2 * population * owned + one) / 1e6:.0f} MB beside the graph, "
                f"got {max_memory / 1e6:.0f} MB; allow more, or train fewer members"
            )
        size = max(1, min(size, int(left / one / min(threads, population))))
    # Equal parts, and as many as keep all threads busy.
    count = -(-population // size)
    count = min(population, max(count, threads))
    return [population * (k + 1) // count - population * k // count for k in range(count)]


@dataclass(frozen=True)
class MemberBytes:
    """What one member takes.

    Attributes:
        kept: for its backward pass.
        by_torch: of these, results of torch's own operations, each of which goes over all members at once; the native
            kernels take theirs piece by piece, and are as fast where the whole leaves the cache.
        owned: for its parameters.
    """

    kept: int
    by_torch: int
    owned: int


def member_bytes(model: Population, inputs: Inputs) -> MemberBytes:
    """What one member of a population takes, found by one pass of it."""
    one = model.take(torch.zeros(1, dtype=torch.long, device=next(model.parameters()).device))
    read = [*one.parameters(), *(x.matrix for x in (inputs.features, inputs.adjacency) if x is not None)]
    known = {tensor.data_ptr() for tensor in read if tensor.layout == torch.strided}
    kept: dict[int, int] = {}
    by_torch: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        if tensor.layout == torch.strided and tensor.data_ptr() not in known:
            size = tensor.numel() * tensor.element_size()
            kept[tensor.data_ptr()] = size
            if not tensor.is_leaf:
                by_torch[tensor.data_ptr()] = size
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        one(inputs, Noise(0, one.seeds, 1))
    owned = sum(parameter.numel() * parameter.element_size() for parameter in one.parameters())
    return MemberBytes(sum(kept.values()), sum(by_torch.values()), owned)
