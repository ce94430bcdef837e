"""A population cut into parts, one after another or side by side, is the same population."""

import gc
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from newtonnet import kernels
from newtonnet.datasets import csbm, make_splits
from newtonnet.nn import Options, SpectralNet, build
from newtonnet.training import Config, fit
from newtonnet.training.parts import COPIES, MemberBytes, Parts, member_bytes, plan_parts

OPTIONS = Options(hidden=16, dropout=0.4, propagation_dropout=0.3)


@pytest.fixture(scope="module")
def graph():
    return csbm(0.2, nodes=150, features=30, seed=5)


@pytest.fixture(scope="module")
def members(graph):
    splits = make_splits(graph, count=7)
    gammas = [(float(i % 3), float(i % 2), 0.5 * i) for i in range(7)]  # with and without the penalty, side by side
    configs = [
        Config(seed=i, learning_rate=0.01 * (i + 1), gammas=gammas[i], max_epochs=25, patience=8) for i in range(7)
    ]
    return splits, configs


def train(graph, splits, configs, *, dtype=torch.float64, options=OPTIONS, **rest):
    model = build("newtonnet", graph, options, seeds=[config.seed for config in configs], dtype=dtype)
    return model, fit(model, graph, splits, configs, **rest)


def same(ours, theirs):
    (mine, records), (model, others) = ours, theirs
    for name, parameter in mine.named_parameters():
        torch.testing.assert_close(parameter, dict(model.named_parameters())[name], rtol=1e-8, atol=1e-8)
    for record, other in zip(records, others, strict=True):
        assert record.id == other.id
        assert record.outcome.best_epoch == other.outcome.best_epoch
        assert record.outcome.epochs == other.outcome.epochs
        np.testing.assert_allclose(record.history["loss"], other.history["loss"], atol=1e-6)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_parts_equal_the_whole(graph, members, threads, dropout, monkeypatch):
    options = replace(OPTIONS, dropout=dropout, propagation_dropout=dropout)
    whole = train(graph, *members, threads=1, options=options)
    monkeypatch.setattr("newtonnet.training.parts.CACHED", 1)
    same(train(graph, *members, threads=threads, options=options), whole)


def test_training_without_native_kernels_is_the_same(graph, members, monkeypatch):
    native = train(graph, *members)
    monkeypatch.setattr(kernels, "available", lambda: False)
    same(train(graph, *members), native)


def test_sparse_features_train_alike_with_and_without_native_kernels(members, monkeypatch, rng):
    dense = csbm(0.2, nodes=150, features=30, seed=5)
    features = np.where(rng.random(dense.features.shape) < 0.2, dense.features, 0).astype(np.float32)
    graph = replace(dense, features=sp.csr_array(features))
    native = train(graph, *members)
    monkeypatch.setattr(kernels, "available", lambda: False)
    same(train(graph, *members), native)


