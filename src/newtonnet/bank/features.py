"""The filter bank of a graph as columns: features, filtered features, structure, and the labels of other nodes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from inspect import signature
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.graphs import Features, Graph, Operator, in_pieces, normalise, propagate, row_blocks

Block = NDArray[np.float32]
Signals = NDArray[np.float64]
"""Shape ``(n, m)``; in float64, so that nothing of a subtracted label remains, and see :func:`settle`."""

Shown = NDArray[np.int64] | NDArray[np.float64]
"""Labels that nodes may see of each other, ``(n,)``: int64, -1 where none is; of numbers float64, NaN where none is."""

FILTERS = ("mean", "chebyshev")
WALKS = 4
"""Longest random walk whose return probability is known, and so the most hops that labels are taken from."""
DAMPING, ROUNDS = 0.85, 20
"""Of PageRank."""
TRACE = 1e-10
"""What rounding may leave of a label that was subtracted."""
GRAIN, ASIDE = 32, 0.37
"""Binary digits that are kept of a column's largest number, and what keeps exact numbers off the edges of grains."""
SMALL = 300
"""Number of nodes up to which all eigenvectors are computed."""
SKETCH, POWERS = 8, 4
"""Additional directions and rounds of the subspace iteration."""
RESTARTS, TOLERANCE = 100, 1e-6
"""Of the iteration for eigenvectors: at most so many restarts, and the relative error of an eigenvalue."""
ROUNDING = 1e-12
"""What rounding may leave of an entry of an eigenvector that is 0."""


class BankColumn(NamedTuple):
    r"""What a column of the bank is: a linear filter of a signal.

    Attributes:
        name: for people.
        signal: ``feature``, ``component`` (of the features' singular value decomposition), ``structure``,
            ``eigenvector``, ``label`` or ``reached`` (1 where a label is shown).
        place: which feature, component or class.
        filter: ``mean``: :math:`P^k` with :math:`P = D^{-1} A`; ``chebyshev``: :math:`T_k(L - I)`. Of labels, the
            filter without its diagonal.
        degree: k; 0 is the signal itself.
    """

    name: str
    signal: str
    place: int
    filter: str
    degree: int


