"""Score the nodes of a graph with an exported newtonnet model, by NumPy and SciPy alone.

    scorer = Scorer("model.npz")
    probabilities = scorer.probabilities(adjacency, features)  # (n, C), columns in the order of scorer.classes
    predicted = scorer.predict(adjacency, features)

``adjacency`` is a scipy sparse matrix of edge weights, or the node numbers of the edges, shape ``(2, E)``. ``features``
are the numbers that the model was fitted on, shape ``(n, F)``, dense or sparse. For a model of tables, ``encode`` makes
them from columns: ``scorer.encode({"age": [31, None], "country": ["DE", "FR"]})``.
"""

import hashlib
import json
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax


class Scorer:
    """A weighted average of members whose probabilities one temperature calibrates."""

    def __init__(self, path: Any = "model.npz") -> None:
        with np.load(path, allow_pickle=False) as stored:
            read = {name: stored[name] for name in stored.files}
        self.arrays = {name: x.astype(np.float64) if x.dtype == np.float32 else x for name, x in read.items()}
        self.described: dict[str, Any] = json.loads(str(self.arrays["described"]))
        if self.described["format"] != 1:
            raise ValueError(f"{path} has format {self.described['format']}; use the scorer.py that came with it")
        self.classes, self.feature_names = self.arrays["classes"], self.described["feature_names"]

    def probabilities(self, adjacency: Any, features: Any, *, directed: bool = False) -> Any:
        """Probability of each class for every node, shape ``(n, C)``."""
        x = self._features(features)
        graph = ScoredGraph(make_adjacency(adjacency, x.shape[0], directed), x, directed)
        same = "labels" in self.arrays and self.described["structure"] == graph.structure
        shown = self.arrays["labels"] if same else np.full(x.shape[0], -1)  # shown on the graph of the fit only
        total = np.zeros((x.shape[0], len(self.classes)))
        for place, member in enumerate(self.described["members"]):
            if member["bound"] not in (None, graph.structure):
                raise ValueError("this model has weights for each node of its training graph, and this is another one")
            own = {name.split(".", 1)[1]: x for name, x in self.arrays.items() if name.startswith(f"{place}.")}
            total += member["weight"] * KINDS[member["kind"]](graph, own, member["options"], shown, len(self.classes))
        return softmax(np.log(np.maximum(total, 1e-12)) / self.described["temperature"], axis=1)

    def predict(self, adjacency: Any, features: Any, *, directed: bool = False) -> Any:
        """The most probable class of every node, or that of the model's threshold, shape ``(n,)``."""
        shares, threshold = self.probabilities(adjacency, features, directed=directed), self.described["threshold"]
        if threshold is None:
            return self.classes[shares.argmax(axis=1)]
        place = threshold["place"]
        return self.classes[np.where(shares[:, place] >= threshold["value"], place, 1 - place)]

    def encode(self, columns: Any) -> Any:
        """Features ``(n, F)`` from columns of a table by name; None and NaN are missing, dates are numbers of days."""
        blocks: list[Any] = []
        if not self.described["columns"]:
            raise ValueError("this model was not fitted on columns; give its features themselves")
        for column in self.described["columns"]:
            if column["name"] not in columns:
                raise ValueError(f"column {column['name']!r} is missing; the model was fitted with it")
            values = list(columns[column["name"]])
            missing = np.array([value is None or value != value for value in values])[:, None]
            if column["kind"] == "category":
                block: Any = np.array([str(value) for value in values])[:, None] == np.array(column["categories"])
            elif column["kind"] == "vector":
                block = np.array(values)
            else:
                numbers = np.array([np.nan if value is None else float(value) for value in values])[:, None]
                block = (numbers - column["mean"]) / column["scale"]
            blocks += [np.where(missing, 0, block), missing][: 1 + column["missing"]]
        return np.hstack(blocks).astype(np.float32)

    def _features(self, features: Any) -> Any:
        """The features, checked, with those columns standardised that fitting standardised."""
        x: Any = sp.csr_array(features, dtype=np.float32) if sp.issparse(features) else np.array(features, np.float32)
        if x.ndim != 2 or x.shape[1] != self.described["features"] or x.shape[0] == 0:
            raise ValueError(f"features must have shape (nodes, {self.described['features']}), got {x.shape}")
        if not np.isfinite(x.data if sp.issparse(x) else x).all():
            raise ValueError("features must be finite; fill those that are NaN or infinite")
        if "scaling.columns" in self.arrays:
            columns, means, scales = (self.arrays[f"scaling.{name}"] for name in ("columns", "means", "scales"))
            others = np.setdiff1d(np.arange(x.shape[1]), columns)
            numbers = x[:, columns].toarray() if sp.issparse(x) else x[:, columns]
            x = joined([x[:, others], ((numbers - means) / scales).astype(np.float32)])
            x = x[:, np.argsort(np.concatenate([others, columns]))]
        return x


