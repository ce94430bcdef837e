"""NewtonNet with an adjacency branch: its own formula in dense numpy, and the laws of every model."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from newtonnet.datasets import csbm, make_splits
from newtonnet.graphs import from_scipy
from newtonnet.nn import Noise, Options, build, dropout
from newtonnet.training import Config, fit

BRANCHED = Options(hidden=4, branch=6)


@pytest.fixture(scope="module")
def graph():
    return csbm(0.2, nodes=100, features=20, seed=3)


def make(graph, options=BRANCHED, **rest):
    return build("newtonnet", graph, options, **{"dtype": torch.float64, **rest})


def without_branch(model, graph):
    """The same network and weights with the branch cut off."""
    plain = make(graph, replace(BRANCHED, branch=0), seeds=model.seeds, dtype=model.dtype)
    plain.put(dict(model.named_parameters()))
    return plain


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_branch_adds_a_network_on_the_raw_adjacency_to_the_logits(random_graph, randomise, member, dtype, tolerance):
    model = randomise(make(random_graph, seeds=(0, 1), dtype=dtype))
    plain = without_branch(model, random_graph)
    logits = model(model.prepare(random_graph)).detach().double().numpy()
    filtered = plain(plain.prepare(random_graph)).detach().double().numpy()
    adjacency = random_graph.adjacency.toarray().astype(np.float64)
    for p in range(2):
        w = member(model, p)
        hidden = np.maximum(adjacency @ w["branch_weight1"] + w["branch_bias1"], 0)
        expected = filtered[:, p] + hidden @ w["branch_weight2"] + w["branch_bias2"]
        np.testing.assert_allclose(logits[:, p], expected, rtol=0, atol=tolerance * np.abs(expected).max())


def test_branch_on_the_path_gives_numbers_found_by_hand(path, assign):
    """A W1 + b1 is (-3, 3, -3) + 1 in one unit: only the middle node passes the ReLU, with 4."""
    model = make(path, Options(hidden=1, branch=1))
    assign(model, weight1=[0], bias1=[0], weight2=[0, 0], bias2=[0, 0])
    assign(model, branch_weight1=[1, -3, 2], branch_bias1=[1], branch_weight2=[0.5, -2], branch_bias2=[1, 0])
    logits = model(model.prepare(path)).detach()[:, 0]
    np.testing.assert_allclose(logits, [[1, 0], [3, -8], [1, 0]], atol=1e-12)


def test_training_drops_hidden_units_of_the_branch_and_neither_links_nor_anything_else_anew(graph, randomise):
    options = replace(BRANCHED, branch_dropout=0.6)
    model, noise = randomise(make(graph, options, seeds=(4, 5))), Noise(7, (4, 5), 3)
    plain = without_branch(model, graph)
    adjacency = torch.tensor(graph.adjacency.toarray(), dtype=torch.float64)
    hidden = torch.relu(torch.einsum("nm,mph->nph", adjacency, model.branch_weight1) + model.branch_bias1)
    dropped = dropout(hidden, rate=0.6, noise=noise, stream=3)
    branch = torch.einsum("nph,phc->npc", dropped, model.branch_weight2) + model.branch_bias2
    expected = plain(plain.prepare(graph), noise) + branch
    torch.testing.assert_close(model(model.prepare(graph), noise), expected, rtol=1e-10, atol=1e-10)


def test_model_is_permutation_equivariant_when_the_branchs_rows_move_too(random_graph, randomise, rng):
    model = randomise(make(random_graph))
    order = rng.permutation(random_graph.nodes)
    moved = from_scipy(
        random_graph.adjacency[order][:, order],
        np.asarray(random_graph.features)[order],
        labels=random_graph.labels[order],
    )
    logits = model(model.prepare(random_graph)).detach()
    assert not torch.allclose(model(model.prepare(moved)).detach(), logits[order]), "the rows' order shows nothing"
    with torch.no_grad():
        model.branch_weight1.copy_(model.branch_weight1[order].clone())
    torch.testing.assert_close(model(model.prepare(moved)).detach(), logits[order], rtol=1e-10, atol=1e-10)


def test_gradients_of_every_parameter_match_finite_differences(random_graph, randomise):
    model = randomise(make(random_graph, Options(hidden=3, branch=3, nonnegative=False), seeds=(0, 1)))
    inputs, noise = model.prepare(random_graph), Noise(0, (0, 1), 1)
    learned = model.learned()

    def loss(*parameters):
        state = dict(zip(learned, parameters, strict=True))
        return (torch.func.functional_call(model, state, (inputs, noise)) ** 2).sum(dim=(0, 2)) / 100

    start = tuple(parameter.detach().clone().requires_grad_() for parameter in learned.values())
    assert torch.autograd.gradcheck(loss, start, rtol=1e-4)


def test_population_equals_its_members(graph, member):
    configs = [
        Config(seed=5, learning_rate=0.01, branch_learning_rate=0.003, gammas=(1.0, 2.0, 3.0), max_epochs=20),
        Config(seed=1, learning_rate=0.05, filter_learning_rate=0.02, weight_decay=0.0, max_epochs=20),
        Config(seed=5, learning_rate=0.02, branch_learning_rate=0.05, max_epochs=20),
    ]
    splits = make_splits(graph, count=3)

    def train(chosen):
        model = make(graph, seeds=[configs[p].seed for p in chosen])
        return model, fit(model, graph, [splits[p] for p in chosen], [configs[p] for p in chosen])

    together, records = train([0, 1, 2])
    for p in range(3):
        alone, (record,) = train([p])
        for key, value in member(alone, 0).items():
            np.testing.assert_allclose(member(together, p)[key], value, rtol=1e-8, atol=1e-8)
        assert record.id == records[p].id
        assert record.outcome.test == records[p].outcome.test


@pytest.mark.parametrize(("own", "rate"), [(0.003, 0.003), (None, 0.01)])
def test_branch_learns_at_its_own_rate_or_else_the_encoders(graph, member, own, rate):
    """Adam's first step is as long as the rate."""
    config = Config(
        learning_rate=0.01, filter_learning_rate=0.02, branch_learning_rate=own, weight_decay=0, max_epochs=1
    )
    before, after = make(graph), make(graph)
    fit(after, graph, make_splits(graph, count=1), [config])
    for key, value in member(after, 0).items():
        expected = 0.02 if key.startswith("filter") else rate if key.startswith("branch") else 0.01
        assert np.abs(value - member(before, 0)[key]).max() == pytest.approx(expected, rel=1e-3), key


