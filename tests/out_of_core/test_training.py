"""Training in mini-batches: it learns, the penalty acts, and workers or interrupts do not change the result."""

import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from newtonnet.datasets import Split, csbm, make_splits
from newtonnet.graphs import from_edges
from newtonnet.nn import Options, build
from newtonnet.out_of_core import (
    Batching,
    LargeGraph,
    OutOfCoreNet,
    Worker,
    as_large,
    predict_out_of_core,
    propagate_to_disk,
    train_out_of_core,
)
from newtonnet.out_of_core import training as out_of_core_training
from newtonnet.out_of_core.batches import epoch_batches, sample_edges
from newtonnet.out_of_core.training import make_job, pack, train_splits, unpack
from newtonnet.polynomials import equispaced, newton_filter
from newtonnet.training import Config, Record, Setting, fit, predicted_homophily, summarise


def changed(setting, options=None, **config):
    return Setting("test", replace(setting.options, **(options or {})), replace(setting.config, **config))


@pytest.fixture
def splits(heterophilous):
    return make_splits(heterophilous, count=1)


def test_training_learns_what_the_features_alone_do_not_say(tmp_path, heterophilous, setting):
    splits = make_splits(heterophilous, count=2)
    longer = changed(setting, max_epochs=60, filter_learning_rate=0.1)
    records, states = train_out_of_core(
        heterophilous, splits, longer, store=tmp_path / "s", batching=Batching(batch=100)
    )
    configs = [replace(longer.config, seed=i, gammas=(0, 0, 0)) for i in range(2)]
    mlp = fit(build("mlp", heterophilous, seeds=[0, 1]), heterophilous, splits, configs)
    ours, theirs = summarise(records), summarise(mlp)
    assert ours.mean > theirs.mean + 0.1
    assert ours.mean > 0.85
    assert ours.homophily == pytest.approx(0.05, abs=0.1)
    low, high = np.mean(ours.values[:2]), np.mean(ours.values[-2:])
    assert high > low
    assert len(states) == 2


def test_records_say_what_was_trained_and_come_back_from_json(tmp_path, heterophilous, splits, setting):
    (record,), _ = train_out_of_core(heterophilous, splits, setting, store=tmp_path / "s")
    assert record.model == "newtonnet-precomputed"
    assert record.options["regime"] == "precomputed"
    assert "propagation_dropout" not in record.options
    assert record.history["epoch"] == list(range(1, 13))
    assert record.history["validation"][record.outcome.best_epoch - 1] == pytest.approx(record.outcome.validation)
    assert Record.from_json(record.to_json()).outcome == record.outcome


def test_the_id_of_a_record_is_the_one_of_stored_records():
    x, y = np.array([[1.0], [2.0], [4.0], [8.0]]), [0, 1, 0, 1]
    graph = from_edges([[0, 1, 2], [1, 2, 3]], x, labels=y, name="path")
    setting = Setting("t", Options(hidden=8, dropout=0.3, degree=4), Config(max_epochs=2, gammas=(0.1, 0.2, 0.3)))
    split = Split([0, 1], [2], [3], index=1)
    assert make_job(graph, [split], setting, None, None).record_id(split) == "68f1e2852a7fe289"


def test_probabilities_of_the_best_state_give_the_recorded_score(tmp_path, heterophilous, splits, setting):
    (record,), (state,) = train_out_of_core(heterophilous, splits, setting, store=tmp_path / "s")
    chances = predict_out_of_core(state, setting, store=tmp_path / "s", batch=77)
    assert chances.shape == (1000, 2)
    assert np.allclose(chances.sum(axis=1), 1)
    test = splits[0].test
    assert (chances.argmax(axis=1) == heterophilous.labels)[test].mean() == pytest.approx(record.outcome.test)
    some = np.array([3, 500, 999])
    assert np.allclose(predict_out_of_core(state, setting, store=tmp_path / "s", nodes=some), chances[some], atol=1e-6)
    for wrong in ([3, 1000], [-1, 3], [3, 2]):  # a file that is read in windows would give the rows of other nodes
        with pytest.raises(ValueError, match="nodes must be in ascending order, from 0 to 999"):
            predict_out_of_core(state, setting, store=tmp_path / "s", nodes=np.array(wrong))


