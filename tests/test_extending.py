"""The page on extending the package is run as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.special
import torch

from newtonnet import Config, NewtonNetClassifier, build, fit, make_splits
from newtonnet.datasets import csbm
from newtonnet.nn import ZOO, Inputs

PAGE = Path(__file__).parent.parent / "docs" / "extending.md"


@pytest.fixture(scope="module")
def names():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    space: dict[str, object] = {}
    try:
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), space)
        yield space
    finally:
        for name in ("second", "one-hop"):
            ZOO.pop(name, None)


def test_a_new_filter_takes_about_twenty_lines():
    block = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)[0]
    assert len([line for line in block.splitlines() if line.strip()]) <= 20


def test_the_new_filter_is_what_the_page_says(names):
    filter = names["model"].filter
    weights = torch.rand(9, dtype=torch.float64)
    frequency = torch.linspace(0.01, 1.99, 50, dtype=torch.float64)
    expected = sum(float(w) * scipy.special.eval_chebyu(k, frequency.numpy() - 1) for k, w in enumerate(weights))
    assert filter.response(frequency, {"weights": weights}).numpy() == pytest.approx(expected, abs=1e-9)


def test_the_new_filter_trains_and_takes_the_penalty(names):
    record = names["record"]
    third = len(record.outcome.response) // 3
    assert record.outcome.test > 0.8
    assert sum(record.outcome.response[-third:]) > sum(record.outcome.response[:third])


@pytest.mark.parametrize(
    ("setting", "seen"),
    [
        ({"hidden": 8}, lambda model: model.ensemble_.members[0].state["weight1"].shape[2] == 8),
        ({"degree": 3}, lambda model: len(model.ensemble_.members[0].state["filter_weights"]) == 4),
        ({"dropout": 0.0}, lambda model: True),
        ({"propagation_dropout": 0.0}, lambda model: True),
    ],
)
def test_every_option_of_the_new_filter_is_used_and_recorded(names, setting, seen):
    graph = csbm(0.1, nodes=100, features=20)
    usual, changed = (
        NewtonNetClassifier("second", tune="off", settings=changes, max_epochs=10, folds=2).fit(graph)
        for changes in ({}, setting)
    )
    assert seen(changed)
    assert changed.records_[0].options == {**usual.records_[0].options, **setting}
    assert changed.records_[0].id != usual.records_[0].id
    assert np.abs(changed.predict_proba(graph) - usual.predict_proba(graph)).max() > 1e-4


@pytest.mark.parametrize("setting", [{"points": "chebyshev"}, {"nonnegative": False}, {"branch": 8}])
def test_options_that_the_new_filter_does_not_have_are_refused(names, setting):
    with pytest.raises(ValueError, match=f"no option '{next(iter(setting))}'"):
        NewtonNetClassifier("second", tune="off", settings=setting).fit(csbm(0.1, nodes=100, features=20))


@pytest.fixture(scope="module", params=["dense features", "sparse features"])
def small(request):
    graph = csbm(0.8, nodes=60, features=12, seed=3)
    if request.param == "dense features":
        return graph
    return type(graph)(sp.csr_array(graph.features), graph.adjacency, graph.labels, graph.class_names)


def test_the_new_model_is_what_the_page_says(names, small):
    model = build("one-hop", small, seeds=[4, 7], dtype=torch.float64)
    inputs = model.prepare(small, "cpu")
    assert isinstance(inputs, Inputs)
    with_loops = small.adjacency.toarray().astype(np.float64) + np.eye(small.nodes)
    scale = with_loops.sum(axis=1) ** -0.5
    features = small.features.toarray() if sp.issparse(small.features) else small.features
    expected = np.einsum(
        "nm,mf,fpc->npc",
        scale[:, None] * with_loops * scale,
        features.astype(np.float64),
        model.weight.detach().numpy(),
    )
    np.testing.assert_allclose(model(inputs).detach().numpy(), expected, atol=1e-10)


def test_the_new_model_trains_alone_as_in_a_population(names, small):
    splits = make_splits(small, count=2)
    configs = [Config(seed=seed, max_epochs=30, learning_rate=0.05) for seed in (4, 7)]

    def train(places):
        mine = [configs[place] for place in places]
        model = build("one-hop", small, seeds=[config.seed for config in mine], dtype=torch.float64)
        return fit(model, small, [splits[place] for place in places], mine), model

    records, together = train([0, 1])
    for place, record in enumerate(records):
        (own,), alone = train([place])
        assert own.outcome.test == record.outcome.test
        np.testing.assert_allclose(alone.weight.detach()[:, 0], together.weight.detach()[:, place], atol=1e-9)


def test_the_new_model_works_behind_the_classifier(names, small, tmp_path):
    model = NewtonNetClassifier("one-hop", tune="off", settings={"dropout": 0.1}, max_epochs=30).fit(small)
    assert model.score(small) > 0.7
    assert model.filter_ is None
    model.save(tmp_path / "model")
    again = NewtonNetClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(small), model.predict_proba(small))
