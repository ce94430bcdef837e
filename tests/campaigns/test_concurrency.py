"""Eight processes on one run folder, one store, one cache and one search: nothing is mixed, lost or doubled."""

import os
from dataclasses import replace

import numpy as np

from newtonnet import Analysis
from newtonnet.datasets import csbm
from newtonnet.datasets.parse import read_graph_file, write_graph_file
from newtonnet.files import append, locked
from newtonnet.out_of_core import open_store, propagate_to_disk

PROCESSES = 8


def together(work):
    """Run work(i) in eight processes at once; all must end well."""
    reader, writer = os.pipe()
    children = []
    for i in range(PROCESSES):
        if (child := os.fork()) == 0:
            code = 1
            try:
                os.close(writer)
                os.read(reader, 1)  # until the parent closes its end
                work(i)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    os.close(reader)
    os.close(writer)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * PROCESSES


def unless_busy(work):
    try:
        work()
    except ValueError as refusal:
        if "another process is writing" not in str(refusal):
            raise


def test_one_run_folder(choose, count, runs, tmp_path):
    folder = tmp_path / "run"
    made = [replace(one, run=replace(one.run, outcome={"number": one.model.random_state})) for one in runs[1:]]
    made[0].save(folder)
    models = {one.model.random_state: one.table for one in made}

    def work(i):
        if i % 2:
            unless_busy(lambda: made[i // 2 % 2].save(folder))
        else:
            found = Analysis.load(folder)
            assert found.run.outcome["number"] == found.model.random_state
            assert found.predict().table.equals(models[found.model.random_state])

    for _ in range(choose(short=2, long=500)):
        together(work)
        found = Analysis.load(folder)
        assert found.table.equals(models[found.model.random_state])
        count["concurrency: rounds on one run folder (mixed runs 0)"] += 1


def test_one_store_of_features(choose, count, tmp_path):
    graph = csbm(0.2, nodes=60, features=5)
    propagate_to_disk(graph, tmp_path / "whole", degree=2)
    expected = open_store(tmp_path / "whole").checksum
    for number in range(choose(short=2, long=500)):

        def work(i, number=number):
            unless_busy(lambda: propagate_to_disk(graph, tmp_path / str(number), degree=2))

        together(work)
        assert open_store(tmp_path / str(number), verify=True).checksum == expected
        count["concurrency: rounds on one store (other numbers 0)"] += 1


def test_one_cache(choose, count, tmp_path):
    graph, masks, path = csbm(0.2, nodes=60, features=5), np.zeros((0, 60), dtype=np.uint8), tmp_path / "graph.npz"

    def work(i):
        write_graph_file(path, graph, masks, {"summary": {}, "files": []})
        assert read_graph_file(path)[0].checksum == graph.checksum

    for _ in range(choose(short=2, long=500)):
        together(work)
        assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
        count["concurrency: rounds on one cache (damaged reads 0)"] += 1


def test_lines_of_one_file(choose, count, tmp_path):
    def work(i):
        for j in range(10):
            with locked(tmp_path / "lines.lock"):
                append(tmp_path / "lines", f"{i} {j}\n".encode())

    for number in range(1, choose(short=2, long=500) + 1):
        together(work)
        lines = (tmp_path / "lines").read_text().splitlines()
        assert len(lines) == 80 * number
        assert len(set(lines)) == 80
        count["concurrency: lines appended by 8 processes (lost or doubled 0)"] += 80
