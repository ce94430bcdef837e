"""A kill at every durable call: no run, trial or file is lost, doubled or accepted half-written."""

import os
import random
import shutil
import signal
import time
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from newtonnet import Analysis
from newtonnet.analysis import FILES
from newtonnet.cli import app, run
from newtonnet.datasets import csbm, make_splits
from newtonnet.datasets.parse import read_graph_file, write_graph_file
from newtonnet.out_of_core import open_store, propagate_to_disk
from newtonnet.search import open_store as open_search
from newtonnet.search import propose, read_trials, store_path
from newtonnet.search.study import make_study
from newtonnet.search.trials import Task, run_task
from newtonnet.training import load_checkpoint, save_checkpoint

pytestmark = pytest.mark.usefixtures("generated_once", "two_folds")


def places(choose, kill_at, work, wanted):
    """Which calls to die at: all of them, or as many as a short campaign has time for, spread evenly."""
    total = kill_at(work, 10**9)
    few = choose(short=min(total, wanted), long=total)
    return sorted({1 + i * (total - 1) // max(few - 1, 1) for i in range(few)})


def test_fit_over_an_older_run(choose, count, kill_at, runs, tmp_path):
    tables, old, _ = runs

    def fit(folder):
        assert run(app, ["fit", *tables.arguments, "--out", str(folder), "--seed", "7"]) == 0

    old.save(tmp_path / "old")
    shutil.copytree(tmp_path / "old", tmp_path / "count")
    for place in places(choose, kill_at, lambda: fit(tmp_path / "count"), 3):
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
        assert run(app, ["fit", *tables.arguments, "--out", str(folder)]) == 0

    for place in places(choose, kill_at, lambda: fit(tmp_path / "count"), 2):
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

    for place in places(choose, kill_at, predict, 2):
        kill_at(predict, place)
        assert (tmp_path / "run" / "predictions.csv").read_bytes() == before
        predict()
        assert {path.name for path in (tmp_path / "run").iterdir()} == set(FILES)
        count["crash: kills of predict (lost 0)"] += 1


def test_train(choose, count, kill_at, tmp_path):
    out = tmp_path / "records.jsonl"

    def train():
        options = ["--splits", "1", "--max-epochs", "1", "--threads", "1", "--model", "mlp", "--out", str(out)]
        assert run(app, ["train", "digits", *options]) == 0

    train()
    for place in places(choose, kill_at, train, 2):
        kill_at(train, place)
        assert out.read_text().count("\n") == 1
        count["crash: kills of train (records lost 0)"] += 1


def test_search(choose, count, kill_at, tmp_path):
    def search(folder):
        options = ["--model", "mlp", "--trials", "2", "--splits", "1", "--max-epochs", "1", "--workers", "1"]
        assert run(app, ["search", "digits", *options, "--results", str(folder)]) == 0

    def trials(folder):
        return read_trials(folder / "search" / "digits" / "mlp.jsonl")

    search(tmp_path / "whole")
    expected = [(trial.number, trial.setting, trial.validation) for trial in trials(tmp_path / "whole")]
    assert len(expected) == 2
    for place in places(choose, kill_at, lambda: search(tmp_path / "count"), 2):
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

    chosen = places(choose, kill_at, lambda: compute(tmp_path / "whole"), 6)
    expected = open_store(tmp_path / "whole", verify=True).checksum
    for place in chosen:
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


class Loop:
    """A run, a search, a cache, a store and a checkpoint, written again and again; each has its number in it."""

    def __init__(self, folder, runs):
        graph = csbm(0.2, nodes=40, features=4)
        study = make_study("csbm-heterophilous", "mlp", splits=1, max_epochs=1, first=())
        task = Task(study, tuple(propose(study, [], 0)[:1]))
        self.folder, self.runs, self.graph, self.study = folder, runs, graph, study
        (self.trial,) = run_task(task, graph, make_splits(graph, count=1))
        propagate_to_disk(graph, folder / "whole", degree=1)
        self.checksum = open_store(folder / "whole").checksum

    def write(self, number, say):
        analysis = self.runs[number % 2]
        replace(analysis, run=replace(analysis.run, outcome={"number": number})).save(self.folder / "run")
        say(b"r")
        with open_search(self.folder, self.study) as store:
            there = len(store.trials())
            store.append([replace(self.trial, number=there, beside=(there,))])
        say(b"t")
        save_checkpoint(self.folder / "state", {"a": torch.full((200,), float(number))}, fingerprint="f")
        say(b"c")
        write_graph_file(self.folder / "graph.npz", self.graph, np.zeros((0, 40), dtype=np.uint8), {})
        say(b"g")
        propagate_to_disk(self.graph, self.folder / f"store {number % 3}", degree=1)
        if number % 3 == 2:
            shutil.rmtree(self.folder / "store 0", ignore_errors=True)

    def check(self, number, done):
        """What was reported as written is there, or what came next, and it is whole."""
        found = Analysis.load(self.folder / "run")
        last = found.run.outcome["number"]
        assert last in (number, number + 1)
        assert found.model.random_state == self.runs[last % 2].model.random_state
        assert found.table.equals(self.runs[last % 2].table)
        path = store_path(self.folder, self.study)
        trials = read_trials(path) if path.exists() else []  # absent where none has been written since it was removed
        assert [trial.number for trial in trials] == list(range(len(trials)))
        assert 0 <= len(trials) - done["t"] <= 1
        kept = load_checkpoint(self.folder / "state", fingerprint="f")["a"].unique().tolist() if done["c"] else [0]
        assert len(kept) == 1
        graph = read_graph_file(self.folder / "graph.npz")
        assert (graph is None) == (done["g"] == 0) or graph[0].checksum == self.graph.checksum
        for path in self.folder.glob("store *"):
            propagate_to_disk(self.graph, path, degree=1)
            assert open_store(path, verify=True).checksum == self.checksum
        return last, len(trials)


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_random_moments(choose, count, signal_number, runs, tmp_path):
    """Children write all kinds of files in turn until they are killed; SIGTERM as on the command line, like Ctrl-C."""
    dice, loop, number, done = random.Random(int(signal_number)), Loop(tmp_path, runs[1:]), 0, Counter()
    loop.write(0, lambda what: done.update([what.decode()]))
    for round_ in range(choose(short=4, long=1000)):
        if round_ % 50 == 49:  # a store that only grew would take all the time
            store_path(tmp_path, loop.study).unlink()
            done["t"] = 0
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                signal.signal(signal.SIGTERM, signal.default_int_handler)
                for one in range(number + 1, 10**9):
                    loop.write(one, partial(os.write, writer))
            finally:
                os._exit(1)
        os.close(writer)
        time.sleep(dice.random() * 0.15)
        os.kill(child, signal_number)
        with open(reader) as stream:
            done.update(stream.read())
        os.waitpid(child, 0)
        number, done["t"] = loop.check(done["r"] - 1, done)
        done["r"] = number + 1
        count[f"crash: random {signal.Signals(signal_number).name} (runs lost 0, trials lost or doubled 0)"] += 1
    loop.write(number + 1, lambda what: None)
    assert {path.name for path in (tmp_path / "run").iterdir()} == set(FILES)
    assert not [path for path in tmp_path.rglob("*.newtonnet*") if path.parent.name != ".locks"]