def test_the_same_seed_gives_the_same_run_and_another_does_not(tmp_path, heterophilous, splits, setting):
    batching = Batching(batch=64)
    first, again, other = (
        train_out_of_core(heterophilous, splits, one, store=tmp_path / "s", batching=batching)
        for one in (setting, setting, changed(setting, seed=1))
    )
    assert all(torch.equal(a, b) for a, b in zip(first[1][0].values(), again[1][0].values(), strict=True))
    assert first[0][0].id == again[0][0].id != other[0][0].id
    assert not torch.equal(first[1][0]["weight1"], other[1][0]["weight1"])


def by_hand(graph, split, setting, laplacian):
    """The same training written out with dense matrices in float64: losses, homophilies and the last values."""
    options, config = setting.options, setting.config
    filter = newton_filter(equispaced(options.degree))
    start = OutOfCoreNet(filter, features=20, classes=2, seed=0, hidden=options.hidden, dtype=torch.float64)
    single = (start.filter_values[:, 0], start.weight1[:, 0], start.bias1[0], start.weight2[0], start.bias2[0])
    t, w1, b1, w2, b2 = (parameter.detach().clone().requires_grad_() for parameter in single)
    shifted = torch.from_numpy(laplacian) - torch.eye(graph.nodes)
    powers = [torch.tensor(graph.features).double()]
    powers.append(shifted @ powers[0])
    for _ in range(2, options.degree + 1):
        powers.append(2 * shifted @ powers[-1] - powers[-2])
    labels, train = torch.tensor(graph.labels), torch.from_numpy(split.train)
    adam = torch.optim.Adam([t, w1, b1, w2, b2], lr=config.learning_rate, weight_decay=config.weight_decay)
    h, losses, homophilies = 0.5, [], []
    pairs = torch.from_numpy(graph.pairs.astype(np.int64))

    def logits():
        c = filter.coefficients({"values": t})
        mixed = sum(c[k] * power for k, power in enumerate(powers))
        return torch.relu(mixed @ w1 + b1) @ w2 + b2

    for _ in range(config.max_epochs):
        adam.zero_grad()
        low, mid, high = (torch.relu(t)[band].square().sum() for band in (slice(0, 2), slice(2, 3), slice(3, 5)))
        g1, g2, g3 = config.gammas
        penalty = g1 * (0.5 - h) * low + g2 * abs(h - 0.5) * mid + g3 * (h - 0.5) * high
        loss = torch.nn.functional.cross_entropy(logits()[train], labels[train]) + penalty
        loss.backward()
        adam.step()
        classes = logits().argmax(dim=1)
        classes[train] = labels[train]
        h = float((classes[pairs[0]] == classes[pairs[1]]).double().mean())
        losses.append(loss.item())
        homophilies.append(h)
    return losses, homophilies, t.detach()


def last_values(graph, split, setting, folder, batching=None):
    """The values of the filter after the last epoch, whichever was the best, and the curves."""
    job = make_job(graph, [split], setting, batching, None)
    store = propagate_to_disk(job.graph, folder, degree=job.filter.degree)
    run = out_of_core_training._make_run(job, store, split, Worker())
    while not run.finished:
        run.step()
    return run.model.filter_values.detach()[:, 0], torch.stack(run.curves)[:, :, 0]


