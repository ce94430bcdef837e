"""Networks whose layers combine linear maps and powers of the graph: GCN, ChebNet and MixHop."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import torch
from torch import Tensor

from newtonnet.graphs import Graph

from .inputs import FeatureMatrix, Inputs
from .layers import check_count, check_shape, multiply
from .noise import Noise, dropout
from .population import Population


@dataclass(frozen=True)
class GCNOptions:
    """GCN's shape; the defaults are those of the GPRGNN and BernNet repositories."""

    hidden: int = 64
    """Width of the hidden layers."""
    layers: int = 2
    """Number of graph layers."""
    dropout: float = 0.5
    """Dropout on the hidden layers; the features have none, unlike in the original."""
    batch_norm: bool = False
    """Normalise the hidden layers before their ReLU."""


@dataclass(frozen=True)
class ChebNetOptions:
    """ChebNet's shape; the defaults are those of the GPRGNN and BernNet repositories, which call it "K = 2"."""

    hidden: int = 32
    """Width of the hidden layers."""
    layers: int = 2
    """Number of graph layers."""
    degree: int = 1
    """Degree of the polynomials, one less than the ``K`` of PyG's layer."""
    dropout: float = 0.5
    """Dropout on the hidden layers; the features have none."""


class GCN(Population):
    r"""Average over the neighbourhood and map, layer by layer.

    .. math:: H^{l+1} = \mathrm{drop}(\mathrm{ReLU}(\tilde A H^l W_l + b_l)), \qquad Z = \tilde A H^{L-1} W_L + b_L

    The bias is added after propagation, Glorot start, biases 0. With ``batch_norm`` the hidden layers are normalised
    before their ReLU, as in the LINKX repository; they then have no bias, which the normalisation would take out again
    (there it starts at 0, has gradient 0 and only gathers rounding). The paper also drops features and decays the first
    layer only; the repositories that compare with GCN do neither, and nor do we.

    References:
        Kipf, Welling, Semi-Supervised Classification with Graph Convolutional Networks, 2017, Eq. (9).
    """

    def __init__(self, graph: Graph, options: GCNOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        check_shape(options.hidden, options.layers, options.dropout)
        widths = _widths(graph, options.hidden, options.layers)
        super().__init__(
            name="gcn", options=asdict(options), seeds=seeds, features=widths[0], self_loops=True, dtype=dtype
        )
        self.layers, self.rate, self.batch_norm = options.layers, options.dropout, options.batch_norm
        for i, (before, after) in enumerate(pairwise(widths), 1):
            self.add_linear(f"layer{i}", before, after, glorot=True, reads_features=i == 1)
            if options.batch_norm and i < options.layers:
                self.add_norm(f"norm{i}", after)
            else:
                self.add_constant(f"bias{i}", after, 0.0)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        x: Tensor | FeatureMatrix = inputs.features
        for i in range(1, self.layers):
            hidden = multiply(inputs.operator, self.linear(f"layer{i}", x))
            if self.batch_norm:
                hidden = self.norm(f"norm{i}", hidden, training=noise is not None)
            else:
                hidden = hidden + self.parameter(f"bias{i}")
            x = dropout(torch.relu(hidden), rate=self.rate, noise=noise, stream=i)
        return multiply(inputs.operator, self.linear(f"layer{self.layers}", x)) + self.parameter(f"bias{self.layers}")


class ChebNet(Population):
    r"""In every layer a polynomial of the Laplacian whose coefficients are matrices.

    .. math:: H' = \sum_{k=0}^{K} T_k(L - I)\, H\, \Theta_k + b

    Hidden layers have ReLU and dropout; the Laplacian has no self-loops and its largest eigenvalue is taken as 2.
    Clenshaw's recurrence :math:`B_k = H\Theta_k + 2 (L - I) B_{k+1} - B_{k+2}` sums a layer at its output width, so
    that no block is (K+1) times as wide as the input. Glorot start, biases 0.

    ``degree`` is the true degree: PyG's ``K`` counts coefficients, and the repositories' "K = 2" is degree 1 in some
    (GPRGNN, BernNet) and 2 in others (ChebNetII). The paper classifies whole graphs; this is the network for nodes
    that Kipf and Welling compare with.

    References:
        Defferrard, Bresson, Vandergheynst, Convolutional Neural Networks on Graphs with Fast Localized Spectral
        Filtering, 2016, Eqs. (4) and (5).
    """

    def __init__(self, graph: Graph, options: ChebNetOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        check_shape(options.hidden, options.layers, options.dropout)
        check_count("degree", options.degree)
        widths = _widths(graph, options.hidden, options.layers)
        super().__init__(name="chebnet", options=asdict(options), seeds=seeds, features=widths[0], dtype=dtype)
        self.layers, self.rate, self.degree = options.layers, options.dropout, options.degree
        for i, (before, after) in enumerate(pairwise(widths), 1):
            self.add_linear(f"layer{i}", before, after, maps=options.degree + 1, glorot=True, reads_features=i == 1)
            self.add_constant(f"bias{i}", after, 0.0)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        x: Tensor | FeatureMatrix = inputs.features
        for i in range(1, self.layers):
            x = dropout(torch.relu(self._convolve(i, inputs, x)), rate=self.rate, noise=noise, stream=i)
        return self._convolve(self.layers, inputs, x)

    def _convolve(self, i: int, inputs: Inputs, x: Tensor | FeatureMatrix) -> Tensor:
        terms = self.linear(f"layer{i}", x).chunk(self.degree + 1, dim=2)
        after, now = torch.zeros_like(terms[-1]), terms[-1]
        for k in range(self.degree - 1, -1, -1):
            # L - I is minus the operator; the last step counts it once, the others twice.
            after, now = now, terms[k] + multiply(inputs.operator, now, -2.0 if k else -1.0) - after
        return now + self.parameter(f"bias{i}")


@dataclass(frozen=True)
class MixHopOptions:
    """MixHop's shape in the version of the LINKX repository."""

    hidden: int = 16
    """Width of a hidden layer for each power of the adjacency."""
    layers: int = 2
    """Number of graph layers, the last of which is as wide as the classes for each power."""
    hops: int = 2
    """Highest power of the adjacency."""
    dropout: float = 0.5
    """Dropout on the hidden layers; the features have none."""


class MixHop(Population):
    r"""In every layer several powers of the adjacency side by side.

    .. math:: H' = \big\Vert_{j=0}^{J} \tilde A^j (H W_j + \mathbf 1 b_j^\top)

    Hidden layers: BatchNorm, ReLU, dropout. The last layer emits C channels for each power, and a linear map brings
    them to C. This is the LINKX repository's version, which the NewtonNet paper's comparison uses: the bias is
    propagated too, widths are equal and the output is a linear map. The paper has no biases, a width for each power,
    dropout and unit length on the features, and a softmax-weighted sum at the end.

    References:
        Abu-El-Haija et al., MixHop: Higher-Order Graph Convolutional Architectures via Sparsified Neighborhood Mixing,
        2019, Eq. (2); Lim et al., Large Scale Learning on Non-Homophilous Graphs, 2021 (code).
    """

    def __init__(self, graph: Graph, options: MixHopOptions, seeds: Sequence[int], dtype: torch.dtype) -> None:
        check_shape(options.hidden, options.layers, options.dropout)
        check_count("hops", options.hops)
        maps = options.hops + 1
        outputs = [options.hidden] * (options.layers - 1) + [graph.classes]
        inputs = [graph.features.shape[1]] + [maps * options.hidden] * (options.layers - 1)
        super().__init__(
            name="mixhop", options=asdict(options), seeds=seeds, features=inputs[0], self_loops=True, dtype=dtype
        )
        self.layers, self.rate, self.hops = options.layers, options.dropout, options.hops
        for i, (before, after) in enumerate(zip(inputs, outputs, strict=True), 1):
            self.add_linear(f"layer{i}", before, after, maps=maps, reads_features=i == 1)
            if i < options.layers:
                self.add_norm(f"norm{i}", maps * after)
        self.add_linear("project", maps * graph.classes, graph.classes)

    def forward(self, inputs: Inputs, noise: Noise | None = None) -> Tensor:
        """Logits of all nodes, shape ``(n, P, C)``."""
        x: Tensor | FeatureMatrix = inputs.features
        for i in range(1, self.layers):
            hidden = self.norm(f"norm{i}", self._mix(i, inputs, x), training=noise is not None)
            x = dropout(torch.relu(hidden), rate=self.rate, noise=noise, stream=i)
        return self.linear("project", self._mix(self.layers, inputs, x))

    def _mix(self, i: int, inputs: Inputs, x: Tensor | FeatureMatrix) -> Tensor:
        mapped = self.linear(f"layer{i}", x)
        width = mapped.shape[2] // (self.hops + 1)
        blocks = [mapped[..., :width]]
        rest = mapped[..., width:]
        for _ in range(self.hops):  # all higher powers take a step together, then the lowest of them is done
            moved = multiply(inputs.operator, rest)
            blocks.append(moved[..., :width])
            rest = moved[..., width:]
        return torch.cat(blocks, dim=2)


def _widths(graph: Graph, hidden: int, layers: int) -> list[int]:
    """Features, hidden widths, classes: what the layers connect."""
    return [graph.features.shape[1], *[hidden] * (layers - 1), graph.classes]
