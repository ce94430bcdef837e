"""What a graph is made of, checked at the door: every refusal says what was expected and what came."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Features: TypeAlias = NDArray[np.float32] | sp.csr_array


def check_features(features: Features) -> None:
    """Refuse features that are no finite float32 matrix, dense or CSR, with at least one row and one column."""
    if not isinstance(features, np.ndarray | sp.csr_array):
        raise TypeError(f"features must be a numpy array or a scipy csr_array, got {type(features).__name__}")
    _check_indices(features, "features")
    if features.ndim != 2 or features.shape[0] == 0 or features.shape[1] == 0:
        raise ValueError(f"features must have shape (nodes, features) with at least one of each, got {features.shape}")
    if features.dtype != np.float32:
        raise TypeError(f"features must be float32, got {features.dtype}")
    values = features.data if isinstance(features, sp.csr_array) else features
    if not np.isfinite(values).all():
        rows = features.tocoo().row[~np.isfinite(values)] if isinstance(features, sp.csr_array) else None
        first = int(rows.min() if rows is not None else np.flatnonzero(~np.isfinite(features).all(axis=1))[0])
        raise ValueError(
            f"features must be finite, but node {first} has a NaN or infinite feature (all above 3.4e38 are); fill or "
            "drop it"
        )


def check_adjacency(adjacency: sp.csr_array, n: int, *, directed: bool) -> None:
    """Refuse an adjacency that a graph of n nodes cannot have; the messages say who would have repaired it."""
    if not isinstance(adjacency, sp.csr_array):
        raise TypeError(f"adjacency must be a scipy csr_array, got {type(adjacency).__name__}")
    _check_indices(adjacency, "adjacency")
    check_form(adjacency, n)
    if not adjacency.has_canonical_format:
        raise ValueError("adjacency must have sorted indices without duplicates; build the graph with from_scipy")
    check_weights(adjacency.data)
    if adjacency.nnz and float(adjacency.data.min()) == 0:
        raise ValueError("adjacency stores edges of weight 0; build the graph with from_scipy, which drops them")
    if adjacency.diagonal().any():
        raise ValueError("adjacency must have no self-loops; build the graph with from_scipy, which drops them")
    if not directed and (adjacency != adjacency.T).nnz:
        raise ValueError("adjacency must be symmetric; build the graph with from_scipy, which symmetrises it")


def check_form(adjacency: sp.csr_array, n: int) -> None:
    """Refuse an adjacency of another shape or other types, without looking at its entries."""
    if adjacency.shape != (n, n):
        raise ValueError(f"adjacency must have shape ({n}, {n}) to fit {n} rows of features, got {adjacency.shape}")
    if adjacency.dtype != np.float32 or adjacency.indices.dtype != np.int32 or adjacency.indptr.dtype != np.int32:
        raise TypeError(
            f"adjacency must be float32 with int32 indices, got {adjacency.dtype}, {adjacency.indices.dtype}"
        )


def _check_indices(matrix: Features, name: str) -> None:
    """Refuse a CSR matrix whose indices lie outside it: scipy would read memory that is not its own."""
    if isinstance(matrix, sp.csr_array):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"{name} are no valid CSR matrix ({error}); an index may be out of range") from error


def check_weights(weights: NDArray[np.floating]) -> None:
    """Refuse edge weights that are not finite or are negative."""
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if len(bad):
        raise ValueError(f"edge weights must be finite and not negative, but entry {bad[0]} is {weights[bad[0]]}")


def check_labels(labels: NDArray[np.int64], n: int, classes: int) -> None:
    """Refuse labels that are not one int64 for each node, -1 or the number of a class."""
    if not isinstance(labels, np.ndarray) or labels.dtype != np.int64:
        kind = labels.dtype if isinstance(labels, np.ndarray) else type(labels).__name__
        raise TypeError(f"labels must be an int64 numpy array (-1 means unknown), got {kind}")
    if labels.shape != (n,):
        raise ValueError(f"expected {n} labels, one for each row of features, got shape {labels.shape}")
    if n and (labels.min() < -1 or labels.max() >= classes):
        raise ValueError(f"labels must be -1 or 0..{classes - 1}, got {labels.min()}..{labels.max()}")


def check_names(names: Sequence[str], n: int) -> None:
    """Refuse names that are not one for each node, unless there are none."""
    if names and len(names) != n:
        raise ValueError(f"expected {n} node names, one for each row of features, got {len(names)}")
