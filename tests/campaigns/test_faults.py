"""Every durable call fails once with every system error: one line with exit code 2, and the older run is whole."""

import errno
import io
import os
import resource
import shutil
import subprocess
import threading
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout

import pytest
import torch

from newtonnet import Analysis
from newtonnet.analysis import FILES
from newtonnet.cli import app, run
from newtonnet.datasets import csbm
from newtonnet.out_of_core import open_store, propagate_to_disk

pytestmark = pytest.mark.usefixtures("two_folds")


def fit(tables, folder, *more):
    """Fit by the command line; its exit code and the last line of its messages."""
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(io.StringIO()):
        code = run(app, ["fit", *tables.arguments, "--out", str(folder), "--seed", "7", *more])
    return f"{code} {said.getvalue().splitlines()[-1]}"


@pytest.fixture(scope="module")
def calls(kill_at, runs, tmp_path_factory):
    """Number of durable calls of a fit over a run."""
    folder = tmp_path_factory.mktemp("calls") / "run"
    runs[1].save(folder)
    return kill_at(lambda: fit(runs[0], folder), 10**9)


def check(answer, folder):
    """A fault ended with one clear line or did not matter, and a run is whole."""
    code, _, line = answer.partition(" ")
    assert code in "02", answer  # what only tidies up may fail
    assert code == "0" or (line.startswith(("newtonnet: /", "newtonnet: not enough memory")) and ";" in line), answer
    found = Analysis.load(folder)
    assert found.run.finished
    assert found.predict().table.equals(found.table)


ERRORS = [errno.ENOSPC, errno.EIO, errno.EMFILE, errno.EROFS]


@pytest.mark.parametrize("number", ERRORS, ids=errno.errorcode.get)
def test_a_failing_disk_under_fit(number, calls, choose, count, fail_at, runs, tmp_path):
    tables, old, _ = runs
    old.save(tmp_path / "old")
    few = 1 + ERRORS.index(number) * (calls - 1) // len(ERRORS)  # each error somewhere else
    for place in choose(short=[few], long=range(1, calls + 1)):
        folder = tmp_path / f"run {place}"
        shutil.copytree(tmp_path / "old", folder)
        answer = fail_at(lambda folder=folder: fit(tables, folder), place, number)
        check(answer, folder)
        count["faults: errors under fit (traceback 0, run lost 0)"] += 1
        assert fit(tables, folder).startswith("0 ")
        assert {path.name for path in folder.iterdir()} == set(FILES)


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
        place += choose(short=6, long=1)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount")
def test_a_disk_that_is_full(choose, count, child, runs, tmp_path):
    """A small disk of its own, with the older run on it and less and less room for the new one."""
    tables, old, _ = runs
    mount = tmp_path / "disk"
    mount.mkdir()
    for room in range(8, 6000, choose(short=3500, long=64)):
        command = ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(mount)]
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip("mounting is not allowed")
        try:
            old.save(mount / "run")
            free = os.statvfs(mount)
            with (mount / "rest").open("wb") as stream:
                os.posix_fallocate(stream.fileno(), 0, free.f_bavail * free.f_frsize - room * 1024)
            answer, ended = child(lambda: fit(tables, mount / "run"))
            assert ended == 0
            check(answer, mount / "run")
            (mount / "rest").unlink()
            assert answer.startswith("0") or fit(tables, mount / "run").startswith("0")
            assert {path.name for path in (mount / "run").iterdir()} == set(FILES)
        finally:
            subprocess.run(["umount", str(mount)], check=True)
        count["faults: full disks under fit (traceback 0, run lost 0)"] += 1


def test_too_many_open_files(choose, count, child, runs, tmp_path):
    tables, old, _ = runs
    old.save(tmp_path / "run")

    def limited(room):
        lowest = max(int(name) for name in os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + room,) * 2)
        return fit(tables, tmp_path / "run")

    for room in range(1, 12, choose(short=6, long=1)):
        answer, ended = child(lambda room=room: limited(room))
        assert ended == 0
        check(answer, tmp_path / "run")
        count["faults: too few files allowed (traceback 0, run lost 0)"] += 1


def test_threads_that_do_not_start(choose, count, child, runs, tmp_path):
    tables, old, _ = runs
    old.save(tmp_path / "run")

    def limited(place):
        seen, start = Counter(), threading.Thread.start

        def fail(thread):
            seen["starts"] += 1
            if seen["starts"] == place:
                raise RuntimeError("can't start new thread")
            start(thread)

        threading.Thread.start = fail
        torch.set_num_threads = lambda count: None  # torch's own threads do not survive a fork
        answer = fit(tables, tmp_path / "run", "--threads", "2", "--max-epochs", "3")
        return answer if seen["starts"] >= place else ""

    for place in range(1, choose(short=2, long=20)):
        answer, ended = child(lambda place=place: limited(place))
        assert ended == 0
        if not answer:  # fewer threads were asked for
            break
        check(answer, tmp_path / "run")
        count["faults: threads that did not start (traceback 0, run lost 0)"] += 1


def test_too_little_memory(choose, count, child, runs, tmp_path):
    tables, old, _ = runs
    old.save(tmp_path / "run")

    def limited(room):
        with open("/proc/self/statm") as stream:
            used = int(stream.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + room,) * 2)
        return fit(tables, tmp_path / "run", "--set", "hidden=3000")

    for room in range(1, 40, choose(short=30, long=1)):
        answer, ended = child(lambda room=room: limited(room << 20))
        assert ended == 0
        check(answer, tmp_path / "run")
        count["faults: too little memory (traceback 0, run lost 0)"] += 1
