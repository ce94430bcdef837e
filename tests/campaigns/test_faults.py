"""Every durable call fails once with every system error: one line with exit code 2, and the older run is whole."""

import errno
import io
import shutil
from contextlib import redirect_stderr, redirect_stdout

import pytest

from newtonnet import Analysis
from newtonnet.analysis import FILES
from newtonnet.cli import app, run
from newtonnet.datasets import csbm
from newtonnet.out_of_core import open_store, propagate_to_disk

TINY = ["--no-tune", "--max-epochs", "1", "--threads", "1", "--folds", "0"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EMFILE, errno.EROFS], ids=errno.errorcode.get)
def test_a_failing_disk_under_fit(number, choose, count, fail_at, runs, tmp_path):
    tables, old, _ = runs
    old.save(tmp_path / "old")

    def fit(folder):
        said = io.StringIO()
        command = ["fit", *tables.arguments, "--label-column", "kind", "--out", str(folder), *TINY, "--seed", "7"]
        with redirect_stderr(said), redirect_stdout(io.StringIO()):
            code = run(app, command)
        return f"{code} {said.getvalue().splitlines()[-1]}"

    place, step = 1, choose(short=9, long=1)
    while True:
        folder = tmp_path / f"run {place}"
        shutil.copytree(tmp_path / "old", folder)
        answer = fail_at(lambda folder=folder: fit(folder), place, number)
        found = Analysis.load(folder)
        assert found.run.finished
        assert found.predict().table.equals(found.table)
        if answer is None:
            break
        code, _, line = answer.partition(" ")
        assert code in "02", answer  # what only tidies up may fail
        assert code == "0" or (line.startswith("newtonnet: /") and ";" in line), answer
        count["faults: errors under fit (traceback 0, run lost 0)"] += 1
        assert fit(folder).startswith("0 ")
        assert {path.name for path in folder.iterdir()} == set(FILES)
        place += step


def test_a_failing_disk_under_precomputation(choose, count, fail_at, tmp_path):
    graph = csbm(0.2, nodes=60, features=5)
    propagate_to_disk(graph, tmp_path / "whole", degree=2)
    expected, place = open_store(tmp_path / "whole", verify=True).checksum, 1

    def compute(folder):
        try:
            propagate_to_disk(graph, folder, degree=2)
        except OSError as error:
            return f"refused {error}"
        return "done"

    while True:
        folder = tmp_path / f"at {place}"
        answer = fail_at(lambda folder=folder: compute(folder), place, errno.ENOSPC)
        if answer is None:
            break
        assert len(answer.splitlines()) == 1
        propagate_to_disk(graph, folder, degree=2)
        assert open_store(folder, verify=True).checksum == expected
        count["faults: full disks under precomputation (other numbers 0)"] += 1
        place += choose(short=3, long=1)


def test_too_little_memory_is_one_line(child, runs, tmp_path, count):
    tables, _, _ = runs

    def fit():
        import resource

        with open("/proc/self/statm") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)
        said = io.StringIO()
        command = ["fit", *tables.arguments, "--label-column", "kind", "--out", str(tmp_path / "run"), *TINY]
        with redirect_stderr(said), redirect_stdout(io.StringIO()):
            code = run(app, [*command, "--set", "hidden=3000000"])
        return f"{code} {said.getvalue().splitlines()[-1]}"

    answer, ended = child(fit)
    assert ended == 0
    assert answer.startswith("2 newtonnet: not enough memory"), answer
    assert not (tmp_path / "run").exists()
    count["faults: too little memory (traceback 0)"] += 1
