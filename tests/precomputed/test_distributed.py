"""One worker and two on a real Ray, with real processes that exchange their gradients."""

import warnings
from dataclasses import replace

import pytest
import torch

from newtonnet.datasets import Split, make_splits
from newtonnet.precomputed import Batching, generate, open_graph, precompute, train_precomputed
from newtonnet.precomputed.distributed import train_on_ray
from newtonnet.training import Setting

pytestmark = pytest.mark.xdist_group("ray")


@pytest.fixture(scope="module")
def ray():
    module = pytest.importorskip("ray")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield module
        module.shutdown()


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_one_worker_and_two_give_the_same_loss_curve(ray, tmp_path, heterophilous, setting):
    splits = make_splits(heterophilous, count=1)
    setting = replace(setting, config=replace(setting.config, max_epochs=3))
    precompute(heterophilous, tmp_path / "s", degree=4)
    batching = Batching(batch=101)
    local, _ = train_precomputed(heterophilous, splits, setting, store=tmp_path / "s", batching=batching)
    curves, states = {}, {}
    for workers in (1, 2):
        (record,), (state,) = train_on_ray(
            heterophilous, splits, setting, store=tmp_path / "s", workers=workers, batching=batching
        )
        curves[workers], states[workers] = record.history["loss"], state
        assert record.id == local[0].id
    assert curves[1] == pytest.approx(local[0].history["loss"], rel=1e-5)
    assert curves[2] == pytest.approx(curves[1], rel=1e-5)
    assert all(torch.allclose(states[2][name], states[1][name], atol=1e-4) for name in states[1])


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_fails_is_one_line(ray, tmp_path, setting):
    generate(tmp_path / "g", nodes=100, edges=500)
    graph = open_graph(tmp_path / "g")
    precompute(graph, tmp_path / "s", degree=4)
    split = Split(list(range(60)), list(range(60, 80)), list(range(80, 100)))
    gone = replace(graph, folder=tmp_path / "elsewhere")
    with pytest.raises(ChildProcessError, match=r"a worker failed: .*elsewhere holds no graph") as caught:
        train_on_ray(gone, [split], setting, store=tmp_path / "s", workers=1)
    assert "\n" not in str(caught.value)


def test_blocks_that_are_unfinished_or_of_another_degree_are_refused(tmp_path, heterophilous, setting):
    splits = make_splits(heterophilous, count=1)
    precompute(heterophilous, tmp_path / "s", degree=4)
    deeper = Setting("test", replace(setting.options, degree=5), setting.config)
    with pytest.raises(ValueError, match="degree 4 there, 5 here"):
        train_on_ray(heterophilous, splits, deeper, store=tmp_path / "s", workers=1)
    with pytest.raises(ValueError, match="at least 1 worker"):
        train_on_ray(heterophilous, splits, setting, store=tmp_path / "s", workers=0)
