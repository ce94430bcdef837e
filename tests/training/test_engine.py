import signal
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from newtonnet.datasets import Split, csbm, make_splits
from newtonnet.graphs import from_edges, homophily
from newtonnet.metrics import METRICS, score
from newtonnet.nn import Noise, Options, SpectralNet, build
from newtonnet.training import Config, fit
from newtonnet.training.in_memory import cross_entropy, make_targets
from newtonnet.training.parts import Parts

OPTIONS = Options(hidden=16, dropout=0.4, propagation_dropout=0.3)


@pytest.fixture(scope="module")
def graph():
    return csbm(0.2, nodes=150, features=30, seed=5)


@pytest.fixture(scope="module")
def members(graph):
    """Four members that differ in split, seed, rates, decay and gammas."""
    splits = make_splits(graph, count=4)
    configs = [
        Config(seed=7, learning_rate=0.01, gammas=(1.0, 1.0, 1.0)),
        Config(seed=2, learning_rate=0.05, filter_learning_rate=0.02, weight_decay=0.0),
        Config(seed=7, learning_rate=0.02, gammas=(0.0, 3.0, 5.0), weight_decay=1e-2),
        Config(seed=0, filter_learning_rate=0.05, gammas=(5.0, 0.0, 1.0), ceiling=1.2),
    ]
    return splits, [replace(config, max_epochs=50, history_interval=5) for config in configs]


def train(graph, splits, configs, *, dtype=torch.float64, **rest):
    model = build("newtonnet", graph, OPTIONS, seeds=[config.seed for config in configs], dtype=dtype)
    return model, fit(model, graph, splits, configs, **rest)


def test_population_equals_its_members(graph, members):
    splits, configs = members
    together, records = train(graph, splits, configs)
    for p in range(4):
        alone, (record,) = train(graph, splits[p : p + 1], configs[p : p + 1])
        for name, parameter in together.named_parameters():
            mine = parameter.index_select(together.axes[name], torch.tensor([p]))
            torch.testing.assert_close(mine, dict(alone.named_parameters())[name], rtol=1e-8, atol=1e-8)
        assert record.id == records[p].id
        assert record.outcome.test == records[p].outcome.test
        assert record.outcome.best_epoch == records[p].outcome.best_epoch
        np.testing.assert_allclose(record.history["loss"], records[p].history["loss"], atol=1e-6)


def test_first_epoch_of_a_population_equals_its_members_in_float32(graph, members):
    splits, configs = members
    seeds = [config.seed for config in configs]

    def first_epoch(seeds, splits):
        model = build("newtonnet", graph, OPTIONS, seeds=seeds)
        logits = model(model.prepare(graph), Noise(0, model.seeds, 1))
        cross_entropy(logits, make_targets(graph, splits)).sum().backward()
        return model, logits, {name: parameter.grad for name, parameter in model.learned().items()}

    model, logits, gradients = first_epoch(seeds, splits)
    for p in range(4):
        _, alone, own = first_epoch(seeds[p : p + 1], splits[p : p + 1])
        torch.testing.assert_close(logits[:, p], alone[:, 0], rtol=1e-5, atol=1e-5)
        for name, gradient in own.items():
            mine = gradients[name].index_select(model.axes[name], torch.tensor([p]))
            torch.testing.assert_close(mine, gradient, rtol=1e-5, atol=1e-5)


def test_members_that_leave_early_change_nobody(graph, members):
    splits, configs = members
    configs = [replace(config, patience=6) for config in configs]
    _, records = train(graph, splits, configs)
    epochs = [record.outcome.epochs for record in records]
    assert len(set(epochs)) > 1, "no member left before another; the test shows nothing"
    for p in range(4):
        _, (alone,) = train(graph, splits[p : p + 1], configs[p : p + 1])
        assert alone.outcome.epochs == epochs[p]
        assert alone.outcome.epochs - alone.outcome.best_epoch == 6 or alone.outcome.epochs == 50
        np.testing.assert_allclose(alone.outcome.values, records[p].outcome.values, rtol=1e-8)


