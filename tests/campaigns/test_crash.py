"""A kill at every durable call: no run, trial or file is lost, doubled or accepted half-written."""

import os
import random
import shutil
import signal
import time

import numpy as np
import pytest
import torch

from newtonnet import Analysis
from newtonnet.analysis import FILES
from newtonnet.cli import app, run
from newtonnet.datasets import csbm
from newtonnet.datasets.parse import read_graph_file, write_graph_file
from newtonnet.files import write_whole
from newtonnet.out_of_core import open_store, propagate_to_disk
from newtonnet.search import read_trials
from newtonnet.training import load_checkpoint, save_checkpoint

TINY = ["--no-tune", "--max-epochs", "1", "--threads", "1", "--folds", "0"]


def places(choose, kill_at, work, wanted):
    """Which calls to die at: all of them, or as many as a short campaign has time for, spread evenly."""
    total = kill_at(work, 10**9)
    few = choose(short=min(total, wanted), long=total)
    return sorted({1 + i * (total - 1) // max(few - 1, 1) for i in range(few)})


def test_fit_over_an_older_run(choose, count, kill_at, runs, tmp_path):
    tables, old, _ = runs

    def fit(folder):
        command = ["fit", *tables.arguments, "--label-column", "kind", "--out", str(folder), *TINY, "--seed", "7"]
        assert run(app, command) == 0

    old.save(tmp_path / "old")
    shutil.copytree(tmp_path / "old", tmp_path / "count")
    for place in places(choose, kill_at, lambda: fit(tmp_path / "count"), 6):
        folder = tmp_path / "run"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "old", folder)
        kill_at(lambda folder=folder: fit(folder), place)
        found = Analysis.load(folder)
        assert found.run.finished
        assert found.run.arguments["seed"] in (0, 7)
        assert found.predict().table.equals(found.table)
        count["crash: kills of fit over a run (lost 0, half-written 0)"] += 1
    fit(folder)
    assert {path.name for path in folder.iterdir()} == set(FILES)


def test_a_first_fit(choose, count, kill_at, runs, tmp_path):
    tables, _, _ = runs

    def fit(folder):
        command = ["fit", *tables.arguments, "--label-column", "kind", "--out", str(folder), *TINY]
        assert run(app, command) == 0

    for place in places(choose, kill_at, lambda: fit(tmp_path / "count"), 6):
        folder = tmp_path / f"run {place}"
        kill_at(lambda folder=folder: fit(folder), place)
        fit(folder)
        assert {path.name for path in folder.iterdir()} == set(FILES)
        assert Analysis.load(folder).run.finished
        count["crash: kills of a first fit (next fit failed 0)"] += 1


def test_predict(choose, count, kill_at, runs, tmp_path):
    _, old, _ = runs
    old.save(tmp_path / "run")
    before = (tmp_path / "run" / "predictions.csv").read_bytes()

    def predict():
        assert run(app, ["predict", str(tmp_path / "run")]) == 0

    for place in places(choose, kill_at, predict, 4):
        kill_at(predict, place)
        assert (tmp_path / "run" / "predictions.csv").read_bytes() == before
        predict()
        assert {path.name for path in (tmp_path / "run").iterdir()} == set(FILES)
        count["crash: kills of predict (lost 0)"] += 1


def test_train(choose, count, kill_at, tmp_path):
    out = tmp_path / "records.jsonl"

    def train():
        options = ["--splits", "1", "--max-epochs", "1", "--threads", "1", "--model", "mlp", "--out", str(out)]
        assert run(app, ["train", "csbm-heterophilous", *options]) == 0

    train()
    lines = out.read_text().count("\n")
    for place in places(choose, kill_at, train, 3):
        kill_at(train, place)
        assert out.read_text().count("\n") == lines
        count["crash: kills of train (records lost 0)"] += 1


def test_search(choose, count, kill_at, tmp_path):
    def search(folder):
        options = ["--model", "mlp", "--trials", "3", "--splits", "2", "--max-epochs", "1", "--workers", "1"]
        assert run(app, ["search", "digits", *options, "--results", str(folder)]) == 0

    def trials(folder):
        return read_trials(folder / "search" / "digits" / "mlp.jsonl")

    search(tmp_path / "whole")
    expected = [(trial.number, trial.setting, trial.validation) for trial in trials(tmp_path / "whole")]
    for place in places(choose, kill_at, lambda: search(tmp_path / "count"), 4):
        folder = tmp_path / f"at {place}"
        kill_at(lambda folder=folder: search(folder), place)
        kept = [(trial.number, trial.setting, trial.validation) for trial in trials(folder)]
        assert kept == expected[: len(kept)]
        search(folder)
        assert [(trial.number, trial.setting, trial.validation) for trial in trials(folder)] == expected
        count["crash: kills of search (trials lost or doubled 0)"] += 1


def test_out_of_core_precomputation(choose, count, kill_at, tmp_path):
    graph = csbm(0.2, nodes=80, features=6)

    def compute(folder):
        propagate_to_disk(graph, folder, degree=3, max_memory=80 * 52)

    compute(tmp_path / "whole")
    expected = open_store(tmp_path / "whole", verify=True).checksum
    for place in places(choose, kill_at, lambda: compute(tmp_path / "count"), 10):
        folder = tmp_path / f"at {place}"
        kill_at(lambda folder=folder: compute(folder), place)
        compute(folder)
        assert open_store(folder, verify=True).checksum == expected
        count["crash: kills of out-of-core precomputation (other numbers 0)"] += 1


def test_the_cache_of_a_data_set(choose, count, kill_at, tmp_path):
    graph, masks, path = csbm(0.2, nodes=80, features=6), np.zeros((0, 80), dtype=np.uint8), tmp_path / "graph.npz"

    def cache():
        write_graph_file(path, graph, masks, {"summary": {}, "files": []})

    for place in places(choose, kill_at, cache, 10):
        path.unlink(missing_ok=True)
        kill_at(cache, place)
        found = read_graph_file(path)
        assert found is None or found[0].checksum == graph.checksum
        cache()
        assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
        count["crash: kills of the cache (half-written accepted 0)"] += 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_random_moments(choose, count, number, tmp_path):
    """A child writes checkpoints and texts one after the other until it is killed; the last whole ones are there."""
    dice = random.Random(int(number))
    for _ in range(choose(short=15, long=1000)):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            for i in range(10**9):
                save_checkpoint(tmp_path / "state", {"a": torch.full((200,), float(i))}, fingerprint="f")
                write_whole(tmp_path / "text", f"{i} " * 50)
        time.sleep(0.02 + dice.random() * 0.05)
        os.kill(child, number)
        os.waitpid(child, 0)
        if (tmp_path / "state").exists():
            assert len(set(load_checkpoint(tmp_path / "state", fingerprint="f")["a"].tolist())) == 1
        if (tmp_path / "text").exists():
            assert len(set((tmp_path / "text").read_text().split())) == 1
        count[f"crash: random {signal.Signals(number).name} (files lost 0)"] += 1
    save_checkpoint(tmp_path / "state", {"a": torch.ones(1)}, fingerprint="f")
    write_whole(tmp_path / "text", "end")
    assert {path.name for path in tmp_path.iterdir()} == {"state", "text"}
