from types import SimpleNamespace

import pytest

from newtonnet_paper.bench import GraphSize, fresh, sized_graph
from newtonnet_paper.bench.fresh import FreshRun, peak_memory, store, time_kernels
from newtonnet_paper.bench.timing import Timing


def test_a_larger_training_is_measured_in_its_own_process(tmp_path, tiny_size):
    small = store(sized_graph(tiny_size), tmp_path, name="small")
    # 30000 nodes, 64 hidden units: one block of activations alone has 7.7 MB.
    large = sized_graph(GraphSize("large", nodes=30_000, edges=60_000, largest=200, skew=0.5))
    peaks = peak_memory([FreshRun(small, epochs=1), FreshRun(store(large, tmp_path, name="large"), epochs=1)])
    assert 0 < peaks[0] < 400
    assert peaks[1] > peaks[0] + 7.7


def test_a_process_that_fails_is_named(monkeypatch):
    monkeypatch.setattr("newtonnet_paper.bench.fresh.sys.executable", "false")
    with pytest.raises(OSError, match="newtonnet on nowhere could not be measured: exit code 1"):
        peak_memory([FreshRun("nowhere.pickle")])


def test_what_a_process_prints_becomes_the_ms_of_an_epoch(tmp_path, tiny_size, monkeypatch, capsys):
    """In this process, which need not be started; it keeps its peak of memory, and its kernels."""
    monkeypatch.setattr(fresh, "forget_peak", lambda: None)

    def run(command, **_):
        fresh.main(command[-1])
        return SimpleNamespace(returncode=0, stdout=capsys.readouterr().out)

    monkeypatch.setattr(fresh.subprocess, "run", run)
    row = time_kernels(store(sized_graph(tiny_size), tmp_path, name="small"), Timing(1, 0.01, threads=1))
    assert row["on_ms"] > 0
    assert row["ratio"] == pytest.approx(row["off_ms"] / row["on_ms"])


def test_only_the_run_without_kernels_turns_them_off(monkeypatch):
    monkeypatch.setenv(fresh.KERNELS, "require")
    seen = []

    def run(command, *, env, **rest):
        seen.append((env.get(fresh.KERNELS), env.get("OMP_NUM_THREADS")))
        return SimpleNamespace(returncode=0, stdout='{"measured": 0.5}')

    monkeypatch.setattr(fresh.subprocess, "run", run)
    assert time_kernels("graph.pickle", Timing(2, 0.1, threads=3))["ratio"] == 1.0
    assert seen == [(None, "3"), ("off", "3")] * 2