def test_the_model_is_left_at_its_best_validation_state(graph, members):
    splits, configs = members
    model, records = train(graph, splits, configs)
    logits = model(model.prepare(graph)).detach().numpy()
    for p, (split, record) in enumerate(zip(splits, records, strict=True)):
        right = logits[:, p].argmax(axis=1) == graph.labels
        assert record.outcome.validation == pytest.approx(right[split.validation].mean())
        assert record.outcome.test == pytest.approx(right[split.test].mean())
        assert record.outcome.validation >= max(record.history["validation"]) - 1e-6
        filled = logits[:, p].argmax(axis=1)
        filled[split.train] = graph.labels[split.train]
        assert record.outcome.homophily == pytest.approx(homophily(graph, filled).edge)


def test_a_member_without_a_finite_loss_fails_and_the_others_go_on(graph, members):
    splits, configs = members
    wild = [replace(configs[0], learning_rate=1e38), configs[1]]
    _, (bad, good) = train(graph, splits[:2], wild, dtype=torch.float32)
    _, (alone,) = train(graph, splits[1:2], configs[1:2], dtype=torch.float32)
    assert (bad.outcome.status, good.outcome.status) == ("failed", "done")
    assert "not a number" in bad.outcome.reason
    assert bad.outcome.epochs < 50
    assert good.outcome.epochs == 50
    assert good.outcome.test == pytest.approx(alone.outcome.test, abs=0.05)


@pytest.mark.parametrize("patience", [None, 6])
def test_an_interrupted_run_resumes_to_the_same_bits(graph, members, tmp_path, patience):
    splits, configs = members
    configs = [replace(config, patience=patience) for config in configs]
    _, unbroken = train(graph, splits, configs, dtype=torch.float32)
    path = tmp_path / "run.safetensors"

    def interrupt(state):
        if state.epoch in (4, 6):
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            train(graph, splits, configs, dtype=torch.float32, checkpoint=path, on_epoch=interrupt)
    _, resumed = train(graph, splits, configs, dtype=torch.float32, checkpoint=path)
    assert not path.exists()
    for mine, theirs in zip(resumed, unbroken, strict=True):
        assert replace(mine, outcome=replace(mine.outcome, seconds=0)) == replace(
            theirs, outcome=replace(theirs.outcome, seconds=0)
        )


@pytest.mark.parametrize("call", [7, 20])
def test_ctrl_c_inside_an_epoch_waits_for_its_end(graph, members, tmp_path, call, monkeypatch):
    splits, configs = members
    _, unbroken = train(graph, splits, configs, dtype=torch.float32)
    path, calls = tmp_path / "run.safetensors", []
    forward = SpectralNet.forward

    def interrupted(self, *arguments):
        calls.append(None)
        if len(calls) == call:
            signal.raise_signal(signal.SIGINT)
        return forward(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(SpectralNet, "forward", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(graph, splits, configs, dtype=torch.float32, checkpoint=path)
    # One pass measures what a member keeps; then each epoch takes two.
    assert len(calls) == call + (call + 1) % 2, "the epoch was not finished"
    _, resumed = train(graph, splits, configs, dtype=torch.float32, checkpoint=path)
    assert [r.outcome.values for r in resumed] == [r.outcome.values for r in unbroken]
    assert [r.outcome.best_epoch for r in resumed] == [r.outcome.best_epoch for r in unbroken]


def test_an_error_inside_an_epoch_leaves_no_half_checkpoint(graph, members, tmp_path, monkeypatch):
    splits, configs = members
    path, calls = tmp_path / "run.safetensors", []
    forward = SpectralNet.forward

    def broken(self, *arguments):
        calls.append(None)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return forward(self, *arguments)

    monkeypatch.setattr(SpectralNet, "forward", broken)
    with pytest.raises(KeyboardInterrupt):
        train(graph, splits, configs, checkpoint=path)
    assert not path.exists()


def test_an_interrupted_model_is_left_at_its_best_state_so_far(graph, members):
    splits, configs = members
    model = build("newtonnet", graph, OPTIONS, seeds=[c.seed for c in configs], dtype=torch.float64)
    start = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}

    def interrupt(state):
        if state.epoch == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(model, graph, splits, configs, on_epoch=interrupt)
    assert any(not torch.equal(parameter, start[name]) for name, parameter in model.named_parameters())
    short, _ = train(graph, splits, [replace(config, max_epochs=10) for config in configs])
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter, dict(short.named_parameters())[name])


