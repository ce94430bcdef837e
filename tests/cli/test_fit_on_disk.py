"""``newtonnet fit --regime out-of-core`` keeps the edges on disk, and all that it leaves is the run."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from newtonnet.analysis import result, workflow
from newtonnet.cli import app, run
from newtonnet.estimator import NewtonNetClassifier
from newtonnet.graphs import Graph
from newtonnet.out_of_core import propagate
from newtonnet.out_of_core.store import create_store

pytestmark = pytest.mark.usefixtures("two_folds")
FAST = ["--regime", "out-of-core", "--folds", "2", "--max-epochs", "3", "--threads", "1"]
FILES = {"model.safetensors", "model_card.md", "predictions.csv", "records.jsonl", "report.html", "run.json"}


def fit(tables, out, *more):
    return run(app, ["fit", *tables, "--label-column", "kind", "--out", str(out), *FAST, *more])


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder for temporary files, empty."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def seen(monkeypatch):
    """The graphs that a command reads."""
    graphs = []
    read = result.read_tables_on_disk

    def note(*arguments, **options):
        found = read(*arguments, **options)
        graphs.append(found.graph)
        return found

    monkeypatch.setattr(result, "read_tables_on_disk", note)
    monkeypatch.setattr(result, "read_tables", _not_at_once)
    return graphs


def _not_at_once(*arguments, **options):
    raise AssertionError("the tables were read at once")


def parquet(tables):
    for name in ("nodes", "edges"):
        pq.write_table(_read(tables.folder / f"{name}.csv"), tables.folder / f"{name}.parquet")
    return [word.replace(".csv", ".parquet") for word in tables.arguments]


def _read(path):
    options = pacsv.ParseOptions(newlines_in_values=True)
    return pacsv.read_csv(path, parse_options=options)


@pytest.mark.parametrize(("ending", "kept"), [("csv", False), ("parquet", True)])
def test_a_run_gives_a_model_predictions_and_a_page_and_leaves_nothing_else(
    ending, kept, tables, tmp_path, temporary, seen, monkeypatch
):
    monkeypatch.setattr("newtonnet.tables.tables.PIECE", 16)
    arguments = tables.arguments if ending == "csv" else parquet(tables)
    store = ["--store", str(tmp_path / "deep" / "blocks")] if kept else []
    before = {path.name for path in tmp_path.iterdir()}
    assert fit(arguments, tmp_path / "run", *store) == 0
    (graph,) = seen
    assert isinstance(graph.adjacency.indices, np.memmap)
    assert {path.name for path in (tmp_path / "run").iterdir()} == FILES
    assert "was not estimated" not in (tmp_path / "run" / "report.html").read_text()
    first = (tmp_path / "run" / "predictions.csv").read_bytes()
    assert len(first.splitlines()) >= 61
    assert run(app, ["predict", str(tmp_path / "run")]) == 0
    assert run(app, ["predict", str(tmp_path / "run"), *arguments, "--out", str(tmp_path / "other.csv")]) == 0
    assert len(seen) == 3
    assert (tmp_path / "run" / "predictions.csv").read_bytes() == first
    assert (tmp_path / "other.csv").read_bytes() == first
    assert list(temporary.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} - before == {"run", "other.csv", *(["deep"] if kept else [])}
    assert [path.name for path in tmp_path.glob("deep/*")] == (["blocks"] if kept else [])


def test_features_are_filtered_once_for_the_model_its_predictions_and_all_folds(
    tables, tmp_path, temporary, monkeypatch
):
    made = []

    def note(folder, *arguments):
        made.append(folder)
        return create_store(folder, *arguments)

    monkeypatch.setattr(propagate, "create_store", note)
    assert fit(tables.arguments, tmp_path / "run") == 0
    assert len(made) == 1
    assert temporary in made[0].parents
    assert NewtonNetClassifier.load(tmp_path / "run" / "model.safetensors").store is None


def test_edges_on_disk_and_in_memory_give_the_same_model(tables, tmp_path, monkeypatch):
    assert fit(tables.arguments, tmp_path / "disk") == 0
    monkeypatch.setattr(result, "read_tables_on_disk", _in_memory)
    assert fit(tables.arguments, tmp_path / "memory") == 0
    first, second = ((tmp_path / place / "predictions.csv").read_bytes() for place in ("disk", "memory"))
    assert first == second
    records = [(tmp_path / place / "records.jsonl").read_text().splitlines() for place in ("disk", "memory")]
    for one, other in zip(*records, strict=True):
        assert timeless(one) == timeless(other)


def _in_memory(*arguments, folder, max_memory, **options):
    return result.read_tables(*arguments, **options)


def timeless(line):
    record = json.loads(line)
    record["outcome"] = {name: value for name, value in record["outcome"].items() if name != "seconds"}
    return record


def test_a_store_of_the_same_tables_is_taken_up_and_one_of_others_is_refused_unharmed(tables, write, tmp_path, capsys):
    store = tmp_path / "blocks"
    assert fit(tables.arguments, tmp_path / "one", "--store", str(store)) == 0
    files = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in store.glob("*.*")}
    assert fit(tables.arguments, tmp_path / "two", "--store", str(store)) == 0
    assert fit(write(tmp_path / "others", seed=1).arguments, tmp_path / "three", "--store", str(store)) == 2
    assert "belongs to another run" in capsys.readouterr().err
    assert {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in store.glob("*.*")} == files
    assert not (tmp_path / "three").exists()


def test_a_mistake_in_the_edges_is_one_line_and_leaves_nothing(tables, tmp_path, temporary, one_line):
    with (tables.folder / "edges.csv").open("a") as stream:
        stream.write("007,nobody\n")
    lines = (tables.folder / "edges.csv").read_text().count("\n")
    before = sorted(tmp_path.iterdir())
    assert fit(tables.arguments, tmp_path / "run", "--store", str(tmp_path / "blocks")) == 2
    one_line(f"line {lines} of {tables.folder / 'edges.csv'} names the unknown node 'nobody' in column 'target'")
    assert sorted(tmp_path.iterdir()) == before
    assert list(temporary.iterdir()) == []


def test_ctrl_c_leaves_nothing_in_temporary_folders(tables, tmp_path, temporary, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("newtonnet.estimator.families.train_out_of_core", interrupted)
    assert fit(tables.arguments, tmp_path / "run") == 130
    assert list(temporary.iterdir()) == []


def test_a_spectrum_that_does_not_fit_is_left_out_and_the_page_says_why(tables, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("newtonnet.report.gathering.PER_SIGNAL", 2000)
    monkeypatch.setattr(workflow, "PROPAGATION_MEMORY", 10**6)
    assert fit(tables.arguments, tmp_path / "run", "--json") == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])["remarks"]
    (why,) = [remark for remark in told if "spectrum" in remark]
    assert "was not estimated: it needs about 2 MB of memory, more than the run was allowed" in why
    page = (tmp_path / "run" / "report.html").read_text()
    assert "more than the run was allowed" in page
    assert page.count("spectrum was not estimated") == 2  # where it would be shown, and why


def test_the_mapped_graph_is_never_checked_or_listed_whole(tables, tmp_path, monkeypatch):
    def whole(*arguments, **options):
        raise AssertionError("this takes memory for every edge")

    monkeypatch.setattr("newtonnet.graphs.graph._check_entries", whole)
    monkeypatch.setattr(Graph, "pairs", property(whole))
    assert fit(tables.arguments, tmp_path / "run") == 0


PEAK = """
import json, sys
from pathlib import Path
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from newtonnet.cli import app, run
from newtonnet.out_of_core import large_graph
from newtonnet_paper import scale as stages
large_graph.ENTRIES = 1 << 17
place, n = Path(sys.argv[1]), 20_000
rng = np.random.default_rng(0)
label = pa.array(rng.choice(["a", "b"], n))
pq.write_table(pa.table({"id": np.arange(n), "x": rng.normal(size=n), "label": label}), place / "n.pq")
for name, count in (("few", 1000), ("many", 1_000_000)):
    ends = rng.integers(0, n, (2, count), dtype=np.int32)
    pq.write_table(pa.table({"source": ends[0], "target": ends[1]}), place / name, row_group_size=50_000)
del ends
def fit(edges):
    words = f"fit --nodes {place}/n.pq --edges {place}/{edges} --label-column label --out {place}/run --set hidden=4"
    more = "--regime out-of-core --folds 0 --max-epochs 1 --threads 1"
    assert run(app, [*words.split(), *more.split()]) == 0
fit("few")  # what is loaded and compiled once does not count
pa.default_memory_pool().release_unused()
print(json.dumps(stages._measure("fit", lambda: fit("many")).__dict__))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_the_memory_of_a_run_does_not_grow_with_its_edges(tmp_path):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    made = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path)], capture_output=True, text=True, check=True, env=environment
    )
    stage = json.loads(made.stdout.splitlines()[-1])
    assert stage["megabytes"] - stage["base"] < 80  # a graph in memory takes 145, edges on disk 36
