"""Graphs with no features, with few, and with few labels: a result in time, and a page that says what was used."""

import re
import time

import numpy as np
import pyarrow as pa
import pytest

import newtonnet

LIMIT = 1.5


def tables(rng, *, features, labels, nodes=400):
    """Two classes that avoid each other's kind; so many columns, and labels on so many nodes."""
    kinds = rng.integers(0, 2, nodes)
    source = rng.integers(0, nodes, 4 * nodes)
    target = np.array([rng.choice(np.flatnonzero(kinds != kinds[one])) for one in source])
    known = set(rng.permutation(nodes)[:labels].tolist())
    columns = {f"x{i}": rng.normal(size=nodes) + kinds for i in range(features)}
    label = [("b", "a")[kind] if node in known else None for node, kind in enumerate(kinds)]
    ids = [f"n{i}" for i in range(nodes)]
    edges = pa.table({"source": [ids[i] for i in source], "target": [ids[i] for i in target]})
    return pa.table({"id": ids, **columns, "label": label}), edges, kinds


@pytest.mark.parametrize(
    ("features", "labels", "least"), [(0, 200, 0.8), (3, 200, 0.8), (3, 20, 0.6)], ids=["none", "three", "few labels"]
)
def test_it_gives_a_result_in_time_and_the_page_says_what_was_used(features, labels, least):
    nodes, edges, kinds = tables(np.random.default_rng(3), features=features, labels=labels)
    began = time.monotonic()
    found = newtonnet.analyse(nodes, edges, label_column="label", time_limit=LIMIT, folds=0, compare=False)
    assert time.monotonic() - began < LIMIT + 10, (
        "within the limit, but for reading, the page and other work on the machine"
    )
    table = found.table
    right = np.array([("b", "a")[kind] for kind in kinds]) == np.array(table["label"].to_pylist())
    unknown = np.array([one is None for one in table["known"].to_pylist()])
    assert unknown.sum() == 400 - labels
    assert right[unknown].mean() > least
    page = re.sub(r"<[^>]+>", " ", found.page)
    for member in found.model.settings_:
        assert member["model"] in page
    assert f"{labels}" in page
    assert ("no features: every node gets one of its own" in page) == (features == 0)
