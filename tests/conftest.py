"""The random stream and the tiny graphs that every test may ask for."""

import csv
import os
import signal
from types import SimpleNamespace

os.environ["OMP_NUM_THREADS"] = "1"  # tests run side by side; read when torch is loaded

import numpy as np
import pytest

from newtonnet.graphs import from_edges

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell gives this to what it starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


RAY = ("tests/search/test_ray_executor.py", "tests/out_of_core/test_ray_training.py")
"""Tests that start clusters: one after the other, in one process, or they starve each other."""


def pytest_addoption(parser):
    """The length of the campaigns in tests/campaigns, see docs/reliability.md."""
    parser.addoption("--campaign", choices=("short", "long"), default="short", help="length of tests/campaigns")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Every test by itself to whoever is free, but those of Ray together. (Marks for groups do not reach pytest 9.)"""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "ray" if nodeid.startswith(RAY) else nodeid

    return Scheduling(config, log)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def path():
    """P3 with the signal (1, 2, 4): frequencies 0, 1, 2, and 0, 1/2, 7/6 with self-loops."""
    return from_edges([[0, 1], [1, 2]], [[1.0], [2.0], [4.0]], labels=[0, 0, 1], name="path")


@pytest.fixture(scope="session")
def ring():
    """A ring of 8 nodes with alternating classes: frequencies 1 - cos(2 pi k / 8)."""
    nodes = np.arange(8)
    return from_edges([nodes, (nodes + 1) % 8], np.eye(8), labels=nodes % 2, name="ring")


@pytest.fixture(scope="session")
def two_cliques():
    """Two separate cliques of 4 nodes, each one class: frequencies 0 twice and 4/3 six times."""
    pairs = [(c + i, c + j) for c in (0, 4) for i in range(4) for j in range(i)]
    return from_edges(np.array(pairs).T, np.eye(8), labels=np.repeat([0, 1], 4), name="two cliques")


@pytest.fixture(scope="session")
def random_graph():
    """40 nodes and 42 weighted edges, 9 nodes without an edge, 8 without a label; frequencies all over [0, 2)."""
    rng = np.random.default_rng(7)
    linked = np.delete(np.arange(40), [3, 17, 18, 39])
    pairs = rng.choice(linked, size=(2, 45))
    weights = rng.uniform(0.5, 2.0, size=45)
    labels = rng.integers(-1, 3, size=40)
    return from_edges(pairs, rng.normal(size=(40, 5)), labels=labels, weights=weights, name="random")


@pytest.fixture(scope="session")
def arrows():
    """A directed graph of 6 nodes with weights, one of them without an arrow out and one without any."""
    edges = [[0, 1, 2, 2, 3, 0], [1, 2, 0, 3, 4, 3]]
    return from_edges(edges, np.eye(6), weights=[1.0, 2.0, 0.5, 1.0, 3.0, 1.5], directed=True, name="arrows")


@pytest.fixture(scope="session")
def tiny_graphs(path, ring, two_cliques, random_graph):
    return {"path": path, "ring": ring, "two cliques": two_cliques, "random": random_graph}


@pytest.fixture(scope="session")
def dense_laplacian():
    """The normalised Laplacian written out entry by entry in numpy, as an oracle for everything sparse."""

    def build(graph, *, self_loops=False):
        weights = graph.adjacency.toarray().astype(np.float64)
        n = len(weights)
        if self_loops:
            weights = weights + np.eye(n)
        degree = [sum(weights[i]) for i in range(n)]
        laplacian = np.eye(n)
        for i in range(n):
            for j in range(n):
                if weights[i, j] > 0:
                    laplacian[i, j] -= weights[i, j] / np.sqrt(degree[i] * degree[j])
        return laplacian

    return build


ODD = ["007", "7", "a,b", 'quo"te', "zoë 图", " lead", "-1", "line\nbreak"]
"""Ids that are easily damaged."""


def write_tables(folder, *, nodes=60, seed=0, labels=True, colours="red green"):
    """Two classes that avoid each other's company, told apart by a number and a colour; a fifth has no label."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    ids = [*ODD, *(f"n{i}" for i in range(len(ODD), nodes))]
    classes = rng.permutation(nodes) % 2
    known = rng.random(nodes) < 0.8
    header = ["id", *(["kind"] if labels else []), "size", "colour", "same"]
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        for name, kind, shown in zip(ids, classes, known, strict=True):
            colour = colours.split()[int(rng.random() < 0.2 + 0.6 * kind)]
            label = ["cat" if kind else "dog, big"] if shown else [""]
            size = f"{rng.normal() + 1.5 * kind:.3f}"
            writer.writerow([name, *(label if labels else []), size, colour, "3"])
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["source", "target"])
        for a, b in rng.integers(nodes, size=(4 * nodes, 2)):
            if a != b and (classes[a] == classes[b]) == (rng.random() < 0.9):
                writer.writerow([ids[a], ids[b]])
    return SimpleNamespace(
        folder=folder, ids=ids, arguments=["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv")]
    )


@pytest.fixture
def tables(tmp_path):
    return write_tables(tmp_path / "tables")


@pytest.fixture(scope="session")
def write():
    """Make tables in a folder."""
    return write_tables
