import pytest
import torch

from newtonnet_paper.bench import sized_graph
from newtonnet_paper.bench.stacks import SHAPE, PlainStack, operations, time_stack
from newtonnet_paper.bench.timing import Timing


def test_operations_are_those_of_the_products(tiny_size):
    graph = sized_graph(tiny_size)
    n, h, entries = graph.nodes, SHAPE["hidden"], 2 * graph.edges
    first = 2 * n * (20 + 3) * 2 * h + 2 * entries * h
    others = (SHAPE["layers"] - 1) * (2 * n * h * 2 * h + 2 * entries * h)
    assert operations(graph) == 4 * (first + others + 2 * n * h * 3)


def test_both_stacks_are_timed_on_the_same_work(tiny_size):
    graph = sized_graph(tiny_size)
    row = time_stack(graph, Timing(1, 0.001, 1))
    assert row["ratio"] == pytest.approx(row["plain_ms"] / row["ms"])
    assert row["gflops"] == pytest.approx(operations(graph) / 1e6 / row["ms"])
    assert row["plain_gflops"] == pytest.approx(operations(graph) / 1e6 / row["plain_ms"])


def test_the_plain_stack_has_a_layer_of_two_maps_for_each_of_ours(rng):
    model = PlainStack(3, 2, layers=4, hidden=8, dropout=0.0)
    shapes = [tuple(p.shape) for p in model.own.parameters()]
    assert shapes == [tuple(p.shape) for p in model.near.parameters()] == [(8, 5), (8, 8), (8, 8), (8, 8)]
    x = torch.from_numpy(rng.normal(size=(6, 5))).float()
    assert model(x, torch.eye(6).to_sparse_csr()).shape == (6, 2)
