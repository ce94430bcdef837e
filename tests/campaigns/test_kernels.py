"""Random calls of the kernels against numpy, and the same under sanitizers in the long campaign."""

import os
import random
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
import torch

from newtonnet import kernels

SOURCES = Path(kernels.__file__).parent


def layer_call(pattern, values, dense, rng, width, close):
    """The fused layer of a stack: sum, scale, shift and ReLU, its moments, and the product of its gradient."""
    n, dtype = len(dense), values.dtype
    block = torch.from_numpy(rng.normal(size=(n, 2, 2 * width))).to(dtype)
    scale, shift = (torch.from_numpy(rng.normal(size=(2, width))).to(dtype) for _ in range(2))
    left, right = block.double().numpy()[..., :width], block.double().numpy()[..., width:]
    u = left + np.einsum("ij,jpd->ipd", dense, right)
    found, _ = kernels.combine((pattern, values), block, lines=(scale, shift))
    expected = np.maximum(u * scale.double().numpy() + shift.double().numpy(), 0)
    np.testing.assert_allclose(found.double(), expected, **close)
    _, moments = kernels.combine((pattern, values), block, moments=True)
    np.testing.assert_allclose(moments, [u.mean(axis=0), u.var(axis=0)], **close)
    kernels.gather((pattern, values), block)
    np.testing.assert_allclose(block.double()[..., width:], np.einsum("ij,jpd->ipd", dense, left), **close)


def random_calls(calls, seed):
    """Products and series of random matrices, 1 to 130 columns or 260, 1 to 4 threads, both types, by numpy."""
    rng = np.random.default_rng(seed)
    for _ in range(calls):
        n, m, width = *rng.integers(1, 30, size=2), int(rng.integers(1, 131)) if rng.random() < 0.8 else 260
        m = n if rng.random() < 0.5 else m
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
            if n == m:
                layer_call(pattern, values, dense, rng, width, close)
            mask = kernels.Mask((int(rng.integers(2**62)),), int(rng.integers(65536)), 2.0)
            dropped = kernels.drop(x, mask)
            assert ((dropped == 0) | (dropped == 2 * x)).all()


built = pytest.mark.skipif(not kernels.available(), reason="the kernels were not built")


@built
def test_random_calls(choose, count, monkeypatch):
    monkeypatch.setattr(kernels.threads, "WORTH_A_THREAD", 0)
    calls = choose(short=300, long=100_000)
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


@built
def test_interrupts(choose, count, monkeypatch):
    """Ctrl-C at any moment of a call with several threads: none of them writes to memory that is freed by then."""
    monkeypatch.setattr(kernels.threads, "WORTH_A_THREAD", 0)
    pattern = kernels.Pattern(torch.arange(0, 1210, 10).int(), (torch.arange(1200 + kernels.AHEAD) % 120).int())
    values, x = torch.ones(1200), torch.ones(120, 1, 256)
    wanted, seen, expected = choose(short=100, long=10_000), 0, torch.full((120, 1, 256), 10.0)
    found = expected
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        while seen < wanted:
            try:
                with kernels.use_threads(4, torch_count=1):
                    signal.setitimer(signal.ITIMER_REAL, 2e-4 + 1e-4 * (seen % 7))
                    while True:
                        found = kernels.multiply(pattern, values, x)
            except KeyboardInterrupt:
                seen += 1
            assert torch.equal(found, expected)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    count["kernels: interrupts (crashes 0, wrong results 0)"] += seen


SANITIZERS = {
    "address,undefined": {"ASAN_OPTIONS": "detect_leaks=0"},
    "thread": {"TSAN_OPTIONS": "halt_on_error=1"},
}


@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_a_driver_without_python_under_sanitizers(sanitizer, choose, count, tmp_path):
    """driver.cpp: calls, interrupts, and allocations and threads that fail."""
    calls = choose(short=0, long=20_000 if sanitizer == "thread" else 100_000)  # the former takes six times as long
    if not calls:
        pytest.skip("long campaign only: the build takes minutes")
    compiler = shutil.which("g++") or pytest.skip("no compiler")
    source, driver = Path(__file__).with_name("driver.cpp"), tmp_path / "driver"
    flags = ["-O1", "-g1", "-std=c++20", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-pthread", "-ldl"]
    subprocess.run([compiler, *flags, f"-I{SOURCES}", source, "-o", driver], check=True)
    environment = {**os.environ, **SANITIZERS[sanitizer]}
    for numbers in ((calls, 0, 10_000, 0), (0, 1, 0, 2000)):
        done = subprocess.run([driver, *map(str, numbers)], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{done.stdout[-500:]} {done.stderr[:3000]}"
        for what, number in zip(("calls", "interrupts", "faults"), done.stdout.split(), strict=True):
            count[f"kernels: {what} of the driver, {sanitizer} (reports 0)"] += int(number)


def test_random_calls_under_sanitizers(choose, count, tmp_path):
    """The module built with AddressSanitizer and UndefinedBehaviorSanitizer, in a process that loads them first."""
    if not choose(short=0, long=1):
        pytest.skip("long campaign only: the build takes minutes")
    compiler = shutil.which("g++") or pytest.skip("no compiler")
    copy = tmp_path / "src"
    shutil.copytree(SOURCES.parent, copy / "newtonnet", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    target = copy / "newtonnet" / "kernels" / f"_native_baseline{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = [
        "-O1",
        "-g1",
        "-std=c++20",
        "-fPIC",
        "-shared",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ]
    folders = [f"-I{Path(torch.__file__).parent / 'include'}", f"-I{sysconfig.get_paths()['include']}"]  # has pybind11
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
