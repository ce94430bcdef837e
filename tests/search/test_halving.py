"""Successive halving on made-up scores; test_training.py has it with real training."""

import json
from dataclasses import replace

import pytest

from newtonnet.search import (
    SELECTIONS,
    Study,
    Trial,
    best_path,
    best_trial,
    cutoffs,
    find_best,
    halving_rungs,
    make_study,
    open_store,
    propose,
    read_study,
    read_trials,
    store_path,
    sweep,
    write_best,
)
from newtonnet.search.trials import Task

BATCH, TRIALS = 12, 30


@pytest.fixture(scope="module")
def halved(study):
    return replace(study, rungs=(3, 9), batch=BATCH)


@pytest.fixture(scope="module")
def search(play):
    """Search a study in a folder, at most so many tasks of it; the trials in order of their numbers."""

    def run(folder, study, executor=None, **how):
        with open_store(folder, study) as store:
            list(sweep(study, store, trials=TRIALS, executor=executor or play(**how)))
        return sorted(read_trials(store_path(folder, study)), key=lambda trial: trial.number)

    return run


@pytest.fixture(scope="module")
def unbroken(halved, search, tmp_path_factory):
    return search(tmp_path_factory.mktemp("unbroken"), halved)


@pytest.fixture(scope="module")
def proposals(halved):
    return tuple(propose(halved, [], 0))


def test_the_first_eight_train_to_the_end_and_later_ones_if_they_are_among_the_best(unbroken):
    trials = unbroken
    assert [trial.number for trial in trials if trial.number < 8 and not trial.dropped] == list(range(8))
    for number, trial in enumerate(trials[8:], 8):
        before = trials[: 8 if number < BATCH else BATCH * (number // BATCH)]
        median = sorted((other.rungs[0] for other in before), reverse=True)[len(before) // 2 - 1]
        assert (len(trial.rungs) == 2) == (trial.rungs[0] >= median)
        assert trial.dropped or len(trial.rungs) == 2
    assert sum(trial.dropped for trial in trials) > TRIALS / 3


def test_the_first_eight_train_to_the_end_also_in_smaller_batches(halved, search, tmp_path):
    trials = search(tmp_path, replace(halved, batch=3))
    assert not any(trial.dropped for trial in trials[:8])
    assert sum(trial.dropped for trial in trials) > TRIALS / 3


def test_cutoffs_are_the_last_of_the_better_half_and_the_best_quarter(halved, proposals, pretend):
    some = pretend(Task(halved, proposals[:9]))
    reached = [replace(trial, rungs=(i / 10, i / 10)) for i, trial in enumerate(some)]
    assert cutoffs(halved, reached) == (0.4, 0.6)
    few = [replace(trial, rungs=trial.rungs[: 1 + (i == 3)]) for i, trial in enumerate(reached)]
    assert cutoffs(halved, few) == (0.4, 0.3)
    assert cutoffs(halved, []) == cutoffs(replace(halved, rungs=()), reached) == ()


def test_a_search_cut_off_anywhere_drops_the_same_trials(halved, search, unbroken, tmp_path):
    while len(search(tmp_path, halved, limit=2)) < TRIALS:
        pass
    assert search(tmp_path, halved) == unbroken


def test_tasks_that_finish_in_another_order_change_nothing(halved, search, unbroken, pretend, tmp_path):
    def last_first(source):
        running = []
        while True:
            while len(running) < 3 and (task := source()) is not None:
                running.append(task)
            if not running:
                return
            task = running.pop()
            yield task, pretend(task)

    assert search(tmp_path, halved, last_first) == unbroken


def test_a_dropped_trial_is_never_selected(halved, proposals, pretend, tmp_path):
    good, *others = pretend(Task(halved, proposals[:3]))
    dropped = replace(good, validation=(1.0,) * 3, test=(1.0,) * 3, dropped=True)
    assert best_trial([dropped, *others]) == best_trial(others)
    for select in SELECTIONS.values():
        assert select([dropped, *others]) == select(others)
        with pytest.raises(ValueError, match="no complete trials"):
            select([dropped])
    write_best(tmp_path, halved, [dropped])
    assert find_best(tmp_path, "nowhere", "mlp") is None
    write_best(tmp_path, halved, [dropped, *others])
    row = find_best(tmp_path, "nowhere", "mlp")
    assert row["trial"] == best_trial(others).number
    assert (row["trials"], row["models"]) == (3, {"started": 9, "complete": 6})


def test_a_search_that_dropped_nothing_has_the_first_word(study, halved, proposals, pretend, tmp_path):
    trials = pretend(Task(study, proposals[:2]))
    write_best(tmp_path, halved, trials[:1])
    assert find_best(tmp_path, "nowhere", "mlp")["trials"] == 1
    write_best(tmp_path, study, trials)
    assert find_best(tmp_path, "nowhere", "mlp")["trials"] == 2
    assert set(json.loads(best_path(tmp_path).read_text())["nowhere"]) == {"mlp", "mlp-halving"}


def test_without_rungs_a_study_and_its_lines_are_as_before_there_were_any(study, proposals, pretend):
    assert "rungs" not in study.describe()
    line = pretend(Task(study, proposals[:1]))[0].to_json()
    assert not {"rungs", "dropped"} & set(json.loads(line))
    assert (Trial.from_json(line).rungs, Trial.from_json(line).dropped) == ((), False)


def test_a_dropped_trial_comes_back_from_its_line(halved, proposals, pretend):
    (trial,) = pretend(Task(halved, proposals[:1], (9.0, 9.0)))
    assert trial.dropped
    assert len(trial.rungs) == 1
    assert Trial.from_json(trial.to_json()) == trial
    for wrong in ({"dropped": 1}, {"rungs": [None]}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Trial.from_json(json.dumps({**json.loads(trial.to_json()), **wrong}))


def test_a_study_with_rungs_has_its_own_file_and_key(study, halved, search, tmp_path):
    search(tmp_path, halved, limit=1)
    assert store_path(tmp_path, halved).name == "mlp-halving.jsonl"
    assert read_study(store_path(tmp_path, halved))["rungs"] == [3, 9]
    assert halved.key != replace(study, batch=BATCH).key != replace(halved, rungs=(3,)).key


def test_rungs_are_a_third_of_the_next_for_every_method():
    assert halving_rungs(2000) == (24, 74, 222, 666)
    plain, halved = (make_study("digits", "mlp", halving=turn) for turn in (False, True))
    assert halved.rungs == make_study("digits", "gcn", halving=True).rungs == halving_rungs(2000)
    with pytest.raises(ValueError, match="expected at least 3, got 2"):
        halving_rungs(2)
    assert Study.batch == plain.batch < halved.batch