def test_one_batch_of_all_nodes_trains_as_written_out_by_hand(
    tmp_path, heterophilous, splits, dense_laplacian, setting
):
    exact = changed(setting, {"dropout": 0.0}, max_epochs=8, gammas=(0.3, 0.2, 0.1))
    losses, homophilies, values = by_hand(heterophilous, splits[0], exact, dense_laplacian(heterophilous))
    ours, curves = last_values(heterophilous, splits[0], exact, tmp_path / "s")
    assert curves[:, 1].tolist() == pytest.approx(losses, rel=1e-4)
    assert curves[:, 5].tolist() == pytest.approx(homophilies, abs=2e-3)
    assert ours.tolist() == pytest.approx(values.tolist(), abs=1e-3)


@pytest.mark.parametrize("variant", ["paper", "released"])
@pytest.mark.parametrize(
    ("homophily", "favoured", "other"), [(0.05, slice(3, 5), slice(0, 2)), (0.95, slice(0, 2), slice(3, 5))]
)
def test_the_penalty_favours_the_band_of_the_homophily(tmp_path, setting, variant, homophily, favoured, other):
    graph = csbm(homophily, nodes=600, features=20, degree=10, mu=60.0, seed=1)
    split = make_splits(graph, count=1)[0]
    base = changed(setting, variant=variant, homophily_interval=1, filter_learning_rate=0.05, max_epochs=5)
    without, _ = last_values(graph, split, changed(base, gammas=(0, 0, 0)), tmp_path / "s", Batching(batch=50))
    pulled, _ = last_values(graph, split, changed(base, gammas=(5.0, 5.0, 5.0)), tmp_path / "s", Batching(batch=50))
    assert float(pulled[favoured].mean()) > float(without[favoured].mean()) + 0.3
    assert float(pulled[other].abs().max()) < float(without[other].abs().max())


def test_the_ceiling_holds(tmp_path, heterophilous, splits, setting):
    bounded = changed(setting, gammas=(50.0, 50.0, 50.0), filter_learning_rate=0.5, ceiling=1.25)
    (record,), _ = train_out_of_core(heterophilous, splits, bounded, store=tmp_path / "s")
    assert record.outcome.largest_value == 1.25


def test_a_loss_that_is_no_number_fails_honestly(tmp_path, heterophilous, splits, setting):
    wild = changed(setting, learning_rate=1e38, max_epochs=30)
    (record,), _ = train_out_of_core(heterophilous, splits, wild, store=tmp_path / "s")
    assert record.outcome.status == "failed"
    assert "not a number at epoch" in record.outcome.reason
    assert record.outcome.epochs < 30


def test_patience_and_stop_end_a_training(tmp_path, heterophilous, setting):
    splits = make_splits(heterophilous, count=2)
    still = changed(setting, learning_rate=1e-9, filter_learning_rate=1e-9, max_epochs=30, patience=3, gammas=(0, 0, 0))
    records, _ = train_out_of_core(heterophilous, splits[:1], still, store=tmp_path / "s")
    assert records[0].outcome.epochs == 4
    seen = []
    records, _ = train_out_of_core(
        heterophilous, splits, setting, store=tmp_path / "s", on_epoch=seen.append, stop=lambda: len(seen) >= 2
    )
    assert [record.outcome.epochs for record in records] == [2, 0]
    assert [record.outcome.status for record in records] == ["done", "failed"]
    assert records[1].outcome.reason == "it was stopped before it began"


def test_roc_auc_is_counted_over_all_batches(tmp_path, heterophilous, splits, setting):
    records, states = train_out_of_core(heterophilous, splits, changed(setting, metric="roc_auc"), store=tmp_path / "s")
    chances = predict_out_of_core(states[0], setting, store=tmp_path / "s")[splits[0].test, 1]
    positive = heterophilous.labels[splits[0].test] == 1
    wins = (chances[positive][:, None] > chances[~positive]).mean()
    assert records[0].outcome.test == pytest.approx(wins, abs=1e-3)


class Meeting:
    """Threads that stand for workers: each waits for the others' numbers."""

    def __init__(self, size):
        self.size, self.barrier, self.numbers = size, threading.Barrier(size), [None] * size

    def worker(self, rank):
        def add(numbers):
            self.numbers[rank] = numbers.double().clone()
            self.barrier.wait()
            total = sum(self.numbers)
            self.barrier.wait()
            numbers.copy_(total)

        return Worker(rank, self.size, add)


