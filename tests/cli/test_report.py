from dataclasses import replace

import pytest

from newtonnet.cli.app import app, run
from newtonnet.training import Record


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    for model in ("newtonnet", "gcn"):
        arguments = ["--model", model, "--splits", "2", "--max-epochs", "20", "--out", str(folder / f"{model}.jsonl")]
        assert run(app, ["train", "csbm-heterophilous", *arguments]) == 0
    return [folder / "newtonnet.jsonl", folder / "gcn.jsonl"]


def test_the_page_has_a_section_for_each_graph_and_model(records, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(app, ["report", *map(str, records), str(records[0]), "--out", str(page)]) == 0
    text = page.read_text()
    assert "newtonnet on csbm-heterophilous" in text
    assert "gcn on csbm-heterophilous" in text
    assert text.count("over 2 splits") == 2, "a record that is given twice counts once"
    assert "This model has no spectral filter" in text
    assert "heterophilous" in capsys.readouterr().out


def changed(text, tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no record"),
        ("{}\n", "line 1: not a record"),
        ("no json\n", "line 1: not a record"),
        (b"\xff\xfe\x00", "is no text"),
    ],
)
def test_what_is_no_record_is_refused_in_one_line(text, message, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(app, ["report", str(changed(text, tmp_path)), "--out", str(page)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not page.exists()


def test_records_of_another_graph_are_refused(records, tmp_path, capsys):
    record = Record.from_json(records[0].read_text().splitlines()[0])
    for other, message in (
        (replace(record, checksum="0" * 16), "another csbm"),
        (replace(record, dataset="mine"), "mine"),
    ):
        path = changed(other.to_json() + "\n", tmp_path)
        assert run(app, ["report", str(path), "--out", str(tmp_path / "page.html")]) == 2
        assert message in capsys.readouterr().err
