"""Published settings: the numbers of the authors' repositories, and that each of them is a model that trains."""

from dataclasses import asdict, fields

import pytest

from newtonnet.datasets import CATALOGUE, csbm, make_splits
from newtonnet.nn import ZOO, Options, build
from newtonnet.search import find_setting
from newtonnet.search.settings import PUBLISHED_SETTINGS
from newtonnet.training import Config, Setting, fit, override

PUBLISHED = [(model, dataset) for model, table in PUBLISHED_SETTINGS.items() if model in ZOO for dataset in table]
SMALL = {"cora", "citeseer", "pubmed", "chameleon", "squirrel", "texas", "cornell"}
LARGE = {"penn94", "genius", "twitch-gamer"}


@pytest.fixture(scope="module")
def graph():
    return csbm(0.3, nodes=60, features=12, seed=2)


def everything(setting):
    return {**asdict(setting.config), **asdict(setting.options)}


@pytest.mark.parametrize(("model", "dataset"), PUBLISHED)
def test_published_setting_is_used_by_default_and_trains(model, dataset, graph):
    setting = find_setting(dataset, model)
    assert setting == find_setting(dataset, model, "published")
    assert setting.source == "published"
    population = build(model, graph, setting.options, seeds=[setting.config.seed])
    (record,) = fit(population, graph, make_splits(graph, count=1), [override(setting, {"max_epochs": 3}).config])
    assert record.outcome.status == "done"


@pytest.mark.parametrize(("model", "dataset"), PUBLISHED)
def test_published_numbers_all_arrive(model, dataset):
    arrived = everything(find_setting(dataset, model))
    arrived |= dict(zip(("gamma1", "gamma2", "gamma3"), arrived["gammas"], strict=True))
    for name, value in PUBLISHED_SETTINGS[model][dataset].items():
        assert arrived[name] == value, name


@pytest.mark.parametrize(
    ("model", "datasets"),
    [
        ("newtonnet", SMALL | LARGE | {"crocodile"}),
        ("gprgnn", SMALL | {"actor"}),
        ("bernnet", SMALL | {"actor"}),
        ("chebnetii", SMALL | LARGE | {"actor"}),
        ("jacobiconv", SMALL | {"actor"}),
        ("glognn++", SMALL | LARGE | {"actor"}),
    ],
)
def test_graphs_with_published_settings_are_those_of_the_repositories_and_in_the_catalogue(model, datasets):
    assert set(PUBLISHED_SETTINGS[model]) == datasets
    assert datasets <= set(CATALOGUE)


# Read off the tables of the methods' repositories by hand: a few numbers of each, the odd ones first.
SPOT_CHECKS = [
    ("newtonnet", "cora", {"learning_rate": 0.05, "gammas": (0.0, 1.0, 3.0), "variant": "released", "degree": 5}),
    ("newtonnet", "citeseer", {"filter_learning_rate": 0.05, "weight_decay": 0, "propagation_dropout": 0.5}),
    ("gprgnn", "cora", {"learning_rate": 0.01, "filter_learning_rate": 0.01, "alpha": 0.1, "weight_decay": 5e-4}),
    ("gprgnn", "pubmed", {"learning_rate": 0.05, "alpha": 0.2}),
    ("gprgnn", "chameleon", {"alpha": 1, "weight_decay": 0, "propagation_dropout": 0.7, "filter_weight_decay": 0}),
    ("gprgnn", "squirrel", {"alpha": 0, "filter_learning_rate": 0.05}),
    ("gprgnn", "actor", {"learning_rate": 0.01, "alpha": 0.9, "propagation_dropout": 0.5, "weight_decay": 0}),
    ("bernnet", "cora", {"learning_rate": 0.01, "propagation_dropout": 0, "weight_decay": 5e-4}),
    ("bernnet", "squirrel", {"learning_rate": 0.05, "propagation_dropout": 0.6, "weight_decay": 0}),
    ("bernnet", "texas", {"learning_rate": 0.05, "filter_learning_rate": 0.002, "filter_weight_decay": 0}),
    ("bernnet", "cornell", {"filter_learning_rate": 0.001, "degree": 10, "hidden": 64, "dropout": 0.5}),
    ("chebnetii", "citeseer", {"weight_decay": 5e-4, "filter_weight_decay": 0, "propagation_dropout": 0.5}),
    ("chebnetii", "squirrel", {"weight_decay": 0, "filter_weight_decay": 5e-4, "learning_rate": 0.05}),
    ("chebnetii", "texas", {"filter_learning_rate": 0.001, "propagation_dropout": 0.6}),
    ("chebnetii", "penn94", {"hidden": 256, "learning_rate": 0.001, "weight_decay": 0.005, "decoupled": True}),
    ("chebnetii", "genius", {"degree": 3, "filter_learning_rate": 5e-4, "dropout": 0.3, "filter_weight_decay": 1e-4}),
    ("chebnetii", "twitch-gamer", {"degree": 5, "propagation_dropout": 0.8, "filter_weight_decay": 0.01}),
    ("jacobiconv", "cora", {"a": 2, "b": -0.25, "alpha": 0.5, "dropout": 0.5, "propagation_dropout": 0.7}),
    ("jacobiconv", "citeseer", {"learning_rate": 0.05, "gate_learning_rate": 0.001, "filter_learning_rate": 0.01}),
    ("jacobiconv", "squirrel", {"weight_decay": 5e-5, "gate_weight_decay": 0, "filter_weight_decay": 0, "alpha": 2}),
    ("jacobiconv", "texas", {"weight_decay": 1e-3, "gate_weight_decay": 5e-4, "filter_weight_decay": 5e-4}),
    ("jacobiconv", "actor", {"a": -1, "b": 0.5, "released": True, "degree": 10}),
    ("glognn++", "cora", {"dropout": 0.8, "weight_decay": 5e-5, "beta": 800, "gamma": 0.8, "delta": 0.9, "orders": 4}),
    ("glognn++", "chameleon", {"alpha": 1, "beta": 1, "delta": 0, "layers": 3, "orders": 2, "learning_rate": 0.01}),
    ("glognn++", "penn94", {"hidden": 256, "weight_decay": 0.1, "learning_rate": 0.001, "decoupled": True}),
    ("glognn++", "twitch-gamer", {"dropout": 0.8, "learning_rate": 0.01, "layers": 1, "orders": 1}),
]


