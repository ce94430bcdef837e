import json
import re
import shlex
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import pytest

from newtonnet import datasets
from newtonnet.cli import app, run
from newtonnet.cli.report import group_runs
from newtonnet.datasets import csbm
from newtonnet.training import Record

pytestmark = pytest.mark.usefixtures("generated_once")


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    for model in ("newtonnet", "gcn"):
        arguments = ["--model", model, "--splits", "2", "--max-epochs", "2", "--out", str(folder / f"{model}.jsonl")]
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


def test_runs_of_other_settings_protocols_and_metrics_are_not_averaged(records, tmp_path, capsys):
    first, second = (Record.from_json(line) for line in records[0].read_text().splitlines())
    others = [
        first,
        second,
        replace(first, id="a", options={**first.options, "degree": 3}, outcome=_shorter(first.outcome)),
        replace(first, id="b", config={**first.config, "metric": "roc_auc"}),
        replace(first, id="c", split={**first.split, "protocol": "own"}),
    ]
    path = changed("".join(one.to_json() + "\n" for one in others), tmp_path)
    assert run(app, ["report", str(path), "--out", str(tmp_path / "page.html")]) == 0
    text = (tmp_path / "page.html").read_text()
    assert [text.count(f"over {count} split") for count in (1, 2)] == [3, 1]
    titles = [line.split(": ")[0] for line in capsys.readouterr().out.splitlines()]
    assert titles[0] == "newtonnet on csbm-heterophilous (degree 5, metric accuracy, protocol random)"
    for title, change in zip(titles[1:], ("degree 3", "metric roc_auc", "protocol own"), strict=True):
        assert change in title


def _shorter(outcome):
    return replace(outcome, points=outcome.points[:4], values=outcome.values[:4])


def test_settings_that_came_later_and_ints_for_floats_make_no_other_group(records, tmp_path):
    first, second = (Record.from_json(line) for line in records[0].read_text().splitlines())
    older = {name: value for name, value in second.options.items() if "branch" not in name}
    whole = [int(gamma) for gamma in second.config["gammas"]]
    second = replace(second, options=older, config={**second.config, "gammas": whole, "history_interval": 1})
    assert group_runs([first, second]) == [("newtonnet on csbm-heterophilous", [first, second])]


def test_the_command_on_the_page_repeats_it(records, tmp_path):
    folder = tmp_path / "my runs"
    folder.mkdir()
    paths = [folder / record.name for record in records]
    for old, new in zip(records, paths, strict=True):
        new.write_bytes(old.read_bytes())
    page = tmp_path / "page.html"
    arguments = [*map(str, paths), "--out", str(page), "--title", "Two runs", "--data-root", str(tmp_path)]
    assert run(app, ["report", *arguments]) == 0
    command = unescape(re.search(r"<code>(.*?)</code>", page.read_text())[1])
    assert shlex.split(command) == ["newtonnet", "report", *arguments]


def changed(text, tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no records"),
        ("{}\n", "line 1: not a record"),
        ("no json\n", "line 1: not a record"),
        (b"\xff\xfe\x00", "is not a text file"),
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
        (replace(record, checksum="0" * 16), "another version of csbm"),
        (replace(record, dataset="mine"), "mine"),
    ):
        path = changed(other.to_json() + "\n", tmp_path)
        assert run(app, ["report", str(path), "--out", str(tmp_path / "page.html")]) == 2
        assert message in capsys.readouterr().err


def test_records_of_own_tables_have_their_page_elsewhere(records, tmp_path, one_line):
    own = tmp_path / "own.jsonl"
    lines = records[0].read_text().splitlines()
    own.write_text("".join(json.dumps({**json.loads(line), "dataset": "nodes"}) + "\n" for line in lines))
    assert run(app, ["report", str(own), "--out", str(tmp_path / "page.html")]) == 2
    one_line("the page of your own tables is report.html in the run folder")


def test_records_of_a_graph_as_stored_have_their_page(records, tmp_path, monkeypatch):
    other = csbm(0.3, nodes=50, features=4)
    load = datasets.load_dataset

    def load_either(name, *, data_root, directed):
        return SimpleNamespace(graph=other) if directed == "as-stored" else load(name, data_root=data_root)

    monkeypatch.setattr(datasets, "load_dataset", load_either)
    record = Record.from_json(records[0].read_text().splitlines()[0])
    path = changed(replace(record, checksum=other.checksum).to_json() + "\n", tmp_path)
    assert run(app, ["report", str(path), "--out", str(tmp_path / "page.html")]) == 0
    assert run(app, ["report", str(records[0]), "--out", str(tmp_path / "page.html")]) == 0


def test_the_records_are_never_written_over(records, tmp_path, one_line):
    path = tmp_path / "r.jsonl"
    path.write_text(records[0].read_text())
    assert run(app, ["report", str(path), "--out", str(path)]) == 2
    one_line("holds the records and would be overwritten")
    assert path.read_text() == records[0].read_text()
    assert run(app, ["report", str(tmp_path / "nope.jsonl")]) == 2
    one_line("there is no file")
