"""Random calls of the kernels against numpy, and the same under sanitizers in the long campaign."""

import os
import random
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
import torch

from newtonnet import kernels

SOURCES = Path(kernels.__file__).parent


def random_calls(calls, seed):
    """Products and series of random matrices, widths 1 to 130, 1 to 4 threads, both types, against dense numpy."""
    rng = np.random.default_rng(seed)
    for _ in range(calls):
        n, m, width = rng.integers(1, 40), rng.integers(1, 40), int(rng.integers(1, 131))
        dtype = (torch.float32, torch.float64)[rng.integers(2)]
        dense = np.where(rng.random((n, m)) < rng.random(), rng.normal(size=(n, m)), 0.0)
        rows, columns = np.nonzero(dense)
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int32)
        padded = np.concatenate([columns, np.zeros(kernels.AHEAD)]).astype(np.int32)
        pattern = kernels.Pattern(torch.from_numpy(pointers), torch.from_numpy(padded))
        x = torch.from_numpy(rng.normal(size=(m, 1, width))).to(dtype)
        values = torch.from_numpy(dense[rows, columns]).to(dtype)
        close = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
        with kernels.use_threads(int(rng.integers(1, 5)), torch_count=1):
            found = kernels.multiply(pattern, values, x, gaps=bool(rng.integers(2)))
            np.testing.assert_allclose(found[:, 0].double(), dense @ x[:, 0].double().numpy(), **close)
            mask = kernels.Mask((int(rng.integers(2**62)),), int(rng.integers(65536)), 2.0)
            dropped = kernels.drop(x, mask)
            assert ((dropped == 0) | (dropped == 2 * x)).all()


@pytest.mark.skipif(not kernels.available(), reason="the kernels were not built")
def test_random_calls(choose, count, monkeypatch):
    monkeypatch.setattr(kernels.threads, "WORTH_A_THREAD", 0)
    calls = choose(short=300, long=20_000)
    random_calls(calls, 0)
    count["kernels: random calls against numpy (wrong 0)"] += calls


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    """Rows are computed by one thread each, in one order; only sums over nodes are added up thread by thread."""
    monkeypatch.setattr(kernels.threads, "WORTH_A_THREAD", 0)
    from newtonnet.datasets import csbm
    from newtonnet.graphs import normalised_operator, propagate

    graph = csbm(0.2, nodes=500, features=20)
    operator, x = normalised_operator(graph), torch.randn(500, 2, 7)
    found = []
    for threads in (1, 2, 4):
        with kernels.use_threads(threads, torch_count=1):
            found.append(propagate(operator, x, torch.ones(5, 2)))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_random_calls_under_sanitizers(choose, count, tmp_path):
    """The kernels built with AddressSanitizer and UndefinedBehaviorSanitizer, in a process that loads them first."""
    if not choose(short=0, long=1):
        pytest.skip("long campaign only: the build takes a minute")
    pybind11 = pytest.importorskip("pybind11")
    compiler = shutil.which("g++") or pytest.skip("no compiler")
    copy = tmp_path / "src"
    shutil.copytree(SOURCES.parent, copy / "newtonnet", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    target = copy / "newtonnet" / "kernels" / f"_native_baseline{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = ["-O1", "-g", "-std=c++20", "-fPIC", "-shared", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    folders = [f"-I{pybind11.get_include()}", f"-I{sysconfig.get_paths()['include']}"]
    source = str(SOURCES / "native.cpp")
    subprocess.run([compiler, *flags, *folders, "-DMODULE_NAME=_native_baseline", source, "-o", target], check=True)
    libraries = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    calls = 2_000
    script = (
        "import runpy, sys; from newtonnet import kernels; kernels.threads.WORTH_A_THREAD = 0\n"
        f"assert kernels.kind() == 'baseline', kernels.kind()\n"
        f"runpy.run_path({str(Path(__file__))!r})['random_calls']({calls}, {random.randrange(2**31)})"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "LD_PRELOAD": ":".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    count["kernels: random calls under AddressSanitizer and UndefinedBehaviorSanitizer (reports 0)"] += calls
