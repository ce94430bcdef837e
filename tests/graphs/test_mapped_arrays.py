"""Arrays in files are read as they lie there, wherever they begin."""

import numpy as np
import pytest

from newtonnet.graphs import mapped_arrays
from newtonnet.graphs.mapped_arrays import in_pieces, read_rows

ROWS = np.arange(24, dtype=np.float32).reshape(8, 3)


@pytest.fixture
def stored(tmp_path):
    """The same rows in memory, in a file, behind the header of a file, in a part of one, and by columns."""
    ROWS.tofile(tmp_path / "plain")
    np.save(tmp_path / "headed.npy", ROWS)
    np.concatenate([ROWS[:2] - 9, ROWS]).tofile(tmp_path / "longer")
    ROWS.T.copy().tofile(tmp_path / "columns")
    return {
        "memory": ROWS,
        "file": np.memmap(tmp_path / "plain", np.float32, "r", shape=(8, 3)),
        "header": np.load(tmp_path / "headed.npy", mmap_mode="r"),
        "part": np.memmap(tmp_path / "longer", np.float32, "r", shape=(10, 3))[2:],
        "columns": np.memmap(tmp_path / "columns", np.float32, "r", shape=(8, 3), order="F"),
    }


@pytest.mark.parametrize("kind", ["memory", "file", "header", "part", "columns"])
def test_rows_are_copied_from_wherever_they_are(kind, stored):
    rows = read_rows(stored[kind], slice(3, 6))
    assert rows.tolist() == ROWS[3:6].tolist()
    assert not np.shares_memory(rows, stored[kind])


@pytest.mark.parametrize("kind", ["memory", "file", "header", "part", "columns"])
@pytest.mark.parametrize("chunk", [1, 30, 1000])
def test_pieces_make_the_whole(kind, chunk, stored, monkeypatch):
    monkeypatch.setattr(mapped_arrays, "CHUNK", chunk)
    pieces = list(in_pieces(stored[kind]))
    assert len(pieces) == {1: 8, 30: 4, 1000: 1}[chunk]
    assert all(piece.flags.c_contiguous for piece in pieces)
    np.testing.assert_array_equal(np.concatenate(pieces), ROWS)


def test_a_file_is_read_and_not_mapped(stored):
    assert not any(np.shares_memory(piece, stored["file"]) for piece in in_pieces(stored["file"]))
    assert np.shares_memory(next(in_pieces(ROWS)), ROWS)
