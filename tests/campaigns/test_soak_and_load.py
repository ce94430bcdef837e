"""Fit, predict, explain, save and load for a long time in one process, and predict from many threads at once."""

import ctypes
import gc
import os
import sys
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


class Mallinfo(ctypes.Structure):
    """What glibc says about its memory."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def memory():
    """Megabytes that this process holds, megabytes in use below Python, and blocks in use by Python."""
    gc.collect()
    with open("/proc/self/statm") as stream:
        held = int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    look = ctypes.CDLL(None).mallinfo2
    look.restype = Mallinfo
    found = look()
    return held / 1e6, (found.uordblks + found.hblkhd) / 1e6, sys.getallocatedblocks()


def fill_caches():
    """Numpy keeps up to seven freed blocks of every size below 1 kB: 3.6 MB that only look like growth."""
    for size in range(1, 1025):
        blocks = [np.empty(size, dtype=np.uint8) for _ in range(8)]
        del blocks


def test_memory_and_file_handles_stay_flat(choose, count, tmp_path):
    graph = csbm(0.2, nodes=80, features=8)

    def cycle(number):
        name = MODELS[number % len(MODELS)]
        model = NewtonNetClassifier(name, tune="off", max_epochs=3, folds=2, threads=1).fit(graph)
        model.save(tmp_path / "model")
        loaded = NewtonNetClassifier.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))
        loaded.explain(graph, number % graph.nodes)

    cycles, seconds, pace = choose(short=7, long=1000), choose(short=0, long=90 * 60), choose(short=0, long=0.5)
    samples = np.ones((cycles + int(seconds / max(pace, 1e-9)), 4))  # all of it now: a list would grow
    fill_caches()
    for number in range(len(MODELS)):
        cycle(number)  # imports are no growth
    done, handles, start = 0, set(), time.monotonic()
    while done < cycles or time.monotonic() < start + seconds:
        began = time.monotonic()
        cycle(done)
        samples[done] = time.monotonic() - start, *memory()
        done += 1
        if 2 * done > cycles:
            handles.add(len(os.listdir("/proc/self/fd")))
        if done % 100 == 0:
            print(
                "{:.0f} s, {} cycles, {:.3f} MB held, {:.4f} MB and {:.0f} blocks in use".format(
                    samples[done - 1, 0], done, *samples[done - 1, 1:]
                ),
                flush=True,
            )
        time.sleep(max(0, began + pace - time.monotonic()))  # other work finds a core
    assert len(handles) == 1
    times, held, used, blocks = samples[done // 6 : done : 1 + done // 2000].T  # a sixth is for warming up
    grown = np.median(held[-len(held) // 4 :]) - np.median(held[: len(held) // 4])
    slopes = [3600 * theilslopes(one, times).slope for one in (held, used, blocks)]
    count["soak: cycles of fit, save, load, predict and explain"] += done
    count["soak: growth in kB between the first and the last quarter"] += round(1000 * grown)
    count["soak: growth in kB per hour (Theil-Sen), held by the process"] += round(1000 * slopes[0])
    count["soak: growth in kB per hour (Theil-Sen), in use below Python"] += round(1000 * slopes[1])
    count["soak: growth in blocks per hour (Theil-Sen), in use by Python"] += round(slopes[2])
    count["soak: seconds"] += round(times[-1])
    assert grown < choose(short=8, long=2)
    assert max(slopes[:2]) < choose(short=np.inf, long=1)


def test_one_model_in_eight_threads(choose, count):
    graph = csbm(0.2, nodes=300, features=20)
    model = NewtonNetClassifier(tune="off", max_epochs=5, folds=2, threads=2).fit(graph)
    expected = model.predict_proba(graph)
    calls = choose(short=50, long=500)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: model.predict_proba(graph), range(calls)):
            np.testing.assert_array_equal(found, expected)
    count["load: predict_proba calls from 8 threads (other results 0)"] += calls
