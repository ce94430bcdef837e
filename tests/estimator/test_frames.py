"""Tables and networkx graphs go into the classifier as they are; predictions are the kind of frame that came in."""

import pickle

import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from newtonnet import NewtonNetClassifier, TableOptions, analyse, cross_validate
from newtonnet.datasets import csbm
from newtonnet.graphs import from_edges
from newtonnet.tables import as_frame, frame_kind, load_tables

QUICK = {"tune": "off", "max_epochs": 15, "threads": 1}


class Frame:
    """A frame of a library that is not installed: it has columns, and gives its rows as an Arrow stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.fixture(scope="module")
def frames():
    """Two classes that prefer their own, a number, a category, ids that are not in order, and a third unlabelled."""
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    nodes = pd.DataFrame(
        {
            "id": rng.permutation(1000)[:60],
            "size": rng.normal(size=60) + truth,
            "town": np.array(["Bonn", "Ulm"])[truth ^ (rng.random(60) < 0.2)],
            "label": [("no", "yes")[c] if i % 3 else None for i, c in enumerate(truth)],
        },
        index=[f"row {i}" for i in range(60)],
    )
    ends = rng.integers(60, size=(2, 200))
    ends = ends[:, truth[ends[0]] == truth[ends[1]]]
    edges = pd.DataFrame({"source": nodes["id"].to_numpy()[ends[0]], "target": nodes["id"].to_numpy()[ends[1]]})
    return nodes, edges


@pytest.fixture(scope="module")
def fitted(frames):
    return NewtonNetClassifier(**QUICK).fit(frames)


def test_two_frames_are_fitted_as_their_graph_is(fitted, frames):
    graph = load_tables(*frames, label_column="label")
    same = NewtonNetClassifier(**QUICK).fit(graph)
    np.testing.assert_array_equal(fitted.predict_proba(frames), same.predict_proba(graph))
    assert fitted.feature_names_in_.tolist() == ["size", "town=Bonn", "town=Ulm"]
    assert fitted.score(frames) == same.score(graph)


def test_the_column_of_the_labels_is_named_by_y(fitted, frames):
    nodes, edges = frames
    named = NewtonNetClassifier(**QUICK).fit((nodes.rename(columns={"label": "answer"}), edges), "answer")
    np.testing.assert_array_equal(named.predict_proba((nodes, edges)), fitted.predict_proba(frames))


def test_labels_may_be_given_beside_the_frames(fitted, frames):
    nodes, edges = frames
    without = nodes.drop(columns="label")
    model = NewtonNetClassifier(**QUICK).fit((without, edges), nodes["label"])
    np.testing.assert_array_equal(model.predict_proba((without, edges)), fitted.predict_proba(frames))


def test_without_a_label_column_one_line_says_how_to_name_it(frames):
    nodes, edges = frames
    with pytest.raises(ValueError, match=r"name the column of the classes, as in fit\(\(nodes, edges\), 'kind'\);"):
        NewtonNetClassifier().fit((nodes.rename(columns={"label": "kind"}), edges))


def test_a_networkx_graph_without_y_is_refused_with_the_names_of_its_attributes():
    with pytest.raises(ValueError, match=r"as in fit\(graph, 'club'\); found: club$"):
        NewtonNetClassifier().fit(nx.karate_club_graph())


def test_a_column_is_named_for_tables_and_networkx_only():
    with pytest.raises(ValueError, match="y='label' names a column, which two tables or a networkx graph have"):
        NewtonNetClassifier().fit(from_edges([[0], [1]], np.eye(2)), "label")


def test_a_later_table_is_read_with_the_encoding_of_the_fit(fitted, frames):
    nodes, edges = frames
    later = nodes[nodes["town"] == "Ulm"].drop(columns="label")
    inside = edges[edges["source"].isin(later["id"]) & edges["target"].isin(later["id"])]
    assert fitted.predict_proba((later, inside)).shape == (len(later), 2)


def test_a_model_of_graphs_refuses_frames_in_one_line(frames):
    graph = load_tables(*frames, label_column="label")
    model = NewtonNetClassifier(**QUICK).fit(graph)
    with pytest.raises(ValueError, match="this model was not fitted on two tables; give a graph of the kind"):
        model.predict(frames)


def test_score_takes_the_name_of_the_column_as_fit_does(fitted, frames):
    nodes, edges = frames
    assert fitted.score(frames, "label") == fitted.score(frames)
    other = nodes.assign(other=nodes["label"].where(np.arange(60) % 2 == 0))
    assert fitted.score((other, edges), "other") == fitted.score(frames, other["other"])
    club = nx.karate_club_graph()
    model = NewtonNetClassifier(**QUICK).fit(club, "club")
    assert model.score(club, "club") > 0.5
    with pytest.raises(ValueError, match="y='label' names a column, which two tables or a networkx graph have"):
        fitted.score(load_tables(*frames, label_column="label"), "label")


def test_the_model_of_a_run_folder_reads_tables_as_the_run_did(frames, tmp_path):
    nodes, edges = frames
    nodes = nodes.assign(day="31.12.2020", since=[f"{1 + i % 28:02}.01.2020" for i in range(len(nodes))])
    given = (nodes.rename(columns={"id": "key"}).set_index("town").reset_index(), edges)  # the id is not the first
    options = TableOptions(id_column="key", dates="day-first", ignore=["size"])
    found = analyse(
        *given, label_column="label", tables=options, classifier=NewtonNetClassifier(**QUICK), folds=0, compare=False
    )
    found.save(tmp_path / "run")
    loaded = NewtonNetClassifier.load(tmp_path / "run")
    again = loaded.predict_frame((given[0].drop(columns=["label", "size"]), edges))
    assert again["node"].tolist() == nodes["id"].tolist()
    np.testing.assert_allclose(again["probability"], found.predictions["probability"], atol=1e-6)
    assert loaded.score(given) == pytest.approx(found.model.score(given))


def test_the_model_of_a_run_with_outsiders_says_who_predicts(frames):
    nodes, edges = frames
    edges = pd.concat([edges, pd.DataFrame({"source": [nodes["id"].iloc[0]], "target": [5000]})])
    found = analyse(
        nodes,
        edges,
        label_column="label",
        tables=TableOptions(unknown_edges="add"),
        classifier=NewtonNetClassifier(**QUICK),
        folds=0,
        compare=False,
    )
    with pytest.raises(ValueError, match=r"they get no prediction; use newtonnet\.Analysis\.load\(run\)\.predict"):
        found.model.predict((nodes, edges))


def test_a_saved_model_reads_tables_as_before(fitted, frames, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    loaded = NewtonNetClassifier.load(tmp_path / "model.safetensors")
    assert loaded.tables_ == fitted.tables_
    np.testing.assert_array_equal(loaded.predict_proba(frames), fitted.predict_proba(frames))


def test_predictions_are_a_pandas_frame_with_the_index_and_the_ids(fitted, frames):
    nodes, _ = frames
    found = fitted.predict_frame(frames)
    assert list(found.columns) == ["node", "label", "probability", "p(no)", "p(yes)"]
    assert found.index.tolist() == nodes.index.tolist()
    assert found["node"].tolist() == nodes["id"].tolist()
    assert found["label"].tolist() == fitted.predict(frames).tolist()
    np.testing.assert_array_equal(found[["p(no)", "p(yes)"]], fitted.predict_proba(frames))
    np.testing.assert_array_equal(found["probability"], found[["p(no)", "p(yes)"]].max(axis=1))


@pytest.mark.parametrize("make", [pa.Table.from_pandas, lambda frame: Frame(pa.Table.from_pandas(frame))])
def test_predictions_of_arrow_frames_are_an_arrow_table(fitted, frames, make):
    given = tuple(make(frame.reset_index(drop=True)) for frame in frames)
    found = fitted.predict_frame(given)
    assert isinstance(found, pa.Table)
    assert found["node"].to_pylist() == frames[0]["id"].tolist()
    assert found["label"].to_pylist() == fitted.predict(frames).tolist()


def test_a_polars_frame_is_made_by_polars(monkeypatch):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    table = pa.table({"id": [1, 2]})
    assert frame_kind(polars.from_arrow(table)) == "polars"
    assert as_frame(table, "polars").equals(polars.from_arrow(table))


def test_a_graph_gives_a_pandas_frame_with_its_node_names(fitted, frames):
    graph = load_tables(*frames, label_column="label")
    assert fitted.predict_frame(graph)["node"].tolist() == list(graph.node_names)
    plain = csbm(0.9, nodes=40, features=4, seed=0)
    assert NewtonNetClassifier(**QUICK).fit(plain).predict_frame(plain)["node"].tolist() == list(range(40))


def test_an_analysis_gives_predictions_as_the_frame_that_came_in(frames):
    arrow = tuple(pa.Table.from_pandas(frame.reset_index(drop=True)) for frame in frames)
    found = analyse(*arrow, label_column="label", classifier=NewtonNetClassifier(**QUICK), folds=0)
    assert isinstance(found.predictions, pa.Table)
    assert isinstance(found.predict(*arrow).predictions, pa.Table)
    assert isinstance(found.predict(*frames).predictions, pd.DataFrame)


def test_the_karate_club_takes_three_lines():
    club = nx.karate_club_graph()
    model = NewtonNetClassifier(time_limit=3, threads=1, max_epochs=50).fit(club, "club")
    predicted = model.predict_frame(club)
    truth = [club.nodes[node]["club"] for node in club]
    assert predicted["node"].tolist() == list(club)
    assert (predicted["label"] == truth).mean() > 0.9
    assert set(model.classes_.tolist()) == {"Mr. Hi", "Officer"}


def test_attributes_of_a_networkx_graph_are_columns():
    friends = nx.Graph([("ann", "bob"), ("bob", "cem"), ("cem", "dee"), ("dee", "eve"), ("eve", "fay"), ("fay", "ann")])
    for place, node in enumerate(friends):
        friends.nodes[node].update(age=20 + 3 * place, town=("Bonn", "Ulm")[place % 2], team="ab"[place % 2])
    model = NewtonNetClassifier(**QUICK, folds=2).fit(friends, "team")
    assert model.feature_names_in_.tolist() == ["age", "town=Bonn", "town=Ulm"]
    assert model.predict_frame(friends)["node"].tolist() == ["ann", "bob", "cem", "dee", "eve", "fay"]


def test_cross_validation_takes_frames(frames):
    assert cross_validate(NewtonNetClassifier(**QUICK), frames, 2).scores.shape == (2,)


def test_clone_pickle_and_joblib_keep_a_model(fitted, frames, tmp_path):
    joblib.dump(fitted, tmp_path / "model.joblib")
    for same in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(same.predict_proba(frames), fitted.predict_proba(frames))
    assert clone(fitted).get_params() == fitted.get_params()


@pytest.mark.parametrize(
    "use",
    [
        lambda model, graph: cross_val_score(model, graph, graph.labels),
        lambda model, graph: GridSearchCV(model, {"patience": [5, 10]}).fit(graph, graph.labels),
        lambda model, graph: make_pipeline(StandardScaler(), model).fit(graph, graph.labels),
    ],
    ids=["cross_val_score", "GridSearchCV", "Pipeline"],
)
def test_what_cuts_rows_says_in_one_line_what_to_use(use):
    with pytest.raises(TypeError, match=r"^a graph cannot be cut into rows[^\n]*use newtonnet\.cross_validate[^\n]*$"):
        use(NewtonNetClassifier(**QUICK), csbm(0.9, nodes=40, features=4, seed=0))


def test_a_pipeline_of_the_classifier_alone_works():
    graph = csbm(0.9, nodes=40, features=4, seed=0)
    assert make_pipeline(NewtonNetClassifier(**QUICK)).fit(graph).predict(graph).shape == (40,)
