import contextlib
import gzip
import io
import pickle
import resource
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from newtonnet.datasets import CATALOGUE, load, load_dataset, sources
from newtonnet.datasets.raw_files import known_sums
from newtonnet.datasets.sources import read_linkx_splits


def facebook_mat(path, *, nodes=40, seed=0, kinds=4):
    rng = np.random.default_rng(seed)
    adjacency = sp.random_array((nodes, nodes), density=4 / nodes, rng=rng, format="coo")
    adjacency.data[:] = 1
    info = rng.integers(0, kinds, size=(nodes, 7))
    info[:, 1] = rng.integers(0, 3, size=nodes)  # gender: 0 unknown, 1, 2
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {"A": sp.csc_matrix(adjacency + adjacency.T), "local_info": info.astype(np.uint16)})
    return info


def linkx_splits(path, splits):
    stored = np.empty(len(splits), dtype=object)
    stored[:] = splits
    np.save(path, stored, allow_pickle=True)


@pytest.mark.parametrize("name", ["reed98", "amherst41"])
def test_sparse_facebook_features_equal_torch_geometrics_dense_ones(name, data_root, tmp_path):
    from torch_geometric.datasets import LINKXDataset

    (tmp_path / name).mkdir()
    (tmp_path / name / "raw").symlink_to(data_root / "LINKXDataset" / name / "raw")
    data = LINKXDataset(str(tmp_path), name)[0]
    graph = load(name, data_root=data_root)
    assert sp.issparse(graph.features)
    np.testing.assert_array_equal(graph.features.toarray(), data.x.numpy())
    np.testing.assert_array_equal(graph.labels, data.y.numpy())
    assert 2 * graph.edges == data.edge_index.shape[1]


def test_penn94_reads_its_file_and_linkxs_splits(tmp_path, own_cache):
    raw = tmp_path / "LINKXDataset" / "penn94" / "raw"
    info = facebook_mat(raw / "data.mat")
    known = np.flatnonzero(info[:, 1] > 0)
    splits = [{"train": known[:10], "valid": known[10:15], "test": known[15:]} for _ in range(5)]
    assert load_dataset("penn94", data_root=tmp_path).splits == ()
    linkx_splits(raw / "fb100-Penn94-splits.npy", splits)
    dataset = load_dataset("penn94", data_root=tmp_path)
    np.testing.assert_array_equal(dataset.graph.labels, info[:, 1] - 1)
    assert [split.protocol for split in dataset.splits] == ["linkx"] * 5
    np.testing.assert_array_equal(dataset.splits[0].validation, known[10:15])


def test_another_file_of_splits_beside_the_named_one_is_not_read(tmp_path, own_cache):
    raw = tmp_path / "LINKXDataset" / "penn94" / "raw"
    known = np.flatnonzero(facebook_mat(raw / "data.mat")[:, 1] > 0)
    backup = [{"train": known[:3], "valid": known[3:6], "test": known[6:]}]
    linkx_splits(raw / "backup-splits.npy", backup)  # sorts before the named one
    assert load_dataset("penn94", data_root=tmp_path).splits == ()
    named = [{"train": known[:10], "valid": known[10:15], "test": known[15:]}]
    linkx_splits(raw / "fb100-Penn94-splits.npy", named)
    dataset = load_dataset("penn94", data_root=tmp_path)
    np.testing.assert_array_equal(dataset.splits[0].train, known[:10])
    assert [file.path.rsplit("/", 1)[1] for file in dataset.files] == ["data.mat", "fb100-Penn94-splits.npy"]


def test_twitch_gamer_reads_linkxs_splits(tmp_path, own_cache):
    raw = tmp_path / "TwitchGamer" / "raw"
    raw.mkdir(parents=True)
    header = "views,mature,life_time,created_at,updated_at,numeric_id,dead_account,language,affiliate\n"
    rows = [f"{i},{i % 2},{i},2016-02-1{i},2018-10-1{i},{i},{i % 2},{'EN' if i else 'FR'},{i % 2}\n" for i in range(4)]
    (raw / "large_twitch_features.csv").write_text(header + "".join(rows))
    (raw / "large_twitch_edges.csv").write_text("numeric_id_1,numeric_id_2\n0,2\n1,3\n")
    splits = [{"train": np.array([0, 3]), "valid": np.array([1]), "test": np.array([2])}]
    linkx_splits(raw / "twitch-gamer-splits.npy", splits)
    (split,) = load_dataset("twitch-gamer", data_root=tmp_path).splits
    assert (split.train.tolist(), split.validation.tolist(), split.test.tolist()) == ([0, 3], [1], [2])


