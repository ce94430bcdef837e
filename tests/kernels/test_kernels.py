"""Every native kernel against numpy, scipy or autograd, at widths that fill registers and widths that do not."""

import time

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from newtonnet import kernels
from newtonnet.graphs import csr_tensor
from newtonnet.kernels import Mask, compiler, counting, products, threads, use_threads
from newtonnet.nn import noise

pytestmark = pytest.mark.skipif(not kernels.available(), reason="needs llvmlite")

WIDTHS = [1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 64, 65, 100]
TYPES = [torch.float32, torch.float64]
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12}


def close(ours, theirs):
    theirs = torch.as_tensor(np.asarray(theirs), dtype=ours.dtype)
    torch.testing.assert_close(ours, theirs, rtol=TOLERANCE[ours.dtype], atol=TOLERANCE[ours.dtype])


def sparse(rng, n, m, density, dtype):
    matrix = sp.csr_array(sp.random(n, m, density, random_state=rng, data_rvs=rng.standard_normal))
    tensor = csr_tensor(
        torch.from_numpy(matrix.indptr.astype(np.int32)),
        torch.from_numpy(matrix.indices.astype(np.int32)),
        torch.tensor(matrix.data, dtype=dtype),
        matrix.shape,
    )
    return matrix, kernels.make_pattern(tensor), tensor.values()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_product_equals_scipy(width, dtype, rng):
    matrix, pattern, values = sparse(rng, 37, 23, 0.3, dtype)
    x = torch.tensor(rng.standard_normal((23, 2, width)), dtype=dtype)
    product = matrix @ x.flatten(1).double().numpy()
    close(kernels.multiply(pattern, values, x), product.reshape(37, 2, width))
    bias = torch.tensor(rng.standard_normal((2, width)), dtype=dtype)
    activated = np.maximum(product.reshape(37, 2, width) + bias.double().numpy(), 0)
    close(kernels.multiply(pattern, values, x, bias=bias), activated)
    mask = Mask((3, 2**64 - 5), 20000, 1.5)
    ours = kernels.multiply(pattern, values, x, bias=bias, mask=mask)
    close(ours, noise._masked(torch.tensor(activated, dtype=dtype), mask))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [17, 31, 33, 48, 64, 96])
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("turned", [False, True])
def test_a_product_without_its_zeros_has_the_same_bits(width, dtype, rate, turned, rng):
    _, pattern, values = sparse(rng, 83, 40, 0.3, dtype)
    values = values * torch.from_numpy(rng.random(len(values)) >= rate)
    order = torch.from_numpy(rng.permutation(len(values))) if turned else None
    stored = values if order is None else torch.empty_like(values).index_copy_(0, order, values)
    x = torch.tensor(rng.standard_normal((40, 8, width)), dtype=dtype)
    bias = torch.tensor(rng.standard_normal((8, width)), dtype=dtype)
    for options in ({}, {"bias": bias}, {"bias": bias, "mask": Mask(tuple(range(8)), 20000, 1.5)}):
        plain = kernels.multiply(pattern, values, x, **options)
        assert torch.equal(kernels.multiply(pattern, stored, x, order=order, gaps=True, **options), plain)
        assert torch.equal(kernels.multiply(pattern, stored, x, order=order, **options), plain)


@pytest.mark.parametrize("lanes", [2, 3, 4])
def test_thinning_leaves_out_all_zeros_that_fill_no_gap(lanes, rng):
    rows = [[0, 5, 0, 6, 0, 7, 8], [], [0, 0, 0, 0, 0], [1, 2, 3, 4], [0]]
    dense = [(i, j, v) for i, row in enumerate(rows) for j, v in enumerate(row)]
    pointers = torch.tensor(np.cumsum([0, *map(len, rows)]), dtype=torch.int32)
    columns = torch.tensor([j for _, j, _ in dense] + [0] * kernels.AHEAD, dtype=torch.int32)
    values = torch.tensor([float(v) for *_, v in dense])
    thin, kept = products.thinned(kernels.Pattern(pointers, columns), values, lanes=lanes)
    assert thin.columns[thin.entries :].tolist() == [0] * kernels.AHEAD
    for i, row in enumerate(rows):
        whole = len(row) // lanes * lanes
        sums = [[v for v in row[k:whole:lanes] if v] for k in range(lanes)]
        lo, hi = thin.rows[i : i + 2].tolist()
        assert hi - lo == lanes * max(map(len, sums)) + len(row) - whole
        found = {(int(c), float(v)) for c, v in zip(thin.columns[lo:hi], kept[lo:hi], strict=True) if v}
        assert found == {(j, float(v)) for j, v in enumerate(row) if v}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("first", [0, 9])
