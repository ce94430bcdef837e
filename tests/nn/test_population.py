"""Laws that hold for every model made of layers, whatever its layers are."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from newtonnet.datasets import csbm, make_splits
from newtonnet.graphs import from_scipy
from newtonnet.nn import (
    ZOO,
    ChebNetOptions,
    DegreeOptions,
    GCNOptions,
    GloGNNOptions,
    LinkxOptions,
    MixHopOptions,
    NewtonStackOptions,
    Noise,
    Options,
    TunedGCNOptions,
    build,
)
from newtonnet.training import Config, fit
from newtonnet.training.in_memory import make_targets

SMALL = {
    "gcn": GCNOptions(hidden=4, layers=3),
    "gcn with BatchNorm": GCNOptions(hidden=4, batch_norm=True),
    "mixhop": MixHopOptions(hidden=3),
    "chebnet": ChebNetOptions(hidden=4, degree=3),
    "glognn++": GloGNNOptions(hidden=4, hidden_layers=2, orders=3),
    "linkx": LinkxOptions(hidden=4, adjacency_layers=2),
    "tuned-gcn": TunedGCNOptions(hidden=4, norm="layer", residual=True, jumping=True),
    "tuned-gcn with BatchNorm": TunedGCNOptions(hidden=4, norm="batch"),
    "newton-stack": NewtonStackOptions(hidden=4, layers=3, norm="layer", per_channel=True, mean=True, projection=True),
    "newton-stack with BatchNorm": NewtonStackOptions(hidden=4, layers=3, degree=2),
    "newton-stack with labels": NewtonStackOptions(hidden=4, layers=3, labels=0.5, directed=True),
}
NORMALISED = (
    "gcn with BatchNorm",
    "mixhop",
    "linkx",
    "tuned-gcn with BatchNorm",
    "newton-stack with BatchNorm",
    "newton-stack with labels",
)
PER_NODE = {"glognn++": "adjacency_weight", "linkx": "adjacency1_weight"}


def make(case, graph, **rest):
    return build(case.split()[0], graph, SMALL[case], **{"dtype": torch.float64, **rest})


def prepared(model, graph):
    """The graph as the model reads it; one that reads labels is shown those of every third node."""
    labels = torch.from_numpy(np.where(np.arange(graph.nodes) % 3 == 0, graph.labels, -1))
    return model.prepare(graph).show(labels) if model.shown else model.prepare(graph)


@pytest.fixture(scope="module")
def graph():
    return csbm(0.2, nodes=120, features=30, seed=5)


@pytest.fixture(scope="module")
def members(graph):
    """Three members that differ in split, seed, rate and decay."""
    configs = [
        Config(seed=7, learning_rate=0.01, weight_decay=0.0),
        Config(seed=2, learning_rate=0.05, weight_decay=5e-3),
        Config(seed=7, learning_rate=0.02),
    ]
    return make_splits(graph, count=3), [replace(config, max_epochs=12, history_interval=5) for config in configs]


def train(case, graph, splits, configs, *, dtype=torch.float64, **rest):
    model = make(case, graph, seeds=[config.seed for config in configs], dtype=dtype)
    return model, fit(model, graph, splits, configs, **rest)


@pytest.mark.parametrize("case", SMALL)
def test_model_is_permutation_equivariant(random_graph, randomise, rng, case):
    graph = random_graph
    model = randomise(make(case, graph))
    order = rng.permutation(graph.nodes)
    moved = from_scipy(
        graph.adjacency[order][:, order],
        np.asarray(graph.features)[order],
        labels=graph.labels[order],
        class_names=graph.class_names,
    )
    inputs, turned = prepared(model, graph), model.prepare(moved)
    if inputs.labels is not None:
        turned = turned.show(inputs.labels[order])
    logits = model(inputs).detach()
    if case in PER_NODE:
        with torch.no_grad():
            weight = model.get_parameter(PER_NODE[case])
            weight.copy_(weight[order].clone())
    torch.testing.assert_close(model(turned).detach(), logits[order], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("case", SMALL)
def test_gradients_of_every_learned_parameter_match_finite_differences(random_graph, randomise, case, training):
    model = randomise(make(case, random_graph, seeds=(0, 1)))
    inputs, noise = prepared(model, random_graph), Noise(0, (0, 1), 1) if training else None
    learned = model.learned()

    def loss(*parameters):
        state = dict(zip(learned, parameters, strict=True))
        return torch.func.functional_call(model, state, (inputs, noise)).tanh().sum()

    start = tuple(0.3 * parameter.detach().clone() for parameter in learned.values())
    assert torch.autograd.gradcheck(loss, tuple(s.requires_grad_() for s in start), fast_mode=True)


@pytest.mark.parametrize("patience", [None, 3])
@pytest.mark.parametrize("case", SMALL)
def test_population_equals_its_members(graph, members, case, patience):
    splits, configs = members
    configs = [replace(config, patience=patience) for config in configs]
    together, records = train(case, graph, splits, configs)
    for p in range(3):
        alone, (record,) = train(case, graph, splits[p : p + 1], configs[p : p + 1])
        for name, parameter in together.named_parameters():
            mine = parameter.index_select(together.axes[name], torch.tensor([p]))
            torch.testing.assert_close(mine, alone.get_parameter(name), rtol=1e-8, atol=1e-8)
        assert record.id == records[p].id
        assert record.outcome.epochs == records[p].outcome.epochs
        assert record.outcome.test == records[p].outcome.test


def test_some_member_leaves_before_another(graph, members):
    splits, configs = members
    _, records = train("mixhop", graph, splits, [replace(config, patience=3) for config in configs])
    assert len({record.outcome.epochs for record in records}) > 1, "patience in the test above shows nothing"


@pytest.mark.parametrize("case", SMALL)
def test_a_member_does_not_start_from_its_neighbours_draws(graph, case):
    alone, among = make(case, graph, seeds=(4,)), make(case, graph, seeds=(9, 4))
    for name, parameter in among.named_parameters():
        assert torch.equal(parameter.select(among.axes[name], 1), alone.get_parameter(name).select(alone.axes[name], 0))


@pytest.mark.parametrize("case", SMALL)
def test_dropout_acts_in_training_only_and_repeats_by_epoch(graph, case):
    model = make(case, graph)
    inputs = prepared(model, graph)
    assert torch.equal(model(inputs), model(inputs))
    first, again, later = (model(inputs, Noise(0, (0,), epoch)) for epoch in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, later)


@pytest.mark.parametrize("case", NORMALISED)
def test_training_moves_the_running_statistics_and_evaluation_reads_them(graph, case):
    model = make(case, graph)
    inputs = prepared(model, graph)
    states = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    states = [name for name in states if not name.startswith("degree")]  # of the graph, not of the epoch
    assert states
    assert set(states).isdisjoint(model.learned())
    before = {name: model.get_parameter(name).detach().clone() for name in states}
    evaluated = model(inputs).detach()
    assert all(torch.equal(before[name], model.get_parameter(name)) for name in states)
    model(inputs, Noise(0, (0,), 1))
    assert not any(torch.equal(before[name], model.get_parameter(name)) for name in states)
    assert not torch.equal(model(inputs).detach(), evaluated)


@pytest.mark.parametrize("case", NORMALISED)
def test_the_model_is_left_at_its_best_state_with_the_statistics_of_that_epoch(graph, members, case):
    splits, configs = members
    model, records = train(case, graph, splits, configs)
    inputs = model.prepare(graph)
    if model.shown:
        inputs = inputs.show(make_targets(graph, splits).shown())
    logits = model(inputs).detach().numpy()
    for p, (split, record) in enumerate(zip(splits, records, strict=True)):
        right = logits[:, p].argmax(axis=1) == graph.labels
        assert record.outcome.validation == pytest.approx(right[split.validation].mean())
        assert record.outcome.test == pytest.approx(right[split.test].mean())


@pytest.mark.parametrize("case", ["mixhop", "glognn++", "newton-stack with labels"])
def test_an_interrupted_run_resumes_to_the_same_bits(graph, members, tmp_path, case):
    splits, configs = members
    configs = [replace(config, patience=6) for config in configs]
    whole, unbroken = train(case, graph, splits, configs, dtype=torch.float32)
    path = tmp_path / "run.safetensors"

    def interrupt(state):
        if state.epoch in (3, 8):
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            train(case, graph, splits, configs, dtype=torch.float32, checkpoint=path, on_epoch=interrupt)
    model, resumed = train(case, graph, splits, configs, dtype=torch.float32, checkpoint=path)
    for name, parameter in whole.named_parameters():
        assert torch.equal(parameter, model.get_parameter(name))
    for mine, theirs in zip(resumed, unbroken, strict=True):
        assert replace(mine.outcome, seconds=0) == replace(theirs.outcome, seconds=0)
        assert mine.history == theirs.history


@pytest.mark.parametrize("case", SMALL)
def test_another_number_of_features_is_refused(graph, random_graph, case):
    with pytest.raises(ValueError, match="takes 30 features, graph 'random' has 5"):
        make(case, graph).prepare(random_graph)


@pytest.mark.parametrize("case", SMALL)
def test_only_models_without_weights_for_nodes_can_move_to_another_graph(graph, case):
    other = csbm(0.2, nodes=80, features=30, seed=6)
    model = make(case, graph)
    if case in PER_NODE:
        with pytest.raises(ValueError, match=f"'{case.replace('+', '[+]')}' has weights for each of the 120 nodes"):
            model.prepare(other)
    else:
        assert model(prepared(model, other)).shape == (80, 1, other.classes)


@pytest.mark.parametrize("case", PER_NODE)
def test_another_models_inputs_are_refused(graph, case):
    with pytest.raises(ValueError, match="no adjacency features; prepare the graph with the model"):
        make(case, graph)(make("gcn", graph).prepare(graph))


def test_every_row_of_the_zoo_is_under_these_laws_or_those_of_filters():
    with_filter = {name for name in ZOO if build(name, csbm(0.5, nodes=40, features=3)).filter is not None}
    assert {case.split()[0] for case in SMALL} | with_filter == set(ZOO)


@pytest.mark.parametrize("name", ["glognn++", "linkx"])
def test_models_with_weights_for_every_node_refuse_another_graph_of_the_same_size(name):
    here, there = (csbm(0.5, nodes=40, features=3, seed=seed) for seed in (0, 1))
    model = build(name, here)
    model.prepare(here)
    with pytest.raises(ValueError, match="is another one"):
        model.prepare(there)


def test_bernnet_costs_as_many_sparse_products_as_newtonnet(monkeypatch):
    graph = csbm(0.5, nodes=40, features=3)
    counts = {}
    for name, options in (("bernnet", DegreeOptions(degree=10)), ("newtonnet", Options(degree=10))):
        model, calls = build(name, graph, options), []
        inputs, addmm = model.prepare(graph), torch.addmm
        inputs = replace(inputs, operator=replace(inputs.operator, kernel="vendor"))

        def counted(*arguments, calls=calls, addmm=addmm, **rest):
            calls.extend([None] * (arguments[1].layout == torch.sparse_csr))
            return addmm(*arguments, **rest)

        monkeypatch.setattr(torch, "addmm", counted)
        model(inputs)
        monkeypatch.undo()
        counts[name] = len(calls)
    assert counts == {"bernnet": 10, "newtonnet": 10}


@pytest.mark.parametrize("name", ZOO)
def test_a_search_space_names_options_or_training_fields_and_includes_no_nonsense(name):
    entry = ZOO[name]
    known = {field.name for field in fields(entry.options)} | {field.name for field in fields(Config)}
    assert set(entry.space) <= known | {"gamma1", "gamma2", "gamma3"}
    assert all(len(set(choices)) == len(choices) > 1 for choices in entry.space.values())
