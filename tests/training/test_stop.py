import pytest
import torch

from newtonnet.datasets import csbm, make_splits
from newtonnet.nn import Options, build
from newtonnet.training import Config, fit
from newtonnet.training.parts import Parts


@pytest.fixture(scope="module")
def graph():
    return csbm(0.2, nodes=150, features=30, seed=5)


def run(graph, *, stop=None, max_epochs=40, count=3, **rest):
    configs = [Config(seed=i, max_epochs=max_epochs) for i in range(count)]
    model = build("newtonnet", graph, Options(hidden=16), seeds=range(count))
    return model, fit(model, graph, make_splits(graph, count=count), configs, stop=stop, **rest)


def after(epochs):
    """Says True when it has been asked this often."""
    asked = []
    return lambda: asked.append(None) or len(asked) >= epochs


def test_a_stopped_run_ends_as_if_its_epochs_were_used_up(graph):
    model, stopped = run(graph, stop=after(7), threads=1)
    short, full = run(graph, max_epochs=7, threads=1)
    assert [record.outcome.validation for record in stopped] == [record.outcome.validation for record in full]
    assert {record.outcome.epochs for record in stopped} == {7}
    for mine, theirs in zip(model.parameters(), short.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=0)


def test_members_that_had_not_begun_fail_and_say_why(graph, monkeypatch):
    monkeypatch.setattr("newtonnet.training.parts.CACHED", 1)  # one member at a time
    _, records = run(graph, stop=after(5), threads=1)
    assert [record.outcome.status for record in records] == ["done", "failed", "failed"]
    assert records[1].outcome.reason == "it was stopped before it began"
    assert records[1].outcome.validation is None


def test_members_that_were_put_together_and_not_trained_fail_too(graph, monkeypatch):
    monkeypatch.setattr("newtonnet.training.parts.CACHED", 1)
    train = Parts.train

    def all_are_started(self, after):
        for part in range(len(self.runs)):
            self.start(part)
        train(self, after)

    monkeypatch.setattr(Parts, "train", all_are_started)
    _, records = run(graph, stop=after(5), threads=1)
    assert [record.outcome.status for record in records] == ["done", "failed", "failed"]
    assert [record.outcome.values != () for record in records] == [True, False, False]


def test_parts_side_by_side_are_stopped_too(graph):
    _, records = run(graph, stop=lambda: True, threads=2, count=4, max_epochs=100_000)
    assert all(record.outcome.epochs < 100_000 for record in records)