def test_a_failed_member_stays_failed_after_a_resume(graph, members, tmp_path):
    splits, configs = members
    wild = [replace(configs[0], learning_rate=1e38), configs[1]]
    path = tmp_path / "run.safetensors"

    def interrupt(state):
        if state.epoch == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(graph, splits[:2], wild, dtype=torch.float32, checkpoint=path, on_epoch=interrupt)
    _, (bad, good) = train(graph, splits[:2], wild, dtype=torch.float32, checkpoint=path)
    assert (bad.outcome.status, good.outcome.status) == ("failed", "done")


@pytest.mark.parametrize("device", ["nowhere", "meta", "cuda:77"])
def test_a_device_that_is_not_there_is_refused(graph, members, device):
    splits, configs = members
    with pytest.raises(ValueError, match="use cpu"):
        train(graph, splits, configs, device=device)


def test_a_checkpoint_of_another_run_or_a_damaged_one_is_refused(graph, members, tmp_path):
    splits, configs = members
    path = tmp_path / "run.safetensors"

    def interrupt(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(graph, splits, configs, checkpoint=path, on_epoch=interrupt)
    with pytest.raises(ValueError, match="belongs to another run"):
        train(graph, splits[:2], configs[:2], checkpoint=path)
    with pytest.raises(ValueError, match="belongs to another run"):
        train(_wider(graph), splits, configs, checkpoint=path)
    path.write_bytes(path.read_bytes()[:100])
    for damaged in (path, tmp_path):
        with pytest.raises(ValueError, match="is damaged or no file"):
            train(graph, splits, configs, checkpoint=damaged)


def _wider(graph):
    """The same graph with a class and columns that nobody has."""
    features = sp.csr_array(graph.features)
    features.resize(graph.nodes, features.shape[1] + 5)
    return replace(graph, features=features, class_names=(*graph.class_names, "another"))


def test_ctrl_c_after_the_last_look_is_not_lost(graph, members, monkeypatch, tmp_path):
    splits, configs = members
    whole = Parts.train

    def interrupted(self, after, *, until):
        whole(self, after, until=until)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Parts, "train", interrupted)
    path = tmp_path / "run.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train(graph, splits, configs, checkpoint=path)
    assert path.exists()


def test_a_graph_without_edges_has_no_homophily_and_pulls_at_no_filter(rng):
    nodes = np.arange(40)
    lonely = from_edges(np.zeros((2, 0), dtype=np.int64), rng.normal(size=(40, 6)), labels=nodes % 2, name="lonely")
    splits = make_splits(lonely, count=1)
    for pivot in ("uniform", "adjusted"):
        config = Config(max_epochs=20, gammas=(1, 1, 1), pivot=pivot)
        _, (shaped,) = train(lonely, splits, [config])
        _, (plain,) = train(lonely, splits, [replace(config, gammas=(0, 0, 0))])
        assert shaped.outcome.homophily is None
        assert shaped.outcome.values == plain.outcome.values


def test_periodic_checkpoints_are_written_whole(graph, members, tmp_path):
    splits, configs = members
    path, seen = tmp_path / "run.safetensors", []
    train(
        graph, splits, configs, checkpoint=path, checkpoint_seconds=0, on_epoch=lambda state: seen.append(path.exists())
    )
    assert seen[0] is False
    assert all(seen[1:])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("variant", "quiet"), [("paper", 1), ("released", 1)])
