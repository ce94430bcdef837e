"""Models that read rows of the adjacency as features, which ties them to their graph: LINKX and GloGNN++."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import torch
from torch import Tensor

from newtonnet.graphs import Graph

from .inputs import FeatureMatrix, Inputs, adjacency_features, adjacency_inputs, fingerprint
from .layers import check_count, check_shape, member_linear, multiply
from .noise import Noise, dropout
from .population import Population


@dataclass(frozen=True)
class LinkxOptions:
    """LINKX's shape; the authors search it, the defaults are in the middle of their ranges."""

    hidden: int = 64
    """Width of all hidden layers."""
    layers: int = 2
    """Linear maps of the MLP at the end."""
    adjacency_layers: int = 1
    """Linear maps of the MLP on the adjacency."""
    feature_layers: int = 1
    """Linear maps of the MLP on the features."""
    dropout: float = 0.5
    """Dropout in the MLP at the end; the other two have none."""


class Linkx(Population):
    r"""Two encoders, one of which reads the adjacency as features, and an MLP on both; nothing is propagated.

    .. math:: h_A = \mathrm{MLP}_A(A), \quad h_X = \mathrm{MLP}_X(X), \quad
              Z = \mathrm{MLP}_f(\mathrm{ReLU}(W [h_A \Vert h_X] + b + h_A + h_X))

    A is raw, without loops; an MLP is (linear, ReLU, BatchNorm, dropout) and again, then linear. The MLP on the
    adjacency has a weight for every node, so the model is tied to its graph. The authors' code shifts the adjacency
    where node 0 has no edge, and its optional inner dropout acts in evaluation too: neither is repeated here.

    References:
        Lim et al., Large Scale Learning on Non-Homophilous Graphs: New Benchmarks and Strong Simple Methods, 2021,
        Eqs. (1) and (2).
    """

    def __init__(self, graph: Graph, options: LinkxOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        check_shape(options.hidden, options.layers, options.dropout)
        check_count("adjacency_layers", options.adjacency_layers)
        check_count("feature_layers", options.feature_layers)
        hidden, features = options.hidden, graph.features.shape[1]
        super().__init__(name="linkx", options=asdict(options), seeds=seeds, features=features, dtype=dtype)
        self.rate, self.transductive = options.dropout, fingerprint(graph)
        self.depths: dict[str, int] = {}
        self._add_mlp("adjacency", [graph.nodes, *[hidden] * options.adjacency_layers], reads_features=True)
        self._add_mlp("features", [features, *[hidden] * options.feature_layers], reads_features=True)
        self.add_linear("join", 2 * hidden, hidden)
        self._add_mlp("final", [*[hidden] * options.layers, graph.classes])

    def _add_mlp(self, name: str, widths: Sequence[int], *, reads_features: bool = False) -> None:
        """Linear maps numbered from 1, with a normalisation behind each but the last."""
        self.depths[name] = len(widths) - 1
        for i, (before, after) in enumerate(pairwise(widths), 1):
            self.add_linear(f"{name}{i}", before, after, reads_features=reads_features and i == 1)
            if i < self.depths[name]:
                self.add_norm(f"{name}{i}_norm", after)

    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph's features and its adjacency as features, refused for another graph's number of nodes."""
        self.check(graph)
        return adjacency_inputs(graph, row_normalised=False, dtype=self.dtype, device=device)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        links = self._apply_mlp("adjacency", adjacency_features(inputs), noise, rate=0.0)
        own = self._apply_mlp("features", inputs.features, noise, rate=0.0)
        joined = self.linear("join", torch.cat([links, own], dim=2)) + links + own
        return self._apply_mlp("final", torch.relu(joined), noise, rate=self.rate)

    def _apply_mlp(self, name: str, x: Tensor | FeatureMatrix, noise: Noise | None, *, rate: float) -> Tensor:
        for i in range(1, self.depths[name]):
            hidden = torch.relu(self.linear(f"{name}{i}", x))
            hidden = self.norm(f"{name}{i}_norm", hidden, training=noise is not None)
            x = dropout(hidden, rate=rate, noise=noise, stream=i)
        return self.linear(f"{name}{self.depths[name]}", x)


@dataclass(frozen=True)
class GloGNNOptions:
    """GloGNN++'s shape; its authors tune all of it for every graph, the defaults are in the middle of their ranges."""

    hidden: int = 64
    """Width of the encoder's hidden layers."""
    hidden_layers: int = 1
    """Hidden layers of the encoder: 1 for the authors' small graphs, 2 for their large ones."""
    dropout: float = 0.5
    """Dropout on the hidden layers."""
    alpha: float = 1.0
    """Penalty on the size of Z."""
    beta: float = 1.0
    """Penalty on the distance of Z from the adjacency's powers."""
    gamma: float = 0.5
    """Share of the encoder's output in every layer."""
    delta: float = 0.5
    """Weight of the features against the adjacency in the encoder."""
    layers: int = 2
    """How often the nodes gather."""
    orders: int = 2
    """Highest power of the adjacency."""
    adjacency: str = "normalised"
    """``normalised``: (D + I)^-1 (A + I), as on the authors' small graphs; ``raw``: A, as on their large ones."""


class GloGNN(Population):
    r"""Encode features and adjacency rows, then gather from all nodes a few times, by a matrix never written out.

    .. math:: H^0 = W_2\,\mathrm{drop}(\mathrm{ReLU}(\delta W_X X + (1-\delta) W_A A_n)), \qquad
              H' = (1-\gamma) Z H \Sigma + \gamma H^0

    .. math:: Z = \Big[(1-\gamma) (H - \gamma H^0) \Sigma H^\top + \beta \sum_{k=1}^{K} \lambda_k A_n^k\Big]
              \big[(1-\gamma)^2 H H^\top + (\alpha+\beta) I_n\big]^{-1}

    With :math:`\Sigma = I` this is GloGNN, whose Z minimises
    :math:`\|H - (1-\gamma) Z H - \gamma H^0\|^2 + \alpha \|Z\|^2 + \beta \|Z - \sum_k \lambda_k A_n^k\|^2`; ++ adds the
    learned diagonal :math:`\Sigma`. We follow the authors' code, whose Z is not the minimiser of a weighted objective
    (that would have :math:`\Sigma` inside the inverse too). Start: :math:`\Sigma = I/C`, :math:`\lambda_k = 1/K`.

    Z has n rows and columns and is never formed: see :meth:`_gather`. W_A has a row for every node, so the model is
    tied to its graph. The authors' code drops features and then discards what it dropped: no dropout on the input.

    References:
        Li et al., Finding Global Homophily in Graph Neural Networks When Meeting Heterophily, 2022, Eqs. (4) to (11).
    """

    sigma: Tensor
    powers: Tensor

    def __init__(self, graph: Graph, options: GloGNNOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        check_shape(options.hidden, options.layers, options.dropout)
        check_count("orders", options.orders)
        check_count("hidden_layers", options.hidden_layers)
        _check_weights(options)
        features, hidden, classes = graph.features.shape[1], options.hidden, graph.classes
        super().__init__(name="glognn++", options=asdict(options), seeds=seeds, features=features, dtype=dtype)
        self.shape, self.transductive = options, fingerprint(graph)
        self.add_linear("features", features, hidden, reads_features=True)
        self.add_linear("adjacency", graph.nodes, hidden, reads_features=True)
        for i in range(1, options.hidden_layers):
            self.add_linear(f"hidden{i}", hidden, hidden)
        self.add_linear("classes", hidden, classes)
        self.add_constant("sigma", classes, 1 / classes)
        self.add_constant("powers", options.orders, 1 / options.orders)

    def prepare(self, graph: Graph, device: torch.device | str = "cpu") -> Inputs:
        """The graph's features and its adjacency, refused for another graph's number of nodes."""
        self.check(graph)
        normalised = self.shape.adjacency == "normalised"
        return adjacency_inputs(graph, row_normalised=normalised, dtype=self.dtype, device=device)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        encoded = h = self._encode(inputs, noise)
        for _ in range(self.shape.layers):
            h = self._gather(inputs, h, encoded)
        return h

    def _encode(self, inputs: Inputs, noise: Noise | None) -> Tensor:
        """The encoder's output, ``(n, P, C)``."""
        delta, rate = self.shape.delta, self.shape.dropout
        own = self.linear("features", inputs.features)
        x = torch.relu(delta * own + (1 - delta) * self.linear("adjacency", adjacency_features(inputs)))
        for i in range(1, self.shape.hidden_layers):
            x = torch.relu(self.linear(f"hidden{i}", dropout(x, rate=rate, noise=noise, stream=i)))
        x = dropout(x, rate=rate, noise=noise, stream=self.shape.hidden_layers)
        return self.linear("classes", x)

    def _gather(self, inputs: Inputs, h: Tensor, encoded: Tensor) -> Tensor:
        r"""One layer in :math:`O(n C^2 + K E C)`, from ``(n, P, C)`` to the same shape.

        Pushing H through the inverse leaves a matrix of C rows,
        :math:`M = (1-\gamma)^2 H^\top H + (\alpha+\beta) I_C`, and then

        .. math:: Q = (1-\gamma) H M^{-1} \Sigma, \quad T = \Sigma H^\top Q, \quad
                  H' = (1-\gamma) (H - \gamma H^0) T + \beta \sum_k \lambda_k A_n^k Q + \gamma H^0

        The authors' code takes Woodbury's difference instead, which loses half of float32's digits.
        """
        alpha, beta, gamma = self.shape.alpha, self.shape.beta, self.shape.gamma
        # H'H of thousands of nodes can exceed alpha + beta by more than float32's digits, and costs little in float64.
        wide, sigma = h.transpose(0, 1).double(), self.sigma.double()
        gram = wide.mT @ wide
        eye = torch.eye(h.shape[2], dtype=gram.dtype, device=gram.device)
        # The unchecked factorisation: M is positive definite unless a member is no longer finite, which must not stop
        # the others.
        factor = torch.linalg.cholesky_ex((1 - gamma) ** 2 * gram + (alpha + beta) * eye).L
        solved = torch.cholesky_solve(torch.diag_embed((1 - gamma) * sigma), factor)
        spread = (wide @ solved).transpose(0, 1).to(h.dtype)
        turn = (sigma[..., None] * (gram @ solved)).to(h.dtype)
        near = torch.zeros_like(h)
        for weight in self.powers.unbind(dim=1):
            spread = multiply(inputs.operator, spread)
            near = near + weight[:, None] * spread
        return (1 - gamma) * member_linear(h - gamma * encoded, turn) + beta * near + gamma * encoded


def _check_weights(options: GloGNNOptions) -> None:
    if min(options.alpha, options.beta) < 0 or options.alpha + options.beta == 0:
        raise ValueError(f"alpha and beta must be at least 0 and not both 0, got {options.alpha} and {options.beta}")
    if not 0 <= options.gamma < 1:
        raise ValueError(f"gamma must be at least 0 and below 1, got {options.gamma}")
    if not 0 <= options.delta <= 1:
        raise ValueError(f"delta must be between 0 and 1, got {options.delta}")
    if options.adjacency not in ("normalised", "raw"):
        raise ValueError(f"adjacency must be 'normalised' or 'raw', got {options.adjacency!r}")
