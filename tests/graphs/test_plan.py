"""The native series against the vendor's, in every width, order, type and number of threads."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

from newtonnet import kernels
from newtonnet.graphs import from_edges, normalised_operator, propagate
from newtonnet.kernels import use_threads

pytestmark = pytest.mark.skipif(not kernels.available(), reason="the kernels were not built")


@pytest.fixture
def hubs(rng):
    """A star on a ring with isolated nodes behind it."""
    ring = [[i, (i + 1) % 60] for i in range(60)]
    star = [[0, i] for i in range(5, 50, 2)]
    return from_edges(np.array(ring + star).T, rng.standard_normal((70, 3)))


@pytest.mark.parametrize("self_loops", [False, True])
@pytest.mark.parametrize("width", [1, 3, 8, 20, 64, 70, 131])
def test_native_equals_vendor(hubs, width, self_loops, rng):
    operator = normalised_operator(hubs, self_loops=self_loops, dtype=torch.float64)
    x = torch.tensor(rng.standard_normal((70, 1, width)), requires_grad=True)
    c = torch.tensor(rng.standard_normal((6, 1)), requires_grad=True)
    results = []
    for kernel in ("native", "vendor"):
        z = propagate(replace(operator, kernel=kernel), x, c)
        results.append((z, *torch.autograd.grad((z * x.detach().cos()).sum(), (x, c))))
    for mine, theirs in zip(*results, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("nodes", "width"), [(60_000, 70), (300_000, 20)]
)  # all 32 columns of a tile stay in the last cache, or not even 16
def test_a_block_that_does_not_fit_the_cache_is_cut_with_the_same_result(nodes, width, rng):
    ends = rng.integers(0, nodes, (2, nodes))
    operator = normalised_operator(from_edges(ends, np.ones((nodes, 1), dtype=np.float32)))
    x = torch.tensor(rng.standard_normal((nodes, 1, width)), dtype=torch.float32)
    c = torch.tensor(rng.standard_normal((3, 1)), dtype=torch.float32)
    expected = propagate(replace(operator, kernel="vendor"), x, c)
    for threads in (1, 2):
        with use_threads(threads):
            torch.testing.assert_close(propagate(operator, x, c), expected, rtol=1e-4, atol=1e-4)


def test_callers_in_several_threads_do_not_share_what_they_work_in(rng):
    operator = normalised_operator(from_edges(rng.integers(0, 2000, (2, 9000)), np.ones((2000, 1))))
    c = torch.tensor(rng.standard_normal((30, 1)), dtype=torch.float32)
    blocks = [torch.tensor(rng.standard_normal((2000, 1, 40)), dtype=torch.float32) for _ in range(8)]
    alone = [propagate(operator, x, c) for x in blocks]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            together = list(pool.map(lambda x: propagate(operator, x, c), blocks))
            assert all(map(torch.equal, together, alone))


def test_a_copy_of_a_used_plan_reads_its_own_matrix(hubs, rng):
    used = normalised_operator(hubs).plan
    x, c = torch.tensor(rng.standard_normal((70, 3))), torch.ones(4, 3, dtype=torch.float64)
    used.series(x.float(), c.float(), None)
    other = pickle.loads(pickle.dumps(used))
    assert other.columns.data_ptr() != used.columns.data_ptr()
    assert other.native is not used.native
    assert torch.equal(other.series(x.float(), c.float(), None)[0], used.series(x.float(), c.float(), None)[0])


def test_threads_in_step_equal_one(hubs, rng, monkeypatch):
    monkeypatch.setattr("newtonnet.kernels.threads.WORTH_A_THREAD", 0)
    operator = normalised_operator(hubs)
    x = torch.tensor(rng.standard_normal((70, 2, 5)), dtype=torch.float32)
    c = torch.tensor(rng.standard_normal((9, 2)), dtype=torch.float32)
    with use_threads(1):
        one = propagate(operator, x, c)
    for _ in range(20):
        with use_threads(3):
            assert torch.equal(propagate(operator, x, c), one)


def test_an_unweighted_graph_is_stored_as_a_pattern_and_a_scattered_one_by_degree(hubs, rng):
    weighted = from_edges([[0, 1], [1, 2]], np.ones((3, 1)), weights=[1.0, 2.0])
    ends = rng.permutation(4000).reshape(-1, 2)
    scattered = from_edges(np.concatenate([ends, rng.integers(0, 4000, (4000, 2))]).T, np.ones((4000, 1)))
    assert "pattern stored" in normalised_operator(hubs).describe()
    assert "as they come" in normalised_operator(hubs).describe()
    assert "values stored" in normalised_operator(weighted).describe()
    found = normalised_operator(scattered).plan
    assert found.reordered
    degrees = np.diff(found.rows.numpy())
    assert (np.diff(degrees) <= 0).all()
    assert sorted(found.order.tolist()) == list(range(4000))


def test_a_kernel_that_is_not_there_is_refused(hubs, monkeypatch):
    operator = normalised_operator(hubs)
    with pytest.raises(ValueError, match="native, vendor or None"):
        replace(operator, kernel="magic").describe()
    monkeypatch.setattr(kernels, "available", lambda: False)
    assert "vendor" in replace(operator).describe()
    with pytest.raises(ValueError, match=r"installed with a C\+\+ compiler"):
        replace(operator, kernel="native").describe()
