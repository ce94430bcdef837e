"""Graphs and stores on disk that were edited are refused in one line: no crash, and no other numbers."""

import json

import numpy as np
import pytest

from newtonnet.out_of_core import array_files, open_adjacency, open_graph, open_store, propagate_to_disk, write_graph
from newtonnet.out_of_core import store as store_module


@pytest.fixture
def folder(tmp_path, weighted):
    entries = weighted.adjacency.tocoo()
    pieces = [(np.stack([entries.row, entries.col]), entries.data)]
    write_graph(tmp_path / "graph", pieces, [weighted.features], [weighted.labels], nodes=60, name="weighted")
    return tmp_path / "graph"


def edit(path, place, value, dtype):
    array = np.fromfile(path, dtype)
    array[place] = value
    array.tofile(path)


def edit_json(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


EDITS = {
    "a column beyond the nodes": ("adjacency/columns.i32", 3, 10**6, "<i4", r"outside 0\.\.59"),
    "a negative column": ("adjacency/columns.i32", 0, -5, "<i4", r"outside 0\.\.59"),
    "a pointer beyond the entries": ("adjacency/rows.i64", 4, 10**9, "<i8", "row pointers"),
    "a negative pointer": ("adjacency/rows.i64", 2, -1, "<i8", "row pointers"),
    "a first pointer that is not 0": ("adjacency/rows.i64", 0, 1, "<i8", "row pointers"),
    "a last pointer before the end": ("adjacency/rows.i64", -1, 3, "<i8", "row pointers"),
    "another neighbour": ("adjacency/columns.i32", 0, 59, "<i4", "checksum differs"),
    "another weight": ("adjacency/weights.f32", 0, 9.0, "<f4", "checksum differs"),
    "another feature": ("features.f32", 5, 9.0, "<f4", "checksum differs"),
    "a label beyond the classes": ("labels.i32", 5, 99, "<i4", r"outside -1\.\.2"),
    "another label": ("labels.i32", np.s_[:], 1, "<i4", "checksum differs"),
}


@pytest.mark.parametrize("edited", EDITS)
def test_an_edited_graph_is_refused(edited, folder):
    name, place, value, dtype, words = EDITS[edited]
    edit(folder / name, place, value, dtype)
    with pytest.raises(ValueError, match=words):
        open_graph(folder)


@pytest.mark.parametrize("edited", [edit for edit in EDITS if "checksum" not in EDITS[edit][-1]])
def test_numbers_that_index_are_checked_even_if_checksums_are_not(edited, folder):
    name, place, value, dtype, words = EDITS[edited]
    edit(folder / name, place, value, dtype)
    with pytest.raises(ValueError, match=words):
        open_graph(folder, verify=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "2\n\n"},
        {"nodes": -1},
        {"nodes": 1e300},
        {"nodes": "60"},
        {"nodes": 2**63},
        {"entries": None},
        {"entries": 7.5},
    ],
    ids=str,
)
def test_a_forged_manifest_is_refused(changes, folder):
    edit_json(folder / "adjacency" / "adjacency.json", **changes)
    with pytest.raises(ValueError, match=r"^[^\n]*(cannot be read|expected)[^\n]*$"):
        open_adjacency(folder / "adjacency")


def test_an_edited_large_graph_is_found_by_its_sample(folder, monkeypatch):
    monkeypatch.setattr(array_files, "WHOLE", 0)
    open_graph(folder)
    edit(folder / "features.f32", 0, 9.0, "<f4")
    with pytest.raises(ValueError, match="checksum differs"):
        open_graph(folder)


def test_a_graph_from_before_there_were_samples_is_opened(folder, monkeypatch):
    for manifest in (folder / "graph.json", folder / "adjacency" / "adjacency.json"):
        about = json.loads(manifest.read_text())
        del about["sample"]
        manifest.write_text(json.dumps(about))
    monkeypatch.setattr(array_files, "WHOLE", 0)
    assert open_graph(folder).nodes == 60


def test_columns_that_change_after_opening_are_checked_where_they_are_used(folder, tmp_path):
    graph = open_graph(folder)
    edit(folder / "adjacency" / "columns.i32", 3, 10**6, "<i4")
    with pytest.raises(ValueError, match=r"outside 0\.\.59"):
        propagate_to_disk(graph, tmp_path / "store", degree=2)


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "sample"])
def test_an_edited_store_is_refused(whole, tmp_path, weighted, monkeypatch):
    monkeypatch.setattr(store_module, "WHOLE", 1 << 30 if whole else 0)
    propagate_to_disk(weighted, tmp_path / "store", degree=2, max_memory=60 * 40)
    assert open_store(tmp_path / "store").complete
    edit(tmp_path / "store" / "T1.f32", 7 * 30 + 2, 0.5, "<f4")
    with pytest.raises(ValueError, match="have changed since they were written"):
        propagate_to_disk(weighted, tmp_path / "store", degree=2)
    assert open_store(tmp_path / "store", verify=False).complete


@pytest.mark.parametrize(
    "change",
    [
        lambda about: about.update(width=0),
        lambda about: about.update(width=-3),
        lambda about: about["identity"].update(degree=10**9),
        lambda about: about["identity"].update(nodes=2.5),
        lambda about: about["identity"].update(features=-7),
        lambda about: about["parts"].append(about["parts"][0]),
        lambda about: about["parts"].reverse(),
        lambda about: about["parts"][0].update(columns=[0, 10**6]),
        lambda about: about["parts"][0].update(columns=3),
        lambda about: about["parts"][0].update(k=-1),
    ],
)
def test_a_forged_manifest_of_a_store_is_refused(change, tmp_path, weighted):
    propagate_to_disk(weighted, tmp_path / "store", degree=2)
    path = tmp_path / "store" / "manifest.json"
    about = json.loads(path.read_text())
    change(about)
    path.write_text(json.dumps(about))
    with pytest.raises(ValueError, match=r"cannot be read|is missing|bytes, expected"):
        open_store(tmp_path / "store")


def test_a_manifest_that_is_nested_too_deeply_is_refused(tmp_path, weighted):
    propagate_to_disk(weighted, tmp_path / "store", degree=1)
    (tmp_path / "store" / "manifest.json").write_text("[" * 10**5)
    with pytest.raises(ValueError, match="nested too deeply"):
        open_store(tmp_path / "store")