def test_the_penalty_acts_once_homophily_is_learned(graph, variant, quiet):
    """Until the first estimate h stands at its pivot 1/C, where the penalty is zero."""
    split = make_splits(graph, count=1)

    def losses(gammas, epochs):
        config = Config(gammas=gammas, variant=variant, max_epochs=epochs)
        _, (record,) = train(graph, split, [replace(config, history_interval=1)])
        return record.history["loss"]

    plain, shaped = losses((0.0, 0.0, 0.0), quiet + 3), losses((5.0, 5.0, 5.0), quiet + 3)
    assert plain[:quiet] == shaped[:quiet]
    assert plain[quiet] != shaped[quiet]


def test_the_options_of_the_papers_text_change_the_first_loss_as_they_say(graph):
    splits = make_splits(graph, count=2)
    options = Options(hidden=16, dropout=0.0, propagation_dropout=0.0)

    def first(options=options, **changes):
        configs = [Config(seed=i, max_epochs=1, history_interval=1, **changes) for i in range(2)]
        model = build("newtonnet", graph, options, seeds=[0, 1], dtype=torch.float64)
        values = model.filter_parameters()["values"].detach().numpy().copy()
        return values, [record.history["loss"][0] for record in fit(model, graph, splits, configs)]

    ones, mean = first()
    assert (ones == 1).all()
    sizes = [len(split.train) for split in splits]
    assert first(reduction="sum")[1] == pytest.approx(np.array(mean) * sizes, abs=1e-4)
    values, _ = first(replace(options, values_start="random"))
    assert ((values > 0) & (values < 2)).all()
    assert len(np.unique(values)) == 12
    gammas = (1.0, 2.0, 3.0)
    assert first(gammas=gammas)[1] == mean  # h begins at the pivot
    shaped, flipped = (first(gammas=gammas, homophily_start="random", flipped=turn)[1] for turn in (False, True))
    for seed in range(2):
        excess = np.random.default_rng(seed).random() - 1 / 2
        penalty = 2 * (-gammas[0] * excess + gammas[1] * abs(excess) + gammas[2] * excess)
        assert shaped[seed] - mean[seed] == pytest.approx(penalty, abs=1e-5)
        assert flipped[seed] - mean[seed] == pytest.approx(-penalty, abs=1e-5)
    with pytest.raises(ValueError, match="values_start must be 'ones' or 'random'"):
        first(replace(options, values_start="zeros"))


@pytest.mark.parametrize("estimator", ["train-edges", "all-labels"])
def test_counted_homophily_is_the_same_in_every_epoch(graph, estimator):
    (split,) = make_splits(graph, count=1)
    config = Config(gammas=(1.0, 1.0, 1.0), homophily=estimator, max_epochs=5, history_interval=1)
    _, (record,) = train(graph, [split], [config])
    counted = split.train if estimator == "train-edges" else graph.labelled
    known = np.isin(graph.pairs, counted).all(axis=0)
    labels = graph.labels[graph.pairs[:, known]]
    assert set(record.history["homophily"]) == {round(float((labels[0] == labels[1]).mean()), 6)}


def test_the_binary_loss_is_for_two_classes(rng):
    three = from_edges([[0, 1], [1, 2]], rng.random((30, 2)), labels=np.arange(30) % 3)
    with pytest.raises(ValueError, match="loss 'binary' is for two classes"):
        train(three, make_splits(three, count=1), [Config(loss="binary", max_epochs=1)])


def test_the_outdated_variant_is_refused(graph):
    with pytest.raises(ValueError, match="use variant 'released'"):
        train(graph, make_splits(graph, count=1), [Config(variant="code")])


