"""The network of out-of-core training: a learned sum of propagated features, then two linear maps."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from newtonnet.graphs import Graph
from newtonnet.nn import Noise, Options, Population, SpectralNet, dropout, interpolation_points, member_linear
from newtonnet.polynomials import Filter, newton_filter
from newtonnet.training import Setting

from .batches import BatchRows, RowReader, Worker
from .large_graph import LargeGraph
from .store import FeatureStore, open_store

OUT_OF_CORE_MODEL = "newtonnet-precomputed"
"""The name of the model in records and model files."""


class OutOfCoreNet(SpectralNet):
    r"""A filter whose Chebyshev terms are given, followed by an encoder, on any rows of a graph.

    .. math:: H = \sum_{k=0}^{K} c_k(t)\, T_k(L - I)\, X, \qquad
              Z = W_2\,\mathrm{drop}(\mathrm{ReLU}(W_1\,\mathrm{drop}(H) + b_1)) + b_2

    The paper transforms first: there the filter acts on class signals, here on features, so that rows are independent.
    Parameters and their initial values are those of :class:`newtonnet.nn.SpectralNet` with one member.

    Args:
        filter: any filter with one response for all channels.
        features: number of features F.
        classes: number of classes C.
        seed: random seed of the initial weights and of the dropout masks.
        hidden: width of the hidden layer; 0 for one linear map.
        dropout: rate on the filtered features and on the hidden layer.
        dtype: float32, or float64 for checks.
    """

    def __init__(
        self,
        filter: Filter,
        *,
        features: int,
        classes: int,
        seed: int,
        hidden: int = 64,
        dropout: float = 0.5,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        shared: Any = {"features": features, "classes": classes, "hidden": hidden, "dropout": dropout, "dtype": dtype}
        super().__init__(filter, seeds=[seed], propagation_dropout=0.0, name=OUT_OF_CORE_MODEL, **shared)

    def forward(self, inputs: BatchRows, noise: Noise | None = None) -> Tensor:  # type: ignore[override]
        """Logits ``(B, 1, C)`` of some rows; ``noise`` is the dropout of this step, None in evaluation."""
        _, rows, features = inputs.terms.shape
        filtered = (self._coefficients().T @ inputs.terms.flatten(1)).view(rows, 1, features)
        x = dropout(filtered, rate=self.dropout, noise=noise, stream=0, first=inputs.first)
        inner = torch.addmm(self.bias1.flatten(), x.flatten(1), self.weight1.flatten(1))[:, None]
        if not self.hidden:
            return inner
        inner = dropout(torch.relu(inner), rate=self.dropout, noise=noise, stream=1, first=inputs.first)
        return member_linear(inner, self.weight2, self.bias2)


def make_filter(setting: Setting, graph: Graph | LargeGraph | None) -> Filter:
    """The filter of a setting's options; options that out-of-core training does not have are an error."""
    options = setting.options
    if not isinstance(options, Options):
        raise ValueError(f"out-of-core training supports only newtonnet, got {type(options).__name__}")
    if options.per_channel or options.branch:
        name = "per_channel" if options.per_channel else "branch"
        raise ValueError(f"out-of-core training filters the features, so the option {name} has no meaning in it")
    points = interpolation_points(options, graph if isinstance(graph, Graph) else None)
    return newton_filter(points, nonnegative=options.nonnegative, unit=options.unit)


@torch.no_grad()
def batched_logits(
    model: Population, reader: RowReader, nodes: NDArray[np.int64], *, batch: int, worker: Worker
) -> Iterator[tuple[slice, Tensor]]:
    """Logits ``(m, C)`` of a worker's share of ascending nodes, each with their slice among all nodes."""
    share = worker.share(len(nodes))
    for start in range(share.start, share.stop, batch):
        chosen = slice(start, min(start + batch, share.stop))
        yield chosen, model(reader.read(nodes[chosen]))[:, 0]


def predict_out_of_core(
    state: Mapping[str, Tensor],
    setting: Setting,
    *,
    store: str | Path | FeatureStore,
    graph: Graph | None = None,
    nodes: NDArray[np.int64] | None = None,
    batch: int = 65536,
    max_memory: int | None = None,
) -> NDArray[np.float32]:
    """Predict class probabilities from a trained state and the propagated features of a graph.

    Args:
        state: a state that :func:`train_out_of_core` returned for this setting.
        setting: the setting it was trained with.
        store: the complete store of a graph with the same features.
        graph: needed only if the points follow the spectral density of the graph.
        nodes: ascending nodes to predict; all by default.
        batch: number of nodes that are computed at once.
        max_memory: bytes of the store that may be mapped at once; 1 GB by default.

    Returns:
        Probabilities, shape ``(n, C)``, or one row for each of the given nodes.
    """
    features = store if isinstance(store, FeatureStore) else open_store(store)
    filter = make_filter(setting, graph)
    if not features.complete or features.identity.degree < filter.degree:
        found = f"degree {features.identity.degree}" if features.complete else "unfinished parts"
        needed = f"propagate_to_disk(..., degree={filter.degree})"
        raise ValueError(f"{features.folder} has {found}, but the filter has degree {filter.degree}; call {needed}")
    if not {"weight1", "bias1"} <= state.keys():
        raise ValueError("the weights of this model do not fit its options; train it again")
    width, classes = state["weight1"].shape[0], state["bias2" if "bias2" in state else "bias1"].shape[1]
    if width != features.identity.features:
        raise ValueError(f"the model expects {width} features, {features.folder} has {features.identity.features}")
    model = OutOfCoreNet(filter, features=width, classes=classes, seed=0, hidden=setting.options.hidden)
    try:
        model.load_state_dict(dict(state))
    except RuntimeError as reason:
        raise ValueError(f"the weights of this model do not fit its options ({reason}); train it again") from reason
    reader = RowReader(features, filter.degree, max_memory=max_memory)
    wanted = np.arange(features.identity.nodes) if nodes is None else nodes
    if len(wanted) and (wanted[0] < 0 or wanted[-1] >= features.identity.nodes or (np.diff(wanted) < 0).any()):
        raise ValueError(f"nodes must be in ascending order, from 0 to {features.identity.nodes - 1}")
    out = np.empty((len(wanted), classes), dtype=np.float32)
    for chosen, logits in batched_logits(model, reader, wanted, batch=batch, worker=Worker()):
        out[chosen] = torch.softmax(logits, dim=1).numpy()
    return out