@pytest.mark.parametrize(("model", "dataset", "expected"), SPOT_CHECKS)
def test_published_numbers_are_those_of_the_repositories(model, dataset, expected):
    found = everything(find_setting(dataset, model))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("model", sorted(ZOO))
def test_defaults_are_the_zoos_own(model):
    entry = ZOO[model]
    default = Setting("default", entry.options, Config(**entry.training))
    assert find_setting("cora", model, "default") == default
    assert find_setting("digits", model) == default


def test_a_method_that_is_not_in_the_zoo_is_unknown_and_hinders_no_other(monkeypatch):
    monkeypatch.delitem(ZOO, "glognn++", raising=False)
    with pytest.raises(ValueError, match="unknown model 'glognn\\+\\+'; available"):
        find_setting("cora", "glognn++")
    assert find_setting("cora", "bernnet").source == "published"


@pytest.mark.parametrize(
    ("dataset", "model", "source", "message"),
    [
        ("digits", "newtonnet", "published", r"no published settings for newtonnet on digits; .*default .*on cora"),
        ("penn94", "bernnet", "published", r"no published settings for bernnet on penn94; .*on cora, .*actor"),
        ("cora", "mlp", "published", r"no published settings for mlp on cora; .*mlp has none on any graph"),
        ("wisconsin", "bernnet", "searched", "no search of bernnet on wisconsin is stored in results"),
        ("cora", "bernnet", "magic", "unknown settings 'magic'; available: published, searched, default"),
        ("cora", "nonet", None, "unknown model 'nonet'; .*available: .*bernnet"),
    ],
)
def test_unknown_settings_are_refused_in_one_line(dataset, model, source, message):
    with pytest.raises(ValueError, match=message) as refusal:
        find_setting(dataset, model, source)
    assert "\n" not in str(refusal.value)


def test_override_finds_options_and_training_by_name():
    setting = override(find_setting("cora", "bernnet"), {"degree": 4, "learning_rate": 0.3, "gamma2": 5})
    assert setting.source == "published"
    assert (setting.options.degree, setting.config.learning_rate) == (4, 0.3)
    assert setting.config.gammas == (0.0, 5.0, 0.0)
    assert setting.options.hidden == 64


def test_one_gamma_changes_the_three_that_are_given_with_it():
    setting = Setting("default", Options(), Config(gammas=(1.0, 1.0, 1.0)))
    for changes in ({"gamma3": 7, "gammas": (2.0, 3.0, 4.0)}, {"gammas": (2.0, 3.0, 4.0), "gamma3": 7}):
        assert override(setting, changes).config.gammas == (2.0, 3.0, 7.0)


def test_override_with_nothing_changes_nothing():
    setting = find_setting("texas", "chebnetii")
    assert override(setting, {}) == setting


@pytest.mark.parametrize(("model", "name"), [("jacobiconv", "hidden"), ("mlp", "degree"), ("bernnet", "a")])
def test_an_option_that_the_model_lacks_is_refused_with_those_it_has(model, name):
    setting = find_setting("texas", model, "default")
    with pytest.raises(ValueError, match=f"no option '{name}'; it has .*dropout.*learning_rate"):
        override(setting, {name: 1})
    assert name not in {field.name for field in fields(setting.options)}
