import time
from dataclasses import replace

import pytest

from newtonnet_paper.bench import sized_graph, tables
from newtonnet_paper.bench.machine import Limits
from newtonnet_paper.bench.roofline import (
    NEWTONNET,
    STACK,
    PhaseClock,
    Work,
    measure_newtonnet,
    measure_stack,
    newtonnet_work,
    stack_work,
    time_phases,
)
from newtonnet_paper.bench.stacks import SHAPE, operations
from newtonnet_paper.bench.timing import Timing, common_setting, equal_setting, make_task, train

LIMITS = Limits(bandwidth=2e9, multiply_adds=4e9, cache=2**25, l2_bandwidth=8e9)
ONCE = Timing(1, 0.001, 1)


@pytest.fixture(scope="module")
def graph(tiny_size):
    return sized_graph(tiny_size)


def test_the_work_of_every_phase_on_numbers_by_hand(graph):
    """80 nodes, 400 entries, 3 classes; 160 one-hot features of 20, half of them dropped; 64 units, K = 5, P = 2."""
    work = newtonnet_work(make_task(graph, "newtonnet", common_setting(), members=2), cache=2**25)
    second, hidden, weights = 2 * 80 * 128 * 3, 4 * 80 * 128, 4 * 20 * 128
    forward = Work(2 * 80 * 128 + second, 8 * 80 + weights + hidden + 4 * 80 * 6, 4 * 80 * 128)
    assert work["encoder forward"] == forward
    assert work["encoder backward"] == forward + Work(second, 4 * 80 * 6)
    assert work["propagation forward"] == Work(5 * 2 * 400 * 6, 5 * (8 * 400 + 8 * 80 * 6), 5 * 4 * 400 * 6)
    assert work["propagation backward"] == work["propagation forward"] + Work(2 * 6 * 80 * 6)
    assert work["evaluation"].operations == 2 * 160 * 128 + second + 5 * 2 * 400 * 6
    assert work["optimiser"].moved == 28 * 2 * (20 * 64 + 64 + 64 * 3 + 3 + 6)
    assert work["loss"].operations == 8 * 3 * 2 * 48
    assert work["rest"] == Work()
    assert tuple(work) == NEWTONNET


def test_dense_features_are_multiplied_whole_and_twice_in_the_backward_pass(tiny_size):
    dense = sized_graph(replace(tiny_size, per_row=0))
    work = newtonnet_work(make_task(dense, "newtonnet", common_setting()), cache=2**25)
    first, second = 2 * 80 * 20 * 64, 2 * 80 * 64 * 3
    assert work["encoder forward"].operations == first + second
    assert work["encoder backward"].operations == 2 * first + 2 * second
    assert work["encoder forward"].gathered == 0


def test_a_stack_has_the_operations_of_its_section(graph):
    work = stack_work(make_task(graph, "newton-stack", equal_setting("newton-stack", **SHAPE)))
    products = sum(work[phase].operations for phase in ("forward", "backward", "evaluation"))
    assert products == operations(graph)
    assert tuple(work) == STACK


def test_shares_are_what_the_limits_would_take_over_the_time():
    shares = Work(operations=8e9, moved=1e9, gathered=2e9).shares(2.0, LIMITS)
    assert shares == {"bandwidth": 0.25, "l2": 0.125, "peak": 0.5}
    assert Work(operations=8e9).shares(0.0, LIMITS) == dict.fromkeys(shares), "too short to be measured"


@pytest.mark.parametrize(
    ("threads", "members"),
    [(1, 1), (1, 3), (2, 3)],
)
def test_phases_add_up_to_the_time_of_all_threads(graph, threads, members):
    task = make_task(graph, "newtonnet", common_setting(), members=members, threads=threads)
    clock = PhaseClock()
    began = time.perf_counter()
    train(task, 12, watch=clock.watch)
    taken = time.perf_counter() - began
    assert len(clock.parts) >= threads
    for own in clock.seconds.values():
        assert 0 < sum(own.values()) <= taken
    busy = [own for own in clock.seconds.values() if "loss" in own]
    assert len(busy) == threads
    for own in busy:
        assert set(own) == set(NEWTONNET)
        assert min(own.values()) > 0
    assert sum(map(clock.total, NEWTONNET)) <= taken, "a thread that waits for the others does not count"


def test_a_phase_that_is_made_slower_is_the_one_that_takes_longer(graph, monkeypatch):
    task = make_task(graph, "newtonnet", common_setting(), threads=1)
    before = time_phases(task, NEWTONNET, ONCE)
    spectral = "newtonnet.nn.spectral.propagate"
    plain = __import__("newtonnet.graphs", fromlist=["propagate"]).propagate

    def slow(*given):
        time.sleep(0.05)
        return plain(*given)

    monkeypatch.setattr(spectral, slow)
    after = time_phases(task, NEWTONNET, ONCE)
    longer = {phase for phase in NEWTONNET if after[phase] - before[phase] > 0.02}
    assert longer == {"propagation forward", "evaluation"}


def test_every_phase_has_a_row_in_the_table(graph):
    ours = measure_newtonnet(graph, 2, LIMITS, ONCE)
    stack = measure_stack(graph, 8, LIMITS, ONCE)
    assert (tuple(ours), tuple(stack)) == (NEWTONNET, STACK)
    assert sum(row["share"] for row in ours.values()) == pytest.approx(1)
    assert sum(row["ms"] for row in ours.values()) > 0  # a short phase may take no time on a busy machine
    assert sum(row["ms"] for row in stack.values()) > 0
    roofline = {"tiny": {"NewtonNet, P = 2": ours, "stack of 8 units": stack}}
    table = tables({"roofline": roofline})["roofline"]
    assert len(table.rows) == len(NEWTONNET) + len(STACK)
    assert table.rows[0][:3] == ("tiny", "NewtonNet, P = 2", "encoder forward")
