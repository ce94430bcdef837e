"""Score the nodes of a graph with an exported newtonnet model, by NumPy and SciPy alone.

    scorer = Scorer("model.npz")
    probabilities = scorer.probabilities(adjacency, features)  # (n, C), columns in the order of scorer.classes
    predicted = scorer.predict(adjacency, features)  # classes, or numbers: give or take scorer.width(0.9)

``adjacency`` is a scipy sparse matrix of edge weights, or the node numbers of the edges, shape ``(2, E)``; ``features``
have shape ``(n, F)``, dense or sparse. For a model of tables ``encode`` makes them: ``encode({"age": [31, None]})``.
"""

import hashlib
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax


class Scorer:
    """A weighted average of members: of their numbers, or of their probabilities, calibrated by one temperature."""

    def __init__(self, path: Any = "model.npz") -> None:
        with open(path, "rb") as stream:
            try:
                with np.load(stream, allow_pickle=False) as stored:
                    self.arrays = {name: stored[name] for name in stored.files}
                self.described: dict[str, Any] = json.loads(str(self.arrays["described"]))
                for name in ("classes", *self.described.get("arrays", ())):  # an archive has no checksum of names
                    self.arrays[name]
            except Exception as reason:  # a damaged archive can raise anything
                raise ValueError(f"{path} is no exported model, or it was damaged; export it again") from reason
        if self.described["format"] != 2:
            raise ValueError(f"{path} has format {self.described['format']}; use the scorer.py that came with it")
        self.classes, self.feature_names = self.arrays["classes"], self.described["feature_names"]

    def probabilities(self, adjacency: Any, features: Any, *, directed: bool = False) -> Any:
        """Probability of each class for every node, shape ``(n, C)``."""
        if len(self.classes) == 1:
            raise ValueError("this model predicts numbers, which have no probabilities; use predict")
        return self._answers(adjacency, features, directed)

    def predict(self, adjacency: Any, features: Any, *, directed: bool = False) -> Any:
        """The number of every node, or its most probable class, or that of the model's threshold, shape ``(n,)``."""
        found, rule = self._answers(adjacency, features, directed), self.described["threshold"]
        if len(self.classes) == 1 or rule is None:
            return found[:, 0] if len(self.classes) == 1 else self.classes[found.argmax(axis=1)]
        return self.classes[np.where(found[:, rule["place"]] >= rule["value"], rule["place"], 1 - rule["place"])]

    def width(self, coverage: float = 0.9) -> float:
        """How far from predicted numbers a share ``coverage`` of the true ones is at most, for nodes as in the fit."""
        if "errors" not in self.arrays or not 0 < coverage < 1:
            raise ValueError("a width is for a model of numbers with held-out nodes, and a coverage between 0 and 1")
        errors = [*self.arrays["errors"], np.inf]  # of held-out nodes, ascending
        return float(errors[int(np.ceil(coverage * len(errors) - 1e-9)) - 1])

    def _answers(self, adjacency: Any, features: Any, directed: bool) -> Any:
        """Probabilities, shape ``(n, C)``, or numbers, ``(n, 1)``."""
        x, classes = self._features(features), len(self.classes)
        graph, labels = make_graph(adjacency, x, directed), np.zeros((x.shape[0], max(classes, 2)))
        if "labels" in self.arrays and self.described["structure"] == graph.structure:
            labels = self.arrays["labels"]  # by classes, or known or not and the number; on the graph of the fit only
        total = np.full((x.shape[0], classes), self.described["offset"])
        for place, member in enumerate(self.described["members"]):
            if member["bound"] not in (None, graph.structure):
                raise ValueError("this model has weights for each node of its training graph, and this is another one")
            own = {name.split(".", 1)[1]: x for name, x in self.arrays.items() if name.startswith(f"{place}.")}
            found = KINDS[member["kind"]](graph, own, member["options"], labels, classes)
            total += member["weight"] * (softmax(found, axis=1) if classes > 1 else found)
        logits = np.log(np.maximum(total, 1e-12)) / self.described["temperature"]
        return softmax(logits, axis=1) if classes > 1 else total

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
            else:  # a number, or a vector of them
                numbers = np.array([np.nan if value is None else value for value in values], float)
                block = (numbers.reshape(len(values), -1) - column["mean"]) / column["scale"]
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