@dataclass(frozen=True)
class BankLayout:
    """Which columns a bank has.

    Attributes:
        filter: ``mean`` or ``chebyshev``.
        hops: largest degree of the filters of features.
        components: largest number of columns for the features themselves; more are reduced to that many.
        walks: longest random walk whose return probability is a column, up to 4; 0: none.
        structure: log degree and PageRank.
        label_hops: largest number of hops for labels, up to 4; 0: no labels.
        eigenvectors: number of leading eigenvectors of the random walk; they tie a model to its training graph.
    """

    filter: str = "mean"
    hops: int = 2
    components: int = 64
    walks: int = 3
    structure: bool = True
    label_hops: int = 2
    eigenvectors: int = 0

    def __post_init__(self) -> None:
        if self.filter not in FILTERS:
            raise ValueError(f"filter must be one of {', '.join(FILTERS)}, got {self.filter!r}")
        for name, least, most in (
            ("hops", 0, 50),
            ("components", 1, 10**6),
            ("walks", 0, WALKS),
            ("label_hops", 0, WALKS),
            ("eigenvectors", 0, 1000),
        ):
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} must be between {least} and {most}, got {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What the columns of a graph are made with, whatever the labels.

    Attributes:
        operator: the symmetrised graph's normalised adjacency, in float64.
        degree: sums of weights, shape ``(n,)``.
        returns: probability to be back after 1, 2, ... steps of a random walk, shape ``(walks, n)``.
    """

    operator: Operator
    degree: NDArray[np.float64]
    returns: NDArray[np.float64]

    def means(self, x: Signals) -> Signals:
        """Means over neighbours, weighted by the edges; 0 for a node without any: ``(n, m)`` to the same."""
        root = np.sqrt(self.degree)[:, None]
        sums = -self.shift(x * root)
        return np.divide(sums, root, out=np.zeros_like(sums), where=root > 0)

    def shift(self, x: Signals) -> Signals:
        """(L - I) x."""
        if x.shape[1] == 0:
            return x
        one = torch.tensor([[0.0], [1.0]])
        with torch.no_grad():
            return np.asarray(propagate(self.operator, torch.from_numpy(x)[:, None], one)[:, 0].numpy())


def surroundings(graph: Graph, walks: int) -> Surroundings:
    """The operator, degrees and return probabilities of a graph; a directed one is symmetrised."""
    adjacency = graph.adjacency
    if graph.directed:
        adjacency = sp.csr_array(adjacency.maximum(adjacency.T))
        adjacency.sort_indices()
    operator = normalise(adjacency, symmetric=True)
    return Surroundings(operator, adjacency @ np.ones(graph.nodes), return_probabilities(adjacency, walks))


def return_probabilities(adjacency: sp.csr_array, walks: int) -> NDArray[np.float64]:
    r"""Probability that a random walk is back after k steps, the diagonal of :math:`P^k` and of :math:`\hat A^k`.

    .. math:: (P^2)_{ii} = \sum_j \hat A_{ij}^2, \qquad (P^3)_{ii} = \sum_j (\hat A^2)_{ij} \hat A_{ij}, \qquad
        (P^4)_{ii} = \sum_j (\hat A^2)_{ij}^2

    Args:
        adjacency: symmetric, shape ``(n, n)``.
        walks: largest k, up to 4.

    Returns:
        Shape ``(walks, n)``, for k = 1, 2, ...

    >>> triangle = sp.csr_array(np.ones((3, 3)) - np.eye(3))
    >>> return_probabilities(triangle, 4)[:, 0]
    array([0.   , 0.5  , 0.25 , 0.375])
    """
    n = adjacency.shape[0]
    degree = adjacency @ np.ones(n)
    scale = np.power(degree, -0.5, out=np.zeros(n), where=degree > 0)
    step = sp.csr_array(sp.diags_array(scale) @ sp.csr_array(adjacency, dtype=np.float64) @ sp.diags_array(scale))
    found = np.zeros((walks, n))
    if walks >= 2:
        found[1] = step.power(2).sum(axis=1)
    if walks >= 3:
        for rows in row_blocks(step.indptr):
            one = step[rows]
            two = one @ step
            found[2, rows] = two.multiply(one).sum(axis=1)
            if walks >= 4:
                found[3, rows] = two.power(2).sum(axis=1)
    return found


def feature_basis(features: Features, components: int, *, seed: int = 0) -> Tensor | None:
    """The leading right singular vectors of the features, ``(F, components)``; None where there are no more features.

    Subspace iteration from a fixed seed, so that the order of the nodes makes no difference; each vector's entry of the
    largest magnitude is positive.
    """
    count = features.shape[1]
    if count <= components:
        return None
    wide = min(components + SKETCH, count)
    basis = np.random.default_rng(seed).standard_normal((count, wide)).astype(np.float32)
    for _ in range(POWERS):
        basis = np.linalg.qr(features.T @ (features @ basis))[0]
    reduced = features @ basis
    _, vectors = np.linalg.eigh(np.asarray(reduced.T @ reduced, dtype=np.float64))
    basis = basis @ vectors[:, ::-1][:, :components]
    basis *= np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(components)])
    return torch.from_numpy(basis.astype(np.float32))


def leading_eigenvectors(around: Surroundings, count: int) -> Tensor:
    r"""Right eigenvectors of :math:`P = D^{-1} A` with the largest eigenvalues, the largest first, ``(n, count)``.

    Each has its entry of the largest magnitude positive, and 0 on nodes without an edge. Where there are fewer, or some
    are not found after so many restarts (on a long ring, whose eigenvalues are nearly equal), the other columns are 0.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n, matrix = len(around.degree), around.operator.matrix
    entries = (matrix.values().numpy(), matrix.col_indices().numpy(), matrix.crow_indices().numpy())
    step = sp.csr_array(entries, shape=(n, n))
    found, kept = np.zeros((n, count)), min(count, n)
    if n <= max(SMALL, 2 * count):
        found[:, :kept] = np.linalg.eigh(step.toarray())[1][:, ::-1][:, :kept]
    elif step.nnz:
        # From the root of the degrees, an eigenvector already, ARPACK would go on with random numbers of its own; where
        # the rank is low it does so from any start, and the generator is an argument since SciPy 1.17.
        rng = np.random.default_rng(0)
        drawn = {"rng": rng} if "rng" in signature(eigsh).parameters else {}
        try:
            values, vectors = eigsh(
                step, k=count, which="LA", v0=rng.standard_normal(n), maxiter=RESTARTS, tol=TOLERANCE, **drawn
            )
        except ArpackNoConvergence as reason:
            values, vectors = reason.eigenvalues, reason.eigenvectors
        found[:, : len(values)] = vectors[:, values.argsort()[::-1]]
    found[np.abs(found) < ROUNDING] = 0
    found *= np.power(around.degree, -0.5, out=np.zeros(n), where=around.degree > 0)[:, None]
    found *= np.where(found[np.abs(found).argmax(axis=0), np.arange(count)] < 0, -1, 1)
    return torch.from_numpy(found.astype(np.float32))


def feature_columns(
    graph: Graph, around: Surroundings, layout: BankLayout, basis: Tensor | None, eigenvectors: Tensor | None = None
) -> tuple[Block, tuple[BankColumn, ...]]:
    """The columns that do not depend on labels, shape ``(n, m)``: features, filtered features and structure."""
    own = _components(graph.features, basis)
    signal = "feature" if basis is None else "component"
    blocks, columns = [], []
    for degree, block in enumerate(_filtered(own, around, layout)):
        blocks.append(settle(block))  # at once, because float64 takes twice the memory
        columns += [_column(signal, f"{signal} {i + 1}", i, layout.filter, degree) for i in range(block.shape[1])]
    if layout.structure:
        blocks.append(settle(np.stack([np.log1p(around.degree), _page_rank(around)], axis=1)))
        columns += [
            BankColumn(name, "structure", i, layout.filter, 0) for i, name in enumerate(("log degree", "PageRank"))
        ]
    for walk in range(2, layout.walks + 1):
        blocks.append(settle(around.returns[walk - 1][:, None]))
        columns.append(BankColumn(f"return after {walk} steps", "structure", walk, layout.filter, 0))
    if eigenvectors is not None:
        blocks.append(settle(eigenvectors.numpy()))
        columns += [
            _column("eigenvector", f"eigenvector {i + 1}", i, layout.filter, 0) for i in range(layout.eigenvectors)
        ]
    return np.concatenate(blocks, axis=1), tuple(columns)


def settle(block: NDArray[np.floating]) -> Block:
    """Columns ``(n, m)`` in float32 that do not depend on the order in which float64 numbers were added.

    Trees compare columns with thresholds, which may equal a value. Sums of the same numbers in another order, by other
    kernels or another program, must therefore be the same float32: all numbers of a column become multiples of one
    grain, far above the rounding of float64. NaN stays.

    >>> settle(np.array([[0.1 + 0.2 - 0.3], [1.0]]))[:, 0]
    array([0., 1.], dtype=float32)
    """
    largest = np.fmax.reduce(np.abs(block), axis=0, initial=0.0)
    grain = np.ldexp(1.0, np.frexp((1 + ASIDE) * largest)[1] - GRAIN)
    return np.asarray(np.floor(block / grain + ASIDE) * grain, dtype=np.float32)


def _components(features: Features, basis: Tensor | None) -> Signals:
    """The features, or their components in a basis, dense in float64, shape ``(n, m)``."""
    if isinstance(features, sp.csr_array):
        return np.asarray(
            features.toarray() if basis is None else features @ basis.numpy().astype(np.float64), dtype=np.float64
        )
    if basis is None:
        return features.astype(np.float64)
    wide = basis.numpy().astype(np.float64)
    return np.concatenate([piece @ wide for piece in in_pieces(features)])


def label_columns(
    around: Surroundings, layout: BankLayout, shown: Shown, classes: int
) -> tuple[Block, tuple[BankColumn, ...]]:
    r"""Filtered labels of the other nodes, shape ``(n, m)``: :math:`F_k Y - \mathrm{diag}(F_k)\, Y`.

    With the filter ``mean`` the columns of a hop are shares of the classes among the labels that are reached, NaN where
    there are none, and how much is reached. Numbers as targets, whatever the filter, have a column of their mean among
    those reached, and one of how much is reached in units of the share of nodes that is shown: neither grows when more
    numbers are shown than in training. A node's own label never enters its row, by walks of any length.

    Args:
        around: of the graph.
        layout: which columns.
        shown: labels, shape ``(n,)``, -1 where none is shown; or numbers, NaN where none is shown.
        classes: number of classes C, 1 for numbers.
    """
    known = np.flatnonzero(is_shown(shown))
    if shown.dtype == np.float64:
        return _number_columns(around, layout, shown, known)
    own = np.zeros((len(shown), classes))
    own[known, shown[known].astype(np.int64)] = 1
    blocks, columns = [], []
    for degree, block in enumerate(_filtered(own, around, layout, hops=layout.label_hops)):
        if degree == 0:
            continue
        others = block - _diagonal(around, layout.filter, degree)[:, None] * own
        if layout.filter == "mean":
            others = np.where(others > TRACE, others, 0)
            reached = others.sum(axis=1, keepdims=True)
            shares = np.divide(others, reached, out=np.full_like(others, np.nan), where=reached > 0)
            others = np.concatenate([shares, reached], axis=1)
        blocks.append(others)
        columns += [_column("label", f"label {i + 1}", i, layout.filter, degree) for i in range(classes)]
        columns += [_column("reached", "labelled", 0, layout.filter, degree)] * (others.shape[1] - classes)
    return settle(np.concatenate([np.zeros((len(shown), 0)), *blocks], axis=1)), tuple(columns)


def _number_columns(
    around: Surroundings, layout: BankLayout, shown: Shown, known: NDArray[np.int64]
) -> tuple[Block, tuple[BankColumn, ...]]:
    """The columns of numbers: for each hop their mean among those reached, and how much is reached."""
    own = np.zeros((len(shown), 2))
    own[known] = np.stack([shown[known], np.ones(len(known))], axis=1)
    layout, share = replace(layout, filter="mean"), max(len(known), 1) / len(shown)
    blocks, columns = [np.zeros((len(shown), 0))], list[BankColumn]()
    for degree, block in enumerate(_filtered(own, around, layout, hops=layout.label_hops)):
        if degree == 0:
            continue
        others = block - _diagonal(around, layout.filter, degree)[:, None] * own
        reached = np.where(others[:, 1:] > TRACE, others[:, 1:], 0)
        blocks += [np.divide(others[:, :1], reached, out=np.full_like(reached, np.nan), where=reached > 0)]
        blocks += [reached / share]
        columns.append(_column("label", "known target", 0, layout.filter, degree))
        columns.append(_column("reached", "known targets", 0, layout.filter, degree))
    return settle(np.concatenate(blocks, axis=1)), tuple(columns)


def is_shown(shown: Shown) -> NDArray[np.bool_]:
    """Which labels, or numbers, are shown."""
    return np.isfinite(shown) if shown.dtype == np.float64 else np.asarray(shown >= 0)


def _column(signal: str, name: str, place: int, kind: str, degree: int) -> BankColumn:
    steps = f"{degree} step" + "s" * (degree > 1)
    words = {"mean": f"{name}, mean over {steps}", "chebyshev": f"T{degree}(L - I) of {name}"}
    return BankColumn(words[kind] if degree else name, signal, place, kind, degree)


def _filtered(x: Signals, around: Surroundings, layout: BankLayout, hops: int | None = None) -> Iterator[Signals]:
    """The signal itself, then filtered with each degree."""
    before, now = x, x
    for degree in range((layout.hops if hops is None else hops) + 1):
        if degree and layout.filter == "mean":
            now = around.means(now)
        elif degree:
            before, now = now, around.shift(now) if degree == 1 else 2 * around.shift(now) - before
        yield now


def _diagonal(around: Surroundings, kind: str, degree: int) -> NDArray[np.float64]:
    r"""Diagonal of :math:`P^k`, or of :math:`T_k(-\hat A)` by the coefficients of :math:`T_k`."""
    if kind == "mean":
        return np.asarray(around.returns[degree - 1])
    powers = np.polynomial.chebyshev.cheb2poly([0] * degree + [1])
    diagonal = np.full(len(around.degree), powers[0])
    for k in range(1, degree + 1):
        diagonal += powers[k] * (-1) ** k * around.returns[k - 1]
    return diagonal


def _page_rank(around: Surroundings) -> NDArray[np.float64]:
    """Logarithm of the PageRank in units of 1/n, shape ``(n,)``."""
    root = np.sqrt(around.degree)
    inverse = np.divide(1, root, out=np.zeros_like(root), where=root > 0)
    rank = np.ones(len(root))
    for _ in range(ROUNDS):
        walked = -around.shift((rank * inverse)[:, None])[:, 0] * root
        rank = (1 - DAMPING) + DAMPING * (walked + rank[root == 0].sum() / len(root))
    return np.log(rank)