@pytest.mark.parametrize(("metric", "batch"), [("accuracy", 101), ("roc_auc", 101), ("accuracy", 599)])
def test_workers_that_share_every_batch_get_the_result_of_one(tmp_path, heterophilous, splits, setting, metric, batch):
    job = make_job(heterophilous, splits, changed(setting, metric=metric), Batching(batch=batch), None)
    store = propagate_to_disk(job.graph, tmp_path / "s", degree=4)
    results = {}

    def work(worker):
        (record,), (state,) = train_splits(job, store, worker=worker)
        results[worker.size, worker.rank] = record, state

    work(Worker())
    meeting = Meeting(3)
    threads = [threading.Thread(target=work, args=[meeting.worker(rank)]) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone, state = results[1, 0]
    for rank in range(3):
        record, own = results[3, rank]
        assert record.history["loss"] == pytest.approx(alone.history["loss"], rel=1e-5)
        assert record.history["homophily"] == pytest.approx(alone.history["homophily"], abs=0.01)
        assert record.outcome.test == pytest.approx(alone.outcome.test, abs=0.01)
        assert all(torch.allclose(own[name], state[name], atol=1e-4) for name in state)


@pytest.mark.parametrize("run", [1, 4, 64])
def test_batches_hold_every_node_once_in_an_order_of_seed_and_epoch(run, rng):
    nodes = rng.permutation(1000)[:333]
    batching = Batching(batch=50, run=run)
    first, again, later = (list(epoch_batches(nodes, batching, seed=3, epoch=e)) for e in (1, 1, 2))
    assert [len(batch) for batch in first] == [50] * 6 + [33]
    assert np.array_equal(np.sort(np.concatenate(first)), np.sort(nodes))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], later[0])
    # The input's order does not matter, only which nodes train.
    assert np.array_equal(next(epoch_batches(np.sort(nodes), batching, seed=3, epoch=1)), first[0])


def test_a_sample_of_edges_estimates_the_homophily_of_all(heterophilous):
    graph = as_large(heterophilous)
    labels = torch.from_numpy(heterophilous.labels)[:, None]
    truth = float(predicted_homophily(torch.from_numpy(heterophilous.pairs.copy()).long(), labels)[0])
    nodes, pairs = sample_edges(graph.adjacency, count=10**6, seed=0)
    assert float(predicted_homophily(pairs, labels[nodes])[0]) == truth
    estimates = []
    for seed in range(20):
        nodes, pairs = sample_edges(graph.adjacency, count=1000, seed=seed)
        estimates.append(float(predicted_homophily(pairs, labels[nodes])[0]))
    assert np.mean(estimates) == pytest.approx(truth, abs=0.01)
    assert np.std(estimates) > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"per_channel": True}, "per_channel"), ({"branch": 8}, "branch"), ({"points": "density"}, "in memory")],
)
def test_options_without_a_meaning_here_are_refused(tmp_path, heterophilous, splits, setting, options, message):
    large: LargeGraph = as_large(heterophilous)
    with pytest.raises(ValueError, match=message):
        train_out_of_core(large, splits, changed(setting, options), store=tmp_path / "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (Split([0, 1000], [2], [3]), "names node 1000"),
        (Split([0, 999], [5], [3]), "node 5, whose label is unknown"),
        (Split([0, 1], [2], [3]), "one class only"),
    ],
)
def test_splits_that_do_not_fit_are_refused(tmp_path, heterophilous, setting, split, message):
    labels = heterophilous.labels.copy()
    labels[5] = -1
    with pytest.raises(ValueError, match=message):
        train_out_of_core(replace(heterophilous, labels=labels), [split], setting, store=tmp_path / "s")


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"run": 0}, {"homophily_edges": 0}, {"batch": 1.5}])
def test_batching_refuses_what_is_no_amount(wrong):
    with pytest.raises(ValueError, match="whole number"):
        Batching(**wrong)


