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
from newtonnet.graphs import csr_tensor

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
    linear_call([(pattern, values)] * rng.integers(3), dense, rng, width, close, dtype)
    kernels.gather((pattern, values), block)
    np.testing.assert_allclose(block.double()[..., width:], np.einsum("ij,jpd->ipd", dense, left), **close)


def linear_call(matrices, dense, rng, width, close, dtype):
    """A linear layer on a graph, its moments and its gradients, for which the matrix stands in for its transpose."""
    n, inputs, maps = len(dense), int(rng.integers(1, 40)), 1 + len(matrices)
    x, gradient = (torch.from_numpy(rng.normal(size=(n, 2, d))).to(dtype) for d in (inputs, width))
    weight = torch.from_numpy(rng.normal(size=(2, maps, inputs, width)) * inputs**-0.5).to(dtype)
    factors = np.stack([np.eye(n), *[dense] * len(matrices)])
    near, of_near = (np.einsum("mij,jpd->mipd", factors, block.double().numpy()) for block in (x, gradient))
    u = np.einsum("mipd,pmdh->iph", near, weight.double().numpy())
    found, moments = kernels.graph_linear(matrices, x, weight, moments=True)
    np.testing.assert_allclose(found.double(), u, **close)
    np.testing.assert_allclose(moments, [u.mean(axis=0), u.var(axis=0)], **close)
    of_x, of_weight = kernels.graph_linear_gradients(matrices, gradient, x, weight)
    np.testing.assert_allclose(of_x.double(), np.einsum("miph,pmdh->ipd", of_near, weight.double().numpy()), **close)
    np.testing.assert_allclose(of_weight.double(), np.einsum("ipd,miph->pmdh", x.double().numpy(), of_near), **close)


def encoder_call(pattern, values, dense, rng, width, close):
    """The encoder of sparse features, with some of them dropped, and its gradients, by blocks of rows."""
    (n, features), dtype = dense.shape, values.dtype
    members, classes, block = (int(rng.integers(1, last)) for last in (6, 9, n + 1))
    kept, sparse = rng.random(len(values)) < rng.random(), dense.copy()
    sparse[dense != 0] *= kept
    shown = values * torch.from_numpy(kept)
    shapes = [(features, members, width), (members, width), (members, width, classes), (members, classes)]
    weights = [torch.from_numpy(rng.normal(size=shape)).to(dtype) for shape in shapes]
    weights[2] /= width**0.5
    first, bias, second, shift = (weight.double().numpy() for weight in weights)
    keys = tuple(int(key) for key in rng.integers(2**62, size=members))
    masks = [kernels.Mask(keys, int(rng.integers(65536)), 2.0) if rng.random() < 0.5 else None for _ in range(2)]
    gaps = bool(rng.integers(2))
    found, hidden = kernels.encode(pattern, shown, tuple(weights), gaps=gaps, masks=tuple(masks), keep=True)
    own = np.maximum(np.einsum("if,fpd->pid", sparse, first) + bias[:, None], 0)
    if masks[0]:
        own *= kernels.drop(torch.ones(n, members, width), masks[0]).permute(1, 0, 2).double().numpy()
    np.testing.assert_allclose(hidden.double(), own, **close)
    out = np.einsum("pid,pdc->ipc", own, second) + shift
    if masks[1]:
        out *= kernels.drop(torch.ones(n, members, classes), masks[1]).double().numpy()
    np.testing.assert_allclose(found.double(), out, **close)
    gradient = torch.from_numpy(rng.normal(size=out.shape)).to(dtype)
    matrix = csr_tensor(pattern.rows, pattern.columns[: pattern.entries], shown, dense.shape)
    of = kernels.encode_gradients(kernels.turn(matrix, block), shown, gradient, hidden, weights[2], 2.0)
    of_z = np.einsum("ipc,pdc->pid", gradient.double().numpy(), second) * 2 * (hidden.double().numpy() > 0)
    np.testing.assert_allclose(of[0].double(), np.einsum("if,pid->fpd", sparse, of_z), **close)
    np.testing.assert_allclose(of[1].double(), of_z.sum(axis=1), **close)
    expected = np.einsum("pid,ipc->pdc", hidden.double().numpy(), gradient.double().numpy())
    np.testing.assert_allclose(of[2].double(), expected, **close)