def test_ceiling_bounds_the_values_and_the_record_tells_the_largest(graph):
    split = make_splits(graph, count=1)
    config = Config(gammas=(5.0, 5.0, 5.0), filter_learning_rate=0.05, max_epochs=60)
    _, (free,) = train(graph, split, [config])
    _, (bounded,) = train(graph, split, [replace(config, ceiling=1.5)])
    assert free.outcome.largest_value > 1.5
    assert bounded.outcome.largest_value == pytest.approx(1.5)


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_strong_gammas_stay_finite(graph, variant):
    splits = make_splits(graph, count=2)
    epochs = 2000 if variant == "released" else 500
    shared = {"gammas": (5.0, 5.0, 5.0), "variant": variant, "max_epochs": epochs, "history_interval": 50}
    _, records = train(graph, splits, [Config(seed=i, **shared) for i in range(2)], dtype=torch.float32)
    for record in records:
        assert record.outcome.status == "done"
        assert record.outcome.epochs == epochs
        assert np.isfinite(record.outcome.largest_value)
        assert np.isfinite(record.history["loss"]).all()


@pytest.mark.parametrize(("h", "kept", "lost"), [(0.05, slice(4, 6), slice(0, 2)), (0.95, slice(0, 2), slice(4, 6))])
def test_newtonnet_learns_the_shape_that_the_homophily_asks_for(h, kept, lost):
    graph = csbm(h, nodes=400, features=100, mu=4.0, seed=1)
    split = make_splits(graph, count=1)[0]
    configs = [Config(seed=0, gammas=gammas, max_epochs=60) for gammas in ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))]
    model = build("newtonnet", graph, seeds=(0, 0))
    shaped, plain = fit(model, graph, [split, split], configs)
    contrast = [np.mean(r.outcome.values[kept]) - np.mean(r.outcome.values[lost]) for r in (shaped, plain)]
    assert contrast[0] > 0
    assert contrast[0] > contrast[1]
    assert abs(shaped.outcome.homophily - homophily(graph).edge) < 0.1


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_chooses_the_best_epoch_and_is_reported(graph, metric):
    split = make_splits(graph, count=1)[0]
    model, (record,) = train(graph, [split], [Config(metric=metric, max_epochs=30)])
    with torch.no_grad():
        shares = model(model.prepare(graph))[:, 0].softmax(dim=1).numpy()
    assert record.outcome.validation == max(record.history["validation"] + [record.outcome.validation])
    assert record.outcome.test == pytest.approx(score(metric, shares[split.test], graph.labels[split.test]), abs=1e-6)
    three = from_edges([[0], [1]], np.eye(30), labels=[0, 1, 2] * 10)
    _, (record,) = train(three, make_splits(three, count=1), [Config(metric=metric, max_epochs=2)])
    assert 0 <= record.outcome.test <= 1


def test_class_weights_count_nodes_of_a_rare_class_more(rng):
    """Nine of ten nodes are of class 0 and features overlap: unweighted, class 1 is hardly predicted."""
    labels = (np.arange(400) % 10 == 0).astype(int)
    features = rng.normal(size=(400, 2)) + 1.2 * labels[:, None]
    graph = from_edges([[], []], features, labels=labels)
    split = make_splits(graph, count=1)[0]
    found = []
    for weights in (None, (0.5555555, 5.0)):
        config = Config(class_weight=weights, max_epochs=80, metric="balanced_accuracy")
        model, _ = train(graph, [split, split], [config, config])
        with torch.no_grad():
            predicted = model(model.prepare(graph)).argmax(dim=2).numpy()
        found.append(predicted[labels == 1].mean())
    assert found[0] < 0.4
    assert found[1] > 0.65
    with pytest.raises(ValueError, match="class_weight has 3 numbers, graph 'graph' has 2 classes"):
        train(graph, [split], [Config(class_weight=(1, 1, 1))])
    with pytest.raises(ValueError, match="class_weight must be numbers above 0"):
        Config(class_weight=(1, 0))


def test_a_weighted_loss_is_torch_s(rng):
    targets = make_targets(
        from_edges([[], []], np.eye(9), labels=[0, 1, 2] * 3),
        [Split(np.arange(6), [6], [7]), Split(np.arange(4), [6], [7])],
    )
    logits, weights = torch.tensor(rng.normal(size=(9, 2, 3))), (0.5, 1.0, 4.0)
    losses = cross_entropy(logits, targets, class_weight=weights)
    for p, count in enumerate((6, 4)):
        expected = torch.nn.functional.cross_entropy(
            logits[:count, p], targets.labels[:count], weight=torch.tensor(weights, dtype=torch.float64)
        )
        assert float(losses[p]) == pytest.approx(float(expected))


