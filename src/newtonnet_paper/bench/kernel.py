"""The propagation kernel beside the machine's bandwidth: time of one sparse product, and the least it could take."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from newtonnet.graphs import Graph, Operator, normalised_operator, propagate

from .clock import repeat
from .machine import Limits, free_memory

DEGREE = 5
"""Sparse products in one call."""

LARGEST_BLOCK = 2 * 2**30
"""Blocks of more bytes are left out."""

BLOCKS = 6
"""How many blocks of the signals' size must fit into free memory."""


@dataclass(frozen=True)
class Product:
    """One sparse product with a block of so many columns.

    Attributes:
        ms: measured, a fifth of ``propagate`` at K = 5, forward.
        bound_ms: what the byte model allows at the measured bandwidth.
        fraction: share of the bandwidth bound that is reached.
        arithmetic_fraction: share of the machine's multiply-adds that is reached.
    """

    ms: float
    bound_ms: float
    fraction: float
    arithmetic_fraction: float


def product_bytes(nodes: int, stored: int, columns: int, *, cache: int) -> int:
    r"""The byte model of one product :math:`\hat A X` in float32 with int32 indices.

    .. math:: 8\,\mathrm{nnz} + 8\,n c \quad [+\ 4\,\mathrm{nnz}\,c \text{ where } 4\,n c \text{ exceeds the cache}]

    The matrix is read once, the block is read once and written once; a block that does not fit the cache is read anew
    for every stored entry.

    Args:
        nodes: :math:`n`.
        stored: stored entries nnz, twice the number of edges.
        columns: :math:`c`.
        cache: bytes of the last cache.

    >>> product_bytes(10, 40, 2, cache=80), product_bytes(10, 40, 2, cache=79)
    (480, 800)
    """
    again = 4 * stored * columns if 4 * nodes * columns > cache else 0
    return 8 * stored + 8 * nodes * columns + again


def time_kernel(
    graph: Graph, widths: Sequence[int], limits: Limits, *, seconds: float, note: Callable[[str], None]
) -> dict[str, Any]:
    """Time ``propagate`` on blocks of these widths; plain data: nodes, stored entries, and a product by columns."""
    operator = normalised_operator(graph)
    nodes, stored = graph.nodes, int(graph.adjacency.nnz)
    products = {}
    for columns in widths:
        block = 4 * nodes * columns
        if block > LARGEST_BLOCK or BLOCKS * block > free_memory():
            note(f"kernel: {graph.name} with {columns} columns left out, its blocks would take too much memory")
            continue
        taken = _product_seconds(operator, columns, seconds=seconds)
        least = product_bytes(nodes, stored, columns, cache=limits.cache) / limits.bandwidth
        arithmetic = stored * columns / limits.multiply_adds
        products[str(columns)] = asdict(Product(1e3 * taken, 1e3 * least, least / taken, arithmetic / taken))
    return {"nodes": nodes, "stored": stored, "products": products}


def _product_seconds(operator: Operator, columns: int, *, seconds: float) -> float:
    x = torch.ones(operator.nodes, 1, columns)
    x += torch.arange(operator.nodes)[:, None, None] % 7  # no block of equal numbers, and no slow random ones
    coefficients = torch.linspace(1, 0.5, DEGREE + 1)[:, None]
    with torch.no_grad():
        return repeat(lambda: propagate(operator, x, coefficients), seconds=seconds) / DEGREE
