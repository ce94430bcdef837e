import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import redirect_stdout
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from newtonnet import NewtonNetClassifier, __version__
from newtonnet.analysis.run_folder import round_rows
from newtonnet.cli import app, run
from newtonnet.tables import load_tables
from newtonnet.training import Record, Run

pytestmark = pytest.mark.usefixtures("two_folds", "few_trees")
FAST = ["--no-tune", "--max-epochs", "25", "--threads", "1", "--folds", "0"]
THREE = ["--nodes", "three.csv", "--edges", "none.csv"]
FILES = {"model.safetensors", "model_card.md", "predictions.csv", "records.jsonl", "report.html", "run.json"}


def fit(tables, out, *more):
    return run(app, ["fit", *tables.arguments, "--label-column", "kind", "--out", str(out), *more])


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


@pytest.fixture(scope="module")
def whole(tmp_path_factory, write):
    """One whole run, with folds and comparisons: its tables, its folder, and what it printed."""
    folder = tmp_path_factory.mktemp("whole")
    tables = write(folder / "tables")
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert fit(tables, folder / "run", *FAST, "--folds", "2", "--title", "Cats & <dogs>", "--json") == 0
    return tables, folder / "run", printed.getvalue()


@pytest.fixture(scope="module")
def printed(tmp_path_factory, write):
    """What a person reads after a run without comparisons, by its options."""
    folder = tmp_path_factory.mktemp("printed")
    tables = write(folder / "tables")

    @cache
    def fit_once(*more):
        with redirect_stdout(io.StringIO()) as text:
            assert fit(tables, folder / "".join(("of", *more)) / "run", *FAST, "--no-compare", *more) == 0
        return text.getvalue()

    return fit_once


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


def test_every_node_is_predicted_in_the_order_of_its_file_under_its_own_id(whole):
    tables, folder, _ = whole
    header, *rows = rows_of(folder / "predictions.csv")
    assert header == ["node", "label", "probability", "known", "prediction_set", "p(cat)", "p(dog, big)"]
    assert [row[0] for row in rows] == tables.ids
    given = rows_of(tables.folder / "nodes.csv")[1:]
    assert [row[3] for row in rows] == [row[1] for row in given]
    for row in rows:
        shares = dict(zip(("cat", "dog, big"), map(float, row[5:]), strict=True))
        assert row[1] == max(shares, key=shares.get)
        assert float(row[2]) == shares[row[1]]
        assert all(len(cell) == 8 for cell in (row[2], *row[5:]))
        assert sum(round(1e6 * share) for share in shares.values()) == 1_000_000


def test_the_predictions_are_those_of_the_model(whole):
    tables, folder, _ = whole
    classifier = NewtonNetClassifier.load(folder / "model.safetensors")
    graph = load_tables(tables.folder / "nodes.csv", tables.folder / "edges.csv", label_column="kind")
    shares = np.array([[float(cell) for cell in row[5:]] for row in rows_of(folder / "predictions.csv")[1:]])
    np.testing.assert_allclose(shares, classifier.predict_proba(graph), atol=1.1e-6)


