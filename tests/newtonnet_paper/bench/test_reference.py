import numpy as np
import pytest
import torch

from newtonnet.datasets import csbm, make_splits
from newtonnet.nn import Options, build
from newtonnet.search import find_setting
from newtonnet.training import band_masks, override, shape_penalty
from newtonnet_paper.bench.timing import (
    Timing,
    common_setting,
    find_reference,
    load_reference,
    make_trainer,
    time_populations,
)


@pytest.fixture(scope="module")
def module():
    return load_reference(find_reference())


@pytest.fixture(scope="module")
def graph():
    return csbm(0.2, nodes=120, features=30, seed=3)


def with_equal_weights(module, graph, degree):
    setting = override(find_setting("cora", "newtonnet"), {"degree": degree, "hidden": 16})
    trainer = make_trainer(module, graph, setting)
    model = build("newtonnet", graph, Options(hidden=16, degree=degree), seeds=[4])
    values = torch.linspace(-0.5, 2, degree + 1)[torch.randperm(degree + 1, generator=torch.Generator().manual_seed(0))]
    ours, theirs = dict(model.named_parameters()), trainer.model
    with torch.no_grad():
        ours["filter_values"].copy_(values[:, None])
        theirs.propagation.values.copy_(values)
        theirs.lin1.weight.copy_(ours["weight1"][:, 0].T)
        theirs.lin1.bias.copy_(ours["bias1"][0])
        theirs.lin2.weight.copy_(ours["weight2"][0].T)
        theirs.lin2.bias.copy_(ours["bias2"][0])
    return trainer, model


@pytest.mark.parametrize("degree", [2, 5, 8])
def test_the_reference_computes_the_same_logits_for_equal_weights(module, graph, degree):
    trainer, model = with_equal_weights(module, graph, degree)
    trainer.model.eval()
    with torch.no_grad():
        theirs = trainer.model(trainer.x, trainer.edge_index, trainer.norm)
        ours = model(model.prepare(graph))[:, 0]
    assert theirs.abs().max() > 0.1
    torch.testing.assert_close(theirs, ours, rtol=1e-5, atol=1e-5)


def test_the_reference_has_the_same_penalty(module, graph):
    trainer, model = with_equal_weights(module, graph, 5)
    trainer.homophily, trainer.gammas = 0.8, (1.0, 2.0, 3.0)
    ours = shape_penalty(
        model.filter_parameters()["values"],
        band_masks(model.filter.points),
        homophily=torch.tensor([0.8]),
        pivot=torch.tensor([0.5]),
        gammas=torch.tensor([[1.0], [2.0], [3.0]]),
        squared=False,
    )
    torch.testing.assert_close(trainer.penalty(), ours[0])


def test_the_reference_learns_and_estimates_the_homophily(module, graph):
    torch.manual_seed(0)
    trainer = make_trainer(module, graph, find_setting("nowhere", "newtonnet"))
    assert trainer.homophily == 0.5
    scores = [trainer.epoch() for _ in range(60)]
    assert scores[-1][0] > scores[0][0]
    assert abs(trainer.homophily - 0.2) < 0.15


def test_the_reference_gets_the_same_split_and_settings(module, graph):
    trainer = make_trainer(module, graph, common_setting())
    split = make_splits(graph, count=1)[0]
    for mask, part in zip(trainer.masks, (split.train, split.validation, split.test), strict=True):
        assert np.flatnonzero(mask).tolist() == sorted(part)
    assert [group["lr"] for group in trainer.optimizer.param_groups] == [0.01, 0.01]
    assert trainer.gammas == (1, 1, 1)
    assert trainer.model.dropout == 0.5


def test_ratios_are_for_one_model_and_epoch(module, graph, monkeypatch):
    monkeypatch.setattr(
        "newtonnet_paper.bench.timing.epoch_clock", lambda task, seconds: lambda: 0.5 * len(task.splits) ** 0.5
    )
    monkeypatch.setattr("newtonnet_paper.bench.timing._reference_clock", lambda trainer, seconds: lambda: 2.0)
    row = time_populations(graph, (1, 64), module, Timing(2, 0.0), note=pytest.fail)
    assert row["ours_ms"] == {"1": 500.0, "64": 62.5}
    assert row["throughput"] == {"1": 2.0, "64": 16.0}
    assert row["reference_ms"] == 2000.0
    assert row["ratio"] == {"1": 4.0, "64": 32.0}


def test_dense_features_that_do_not_fit_leave_the_reference_out(module, graph, monkeypatch):
    monkeypatch.setattr("newtonnet_paper.bench.timing.epoch_clock", lambda task, seconds: lambda: 1.0)
    monkeypatch.setattr("newtonnet_paper.bench.timing.free_memory", lambda: 1000)
    notes = []
    row = time_populations(graph, (1,), module, Timing(1, 0.0), note=notes.append)
    assert "ratio" not in row
    assert "too much memory" in notes[0]


def test_a_file_without_a_trainer_is_refused(tmp_path):
    path = tmp_path / "empty.py"
    path.write_text("")
    with pytest.raises(ValueError, match="no class Trainer"):
        load_reference(path)
    with pytest.raises(ValueError, match="there is no reference"):
        find_reference(tmp_path / "nowhere.py")