def test_one_hot_features_of_penn94s_shape_never_exist_densely(tmp_path, own_cache):
    nodes, features = 41554, 4814
    rng = np.random.default_rng(0)
    info = np.stack([rng.permutation(np.arange(nodes) % 801) for _ in range(7)], axis=1)
    info[:, 1] = rng.integers(0, 3, size=nodes)
    info[:, 6] = np.arange(nodes) % (features - 5 * 801)
    raw = tmp_path / "LINKXDataset" / "penn94" / "raw"
    raw.mkdir(parents=True)
    ring = np.arange(nodes)
    links = sp.csc_matrix((np.ones(nodes), (ring, (ring + 1) % nodes)), shape=(nodes, nodes))
    savemat(raw / "data.mat", {"A": links + links.T, "local_info": info.astype(np.uint16)})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    graph = load("penn94", data_root=tmp_path)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert graph.features.shape == (nodes, features)
    assert graph.features.nnz == 6 * nodes
    assert grown < 200, "megabytes; a dense block would take 800"


@pytest.mark.parametrize("trap", [len, np.fromfile, np.load], ids=["builtins", "numpy", "numpy's own"])
def test_splits_that_would_run_code_are_refused(trap, tmp_path):
    class Trap:
        def __reduce__(self):
            return trap, ("nothing",)

    path = tmp_path / "fb100-Penn94-splits.npy"
    linkx_splits(path, [{"train": Trap()}])
    with pytest.raises(ValueError, match=f"{trap.__name__}', not plain arrays"):
        read_linkx_splits(path)


def test_splits_of_plain_arrays_come_back(tmp_path):
    path = tmp_path / "fb100-Penn94-splits.npy"
    splits = [{"train": np.arange(3), "valid": np.array([5]), "test": np.arange(7, 9)} for _ in range(2)]
    linkx_splits(path, splits)
    for found, split in zip(read_linkx_splits(path), splits, strict=True):
        assert {part: nodes.tolist() for part, nodes in found.items()} == {p: n.tolist() for p, n in split.items()}


def crafted_splits(path, dtype_state):
    """Splits whose array has a type with a crafted state, as only a hostile program writes it."""

    class Kind:
        def __reduce__(self):
            return np.dtype, ("V8", False, True), dtype_state

    class Crafted:
        def __reduce__(self):
            state = (1, (1,), Kind(), False, (0x4141).to_bytes(8, "little"))
            return np._core.multiarray._reconstruct, (np.ndarray, (0,), b"b"), state

    linkx_splits(path, [{"train": Crafted()}])


@pytest.mark.parametrize(
    "state",
    [
        (3, "|", None, ("a",), {"a": (np.dtype("O"), 0)}, 8, 1, 0),  # numpy took the bytes for the address of an object
        (3, "|", (np.dtype("O"), (1,)), None, None, 8, 1, 0),
        (3, "|", None, None, None, 8, 1, 0),
    ],
    ids=["field", "subarray", "plain bytes"],
)
def test_splits_with_a_crafted_type_are_refused(state, tmp_path):
    path = tmp_path / "fb100-Penn94-splits.npy"
    crafted_splits(path, state)
    with pytest.raises(ValueError, match=r"does not hold splits|not plain arrays"):
        read_linkx_splits(path)


@pytest.mark.parametrize("protocol", [3, 4])
def test_splits_of_every_protocol_of_numpy_come_back(protocol, tmp_path):
    stored = np.empty(1, dtype=object)
    stored[0] = {"train": np.arange(300), "valid": np.arange(3, dtype=np.int32), "test": np.array([], dtype=np.int64)}
    path = tmp_path / "splits.npy"
    np.save(path, stored, allow_pickle=True)
    start = path.read_bytes()[:128]
    path.write_bytes(start + pickle.dumps(stored, protocol=protocol))
    assert read_linkx_splits(path)[0]["train"].tolist() == list(range(300))


