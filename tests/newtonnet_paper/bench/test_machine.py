import numpy as np
import pytest
import torch

from newtonnet.kernels import AHEAD, use_threads
from newtonnet_paper.bench import sized_graph
from newtonnet_paper.bench.machine import GATHERED, Limits, build_gather, product_bytes, time_kernel


@pytest.mark.parametrize(
    ("nodes", "stored", "columns", "cache", "expected"),
    [
        # 8 nnz + 8 n c: chameleon's 62742 entries with 64 columns in 32 MB of cache
        (2277, 62742, 64, 32 * 2**20, 501_936 + 1_165_824),
        # the block of 168114 x 64 is 43 MB, so every entry reads its row again: + 4 nnz c
        (168114, 13595114, 64, 32 * 2**20, 108_760_912 + 86_074_368 + 3_480_349_184),
        # a block of exactly the cache's size still fits
        (1000, 5000, 2, 8000, 56_000),
        (1000, 5000, 2, 7999, 96_000),
    ],
)
def test_the_byte_model_on_numbers_by_hand(nodes, stored, columns, cache, expected):
    assert product_bytes(nodes, stored, columns, cache=cache) == expected


def test_fractions_are_the_limits_over_the_measured_time(tiny_size, monkeypatch):
    graph = sized_graph(tiny_size)
    monkeypatch.setattr("newtonnet_paper.bench.machine.repeat", lambda call, seconds: (call(), 5e-3)[1])
    limits = Limits(bandwidth=1e7, multiply_adds=1e6, cache=2**20, l2_bandwidth=1e8)
    row = time_kernel(graph, (2,), limits, seconds=0.0, note=pytest.fail)
    # 400 entries, 80 nodes, 2 columns: 3200 + 1280 bytes, 800 multiply-adds; five products took 5 ms
    assert (row["nodes"], row["stored"]) == (80, 400)
    expected = {"ms": 1.0, "bound_ms": 0.448, "fraction": 0.448, "arithmetic_fraction": 0.8}
    assert row["products"]["2"] == pytest.approx(expected)


def test_a_product_is_compared_with_reading_its_rows_where_that_can_be_measured(tiny_size, monkeypatch):
    graph, read = sized_graph(tiny_size), []
    times = iter(
        [5e-3, 4e-4, 2e-4, 5e-3]
    )  # 2 columns: five products, read plainly, with prefetching; 7 columns: products
    monkeypatch.setattr("newtonnet_paper.bench.machine.repeat", lambda call, seconds: (call(), next(times))[1])
    limits = Limits(bandwidth=1e7, multiply_adds=1e6, cache=2**20, l2_bandwidth=1e8)

    def gather(entries, x, ahead):
        read.append((len(entries), *x.shape, ahead))

    found = time_kernel(graph, (2, 7), limits, seconds=0.0, note=pytest.fail, gather=gather)["products"]
    assert read == [(400, 80, 2, 0), (400, 80, 2, AHEAD)]
    assert found["2"]["gather_ms"] == pytest.approx(0.4)
    assert found["2"]["gather_fraction"] == pytest.approx(0.4)
    assert found["2"]["prefetched_gather_fraction"] == pytest.approx(0.2)
    assert "gather_ms" not in found["7"]


@pytest.mark.parametrize("columns", GATHERED)
@pytest.mark.parametrize(("threads", "ahead"), [(1, 0), (1, 32), (3, 32)])
def test_the_gather_bound_reads_every_number_of_the_rows(columns, threads, ahead):
    gather = build_gather() or pytest.skip("no compiler")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, columns)).astype(np.float32)
    entries = rng.integers(30, size=101).astype(np.int32)
    with use_threads(threads):
        found = gather(torch.from_numpy(entries), torch.from_numpy(x), ahead)
    assert found == np.bitwise_xor.reduce(x.view(np.int32)[entries], axis=None)


def test_a_block_that_does_not_fit_into_memory_is_skipped_with_a_note(tiny_size, monkeypatch):
    monkeypatch.setattr("newtonnet_paper.bench.machine.free_memory", lambda: 6 * 4 * 80 * 8 - 1)
    notes = []
    row = time_kernel(sized_graph(tiny_size), (2, 8), Limits(1e9, 1e9, 2**20, 1e9), seconds=0.0, note=notes.append)
    assert list(row["products"]) == ["2"]
    assert "8 columns" in notes[0]