class ScoredGraph:
    """Adjacency, features, a hash of the edges, and the normalised adjacency, along the arrows if directed."""

    def __init__(self, adjacency: Any, features: Any, directed: bool) -> None:
        self.adjacency, self.features, self.directed, digest = adjacency, features, directed, hashlib.sha256()
        for array in (adjacency.data, adjacency.indices, adjacency.indptr):
            digest.update(str((array.dtype.str, array.shape)).encode() + array.tobytes())
        self.structure, degree = digest.hexdigest()[:16], adjacency.sum(axis=1, dtype=np.float64)
        self.normalised = operator(adjacency, columns=degree).T.tocsr() if directed else operator(adjacency)


def make_adjacency(given: Any, n: int, directed: bool) -> Any:
    """Weights of edges as newtonnet stores them: no self-loops, of repeated edges the largest weight, in float32."""
    if not sp.issparse(given):
        ends = np.asarray(given)
        if ends.ndim != 2 or len(ends) != 2 or ends.dtype.kind not in "iu" or ends.min(initial=0) < 0:
            raise ValueError(f"edges must be node numbers of shape (2, E), got {ends.dtype} of shape {ends.shape}")
        if ends.max(initial=0) >= n:
            raise ValueError(f"the features have rows for nodes 0..{n - 1}, but an edge joins node {ends.max()}")
        given = sp.coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n, n))
    coo = sp.coo_array(given)
    if coo.shape != (n, n):
        raise ValueError(f"the adjacency must have shape ({n}, {n}) for {n} rows of features, got {coo.shape}")
    weights = coo.data.astype(np.float32)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError("edge weights must be finite and not negative")
    kept = (coo.row != coo.col) & (weights > 0)
    source, target = coo.row[kept].astype(np.int64), coo.col[kept].astype(np.int64)
    both = source * n + target if directed else np.r_[source * n + target, target * n + source]
    pairs, places = np.unique(both, return_inverse=True)
    largest = np.zeros(len(pairs), np.float32)
    np.maximum.at(largest, places, weights[kept] if directed else np.r_[weights[kept], weights[kept]])
    pointers = np.searchsorted(pairs, np.arange(n + 1) * n).astype(np.int32)
    return sp.csr_array((largest, (pairs % n).astype(np.int32), pointers), shape=(n, n))


def operator(matrix: Any, mean: bool = False, columns: Any = None) -> Any:
    """D^-1 A for means, otherwise D^-1/2 A D^-1/2 with row sums left and column sums, or those given, right."""
    rows = matrix.sum(axis=1, dtype=np.float64)
    columns = matrix.sum(axis=0, dtype=np.float64) if columns is None else columns
    left = np.power(rows, -1.0 if mean else -0.5, out=np.zeros_like(rows), where=rows > 0)
    right = np.power(columns, 0.0 if mean else -0.5, out=np.zeros_like(columns), where=columns > 0)
    return sp.csr_array(sp.diags_array(left) @ matrix.astype(np.float64) @ sp.diags_array(right))


def joined(blocks: Any) -> Any:
    """Columns side by side, sparse if the first block is."""
    return sp.csr_array(sp.hstack(blocks, format="csr")) if sp.issparse(blocks[0]) else np.hstack(blocks)


def series(matrix: Any, x: Any, coefficients: Any) -> Any:
    """A filter by its Chebyshev coefficients: the sum of c_k T_k(L - I) x, where L - I = -matrix."""
    total, before, now = coefficients[0] * x, x, x
    for k in range(1, len(coefficients)):
        before, now = now, -(matrix @ now) if k == 1 else -2 * (matrix @ now) - before
        total = total + coefficients[k] * now
    return total


def spectral(graph: ScoredGraph, own: Any, options: Any, shown: Any, classes: int) -> Any:
    """An encoder, then one filter (before it, if trained out of core), and an adjacency branch."""
    x, first = graph.features, options["filter_first"]
    x = (series(graph.normalised, x, own["coefficients"]) if first else x) @ own["weight1"] + own["bias1"]
    x = np.maximum(x, 0) @ own["weight2"] + own["bias2"] if "weight2" in own else x
    logits = x if first else series(graph.normalised, x, own["coefficients"])
    if "branch_weight1" in own:
        hidden = np.maximum(graph.adjacency @ own["branch_weight1"] + own["branch_bias1"], 0)
        logits = logits + hidden @ own["branch_weight2"] + own["branch_bias2"]
    return softmax(logits, axis=1)


def stack(graph: ScoredGraph, own: Any, options: Any, shown: Any, classes: int) -> Any:
    """Layers of filters, each beside a map of the layer's own input."""
    matrix, directed, mean = graph.adjacency, options["directed"], options["mean"]
    operators = {"": operator(matrix, mean) if directed or mean else graph.normalised}
    operators |= {"against": operator(matrix.T.tocsr(), mean)} if directed else {}
    inputs = [graph.features]
    if options["log_degree"]:
        counts = [np.diff(matrix.indptr), np.bincount(matrix.indices, minlength=len(shown))][: len(operators)]
        inputs.append((np.log1p(np.stack(counts, axis=1)) - own["degree_mean"]) / own["degree_scale"])
    if options["labels"]:
        inputs.append(np.eye(classes + 1)[shown + 1][:, 1:])
    x, total = joined(inputs), 0.0
    for i in range(0 if options["projection"] else 1, options["layers"] + 1):
        hidden = x @ own[f"residual{i}"]
        for prefix, matrix in operators.items() if i else ():
            hidden = hidden + series(matrix, x @ own[f"{prefix}layer{i}"], own[f"{prefix}filter{i}"])
        if options["norm"] == "layer":
            hidden = (hidden - hidden.mean(axis=1, keepdims=True)) / np.sqrt(hidden.var(axis=1, keepdims=True) + 1e-5)
        x = np.maximum(hidden * own[f"scale{i}"] + own[f"shift{i}"], 0)
        total = x + (total if options["jumping"] and i > 1 else 0.0)
    return softmax(total @ own["output_weight"] + own["output_bias"], axis=1)