def series_call(pattern, values, dense, rng, width, close):
    """A Chebyshev series of a scaled matrix in another order of its nodes, and the inner products of its terms."""
    n, dtype = len(dense), values.dtype
    small = dense / max(np.linalg.norm(dense), 1e-9)
    order, scale = rng.permutation(n), torch.ones(n, dtype=dtype)
    entries = torch.from_numpy(small[dense != 0]).to(dtype)
    operator = kernels.make_operator(pattern.rows, pattern.columns, torch.from_numpy(order).int(), entries, scale)
    x, against = (torch.from_numpy(rng.normal(size=(n, width))).to(dtype) for _ in range(2))
    weights = torch.from_numpy(rng.normal(size=(int(rng.integers(1, 6)), width))).to(dtype)
    found, inner = kernels.series(operator, pattern.entries, x, weights, against)
    signal, other = x.double().numpy()[order], against.double().numpy()[order]
    terms = [signal, -small @ signal]
    while len(terms) < len(weights):
        terms.append(-2 * small @ terms[-1] - terms[-2])
    terms = np.stack(terms[: len(weights)])
    expected = np.einsum("kc,kic->ic", weights.double().numpy(), terms)
    np.testing.assert_allclose(found.double().numpy()[order], expected, **close)
    np.testing.assert_allclose(inner.double(), np.einsum("kic,ic->kc", terms, other), **close)


def random_calls(calls, seed):
    """Products, encoders, layers and series by numpy: 1 to 130 columns or 260, 1 to 4 threads, both types."""
    rng, made = np.random.default_rng(seed), 0
    while made < calls:
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
            encoder_call(pattern, values, dense, rng, min(width, 130), close)
            if n == m:
                layer_call(pattern, values, dense, rng, width, close)
                series_call(pattern, values, dense, rng, width, close)
            mask = kernels.Mask((int(rng.integers(2**62)),), int(rng.integers(65536)), 2.0)
            dropped = kernels.drop(x, mask)
            assert ((dropped == 0) | (dropped == 2 * x)).all()
        made += 10 if n == m else 4
    return made


built = pytest.mark.skipif(not kernels.available(), reason="the kernels were not built")


@built
def test_random_calls(choose, count, monkeypatch):
    monkeypatch.setattr(kernels.threads, "WORTH_A_THREAD", 0)
    made = random_calls(choose(short=1000, long=100_000), 0)
    count["kernels: random calls against numpy (wrong 0)"] += made


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
INSTRUCTIONS = {"baseline": [], "avx2": ["-march=x86-64-v3"], "avx512": ["-march=x86-64-v4"]}


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("sanitizer", SANITIZERS)
def test_a_driver_without_python_under_sanitizers(sanitizer, instructions, choose, count, tmp_path):
    """driver.cpp: calls, interrupts, and allocations and threads that fail."""
    calls, faults = choose(short=0, long=20_000), choose(short=0, long=2000)
    if not calls:
        pytest.skip("long campaign only: the build takes minutes")
    if instructions not in kernels.native.instruction_sets():
        pytest.skip(f"this processor has no {instructions}")
    compiler = shutil.which("g++") or pytest.skip("no compiler")
    source, driver = Path(__file__).with_name("driver.cpp"), tmp_path / "driver"
    flags = ["-O0", "-g1", "-std=c++20", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all", "-pthread", "-ldl"]
    flags += INSTRUCTIONS[instructions]  # with -O1 the build takes four minutes
    subprocess.run([compiler, *flags, f"-I{SOURCES}", source, "-o", driver], check=True)
    environment = {**os.environ, **SANITIZERS[sanitizer]}
    for numbers in ((calls, 0, min(calls, 10_000), 0), (0, 1, 0, faults)):
        done = subprocess.run([driver, *map(str, numbers)], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{done.stdout[-500:]} {done.stderr[:3000]}"
        for what, number in zip(("calls", "interrupts", "faults"), done.stdout.split(), strict=True):
            count[f"kernels: {what} of the driver, {instructions}, {sanitizer} (reports 0)"] += int(number)


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
    calls = choose(short=0, long=20_000)
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
