"""TreeSHAP: exact Shapley values of the columns that trees read, for all leaves at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from newtonnet.bank import Trees

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of trees as boxes; unused places (D is the largest number of columns on a path) hold any value.

    Attributes:
        tree: which tree a leaf belongs to, ``(l,)``.
        value: of the leaf, ``(l,)``.
        column: the columns on its path, ``(l, D)``, 0 where unused.
        low: the row's value must be above, ``(l, D)``.
        high: the row's value must be at most, ``(l, D)``.
        missing: whether a missing value follows the path, ``(l, D)``.
        share: product of the shares of training nodes that followed the path at the splits of a column, ``(l, D)``; 1
            where unused.
    """

    tree: NDArray[np.int64]
    value: Array
    column: NDArray[np.int64]
    low: Array
    high: Array
    missing: NDArray[np.bool_]
    share: Array

    @property
    def expected(self) -> Array:
        """The mean of each tree over the training nodes, as its splits divided them."""
        return np.bincount(self.tree, weights=self.value * self.share.prod(axis=1)).astype(np.float64)

    def contributions(self, row: NDArray[np.floating], outputs: int) -> Array:
        r"""The Shapley value of each column for each of the interleaved outputs, ``(outputs, columns)``.

        A leaf is reached if every column c on its path fits (:math:`o_c = 1`, else 0); where a column is not known, a
        share :math:`z_c` of the training nodes goes on. With d columns on the path the Shapley value of column c is

        .. math:: v\, (o_c - z_c) \int_0^1 \prod_{e \ne c} (o_e t + z_e (1 - t))\, dt,

        since :math:`\int_0^1 t^k (1-t)^{d-1-k} dt` is Shapley's weight of k columns before it. Gauss and Legendre's
        rule with d/2 points integrates the product exactly.

        References:
            Lundberg, Erion, Lee, Consistent Individualized Feature Attribution for Tree Ensembles, 2018.
        """
        values = row[self.column].astype(np.float64)
        fits = ((values > self.low) & (values <= self.high)) | (np.isnan(values) & self.missing)
        points, weights = np.polynomial.legendre.leggauss(max(1, (self.column.shape[1] + 1) // 2))
        t = (points + 1) / 2
        factors = np.where(fits[..., None], t, 0) + self.share[..., None] * (1 - t)  # (l, D, points), all above 0
        others = (factors.prod(axis=1, keepdims=True) / factors) @ (weights / 2)
        parts = self.value[:, None] * (fits - self.share) * others
        total = np.zeros((outputs, len(row)))
        np.add.at(total, (np.broadcast_to((self.tree % outputs)[:, None], parts.shape), self.column), parts)
        return total


def make_leaves(trees: Trees) -> Leaves:
    """The leaves of trees: each leaf climbs to its root, and the splits on one column are joined."""
    count = len(trees.column)
    own = np.arange(count)
    inner = trees.left != own
    parent = np.full(count, -1)
    parent[trees.left[inner]] = parent[trees.right[inner]] = own[inner]
    leaves = own[~inner]
    place, at = np.arange(len(leaves)), leaves
    steps: list[tuple[NDArray[np.int64], ...]] = []
    while len(at := at[keep := parent[at] >= 0]):
        place = place[keep]
        steps.append((place, parent[at], at))
        at = parent[at]
    empty = np.zeros(0, dtype=np.int64)
    leaf, split, child = (np.concatenate([step[i] for step in steps] or [empty]) for i in range(3))
    order = np.lexsort((trees.column[split], leaf))
    leaf, split, child = leaf[order], split[order], child[order]
    column, left = trees.column[split].astype(np.int64), trees.left[split] == child
    new = np.flatnonzero(np.diff(leaf, prepend=-1) | np.diff(column, prepend=-1))  # first split of each leaf and column
    threshold = trees.threshold[split]
    parts = {
        "column": column[new],
        "low": np.maximum.reduceat(np.where(left, -np.inf, threshold), new) if len(new) else empty,
        "high": np.minimum.reduceat(np.where(left, threshold, np.inf), new) if len(new) else empty,
        "missing": np.logical_and.reduceat(left == trees.missing_left[split], new) if len(new) else empty,
        "share": np.multiply.reduceat(trees.count[child] / trees.count[split], new) if len(new) else empty,
    }
    sizes = np.bincount(leaf[new], minlength=len(leaves))
    inside = np.arange(len(new)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    unused = {"column": 0, "low": -np.inf, "high": np.inf, "missing": True, "share": 1.0}
    wide = {}
    for name, part in parts.items():
        block = np.full((len(leaves), max(1, sizes.max(initial=0))), unused[name])
        block[leaf[new], inside] = part
        wide[name] = block
    tree = np.searchsorted(trees.roots, leaves, side="right") - 1
    return Leaves(tree=tree, value=trees.value[leaves], **wide)
