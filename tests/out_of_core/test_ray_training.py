"""One worker and two on a real Ray, with real processes that exchange their gradients."""

import os
import signal
import threading
import time
import warnings
from dataclasses import replace

import psutil
import pytest
import torch

from newtonnet.datasets import make_splits
from newtonnet.out_of_core import Batching, propagate_to_disk, train_on_ray, train_out_of_core
from newtonnet.training import Setting


@pytest.fixture(scope="module")
def ray():
    module = pytest.importorskip("ray")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield module
        module.shutdown()


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_two_workers_have_the_loss_curve_of_one_also_when_one_of_them_is_lost(ray, tmp_path, heterophilous, setting):
    splits = make_splits(heterophilous, count=1)
    setting = replace(setting, config=replace(setting.config, max_epochs=60))
    propagate_to_disk(heterophilous, tmp_path / "s", degree=4)
    batching, kept = Batching(batch=101), tmp_path / "kept"
    (one,), (alone,) = train_out_of_core(heterophilous, splits, setting, store=tmp_path / "s", batching=batching)
    handler, killed = signal.getsignal(signal.SIGINT), []

    def kill_one():
        while not list(kept.glob("*/checkpoint_*")):
            time.sleep(0.05)
        started = psutil.Process().children(recursive=True)
        killed.append(next(process for process in started if "RayTrainWorker" in process.name()))
        killed[0].kill()

    thread = threading.Thread(target=kill_one, daemon=True)
    thread.start()
    (two,), (shared,) = train_on_ray(
        heterophilous,
        splits,
        setting,
        store=tmp_path / "s",
        workers=2,
        batching=batching,
        checkpoint=kept,
        checkpoint_seconds=0.3,
    )
    thread.join()
    assert killed
    assert signal.getsignal(signal.SIGINT) is handler, "Ray Train keeps Ctrl-C to itself"
    assert two.id == one.id
    assert two.outcome.epochs == 60
    assert two.history["loss"] == pytest.approx(one.history["loss"], rel=1e-4)
    assert alone.keys() == shared.keys()
    assert all(torch.allclose(alone[name], shared[name], atol=1e-3) for name in alone)
    assert not list(kept.glob("*/*")), "what was kept is removed at the end"


@pytest.mark.filterwarnings("ignore")
def test_ctrl_c_is_an_interrupt_and_not_a_quiet_exit(ray, tmp_path, heterophilous, setting):
    splits, kept = make_splits(heterophilous, count=1), tmp_path / "kept"
    setting = replace(setting, config=replace(setting.config, max_epochs=100_000, history_interval=0))
    propagate_to_disk(heterophilous, tmp_path / "s", degree=4)
    handler = signal.getsignal(signal.SIGINT)

    def strike():
        while not list(kept.glob("*/checkpoint_*")):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=strike, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        train_on_ray(
            heterophilous, splits, setting, store=tmp_path / "s", workers=1, checkpoint=kept, checkpoint_seconds=0.3
        )
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_fails_is_one_line(ray, tmp_path, heterophilous, setting, monkeypatch):
    """With Ray's own error, which a real run raises after twenty seconds of starting processes."""
    from ray.train import WorkerGroupError
    from ray.train.torch import TorchTrainer

    def fail(trainer):
        raise WorkerGroupError("of many lines\nin all", {0: ValueError("far away\nelsewhere holds no graph")})

    monkeypatch.setattr(TorchTrainer, "fit", fail)
    propagate_to_disk(heterophilous, tmp_path / "s", degree=4)
    with pytest.raises(ChildProcessError, match=r"^a worker failed: .*elsewhere holds no graph$"):
        train_on_ray(heterophilous, make_splits(heterophilous, count=1), setting, store=tmp_path / "s", workers=1)


def test_blocks_that_are_unfinished_or_of_another_degree_are_refused(tmp_path, heterophilous, setting):
    splits = make_splits(heterophilous, count=1)
    propagate_to_disk(heterophilous, tmp_path / "s", degree=4)
    deeper = Setting("test", replace(setting.options, degree=5), setting.config)
    with pytest.raises(ValueError, match="degree 4 there, 5 here"):
        train_on_ray(heterophilous, splits, deeper, store=tmp_path / "s", workers=1)
    with pytest.raises(ValueError, match="at least 1 worker"):
        train_on_ray(heterophilous, splits, setting, store=tmp_path / "s", workers=0)
