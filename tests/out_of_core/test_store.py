"""A store survives being killed, refuses what is not its own, notices damage, and leaves nothing on a full disk."""

import errno
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from filelock import FileLock

from newtonnet.graphs import from_edges
from newtonnet.out_of_core import open_graph, open_store, propagate, propagate_to_disk
from newtonnet.out_of_core.store import LOCK, MANIFEST
from newtonnet_paper.scale_graph import generate

MEMORY = (12 * 3 + 4) * 1000
"""Room for 3 of the 7 columns at once."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large") / "graph"
    generate(folder, nodes=1000, edges=5000, features=7)
    return folder


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory, graph):
    return propagate_to_disk(open_graph(graph), tmp_path_factory.mktemp("unbroken") / "s", degree=3, max_memory=MEMORY)


def check_resumed(folder, graph, unbroken, parts):
    assert len(open_store(folder).parts) == parts
    seen = []
    store = propagate_to_disk(
        open_graph(graph), folder, degree=3, max_memory=MEMORY, progress=lambda done: seen.append(done.parts)
    )
    assert seen == list(range(parts + 1, 13))
    assert store.checksum == unbroken.checksum
    assert open_store(folder, verify=True).complete
    for k in range(4):
        assert np.array_equal(store.term(k), unbroken.term(k))


def test_a_killed_precomputation_goes_on_and_ends_with_the_same_numbers(tmp_path, graph, unbroken):
    write = propagate.write_part

    def killed(store, columns, k, block):
        grown = write(store, columns, k, block)
        if len(grown.parts) == 6:
            # In the middle of the next part: some of its numbers are written, none of it is listed.
            with grown.path(2).open("r+b") as stream:
                stream.seek(4 * 3)
                stream.write(b"half a part ")
            os.kill(os.getpid(), signal.SIGKILL)
        return grown

    child = os.fork()
    if child == 0:
        try:
            propagate.write_part = killed
            propagate_to_disk(open_graph(graph), tmp_path / "s", degree=3, max_memory=MEMORY)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    check_resumed(tmp_path / "s", graph, unbroken, parts=6)


@pytest.mark.parametrize("parts", [1, 2, 4, 5, 11])
def test_a_precomputation_stopped_after_any_part_goes_on_there(tmp_path, graph, unbroken, parts):
    def stop(done):
        if done.parts == parts:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        propagate_to_disk(open_graph(graph), tmp_path / "s", degree=3, max_memory=MEMORY, progress=stop)
    check_resumed(tmp_path / "s", graph, unbroken, parts)


def test_a_store_that_was_begun_with_more_memory_asks_for_it(tmp_path, graph):
    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        propagate_to_disk(open_graph(graph), tmp_path / "s", degree=3, progress=stop)
    with pytest.raises(ValueError, match="begun with 7 columns at once"):
        propagate_to_disk(open_graph(graph), tmp_path / "s", degree=3, max_memory=MEMORY)


def test_a_precomputation_killed_before_its_manifest_begins_again(tmp_path, graph):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "T0.f32").write_bytes(b"left over")
    assert propagate_to_disk(open_graph(graph), tmp_path / "s", degree=2).complete


def test_a_finished_store_is_used_as_it_is(tmp_path, graph):
    store = propagate_to_disk(open_graph(graph), tmp_path / "s", degree=2)
    before = (tmp_path / "s" / MANIFEST).stat().st_mtime_ns
    assert propagate_to_disk(open_graph(graph), tmp_path / "s", degree=2, max_memory=20000).checksum == store.checksum
    assert (tmp_path / "s" / MANIFEST).stat().st_mtime_ns == before


def test_a_store_of_another_graph_features_degree_or_operator_is_refused(tmp_path, weighted):
    propagate_to_disk(weighted, tmp_path / "s", degree=3)
    scaled = replace(weighted, features=weighted.features * 2)
    heavier = replace(weighted, adjacency=weighted.adjacency * np.float32(2) + 0 * weighted.adjacency)
    fewer = from_edges([[0], [1]], np.ones((2, 7)))
    for graph, options, word in (
        (scaled, {}, "other features"),
        (heavier, {}, "another graph"),
        (fewer, {}, "nodes 60 there, 2 here"),
        (weighted, {"degree": 4}, "degree 3 there, 4 here"),
        (weighted, {"self_loops": True}, "self-loops"),
    ):
        with pytest.raises(ValueError, match=word) as caught:
            propagate_to_disk(graph, tmp_path / "s", **({"degree": 3} | options))
        assert "\n" not in str(caught.value)
    assert open_store(tmp_path / "s", verify=True).complete


def test_a_flipped_byte_is_noticed(tmp_path, weighted):
    propagate_to_disk(weighted, tmp_path / "s", degree=3)
    with (tmp_path / "s" / "T2.f32").open("r+b") as stream:
        stream.seek(501)
        old = stream.read(1)
        stream.seek(501)
        stream.write(bytes([old[0] ^ 1]))
    open_store(tmp_path / "s", verify=False)
    with pytest.raises(ValueError, match=r"T2\.f32 have changed"):
        open_store(tmp_path / "s")


def test_a_shortened_or_missing_file_is_noticed(tmp_path, weighted):
    propagate_to_disk(weighted, tmp_path / "s", degree=3)
    os.truncate(tmp_path / "s" / "T1.f32", 100)
    with pytest.raises(ValueError, match="has 100 bytes, expected 1680"):
        open_store(tmp_path / "s")
    (tmp_path / "s" / "T1.f32").unlink()
    with pytest.raises(ValueError, match="is missing"):
        open_store(tmp_path / "s")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 9, "dtype": "float32"}', '{"format": 1}'])
def test_a_broken_manifest_is_one_line(tmp_path, weighted, text):
    propagate_to_disk(weighted, tmp_path / "s", degree=1)
    (tmp_path / "s" / MANIFEST).write_text(text)
    with pytest.raises(ValueError, match="compute") as caught:
        open_store(tmp_path / "s")
    assert "\n" not in str(caught.value)


def test_a_folder_without_blocks_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no propagated features"):
        open_store(tmp_path)


def test_a_file_where_the_folder_should_be_is_refused_and_kept(tmp_path, graph):
    (tmp_path / "s").write_text("mine")
    with pytest.raises(ValueError, match="s is a file; name a folder"):
        propagate_to_disk(open_graph(graph), tmp_path / "s", degree=3)
    assert (tmp_path / "s").read_text() == "mine"


def test_a_folder_that_another_process_writes_to_is_refused(tmp_path, graph):
    (tmp_path / "s").mkdir()
    with FileLock(tmp_path / "s" / LOCK), pytest.raises(ValueError, match="another process is writing"):
        propagate_to_disk(open_graph(graph), tmp_path / "s", degree=3)


@pytest.mark.parametrize("blocks", [0, 2])
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path, weighted, monkeypatch, blocks):
    taken = []

    def full(handle, offset, size):
        if len(taken) == blocks:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken.append(size)

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match=r"no room in .*: 0.0 MB needed") as caught:
        propagate_to_disk(weighted, tmp_path / "s", degree=3)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0 or not sys.platform.startswith("linux"), reason="mounting needs root")
def test_a_disk_that_is_really_full_is_one_line_and_leaves_nothing(tmp_path, graph):
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with pytest.raises(OSError, match="no room in"):
            propagate_to_disk(open_graph(graph), place / "s", degree=3)
        with pytest.raises(OSError, match="no room in"):
            generate(place / "g", nodes=1000, edges=5000, features=7)
        assert list(place.iterdir()) == []
    finally:
        subprocess.run(["umount", str(place)], check=True)
