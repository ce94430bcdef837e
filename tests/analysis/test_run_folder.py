"""One run folder, one writer; a run is replaced in one step, and is whole after a kill at any moment."""

import json
import os
import shutil
import signal
from dataclasses import replace

import pytest

from newtonnet import Analysis, NewtonNetClassifier, analyse
from newtonnet.analysis import FILES, PREDICTIONS, replace_predictions, run_folder
from newtonnet.cli import app, run
from newtonnet.files import COMMITTED

pytestmark = pytest.mark.usefixtures("two_folds")
FAST = {"tune": "off", "max_epochs": 3, "threads": 1}


@pytest.fixture(scope="module")
def runs(tmp_path_factory, write):
    """Tables and two analyses of them with other seeds; their pages are short, and written as any other."""
    tables = write(tmp_path_factory.mktemp("runs") / "tables")
    names = (tables.folder / "nodes.csv", tables.folder / "edges.csv")
    made = [
        analyse(*names, label_column="kind", classifier=NewtonNetClassifier(**FAST, random_state=seed), folds=0)
        for seed in (0, 1)
    ]
    return tables, *(replace(one, _page=f"page {seed}") for seed, one in enumerate(made))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def killed(work, kill_at):
    """Run in a child that dies at a given fsync, rename or removal; the number of the last one where it does not."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        count = 0

        def counted(call):
            def checked(*arguments, **options):
                nonlocal count
                count += 1
                if count == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*arguments, **options)

            return checked

        for name in ("fsync", "replace", "unlink", "rmdir"):
            setattr(os, name, counted(getattr(os, name)))
        work()
        os.write(writer, str(count).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as stream:
        return int(stream.read() or 0)


def test_after_a_kill_at_any_moment_the_old_run_is_whole_or_the_new_one(runs, tmp_path):
    _, old, new = runs
    old.save(tmp_path / "old")
    new.save(tmp_path / "new")
    whole = {name: Analysis.load(tmp_path / name).run.model for name in ("old", "new")}
    points, found = 0, set()
    while True:
        points += 1
        folder = tmp_path / f"at {points}"
        shutil.copytree(tmp_path / "old", folder)
        (folder / "mine.txt").write_text("kept")
        done = killed(lambda folder=folder: new.save(folder), points)
        loaded = Analysis.load(folder)
        which = "old" if loaded.run.model == whole["old"] else "new"
        found.add(which)
        assert loaded.page.encode() == contents(tmp_path / which)["report.html"]
        assert loaded.table.equals((old if which == "old" else new).table)
        new.save(folder)  # the next one simply works, and nothing is left of the killed one
        assert contents(folder).keys() == {*FILES, "mine.txt"}
        assert {path.name for path in folder.iterdir()} == {*FILES, "mine.txt"}
        if done:
            break
    assert found == {"old", "new"}
    assert points > 10


def test_a_killed_first_run_leaves_a_folder_that_needs_no_force(runs, tmp_path):
    _, first, _ = runs
    for point in range(1, 30):
        folder = tmp_path / f"at {point}"
        done = killed(lambda folder=folder: first.save(folder), point)
        first.save(folder)
        assert {path.name for path in folder.iterdir()} == set(FILES)
        if done:
            break
    assert point > 10


def test_a_folder_that_another_process_writes_to_is_refused_at_once(runs, tmp_path, capsys):
    tables, first, _ = runs
    first.save(tmp_path / "run")
    before = contents(tmp_path / "run")
    with run_folder.locked_folder(tmp_path / "run"):
        arguments = ["fit", *tables.arguments, "--label-column", "kind", "--out", str(tmp_path / "run")]
        assert run(app, arguments) == 2
    assert "another process is writing to" in capsys.readouterr().err
    assert contents(tmp_path / "run") == before


def test_a_folder_that_was_made_in_vain_is_removed(tmp_path):
    with pytest.raises(ZeroDivisionError), run_folder.locked_folder(tmp_path / "deep" / "run"):
        raise ZeroDivisionError
    assert not (tmp_path / "deep" / "run").exists()


def test_predictions_are_not_written_beside_another_model(runs, tmp_path):
    _, first, second = runs
    first.save(tmp_path / "run")
    loaded = Analysis.load(tmp_path / "run")
    second.save(tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(ValueError, match="has got another run"):
        replace_predictions(tmp_path / "run", loaded.run, loaded.predict().table)
    assert contents(tmp_path / "run") == before


def test_a_run_that_is_replaced_while_it_is_read_is_read_again(runs, tmp_path, monkeypatch):
    _, first, second = runs
    first.save(tmp_path / "run")
    load, waiting = NewtonNetClassifier.load, [second]

    def replace_before(path):
        if waiting:
            waiting.pop().save(tmp_path / "run")
        return load(path)

    monkeypatch.setattr(NewtonNetClassifier, "load", staticmethod(replace_before))
    assert Analysis.load(tmp_path / "run").table.equals(second.table)


def test_a_run_is_read_from_a_set_that_is_complete_but_not_yet_in_place(runs, tmp_path):
    _, first, second = runs
    first.save(tmp_path / "run")
    second.save(tmp_path / "other")
    (tmp_path / "other").rename(tmp_path / "run" / COMMITTED)
    (tmp_path / "run" / COMMITTED / PREDICTIONS).rename(tmp_path / "run" / PREDICTIONS)  # one is in place already
    assert Analysis.load(tmp_path / "run").table.equals(second.table)


def test_the_sum_of_the_model_is_that_of_the_bytes_that_were_written(runs, tmp_path, monkeypatch):
    _, first, second = runs
    second.model.save(tmp_path / "other.safetensors")
    whole_files = run_folder.whole_files

    def meddle(folder):
        shutil.copy(tmp_path / "other.safetensors", folder / "model.safetensors")  # another process, without the lock
        return whole_files(folder)

    monkeypatch.setattr(run_folder, "whole_files", meddle)
    first.save(tmp_path / "run")
    assert Analysis.load(tmp_path / "run").predict().table.equals(first.table)


def test_a_run_json_that_is_nested_too_deeply_is_refused(runs, tmp_path):
    runs[1].save(tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text("[" * 10**5)
    with pytest.raises(ValueError, match="nested too deeply"):
        Analysis.load(tmp_path / "run")
    assert json.loads("[]") == []


def test_a_name_in_run_json_cannot_break_the_line_of_its_refusal(runs, tmp_path):
    runs[1].save(tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    described = json.loads(path.read_text())
    described["columns"]["a\nb"] = 1
    path.write_text(json.dumps(described))
    with pytest.raises(ValueError, match=r"\A[^\n]*run.json cannot be read [^\n]*'a b'[^\n]*\Z"):
        Analysis.load(tmp_path / "run")


@pytest.mark.parametrize("text", [b'node,label\n1,2\n"a\nb",3,4\n', b"node\n\xff\xfe\n", b""])
def test_damaged_predictions_are_refused_in_one_line(text, tmp_path):
    (tmp_path / PREDICTIONS).write_bytes(text)
    with pytest.raises(ValueError, match=r"\A[^\n]*predictions.csv does not hold predictions[^\n]*\Z"):
        run_folder.read_predictions(tmp_path / PREDICTIONS)


def test_cells_that_a_spreadsheet_would_execute_are_kept_with_a_warning_or_neutralised(tmp_path, write, capsys):
    tables = write(tmp_path / "tables")
    nodes = tables.folder / "nodes.csv"
    nodes.write_text(nodes.read_text().replace("n9,", "=cmd|x!A1,").replace("cat", "@cat"))
    edges = tables.folder / "edges.csv"
    edges.write_text("".join(line for line in edges.read_text().splitlines(True) if "n9" not in line))
    fast = ["--no-tune", "--max-epochs", "2", "--threads", "1", "--folds", "0"]
    arguments = ["fit", *tables.arguments, "--label-column", "kind", "--out", str(tmp_path / "run"), *fast]
    assert run(app, arguments) == 0
    assert capsys.readouterr().err.count("takes some ids or classes, such as '@cat', for formulas") == 1
    text = (tmp_path / "run" / PREDICTIONS).read_text()
    assert "\n=cmd|x!A1," in text
    assert "\n-1," in text
    assert run(app, [*arguments, "--spreadsheet-safe"]) == 0
    assert "for formulas" not in capsys.readouterr().err
    safe = (tmp_path / "run" / PREDICTIONS).read_text()
    assert "\n'=cmd|x!A1," in safe
    assert "\n'-1," in safe
    assert "'@cat" in safe
    assert run(app, ["predict", str(tmp_path / "run"), "--out", str(tmp_path / "p.csv"), "--spreadsheet-safe"]) == 0
    assert (tmp_path / "p.csv").read_text() == safe
    assert run(app, ["predict", str(tmp_path / "run"), "--out", str(tmp_path / "p.csv")]) == 0
    assert (tmp_path / "p.csv").read_text() == text


def test_a_short_training_in_several_threads_swallows_no_message(tmp_path, write):
    tables, said = write(tmp_path / "tables").folder, []
    fast = NewtonNetClassifier("mlp", tune="off", max_epochs=2, folds=2, threads=2)
    names = (tables / "nodes.csv", tables / "edges.csv")
    analyse(*names, label_column="kind", classifier=fast, folds=0, message=said.append)
    assert sum("for formulas" in line for line in said) == 1


def test_a_run_that_is_replaced_twice_while_it_is_read_is_not_mixed(runs, tmp_path, monkeypatch):
    _, first, second = runs
    first.save(tmp_path / "run")
    load, calls = NewtonNetClassifier.load, []

    def slow(path):
        if not calls:
            calls.append(path)
            second.save(tmp_path / "run")
            found = load(path)
            first.save(tmp_path / "run")
            return found
        return load(path)

    monkeypatch.setattr(NewtonNetClassifier, "load", slow)
    found = Analysis.load(tmp_path / "run")
    assert found.model.random_state == first.model.random_state


def test_predictions_and_page_of_another_run_are_not_given(runs, tmp_path):
    _, first, second = runs
    first.save(tmp_path / "run")
    found = Analysis.load(tmp_path / "run")
    second.save(tmp_path / "run")
    with pytest.raises(ValueError, match="has got another run since it was read"):
        _ = found.table
    with pytest.raises(ValueError, match="has got another run since it was read"):
        _ = found.page
