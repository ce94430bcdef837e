"""Damaged and hostile files: every reader gives a result or a ValueError of one line, in little memory."""

import dataclasses
import io
import json
import os
import random
import signal
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from safetensors.torch import save
from scipy.io import savemat

from newtonnet import Analysis, NewtonNetClassifier, NewtonNetRegressor, export
from newtonnet.analysis.run_folder import read_predictions
from newtonnet.analysis.scorer import Scorer
from newtonnet.datasets import csbm, make_splits
from newtonnet.datasets.entries import CATALOGUE
from newtonnet.datasets.parse import parse_into, read_facts, read_graph_file, write_graph_file
from newtonnet.datasets.raw_files import RawFile
from newtonnet.datasets.sources import read_linkx_splits
from newtonnet.datasets.statistics import measure
from newtonnet.files import with_sum
from newtonnet.out_of_core import open_graph, open_store, propagate_to_disk, write_graph
from newtonnet.out_of_core.large_graph import mapped_matrix
from newtonnet.search import open_store as open_search
from newtonnet.search import propose, read_trials, store_path
from newtonnet.search.study import make_study
from newtonnet.search.trials import Task, run_task
from newtonnet.tables import TableOptions, read_tables
from newtonnet.training import Record, load_checkpoint, read_tensors, save_checkpoint
from newtonnet.training.checkpoint import SUM, TEXT, _checksum

pytestmark = pytest.mark.usefixtures("few_trees")
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


FAMILIES = ("ridge", "boosting", "newton-stack", "bernnet", "numbers")
"""Whose models differ from NewtonNet's in their tensors; the last is a regressor's."""
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
    """Read a file; anything but a result or a ValueError of one line is an error, and so is what Python prints."""
    ignored, before = [], sys.unraisablehook
    sys.unraisablehook = lambda what: isinstance(what.exc_value, Warning) or ignored.append(repr(what.exc_value))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader()
    except ValueError as refusal:
        if len(str(refusal).splitlines()) > 1:
            raise RuntimeError("a message of several lines") from refusal
    finally:
        sys.unraisablehook = before
    if ignored:
        raise RuntimeError(f"printed, not raised: {ignored}")


def write_raw(root, graph, rng):
    """Raw files of four published data sets, with a small graph instead of theirs; the entry and file of each kind."""
    masks = {f"{part}_masks": np.eye(3, 30, dtype=bool) for part in ("train", "val", "test")}
    edges, features = np.stack(graph.adjacency.nonzero()), (np.asarray(graph.features) > 0).astype(np.int64)
    for name in ("chameleon-filtered", "reed98", "wisconsin", "twitch-gamer"):
        for path in CATALOGUE[name].files:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
    npz, mat, text, table = (
        root / CATALOGUE[name].files[0] for name in ("chameleon-filtered", "reed98", "wisconsin", "twitch-gamer")
    )
    np.savez(npz, node_features=features, node_labels=graph.labels, edges=edges.T, **masks)
    info = np.column_stack([graph.labels, graph.labels + 1, features])
    savemat(mat, {"local_info": info, "A": graph.adjacency.tocsc().astype(np.float64)})
    rows = [
        f"{i}\t{','.join(map(str, row))}\t{label}"
        for i, (row, label) in enumerate(zip(features, graph.labels, strict=True))
    ]
    text.write_text("\n".join(["node_id\tfeature\tlabel", *rows, ""]))
    links = [f"{a}\t{b}" for a, b in edges.T]
    (root / CATALOGUE["wisconsin"].files[1]).write_text("\n".join(["node_id\tnode_id", *links, ""]))
    for path in CATALOGUE["wisconsin"].files[2:]:
        np.savez(root / path, **{key[:-1]: value[0] for key, value in masks.items()})
    header = "views,mature,life_time,created_at,updated_at,numeric_id,dead_account,language,affiliate"
    rows = [
        f"{rng.integers(99)},{label},{rng.integers(9)},2016-02-16,2018-10-12,{i},0,{'EN' if i % 3 else 'DE'},{i % 2}"
        for i, label in enumerate(graph.labels)
    ]
    table.write_text("\n".join([header, *rows, ""]))
    links = [f"{a},{b}" for a, b in edges.T]
    (root / CATALOGUE["twitch-gamer"].files[1]).write_text("\n".join(["numeric_id_1,numeric_id_2", *links, ""]))
    return {"raw npz": npz, "raw mat": mat, "raw text": text, "raw csv": table}


