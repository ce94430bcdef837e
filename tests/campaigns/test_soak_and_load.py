"""Fit, predict, save and load for a long time in one process, and from many threads at once."""

import gc
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm


def resident():
    """Megabytes of memory of this process."""
    gc.collect()
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def test_memory_and_file_handles_stay_flat(choose, count, tmp_path):
    graph = csbm(0.2, nodes=200, features=20)
    model = NewtonNetClassifier(tune="off", max_epochs=3, folds=2, threads=1)

    def cycle():
        model.fit(graph).save(tmp_path / "model")
        loaded = NewtonNetClassifier.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))

    end, samples = time.monotonic() + choose(short=6, long=300), []
    for _ in range(20):
        cycle()
    handles = len(os.listdir("/proc/self/fd"))
    while time.monotonic() < end or len(samples) < 20:
        cycle()
        samples.append((time.monotonic(), resident()))
    assert len(os.listdir("/proc/self/fd")) == handles
    times, sizes = np.array(samples).T
    grown = np.median(sizes[-len(sizes) // 4 :]) - np.median(sizes[: len(sizes) // 4])
    count["soak: cycles of fit, save, load and predict"] += len(samples)
    count["soak: growth in kB between the first and the last quarter"] += round(1000 * grown)
    count["soak: seconds"] += round(times[-1] - times[0])
    assert grown < 2


def test_one_model_in_eight_threads(choose, count):
    graph = csbm(0.2, nodes=300, features=20)
    model = NewtonNetClassifier(tune="off", max_epochs=5, folds=2, threads=2).fit(graph)
    expected = model.predict_proba(graph)
    calls = choose(short=100, long=500)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: model.predict_proba(graph), range(calls)):
            np.testing.assert_array_equal(found, expected)
    count["load: predict_proba calls from 8 threads (other results 0)"] += calls
