"""Fit, predict, explain, save and load for a long time in one process, and predict from many threads at once."""

import gc
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.stats import theilslopes

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm

pytestmark = pytest.mark.usefixtures("few_trees")
MODELS = ("newtonnet", "ridge", "newton-stack", "boosting", "bernnet")
"""One of every family, in turn."""


def resident():
    """Megabytes of memory of this process."""
    gc.collect()
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def test_memory_and_file_handles_stay_flat(choose, count, tmp_path):
    graph = csbm(0.2, nodes=80, features=8)

    def cycle(number):
        name = MODELS[number % len(MODELS)]
        model = NewtonNetClassifier(name, tune="off", max_epochs=3, folds=2, threads=1).fit(graph)
        model.save(tmp_path / "model")
        loaded = NewtonNetClassifier.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))
        loaded.explain(graph, number % graph.nodes)

    cycles, seconds = choose(short=7, long=1000), choose(short=0, long=90 * 60)
    samples, handles, start = [], set(), time.monotonic()
    while len(samples) < cycles or time.monotonic() < start + seconds:
        cycle(len(samples))
        samples.append((time.monotonic() - start, resident()))
        if 2 * len(samples) > cycles:
            handles.add(len(os.listdir("/proc/self/fd")))
        if len(samples) % 100 == 0:
            print(f"{samples[-1][0]:.0f} s, {len(samples)} cycles, {samples[-1][1]:.2f} MB", flush=True)
    assert len(handles) == 1
    times, sizes = np.array(samples[len(samples) // 6 :: 1 + len(samples) // 2000]).T  # a sixth is for warming up
    grown = np.median(sizes[-len(sizes) // 4 :]) - np.median(sizes[: len(sizes) // 4])
    slope = 3600 * theilslopes(sizes, times).slope
    count["soak: cycles of fit, save, load, predict and explain"] += len(samples)
    count["soak: growth in kB between the first and the last quarter"] += round(1000 * grown)
    count["soak: growth in kB per hour (Theil-Sen)"] += round(1000 * slope)
    count["soak: seconds"] += round(times[-1])
    assert grown < choose(short=8, long=2)
    assert slope < choose(short=np.inf, long=1)


def test_one_model_in_eight_threads(choose, count):
    graph = csbm(0.2, nodes=300, features=20)
    model = NewtonNetClassifier(tune="off", max_epochs=5, folds=2, threads=2).fit(graph)
    expected = model.predict_proba(graph)
    calls = choose(short=50, long=500)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: model.predict_proba(graph), range(calls)):
            np.testing.assert_array_equal(found, expected)
    count["load: predict_proba calls from 8 threads (other results 0)"] += calls
