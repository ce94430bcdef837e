from dataclasses import replace

import pytest

from newtonnet.nn import Options
from newtonnet.training import Config, Setting, check_configs, override


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be above 0 and finite, got 0.0"),
        ({"filter_learning_rate": -1.0}, "filter_learning_rate must be above 0"),
        ({"branch_learning_rate": 0.0}, "branch_learning_rate must be above 0"),
        ({"weight_decay": -1.0}, "weight_decay must be at least 0"),
        ({"gammas": (1.0, -1.0, 0.0)}, "gammas must be three numbers of at least 0"),
        ({"gammas": (1.0, 1.0)}, "gammas must be three"),
        ({"gammas": (float("nan"), 0.0, 0.0)}, "gammas must be three"),
        ({"ceiling": 0.0}, "ceiling must be above 0"),
        ({"max_epochs": float("inf")}, "max_epochs must be a whole number of at least 1, got inf"),
        ({"max_epochs": 0}, "max_epochs must be a whole number of at least 1"),
        ({"patience": 0}, "patience must be at least 1"),
        ({"variant": "mine"}, "variant must be 'paper' or 'released', got mine"),
        ({"loss": "hinge"}, "loss must be 'cross-entropy', 'binary', 'squared' or 'absolute'"),
        ({"reduction": "max"}, "reduction must be 'mean' or 'sum'"),
        ({"slices": (2, 2)}, "slices must be two rising indices or None"),
        ({"slices": (1, 2, 3)}, "slices must be two"),
        ({"pivot": "mine"}, "pivot must be 'uniform', 'adjusted' or 'weighted'"),
        ({"homophily": "guessed"}, "homophily must be 'predicted', 'train-edges' or 'all-labels'"),
        ({"homophily_start": "half"}, "homophily_start must be 'pivot' or 'random'"),
        ({"penalty": "cubed"}, "penalty must be"),
        ({"homophily_interval": 0}, "homophily_interval must be"),
        ({"metric": "f1"}, "metric must be"),
        ({"history_interval": -1}, "history_interval must be"),
    ],
)
def test_bad_values_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(Config(), **change)


def test_variants_stand_for_the_papers_and_the_codes_penalty():
    paper, released = Config(), Config(variant="released")
    assert (paper.squared, paper.refresh, paper.penalises_raw) == (True, 1, False)
    assert (released.squared, released.refresh, released.penalises_raw) == (False, 10, True)
    assert not replace(paper, penalty="norm").squared
    assert replace(released, homophily_interval=3).refresh == 3


def test_the_released_code_learns_homophily_after_the_first_epoch_and_every_tenth_from_there():
    epochs = range(1, 32)
    assert [epoch for epoch in epochs if Config(variant="released").refreshes(epoch)] == [1, 11, 21, 31]
    assert [epoch for epoch in epochs if Config(homophily_interval=10).refreshes(epoch)] == [10, 20, 30]
    assert all(Config().refreshes(epoch) for epoch in epochs)


def test_the_outdated_variant_can_be_read_and_not_trained():
    stored = Config(variant="code", gammas=(1, 0, 0))
    with pytest.raises(ValueError, match=r"'code' can no longer be trained.*use variant 'released'"):
        check_configs([stored])


def test_loop_options_must_agree_in_a_population_and_member_options_need_not():
    check_configs([Config(seed=1, learning_rate=0.1, gammas=(1, 1, 1)), Config(seed=2, weight_decay=0.0)])
    with pytest.raises(ValueError, match="share max_epochs"):
        check_configs([Config(max_epochs=5), Config(max_epochs=6)])


def test_gammas_may_come_as_a_list():
    assert Config(gammas=[1, 2, 3]).gammas == (1, 2, 3)
    check_configs([Config(gammas=[1, 2, 3])])


SETTING = Setting("default", Options(), Config(gammas=(1.0, 1.0, 1.0)))


def test_a_field_is_found_by_its_name_in_the_options_or_the_training():
    changed = override(SETTING, {"hidden": 8, "learning_rate": 0.3, "gamma2": 5})
    assert changed.options.hidden == 8
    assert changed.config.learning_rate == 0.3
    assert changed.config.gammas == (1.0, 5, 1.0)
    assert changed.source == "default"


def test_lists_as_json_has_them_become_tuples():
    assert override(SETTING, {"gammas": [0, 1, 2]}).config.gammas == (0, 1, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden": 1.5}, "hidden must be a whole number"),
        ({"hidden": True}, "hidden must be a whole number"),
        ({"dropout": "much"}, "dropout must be a number"),
        ({"nonsense": 1}, "no option 'nonsense'"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        override(SETTING, changes)