def fit(name, graph):
    """A small model of a family; ``numbers`` is NewtonNet's, of numbers."""
    brief = {"tune": "off", "max_epochs": 2, "folds": 2, "threads": 1}
    if name == "numbers":
        number = np.where(np.arange(graph.nodes) % 3 > 0, np.asarray(graph.features)[:, 0], np.nan)
        return NewtonNetRegressor("newtonnet", **brief).fit(graph, number)
    return NewtonNetClassifier(name, **brief).fit(graph)


def estimator(name):
    """The class of such a model."""
    return NewtonNetRegressor if name == "numbers" else NewtonNetClassifier


def read_cache(path):
    """Read a graph, and its summary as a list of data sets shows it."""
    read_graph_file(path)
    if facts := read_facts(path):
        f"{facts[0].name:20} {facts[0].nodes or 0:,} {facts[0].homophily or 0:.2f}".encode()


def read_graph(path):
    """Open a graph on disk without its checksums, use it, then open it with them."""
    graph = open_graph(path, verify=False)
    mapped_matrix(graph.adjacency) @ graph.features
    open_graph(path)


def forked(command, *, timeout, **_):
    """The process that reads a MATLAB file, forked from this one, where its imports are done."""
    said = Path(command[5]).with_name("said")
    if (child := os.fork()) == 0:
        code = 1
        signal.alarm(int(timeout) // 10)
        try:
            with said.open("wb") as stream:
                os.dup2(stream.fileno(), 2)
            sys.argv = command[3:]
            exec(command[3], {})
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code == -signal.SIGALRM:
        raise subprocess.TimeoutExpired(command, timeout)
    return SimpleNamespace(returncode=code, stderr=said.read_text(errors="replace"))


def write_files(folder, analysis, write):
    """One whole file of every kind: the file that is changed, and its reader."""
    graph = csbm(0.2, nodes=30, features=4)
    tables = write(folder / "tables", nodes=12).folder
    analysis.save(folder / "run")
    propagate_to_disk(graph, folder / "store", degree=1)
    edges = [np.stack(graph.adjacency.nonzero())]
    write_graph(folder / "graph", edges, [np.asarray(graph.features)], [graph.labels], nodes=30)
    facts = {"summary": dataclasses.asdict(measure(CATALOGUE["questions"], graph))}
    facts["files"] = [dataclasses.asdict(RawFile("questions.npz", "0" * 64, "original"))]
    write_graph_file(folder / "cache.npz", graph, np.zeros((0, 30), dtype=np.uint8), facts)
    save_checkpoint(folder / "state", {"a": torch.ones(9)}, fingerprint="f")
    (folder / "records").write_text(analysis.model.records_[0].to_json())
    stored = np.empty(1, dtype=object)
    stored[0] = {"train": np.arange(9), "valid": np.arange(9, 12), "test": np.arange(12, 15)}
    np.save(folder / "splits.npy", stored, allow_pickle=True)
    pq.write_table(pacsv.read_csv(tables / "edges.csv", parse_options=LINES), folder / "edges.parquet")
    pq.write_table(pacsv.read_csv(tables / "nodes.csv", parse_options=LINES), folder / "nodes.parquet")
    study = make_study("csbm-heterophilous", "mlp", splits=1, max_epochs=1, first=())
    task = Task(study, tuple(propose(study, [], 0)[:1]))
    with open_search(folder, study) as store:
        store.append(run_task(task, graph, make_splits(graph, count=1)))
    trials = store_path(folder, study)
    for name in FAMILIES:
        fit(name, graph).save(folder / f"{name}.safetensors")
    export(analysis.model, folder / "exported")
    nodes, links = tables / "nodes.csv", tables / "edges.csv"
    options = TableOptions(label_column="kind")
    raw = write_raw(folder / "raw", graph, np.random.default_rng(0))
    entries = dict(zip(raw, ("chameleon-filtered", "reed98", "wisconsin", "twitch-gamer"), strict=True))

    def parse(kind):
        entry = dataclasses.replace(CATALOGUE[entries[kind]], splits="")
        return lambda path: parse_into(folder / "parsed.npz", entry, folder / "raw", (), directed=False)

    return {
        "csv of nodes": (nodes, lambda path: read_tables(path, links, options)),
        "csv of edges": (links, lambda path: read_tables(nodes, path, options)),
        "parquet of nodes": (folder / "nodes.parquet", lambda path: read_tables(path, links, options)),
        "parquet of edges": (folder / "edges.parquet", lambda path: read_tables(nodes, path, options)),
        "cache": (folder / "cache.npz", read_cache),
        "model": (folder / "run" / "model.safetensors", NewtonNetClassifier.load),
        "run.json": (folder / "run" / "run.json", lambda path: Analysis.load(path.parent)),
        "record": (folder / "records", lambda path: Record.from_json(path.read_text(encoding="utf-8"))),
        "search store": (trials, read_trials),
        "block store": (folder / "store" / "manifest.json", lambda path: open_store(path.parent)),
        "graph on disk": (folder / "graph" / "graph.json", lambda path: open_graph(path.parent)),
        "adjacency": (folder / "graph" / "adjacency" / "adjacency.json", lambda path: open_graph(path.parents[1])),
        "row pointers": (folder / "graph" / "adjacency" / "rows.i64", lambda path: read_graph(path.parents[1])),
        "column indices": (folder / "graph" / "adjacency" / "columns.i32", lambda path: read_graph(path.parents[1])),
        "features on disk": (folder / "graph" / "features.f32", lambda path: read_graph(path.parent)),
        "labels on disk": (folder / "graph" / "labels.i32", lambda path: read_graph(path.parent)),
        "term of a block store": (folder / "store" / "T1.f32", lambda path: open_store(path.parent)),
        "checkpoint": (folder / "state", lambda path: load_checkpoint(path, fingerprint="f")),
        "published splits": (folder / "splits.npy", read_linkx_splits),
        **{kind: (path, parse(kind)) for kind, path in raw.items()},
        **{f"model of {name}": (folder / f"{name}.safetensors", estimator(name).load) for name in FAMILIES},
        "exported model": (folder / "exported" / "model.npz", Scorer),
        "predictions": (folder / "run" / "predictions.csv", read_predictions),
    }


@pytest.fixture(scope="module")
def whole(runs, write, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("whole")
        patch.setenv("NEWTONNET_CACHE", str(folder / "cache"))
        yield write_files(folder, runs[1], write)


KINDS = [
    *("csv of nodes", "csv of edges", "parquet of nodes", "parquet of edges", "cache", "model", "run.json", "record"),
    *("search store", "block store", "graph on disk", "adjacency", "checkpoint", "published splits"),
    *("raw npz", "raw mat", "raw text", "raw csv"),
    *("row pointers", "column indices", "features on disk", "labels on disk", "term of a block store"),
    *(f"model of {name}" for name in FAMILIES),
    *("exported model", "predictions"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_bytes(kind, whole, choose, count, child, monkeypatch):
    path, reader = whole[kind]
    if kind == "raw mat" and choose(short=False, long=True):
        monkeypatch.setattr(subprocess, "run", forked)
    data, dice = path.read_bytes(), random.Random(kind)
    cases = choose(short=1 if kind == "raw mat" else 25, long=100_000)

    def work():
        for number in range(cases):
            if number % 10_000 == 0:
                print(f"{kind}: {number:,}", flush=True)
            changed = mutate(data, dice)
            path.write_bytes(changed)
            try:
                read(lambda: reader(path))
            except BaseException:
                print(f"{kind}: {changed!r}", flush=True)
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
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.just("a\nb"), inner, max_size=3)
    ),
    max_leaves=5,
)


def swap(value, way, other):
    """A JSON value with the one at some place replaced, or a name added; ``way`` says where, level by level."""
    if not way or not isinstance(value, dict | list) or not value:
        return value | other if isinstance(value, dict) and isinstance(other, dict) and len(other) == 1 else other
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[way[0] % len(keys)]
    changed = value.copy()
    changed[key] = swap(value[key], way[1:], other)
    return changed


def signed(text, tensors):
    """A file of tensors with a right checksum."""
    return save(tensors, metadata={TEXT: text, SUM: _checksum(text, tensors)})


def valid_values(kind, path):
    """A function from a replacement, as :func:`swap` takes it, to a file of this kind with a right checksum."""
    if kind == "model":
        text, tensors, _ = read_tensors(path)
        known = json.loads(text)
        return lambda way, other: signed(json.dumps(swap(known, way, other)), tensors)
    if kind == "cache":
        with np.load(path) as stored:
            arrays = dict(stored)
        known = json.loads(arrays["facts"].tobytes())

        def pack(way, other):
            facts = np.frombuffer(json.dumps(swap(known, way, other)).encode(), dtype=np.uint8)
            np.savez(stream := io.BytesIO(), **arrays | {"facts": facts})
            return stream.getvalue()

        return pack
    text = path.read_text()
    *before, last = text.splitlines() if kind == "search store" else [text]
    known = json.loads(last)
    known.pop("sum", None)

    def make(way, other):
        changed = json.dumps(swap(known, way, other), separators=(",", ":"))
        line = with_sum(changed) if kind == "search store" and changed.endswith("}") else changed
        return "".join(f"{one}\n" for one in (*before, line)).encode()

    return make


find(JSON, lambda value: True)  # its tables of characters are made once, not in every child


@pytest.mark.parametrize(
    "kind", ["cache", "run.json", "record", "search store", "block store", "graph on disk", "adjacency", "model"]
)
def test_values(kind, whole, choose, count, child):
    """Files that are whole JSON with a right checksum but another value somewhere, found by Hypothesis."""
    path, reader = whole[kind]
    data, cases, make = path.read_bytes(), choose(short=15, long=2000), valid_values(kind, path)

    @settings(
        max_examples=cases, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(way=st.lists(st.integers(0, 40), max_size=5), other=JSON)
    def check(way, other):
        path.write_bytes(make(way, other))
        read(lambda: reader(path))

    try:
        _, code = child(check, bounded=True)
    finally:
        path.write_bytes(data)
    assert code == 0
    count[f"fuzz: {kind}, other values (neither a result nor a ValueError of one line 0)"] += cases


def forge(tensor, dice):
    """Another tensor in its place: other sizes, another type, numbers not finite, far too large or negative."""
    rows = tensor.reshape(-1, *tensor.shape[1:])
    wide = torch.float64 if tensor.is_floating_point() else torch.int64
    ways = [
        lambda: tensor.flatten(),
        lambda: rows[:1],
        lambda: rows[:0],
        lambda: torch.cat([rows, rows]),
        lambda: tensor.unsqueeze(0).clone(),
        lambda: tensor.double(),
        lambda: tensor.to(torch.int64),
        lambda: tensor.to(torch.bfloat16),
        lambda: torch.full(tensor.shape, 2**30, dtype=wide),
        lambda: torch.full(tensor.shape, 2**62, dtype=wide),
        lambda: -tensor.to(wide) - 1,
        lambda: torch.full(tensor.shape, torch.nan),
    ]
    return dice.choice(ways)().contiguous()


@pytest.mark.parametrize("name", ["newtonnet", *FAMILIES])
def test_forged_tensors(name, choose, count, child, tmp_path):
    """Models with a right checksum and one tensor of another kind: refused, or they predict, or say why they cannot."""
    graph, path = csbm(0.2, nodes=40, features=5), tmp_path / "model"
    scaled = dataclasses.replace(graph, features=np.asarray(graph.features) * np.float32([1, 10, 100, 1, 1]))
    fit(name, scaled).save(path)
    dice, cases = random.Random(0), choose(short=15, long=10_000)
    text, tensors, _ = read_tensors(path)

    def predict(model):
        return model.predict_interval(scaled) if name == "numbers" else model.predict_set(scaled)

    def work():
        for _ in range(cases):
            changed = dice.choice(sorted(tensors))
            path.write_bytes(signed(text, tensors | {changed: forge(tensors[changed], dice)}))
            try:
                read(lambda: predict(estimator(name).load(path)))
            except BaseException:
                print(changed, flush=True)
                raise

    _, code = child(work, bounded=True)
    assert code == 0
    count[f"fuzz: model of {name}, forged tensors (neither a result nor a ValueError of one line 0)"] += cases


def test_bytes_that_reach_new_code(choose, count):
    """The same with atheris, which is guided by the lines that a file reaches."""
    cases = choose(short=0, long=10_000) or pytest.skip("long campaign only")
    pytest.importorskip("atheris", reason="needs the package atheris")
    kinds = [kind for kind in KINDS if kind != "raw mat"]
    command = [sys.executable, str(Path(__file__).with_name("atheris_readers.py")), str(cases), *kinds]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-2000:]} {done.stderr[-2000:]}"
    count["fuzz: by atheris (neither a result nor a ValueError of one line 0)"] += cases * len(kinds)