@pytest.mark.parametrize("binary", [False, True])
def test_a_smoothed_loss_is_torch_s(binary, rng):
    targets = make_targets(from_edges([[], []], np.eye(9), labels=[0, 1, 2] * 3), [Split(np.arange(6), [6], [7])])
    logits = torch.tensor(rng.normal(size=(9, 1, 3)))
    loss = cross_entropy(logits, targets, binary=binary, label_smoothing=0.3)
    rows, labels = logits[:6, 0], targets.labels[:6]
    if binary:
        soft = 0.7 * torch.eye(3, dtype=torch.float64)[labels] + 0.1
        expected = torch.nn.functional.binary_cross_entropy_with_logits(rows, soft)
    else:
        expected = torch.nn.functional.cross_entropy(rows, labels, label_smoothing=0.3)
    assert float(loss) == pytest.approx(float(expected))
    with pytest.raises(ValueError, match="label_smoothing must be at least 0 and below 1"):
        Config(label_smoothing=1.0)


def test_bad_input_is_refused_before_training(graph):
    split, config = make_splits(graph, count=1)[0], Config(max_epochs=2)
    model = build("newtonnet", graph)
    with pytest.raises(ValueError, match="needs as many splits and configs"):
        fit(model, graph, [split, split], [config, config])
    with pytest.raises(ValueError, match="seeds must be those of the configs"):
        fit(model, graph, [split], [replace(config, seed=4)])
    with pytest.raises(ValueError, match="names node 900"):
        fit(model, graph, [Split(np.array([0, 149]), np.array([900]), np.array([2]))], [config])
    with pytest.raises(ValueError, match="trains on one class only"):
        fit(model, graph, [Split(np.array([0, 1]), np.array([3]), np.array([2]))], [config])
    unlabelled = from_edges([[0], [1]], np.eye(30), class_names=["a", "b"])
    with pytest.raises(ValueError, match="no labelled node"):
        fit(build("newtonnet", unlabelled), unlabelled, [split], [config])
    partly = from_edges([[0], [1]], np.eye(30), labels=[0, 1] + [-1] * 28)
    with pytest.raises(ValueError, match="label is unknown"):
        fit(build("newtonnet", partly), partly, [Split(np.array([0, 1]), np.array([3]), np.array([2]))], [config])


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

    def all_are_started(self, after, *, until):
        for part in range(len(self.runs)):
            self.start(part)
        train(self, after, until=until)

    monkeypatch.setattr(Parts, "train", all_are_started)
    _, records = run(graph, stop=after(5), threads=1)
    assert [record.outcome.status for record in records] == ["done", "failed", "failed"]
    assert [record.outcome.values != () for record in records] == [True, False, False]


def test_parts_side_by_side_are_stopped_too(graph):
    _, records = run(graph, stop=lambda: True, threads=2, count=4, max_epochs=100_000)
    assert all(record.outcome.epochs < 100_000 for record in records)


def test_every_epoch_reports_its_loss_homophily_and_best_score(graph, members):
    splits, configs = members
    seen = []
    _, records = train(graph, splits[:1], [replace(configs[0], history_interval=1)], on_epoch=seen.append, threads=1)
    history = records[0].history
    assert [state.epoch for state in seen] == history["epoch"]
    rounded = {"rtol": 0, "atol": 1e-6}  # as a record keeps its curves
    np.testing.assert_allclose([state.loss for state in seen], history["loss"], **rounded)
    np.testing.assert_allclose([state.homophily for state in seen], history["homophily"], **rounded)
    best = np.maximum.accumulate(history["validation"])
    np.testing.assert_allclose([state.validation for state in seen], best, **rounded)
