from dataclasses import replace

import pytest

from newtonnet.nn import Options
from newtonnet.training import Config, Setting, override
from newtonnet.training.config import check_shared


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
        ({"variant": "mine"}, "variant must be 'paper' or 'code'"),
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
    paper, code = Config(), Config(variant="code")
    assert (paper.squared, paper.refresh, paper.penalises_raw) == (True, 1, False)
    assert (code.squared, code.refresh, code.penalises_raw) == (False, 10, True)
    assert not replace(paper, penalty="norm").squared
    assert replace(code, homophily_interval=3).refresh == 3


def test_loop_options_must_agree_in_a_population_and_member_options_need_not():
    check_shared([Config(seed=1, learning_rate=0.1, gammas=(1, 1, 1)), Config(seed=2, weight_decay=0.0)])
    with pytest.raises(ValueError, match="share max_epochs"):
        check_shared([Config(max_epochs=5), Config(max_epochs=6)])


def test_gammas_may_come_as_a_list():
    assert Config(gammas=[1, 2, 3]).gammas == (1, 2, 3)
    check_shared([Config(gammas=[1, 2, 3])])


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
