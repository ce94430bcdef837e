"""SIGTERM and SIGHUP act like Ctrl-C: the best so far is written, temporary folders go, and the exit code says why."""

import os
import signal
import subprocess
import sys
import time

import pytest

from newtonnet.cli import app, run
from newtonnet.training import Run, first_interrupt

ENDLESS = ["--no-tune", "--threads", "1", "--patience", "0", "--max-epochs", "2000000", "--time-limit", "60s"]


def fit(tables, out, *more):
    return ["fit", *tables.arguments, "--label-column", "kind", "--out", str(out), *ENDLESS, *more]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_the_best_so_far_is_written(number, code, tables, tmp_path, monkeypatch):
    step = Run.step

    def stopped(self):
        step(self)
        if self.epoch == 3:
            signal.raise_signal(number)

    monkeypatch.setattr(Run, "step", stopped)
    signal.signal(number, signal.SIG_DFL)  # a process started by nohup ignores SIGHUP
    assert run(app, fit(tables, tmp_path / "run", "--folds", "0")) == code
    assert {"model.safetensors", "report.html"} <= {path.name for path in (tmp_path / "run").iterdir()}
    assert signal.getsignal(number) == signal.SIG_DFL


def test_a_real_sigterm_in_a_background_job_leaves_a_whole_run_and_no_temporary_folder(tables, tmp_path):
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, "-m", "newtonnet.cli", *fit(tables, tmp_path / "run", "--regime", "out-of-core")]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    deadline = time.monotonic() + 100
    while not list((tmp_path / "temporary").glob("newtonnet-edges-*/blocks/manifest.json")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    _, talk = process.communicate(timeout=100)
    assert process.returncode == 143, talk
    assert "run.json" in {path.name for path in (tmp_path / "run").iterdir()}
    assert list((tmp_path / "temporary").glob("newtonnet-*")) == []


def test_the_temporary_folder_of_a_killed_run_is_removed_by_the_next(tables, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    arguments = fit(tables, tmp_path / "run", "--regime", "out-of-core", "--folds", "0", "--max-epochs", "2")
    child = os.fork()
    if child == 0:
        Run.step = lambda self: os.kill(os.getpid(), signal.SIGKILL)
        run(app, arguments)
    os.waitpid(child, 0)
    assert len(list(tmp_path.glob("newtonnet-edges-*"))) == 1
    assert run(app, arguments) == 0
    assert list(tmp_path.glob("newtonnet-edges-*")) == []


def test_a_library_user_keeps_the_usual_sigterm():
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a command may have run in this process
    try:
        with first_interrupt() as pressed:
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
            assert not pressed()
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_ignored_sighup_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run(app, ["--version"])
        with first_interrupt() as pressed:
            signal.raise_signal(signal.SIGHUP)
            assert not pressed()
    finally:
        signal.signal(signal.SIGHUP, before)