def test_a_name_in_splits_cannot_break_the_line_of_its_refusal(tmp_path):
    path = tmp_path / "splits.npy"
    linkx_splits(path, [])
    path.write_bytes(path.read_bytes()[:128] + b"\x80\x04\x8c\x03a\nb\x8c\x01c\x93.")
    with pytest.raises(ValueError, match=r"^[^\n]*not plain arrays[^\n]*$"):
        read_linkx_splits(path)


def test_damaged_splits_are_refused_in_one_line(tmp_path):
    path, rng = tmp_path / "splits.npy", np.random.default_rng(0)
    linkx_splits(path, [{"train": np.arange(3), "valid": np.arange(3, 5), "test": np.arange(5, 7)}])
    whole = path.read_bytes()
    for _ in range(300):
        data = bytearray(whole[: rng.integers(1, len(whole) + 1)])
        data[rng.integers(len(data))] = rng.integers(256)
        path.write_bytes(data)
        with contextlib.suppress(ValueError):
            read_linkx_splits(path)


def test_a_split_with_a_node_outside_the_graph_is_refused(tmp_path, own_cache):
    raw = tmp_path / "LINKXDataset" / "penn94" / "raw"
    facebook_mat(raw / "data.mat")
    linkx_splits(
        raw / "fb100-Penn94-splits.npy", [{"train": np.array([-1]), "valid": np.arange(2), "test": np.arange(2, 4)}]
    )
    with pytest.raises(ValueError, match=r"outside 0\.\.39"):
        load_dataset("penn94", data_root=tmp_path)


def test_every_pickled_raw_file_has_a_known_checksum():
    """The reader of these in PyTorch Geometric unpickles; a file with a known original of other bytes is refused."""
    known = {path for path, sha256 in known_sums()}
    pickled = [path for entry in CATALOGUE.values() if entry.kind == "Planetoid" for path in entry.files]
    assert len(pickled) > 20
    assert [path for path in pickled if "/ind." in path and path not in known] == []


def test_every_download_is_encrypted():
    assert all(source.url.startswith("https://") for source in (sources.OgbnArxiv, sources.TwitchGamer))


def test_a_matlab_file_that_crashes_its_reader_is_refused(tmp_path, monkeypatch):
    savemat(tmp_path / "data.mat", {"A": np.ones(3)})
    monkeypatch.setattr(sources, "_CONVERT", "import os; os.abort()")
    with pytest.raises(ValueError, match=r"is not a MATLAB file with A \(the reader ended with code -6\)"):
        sources.read_matlab(tmp_path / "data.mat", "A")


def test_a_matlab_file_with_column_pointers_that_jump_is_refused(tmp_path):
    savemat(whole := io.BytesIO(), {"A": sp.csc_matrix(np.ones((3, 3)))})
    right, wrong = (np.array(starts, dtype=np.int32).tobytes() for starts in ([0, 3, 6, 9], [0, 10**6, 6, 9]))
    assert whole.getvalue().count(right) == 1
    (tmp_path / "data.mat").write_bytes(whole.getvalue().replace(right, wrong))  # scipy would write beyond its arrays
    with pytest.raises(ValueError, match=r"data\.mat is not a MATLAB file with A \(ValueError: indptr must be"):
        sources.read_matlab(tmp_path / "data.mat", "A")


def test_a_matlab_file_that_keeps_its_reader_busy_is_refused(tmp_path, monkeypatch):
    savemat(tmp_path / "data.mat", {"A": np.ones(3)})
    monkeypatch.setattr(sources, "_CONVERT", "while True: pass")
    monkeypatch.setattr(sources, "READING", 0.2)
    with pytest.raises(ValueError, match=r"data\.mat was not read within 0 s; it may be damaged: get it again"):
        sources.read_matlab(tmp_path / "data.mat", "A")


