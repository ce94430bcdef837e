from dataclasses import replace

import pytest

from newtonnet.search import Study, identity, model_space, propose
from newtonnet.search.trials import Task


@pytest.fixture
def unfold(pretend):
    """The trials of a study's first batches."""

    def run(study, batches, **how):
        trials = []
        for batch in range(batches):
            if len(trials) == batch * study.batch:
                trials += pretend(Task(study, tuple(propose(study, trials, batch))), **how)
        return trials

    return run


def test_published_settings_and_defaults_come_first(study):
    first, second, third, *_ = propose(study, [], 0)
    assert (first.number, first.source, first.setting) == (0, "published", {"dropout": 0.25, "hidden": 32})
    assert (second.source, second.setting) == ("default", {})
    assert third.source == "proposed"


def test_proposals_are_a_function_of_the_study_and_the_batches_before(study, unfold):
    trials = unfold(study, 3)
    assert propose(study, trials[:16], 2) == propose(study, list(reversed(trials[:16])), 2)
    assert [p.setting for p in propose(study, trials[:16], 2)] == [t.setting for t in trials[16:]]
    assert propose(replace(study, label="other"), [], 0) != propose(study, [], 0)


def test_results_move_the_proposals(study, unfold):
    trials = unfold(study, 2)
    others = [replace(trial, validation=tuple(1 - score for score in trial.validation)) for trial in trials]
    assert [p.setting for p in propose(study, others, 2)] != [p.setting for p in propose(study, trials, 2)]


def test_the_search_learns_which_values_are_good(study, pretend):
    early, late = [], []
    for label in "abc":
        arm, trials = replace(study, label=label), []
        for batch in range(4):
            for trial in pretend(Task(arm, tuple(propose(arm, trials, batch)))):
                setting = study.setting(trial.setting)
                value = (setting.config.learning_rate == 0.05) + (setting.options.dropout < 0.2)
                trials.append(replace(trial, validation=(value / 2,) * 3))
        early += [trial.objective for trial in trials[2:8]]
        late += [trial.objective for trial in trials[16:]]
    assert sum(late) / len(late) > sum(early) / len(early) + 0.05


@pytest.mark.parametrize("model", ["newtonnet", "gprgnn", "mlp"])
def test_no_setting_is_tried_twice(model, unfold):
    study = Study("nowhere", "sum", model, space=model_space(model), first=(("default", {}),), splits=2)
    trials = unfold(study, 4)
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert len({identity(study.setting(trial.setting)) for trial in trials}) == len(trials)


def test_a_small_space_is_tried_to_its_end_and_no_further(study, unfold):
    small = replace(study, space={"dropout": (0.1, 0.3, 0.5), "learning_rate": (0.01, 0.05)}, first=(("default", {}),))
    trials = unfold(small, 3)
    assert len(trials) == 6  # the defaults, dropout 0.5 and rate 0.01, are one of them
    assert len({identity(small.setting(trial.setting)) for trial in trials}) == 6


def test_a_space_of_nothing_is_the_first_settings(study, unfold):
    assert len(unfold(replace(study, space={}), 2)) == 2


def test_a_failed_trial_is_the_worst(study, unfold):
    trials = unfold(study, 1, fails=(3,))
    assert trials[3].objective == 0
    assert trials[3].failed == 3
    assert min(trials, key=lambda trial: trial.objective) is trials[3]
    propose(study, trials, 1)


def test_a_batch_needs_all_trials_before_it(study):
    with pytest.raises(ValueError, match="batch 1 follows 8 trials, got 0"):
        propose(study, [], 1)
