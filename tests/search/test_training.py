"""The search with real training: short runs on an embedded graph."""

import itertools
import multiprocessing
import os
import random
import signal
import time
import traceback
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from newtonnet.nn import build
from newtonnet.search import (
    Trial,
    executors,
    in_process,
    make_study,
    measure,
    open_store,
    processes,
    propose,
    read_trials,
    store_path,
    sweep,
    sweep_all,
)
from newtonnet.search.study import load_data
from newtonnet.search.trials import Task, group, run_task
from newtonnet.training import fit

sweep_module = import_module("newtonnet.search.sweep")  # the door has a function of the same name
DATASET = "digits"
SPACE = {"learning_rate": (0.05, 0.01, 0.005), "weight_decay": (0.0, 5e-4), "dropout": (0.3, 0.5)}
LOOP = {"fixed": {"hidden": 6}, "splits": 2, "max_epochs": 4, "patience": 3, "batch": 4}
TRIALS = 12


@pytest.fixture(scope="module")
def study():
    return make_study(DATASET, "newtonnet", space=SPACE, **LOOP)


@pytest.fixture(scope="module")
def halved():
    """A study that drops settings."""
    loop = {**LOOP, "max_epochs": 27, "patience": 20}
    return make_study(DATASET, "newtonnet", space={**SPACE, "learning_rate": (0.05, 0.01, 0.001)}, halving=True, **loop)


@pytest.fixture(scope="module")
def data(study):
    return load_data(*study.data)


def run(folder, study, executor=None, trials=TRIALS):
    with open_store(folder, study) as store:
        list(sweep(study, store, trials=trials, executor=executor))
    return told(folder, study)


def told(folder, study):
    """All that a store says but the seconds, byte for byte."""
    trials = sorted(read_trials(store_path(folder, study)), key=lambda trial: trial.number)
    return [replace(trial, seconds=0.0).to_json() for trial in trials]


@pytest.fixture(scope="module")
def unbroken(study, tmp_path_factory):
    return run(tmp_path_factory.mktemp("unbroken"), study)


@pytest.fixture(scope="module")
def unbroken_halved(halved, tmp_path_factory):
    return run(tmp_path_factory.mktemp("halved"), halved)


def test_there_are_as_many_trials_as_asked_for_and_some_share_a_population(study, unbroken):
    assert len(unbroken) == TRIALS
    assert any(len(Trial.from_json(line).beside) > 1 for line in unbroken)


def test_a_trial_holds_what_training_alone_gives(study, data, unbroken, tmp_path):
    """Whoever trains beside it, up to rounding; with the ids of records that ``train`` would write."""
    graph, splits = data
    for trial in [Trial.from_json(line) for line in unbroken[:6]]:
        setting = study.setting(trial.setting)
        configs = [replace(setting.config, seed=split.index) for split in splits]
        records = fit(build("newtonnet", graph, setting.options, seeds=[0, 1]), graph, splits, configs)
        assert trial.records == tuple(record.id for record in records)
        np.testing.assert_allclose(trial.validation, [record.outcome.validation for record in records], atol=0.011)
        np.testing.assert_allclose(trial.values, [record.outcome.values for record in records], rtol=2e-3)
        assert trial.epochs == tuple(record.outcome.epochs for record in records)


def test_a_grouped_trial_is_the_trial_alone(study, data):
    proposals = [
        replace(propose(study, [], 0)[i], setting={"learning_rate": rate}) for i, rate in enumerate((0.05, 0.01))
    ]
    (task,) = group(study, proposals)
    together = run_task(task, *data)
    for proposal, trial in zip(proposals, together, strict=True):
        (alone,) = run_task(Task(study, (proposal,)), *data)
        np.testing.assert_allclose(trial.validation, alone.validation, atol=0.011)
        np.testing.assert_allclose(trial.response, alone.response, rtol=2e-3, atol=1e-4)


