import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest

import newtonnet
from newtonnet.datasets import (
    CATALOGUE,
    ChangedFileWarning,
    DatasetNotFoundError,
    check_split,
    load,
    load_dataset,
    load_splits,
    read_graph_file,
    summarise,
    write_graph_file,
)
from newtonnet.datasets.raw_files import ChecksumError, known_sums
from newtonnet.datasets.sources import read_luo_split

# Our name, the name in the manifest of the raw files.
REAL = {
    "cora": "Cora (geom-gcn splits)",
    "citeseer": "CiteSeer (geom-gcn splits)",
    "pubmed": "PubMed (geom-gcn splits)",
    "chameleon": "chameleon",
    "squirrel": "squirrel",
    "crocodile": "crocodile",
    "texas": "Texas",
    "cornell": "Cornell",
    "wisconsin": "Wisconsin",
    "actor": "Actor",
    "cornell-corrected": "Platonov2023/cornell",
    "chameleon-filtered": "Platonov2023/chameleon_filtered",
    "squirrel-filtered": "Platonov2023/squirrel_filtered",
    "minesweeper": "Minesweeper",
    "tolokers": "Tolokers",
    "amazon-computers": "Amazon Computers",
    "amazon-photo": "Amazon Photo",
    "reed98": "reed98",
    "amherst41": "amherst41",
    "cornell5": "cornell5",
    "johnshopkins55": "johnshopkins55",
}
PROMISED = {
    *("cora", "citeseer", "pubmed", "chameleon", "squirrel", "crocodile", "texas", "cornell"),
    *("penn94", "twitch-gamer", "genius", "cornell-corrected", "wisconsin", "actor"),
    *("chameleon-filtered", "squirrel-filtered", "roman-empire", "amazon-ratings", "minesweeper", "tolokers"),
    *("questions", "amazon-computers", "amazon-photo", "reed98", "amherst41", "cornell5", "johnshopkins55"),
    *("ogbn-arxiv", "csbm-homophilous", "csbm-heterophilous", "digits"),
}


