import numpy as np
import pytest
from sklearn.base import clone

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm
from newtonnet.estimator import families

SETTINGS = {"dropout": 0.0, "learning_rate": 0.05, "gammas": (1.0, 1.0, 1.0)}
QUICK = NewtonNetClassifier(regime="out-of-core", settings=SETTINGS, max_epochs=40, folds=2, time_limit=None, threads=1)


@pytest.fixture(scope="module")
def graph():
    return csbm(0.1, nodes=300, features=40, seed=4)


@pytest.fixture(scope="module")
def half(graph):
    return np.where(np.arange(graph.nodes) % 2, graph.labels, -1)


@pytest.fixture(scope="module")
def fitted(graph, half):
    return clone(QUICK).fit(graph, half)


@pytest.fixture(scope="module")
def brief(graph, half):
    """The same after two epochs."""
    return clone(QUICK).set_params(max_epochs=2).fit(graph, half)


def test_it_learns_that_neighbours_differ(graph, half, fitted):
    assert fitted.score(graph, np.where(half < 0, graph.labels, -1)) > 0.8
    assert fitted.homophily_ < 0.3
    assert abs(fitted.filter_(2.0)) > abs(fitted.filter_(0.0))
    assert fitted.settings_[0]["weight"] == 1.0


def test_a_store_is_kept_and_taken_up_again_with_the_same_result(graph, half, brief, tmp_path):
    stored = clone(brief).set_params(store=tmp_path / "blocks").fit(graph, half)
    np.testing.assert_array_equal(stored.predict_proba(graph), brief.predict_proba(graph))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "blocks").glob("T*")}
    assert before
    clone(stored).fit(graph, half)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "blocks").glob("T*")}


def test_it_is_saved_and_predicts_on_another_graph(graph, fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = NewtonNetClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(graph), fitted.predict_proba(graph))
    other = csbm(0.1, nodes=80, features=40, seed=9)
    assert loaded.predict_proba(other).shape == (80, 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"model": "gcn"}, "trains newtonnet only, got model 'gcn'"),
        ({"regime": "disk"}, "regime must be one of memory, out-of-core"),
        ({"settings": {"branch": 8}}, "the option branch has no meaning"),
    ],
)
def test_what_this_regime_does_not_have_is_refused(graph, half, parameters, message):
    with pytest.raises(ValueError, match=message):
        clone(QUICK).set_params(**parameters).fit(graph, half)


def test_a_store_of_another_graph_is_refused_by_fit(graph, half, tmp_path):
    model = clone(QUICK).set_params(store=tmp_path / "blocks", max_epochs=1).fit(graph, half)
    with pytest.raises(ValueError, match=r"blocks belongs to another run .* name another folder"):
        model.fit(csbm(0.1, nodes=80, features=40, seed=9))


def test_a_store_of_another_graph_is_left_alone_by_prediction(graph, half, brief, tmp_path):
    place = tmp_path / "place"
    stored = clone(brief).set_params(store=place / "blocks").fit(graph, half)
    stored.save(tmp_path / "model")
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in place.rglob("*") if path.is_file()}
    other = csbm(0.1, nodes=80, features=40, seed=9)
    for model in (stored, NewtonNetClassifier.load(tmp_path / "model")):
        np.testing.assert_array_equal(model.predict_proba(other), brief.predict_proba(other))
        np.testing.assert_array_equal(model.predict_proba(graph), brief.predict_proba(graph))
    # Nothing else stays beside it either.
    assert before == {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in place.rglob("*") if path.is_file()}
    assert [path.name for path in place.iterdir()] == ["blocks"]


def test_blocks_of_another_graph_lie_on_the_disk_of_the_store(graph, half, tmp_path, monkeypatch):
    stored = clone(QUICK).set_params(store=tmp_path / "blocks", max_epochs=1).fit(graph, half)
    folders = []
    precompute = families.propagate_to_disk

    def note(graph, folder, **options):
        folders.append(folder)
        return precompute(graph, folder, **options)

    monkeypatch.setattr(families, "propagate_to_disk", note)
    stored.predict(csbm(0.1, nodes=80, features=40, seed=9))
    stored.predict(graph)
    assert folders[0].is_relative_to(tmp_path)
    assert not folders[0].exists()
    assert folders[1] == tmp_path / "blocks"


def test_labels_held_back_are_predicted_within_the_memory_that_is_allowed(graph, half, monkeypatch):
    allowed = []
    predict = families.predict_out_of_core

    def note(*arguments, max_memory=None, **options):
        allowed.append(max_memory)
        return predict(*arguments, max_memory=max_memory, **options)

    monkeypatch.setattr(families, "predict_out_of_core", note)
    clone(QUICK).set_params(max_memory="8GB", max_epochs=1).fit(graph, half)
    assert len(allowed) >= 2
    assert all(0 < one < 8e9 for one in allowed), "what the process leaves of it"


def test_an_epoch_is_done_even_where_the_blocks_took_all_the_time(graph, half):
    hurried = clone(QUICK).set_params(time_limit=1e-9).fit(graph, half)
    assert not hurried.complete_
    assert [record.outcome.epochs for record in hurried.records_] == [1]
    assert hurried.predict_proba(graph).shape == (300, 2)
