import pytest

from newtonnet.nn import Options
from newtonnet.training import Config, Setting, override

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