def test_encoder_and_filter_start_as_they_do_without_a_branch(graph, member):
    plain, branched = (member(make(graph, replace(BRANCHED, branch=width), seeds=(7,)), 0) for width in (0, 6))
    assert set(branched) - set(plain) == {f"branch_{part}{i}" for part in ("weight", "bias") for i in (1, 2)}
    for name, value in plain.items():
        np.testing.assert_array_equal(value, branched[name])
    assert 0.8 * 100**-0.5 < np.abs(branched["branch_weight1"]).max() <= 100**-0.5


def test_only_a_model_without_a_branch_can_move_to_another_graph(graph):
    other = csbm(0.2, nodes=80, features=20, seed=4)
    with pytest.raises(ValueError, match="'newtonnet' has weights for each of the 100 nodes"):
        make(graph).prepare(other)
    plain = make(graph, replace(BRANCHED, branch=0))
    assert plain.prepare(other).adjacency is None
    with pytest.raises(ValueError, match="no adjacency features; prepare the graph with the model"):
        make(graph)(plain.prepare(graph))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(branch=-1), "a branch must be at least 1 wide, got -1; a width of 0 stands for none"),
        (Options(branch=4, branch_dropout=1.0), "dropout rate"),
    ],
)
def test_bad_options_are_refused(graph, options, message):
    with pytest.raises(ValueError, match=message):
        make(graph, options)