def test_dropout_is_the_same_with_and_without_the_kernel(width, dtype, first, rng):
    x = torch.tensor(rng.standard_normal((11, 3, width)), dtype=dtype)
    mask = Mask((0, 2**63 + 7, 41), 30000, 65536 / 35536)
    ours = kernels.drop(x, mask, first=first)
    torch.testing.assert_close(ours, noise._masked(x, mask, first=first))
    assert 0.3 < float((ours == 0).double().mean()) < 0.65 or width < 4


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 6, 7, 13])
@pytest.mark.parametrize("register", [16, 32])
def test_dropout_is_the_same_on_machines_with_narrower_registers(width, dtype, register, rng, monkeypatch):
    monkeypatch.setattr(compiler, "_register_bytes", lambda: register)
    compiler.drop_kernel.cache_clear()
    x = torch.tensor(rng.standard_normal((50, 2, width)), dtype=dtype)
    mask = Mask((0, 41), 30000, 2.0)
    try:
        torch.testing.assert_close(kernels.drop(x, mask), noise._masked(x, mask))
    finally:
        compiler.drop_kernel.cache_clear()


@pytest.mark.parametrize("count", [1, 63, 64, 65, 1000])
def test_flat_dropout_is_the_same_with_and_without_the_kernel(count, rng):
    x = torch.tensor(rng.standard_normal(count))
    mask = Mask((12345,), 30000, 2.0)
    torch.testing.assert_close(kernels.drop_flat(x, mask), noise._masked(x.view(1, 1, -1), mask).view(-1))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("hidden", "classes"), [(64, 7), (16, 1), (5, 3), (100, 20)])
