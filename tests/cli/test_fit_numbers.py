"""``newtonnet fit --target-column``: numbers from tables to predictions, page, and back; mistakes in one line."""

import csv
import json
import re
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest

from newtonnet import Analysis, NewtonNetClassifier, NewtonNetRegressor, analyse
from newtonnet.cli import app, run
from newtonnet.tables import load_tables

pytestmark = pytest.mark.usefixtures("two_folds", "few_trees")
FAST = ["--no-tune", "--max-epochs", "25", "--threads", "1", "--folds", "2"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Houses on a street, whose price is that of their neighbours; every fifth is unknown."""
    folder = tmp_path_factory.mktemp("street")
    rng = np.random.default_rng(3)
    prices = 100 + 30 * np.sin(np.arange(60) / 5) + rng.normal(size=60)
    with (folder / "nodes.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "rooms", "colour", "price", "when", "floor"])
        for i, price in enumerate(prices):
            known = "" if i % 5 == 0 else f"{price:.2f}"
            rows.writerow([f"h{i}", rng.integers(1, 9), "red" if i % 3 else "blue", known, "2020-01-31", i % 2])
    with (folder / "edges.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["source", "target"])
        rows.writerows([f"h{i}", f"h{i + k}"] for i in range(57) for k in (1, 2))
    return folder


def command(tables, *more):
    return ["--nodes", str(tables / "nodes.csv"), "--edges", str(tables / "edges.csv"), *more]


@pytest.fixture(scope="module")
def fitted(tables, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    printed = StringIO()
    with redirect_stdout(printed):
        assert run(app, ["fit", *command(tables, "--target-column", "price", "--out", str(out)), *FAST]) == 0
    return out, printed.getvalue()


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_predictions_have_a_number_and_an_interval_for_every_node(fitted):
    found = rows(fitted[0] / "predictions.csv")
    assert list(found[0]) == ["node", "prediction", "known", "lower", "upper"]
    assert len(found) == 60
    assert [row["known"] == "" for row in found] == [i % 5 == 0 for i in range(60)]
    assert all(float(row["lower"]) < float(row["upper"]) for row in found)


def test_the_summary_prints_scores_and_errors_of_all_models(fitted):
    printed = fitted[1]
    assert "R² on held-out nodes" in printed
    for words in ("newtonnet ", "mlp ", "boosting ", "the mean ", "mean absolute error", "90% intervals held"):
        assert words in printed
    assert "correlation of" in printed


def test_the_page_shows_residuals_intervals_and_why(fitted):
    page = (fitted[0] / "report.html").read_text(encoding="utf-8")
    for name in ("predicted-plot", "residuals-plot", "residuals-predicted-plot", "comparison-plot", "why-data"):
        assert f'id="{name}' in page
    assert "The columns lower and upper hold an interval" in page
    assert "boosted trees on the features alone" in page
    (data,) = re.findall(r'id="why-data">(.*?)</script>', page)
    assert {"prediction", "target"} <= json.loads(data)["nodes"][0].keys()


def test_a_loaded_run_predicts_the_same_numbers(fitted, tables):
    loaded = Analysis.load(fitted[0])
    assert isinstance(loaded.model, NewtonNetRegressor)
    again = loaded.predict(tables / "nodes.csv", tables / "edges.csv").table
    np.testing.assert_allclose(again["prediction"].to_numpy(), loaded.table["prediction"].to_numpy(), rtol=1e-8)
    assert loaded.summary["errors"]["mae"] > 0


def test_predict_prints_the_range_and_the_score(fitted, capsys):
    assert run(app, ["predict", str(fitted[0]), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["predicted"].keys() == {"min", "mean", "max"}
    assert summary["metric"] == "r2"
    assert "fitted on these nodes" in summary["remark"]


def test_explain_sums_to_the_prediction(fitted, capsys, tmp_path):
    arguments = ["explain", str(fitted[0]), "--node", "h7", "--json", "--out", str(tmp_path / "why.html")]
    assert run(app, arguments) == 0
    (one,) = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert one["target"] == "price"
    assert one["total"] == pytest.approx(one["prediction"], abs=1e-3)
    parts = sum(row["contribution"] for row in one["nodes"]) + one["other_nodes"]
    assert parts + one["bias"] + one["remainder"] == pytest.approx(one["total"], abs=1e-3)
    assert "in its own units" in (tmp_path / "why.html").read_text(encoding="utf-8")


def test_a_run_is_saved_and_loaded_again(tables, tmp_path):
    paths = (tables / "nodes.csv", tables / "edges.csv")
    regressor = NewtonNetRegressor("ridge", tune="off", loss="absolute")
    analysis = analyse(*paths, target_column="price", regressor=regressor, folds=0, compare=False)
    analysis.save(tmp_path / "run")
    loaded = Analysis.load(tmp_path / "run")
    assert loaded.model.loss == "absolute"
    assert loaded.run.columns.numbers
    assert loaded.page == analysis.page


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "give --label-column for a column of classes, or --target-column for a column of numbers"),
        (["--label-column", "colour", "--target-column", "price"], "give one of them. The ends of edges are --from"),
        (["--label-column", "price"], "not classes; predict them as numbers with --target-column price"),
        (["--target-column", "colour"], "line 2 of "),
        (["--target-column", "when"], "holds date32[day], not numbers; choose a column of numbers, or predict classes"),
        (["--target-column", "prise"], "has no column 'prise' of numbers to predict; found: id, rooms"),
        (
            ["--target-column", "price", "--metric", "roc_auc"],
            "--metric, --class-weight and --threshold are for classes",
        ),
        (["--target-column", "price", "--regime", "out-of-core"], "numbers are not learned out of core"),
        (["--label-column", "colour", "--loss", "absolute"], "--loss is for numbers; give --target-column"),
    ],
)
def test_mistakes_get_one_line(tables, tmp_path, one_line, more, message):
    assert run(app, ["fit", *command(tables, *more, "--out", str(tmp_path / "run")), *FAST]) == 2
    one_line(message)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1.5", "inf", "2"], "line 3 of .* holds an infinite number in column 'y'; leave the cell blank"),
        (["1.5", "cheap", "2"], "line 3 of .* holds 'cheap' in column 'y', which must hold numbers"),
        (["", "NA", ""], "column 'y' of .* has no number at all"),
    ],
)
def test_cells_that_are_no_numbers_are_named(tmp_path, cells, message):
    (tmp_path / "n.csv").write_text("id,x,y\n" + "".join(f"{i},{i},{cell}\n" for i, cell in enumerate(cells)))
    (tmp_path / "e.csv").write_text("source,target\n0,1\n")
    with pytest.raises(ValueError, match=message):
        load_tables(tmp_path / "n.csv", tmp_path / "e.csv", target_column="y")


@pytest.mark.parametrize("cells", [["1,5", "NA", "-2"], ["1.5", "", "-2"]])
def test_numbers_are_read_with_points_or_commas(tmp_path, cells):
    (tmp_path / "n.csv").write_text("id;x;y\n" + "".join(f"{i};{i};{cell}\n" for i, cell in enumerate(cells)))
    (tmp_path / "e.csv").write_text("source;target\n0;1\n")
    graph = load_tables(tmp_path / "n.csv", tmp_path / "e.csv", target_column="y")
    np.testing.assert_array_equal(graph.targets, [1.5, np.nan, -2])
    assert graph.class_names == ("y",)
    assert graph.features.shape[1] == 1


def test_a_note_says_which_of_the_two_was_probably_meant(tables, tmp_path):
    from newtonnet.tables import TableOptions, read_tables

    few = read_tables(tables / "nodes.csv", tables / "edges.csv", TableOptions(target_column="floor"))
    assert any("if they are classes, predict them with --label-column floor" in note for note in few.notes)
    (tmp_path / "n.csv").write_text("id,x,y\n" + "".join(f"{i},{i},{i // 2}\n" for i in range(100)))
    (tmp_path / "e.csv").write_text("source,target\n0,1\n")
    many = read_tables(tmp_path / "n.csv", tmp_path / "e.csv", TableOptions(label_column="y"))
    assert any("50 different numbers" in note and "--target-column y" in note for note in many.notes)


def test_the_estimator_must_fit_the_column(tables):
    paths = (tables / "nodes.csv", tables / "edges.csv")
    with pytest.raises(ValueError, match="target_column needs a regressor, got NewtonNetClassifier"):
        analyse(*paths, target_column="price", classifier=NewtonNetClassifier())
    with pytest.raises(ValueError, match="give label_column for a column of classes, or target_column"):
        analyse(*paths)
