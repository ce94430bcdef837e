import csv
import json
import shutil
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from newtonnet import NewtonNetClassifier
from newtonnet.cli import app, run
from newtonnet.estimator.ensemble import Ensemble
from newtonnet.tables import Columns, read_tables

pytestmark = pytest.mark.usefixtures("two_folds")
FAST = ["--no-tune", "--max-epochs", "25", "--threads", "1", "--folds", "0"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, write):
    """Tables and the folder of a run on them; not to be changed."""
    folder = tmp_path_factory.mktemp("fitted")
    tables = write(folder / "tables")
    with redirect_stdout(StringIO()):
        assert run(app, ["fit", *tables.arguments, "--label-column", "kind", "--out", str(folder / "run"), *FAST]) == 0
    return tables, folder / "run"


@pytest.fixture
def copy(fitted, tmp_path):
    """The run's folder, to be damaged."""
    return shutil.copytree(fitted[1], tmp_path / "copy")


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


def test_a_loaded_model_predicts_the_same_bytes(fitted, copy, tmp_path):
    _, folder = fitted
    assert run(app, ["predict", str(folder), "--out", str(tmp_path / "again.csv")]) == 0
    assert (tmp_path / "again.csv").read_bytes() == (folder / "predictions.csv").read_bytes()
    (copy / "predictions.csv").unlink()
    assert run(app, ["predict", str(copy)]) == 0
    assert (copy / "predictions.csv").read_bytes() == (folder / "predictions.csv").read_bytes()


def test_the_same_tables_under_other_names_predict_the_same_bytes(fitted, tmp_path):
    tables, folder = fitted
    for name in ("nodes", "edges"):
        shutil.copy(tables.folder / f"{name}.csv", tmp_path / f"my {name}.txt")
    names = ["--nodes", str(tmp_path / "my nodes.txt"), "--edges", str(tmp_path / "my edges.txt")]
    assert run(app, ["predict", str(folder), *names, "--out", str(tmp_path / "again.csv")]) == 0
    assert (tmp_path / "again.csv").read_bytes() == (folder / "predictions.csv").read_bytes()