def make_graph(given: Any, features: Any, directed: bool) -> Any:
    """Edges as newtonnet stores them (no self-loops, of repeated ones the largest weight), their hash, and features."""
    n, digest = features.shape[0], hashlib.sha256()
    if not sp.issparse(given):
        ends = np.asarray(given)
        if ends.ndim != 2 or len(ends) != 2 or ends.dtype.kind not in "iu" or ((ends < 0) | (ends >= n)).any():
            raise ValueError(f"edges must be node numbers 0..{n - 1} of shape (2, E), got {ends.dtype} {ends.shape}")
        given = sp.coo_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(n, n))
    coo = sp.coo_array(given, dtype=np.float32)
    if coo.shape != (n, n):
        raise ValueError(f"the adjacency must have shape ({n}, {n}) for {n} rows of features, got {coo.shape}")
    if not (np.isfinite(coo.data) & (coo.data >= 0)).all():
        raise ValueError("edge weights must be finite and not negative")
    kept = (coo.row != coo.col) & (coo.data > 0)
    source, target, weights = coo.row[kept].astype(np.int64), coo.col[kept].astype(np.int64), coo.data[kept]
    both = source * n + target if directed else np.r_[source * n + target, target * n + source]
    pairs, places = np.unique(both, return_inverse=True)
    largest = np.zeros(len(pairs), np.float32)
    np.maximum.at(largest, places, weights if directed else np.r_[weights, weights])
    pointers = np.searchsorted(pairs, np.arange(n + 1) * n).astype(np.int32)
    matrix = sp.csr_array((largest, (pairs % n).astype(np.int32), pointers), shape=(n, n))
    for array in (matrix.data, matrix.indices, matrix.indptr):
        digest.update(str((array.dtype.str, array.shape)).encode() + array.tobytes())
    along = operator(matrix, columns=matrix.sum(axis=1, dtype=np.float64)).T.tocsr() if directed else operator(matrix)
    named = {"adjacency": matrix, "features": features, "directed": directed, "normalised": along}
    return SimpleNamespace(structure=digest.hexdigest()[:16], **named)


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


def terms(matrix: Any, x: Any, hops: int, mean: bool = False) -> Any:
    """For k = 0, ..., hops: matrix^k x for means, otherwise T_k(L - I) x, where L - I = -matrix."""
    before, now = 0.0, x
    for k in range(hops + 1):
        if k:
            before, now = now, matrix @ now if mean else -min(k, 2) * (matrix @ now) - before
        yield now


def series(matrix: Any, x: Any, coefficients: Any) -> Any:
    """A filter by its Chebyshev coefficients."""
    return sum(c * term for c, term in zip(coefficients, terms(matrix, x, len(coefficients) - 1), strict=True))


def spectral(graph: Any, own: Any, options: Any, labels: Any, classes: int) -> Any:
    """An encoder, then one filter (before it, if trained out of core), and an adjacency branch."""
    x, first = graph.features, options["filter_first"]
    x = (series(graph.normalised, x, own["coefficients"]) if first else x) @ own["weight1"] + own["bias1"]
    x = np.maximum(x, 0) @ own["weight2"] + own["bias2"] if "weight2" in own else x
    logits = x if first else series(graph.normalised, x, own["coefficients"])
    if "branch_weight1" in own:
        hidden = np.maximum(graph.adjacency @ own["branch_weight1"] + own["branch_bias1"], 0)
        logits = logits + hidden @ own["branch_weight2"] + own["branch_bias2"]
    return logits


def stack(graph: Any, own: Any, options: Any, labels: Any, classes: int) -> Any:
    """Layers of filters, each beside a map of the layer's own input."""
    matrix, directed, mean = graph.adjacency, options["directed"], options["mean"]
    operators = {"": operator(matrix, mean) if directed or mean else graph.normalised}
    operators |= {"against": operator(matrix.T.tocsr(), mean)} if directed else {}
    inputs = [graph.features]
    if options["log_degree"]:
        counts = [np.diff(matrix.indptr), np.bincount(matrix.indices, minlength=len(labels))][: len(operators)]
        inputs.append((np.log1p(np.stack(counts, axis=1)) - own["degree_mean"]) / own["degree_scale"])
    if options["labels"]:
        inputs.append(labels)
    x, total = joined(inputs), 0.0
    for i in range(0 if options["projection"] else 1, options["layers"] + 1):
        hidden = x @ own[f"residual{i}"]
        for prefix, matrix in operators.items() if i else ():
            hidden = hidden + series(matrix, x @ own[f"{prefix}layer{i}"], own[f"{prefix}filter{i}"])
        if options["norm"] == "layer":
            hidden = (hidden - hidden.mean(axis=1, keepdims=True)) / np.sqrt(hidden.var(axis=1, keepdims=True) + 1e-5)
        x = np.maximum(hidden * own[f"scale{i}"] + own[f"shift{i}"], 0)
        total = x + (total if options["jumping"] and i > 1 else 0.0)
    return total @ own["output_weight"] + own["output_bias"]


