"""Damaged and hostile files: every reader gives a result or a ValueError of one line, in little memory."""

import json
import random
import warnings

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newtonnet import Analysis, NewtonNetClassifier
from newtonnet.datasets import csbm, make_splits
from newtonnet.datasets.parse import read_graph_file, write_graph_file
from newtonnet.datasets.sources import read_linkx_splits
from newtonnet.files import with_sum
from newtonnet.out_of_core import open_graph, open_store, propagate_to_disk, write_graph
from newtonnet.search import open_store as open_search
from newtonnet.search import propose, read_trials, store_path
from newtonnet.search.study import make_study
from newtonnet.search.trials import Task, run_task
from newtonnet.tables import TableOptions, read_tables
from newtonnet.training import Record, load_checkpoint, save_checkpoint

ODD = [
    b"\x00",
    b"\xff" * 8,
    b"\x7f\xff\xff\xff",
    b"\x80" + b"\x00" * 7,
    b"-1",
    b"1e999",
    b"9" * 400,
    b"NaN",
    b"[" * 3000,
]
ODD += [b'"', b",", b"\n", b"\r", b"{}", b"null", b"true", b"=1+1", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\u0000"]


LINES = pacsv.ParseOptions(newlines_in_values=True)


def mutate(data, dice):
    """A file with one to four changes: flipped bits, odd pieces, cuts, repeats."""
    data = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        place, kind = dice.randrange(len(data) + 1), dice.randrange(6)
        if kind == 0 and data:
            data[place % len(data)] ^= 1 << dice.randrange(8)
        elif kind == 1:
            data[place:place] = dice.choice(ODD)
        elif kind == 2:
            piece = dice.choice(ODD)
            data[place : place + len(piece)] = piece
        elif kind == 3:
            del data[place : place + dice.choice((1, 8, 100))]
        elif kind == 4:
            del data[place:]
        else:
            start = dice.randrange(len(data) + 1)
            data[place:place] = data[start : start + dice.choice((1, 16, 300))]
    return bytes(data)


def read(reader):
    """Read a file; anything but a result or a ValueError of one line is an error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader()
    except ValueError as refusal:
        if len(str(refusal).splitlines()) > 1:
            raise RuntimeError("a message of several lines") from refusal


@pytest.fixture(scope="module")
def graph():
    return csbm(0.2, nodes=30, features=4)


@pytest.fixture(scope="module")
def whole(graph, runs, tmp_path_factory):
    """A folder with one whole file of every kind: its name, the file that is changed, and its reader."""
    folder = tmp_path_factory.mktemp("whole")
    tables, analysis, _ = runs
    analysis.save(folder / "run")
    propagate_to_disk(graph, folder / "store", degree=1)
    edges = [np.stack(graph.adjacency.nonzero())]
    write_graph(folder / "graph", edges, [np.asarray(graph.features)], [graph.labels], nodes=30)
    write_graph_file(folder / "cache.npz", graph, np.zeros((0, 30), dtype=np.uint8), {"summary": {}, "files": []})
    save_checkpoint(folder / "state", {"a": torch.ones(9)}, fingerprint="f")
    (folder / "records").write_text(analysis.model.records_[0].to_json())
    stored = np.empty(1, dtype=object)
    stored[0] = {"train": np.arange(9), "valid": np.arange(9, 12), "test": np.arange(12, 15)}
    np.save(folder / "splits.npy", stored, allow_pickle=True)
    pq.write_table(pacsv.read_csv(tables.folder / "edges.csv", parse_options=LINES), folder / "edges.parquet")
    pq.write_table(pacsv.read_csv(tables.folder / "nodes.csv", parse_options=LINES), folder / "nodes.parquet")
    study = make_study("csbm-heterophilous", "mlp", splits=1, max_epochs=1, first=())
    task = Task(study, tuple(propose(study, [], 0)[:1]))
    split = make_splits(graph, count=1)
    with open_search(folder, study) as store:
        store.append(run_task(task, graph, split))
    trials = store_path(folder, study)
    nodes, links = tables.folder / "nodes.csv", tables.folder / "edges.csv"
    options = TableOptions(label_column="kind")
    return {
        "csv of nodes": (nodes, lambda path: read_tables(path, links, options)),
        "csv of edges": (links, lambda path: read_tables(nodes, path, options)),
        "parquet of nodes": (folder / "nodes.parquet", lambda path: read_tables(path, links, options)),
        "parquet of edges": (folder / "edges.parquet", lambda path: read_tables(nodes, path, options)),
        "cache": (folder / "cache.npz", read_graph_file),
        "model": (folder / "run" / "model.safetensors", NewtonNetClassifier.load),
        "run.json": (folder / "run" / "run.json", lambda path: Analysis.load(path.parent)),
        "record": (folder / "records", lambda path: Record.from_json(path.read_text(encoding="utf-8"))),
        "search store": (trials, read_trials),
        "block store": (folder / "store" / "manifest.json", lambda path: open_store(path.parent)),
        "graph on disk": (folder / "graph" / "graph.json", lambda path: open_graph(path.parent)),
        "adjacency": (folder / "graph" / "adjacency" / "adjacency.json", lambda path: open_graph(path.parents[1])),
        "checkpoint": (folder / "state", lambda path: load_checkpoint(path, fingerprint="f")),
        "published splits": (folder / "splits.npy", read_linkx_splits),
    }


KINDS = [
    *("csv of nodes", "csv of edges", "parquet of nodes", "parquet of edges", "cache", "model", "run.json", "record"),
    *("search store", "block store", "graph on disk", "adjacency", "checkpoint", "published splits"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_bytes(kind, whole, choose, count, child):
    path, reader = whole[kind]
    data, dice = path.read_bytes(), random.Random(kind)
    cases = choose(short=40, long=2000)

    def work():
        for _ in range(cases):
            changed = mutate(data, dice)
            path.write_bytes(changed)
            try:
                read(lambda: reader(path))
            except BaseException:
                print(f"{kind}: {changed[:400]!r}")
                raise

    try:
        _, code = child(work, bounded=True)
    finally:
        path.write_bytes(data)
    assert code == 0
    count[f"fuzz: {kind}, changed bytes (neither a result nor a ValueError of one line 0)"] += cases


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from([2**63, -1, 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def swap(value, way, other):
    """A JSON value with the one at some place replaced; ``way`` says where, one number for each level."""
    if not way or not isinstance(value, dict | list) or not value:
        return other
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[way[0] % len(keys)]
    changed = value.copy()
    changed[key] = swap(value[key], way[1:], other)
    return changed


@pytest.mark.parametrize("kind", ["run.json", "record", "search store", "block store", "graph on disk", "adjacency"])
def test_values(kind, whole, choose, count, child):
    """Files that are whole JSON with a right checksum but another value somewhere, found by Hypothesis."""
    path, reader = whole[kind]
    text, cases = path.read_text(), choose(short=40, long=2000)
    *before, last = text.splitlines() if kind == "search store" else [text]
    known = json.loads(last)
    known.pop("sum", None)

    @settings(
        max_examples=cases, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(way=st.lists(st.integers(0, 40), min_size=1, max_size=5), other=JSON)
    def check(way, other):
        changed = json.dumps(swap(known, way, other), separators=(",", ":"))
        line = with_sum(changed) if kind == "search store" and changed.endswith("}") else changed
        path.write_text("".join(f"{one}\n" for one in (*before, line)), encoding="utf-8")
        read(lambda: reader(path))

    try:
        _, code = child(check, bounded=True)
    finally:
        path.write_text(text)
    assert code == 0
    count[f"fuzz: {kind}, other values (neither a result nor a ValueError of one line 0)"] += cases
