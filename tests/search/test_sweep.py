"""The search as a whole, on made-up scores."""

from dataclasses import replace
from importlib import import_module

import pytest

from newtonnet.search import identity, open_store, read_trials, store_path, sweep, sweep_all


@pytest.fixture(scope="module")
def search(play):
    """Search a study in a folder, at most so many tasks of it; the trials in order of their numbers."""

    def run(folder, study, trials=20, **how):
        with open_store(folder, study) as store:
            list(sweep(study, store, trials=trials, executor=play(**how)))
        return sorted(read_trials(store_path(folder, study)), key=lambda trial: trial.number)

    return run


@pytest.fixture(scope="module")
def whole(study, search, tmp_path_factory):
    """The trials of a search that was never cut off, and its file."""
    folder = tmp_path_factory.mktemp("whole")
    return search(folder, study), store_path(folder, study).read_bytes()


def test_a_search_cut_off_anywhere_goes_on_to_the_same_trials(study, search, whole, tmp_path):
    unbroken, _ = whole
    assert [trial.number for trial in unbroken] == list(range(20))
    while len(search(tmp_path, study, limit=1)) < 20:
        pass
    assert search(tmp_path, study) == unbroken


def test_a_file_cut_at_any_byte_goes_on_to_the_same_trials(study, search, whole, tmp_path, rng):
    unbroken, content = whole
    path = store_path(tmp_path, study)
    path.parent.mkdir(parents=True)
    for cut in rng.integers(0, len(content), size=4):
        path.write_bytes(content[:cut])
        assert search(tmp_path, study) == unbroken


def test_a_finished_trial_is_never_run_again(study, search, tmp_path):
    asked = []
    search(tmp_path, study, trials=12, asked=asked)
    search(tmp_path, study, trials=12, asked=asked)
    search(tmp_path, study, trials=20, asked=asked)
    numbers = [number for task in asked for number in task.numbers]
    assert sorted(numbers) == list(range(20))


def test_more_trials_later_are_the_settings_of_a_longer_search(study, search, whole, tmp_path):
    search(tmp_path, study, trials=5)
    assert [t.setting for t in search(tmp_path, study, trials=20)] == [t.setting for t in whole[0]]


def test_trials_of_equal_shape_share_a_population_of_limited_size(study, search, tmp_path):
    asked = []
    search(tmp_path, replace(study, space={"learning_rate": tuple(i / 100 for i in range(1, 30))}), asked=asked)
    assert max(len(task.proposals) for task in asked) == 2  # six members, three splits
    for task in asked:
        settings = [task.study.setting(proposal.setting) for proposal in task.proposals]
        assert len({repr(setting.options) for setting in settings}) == 1
        assert len({number // study.batch for number in task.numbers}) == 1


def test_a_small_space_ends_the_search(study, search, tmp_path):
    small = replace(study, space={"dropout": (0.1, 0.3)})
    trials = search(tmp_path, small, trials=40)
    assert len(trials) == 4  # published, defaults and two others
    assert len({identity(small.setting(trial.setting)) for trial in trials}) == 4


def test_a_stop_is_told_the_expected_seconds_and_begins_nothing_more(study, play, tmp_path):
    told = []

    def stop(expected):
        told.append(expected)
        return len(told) > 3

    with open_store(tmp_path, study) as store:
        count = len(list(sweep(study, store, executor=play(), stop=stop)))
        assert count == len(store.trials()) > 0
        assert told[0] == 0  # nothing is known before the first trial
        assert all(expected in (0.25, 0.5) for expected in told[1:])
        list(sweep(study, store, executor=play(), trials=20))
        assert len(store.trials()) == 20


def test_a_graph_that_was_never_tried_is_expected_to_take_as_long_as_others(study, play, tmp_path):
    known, new = replace(study, max_population=1), replace(study, max_population=1, dataset="other")
    told = []

    def stop(expected):
        told.append(expected)
        return expected > 0.2

    with open_store(tmp_path, known) as first, open_store(tmp_path, new) as second:
        list(sweep(known, first, executor=play(), trials=2))
        assert list(sweep_all([(known, first, 2), (new, second, 2)], executor=play(), stop=stop)) == []
    assert told == [0.25]


def test_a_later_study_fills_in_while_a_batch_waits(study, tmp_path, pretend):
    """An executor with room for three tasks at a time."""
    one = replace(study, max_population=1, batch=2)
    two = replace(one, label="other")
    rooms = []

    def execute(source):
        running = []
        while True:
            while len(running) < 3 and (task := source()) is not None:
                running.append(task)
            if not running:
                return
            rooms.append(len(running))
            task = running.pop(0)
            yield task, pretend(task)

    with open_store(tmp_path, one) as first, open_store(tmp_path, two) as second:
        found = list(sweep_all([(one, first, 6), (two, second, 6)], executor=execute))
        assert len(first.trials()) == len(second.trials()) == 6
    assert len(found) == 12
    assert rooms[:6] == [3] * 6


def test_other_proposals_than_those_begun_with_are_refused(study, search, tmp_path, monkeypatch):
    search(tmp_path, study, trials=11)
    monkeypatch.setattr(import_module("newtonnet.search.propose"), "_seed", lambda study, batch: 7)
    with pytest.raises(ValueError, match="is not what is proposed here"):
        search(tmp_path, study)


@pytest.mark.parametrize("trials", [0, -1])
def test_no_trials_are_refused(study, search, tmp_path, trials):
    with pytest.raises(ValueError, match="at least 1 trial"):
        search(tmp_path, study, trials=trials)