def bank(graph: Any, own: Any, options: Any, labels: Any, classes: int) -> Any:
    """The columns of a filter bank, shape ``(n, m)``: filtered features, structure, and the labels of other nodes."""
    matrix = sp.csr_array(graph.adjacency.maximum(graph.adjacency.T)) if graph.directed else graph.adjacency
    degree, n, mean = matrix.sum(axis=1, dtype=np.float64), len(labels), options["filter"] == "mean"
    symmetric, walk = operator(matrix), operator(matrix, mean=True)
    returns = [np.zeros(n), symmetric.power(2).sum(axis=1)]  # to a node after 1, 2, ... steps of a random walk
    if max(options["walks"], options["label_hops"]) > 2:
        two = symmetric @ symmetric
        returns += [two.multiply(symmetric).sum(axis=1), two.power(2).sum(axis=1)]
    x = graph.features @ own["basis"] if "basis" in own else graph.features
    x = np.asarray(x.toarray() if sp.issparse(x) else x, np.float64)
    blocks = list(terms(walk if mean else symmetric, x, options["hops"], mean))
    if options["structure"]:
        rank = np.ones(n)  # PageRank
        for _ in range(20):
            rank = 0.15 + 0.85 * (walk.T @ rank + rank[degree == 0].sum() / n)
        blocks += [np.log1p(degree)[:, None], np.log(rank)[:, None]]
    blocks += [returns[k - 1][:, None] for k in range(2, options["walks"] + 1)]
    blocks += [own["eigenvectors"]] if "eigenvectors" in own else []
    mean = mean or classes == 1
    for k, block in list(enumerate(terms(walk if mean else symmetric, labels, options["label_hops"], mean)))[1:]:
        powers = np.polynomial.chebyshev.cheb2poly([0] * k + [1])
        diagonal = sum((-1) ** j * powers[j] * returns[j - 1] for j in range(1, k + 1)) + powers[0]
        others = block - np.asarray(returns[k - 1] if mean else diagonal)[:, None] * labels  # no node's own label
        if mean:  # shares of classes, or the mean number, among what is reached; NaN where nothing is
            counts = np.where(others > 1e-10, others, 0)[:, :classes]
            reached, parts = counts.sum(axis=1, keepdims=True), counts if classes > 1 else others[:, 1:]
            others = np.hstack([parts / np.where(reached > 0, reached, np.nan), reached])
        blocks.append(others)
    values = np.hstack(blocks)  # trees compare them: sums in any order must become the same float32
    grain = np.ldexp(1.0, np.frexp(1.37 * np.fmax.reduce(np.abs(values), axis=0, initial=0.0))[1] - 32)
    return (np.floor(values / grain + 0.37) * grain).astype(np.float32)


def ridge(graph: Any, own: Any, options: Any, labels: Any, classes: int) -> Any:
    """A linear map of the bank's columns."""
    values = bank(graph, own, options, labels, classes).astype(np.float64)
    return np.where(np.isnan(values), 1 / classes if classes > 1 else 0, values) @ own["weights"] + own["offsets"]


def boosting(graph: Any, own: Any, options: Any, labels: Any, classes: int) -> Any:
    """Trees on the bank's columns, some nodes at a time; a leaf is its own child; two classes have one logit."""
    values, outputs, roots = bank(graph, own, options, labels, classes), len(own["baseline"]), own["roots"]
    logits, step = np.full((len(values), classes), -np.inf), max(1, (1 << 20) // len(roots))
    for start in range(0, len(values), step):
        part = values[start : start + step]
        at = np.broadcast_to(roots, (len(part), len(roots)))
        for _ in range(int(own["depth"])):
            entry = np.take_along_axis(part, own["column"][at], axis=1)
            left = (entry <= own["threshold"][at]) | (np.isnan(entry) & own["missing_left"][at])
            at = np.where(left, own["left"][at], own["right"][at])
        raw = own["baseline"] + own["value"][at].reshape(len(part), -1, outputs).sum(axis=1)
        logits[start : start + step, own["classes"]] = np.hstack([0 * raw, raw]) if outputs == 1 < classes else raw
    return logits


KINDS = {"spectral": spectral, "stack": stack, "ridge": ridge, "boosting": boosting}
