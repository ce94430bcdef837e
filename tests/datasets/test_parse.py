import os
from dataclasses import asdict

import numpy as np
import pytest
import scipy.sparse as sp

from newtonnet.datasets import DatasetNotFoundError, DatasetSummary, parse, read_graph_file, write_graph_file
from newtonnet.datasets.parse import cache_path, parsed_paths, read_facts
from newtonnet.datasets.raw_files import RawFile, cache_folder, data_roots
from newtonnet.graphs import from_edges

NO_MASKS = np.zeros((0, 6), dtype=np.uint8)
SUMMARY = asdict(DatasetSummary("x", True, 6, 3, 2, 2, 0.5, "accuracy"))


@pytest.mark.parametrize(
    "features",
    [
        np.arange(12.0).reshape(6, 2) - 5.5,
        np.arange(12.0).reshape(6, 2),
        sp.random_array((6, 900), density=0.01, rng=np.random.default_rng(0)),
        sp.eye_array(6, 70000),
        np.full((6, 2), 300.0),
    ],
    ids=["real", "whole", "sparse", "one-hot", "beyond a byte"],
)
@pytest.mark.parametrize("weights", [None, [0.5, 2.0, 1.0]])
@pytest.mark.parametrize("directed", [False, True])
def test_a_graph_comes_back_as_it_was(features, weights, directed, tmp_path):
    graph = from_edges(
        [[0, 1, 2], [1, 2, 5]],
        features,
        labels=[0, 1, -1, 1, 0, 0],
        weights=weights,
        class_names=["été", "b"],
        name="x",
        directed=directed,
    )
    masks = np.array([[1, 1, 2, 3, 0, 0]], dtype=np.uint8)
    file = RawFile("a", "0" * 64, "original")
    write_graph_file(tmp_path / "g.npz", graph, masks, {"summary": SUMMARY, "files": [asdict(file)]})
    again, kept = read_graph_file(tmp_path / "g.npz")
    assert again.checksum == graph.checksum
    assert (again.class_names, again.name, again.directed) == (graph.class_names, graph.name, graph.directed)
    np.testing.assert_array_equal(kept, masks)
    assert read_facts(tmp_path / "g.npz") == (DatasetSummary(**SUMMARY), (file,))


def test_binary_features_take_a_byte_each_at_most(tmp_path, rng):
    graph = from_edges([[0], [1]], rng.integers(0, 2, size=(200, 500)))
    write_graph_file(tmp_path / "g.npz", graph, NO_MASKS, {})
    assert (tmp_path / "g.npz").stat().st_size < 1.1 * 200 * 500


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    graph = from_edges([[0], [1]], np.eye(2))
    with pytest.raises(TypeError):
        write_graph_file(tmp_path / "g.npz", graph, NO_MASKS, {"not plain": object()})
    assert not list(tmp_path.iterdir())


def test_what_is_not_there_or_broken_reads_as_nothing(tmp_path):
    assert read_graph_file(tmp_path / "g.npz") is None
    assert read_facts(tmp_path / "g.npz") is None
    (tmp_path / "g.npz").write_bytes(b"PK\x03\x04 broken")
    assert read_graph_file(tmp_path / "g.npz") is None
    assert read_facts(tmp_path / "g.npz") is None


@pytest.mark.parametrize(
    "facts",
    [
        {"files": []},
        {"summary": None, "files": []},
        {"summary": {"name": "x"}, "files": []},
        {"summary": SUMMARY | {"nodes": "6"}, "files": []},
        {"summary": SUMMARY | {"homophily": [0.5]}, "files": []},
        {"summary": SUMMARY | {"unknown": 1}, "files": []},
        {"summary": SUMMARY},
        {"summary": SUMMARY, "files": 3},
        {"summary": SUMMARY, "files": [{"path": 3, "sha256": "0", "status": "original"}]},
        {"summary": SUMMARY, "files": [{"path": "a", "sha256": "0", "status": "other"}]},
    ],
)
def test_facts_of_another_form_read_as_nothing(facts, tmp_path):
    write_graph_file(tmp_path / "g.npz", from_edges([[0], [1]], np.eye(6)), NO_MASKS, facts)
    assert read_facts(tmp_path / "g.npz") is None


@pytest.mark.parametrize("masks", [np.zeros((1, 7), np.uint8), np.zeros(6, np.uint8), np.zeros((1, 6))])
def test_splits_of_another_shape_read_as_nothing(masks, tmp_path):
    write_graph_file(tmp_path / "g.npz", from_edges([[0], [1]], np.eye(6)), masks, {})
    assert read_graph_file(tmp_path / "g.npz") is None


def test_the_path_depends_on_files_and_direction():
    one, other = RawFile("a", "0" * 64, "original"), RawFile("a", "1" * 64, "original")
    paths = {cache_path("x", [file], directed=directed) for file in (one, other) for directed in (False, True)}
    assert len(paths) == 4
    assert cache_path("x", [one], directed=False) == cache_path("x", [one], directed=False)


def test_a_graph_of_another_format_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(parse, "FORMAT", parse.FORMAT - 1)
    write_graph_file(tmp_path / "g.npz", from_edges([[0], [1]], np.eye(2)), NO_MASKS, {})
    monkeypatch.undo()
    assert read_graph_file(tmp_path / "g.npz") is None
    assert read_facts(tmp_path / "g.npz") is None


def test_the_graphs_of_one_name_are_found_the_last_one_first(own_cache):
    files = [RawFile("a", digit * 64, "original") for digit in "012"]
    paths = [cache_path("chameleon", [file], directed=False) for file in files]
    others = [
        cache_path("chameleon-filtered", files, directed=False),
        cache_path("chameleon", files, directed=True),
        own_cache / "graphs" / "chameleon-notes.npz",
    ]
    own_cache.joinpath("graphs").mkdir(parents=True)
    for age, path in enumerate([*others, paths[1], paths[2], paths[0]]):
        path.touch()
        os.utime(path, (age, age))
    assert parsed_paths("chameleon", directed=False) == [paths[0], paths[2], paths[1]]
    assert parsed_paths("chameleon", directed=True) == [others[1]]
    assert parsed_paths("cora", directed=False) == []


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"NEWTONNET_CACHE": "/a"}, "/a"),
        ({"NEWTONNET_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/newtonnet"),
        ({"HOME": "/c"}, "/c/.cache/newtonnet"),
    ],
)
def test_the_cache_folder_follows_the_environment(environment, expected, monkeypatch):
    for name in ("NEWTONNET_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(cache_folder()) == expected


def test_a_given_data_root_goes_before_the_named_one_and_the_downloads_come_last(tmp_path, monkeypatch):
    named = tmp_path / "named"
    named.mkdir()
    monkeypatch.setenv("NEWTONNET_DATA", str(named))
    assert data_roots() == [named, cache_folder() / "raw"]
    assert data_roots(tmp_path) == [tmp_path, cache_folder() / "raw"]
    monkeypatch.delenv("NEWTONNET_DATA")
    assert data_roots() == [cache_folder() / "raw"]


def test_a_named_data_root_that_is_not_there_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("NEWTONNET_DATA", str(tmp_path / "gone"))
    with pytest.raises(DatasetNotFoundError, match=r"NEWTONNET_DATA '.*gone' is not a folder"):
        data_roots()
    assert data_roots(tmp_path)[0] == tmp_path
