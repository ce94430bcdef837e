"""``newtonnet.analyse`` does in Python what ``newtonnet fit`` and ``newtonnet predict`` do on the command line."""

import json
import math
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import newtonnet
from newtonnet import Analysis, NewtonNetClassifier, TableOptions, analyse
from newtonnet.analysis import FILES, workflow
from newtonnet.cli import app, run

pytestmark = pytest.mark.usefixtures("two_folds", "few_trees")
QUICK = {"tune": "off", "max_epochs": 10, "threads": 1}


def frames(tables):
    options = {"keep_default_na": False, "dtype": {"id": str, "source": str, "target": str}}
    return tuple(pd.read_csv(tables.folder / f"{name}.csv", **options) for name in ("nodes", "edges"))


def paths(tables):
    return tables.folder / "nodes.csv", tables.folder / "edges.csv"


def quick(source, **options):
    given = {"classifier": NewtonNetClassifier(**QUICK), "folds": 0, **options}
    return analyse(*paths(source), label_column="kind", **given)


@pytest.fixture(scope="module")
def analysis(tmp_path_factory, write):
    """Tables and their analysis with folds, nothing of it on disk."""
    tables = write(tmp_path_factory.mktemp("analysis") / "tables")
    return tables, quick(tables, folds=2)


def test_it_gives_what_the_command_gives(analysis, tmp_path, capsys):
    tables, found = analysis
    words = ["fit", *tables.arguments, "--label-column", "kind", "--out", str(tmp_path / "run"), "--json"]
    assert run(app, [*words, "--no-tune", "--max-epochs", "10", "--threads", "1", "--folds", "2"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert found.summary.keys() == printed.keys()
    for name in printed.keys() - {"seconds", "folder", "cross_validation", "others"}:
        assert found.summary[name] == printed[name], name
    assert found.summary["cross_validation"]["splits"] == printed["cross_validation"]["splits"]
    assert found.summary["others"].keys() == printed["others"].keys()
    assert found.summary["folder"] is None
    found.save(tmp_path / "saved")
    same = ("predictions.csv", "model.safetensors")
    assert {path.name for path in (tmp_path / "saved").iterdir()} == set(FILES)
    assert (tmp_path / "saved" / same[0]).read_bytes() == (tmp_path / "run" / same[0]).read_bytes()
    written = Analysis.load(tmp_path / "run")
    assert written.run.columns == found.run.columns
    assert written.run.ids == found.run.ids
    assert written.run.arguments["label_column"] == "kind"


def test_the_predictions_are_a_frame_with_the_columns_of_the_file(analysis):
    tables, found = analysis
    frame = found.predictions
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["node", "label", "probability", "known", "prediction_set", "p(cat)", "p(dog, big)"]
    assert frame["node"].tolist() == tables.ids
    np.testing.assert_allclose(frame[["p(cat)", "p(dog, big)"]].sum(axis=1), 1, atol=1e-12)
    nodes, _ = frames(tables)
    assert frame["known"].isna().tolist() == (nodes["kind"] == "").tolist()


def test_without_pandas_the_predictions_are_an_arrow_table(analysis, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(analysis[1].predictions, pa.Table)


def test_a_saved_analysis_is_loaded_with_all_it_has(analysis, tmp_path):
    _, found = analysis
    found.save(tmp_path / "run")
    loaded = Analysis.load(tmp_path / "run")
    pd.testing.assert_frame_equal(loaded.predictions, found.predictions)
    assert loaded.summary == {**found.summary, "folder": str(tmp_path / "run")}
    loaded.report(tmp_path / "again.html")
    found.report(tmp_path / "page.html")
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "page.html").read_bytes()
    loaded.save(tmp_path / "copy")
    assert Analysis.load(tmp_path / "copy").summary["headline"] == found.summary["headline"]


def test_a_folder_of_others_is_kept_unless_forced(analysis, write, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("mine")
    with pytest.raises(ValueError, match="is not empty and not a run folder"):
        analysis[1].save(tmp_path / "thesis")
    analysis[1].save(tmp_path / "thesis", force=True)
    other = write(tmp_path / "other", seed=1)
    with pytest.raises(ValueError, match="holds the run of"):
        quick(other, folder=tmp_path / "thesis")
    in_memory = analyse(*frames(other), label_column="kind", classifier=NewtonNetClassifier(**QUICK), folds=0)
    with pytest.raises(ValueError, match="holds the run of"):
        in_memory.save(tmp_path / "thesis")


def test_frames_and_arrow_tables_give_the_model_of_their_files(analysis, tmp_path):
    tables, found = analysis
    nodes, edges = frames(tables)
    for given in ((nodes, edges), (pa.Table.from_pandas(nodes), pa.Table.from_pandas(edges))):
        one = analyse(*given, label_column="kind", classifier=NewtonNetClassifier(**QUICK), folds=0)
        table = one.predictions if given[0] is nodes else one.predictions.to_pandas()  # as the tables came
        pd.testing.assert_frame_equal(table, found.predictions)
    one.save(tmp_path / "run")
    loaded = Analysis.load(tmp_path / "run")
    with pytest.raises(ValueError, match="fitted on tables in memory; give nodes and edges"):
        loaded.predict()
    pd.testing.assert_frame_equal(loaded.predict(nodes, edges).predictions, found.predictions)
    assert run(app, ["predict", str(tmp_path / "run")]) == 2


def test_other_nodes_in_memory_are_not_taken_for_those_of_the_fit(analysis, write, tmp_path):
    one = analyse(*frames(analysis[0]), label_column="kind", classifier=NewtonNetClassifier(**QUICK), folds=0)
    nodes, edges = frames(write(tmp_path / "other", nodes=30, seed=4, colours="red blue"))
    nodes["id"], edges["source"], edges["target"] = (
        "new " + column for column in (nodes["id"], edges["source"], edges["target"])
    )
    assert one.predict(nodes, edges).summary["remark"] == ""
    assert "does not measure its quality" in one.predict(*frames(analysis[0])).summary["remark"]


def test_predict_reads_other_tables_by_the_stored_encoding(analysis, write, tmp_path, capsys):
    _, found = analysis
    other = write(tmp_path / "other", nodes=30, seed=4, colours="red blue")
    prediction = found.predict(*paths(other))
    assert prediction.predictions["node"].tolist() == other.ids
    assert prediction.summary["nodes"] == sum(prediction.summary["predicted"].values()) == 30
    assert 0 <= prediction.summary["score"] <= 1
    assert any("colour" in note for note in prediction.notes)
    found.save(tmp_path / "run")
    prediction.save(tmp_path / "python.csv")
    words = ["predict", str(tmp_path / "run"), *other.arguments, "--out", str(tmp_path / "command.csv"), "--json"]
    assert run(app, words) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {"out": str(tmp_path / "command.csv"), **prediction.summary} == printed
    assert (tmp_path / "python.csv").read_bytes() == (tmp_path / "command.csv").read_bytes()
    with pytest.raises(ValueError, match="belong together"):
        found.predict(other.folder / "nodes.csv")


def test_options_of_tables_and_classifier_are_used_and_the_classifier_is_not_changed(analysis):
    tables, _ = analysis
    classifier = NewtonNetClassifier("gcn", **QUICK)
    found = quick(tables, classifier=classifier, tables=TableOptions(ignore=("colour",)))
    assert [column.name for column in found.run.encoding.columns] == ["size"]
    assert (found.model.model, found.summary["model"]) == ("gcn", "gcn")
    assert not hasattr(classifier, "ensemble_")
    assert classifier.get_params() == NewtonNetClassifier("gcn", **QUICK).get_params()


def test_the_page_shows_the_call_and_its_title(analysis, tmp_path):
    _, found = analysis
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "newtonnet.analyse(" in page
    assert "What was learned from nodes.csv" in page


def test_progress_and_messages_are_reported(analysis, tmp_path):
    tables, _ = analysis
    states, lines = [], []
    quick(tables, folds=2, compare=False, folder=tmp_path / "run", on_epoch=states.append, message=lines.append)
    steps = list(dict.fromkeys(state.step for state in states))
    folds = [f"newtonnet, fold {number} of 2" for number in (1, 2)]
    assert steps == ["reading the tables", "the model", *folds, "the page"]
    assert all(0 <= state.share <= 1 and state.left >= 0 for state in states)
    assert not any(math.isnan(state.best) for state in states if state.activity)
    assert lines[0].startswith("memory: about")
    assert any(line.startswith("numbers: size") for line in lines)
    assert lines[-1] == f"model and predictions are in {tmp_path / 'run'}"


def test_the_time_of_an_analysis_has_that_of_its_page(analysis, monkeypatch):
    shown = []

    def slow(findings):
        shown.append(findings.seconds)
        time.sleep(0.1)
        return ""

    monkeypatch.setattr(workflow, "render_findings", slow)
    assert quick(analysis[0]).summary["seconds"] >= shown[0] + 0.1


def test_the_model_is_written_before_it_is_evaluated(analysis, tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError

    monkeypatch.setattr(workflow, "evaluate", fail)
    with pytest.raises(ZeroDivisionError):
        quick(analysis[0], folder=tmp_path / "run")
    unfinished = Analysis.load(tmp_path / "run")
    assert not unfinished.run.finished
    assert len(unfinished.predictions) == 60
    with pytest.raises(ValueError, match=r"has no report.html: the run ended before it was written; fit again"):
        unfinished.report(tmp_path / "page.html")


def test_ctrl_c_returns_what_is_done(analysis):
    def interrupt(state):
        if state.step == "the model" and state.activity and not pressed:
            pressed.append(state)
            signal.raise_signal(signal.SIGINT)

    pressed = []
    found = quick(analysis[0], folds=3, on_epoch=interrupt)
    assert found.summary["stopped"]
    assert found.summary["cross_validation"] is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_names_of_the_package_are_loaded_when_they_are_used():
    assert {"analyse", "Analysis", "NewtonNetClassifier", "__version__"} <= set(dir(newtonnet))
    for name in newtonnet.__all__:
        assert getattr(newtonnet, name) is not None
    assert newtonnet.graphs.Graph is newtonnet.Graph
    with pytest.raises(AttributeError, match="no attribute 'analyze'"):
        _ = newtonnet.analyze


@pytest.fixture(scope="module")
def fresh():
    """What a new process finds that uses two packages by name and makes no page."""
    code = "import newtonnet, sys; print(newtonnet.tables.TableOptions().standardise, newtonnet.report.__name__);"
    code += "print(any(name.split('.')[0] == 'plotly' for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_packages_are_loaded_when_they_are_used(fresh):
    assert fresh[0] == "True newtonnet.report"


def test_plotly_is_loaded_only_when_a_page_is_made(fresh):
    assert fresh[1] == "False"


def test_a_time_limit_is_a_time(analysis):
    for wrong in (0, "20s"):
        with pytest.raises(ValueError, match=f"time_limit must be a number of seconds above 0, got {wrong!r}"):
            quick(analysis[0], time_limit=wrong)


def test_directed_edges_stay_directed_when_tables_are_read_again(analysis):
    tables, found = analysis
    directed = quick(tables, tables=TableOptions(directed=True))
    assert directed.summary["edges"] > found.summary["edges"]
    pd.testing.assert_frame_equal(directed.predict().predictions, directed.predictions)


def test_the_out_of_core_regime_reads_files_only(analysis):
    classifier = NewtonNetClassifier(regime="out-of-core", max_epochs=3, threads=1)
    with pytest.raises(TypeError, match="reads tables from files; give paths of CSV or Parquet files"):
        analyse(*frames(analysis[0]), label_column="kind", classifier=classifier)
    found = quick(analysis[0], classifier=classifier)
    assert found.model.store is None
    pd.testing.assert_frame_equal(found.predict().predictions, found.predictions)


def test_edges_to_outsiders_are_context_for_the_nodes_of_the_table(analysis, tmp_path):
    tables, _ = analysis
    nodes, edges = frames(tables)
    more = pd.DataFrame({"source": [tables.ids[0], "outside"], "target": ["outside", tables.ids[1]]})
    outside = pd.concat([edges, more])
    options = TableOptions(unknown_edges="add")
    found = analyse(
        nodes, outside, label_column="kind", tables=options, classifier=NewtonNetClassifier(**QUICK), folds=0
    )
    assert found.summary["nodes"] == len(nodes) + 1
    assert found.predictions["node"].tolist() == tables.ids
    assert "outside" not in {one["node"] for one in found.findings.explained}
    found.save(tmp_path / "run")
    again = Analysis.load(tmp_path / "run")
    assert again.predict(nodes, outside).predictions["node"].tolist() == tables.ids  # as in the fit
    dropped = again.predict(nodes, outside, unknown_edges="drop")
    assert dropped.summary["nodes"] == len(nodes)
    assert any("2 of" in note and "were dropped" in note for note in dropped.notes)
    with pytest.raises(ValueError, match="unknown node 'outside'"):
        again.predict(nodes, outside, unknown_edges="error")


def test_an_analysis_shows_its_headline_scores_and_filter(analysis, tmp_path):
    _, found = analysis
    shown = found._repr_html_()
    assert found.summary["headline"].split()[0] in shown
    assert "on held-out nodes" in shown
    assert "<svg" in shown
    found.save(tmp_path / "run")
    assert Analysis.load(tmp_path / "run")._repr_html_() == shown


def test_explained_nodes_show_the_names_of_nodes_and_features(analysis):
    tables, found = analysis
    shown = found.explain([found.predictions["node"][0]], *paths(tables))._repr_html_()
    assert str(found.predictions["node"][0]) in shown
    assert "size" in shown
