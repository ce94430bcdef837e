import numpy as np
import pytest

from newtonnet.nn import ZOO
from newtonnet_paper.bench.timing import (
    RIVALS,
    epoch_clock,
    equal_setting,
    exponent,
    fit_growth,
    line,
    make_task,
    mean_ratios,
    ratio,
    take_turns,
    train,
)


@pytest.mark.parametrize("power", [0.5, 1.0, 1.1, 2.0])
def test_the_fitted_exponent_is_the_power(power):
    sizes = np.array([1e5, 3e5, 1e6, 1e7])
    assert exponent(sizes, 7 * sizes**power) == pytest.approx(power)


def test_the_fitted_line_is_the_line():
    assert line([2, 5, 10, 20], [13, 22, 37, 67]) == pytest.approx((7, 3))


def test_growth_subtracts_nothing_before_it_takes_logarithms():
    edges = [{"edges": e, "ms": e / 1000, "mb": 10 * e**0.5} for e in (1e5, 1e6)]
    degrees = [{"degree": k, "ms": 10 + 2 * k} for k in (2, 5, 10, 20)]
    fits = fit_growth(edges, degrees)
    assert fits["exponents"]["edges"] == pytest.approx(1)
    assert fits["exponents"]["memory_edges"] == pytest.approx(0.5)
    assert 0.3 < fits["exponents"]["degree"] < 0.7
    assert fits["degree_line"] == pytest.approx({"fixed_ms": 10, "ms_per_degree": 2})


def test_rivals_take_turns_and_their_ratio_is_that_within_a_round():
    order = []

    def clock(name, seconds):
        def tick():
            order.append(name)
            return seconds * len(order)

        return tick

    times = take_turns({"a": clock("a", 4.0), "b": clock("b", 1.0)}, 3)
    assert order == ["a", "b"] * 3
    assert times == {"a": [4.0, 12.0, 20.0], "b": [2.0, 4.0, 6.0]}
    assert ratio(times["a"], times["b"]) == 3.0


def test_means_of_ratios_are_geometric():
    assert mean_ratios([{"a/b": 0.5}, {"a/b": 2.0}]) == pytest.approx({"a/b": 1.0})
    assert mean_ratios([]) == {}


def test_the_time_of_an_epoch_excludes_the_set_up(two_cliques, monkeypatch):
    task = make_task(two_cliques, "mlp")
    asked = []

    def pretended(task, epochs):
        asked.append(epochs)
        return 5.0 + 0.25 * epochs

    monkeypatch.setattr("newtonnet_paper.bench.timing.train", pretended)
    clock = epoch_clock(task, seconds=10.0, step=10)
    asked.clear()
    assert clock() == pytest.approx(0.25)
    assert asked[0] == 1
    assert (asked[1] - 1) % 10 == 0


def test_a_population_shares_ten_splits(random_graph):
    task = make_task(random_graph, "newtonnet", members=12)
    assert len(task.splits) == 12
    assert task.splits[10] is task.splits[0]
    assert train(task, 2) > 0


@pytest.mark.parametrize("method", ZOO)
def test_methods_are_compared_with_equal_width_and_dropout(method):
    options = equal_setting(method, degree=7).options
    assert type(options) is type(ZOO[method].options)
    assert getattr(options, "hidden", 64) == 64
    assert options.dropout == 0.5
    assert getattr(options, "propagation_dropout", 0.5) == 0.5
    assert getattr(options, "degree", 7) == 7


def test_rivals_are_the_five_pairs_that_the_papers_table_is_about():
    assert RIVALS == (
        "newtonnet/gprgnn@5",
        "newtonnet/gprgnn@10",
        "newtonnet/chebnetii@5",
        "newtonnet/chebnetii@10",
        "bernnet/newtonnet@10",
    )