def search_until_killed(folder, study):
    """Search in another process, which is killed a moment after a trial."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            with open_store(folder, study) as store:
                for _ in sweep(study, store, trials=TRIALS):
                    os.write(writer, b".")
                    time.sleep(0.05)  # so that it is killed before it ends
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writer)
    os.read(reader, 1)
    time.sleep(random.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    os.close(reader)


def test_killed_twice_at_random_moments_and_resumed_it_gives_the_same_trials(study, unbroken, tmp_path):
    for _ in range(2):
        search_until_killed(tmp_path, study)
    assert 0 < len(told(tmp_path, study)) < TRIALS
    assert run(tmp_path, study) == unbroken


def test_two_workers_give_and_drop_what_this_process_does_though_one_is_killed(
    study, halved, unbroken, unbroken_halved, tmp_path, monkeypatch
):
    """Workers are forked, which takes no time; the test below starts one afresh."""
    fork = multiprocessing.get_context("fork")
    monkeypatch.setattr(executors, "multiprocessing", SimpleNamespace(get_context=lambda _: fork))

    def murderous(source):
        for number, result in enumerate(processes(2)(source)):
            if number == 0:
                for child in multiprocessing.active_children()[:1]:
                    child.kill()
                    child.join()
            yield result

    lost = r"newtonnet.* on digits, trials .* was lost \(exit code -9\) and runs again"
    with (
        open_store(tmp_path, study) as first,
        open_store(tmp_path, halved) as second,
        pytest.warns(RuntimeWarning, match=lost),
    ):
        list(sweep_all([(study, first, TRIALS), (halved, second, TRIALS)], executor=murderous))
    assert told(tmp_path, study) == unbroken
    assert told(tmp_path, halved) == unbroken_halved


def test_a_worker_started_afresh_gives_the_same_trials_and_its_error_is_raised_here(study, unbroken):
    first = group(study, propose(study, [], 0))[0]
    tasks = iter([first, replace(first, study=replace(study, checksum="other"))])
    found = []
    with pytest.raises(ValueError, match="its files have changed"):
        found.extend(trial for _, trials in processes(1)(lambda: next(tasks, None)) for trial in trials)
    assert [replace(trial, seconds=0.0).to_json() for trial in found] == [unbroken[n] for n in first.numbers]


def test_what_is_finished_beside_an_error_is_kept(study, monkeypatch):
    answers, ends = iter([ValueError("broken"), ["a trial"]]), []

    def start(*_):
        ours, theirs = multiprocessing.Pipe()
        theirs.send(next(answers))
        ends.append(theirs)
        nothing = SimpleNamespace(terminate=lambda: None, join=lambda: None)
        return ours, nothing

    monkeypatch.setattr(executors, "_start_worker", start)
    tasks = iter([Task(study, (proposal,)) for proposal in propose(study, [], 0)[:2]])
    kept = []
    with pytest.raises(ValueError, match="broken"):
        kept.extend(trials for _, trials in processes(2)(lambda: next(tasks, None)))
    assert kept == [["a trial"]]


def test_an_interrupt_keeps_what_is_finished(study, unbroken, tmp_path):
    def interrupted(source):
        results = in_process()(source)
        yield next(results)
        yield next(results)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, study, interrupted)
    assert 0 < len(told(tmp_path, study)) < TRIALS
    assert run(tmp_path, study) == unbroken


def test_measuring_times_an_epoch(study):
    cost = measure(study)
    assert 0 < cost.epoch < 5
    assert cost.longest == pytest.approx(4 * cost.epoch)
    assert cost.likely == pytest.approx(4 * cost.epoch)  # twice the patience, but no more than there are


def test_measuring_counts_every_part_of_a_population(study, monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(sweep_module, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
    assert measure(study).epoch == 1
    monkeypatch.setattr("newtonnet.training.parts.CACHED", 1)  # every split's member becomes a part of its own
    assert measure(make_study(DATASET, "gcn", **LOOP)).epoch == study.splits


def test_a_study_takes_the_graphs_metric_and_fixed_fields_leave_the_space():
    study = make_study(DATASET, "newtonnet", label="plain", fixed={"gammas": (0, 0, 0), "variant": "paper"}, splits=2)
    assert study.metric == "accuracy"
    rates = {"learning_rate", "filter_learning_rate", "weight_decay"}
    assert set(study.space) == rates | {"dropout", "propagation_dropout"}
    assert study.base().config.gammas == (0, 0, 0)
    assert study.first == (("default", {}),)


def test_a_dropped_trials_scores_are_those_of_a_shorter_training(halved, data, unbroken_halved):
    trials = [Trial.from_json(line) for line in unbroken_halved]
    dropped = [trial for trial in trials if trial.dropped]
    assert dropped
    for trial in (trials[0], dropped[0], dropped[-1]):
        epochs = halved.rungs[len(trial.rungs) - 1] if trial.dropped else halved.max_epochs
        batch, begin = trial.number // halved.batch, trial.number - trial.number % halved.batch
        proposal = propose(halved, trials[:begin], batch)[trial.number - begin]
        (alone,) = run_task(Task(replace(halved, rungs=(), max_epochs=epochs), (proposal,)), *data)
        np.testing.assert_allclose(trial.validation, alone.validation, atol=0.011)
        assert not trial.dropped or set(trial.epochs) == {epochs}
        assert trial.objective == pytest.approx(trial.rungs[-1], abs=1e-6) or not trial.dropped


def test_a_setting_whose_splits_have_all_ended_is_complete_however_bad(halved, data):
    short = replace(halved, patience=2, rungs=(26,))
    (trial,) = run_task(Task(short, tuple(propose(short, [], 0)[:1]), (2.0,)), *data)
    assert max(trial.epochs) < 26
    assert not trial.dropped