def bank(graph: ScoredGraph, own: Any, options: Any, shown: Any, classes: int) -> Any:
    """The columns of a filter bank, shape ``(n, m)``: filtered features, structure, and the labels of other nodes."""
    matrix = sp.csr_array(graph.adjacency.maximum(graph.adjacency.T)) if graph.directed else graph.adjacency
    degree, n, mean = matrix.sum(axis=1, dtype=np.float64), len(shown), options["filter"] == "mean"
    symmetric, walk = operator(matrix), operator(matrix, mean=True)
    returns = [np.zeros(n), symmetric.power(2).sum(axis=1)]  # to a node after 1, 2, ... steps of a random walk
    if max(options["walks"], options["label_hops"]) > 2:
        two = symmetric @ symmetric
        returns += [two.multiply(symmetric).sum(axis=1), two.power(2).sum(axis=1)]

    def filtered(x: Any, hops: int) -> list[Any]:
        found = [x]
        for k in range(1, hops + 1):
            moved = walk @ found[-1] if mean else -(symmetric @ found[-1])
            found.append(moved if mean or k == 1 else 2 * moved - found[-2])
        return found

    x = graph.features @ own["basis"] if "basis" in own else graph.features
    blocks = filtered(np.asarray(x.toarray() if sp.issparse(x) else x, np.float64), options["hops"])
    if options["structure"]:
        rank = np.ones(n)  # PageRank
        for _ in range(20):
            rank = 0.15 + 0.85 * (walk.T @ rank + rank[degree == 0].sum() / n)
        blocks += [np.log1p(degree)[:, None], np.log(rank)[:, None]]
    blocks += [returns[k - 1][:, None] for k in range(2, options["walks"] + 1)]
    blocks += [own["eigenvectors"]] if "eigenvectors" in own else []
    labels = np.eye(classes + 1)[shown + 1][:, 1:]
    for k, block in list(enumerate(filtered(labels, options["label_hops"])))[1:]:
        terms = np.polynomial.chebyshev.cheb2poly([0] * k + [1])
        diagonal = sum((-1) ** j * terms[j] * returns[j - 1] for j in range(1, k + 1)) + terms[0]
        others = block - np.asarray(returns[k - 1] if mean else diagonal)[:, None] * labels  # no node's own label
        if mean:  # shares among the labels that are reached, NaN where there are none
            others = np.where(others > 1e-10, others, 0)
            reached = others.sum(axis=1, keepdims=True)
            others = np.hstack([others / np.where(reached > 0, reached, np.nan), reached])
        blocks.append(others)
    values = np.hstack(blocks)  # trees compare them: sums in any order must become the same float32
    grain = np.ldexp(1.0, np.frexp(1.37 * np.fmax.reduce(np.abs(values), axis=0, initial=0.0))[1] - 32)
    return (np.floor(values / grain + 0.37) * grain).astype(np.float32)


def ridge(graph: ScoredGraph, own: Any, options: Any, shown: Any, classes: int) -> Any:
    """A linear map of the bank's columns."""
    values = bank(graph, own, options, shown, classes).astype(np.float64)
    return softmax(np.where(np.isnan(values), 1 / classes, values) @ own["weights"] + own["offsets"], axis=1)


def boosting(graph: ScoredGraph, own: Any, options: Any, shown: Any, classes: int) -> Any:
    """Trees on the bank's columns, some nodes at a time; a leaf is its own child."""
    values, outputs, roots = bank(graph, own, options, shown, classes), len(own["baseline"]), own["roots"]
    shares, step = np.zeros((len(values), classes)), max(1, (1 << 20) // len(roots))
    for start in range(0, len(values), step):
        part = values[start : start + step]
        at = np.broadcast_to(roots, (len(part), len(roots)))
        for _ in range(int(own["depth"])):
            entry = np.take_along_axis(part, own["column"][at], axis=1)
            left = (entry <= own["threshold"][at]) | (np.isnan(entry) & own["missing_left"][at])
            at = np.where(left, own["left"][at], own["right"][at])
        raw = own["baseline"] + own["value"][at].reshape(len(part), -1, outputs).sum(axis=1)
        raw = raw if outputs > 1 else np.hstack([np.zeros_like(raw), raw])  # of two classes, the second's
        shares[start : start + step, own["classes"]] = softmax(raw, axis=1)
    return shares


KINDS = {"spectral": spectral, "stack": stack, "ridge": ridge, "boosting": boosting}