def test_labels_that_are_there_give_a_score(fitted, tmp_path, capsys):
    _, folder = fitted
    out = tmp_path / "out.csv"
    assert run(app, ["predict", str(folder), "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    known = [row for row in rows_of(out)[1:] if row[3]]
    assert found["score"] == pytest.approx(sum(row[1] == row[3] for row in known) / len(known))
    assert found["labelled"] == len(known)
    assert sum(found["predicted"].values()) == found["nodes"] == 60


def test_labels_of_one_class_give_no_area_under_a_roc_curve_and_the_reason_is_said(tables, tmp_path, capsys):
    command = ["fit", *tables.arguments, "--label-column", "kind", *FAST, "--metric", "roc_auc"]
    assert run(app, [*command, "--out", str(tmp_path / "run")]) == 0
    header, *rows = rows_of(tables.folder / "nodes.csv")
    with (tmp_path / "cats.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *([*row[:1], row[1] and "cat", *row[2:]] for row in rows)])
    names = ["--nodes", str(tmp_path / "cats.csv"), "--edges", str(tables.folder / "edges.csv")]
    known = sum(bool(row[1]) for row in rows)
    capsys.readouterr()
    assert run(app, ["predict", str(tmp_path / "run"), *names, "--out", str(tmp_path / "out.csv")]) == 0
    printed = capsys.readouterr().out
    assert "ROC-AUC" not in printed
    assert f"No score on {known} labelled nodes: roc_auc needs nodes of both classes" in printed
    assert run(app, ["predict", str(tmp_path / "run"), *names, "--out", str(tmp_path / "out.csv"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["score"] is None
    assert "both classes" in found["remark"]


def test_the_score_on_the_labels_of_the_fit_is_not_taken_for_quality(fitted, tmp_path, capsys):
    assert run(app, ["predict", str(fitted[1]), "--out", str(tmp_path / "out.csv")]) == 0
    printed, told = capsys.readouterr()
    assert "the model was fitted on these nodes, so this does not measure its quality" in " ".join(printed.split())
    assert "note" not in told
    tables, folder = fitted
    same = ["--nodes", str(tables.folder / "nodes.csv"), "--edges", str(tables.folder / "edges.csv")]
    assert run(app, ["predict", str(folder), *same, "--out", str(tmp_path / "out.csv"), "--json"]) == 0
    assert "does not measure its quality" in json.loads(capsys.readouterr().out)["remark"]


def test_probabilities_are_computed_once(fitted, tmp_path, monkeypatch):
    computed = []
    probabilities = Ensemble.probabilities

    def counted(self, graph, options):
        computed.append(graph)
        return probabilities(self, graph, options)

    monkeypatch.setattr(Ensemble, "probabilities", counted)
    assert run(app, ["predict", str(fitted[1]), "--out", str(tmp_path / "out.csv")]) == 0
    assert len(computed) == 1


def test_weights_that_the_fit_did_not_have_are_not_taken_up(fitted, tmp_path, capsys):
    tables, folder = fitted
    header, *rows = rows_of(tables.folder / "edges.csv")
    with (tmp_path / "edges.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([[*header, "weight"], *([*row, place] for place, row in enumerate(rows))])
    names = ["--nodes", str(tables.folder / "nodes.csv"), "--edges", str(tmp_path / "edges.csv")]
    assert run(app, ["predict", str(folder), *names, "--out", str(tmp_path / "out.csv")]) == 0
    assert (tmp_path / "out.csv").read_bytes() == (folder / "predictions.csv").read_bytes()
    assert "note: unused columns of the edges: weight" in capsys.readouterr().err


def test_another_table_without_labels_and_with_new_categories_is_read_by_the_stored_encoding(
    fitted, write, tmp_path, capsys
):
    tables, folder = fitted
    other = write(tmp_path / "other", nodes=30, seed=4, labels=False, colours="red blue")
    out = tmp_path / "new" / "out.csv"
    assert run(app, ["predict", str(folder), *other.arguments, "--out", str(out)]) == 0
    printed, told = capsys.readouterr()
    assert printed.startswith("30 nodes: cat ")
    assert "note: colour: 1 unseen value; encoded as no category" in told
    assert "note: not used by the model: same" in told
    assert "accuracy" not in printed
    rows = rows_of(out)[1:]
    assert [row[0] for row in rows] == other.ids
    assert {row[3] for row in rows} == {""}
    assert {row[1] for row in rows} == {"cat", "dog, big"}
    files = [[place / "nodes.csv", place / "edges.csv"] for place in (tables.folder, other.folder)]
    columns = Columns(id="id", label="kind", source="source", target="target", weight=None)
    learned = read_tables(*files[0], columns=columns).encoding
    bare = replace(columns, label=None)
    graph = read_tables(*files[1], columns=bare, encoding=learned, class_names=["cat", "dog, big"]).graph
    expected = NewtonNetClassifier.load(folder / "model.safetensors").predict_proba(graph)
    np.testing.assert_allclose([[float(cell) for cell in row[5:]] for row in rows], expected, atol=1.1e-6)


def test_columns_in_another_order_do_not_matter(fitted, tmp_path):
    tables, folder = fitted
    header, *rows = rows_of(tables.folder / "nodes.csv")
    order = [header.index(name) for name in ("colour", "size", "id", "kind")]
    with (tmp_path / "nodes.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([row[i] for i in order] for row in (header, *rows))
    names = ["--nodes", str(tmp_path / "nodes.csv"), "--edges", str(tables.folder / "edges.csv")]
    assert run(app, ["predict", str(folder), *names, "--out", str(tmp_path / "out.csv")]) == 0
    assert (tmp_path / "out.csv").read_bytes() == (folder / "predictions.csv").read_bytes()


def test_a_model_bound_to_its_graph_refuses_another_and_a_transferable_one_does_not(write, tmp_path, capsys, one_line):
    tables, other = write(tmp_path / "tables"), write(tmp_path / "other", nodes=30, seed=4)
    command = ["fit", *tables.arguments, "--label-column", "kind", *FAST]
    assert run(app, [*command, "--out", str(tmp_path / "bound"), "--set", "branch=4"]) == 0
    assert (
        "tied to the training graph, since it has weights, or eigenvectors, for every node. Fit with --transferable"
        in " ".join(capsys.readouterr().out.split())
    )
    out = tmp_path / "out.csv"
    assert run(app, ["predict", str(tmp_path / "bound"), "--out", str(out)]) == 0
    assert out.read_bytes() == (tmp_path / "bound/predictions.csv").read_bytes()
    out.unlink()
    capsys.readouterr()
    assert run(app, ["predict", str(tmp_path / "bound"), *other.arguments, "--out", str(out)]) == 2
    one_line("fit with --transferable")
    header, *rows = rows_of(tables.folder / "nodes.csv")
    with (tmp_path / "turned.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *reversed(rows)])
    turned = ["--nodes", str(tmp_path / "turned.csv"), "--edges", str(tables.folder / "edges.csv")]
    assert run(app, ["predict", str(tmp_path / "bound"), *turned, "--out", str(out)]) == 2
    one_line("fit with --transferable")
    assert not out.exists()
    assert run(app, [*command, "--out", str(tmp_path / "free"), "--transferable"]) == 0
    assert "tied to the training graph" not in capsys.readouterr().out
    assert run(app, ["predict", str(tmp_path / "free"), *other.arguments, "--out", str(out)]) == 0


def test_nodes_known_by_their_place_only_are_not_taken_for_others(tables, tmp_path, capsys, one_line):
    ignored = [word for name in ("size", "colour", "same") for word in ("--ignore", name)]
    command = ["fit", *tables.arguments, "--label-column", "kind", *FAST, *ignored, "--out", str(tmp_path / "run")]
    assert run(app, [*command, "--transferable"]) == 2
    one_line("transferable needs features")
    assert run(app, command) == 0
    assert run(app, ["predict", str(tmp_path / "run")]) == 0
    text = (tables.folder / "nodes.csv").read_text().replace("n20", "n020")
    (tmp_path / "nodes.csv").write_text(text)
    edges = (tables.folder / "edges.csv").read_text().replace("n20", "n020")
    (tmp_path / "edges.csv").write_text(edges)
    capsys.readouterr()
    names = ["--nodes", str(tmp_path / "nodes.csv"), "--edges", str(tmp_path / "edges.csv")]
    assert run(app, ["predict", str(tmp_path / "run"), *names, "--out", str(tmp_path / "out.csv")]) == 2
    one_line("it cannot predict on others")


def test_the_tables_of_the_fit_are_refused_once_they_are_changed_or_gone(tables, tmp_path, capsys, one_line):
    out, edges = tmp_path / "run", tables.folder / "edges.csv"
    assert run(app, ["fit", *tables.arguments, "--label-column", "kind", "--out", str(out), *FAST]) == 0
    before = (out / "predictions.csv").read_bytes()
    for change in ("changed", "gone"):
        if change == "gone":
            edges.unlink()
        else:
            edges.write_text(edges.read_text() + "n20,n21\n")
        capsys.readouterr()
        assert run(app, ["predict", str(out)]) == 2
        one_line(change)
        assert (out / "predictions.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("model.safetensors", lambda path: path.unlink(), "is not a file"),
        ("model.safetensors", lambda path: path.write_bytes(path.read_bytes()[:-100]), "cut short"),
        ("model.safetensors", lambda path: _edit(path), "was changed after it was saved"),
        ("model.safetensors", lambda path: _from_the_future(path), "install a newer newtonnet"),
        ("model.safetensors", lambda path: _another_seed(path), "is not the model that run.json describes"),
        ("run.json", lambda path: path.unlink(), "is not a run folder"),
        ("run.json", lambda path: path.write_text(path.read_text()[:200]), "cannot be read"),
        ("run.json", lambda path: path.write_text("{}"), "cannot be read"),
        ("run.json", lambda path: path.write_text(path.read_text().replace('"cat"', '"cow"')), "is not the model"),
        (
            "run.json",
            lambda path: path.write_text(path.read_text().replace('"format": 1', '"format": 2')),
            "newer newtonnet",
        ),
    ],
)
def test_a_damaged_or_newer_folder_is_refused_in_one_line(file, damage, message, copy, tmp_path, one_line):
    damage(copy / file)
    assert run(app, ["predict", str(copy), "--out", str(tmp_path / "out.csv")]) == 2
    one_line(message)
    assert not (tmp_path / "out.csv").exists()


def _edit(path):
    with safe_open(path, framework="pt") as file:
        header = file.metadata()
    tensors = load_file(path)
    first = sorted(tensors)[0]
    save_file({**tensors, first: tensors[first] + 1}, path, metadata=header)


def _from_the_future(path):
    with safe_open(path, framework="pt") as file:
        header = file.metadata()
    described = {**json.loads(header["newtonnet"]), "format": 99}
    save_file(load_file(path), path, metadata={**header, "newtonnet": json.dumps(described)})


def _another_seed(path):
    NewtonNetClassifier.load(path).set_params(random_state=77).save(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing argument"),
        (["nowhere"], "nowhere is not a run folder"),
        (["RUN", "--nodes", "NODES"], "--nodes and --edges belong together"),
        (["RUN", "--edges", "EDGES"], "--nodes and --edges belong together"),
        (["RUN", "--nodes", "NODES", "--edges", "EDGES"], "with --out"),
        (["RUN", "--nodes", "nowhere.csv", "--edges", "EDGES", "--out", "o.csv"], "there is no file nowhere.csv"),
        (["RUN", "--nodes", "EDGES", "--edges", "EDGES", "--out", "o.csv"], "has no column 'id'"),
        (["RUN", "--nodes", "NODES", "--edges", "NODES", "--out", "o.csv"], "has no column 'source'"),
        (
            ["RUN", "--nodes", "bare.csv", "--edges", "EDGES", "--out", "o.csv"],
            "bare.csv has no column 'size', but the model was fitted with it; found: ",
        ),
        (
            ["RUN", "--nodes", "strange.csv", "--edges", "none.csv", "--out", "o.csv"],
            "known: cat, dog, big; leave the cell blank, or the column out",
        ),
        (
            ["RUN", "--nodes", "texts.csv", "--edges", "none.csv", "--out", "o.csv"],
            "line 3 of texts.csv holds 'tall' in",
        ),
        (["RUN", "--out", "no/such/o.csv"], "there is no folder no; create it, or name another place"),
        (["RUN", "--out", "."], "is a folder"),
        (["RUN", "--out", "RUN/run.json"], "one of the tables or of the run's own files"),
        (["RUN", "--out", "RUN/model.safetensors"], "one of the tables or of the run's own files"),
        (["RUN", "--out", "NODES"], "one of the tables or of the run's own files"),
        (["RUN", "--nodes", "NODES", "--edges", "EDGES", "--out", "EDGES"], "would be overwritten"),
        (["RUN", "--nodes", "NODES", "--edges", "EDGES", "--out", "RUN/predictions.csv"], "would be overwritten"),
        (["NODES"], "is not a run folder"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(arguments, message, fitted, tmp_path, one_line, monkeypatch):
    tables, folder = fitted
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bare.csv").write_text("id,colour\na,red\n")
    (tmp_path / "strange.csv").write_text("id,kind,size,colour\na,fish,1,red\n")
    (tmp_path / "none.csv").write_text("source,target\n")
    (tmp_path / "texts.csv").write_text("id,size,colour\na,1,red\nb,tall,red\n")
    stand_ins = {"RUN": folder, "NODES": tables.folder / "nodes.csv", "EDGES": tables.folder / "edges.csv"}
    for name, path in stand_ins.items():
        arguments = [str(path) + word.removeprefix(name) if word.startswith(name) else word for word in arguments]
    before = {path: path.read_bytes() for place in (folder, tables.folder) for path in place.iterdir()}
    assert run(app, ["predict", *arguments]) == 2
    one_line(message)
    assert {path: path.read_bytes() for path in before} == before
    assert not (tmp_path / "o.csv").exists()


def test_nodes_of_the_fit_do_not_speak_for_new_ones(fitted, tmp_path, capsys):
    tables, folder = fitted
    text = (tables.folder / "nodes.csv").read_text(encoding="utf-8")
    known = sum(bool(row["kind"]) for row in csv.DictReader(text.splitlines(keepends=True)))
    more = tmp_path / "more.csv"
    more.write_text(text + "new1,cat,1.5,red,3\nnew2,cat,1.6,red,3\nnew3,,0.1,green,3\n", encoding="utf-8")
    names = ["--nodes", str(more), "--edges", str(tables.folder / "edges.csv"), "--out", str(tmp_path / "out.csv")]
    assert run(app, ["predict", str(folder), *names]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert f"on 2 labelled nodes; {known} nodes of the fit left out" in printed
    assert run(app, ["predict", str(folder), *names, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["labelled"], found["judged"]) == (known + 2, 2)


def test_the_same_ids_with_other_classes_are_other_nodes(fitted, tmp_path, capsys):
    tables, folder = fitted
    with (tables.folder / "nodes.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    other = {"cat": "dog, big", "dog, big": "cat", "": ""}
    with (tmp_path / "other.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows({**row, "kind": other[row["kind"]]} for row in rows)
    names = ["--nodes", str(tmp_path / "other.csv"), "--edges", str(tables.folder / "edges.csv")]
    assert run(app, ["predict", str(folder), *names, "--out", str(tmp_path / "out.csv"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["judged"] == found["labelled"]
    assert found["remark"] == ""


@pytest.mark.parametrize(("more", "warned"), [([], True), (["--transferable"], False)])
def test_a_model_that_reads_labels_warns_on_another_graph(more, warned, fitted, tmp_path, capsys):
    tables, folder = fitted[0], str(tmp_path / "run")
    words = ["fit", *tables.arguments, "--label-column", "kind", "--out", folder, *FAST, "--model", "ridge", *more]
    assert run(app, [*words, "--no-compare"]) == 0
    edges = (tables.folder / "edges.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "fewer.csv").write_text("".join(edges[:-5]), encoding="utf-8")
    capsys.readouterr()
    said = []
    for name in (tables.folder / "edges.csv", tmp_path / "fewer.csv"):
        names = ["--nodes", str(tables.folder / "nodes.csv"), "--edges", str(name), "--out", str(tmp_path / "out.csv")]
        assert run(app, ["predict", folder, *names]) == 0
        said.append("note: the model reads the labels that were known at the fit" in capsys.readouterr().err)
    assert said == [False, warned]