def test_the_way_back_equals_autograd(hidden, classes, dtype, rng):
    z = torch.tensor(rng.standard_normal((29, 3, hidden)), dtype=dtype, requires_grad=True)
    weight = torch.tensor(rng.standard_normal((3, hidden, classes)), dtype=dtype, requires_grad=True)
    gradient = torch.tensor(rng.standard_normal((29, 3, classes)), dtype=dtype)
    layer = 2 * torch.relu(z)
    result = torch.einsum("nph,phc->npc", layer, weight)
    slope, weight_slope = torch.autograd.grad(result, (z, weight), gradient)
    ours = kernels.back(gradient, weight.detach(), layer.detach(), 2.0)
    for mine, theirs in zip(ours, (slope, weight_slope, slope.sum(dim=0)), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("classes", [1, 2, 7, 16, 20])
def test_a_map_to_few_columns_equals_einsum(classes, dtype, rng):
    hidden = torch.tensor(rng.standard_normal((19, 3, 24)), dtype=dtype)
    weight = torch.tensor(rng.standard_normal((3, 24, classes)), dtype=dtype)
    bias = torch.tensor(rng.standard_normal((3, classes)), dtype=dtype)
    assert not kernels.can_combine(weight[:, :23])
    assert kernels.can_combine(weight) == (classes <= compiler.widest(dtype))  # it depends on the machine's registers
    if kernels.can_combine(weight):
        close(kernels.combine(hidden, weight, bias), np.einsum("nph,phc->npc", hidden, weight) + bias.numpy())


@pytest.mark.parametrize("rows", [1, 4, 19, 30])
@pytest.mark.parametrize("count", [1, 2])
def test_a_map_in_strips_has_the_same_bits(rows, count, rng, monkeypatch):
    hidden = torch.tensor(rng.standard_normal((19, 3, 24)))
    weight, bias = torch.tensor(rng.standard_normal((3, 24, 5))), torch.tensor(rng.standard_normal((3, 5)))
    whole = kernels.combine(hidden, weight, bias)
    for name, value in (("LAST_CACHE", 0), ("STRIP", rows * 3 * 24 * 8), ("WORTH_A_THREAD", 0)):
        monkeypatch.setattr(products, name, value)
    with use_threads(count):
        assert torch.equal(kernels.combine(hidden, weight, bias), whole)


@pytest.mark.parametrize("dtype", TYPES)
def test_judgement_equals_numpy(dtype, rng):
    logits = torch.tensor(rng.integers(0, 3, (50, 4, 5)), dtype=dtype)  # with ties
    labels, parts = torch.tensor(rng.integers(0, 5, 50)), torch.tensor(rng.integers(0, 8, (50, 4)), dtype=torch.uint8)
    logits[3, 1, 2], logits[7, 2, 0] = float("inf"), float("nan")
    classes, counts, sound = kernels.judge(logits, labels, parts)
    expected = logits[:, [0, 3]].argmax(dim=2)
    trains = parts[:, [0, 3]] % 2 == 1
    assert torch.equal(classes[:, [0, 3]].long(), torch.where(trains, labels[:, None], expected))
    assert sound.tolist() == [True, False, False, True]
    for part in range(3):
        inside = (parts[:, [0, 3]] >> part) % 2 == 1
        assert counts[part, [0, 3]].tolist() == (inside & (expected == labels[:, None])).sum(dim=0).tolist()


@pytest.mark.parametrize("count", [1, 3, 4, 301])
@pytest.mark.parametrize("members", [1, 3])
def test_agreeing_pairs_are_counted(count, members, rng):
    pairs = torch.tensor(rng.integers(0, 20, (2, count)), dtype=torch.int32)
    classes = torch.tensor(rng.integers(0, 3, (20, members)), dtype=torch.int16)
    expected = (classes[pairs[0].long()] == classes[pairs[1].long()]).sum(dim=0)
    assert torch.equal(kernels.agreeing(pairs, classes), expected)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("members", [1, 4])
def test_threads_together_count_every_agreeing_pair_once(threads, members, rng, monkeypatch):
    monkeypatch.setattr(counting, "WORTH_COUNTING", 0)
    pairs = torch.from_numpy(rng.integers(0, 40, (2, 1001)).astype(np.int32))
    classes = torch.from_numpy(rng.integers(0, 3, (40, members)).astype(np.int16))
    expected = (classes[pairs[0].long()] == classes[pairs[1].long()]).sum(dim=0)
    with use_threads(threads):
        assert torch.equal(kernels.agreeing(pairs, classes), expected)


def test_threads_change_nothing_but_rounding(rng, monkeypatch):
    for module in ("products", "dropping"):
        monkeypatch.setattr(f"newtonnet.kernels.{module}.WORTH_A_THREAD", 0)
    _, pattern, values = sparse(rng, 300, 40, 0.2, torch.float64)
    x = torch.tensor(rng.standard_normal((40, 2, 9)))
    mask = Mask((1, 2), 30000, 2.0)
    with use_threads(3):
        three = kernels.multiply(pattern, values, x), kernels.drop(x, mask)
    with use_threads(1):
        one = kernels.multiply(pattern, values, x), kernels.drop(x, mask)
    for mine, theirs in zip(three, one, strict=True):
        assert torch.equal(mine, theirs)


def test_an_error_in_another_thread_is_raised_here():
    def fail():
        raise ValueError("there")

    with pytest.raises(ValueError, match="there"):
        kernels.in_step([lambda: None, fail])


def test_an_error_here_waits_for_the_other_threads():
    finished = []

    def stop():
        raise KeyboardInterrupt

    def work():
        time.sleep(0.1)
        finished.append(True)

    with pytest.raises(KeyboardInterrupt):
        kernels.in_step([stop, work, work])
    assert len(finished) == 2


def test_scratch_is_kept_while_it_is_large_enough_and_not_too_large(monkeypatch):
    first = kernels.scratch(100, torch.float32)
    assert (first.shape, first.dtype) == ((100,), torch.float32)
    assert kernels.scratch(50, torch.float64).data_ptr() == first.data_ptr()
    monkeypatch.setattr(threads, "KEPT_BYTES", 800)
    large = kernels.scratch(101, torch.float64)
    assert large.shape == (101,)
    assert large.data_ptr() != first.data_ptr() == kernels.scratch(1, torch.float32).data_ptr()


def test_threads_are_given_back():
    before = torch.get_num_threads(), kernels.thread_count()
    with use_threads(5, torch_count=1):
        assert (torch.get_num_threads(), kernels.thread_count()) == (1, 5)
    assert (torch.get_num_threads(), kernels.thread_count()) == before
    with pytest.raises(ValueError, match="at least 1"), use_threads(0):
        pass
