"""Graphs for the precomputed regime, and a setting that trains on them in a second."""

import numpy as np
import pytest

from newtonnet.datasets import csbm
from newtonnet.graphs import from_edges
from newtonnet.nn import Options
from newtonnet.training import Config, Setting


@pytest.fixture(scope="session")
def weighted():
    """60 nodes, 20 of them isolated, 150 weighted edges, 7 dense features."""
    rng = np.random.default_rng(3)
    edges, weights = rng.integers(0, 40, size=(2, 150)), rng.uniform(0.5, 2.0, size=150)
    return from_edges(edges, rng.normal(size=(60, 7)), labels=rng.integers(0, 3, 60), weights=weights, name="weighted")


@pytest.fixture(scope="session")
def plain():
    """60 nodes, 20 of them isolated, unweighted edges, 40 features of which few are not 0."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 40)) * (rng.random((60, 40)) < 0.1)
    return from_edges(rng.integers(0, 40, size=(2, 150)), x, labels=rng.integers(0, 2, 60), name="plain")


@pytest.fixture(scope="session")
def heterophilous():
    """1000 nodes of two classes that avoid each other, with features that say little."""
    return csbm(0.05, nodes=1000, features=20, degree=10, mu=60.0, seed=1)


@pytest.fixture(scope="session")
def setting():
    """A short training of a small network."""
    config = Config(learning_rate=0.02, max_epochs=12, weight_decay=1e-4, gammas=(0.1, 0.1, 0.1), history_interval=1)
    return Setting("test", Options(hidden=8, dropout=0.3, degree=4), config)
