"""Every model trains on every graph at hand: real raw files where NEWTONNET_DATA names them, generated ones anyway."""

from dataclasses import replace

import pytest

from newtonnet.datasets import CATALOGUE, load_dataset, make_splits, summarise
from newtonnet.nn import ZOO, build
from newtonnet.training import Config, fit

FEATURES = 100
"""Columns of a graph that are used; some have thousands."""


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_model_trains_on_the_graph(name):
    if not summarise(name).available:
        pytest.skip("the raw files of this data set are not here")
    dataset = load_dataset(name)
    graph = replace(dataset.graph, features=dataset.graph.features[:, :FEATURES])
    splits = make_splits(graph, count=1)
    for model, entry in ZOO.items():
        narrow = {"hidden": 8} if hasattr(entry.options, "hidden") else {}
        config = Config(**entry.training, max_epochs=1, history_interval=0, metric=dataset.entry.metric)
        population = build(model, graph, replace(entry.options, **narrow))
        (record,) = fit(population, graph, splits, [config])
        assert record.outcome.status == "done", model
        assert 0 <= record.outcome.test <= 1