class Watch:
    """Counts epochs, and does something in one of them."""

    def __init__(self, at=None, act=None):
        self.epochs, self.at, self.act = 0, at, act

    def __call__(self, progress):
        self.epochs += 1
        if self.epochs == self.at:
            self.act()


def plain(records):
    return [replace(record, outcome=replace(record.outcome, seconds=0.0)).to_json() for record in records]


@pytest.fixture(scope="module")
def run(heterophilous, setting, tmp_path_factory):
    splits, blocks = make_splits(heterophilous, count=2), tmp_path_factory.mktemp("run") / "blocks"

    def train(watch=None, changes=None, **options):
        config = replace(setting.config, pivot="adjusted", **(changes or {}))
        return train_out_of_core(
            heterophilous,
            splits,
            replace(setting, config=config),
            store=blocks,
            batching=Batching(batch=200),
            on_epoch=watch,
            **options,
        )

    return train


@pytest.fixture(scope="module")
def unbroken(run):
    return run()


def assert_same(ours, theirs):
    assert plain(ours[0]) == plain(theirs[0])
    for own, other in zip(ours[1], theirs[1], strict=True):
        assert own.keys() == other.keys()
        assert all(torch.equal(own[name], other[name]) for name in own)


def crash():
    raise RuntimeError("power failure")


@pytest.mark.parametrize("at", [1, 7, 12, 17])
def test_a_crashed_training_goes_on_to_the_same_bits(run, unbroken, tmp_path, at):
    path = tmp_path / "kept"
    with pytest.raises(RuntimeError, match="power failure"):
        run(Watch(at, crash), checkpoint=path, checkpoint_seconds=0.0)
    rest = Watch()
    assert_same(run(rest, checkpoint=path, checkpoint_seconds=0.0), unbroken)
    # Epochs are kept after they are shown, so the one that crashed is trained again.
    assert rest.epochs == 2 * 12 - (at - 1)
    assert not path.exists()


def test_ctrl_c_waits_for_the_epoch_and_keeps_it(run, unbroken, tmp_path):
    path, watch = tmp_path / "kept", Watch(5, lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run(watch, checkpoint=path)
    assert watch.epochs == 5
    rest = Watch()
    assert_same(run(rest, checkpoint=path), unbroken)
    assert rest.epochs == 2 * 12 - 5


def test_ctrl_c_after_the_last_epoch_is_not_lost(run, unbroken, tmp_path, monkeypatch):
    path, make_records = tmp_path / "kept", out_of_core_training.make_records

    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        return make_records(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(out_of_core_training, "make_records", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(checkpoint=path, checkpoint_seconds=0.0)
    assert path.exists()
    assert_same(run(checkpoint=path), unbroken)


def test_nothing_is_written_before_it_is_time(run, tmp_path):
    path = tmp_path / "kept"
    with pytest.raises(RuntimeError):
        run(Watch(5, crash), checkpoint=path)
    assert not path.exists()


def test_another_trainings_state_is_refused(run, tmp_path):
    path = tmp_path / "kept"
    with pytest.raises(RuntimeError):
        run(Watch(5, crash), checkpoint=path, checkpoint_seconds=0.0)
    with pytest.raises(ValueError, match="belongs to another run"):
        run(changes={"learning_rate": 0.5}, checkpoint=path)
    assert path.exists()


def test_packing_is_undone_by_unpacking(unbroken):
    records, states = unbroken
    finished, begun = unpack(pack(list(zip(records, states, strict=True)), {"epoch": torch.arange(3.0)}))
    assert_same(tuple(zip(*finished, strict=True)), (records, states))
    assert torch.equal(begun["epoch"], torch.arange(3.0))
    assert unpack(pack([], {}))[0] == []