def test_the_folder_holds_the_run_its_records_and_the_page(whole):
    tables, folder, _ = whole
    assert {path.name for path in folder.iterdir()} == FILES
    described = json.loads((folder / "run.json").read_text())
    assert described["format"] == 1
    assert described["finished"]
    assert described["class_names"] == ["cat", "dog, big"]
    assert described["columns"] == {
        "id": "id",
        "label": "kind",
        "source": "source",
        "target": "target",
        "weight": None,
        "unused": [],
        "split": None,
    }
    assert [column["name"] for column in described["encoding"]] == ["size", "colour"]
    assert described["arguments"]["max_epochs"] == 25
    assert described["tables"]["nodes"]["path"] == str(tables.folder / "nodes.csv")
    records = [Record.from_json(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    assert {record.outcome.epochs for record in records} == {25}
    page = (folder / "report.html").read_text()
    assert "Cats &amp; &lt;dogs&gt;" in page
    assert "--max-epochs 25" in page
    assert "mlp" in page
    assert "Columns not used as features (one value only): same." in page


def test_the_last_line_is_json_with_scores_beside_others(whole):
    _, folder, printed = whole
    found = json.loads(printed.splitlines()[-1])
    low, high = found["cross_validation"]["interval"]
    assert 0 <= low < found["cross_validation"]["mean"] < high <= 1
    assert found["cross_validation"]["mean"] == pytest.approx(np.mean(found["cross_validation"]["splits"]))
    assert len(found["cross_validation"]["splits"]) == 2
    assert list(found["others"]) == ["mlp", "tuned-gcn", "boosting"]
    assert found["cross_validation"]["mean"] > found["guess"]
    assert found["homophily"]["known"] > found["homophily"]["chance"]
    assert (found["stopped"], found["folder"]) == (False, str(folder))
    assert {key: found[key] for key in found if key != "folder"} == json.loads((folder / "run.json").read_text())[
        "outcome"
    ]


def test_a_person_reads_scores_a_sentence_a_picture_and_where_the_files_are(printed):
    out = printed("--folds", "2")
    for expected in (
        "accuracy on held-out nodes",
        "For each of 2 folds, the model was fitted again without its nodes.",
        "largest class",
        "Neighbours share a label",
        "low  ",
        "run:",
    ):
        assert expected in out
    assert "mlp" not in out


def with_parts(tables, folder):
    """The same tables with a column that says train, validation or test."""
    rows = rows_of(tables.folder / "nodes.csv")
    words = ["train", "Validation", "test", "train", ""]
    folder.mkdir()
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([*row, "part" if i == 0 else words[i % 5]] for i, row in enumerate(rows))
    return ["--nodes", str(folder / "nodes.csv"), "--edges", str(tables.folder / "edges.csv")], rows


def test_a_split_column_says_who_trains_who_chooses_and_whom_the_page_reports(tables, tmp_path, capsys):
    given, rows = with_parts(tables, tmp_path / "own")
    words = [
        "fit",
        *given,
        "--label-column",
        "kind",
        "--split-column",
        "part",
        "--out",
        str(tmp_path / "run"),
        "--json",
    ]
    assert run(app, [*words, "--no-tune", "--max-epochs", "25", "--threads", "1", "--no-compare"]) == 0
    printed = json.loads(capsys.readouterr().out)
    place = rows[0].index("kind")
    tested = sum(1 for i, row in enumerate(rows) if i and i % 5 == 2 and row[place])
    assert printed["method"].startswith(f"The kept model was evaluated on the {tested} test nodes")
    assert len(printed["cross_validation"]["splits"]) == 1
    record = Record.from_json((tmp_path / "run" / "records.jsonl").read_text().splitlines()[0])
    assert record.split["validation"] == sum(1 for i, row in enumerate(rows) if i and i % 5 == 1 and row[place])
    described = json.loads((tmp_path / "run" / "run.json").read_text())
    assert [column["name"] for column in described["encoding"]] == ["size", "colour"], "the parts are no feature"
    assert run(app, ["predict", str(tmp_path / "run"), "--json"]) == 0
    beside = sum(1 for i, row in enumerate(rows) if i and i % 5 in (2, 4) and row[place])
    assert json.loads(capsys.readouterr().out)["judged"] == beside, "test nodes and those of no part were not fitted"


def test_an_unknown_part_is_refused(tables, tmp_path, capsys):
    given, _ = with_parts(tables, tmp_path / "own")
    nodes = tmp_path / "own" / "nodes.csv"
    nodes.write_text(nodes.read_text().replace("Validation", "holdout"))
    words = ["fit", *given, "--label-column", "kind", "--split-column", "part", "--out", str(tmp_path / "run")]
    assert run(app, words) == 2
    assert "has 'holdout' in column 'part'; expected train, validation or test" in capsys.readouterr().err


def test_where_there_is_no_time_for_folds_the_kept_model_is_evaluated_itself(tables, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("newtonnet.analysis.evaluation.can_refit", lambda *_: False)
    words = [word for word in FAST if word not in ("--folds", "0")]
    assert fit(tables, tmp_path / "run", *words, "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["method"].startswith("Each of 42 labelled nodes was predicted by the members of the kept model")
    assert printed["cross_validation"]["mean"] == pytest.approx(printed["validation"])
    low, high = printed["cross_validation"]["interval"]
    assert 0 < low < printed["cross_validation"]["mean"] < high
    assert set(printed["others"]) == {"mlp", "tuned-gcn", "boosting"}


def test_the_last_line_has_the_time_of_the_whole_command_and_the_files(tables, tmp_path, capsys, monkeypatch):
    began = time.monotonic() - 75.0  # the time includes that of loading the program
    clock = iter([began, began + 75.0])
    monkeypatch.setattr(sys.modules["newtonnet.cli.fit"], "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert fit(tables, tmp_path / "run", *FAST, "--no-compare") == 0
    told = capsys.readouterr()
    last = told.out.splitlines()[-1]
    assert re.search(
        r"^first predictions after 1 min \d+ s: newtonnet, accuracy [\d.]+% out of sample$", told.err, re.M
    )
    opened = "report.html, predictions.csv, model.safetensors, model_card.md"
    assert last == f"done in 1 min 15 s; in {tmp_path / 'run'}: {opened}"
    assert set(opened.split(", ")) <= FILES


@pytest.mark.parametrize("model", ["mlp", "gcn", "bernnet"])
def test_any_model_of_the_zoo_will_do(model, tables, tmp_path, capsys):
    assert fit(tables, tmp_path / "run", *FAST, "--model", model, "--json") == 0
    assert json.loads(capsys.readouterr().out)["model"] == model
    assert (tmp_path / "run/report.html").exists()


def test_the_same_seed_gives_the_same_predictions_and_another_one_others(tables, tmp_path):
    texts = []
    for number, seed in enumerate(("1", "1", "2")):
        assert fit(tables, tmp_path / f"run{number}", *FAST, "--seed", seed) == 0
        texts.append((tmp_path / f"run{number}/predictions.csv").read_bytes())
    assert texts[0] == texts[1] != texts[2]


def test_options_of_the_model_reach_it(tables, tmp_path):
    assert fit(tables, tmp_path / "run", *FAST, "--set", "degree=3", "--set", "gamma1=2.5") == 0
    classifier = NewtonNetClassifier.load(tmp_path / "run/model.safetensors")
    assert classifier.settings_[0]["degree"] == 3
    assert list(classifier.settings_[0]["gammas"]) == [2.5, 1.0, 1.0]


def test_a_refit_that_fails_leaves_the_older_run_whole(tables, tmp_path, monkeypatch):
    out = tmp_path / "run"
    assert fit(tables, out, *FAST) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (out / "mine.txt").write_text("kept")
    with monkeypatch.context() as patch:
        patch.setattr("newtonnet.analysis.workflow.evaluate", _fail)
        with pytest.raises(ZeroDivisionError):
            fit(tables, out, *FAST, "--seed", "5")
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before | {"mine.txt": b"kept"}
    assert fit(tables, out, *FAST, "--seed", "5") == 0
    assert {path.name for path in out.iterdir()} == FILES | {"mine.txt"}
    assert (out / "predictions.csv").read_bytes() != before["predictions.csv"]


def test_an_unfinished_run_and_its_page_are_replaced_as_soon_as_there_is_a_model(tables, tmp_path, monkeypatch):
    out = tmp_path / "run"
    monkeypatch.setattr("newtonnet.analysis.workflow.evaluate", _fail)
    for seed in ("5", "6"):
        with pytest.raises(ZeroDivisionError):
            fit(tables, out, *FAST, "--seed", seed)
        assert {path.name for path in out.iterdir()} == FILES - {"report.html"}
        described = json.loads((out / "run.json").read_text())
        assert not described["finished"]
        assert described["arguments"]["seed"] == int(seed)


def _fail(*arguments, **options):
    raise ZeroDivisionError


def test_the_run_of_other_tables_is_kept_unless_forced(write, tmp_path, capsys):
    first, second, out = write(tmp_path / "a"), write(tmp_path / "b", seed=1), tmp_path / "run"
    assert fit(first, out, *FAST) == 0
    assert fit(first, out, *FAST) == 0
    before = (out / "model.safetensors").read_bytes()
    assert fit(second, out, *FAST) == 2
    assert "holds the run of" in capsys.readouterr().err
    assert (out / "model.safetensors").read_bytes() == before
    assert fit(second, out, *FAST, "--force") == 0
    assert (out / "model.safetensors").read_bytes() != before


def test_a_folder_that_holds_something_else_is_left_alone_unless_forced(tables, tmp_path, capsys):
    out = tmp_path / "thesis"
    out.mkdir()
    (out / "run.json").write_text("[]")
    assert fit(tables, out, *FAST) == 2
    assert "is not empty and not a run folder" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["run.json"]
    assert fit(tables, out, *FAST, "--force") == 0
    assert {path.name for path in out.iterdir()} == FILES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label-column", "sort"], "has no column 'sort'; found: id, kind, size, colour, same"),
        (["--id-column", "name"], "has no column 'name'"),
        (["--from-column", "from"], "has no column 'from'"),
        (["--to-column", "source"], "source and target are both 'source'"),
        (["--weight-column", "strength"], "has no column 'strength'"),
        (["--ignore", "hue"], "has no column 'hue'"),
        (["--categorical", "hue"], "has no column 'hue'"),
        (["--text-encoding", "klingon"], "unknown text encoding 'klingon'"),
        (["--nodes", "nowhere.csv"], "there is no file nowhere.csv"),
        (["--edges", "nowhere.csv"], "there is no file nowhere.csv"),
        (["--label-column", "same"], "only the class '3'"),
        (["--label-column", "id"], "to evaluate a model; choose a column of classes, not of ids"),
        (["--label-column", "id", "--folds", "5"], "choose a column of classes, not of ids"),
        (["--label-column", "kinds"], "has no column 'kinds'; did you mean 'kind'? found: id"),
        (["--label-column", "KIND"], "did you mean 'kind'?"),
        (["--label-column", "size"], "column 'size' of "),
        (["--nodes", "."], ". is a folder; expected a CSV or Parquet file"),
        (["--model", "gtn"], "unknown model 'gtn'"),
        (["--time-limit", "soon"], "--time-limit takes a time such as 90s, 30m or 1h30m, got 'soon'"),
        (["--for", "30s"], "--for is now --time-limit"),
        (["--folds", "1"], "folds must be 0, or between 2 and"),
        (["--folds", "99"], "folds must be 0, or between 2 and"),
        (["--folds", "-1"], "folds must be 0, or between 2 and"),
        (["--metric", "f1"], "'f1' is not one of 'accuracy', 'balanced_accuracy'"),
        (["--set", "degree"], "--set takes NAME=VALUE"),
        (["--set", "nonsense=3"], "no option 'nonsense'"),
        (["--set", "max_epochs=3"], "use --max-epochs"),
        (["--threads", "0"], "--threads': Input should be greater than or equal to 1; see newtonnet fit --help"),
        (["--seed", "-1"], "--seed': Input should be greater than or equal to 0"),
        (["--max-memory", "100MB"], "max_memory is 100 MB, but this fit takes at least "),
        (["--max-memory", "much"], "--max-memory takes an amount"),
        (["--max-epochs", "0"], "--max-epochs': Input should be greater than or equal to 1"),
        (["--patience", "-1"], "--patience': Input should be greater than or equal to 0"),
        (["--set", "degree=-3"], "degree"),
        (["--out", "nodes.csv"], "is a file"),
        (["--out", "nodes.csv/run"], "is a file"),
        (["--out", "."], "is not empty and not a run folder"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2_and_writes_nothing(arguments, message, tables, one_line, monkeypatch):
    monkeypatch.chdir(tables.folder)
    three = [f"{name},{colour}\n" for name, colour in zip(tables.ids, ["red", "green", "blue"] * 20, strict=True)]
    (tables.folder / "three.csv").write_text("id,colour\n" + "".join(three[8:]))
    (tables.folder / "none.csv").write_text("source,target\n")
    before = sorted(tables.folder.rglob("*"))
    assert fit(tables, "run", *FAST, *arguments) == 2
    one_line(message)
    assert sorted(tables.folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("nodes.csv", "", "is empty"),
        ("nodes.csv", "id,kind,size\n", "has no rows"),
        ("nodes.csv", "id,kind,size\na,x,1\na,y,2\n", "repeats the id 'a'"),
        ("nodes.csv", "id,kind,size\na,x,1\nb,y\n", "has 2 fields, but the header has 3"),
        ("nodes.csv", "id,kind,size\na,x,1\nb,y,inf\n", "in column 'size'; leave the cell blank"),
        ("nodes.csv", "id,kind,size\na,,1\nb,,2\n", "no label at all"),
        ("nodes.csv", b"id,kind,size\na,\xff\xfe,1\n", "with --text-encoding latin-1 "),
        ("nodes.csv", "id,kind,size\na,x,1\n".encode("utf-16"), "with --text-encoding utf-16 "),
        ("nodes.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "is not a text table; expected CSV or Parquet"),
        ("nodes.csv", "id|kind|size\na|x|1\n", "only one column found; is '|' the separator? use comma, semicolon or"),
        ("nodes.csv", "id,kind,size\na,x,1\n  ,y,2\nc,y,3\n", "nodes.csv has no id in column 'id'"),
        ("nodes.csv", f"id,{','.join(f'x{i}' for i in range(400))}\n", "x8 and 391 more"),
        ("edges.csv", "source\na\n", "two columns of ids, such as source and target, separated by comma"),
        ("edges.csv", "source,target\nn9,nobody\n", "names the unknown node 'nobody'"),
        ("edges.csv", "source,target,weight\nn9,n10,-1\n", "weights must be finite and not negative"),
    ],
)
def test_a_mistake_in_a_table_gets_one_line_and_writes_nothing(file, text, message, tables, tmp_path, one_line):
    (tables.folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert fit(tables, tmp_path / "run", *FAST) == 2
    one_line(message)
    assert not (tmp_path / "run").exists()


def test_one_label_of_each_class_is_too_few(tmp_path, one_line):
    (tmp_path / "nodes.csv").write_text("id,kind,size\na,x,1\nb,y,2\nc,,3\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    names = ["--nodes", str(tmp_path / "nodes.csv"), "--edges", str(tmp_path / "edges.csv"), "--label-column", "kind"]
    assert run(app, ["fit", *names, "--out", str(tmp_path / "run"), *FAST]) == 2
    one_line("so none can be held out to evaluate a model; label more nodes")


def test_how_columns_were_read_and_which_of_them_look_wrong_is_said_at_once_and_on_the_page(tables, tmp_path, capsys):
    header, *rows = rows_of(tables.folder / "nodes.csv")
    with (tables.folder / "nodes.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*header, "pay"])
        writer.writerows([*row, f"{place}{',.'[place % 2]}5"] for place, row in enumerate(rows))
    assert fit(tables, tmp_path / "run", *FAST, "--ignore", "colour") == 0
    printed = capsys.readouterr()
    line = "numbers: size; categories: pay (60); left out: same (one value only), colour (ignored)"
    assert line in printed.err
    assert "decimal point" in printed.err
    assert "note: Column 'pay' was read as 60 categories" in printed.err
    assert "pay" not in printed.out
    page = (tmp_path / "run/report.html").read_text()
    assert line in page
    assert "decimal point" in page


def test_without_folds_being_asked_for_few_labels_get_fewer(tmp_path, capsys):
    folder = tmp_path / "few"
    folder.mkdir()
    (folder / "nodes.csv").write_text("id,kind,size\na,x,1\nb,x,2\nc,y,2.5\nd,y,5\ne,,4\n")
    (folder / "edges.csv").write_text("source,target\na,b\nd,e\n")
    names = ["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv"), "--label-column", "kind"]
    assert run(app, ["fit", *names, "--out", str(tmp_path / "run"), *FAST[:-2], "--no-compare", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["labelled"] == 4


@pytest.mark.parametrize("folds", [0, 2])
def test_the_score_of_the_tuning_is_told_where_there_is_no_other(printed, folds):
    out = " ".join(printed("--folds", str(folds)).split())
    assert ("on held-out nodes" in out) == (folds == 2)
    assert ("on the labels held out for tuning: too optimistic, the model was chosen by them" in out) == (folds == 0)


def test_a_threshold_is_printed_with_its_precision_and_recall(tmp_path, write, capsys):
    tables = write(tmp_path / "tables")
    two = (tables.folder / "nodes.csv").read_text().replace(",big", ",")
    (tables.folder / "nodes.csv").write_text(two)
    assert fit(tables, tmp_path / "run", *FAST, "--no-compare", "--folds", "2", "--threshold", "recall=0.8") == 0
    text = " ".join(capsys.readouterr().out.split())
    found = json.loads((tmp_path / "run" / "run.json").read_text())["outcome"]["threshold"]
    assert found["rule"] == "recall=0.8"
    assert f"{found['class'].capitalize()} is predicted from a probability of {found['value']:.1%} on." in text
    assert f"precision {found['precision']:.1%}, recall {found['recall']:.1%}." in text


def test_help_names_what_most_people_want_first(capsys):
    assert run(app, ["--help"]) == 0
    text = capsys.readouterr().out
    names = ("fit", "predict", "demo", "datasets", "train", "search", "report")
    places = [re.search(rf"^\W*{name} ", text, flags=re.M).start() for name in names]
    assert places == sorted(places)


def test_the_version_is_told_without_loading_the_command_line():
    command = "import sys, newtonnet_command; newtonnet_command.main(); sys.exit('newtonnet.cli' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", command, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"newtonnet {__version__}\n"


def test_ctrl_c_while_the_program_starts_is_one_line():
    code = (
        "import builtins, newtonnet_command\n"
        "def stop(*arguments, **options): raise KeyboardInterrupt\n"
        "builtins.__import__ = stop\n"
        "newtonnet_command.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (130, "newtonnet: stopped\n")


def test_too_few_labels_for_the_folds_cost_the_scores_and_not_the_model(tmp_path, capsys):
    folder = tmp_path / "few"
    folder.mkdir()
    (folder / "nodes.csv").write_text("id,kind,size\na,x,1\nb,x,2\nc,x,2.5\nd,y,5\ne,,4\n")
    (folder / "edges.csv").write_text("source,target\na,b\nd,e\n")
    names = ["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv"), "--label-column", "kind"]
    assert run(app, ["fit", *names, "--out", str(tmp_path / "run"), *FAST, "--folds", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cross_validation"] is None
    assert any("Cross-validation skipped: too few labelled nodes" in remark for remark in found["remarks"])
    assert any("only one labelled node, too few to measure a score: y." in remark for remark in found["remarks"])
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES


def test_ctrl_c_in_the_first_step_keeps_the_best_so_far_and_skips_the_rest(tables, tmp_path, capsys, monkeypatch):
    _interrupt_at(monkeypatch, 9)
    code = fit(tables, tmp_path / "run", *FAST, "--max-epochs", "5000", "--folds", "3", "--json")
    assert code == 130
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    captured = capsys.readouterr()
    found = json.loads(captured.out.splitlines()[-1])
    assert found["stopped"]
    assert found["cross_validation"] is None
    assert captured.err.splitlines()[-1] == "newtonnet: stopped"
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    assert "The run was stopped before its end" in (tmp_path / "run/report.html").read_text()
    records = [Record.from_json(line) for line in (tmp_path / "run/records.jsonl").read_text().splitlines()]
    assert max(record.outcome.epochs for record in records) <= 10


def test_a_second_ctrl_c_stops_at_once(tables, tmp_path, capsys, monkeypatch):
    _interrupt_at(monkeypatch, 9, twice=True)
    assert fit(tables, tmp_path / "run", *FAST, "--max-epochs", "5000") == 130
    captured = capsys.readouterr()
    assert captured.out == ""
    assert not (tmp_path / "run").exists()


def _interrupt_at(monkeypatch, epoch, *, twice=False):
    step = Run.step

    def interrupted(self):
        step(self)
        if self.epoch == epoch:
            signal.raise_signal(signal.SIGINT)
            if twice:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Run, "step", interrupted)


def test_a_real_ctrl_c_while_folds_are_trained_writes_everything(tables, tmp_path):
    out = tmp_path / "run"
    command = [sys.executable, "-m", "newtonnet.cli", "fit", *tables.arguments, "--label-column", "kind"]
    command += [
        "--out",
        str(out),
        *FAST,
        "--patience",
        "0",
        "--max-epochs",
        "2000000",
        "--folds",
        "5",
        "--time-limit",
        "12s",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    deadline = time.monotonic() + 100
    while not (out / "run.json").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, talk = process.communicate(timeout=100)
    assert process.returncode == 130, talk
    assert "stopped after" in output.splitlines()[-1]
    assert talk.splitlines()[-1] == "newtonnet: stopped"
    assert {path.name for path in out.iterdir()} == FILES
    classifier = NewtonNetClassifier.load(out / "model.safetensors")
    assert classifier.classes_.tolist() == ["cat", "dog, big"]
    assert len(rows_of(out / "predictions.csv")) == 61
    assert "was stopped" in (out / "report.html").read_text()
    assert run(app, ["predict", str(out)]) == 0


def test_rounded_rows_keep_their_sum_and_their_order(rng):
    shares = rng.dirichlet(np.full(7, 0.2), size=500)
    parts = round_rows(shares)
    assert (parts.sum(axis=1) == 1_000_000).all()
    assert (np.abs(parts - 1e6 * shares) <= 1).all()
    assert (parts.max(axis=1) == np.take_along_axis(parts, shares.argmax(axis=1)[:, None], axis=1)[:, 0]).all()


def test_a_graph_can_be_filtered_on_disk_first(tables, tmp_path, capsys):
    store = tmp_path / "blocks"
    more = ["--regime", "out-of-core", "--store", str(store), "--folds", "2", "--max-epochs", "5", "--threads", "1"]
    assert fit(tables, tmp_path / "run", *more) == 0
    assert (store / "manifest.json").is_file()
    first = (tmp_path / "run" / "predictions.csv").read_bytes()
    assert run(app, ["predict", str(tmp_path / "run")]) == 0
    assert (tmp_path / "run" / "predictions.csv").read_bytes() == first
    other = [*tables.arguments, "--out", str(tmp_path / "other.csv")]
    assert run(app, ["predict", str(tmp_path / "run"), *other]) == 0
    assert (tmp_path / "other.csv").read_bytes() == first


def test_a_run_that_cannot_be_written_down_leaves_an_older_one_whole(tables, tmp_path, monkeypatch, capsys):
    out = tmp_path / "run"
    assert fit(tables, out, *FAST, "--folds", "0") == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    def broken(run):
        raise ValueError("not to be written")

    monkeypatch.setattr("newtonnet.analysis.workflow.run_text", broken)
    assert fit(tables, out, *FAST, "--folds", "0", "--seed", "3") == 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_table_that_the_run_would_write_over_is_refused(tables, tmp_path, one_line):
    out = tmp_path / "run"
    out.mkdir()
    own = shutil.copy(tables.folder / "nodes.csv", out / "predictions.csv")
    text = own.read_bytes()
    arguments = ["--nodes", str(own), *tables.arguments[2:], "--label-column", "kind", "--out", str(out), "--force"]
    assert run(app, ["fit", *arguments]) == 2
    one_line("predictions.csv is a file that this run would write over; copy it to another place first")
    assert own.read_bytes() == text


def test_brackets_in_the_name_of_a_folder_are_letters(tables, tmp_path, capsys):
    name = "run[bold]x/run[/10]"
    assert fit(tables, tmp_path / name, *FAST, "--no-compare") == 0
    assert (tmp_path / name / "report.html").is_file()
    assert name in "".join(capsys.readouterr().err.split())


def test_a_store_without_its_regime_is_refused(tables, tmp_path, one_line):
    assert fit(tables, tmp_path / "run", "--store", "blocks") == 2
    one_line("belongs to --regime out-of-core")


@pytest.mark.parametrize(
    ("metric", "baseline"), [([], "largest class"), (["--metric", "average_precision"], "random guess")]
)
def test_what_a_score_is_compared_with_has_its_name(printed, metric, baseline):
    out = printed("--folds", "2", *metric)
    assert [name for name in ("largest class", "random guess") if f"  {name}" in out] == [baseline]


@pytest.mark.parametrize("folds", [["--folds", "0"], []])
def test_three_labels_give_no_score(tmp_path, capsys, folds):
    (tmp_path / "n.csv").write_text("id,x,label\na,1,p\nb,2,p\nc,3,q\nd,4,\n")
    (tmp_path / "e.csv").write_text("source,target\na,b\nb,c\nc,d\n")
    tables = ["--nodes", str(tmp_path / "n.csv"), "--edges", str(tmp_path / "e.csv"), "--label-column", "label"]
    words = ["fit", *tables, "--out", str(tmp_path / "run"), *folds, "--no-tune", "--max-epochs", "5"]
    assert run(app, words) == 0
    shown = capsys.readouterr().out
    assert "100.0%" not in shown
    assert "3 labelled nodes: too few to measure a score" in shown
    assert "accuracy" not in shown


def test_edges_to_outsiders_and_dates_are_read_as_asked(tmp_path, capsys):
    rows = "".join(f"n{i},{1 + i % 28}.12.2020,{'pq'[i % 2]}\n" for i in range(20))
    (tmp_path / "n.csv").write_text(f"id,since,label\n{rows}")
    (tmp_path / "e.csv").write_text("source,target\n" + "".join(f"n{i},n{(i + 1) % 21}\n" for i in range(20)))
    tables = ["--nodes", str(tmp_path / "n.csv"), "--edges", str(tmp_path / "e.csv"), "--label-column", "label"]
    fast = ["--folds", "0", "--no-tune", "--max-epochs", "5"]
    chosen = ["--unknown-edges", "drop", "--dates", "day-first"]
    assert run(app, ["fit", *tables, "--out", str(tmp_path / "run"), *fast, *chosen]) == 0
    said = capsys.readouterr().err
    assert "1 of 20 edges name nodes that are not in the table; they were dropped." in said
    assert "numbers: since" in said
    assert run(app, ["predict", str(tmp_path / "run"), *tables[:4], "--out", str(tmp_path / "p.csv")]) == 0
    refused = ["--out", str(tmp_path / "q.csv"), "--unknown-edges", "error"]
    assert run(app, ["predict", str(tmp_path / "run"), *tables[:4], *refused]) == 2
    assert "unknown node 'n20'" in capsys.readouterr().err
