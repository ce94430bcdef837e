import numpy as np
import pytest
import torch

from newtonnet.nn import LinkxOptions, build


def naive_mlp(x, w, name, depth):
    for i in range(1, depth):
        x = np.maximum(x @ w[f"{name}{i}_weight"] + w[f"{name}{i}_bias"], 0)
        norm = {part: w[f"{name}{i}_norm_{part}"] for part in ("scale", "shift", "mean", "variance")}
        x = norm["scale"] * (x - norm["mean"]) / np.sqrt(norm["variance"] + 1e-5) + norm["shift"]
    return x @ w[f"{name}{depth}_weight"] + w[f"{name}{depth}_bias"]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
@pytest.mark.parametrize(
    "options",
    [LinkxOptions(hidden=6, layers=1), LinkxOptions(hidden=6, layers=3, adjacency_layers=2, feature_layers=2)],
)
def test_logits_equal_a_dense_reference_in_numpy(random_graph, randomise, member, options, dtype, tolerance):
    model = randomise(build("linkx", random_graph, options, seeds=(0, 1), dtype=dtype))
    logits = model(model.prepare(random_graph)).detach().double().numpy()
    adjacency = random_graph.adjacency.toarray().astype(np.float64)
    for p in range(2):
        w = member(model, p)
        links = naive_mlp(adjacency, w, "adjacency", options.adjacency_layers)
        own = naive_mlp(np.asarray(random_graph.features, dtype=np.float64), w, "features", options.feature_layers)
        joined = np.hstack([links, own]) @ w["join_weight"] + w["join_bias"] + links + own
        expected = naive_mlp(np.maximum(joined, 0), w, "final", options.layers)
        np.testing.assert_allclose(logits[:, p], expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def test_linkx_gives_the_worked_example(path, assign):
    model = build("linkx", path, LinkxOptions(hidden=1, layers=1), dtype=torch.float64)
    assign(model, adjacency1_weight=[1, -1, 2], features1_weight=[0.5], join_weight=[0.5, 1], final1_weight=[1, -2])
    assign(model, adjacency1_bias=[0], features1_bias=[0], join_bias=[0], final1_bias=[0, 1])
    logits = model(model.prepare(path)).detach()[:, 0]
    np.testing.assert_allclose(logits, [[0, 1], [6.5, -12], [2.5, -4]], atol=1e-12)
