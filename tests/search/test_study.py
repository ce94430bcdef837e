import pytest

from newtonnet.datasets import csbm
from newtonnet.nn import ZOO, build
from newtonnet.search import difference, find_setting, identity, model_space
from newtonnet.search.study import point
from newtonnet.training import override


@pytest.mark.parametrize("model", sorted(ZOO))
def test_every_value_of_every_space_is_one_the_model_takes(model):
    default = find_setting("cora", model, "default")
    graph = csbm(0.5, nodes=40, features=3)
    for name, values in model_space(model).items():
        for value in values:
            build(model, graph, override(default, {name: value}).options)


def test_a_value_that_no_model_takes_is_refused_when_it_is_built():
    wrong = override(find_setting("cora", "gcn", "default"), {"dropout": 2.0})
    with pytest.raises(ValueError, match="dropout"):
        build("gcn", csbm(0.5, nodes=40, features=3), wrong.options)


def test_newtonnets_variant_is_searched_too():
    assert model_space("newtonnet")["variant"] == ("paper", "released")
    assert "variant" not in model_space("bernnet")


def test_a_difference_brings_a_setting_back():
    default = find_setting("cora", "jacobiconv", "default")
    published = find_setting("cora", "jacobiconv", "published")
    changes = difference(published, default)
    assert changes["released"] is True
    assert override(default, changes).config == published.config
    assert override(default, changes).options == published.options
    assert difference(default, default) == {}


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ({"learning_rate": 0.01}, {"learning_rate": 0.01, "filter_learning_rate": 0.01}, True),
        ({"gamma1": 0, "gamma2": 1, "gamma3": 0}, {"gammas": (0.0, 1.0, 0.0)}, True),
        ({"gammas": (0, 0, 0), "variant": "released"}, {"gammas": (0, 0, 0), "variant": "paper"}, True),
        ({"gammas": (1, 0, 0), "variant": "released"}, {"gammas": (1, 0, 0), "variant": "paper"}, False),
        ({"max_epochs": 5, "seed": 3}, {"max_epochs": 7, "seed": 4}, True),
        ({"dropout": 0.1}, {"dropout": 0.3}, False),
        ({"weight_decay": 0}, {"weight_decay": 0.0, "filter_weight_decay": 0.0}, True),
    ],
)
def test_settings_that_train_alike_are_one_setting(ours, theirs, same):
    default = find_setting("cora", "newtonnet", "default")
    assert (identity(override(default, ours)) == identity(override(default, theirs))) is same


def test_a_setting_has_a_place_in_the_space_or_none():
    space = {"gamma2": (0, 1, 3), "filter_learning_rate": (0.05, 0.01), "variant": ("paper", "released")}
    default = find_setting("cora", "newtonnet", "default")
    assert point(default, space) == {"gamma2": 1, "filter_learning_rate": 0.01, "variant": "paper"}
    assert point(override(default, {"gamma2": 2}), space) is None
