import json
import os
from pathlib import Path

import numpy as np
import pytest

from newtonnet.cli import app, run
from newtonnet.datasets import CATALOGUE

pytestmark = pytest.mark.usefixtures("generated_once")
REAL = os.environ.get("NEWTONNET_DATA")


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No data root, an empty cache, and a terminal wide enough not to break lines."""
    monkeypatch.setenv("NEWTONNET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NEWTONNET_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def root(tmp_path):
    """A data root with one small graph: a path of 6 nodes, classes 0 0 0 1 1 1."""
    path = tmp_path / "root/HeterophilousGraphDataset/questions/raw/questions.npz"
    path.parent.mkdir(parents=True)
    masks = {
        f"{part}_masks": np.tile(np.arange(6) % 3 == i, (10, 1)) for i, part in enumerate(("train", "val", "test"))
    }
    edges = np.stack([np.arange(5), np.arange(1, 6)], axis=1)
    labels = np.repeat([0, 1], 3)
    np.savez(path, node_features=np.eye(6, dtype=np.float32), node_labels=labels, edges=edges, **masks)
    return tmp_path / "root"


def test_the_list_is_one_line_of_json_with_every_data_set(root, capsys):
    assert run(app, ["datasets", "--json", "--data-root", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    rows = {row["name"]: row for row in json.loads(lines[0])}
    assert list(rows) == list(CATALOGUE)
    keys = {"name", "available", "nodes", "edges", "features", "classes", "homophily", "metric"}
    assert all(set(row) == keys for row in rows.values())
    expected = [True, 6, 5, 6, 2, 0.8, "roc_auc"]
    assert [rows["questions"][key] for key in list(rows["questions"]) if key != "name"] == expected
    absent = rows["cora"]
    assert not absent["available"]
    assert absent["nodes"] is absent["homophily"] is None
    assert rows["digits"]["available"]


def test_the_table_shows_numbers_and_talk_stays_on_standard_error(root, capsys):
    assert run(app, ["datasets", "--data-root", str(root)]) == 0
    output = capsys.readouterr()
    row = next(line for line in output.out.splitlines() if line.startswith("questions"))
    assert row.split() == ["questions", "6", "5", "6", "2", "0.80", "roc_auc"]
    assert "newtonnet datasets NAME" in output.err
    assert "NAME" not in output.out


def test_one_data_set_as_json(root, capsys):
    assert run(app, ["datasets", "questions", "--json", "--data-root", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    shown = json.loads(lines[0])
    assert (shown["nodes"], shown["edges"], shown["class_counts"], shown["components"]) == (6, 5, [3, 3], 1)
    assert shown["homophily"] == shown["homophilies"]["edge"] == 0.8
    assert (shown["uniform_pivot"], shown["adjusted_pivot"]) == (0.5, 0.5)
    assert shown["files"][0]["status"] == "unverified"
    assert shown["fixed_splits"] == {"protocol": "heterophilous", "count": 10}


def test_one_data_set_for_a_person(root, capsys):
    assert run(app, ["datasets", "questions", "--data-root", str(root)]) == 0
    text = capsys.readouterr().out
    for expected in ("mean degree 1.7", "edge                0.800", "pivot 1/C           0.500", "MIT", "unverified"):
        assert expected in text
    assert "10 of protocol heterophilous, the first 2 / 2 / 2" in text


def test_an_unknown_name_is_one_line_and_code_2(capsys):
    assert run(app, ["datasets", "korra"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("newtonnet: unknown dataset 'korra'; did you mean 'cora'? available: actor,")
    assert output.err.count("\n") == 1


def test_a_data_root_that_is_not_there_is_one_line_and_code_2(tmp_path, capsys):
    assert run(app, ["datasets", "--data-root", str(tmp_path / "nothing")]) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_a_named_data_root_that_is_not_there_is_one_line_and_code_2(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NEWTONNET_DATA", str(tmp_path / "nothing"))
    assert run(app, ["datasets"]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert "NEWTONNET_DATA" in output.err
    assert output.err.count("\n") == 1


def test_a_damaged_file_takes_only_its_own_data_set_off_the_list(root, capsys):
    for folder, name in (
        ("HeterophilousGraphDataset/minesweeper/raw", "minesweeper.npz"),
        ("Platonov2023", "cornell.npz"),
    ):
        (root / folder).mkdir(parents=True)
        (root / folder / name).write_bytes(b"not these bytes")  # a wrong checksum
    broken = root / "HeterophilousGraphDataset/roman_empire/raw/roman_empire.npz"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"<html>not found</html>")  # no known checksum, and not to be parsed
    assert run(app, ["datasets", "--json", "--data-root", str(root)]) == 0
    output = capsys.readouterr()
    rows = {row["name"]: row for row in json.loads(output.out)}
    damaged = ["minesweeper", "cornell-corrected", "roman-empire"]
    assert [rows[name]["available"] for name in [*damaged, "questions"]] == [False, False, False, True]
    assert rows["minesweeper"]["nodes"] is None
    lines = output.err.splitlines()
    assert len(lines) == 3
    for name in damaged:
        assert sum(line.startswith(f"newtonnet: {name} is not available: ") for line in lines) == 1
    assert run(app, ["datasets", "--data-root", str(root)]) == 0
    assert "questions" in capsys.readouterr().out


def test_a_file_that_changed_since_its_first_load_is_told_in_one_line(root, capsys):
    assert run(app, ["datasets", "questions", "--data-root", str(root)]) == 0
    assert capsys.readouterr().err == ""
    path = root / "HeterophilousGraphDataset/questions/raw/questions.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    np.savez(path, **{**arrays, "node_features": 2 * arrays["node_features"]})
    assert run(app, ["datasets", "questions", "--data-root", str(root)]) == 0
    output = capsys.readouterr()
    assert output.err.count("\n") == 1
    assert output.err.startswith("newtonnet: HeterophilousGraphDataset/questions/raw/questions.npz changed since")
    assert "not those of the first load" in output.out
    assert ", at first " in output.out


def test_a_graph_from_the_cache_alone_says_so(root, monkeypatch, capsys):
    monkeypatch.setenv("NEWTONNET_DATA", str(root))
    assert run(app, ["datasets", "questions"]) == 0
    assert "from the cache" not in capsys.readouterr().out
    monkeypatch.delenv("NEWTONNET_DATA")
    assert run(app, ["datasets", "questions"]) == 0
    assert "parsed from them earlier" in capsys.readouterr().out
    assert run(app, ["datasets", "questions", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["root"] is None
    assert shown["files"][0]["status"] == "unverified"


@pytest.mark.parametrize(
    ("name", "warning"),
    [("cornell", "those of Texas"), ("chameleon", "leak"), ("crocodile", "features were rebuilt")],
)
def test_a_data_set_to_beware_of_says_so(name, warning, capsys):
    if not REAL or not Path(REAL).is_dir():
        pytest.skip("NEWTONNET_DATA names no folder of raw data sets")
    assert run(app, ["datasets", name, "--data-root", REAL]) == 0
    output = capsys.readouterr().out
    assert "Warnings" in output
    assert warning in output