def test_genius_reads_its_file_and_is_symmetrised(tmp_path, own_cache):
    raw = tmp_path / "LINKXDataset" / "genius" / "raw"
    raw.mkdir(parents=True)
    edges = np.array([[0, 1, 1, 3], [1, 0, 2, 3]])
    x = np.arange(12.0).reshape(4, 3) + 1
    savemat(raw / "data.mat", {"edge_index": edges, "node_feat": x, "label": np.array([[0, 1, 1, 0]])})
    graph = load("genius", data_root=tmp_path)
    assert {tuple(pair) for pair in graph.pairs.T.tolist()} == {(0, 1), (1, 2)}
    np.testing.assert_array_equal(graph.features, x)
    assert graph.labels.tolist() == [0, 1, 1, 0]
    assert load("genius", data_root=tmp_path, directed="as-stored").edges == 3


def test_twitch_gamer_is_encoded_as_linkx_does(tmp_path, own_cache):
    raw = tmp_path / "TwitchGamer" / "raw"
    raw.mkdir(parents=True)
    header = "views,mature,life_time,created_at,updated_at,numeric_id,dead_account,language,affiliate\n"
    rows = [
        "7879,1,969,2016-02-16,2018-10-12,0,0,EN,1",
        "500,0,2699,2011-05-19,2018-10-08,2,1,FR,0",
        "382502,1,3149,2010-02-27,2018-10-12,1,0,EN,1",
    ]
    (raw / "large_twitch_features.csv").write_text(header + "\n".join(rows) + "\n")
    (raw / "large_twitch_edges.csv").write_text("numeric_id_1,numeric_id_2\n0,2\n1,2\n")
    graph = load("twitch-gamer", data_root=tmp_path)
    assert graph.labels.tolist() == [1, 1, 0]
    assert graph.pairs.tolist() == [[0, 1], [2, 2]]
    expected = np.array(
        [
            [7879, 969, 20160216, 20181012, 0, 0, 1],
            [382502, 3149, 20100227, 20181012, 0, 0, 1],
            [500, 2699, 20110519, 20181008, 1, 1, 0],
        ],
        dtype=float,
    )
    expected = (expected - expected.mean(axis=0)) / expected.std(axis=0, ddof=1)
    np.testing.assert_allclose(graph.features, expected, rtol=1e-5)


def test_ogbn_arxiv_reads_the_archives_tables(tmp_path, own_cache):
    tables = {
        "raw/node-feat": "0.5,-1\n0.25,2\n1,0\n0,3\n",
        "raw/edge": "0,1\n1,0\n3,2\n",
        "raw/node-label": "2\n0\n3\n2\n",
        "split/time/train": "0\n1\n",
        "split/time/valid": "3\n",
        "split/time/test": "2\n",
    }
    for name, text in tables.items():
        path = tmp_path / "ogbn_arxiv" / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    dataset = load_dataset("ogbn-arxiv", data_root=tmp_path)
    np.testing.assert_array_equal(dataset.graph.features, [[0.5, -1], [0.25, 2], [1, 0], [0, 3]])
    assert dataset.graph.labels.tolist() == [1, 0, 2, 1]
    assert dataset.graph.class_names == ("0", "2", "3")
    assert dataset.graph.pairs.T.tolist() == [[0, 1], [2, 3]]
    (split,) = dataset.splits
    assert (split.train.tolist(), split.validation.tolist(), split.test.tolist()) == ([0, 1], [3], [2])


@pytest.mark.parametrize(
    ("top", "name", "files"),
    [
        ("arxiv", "OgbnArxiv", ["raw/edge.csv.gz", "split/time/test.csv.gz"]),
        ("", "TwitchGamer", ["large_twitch_edges.csv"]),
        ("twitch_gamers", "TwitchGamer", ["large_twitch_edges.csv"]),
    ],
)
def test_an_archive_is_unpacked_without_its_top_folder(top, name, files, tmp_path, monkeypatch):
    import zipfile

    def serve(url, folder):
        path = f"{folder}/served.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in files:
                archive.writestr(f"{top}/{file}" if top else file, "content")
        return path

    monkeypatch.setattr(sources, "download_url", serve)
    place = tmp_path / "place"
    place.mkdir()
    source = getattr(sources, name)
    source.download(SimpleNamespace(url=source.url, raw_dir=str(place)))
    assert sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()) == sorted(files)