def small_npz(path, *, nodes=12, seed=0):
    """A file in the format of the heterophilous graphs: every edge once, ten splits."""
    rng = np.random.default_rng(seed)
    parts = rng.permuted(np.tile(np.repeat([0, 1, 2], nodes // 3), (10, 1)), axis=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        path,
        node_features=rng.normal(size=(nodes, 3)).astype(np.float32),
        node_labels=np.arange(nodes) % 2,
        edges=np.stack([np.arange(nodes - 1), np.arange(1, nodes)], axis=1),
        train_masks=parts == 0,
        val_masks=parts == 1,
        test_masks=parts == 2,
    )


@pytest.fixture(scope="module")
def real(data_root):
    """A data set of the real files, loaded once."""
    return cache(lambda name: load_dataset(name, data_root=data_root))


def test_the_catalogue_holds_what_was_promised():
    assert set(CATALOGUE) == PROMISED


@pytest.mark.parametrize("name", REAL)
def test_a_real_graph_has_the_statistics_that_others_measured(name, real, manifest):
    graph, row = real(name).graph, manifest[REAL[name]]
    measured = row["measured"]
    assert graph.nodes == row["num_nodes"]
    assert graph.edges == measured["undirected_edges_no_self_loops"]
    assert graph.features.shape[1] == row["num_features"]
    counts = list(measured["class_counts"])
    if name == "crocodile":  # the sixth value of its label is folded into the fifth
        counts = [*counts[:4], counts[4] + counts[5]]
    assert np.bincount(graph.labels[graph.labelled]).tolist() == counts


@pytest.mark.parametrize(
    "name", [name for name, entry in CATALOGUE.items() if entry.fixed and not entry.splits and name in REAL]
)
def test_published_splits_are_those_of_the_files(name, real, manifest):
    dataset = real(name)
    measured = manifest[REAL[name]]["measured"]
    first = dataset.splits[0]
    assert len(dataset.splits) == measured["splits"] == 10
    assert [len(first.train), len(first.validation), len(first.test)] == measured["split0"]
    for split in dataset.splits:
        check_split(dataset.graph, split)
    assert len({split.checksum for split in dataset.splits}) == 10


def test_every_file_of_the_catalogue_that_is_here_is_known(real):
    for name in REAL:
        dataset = real(name)
        remade = {"remade"} if name in ("crocodile", "amazon-computers", "amazon-photo") else {"original"}
        expected = remade | ({"original"} if name.startswith("amazon") else set())  # the file of the published split
        assert {file.status for file in dataset.files} == expected, name


@pytest.mark.parametrize(
    ("name", "sizes"), [("amazon-photo", [4590, 1530, 1530]), ("amazon-computers", [8251, 2750, 2751])]
)
def test_the_amazon_graphs_have_one_published_split(name, sizes, data_root, real):
    dataset = real(name)
    (split,) = dataset.splits
    assert [len(split.train), len(split.validation), len(split.test)] == sizes
    with np.load(data_root / dataset.entry.splits) as stored:
        np.testing.assert_array_equal(split.validation, np.sort(stored["valid"]))
        np.testing.assert_array_equal(split.test, np.sort(stored["test"]))
    check_split(dataset.graph, split)


def test_a_file_that_holds_no_split_is_refused(tmp_path):
    np.savez(tmp_path / "split.npz", train=np.arange(3), valid=np.array([0.5]), test=np.arange(2))
    with pytest.raises(ValueError, match="does not hold a split"):
        read_luo_split(tmp_path / "split.npz")


@pytest.mark.parametrize(("name", "edges"), [("chameleon", 31371), ("squirrel", 198353)])
def test_the_wikipedia_graphs_are_the_papers(name, edges, data_root, real):
    graph = real(name).graph
    assert graph.edges == edges
    # Geom-GCN's features and labels, read here from its text, features divided by their sum.
    folder = data_root / "WikipediaNetwork" / name / "geom_gcn" / "raw"
    lines = (folder / "out1_node_feature_label.txt").read_text().splitlines()[1:201]
    for node, line in enumerate(lines):
        number, words, label = line.split("\t")
        row = np.array(words.split(","), dtype=float)
        assert int(number) == node
        assert graph.labels[node] == int(label)
        np.testing.assert_allclose(graph.features[[node]].toarray()[0], row / max(row.sum(), 1), rtol=1e-6)


def test_chameleons_edges_are_those_of_the_original_wikipedia_file(data_root, real):
    path = data_root / "WikipediaNetwork" / "chameleon" / "raw" / "chameleon.npz"
    if not path.is_file():
        pytest.skip("the original chameleon.npz is not there")
    rows = np.load(path)["edges"]
    original = {(min(a, b), max(a, b)) for a, b in rows.tolist() if a != b}
    assert {tuple(pair) for pair in real("chameleon").graph.pairs.T.tolist()} == original


@pytest.mark.parametrize("name", ["texas", "cornell", "wisconsin"])
def test_the_webkb_graphs_are_geom_gcns(name, data_root, real):
    graph = real(name).graph
    folder = data_root / "WebKB" / name / "raw"
    rows = np.loadtxt(folder / "out1_graph_edges.txt", skiprows=1, dtype=int)
    expected = {(min(a, b), max(a, b)) for a, b in rows.tolist() if a != b}
    assert {tuple(pair) for pair in graph.pairs.T.tolist()} == expected
    lines = [line.split("\t") for line in (folder / "out1_node_feature_label.txt").read_text().splitlines()[1:]]
    assert graph.labels.tolist() == [int(label) for _, _, label in lines]
    assert graph.features.toarray().tolist() == [[float(x) for x in words.split(",")] for _, words, _ in lines]


def test_cornell_carries_the_pages_of_texas_and_the_corrected_one_does_not(real):
    texas, cornell, corrected = (real(name).graph for name in ("texas", "cornell", "cornell-corrected"))
    assert (texas.features != cornell.features).nnz == 0
    np.testing.assert_array_equal(texas.labels, cornell.labels)
    rows = {row.tobytes() for row in texas.features.toarray()}
    assert not any(row.tobytes() in rows for row in corrected.features.toarray())
    assert any("Texas" in warning for warning in CATALOGUE["cornell"].warnings)


@pytest.mark.parametrize(("name", "arrows", "sinks"), [("texas", 309, 78), ("cornell", 295, 88)])
def test_as_stored_keeps_the_arrows_that_the_papers_code_saw(name, arrows, sinks, data_root):
    graph = load(name, data_root=data_root, directed="as-stored")
    assert graph.directed
    assert graph.edges == arrows
    assert (np.diff(graph.adjacency.indptr) == 0).sum() == sinks


@pytest.mark.parametrize(
    ("name", "rows", "loops", "homophily"),
    [
        ("texas", 325, 16, 0.1077),
        ("cornell", 298, 3, 0.3054),
        ("chameleon", 62792, 50, 0.2305),
        ("cora", 10556, 0, 0.81),
    ],
)
def test_the_rows_that_the_papers_code_counts_are_kept(name, rows, loops, homophily, real):
    graph = real(name).graph
    source, target = graph.rows
    assert (len(source), (source == target).sum()) == (rows, loops)
    assert (graph.labels[source] == graph.labels[target]).mean() == pytest.approx(homophily, abs=1e-4)


def test_as_stored_counts_the_rows_of_crocodile(data_root, real):
    graph = load("crocodile", data_root=data_root, directed="as-stored")
    rows = np.load(data_root / "WikipediaNetwork" / "crocodile" / "raw" / "crocodile.npz")["edges"]
    assert graph.adjacency.sum() == (rows[:, 0] != rows[:, 1]).sum()
    assert graph.adjacency.data.max() == 2
    assert real("crocodile").graph.adjacency.data.max() == 1


SECOND = """
import json, sys, time, types
top = sys.modules["newtonnet"] = types.ModuleType("newtonnet")  # so that only the door of datasets is measured
top.__path__ = sys.argv[1:2]
from newtonnet.datasets import load

at_the_door, seen = sorted({"torch_geometric", "pyarrow", "pandas", "sklearn"} & set(sys.modules)), {}
for name in sys.argv[2:]:
    start = time.process_time()
    checksum = load(name).checksum
    seen[name] = checksum, time.process_time() - start
print(json.dumps([at_the_door, seen, "torch_geometric" in sys.modules]))
"""


@pytest.fixture(scope="module")
def second():
    """What a second process has loaded at first, the graphs and seconds of its loads, and whether it parsed any."""
    there = [name for name in REAL if os.environ.get("NEWTONNET_DATA") and summarise(name).available]
    command = [sys.executable, "-c", SECOND, newtonnet.__path__[0], *there]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_a_second_load_of_any_graph_is_the_same_in_under_two_seconds_without_torch_geometric(real, request):
    first = {name: real(name).graph.checksum for name in REAL}
    _, seen, parsed = request.getfixturevalue("second")
    assert {name: checksum for name, (checksum, _) in seen.items()} == first
    assert max(seconds for _, seconds in seen.values()) < 2
    assert not parsed


def test_the_door_loads_no_library_that_only_parsing_needs(second):
    assert second[0] == []


def test_a_given_data_root_is_not_written_to(data_root, tmp_path, own_cache):
    shutil.copytree(data_root / "WebKB" / "texas", tmp_path / "root" / "WebKB" / "texas")
    before = sorted(tmp_path.joinpath("root").rglob("*"))
    load("texas", data_root=tmp_path / "root")
    assert sorted(tmp_path.joinpath("root").rglob("*")) == before
    assert list(own_cache.glob("graphs/texas-*.npz"))
    assert not list(own_cache.glob("work-*"))


def test_a_wrong_checksum_is_refused_with_both_hashes(data_root, tmp_path, own_cache):
    folder = tmp_path / "Platonov2023"
    folder.mkdir()
    content = (data_root / "Platonov2023" / "cornell.npz").read_bytes()
    (folder / "cornell.npz").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ChecksumError) as caught:
        load("cornell-corrected", data_root=tmp_path)
    expected = next(sha256 for path, sha256 in known_sums() if path == "Platonov2023/cornell.npz")
    assert expected in str(caught.value)
    assert len({word for word in str(caught.value).replace(",", " ").replace(";", " ").split() if len(word) == 64}) == 2


def test_a_file_without_a_known_checksum_is_used_and_called_unverified(tmp_path, own_cache):
    small_npz(tmp_path / "HeterophilousGraphDataset/roman_empire/raw/roman_empire.npz")
    dataset = load_dataset("roman-empire", data_root=tmp_path)
    assert (dataset.graph.nodes, dataset.graph.edges, dataset.graph.classes) == (12, 11, 2)
    assert [file.status for file in dataset.files] == ["unverified"]
    assert len(dataset.files[0].sha256) == 64
    assert [split.protocol for split in dataset.splits] == ["heterophilous"] * 10


def test_every_load_says_that_a_file_has_no_known_checksum(tmp_path, own_cache, monkeypatch, caplog):
    path = tmp_path / "HeterophilousGraphDataset/questions/raw/questions.npz"
    small_npz(path)
    monkeypatch.setenv("NEWTONNET_DATA", str(tmp_path))
    load("questions")
    load("questions")
    path.unlink()  # the third is from the cache alone
    load("questions")
    assert [record.getMessage().count("questions.npz has no known checksum") for record in caplog.records] == [1, 1, 1]


def test_other_raw_files_give_another_graph_and_not_the_cached_one(tmp_path, own_cache):
    path = tmp_path / "HeterophilousGraphDataset/questions/raw/questions.npz"
    small_npz(path, seed=0)
    first = load("questions", data_root=tmp_path)
    small_npz(path, seed=1)
    with pytest.warns(ChangedFileWarning):
        assert load("questions", data_root=tmp_path).checksum != first.checksum


def test_a_file_without_a_known_checksum_is_recorded_at_its_first_load_and_a_change_is_told(tmp_path, own_cache):
    path = tmp_path / "HeterophilousGraphDataset/questions/raw/questions.npz"
    small_npz(path, seed=0)
    (first,) = load_dataset("questions", data_root=tmp_path).files
    record = own_cache / "first-loads.txt"
    assert record.read_text() == f"{first.sha256}  HeterophilousGraphDataset/questions/raw/questions.npz\n"
    assert load_dataset("questions", data_root=tmp_path).files == (first,)
    small_npz(path, seed=1)
    with pytest.warns(ChangedFileWarning, match="changed since its first load") as caught:
        (changed,) = load_dataset("questions", data_root=tmp_path).files
    assert (changed.status, changed.first_sha256) == ("changed", first.sha256)
    (message,) = (str(warning.message) for warning in caught)
    assert first.sha256 in message
    assert changed.sha256 in message
    assert "\n" not in message
    record.write_text("")  # the change is meant
    (accepted,) = load_dataset("questions", data_root=tmp_path).files
    assert accepted.status == "unverified"
    assert changed.sha256 in record.read_text()


def test_a_file_that_could_not_be_parsed_is_not_recorded(tmp_path, own_cache):
    path = tmp_path / "HeterophilousGraphDataset/questions/raw/questions.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"half a download")
    with pytest.raises(ValueError, match="cannot be read"):
        load("questions", data_root=tmp_path)
    small_npz(path)
    assert [file.status for file in load_dataset("questions", data_root=tmp_path).files] == ["unverified"]


def test_the_first_loads_of_several_data_sets_are_all_kept(tmp_path, own_cache):
    for name in ("questions", "amazon-ratings", "roman-empire"):
        file = name.replace("-", "_")
        small_npz(tmp_path / f"HeterophilousGraphDataset/{file}/raw/{file}.npz")
        load(name, data_root=tmp_path)
    assert len((own_cache / "first-loads.txt").read_text().splitlines()) == 3


def test_files_with_a_known_checksum_are_not_recorded(data_root, own_cache):
    load("texas", data_root=data_root)
    assert not (own_cache / "first-loads.txt").exists()


def test_a_graph_whose_raw_files_are_gone_is_the_one_that_was_parsed_last(tmp_path, own_cache, monkeypatch):
    monkeypatch.setattr("newtonnet.datasets.catalogue.download", lambda *_, **__: pytest.fail("it downloads"))
    small_npz(tmp_path / "a/HeterophilousGraphDataset/questions/raw/questions.npz", nodes=12)
    small_npz(tmp_path / "b/HeterophilousGraphDataset/questions/raw/questions.npz", nodes=15)
    monkeypatch.setenv("NEWTONNET_DATA", str(tmp_path / "a"))
    load("questions")
    monkeypatch.setenv("NEWTONNET_DATA", str(tmp_path / "b"))
    with pytest.warns(ChangedFileWarning):
        there = load_dataset("questions")
    assert there.root == tmp_path / "b"
    monkeypatch.delenv("NEWTONNET_DATA")
    kept = load_dataset("questions")
    assert kept.root is None
    assert kept.graph.checksum == there.graph.checksum
    assert kept.files == there.files
    assert [split.checksum for split in kept.splits] == [split.checksum for split in there.splits]
    assert summarise("questions").nodes == 15
    assert not summarise("amazon-ratings").available


def test_a_data_root_that_is_given_is_not_passed_over_for_the_cache(tmp_path, own_cache, monkeypatch):
    small_npz(tmp_path / "a/HeterophilousGraphDataset/questions/raw/questions.npz")
    load("questions", data_root=tmp_path / "a")
    calls = []
    monkeypatch.setattr("newtonnet.datasets.catalogue.download", lambda *_, **__: calls.append(1) or tmp_path / "a")
    (tmp_path / "b").mkdir()
    assert load_dataset("questions", data_root=tmp_path / "b").root == tmp_path / "a"
    assert calls == [1]
    assert not summarise("questions", data_root=tmp_path / "b").available


def test_a_damaged_cache_is_made_anew(tmp_path, own_cache):
    small_npz(tmp_path / "HeterophilousGraphDataset/questions/raw/questions.npz")
    first = load("questions", data_root=tmp_path)
    (cached,) = own_cache.glob("graphs/*.npz")
    cached.write_bytes(cached.read_bytes()[:500])
    assert load("questions", data_root=tmp_path).checksum == first.checksum
    assert cached.stat().st_size > 500


def test_a_raw_file_that_cannot_be_parsed_is_one_clear_line(tmp_path, own_cache):
    path = tmp_path / "HeterophilousGraphDataset/questions/raw/questions.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(ValueError, match=r"'questions'.*cannot be read") as caught:
        load("questions", data_root=tmp_path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_without_network_says_what_to_put_where(tmp_path, own_cache, monkeypatch):
    from torch_geometric.datasets import LINKXDataset

    def fail(self):
        raise URLError("no network")

    monkeypatch.setattr(LINKXDataset, "download", fail)
    with pytest.raises(DatasetNotFoundError) as caught:
        load("penn94", data_root=tmp_path)
    message = str(caught.value)
    assert f"data.mat into {tmp_path / 'LINKXDataset/penn94/raw'}" in message
    assert "no network" in message
    assert "\n" not in message
    assert not summarise("penn94", data_root=tmp_path).available
    assert not list(own_cache.rglob("data.mat"))


def test_a_download_is_kept_in_the_cache_and_done_once(tmp_path, own_cache, monkeypatch):
    from torch_geometric.datasets import HeterophilousGraphDataset

    calls = []

    def fetch(self):
        calls.append(self.raw_dir)
        small_npz(own_cache.parent / "served.npz")
        shutil.copy(own_cache.parent / "served.npz", self.raw_paths[0])

    monkeypatch.setattr(HeterophilousGraphDataset, "download", fetch)
    first = load("amazon-ratings", data_root=tmp_path)
    assert load("amazon-ratings").checksum == first.checksum
    assert len(calls) == 1
    assert (own_cache / "raw/HeterophilousGraphDataset/amazon_ratings/raw/amazon_ratings.npz").is_file()
    assert not (tmp_path / "HeterophilousGraphDataset").exists()


def test_a_download_of_the_wrong_bytes_is_not_kept(tmp_path, own_cache, monkeypatch):
    from torch_geometric.datasets import HeterophilousGraphDataset

    monkeypatch.setattr(HeterophilousGraphDataset, "download", lambda self: small_npz(Path(self.raw_paths[0])))
    with pytest.raises(ChecksumError):
        load("minesweeper", data_root=tmp_path)
    assert not list(own_cache.rglob("minesweeper.npz"))


def test_two_processes_that_load_at_once_get_the_same_graph(tmp_path, own_cache):
    small_npz(tmp_path / "HeterophilousGraphDataset/questions/raw/questions.npz", nodes=3000)
    both = []
    for i in range(2):
        both.append(os.fork())
        if both[i] == 0:
            code = 1
            try:
                (tmp_path / str(i)).write_text(load("questions", data_root=tmp_path).checksum)
                code = 0
            finally:
                os._exit(code)
    assert [os.waitpid(child, 0)[1] for child in both] == [0, 0]
    checksum = load("questions", data_root=tmp_path).checksum
    assert [(tmp_path / str(i)).read_text() for i in range(2)] == [checksum] * 2
    assert len(list(own_cache.glob("graphs/*.npz"))) == 1
    assert not list(own_cache.glob("graphs/.*"))


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        DatasetNotFoundError, match=r"unknown dataset 'korra'; did you mean 'cora'\? available: actor, .*wisconsin"
    ):
        load("korra")


def test_a_data_root_that_is_not_a_folder_is_refused(tmp_path):
    with pytest.raises(DatasetNotFoundError, match="is not a folder"):
        load("cora", data_root=tmp_path / "nothing")


def test_a_wrong_direction_is_refused():
    with pytest.raises(ValueError, match="'as-stored', got 'yes'"):
        load("digits", directed="yes")


@pytest.mark.parametrize("name", ["csbm-homophilous", "csbm-heterophilous", "digits"])
def test_embedded_graphs_need_no_file_and_are_always_the_same(name, own_cache):
    first = load(name)
    assert load(name).checksum == first.checksum
    assert first.name == name
    assert not own_cache.exists()


def test_a_summary_of_an_absent_graph_is_empty_and_downloads_nothing(tmp_path, own_cache, monkeypatch):
    monkeypatch.setattr("newtonnet.datasets.catalogue.download", lambda *_, **__: pytest.fail("it downloads"))
    summary = summarise("genius", data_root=tmp_path)
    assert not summary.available
    assert summary.nodes is None
    assert summary.metric == "roc_auc"


def test_a_summary_reads_the_cache_and_agrees_with_the_graph(tmp_path, own_cache, monkeypatch):
    small_npz(tmp_path / "HeterophilousGraphDataset/questions/raw/questions.npz")
    first = summarise("questions", data_root=tmp_path)
    monkeypatch.setattr("newtonnet.datasets.catalogue.load", lambda *_, **__: pytest.fail("it reads the graph"))
    assert summarise("questions", data_root=tmp_path) == first
    assert (first.nodes, first.edges, first.homophily) == (12, 11, 0.0)


def test_a_summary_in_the_cache_that_was_changed_is_not_used(tmp_path, own_cache):
    small_npz(tmp_path / "HeterophilousGraphDataset/questions/raw/questions.npz")
    first = summarise("questions", data_root=tmp_path)
    (cached,) = own_cache.glob("graphs/*.npz")
    write_graph_file(cached, *read_graph_file(cached), {"summary": {"name": "questions", "nodes": []}, "files": []})
    assert summarise("questions", data_root=tmp_path) == first


def test_fixed_splits_can_be_asked_for_by_name(tmp_path, own_cache):
    small_npz(tmp_path / "HeterophilousGraphDataset/questions/raw/questions.npz")
    masks = np.load(tmp_path / "HeterophilousGraphDataset/questions/raw/questions.npz")
    splits = load_splits("questions", "fixed", data_root=tmp_path)
    assert [split.index for split in splits] == list(range(10))
    for split, train, test in zip(splits, masks["train_masks"], masks["test_masks"], strict=True):
        np.testing.assert_array_equal(split.train, np.flatnonzero(train))
        np.testing.assert_array_equal(split.test, np.flatnonzero(test))
    assert len(load_splits("questions", "fixed", count=3, data_root=tmp_path)) == 3
    with pytest.raises(ValueError, match="10 published splits, got count=11"):
        load_splits("questions", "fixed", count=11, data_root=tmp_path)
    assert load_splits("questions", "random", count=2, data_root=tmp_path)[0].protocol == "random"


def test_a_graph_without_published_splits_says_so():
    with pytest.raises(ValueError, match="'digits' has no published splits"):
        load_splits("digits", "fixed")