def test_side_by_side_ctrl_c_waits_and_resumes_to_the_same(graph, members, tmp_path, monkeypatch):
    monkeypatch.setattr("newtonnet.training.parts.CACHED", 1)
    unbroken = train(graph, *members, threads=2)
    path, calls, forward = tmp_path / "run.safetensors", [], SpectralNet.forward
    lock = threading.Lock()

    def interrupted(self, *arguments):
        with lock:
            calls.append(None)
            if len(calls) == 41:
                signal.raise_signal(signal.SIGINT)
        return forward(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(SpectralNet, "forward", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(graph, *members, threads=2, checkpoint=path)
    assert path.exists()
    same(train(graph, *members, threads=2, checkpoint=path), unbroken)
    assert not path.exists()


def test_an_error_in_a_part_is_raised(graph, members, monkeypatch):
    monkeypatch.setattr("newtonnet.training.parts.CACHED", 1)

    def broken(self, evaluation, losses):
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("newtonnet.training.loop.Run._learn_homophily", broken)
    with pytest.raises(ZeroDivisionError, match="inside"):
        train(graph, *members, threads=2)


def test_memory_allowed_bounds_the_parts_and_too_little_is_refused(graph):
    model = build("newtonnet", graph, OPTIONS, seeds=range(64))
    inputs = model.prepare(graph)
    taken = member_bytes(model, inputs)
    owned = taken.owned
    assert owned == 4 * (30 * 16 + 16 + 16 * 2 + 2 + 6)
    allowed = 64 * COPIES * owned + 5 * taken.running
    plan = plan_parts(taken, 64, threads=1, max_memory=allowed)
    assert sum(plan.sizes) == 64
    assert max(plan.sizes) <= 5
    assert plan.bytes <= allowed
    with pytest.raises(ValueError, match="allow more"):
        plan_parts(taken, 64, threads=1, max_memory=1000)


@pytest.mark.parametrize("allowed", [None, 2 * 10**9])
def test_large_members_do_not_train_side_by_side(allowed):
    small = MemberBytes(kept=10**6, by_torch=10**6, largest=10**5, owned=100)
    large = replace(small, kept=400 * 10**6)
    side = [plan_parts(one, 4, threads=2, max_memory=allowed).side_by_side for one in (small, large)]
    assert side == [2, 1]


def test_little_memory_leaves_room_for_one_part_at_a_time():
    member = MemberBytes(kept=10**6, by_torch=10**6, largest=10**5, owned=100)
    room = int(1.9 * member.running)
    plan = plan_parts(member, 4, threads=4, max_memory=room)
    assert plan.side_by_side == 1
    assert plan.bytes <= room


@pytest.mark.skipif(not kernels.available(), reason="the kernels were not built")
def test_a_hidden_layer_counts_where_it_is_kept_and_features_never(graph):
    thin = replace(graph, features=sp.csr_array(sp.random(150, 30, 0.1, random_state=0, dtype=np.float32)))
    hidden = 4 * 150 * 16
    sparse, dense = (
        member_bytes(model, model.prepare(one)).kept
        for one in (thin, graph)
        for model in [build("newtonnet", one, Options(hidden=16, dropout=0, propagation_dropout=0), seeds=[0])]
    )
    assert hidden <= sparse < 1.5 * hidden
    assert dense < 0.5 * hidden  # its hidden layer is made anew in the backward pass


@pytest.fixture
def live():
    """The number of tensors that were made in this test and are still there."""

    def count():
        gc.collect()
        return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())

    gc.freeze()  # what other tests have left is not looked at
    yield count
    gc.unfreeze()


@pytest.mark.parametrize("name", ["newtonnet", "newton-stack", "tuned-gcn"])
def test_measuring_a_member_leaves_nothing_in_memory(graph, name, live):
    model = build(name, graph, seeds=[0])
    inputs = model.prepare(graph)
    member_bytes(model, inputs)
    before = live()
    member_bytes(model, inputs)
    assert live() == before > 0


def test_parts_keep_all_threads_busy_and_progress_counts_all(graph, members):
    splits, configs = members
    model = build("newtonnet", graph, OPTIONS, seeds=[config.seed for config in configs])
    parts = Parts(model, graph, splits, configs, device="cpu", threads=3, max_memory=None)
    assert parts.sizes == (2, 2, 3)
    assert parts.report().training == 7
    parts.train(lambda: None, until=25)
    assert (parts.report().training, parts.report().epoch) == (0, 25)


def test_threads_below_one_are_refused(graph, members):
    with pytest.raises(ValueError, match="threads must be at least 1"):
        train(graph, *members, threads=0)


@pytest.mark.parametrize("most", [0, 1])
def test_parts_train_in_as_many_threads_as_can_be_started(graph, members, monkeypatch, most):
    expected = train(graph, *members, threads=1)
    start, started = threading.Thread.start, []

    def limited(thread):
        if len(started) >= most:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    same(train(graph, *members, threads=3), expected)
    assert len(started) == most


def test_members_dropped_at_a_rung_end_there_and_the_others_train_as_without_it(graph, members, monkeypatch):
    splits, configs = members
    whole = train(graph, splits, configs, threads=1)[1]
    seen, kept = [], np.array([True, False, True, True, False, True, False])

    def keep(rung):
        seen.append(rung)
        return kept

    short = [replace(config, max_epochs=4) for config in configs]
    until = train(graph, splits, short, threads=1)[1]
    for threads, cached in ((1, 8 << 20), (1, 1), (2, 1)):
        seen.clear()
        monkeypatch.setattr("newtonnet.training.parts.CACHED", cached)
        records = train(graph, splits, configs, threads=threads, rungs=(4, 9), keep=keep)[1]
        assert [rung.epoch for rung in seen] == [4, 9]
        np.testing.assert_allclose(seen[0].validation, [record.outcome.validation for record in until])
        assert seen[0].training.all()
        assert not seen[1].training[~kept].any()
        for record, full, early, stays in zip(records, whole, until, kept, strict=True):
            expected = (full if stays else early).outcome
            assert (record.outcome.epochs, record.outcome.best_epoch) == (expected.epochs, expected.best_epoch)
            assert record.outcome.test == pytest.approx(expected.test)


def test_a_member_that_failed_has_no_score_at_a_rung(graph, members):
    splits, configs = members
    model = build("newtonnet", graph, OPTIONS, seeds=[config.seed for config in configs])
    parts = Parts(model, graph, splits, configs, device="cpu", threads=1, max_memory=None)
    parts.train(lambda: None, until=3)
    assert not np.isnan(parts.rung(3).validation).any()
    parts.runs[0].failed[2] = True
    assert np.flatnonzero(np.isnan(parts.rung(3).validation)).tolist() == [2]


@pytest.mark.parametrize("rungs", [(5, 3), (3, 3), (0, 3)])
def test_rungs_out_of_order_are_refused(graph, members, rungs):
    with pytest.raises(ValueError, match="rungs must be ascending epochs"):
        train(graph, *members, rungs=rungs, keep=lambda rung: rung.training)
