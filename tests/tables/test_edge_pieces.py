"""Edges that are read in pieces are those that are read at once, and so is every word about a mistake in them."""

import gzip
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from newtonnet.tables import Columns, edge_pieces, load_tables
from newtonnet.tables.readers import read_table
from newtonnet.tables.tables import count_rows, edge_rows

COLUMNS = Columns(id="id", label=None, source="source", target="target", weight=None)
WEIGHTED = replace(COLUMNS, weight="weight")
NAMES = ["007", "7", "a,b", " lead", "zoë 图", "NA", *(f"n{i}" for i in range(6))]
ROWS = 5


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Pieces of 6 rows (half as many as there are nodes) from blocks of some lines."""
    monkeypatch.setattr("newtonnet.tables.tables.PIECE", ROWS)
    monkeypatch.setattr("newtonnet.tables.readers.BLOCK", 64)


def at_once(path, ids, columns, text_encoding="utf-8"):
    texts = {columns.source, columns.target}
    return edge_rows(read_table(path, "edges", text_encoding=text_encoding, texts=texts), ids, columns)


def in_pieces(path, ids, columns, text_encoding="utf-8"):
    tally = Counter()
    pieces = list(edge_pieces(path, ids, columns=columns, text_encoding=text_encoding, tally=tally))
    assert len(pieces) > 2
    ends = np.concatenate([ends for ends, _ in pieces], axis=1)
    weights = None if columns.weight is None else np.concatenate([weights for _, weights in pieces])
    assert tally == count_rows((ends, weights))
    return ends, weights


def kinds(rng, n, m):
    """The same ends as whole numbers, short ones, floats, text, and text by a dictionary."""
    numbers = rng.integers(0, n, (2, m)) * 3 + 1
    texts = [pa.array(side).cast(pa.string()) for side in numbers]
    return {
        "int64": numbers,
        "uint16": numbers.astype(np.uint16),
        "floats": numbers.astype(np.float64),
        "texts": texts,
        "mixed": [numbers[0], texts[1]],
        "dictionary": [side.dictionary_encode() for side in texts],
        "large": [side.cast(pa.large_string()) for side in texts],
    }


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        *((ending, kind) for ending in ("csv", "csv.gz") for kind in ("int64", "texts")),
        *(("parquet", kind) for kind in ("int64", "uint16", "floats", "texts", "mixed", "dictionary", "large")),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nodes", ["numbers", "texts"])
def test_pieces_are_the_rows_of_the_whole_table(ending, kind, weighted, nodes, rng, tmp_path):
    n, m = 12, 40
    source, target = kinds(rng, n, m)[kind]
    weights = rng.integers(0, 4, m) / 2 if weighted else None
    table = pa.table(
        {"source": source, "target": target, **({"weight": weights} if weighted else {}), "when": ["x"] * m}
    )
    path = tmp_path / f"e.{ending}"
    if ending == "parquet":
        pq.write_table(table, path, row_group_size=7)
    else:
        pacsv.write_csv(pa.table({name: _plain(table[name]) for name in table.column_names}), tmp_path / "e.csv")
        if ending == "csv.gz":
            path.write_bytes(gzip.compress((tmp_path / "e.csv").read_bytes()))
    ids = pa.array(np.arange(n) * 3 + 1)
    ids = ids if nodes == "numbers" else ids.cast(pa.string())
    columns = WEIGHTED if weighted else COLUMNS
    (ends, found), (expected, theirs) = in_pieces(path, ids, columns), at_once(path, ids, columns)
    np.testing.assert_array_equal(ends, expected)
    assert ends.dtype == expected.dtype
    assert (found is None) == (not weighted)
    if weighted:
        np.testing.assert_array_equal(found, theirs)
        assert found.dtype == np.float32


def _plain(column):
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def test_ids_that_are_easily_damaged_are_kept(rng, tmp_path):
    ends = rng.integers(0, len(NAMES), (2, 40))
    quoted = [[f'"{NAMES[i]}"' if "," in NAMES[i] else NAMES[i] for i in side] for side in ends]
    lines = "\r\n\r\n".join(f"{a},{b}" for a, b in zip(*quoted, strict=True))  # blank lines are no rows
    (tmp_path / "e.csv").write_bytes(b"\xef\xbb\xbf" + f"source,target\r\n{lines}".encode())
    np.testing.assert_array_equal(in_pieces(tmp_path / "e.csv", pa.array(NAMES), COLUMNS)[0], ends)


def test_ids_stay_text_whatever_they_look_like(tmp_path):
    (tmp_path / "e.csv").write_text("source,target\n" + "007,7\n1.0,007\n" * 10)
    ends, _ = in_pieces(tmp_path / "e.csv", pa.array(["007", "7", "1.0"]), COLUMNS)
    assert ends.tolist() == [[0, 2] * 10, [1, 0] * 10]


@pytest.mark.parametrize("text_encoding", ["latin-1", "utf-16"])
def test_another_encoding_is_read_where_it_is_named(text_encoding, tmp_path):
    text = "source;target\n" + "é;b\nb;é\n" * 20
    (tmp_path / "e.csv").write_bytes(text.encode(text_encoding))
    ends, _ = in_pieces(tmp_path / "e.csv", pa.array(["é", "b"]), COLUMNS, text_encoding)
    assert ends.tolist() == [[0, 1] * 20, [1, 0] * 20]


@pytest.mark.parametrize("kept", [20, 100_000])  # within the header's look at the file, and behind it
def test_a_compressed_file_that_is_cut_short_is_one_line(kept, tmp_path):
    noise = np.random.default_rng(0).integers(1000, size=(50_000, 2))
    content = gzip.compress(("source,target\n" + "\n".join(f"{a},{b}" for a, b in noise)).encode())
    path = tmp_path / "e.csv.gz"
    path.write_bytes(content[:kept])
    for read in (at_once, in_pieces):
        with pytest.raises(ValueError, match=r"e\.csv\.gz cannot be decompressed .*truncated") as caught:
            read(path, pa.array([str(i) for i in range(1000)]), COLUMNS)
        assert "\n" not in str(caught.value)


def test_a_file_that_is_only_named_compressed_is_one_line(tmp_path):
    (tmp_path / "e.csv.gz").write_text("source,target\na,b\n")
    with pytest.raises(ValueError, match=r"e\.csv\.gz cannot be decompressed .*not compressed as its name says"):
        at_once(tmp_path / "e.csv.gz", pa.array(["a", "b"]), COLUMNS)


def test_whole_weights_may_be_followed_by_others(tmp_path):
    (tmp_path / "e.csv").write_text("source,target,weight\n" + "a,b,2\n" * 30 + "b,a,0.5\n" * 3)
    assert in_pieces(tmp_path / "e.csv", pa.array(["a", "b"]), WEIGHTED)[1].tolist() == [2] * 30 + [0.5] * 3


@pytest.mark.parametrize(("first", "kind"), [("true", "bool"), ("2020-01-01", "date32"), ("", "null"), ("x", "string")])
def test_numbers_far_down_do_not_save_a_column_that_begins_with_others(first, kind, tmp_path):
    (tmp_path / "e.csv").write_text("source,target,weight\n" + f"a,b,{first}\n" * 30 + "a,b,1\n" * 30)
    with pytest.raises(ValueError, match=rf"column 'weight' of .*e\.csv must hold numbers, got {kind}"):
        in_pieces(tmp_path / "e.csv", pa.array(["a", "b"]), WEIGHTED)


def test_large_unsigned_ids_in_one_piece_do_not_change_the_others(tmp_path):
    ids = pa.array([1, 2, 2**63 + 1], pa.uint64())
    pq.write_table(pa.table({"source": ids.take([0] * 20 + [2]), "target": ids.take([1] * 21)}), tmp_path / "e.parquet")
    for known in (ids.cast(pa.string()), pa.array(["1", "2", str(2**63 + 1)])):
        assert in_pieces(tmp_path / "e.parquet", known, COLUMNS)[0].tolist() == [[0] * 20 + [2], [1] * 21]


@pytest.mark.parametrize("text", ["source,target", "source,target\n", "source,target\n\n\n"])
def test_a_header_alone_is_no_edge(text, tmp_path):
    (tmp_path / "e.csv").write_text(text)
    assert (
        list(edge_pieces(tmp_path / "e.csv", pa.array(["a"]), columns=COLUMNS, text_encoding="utf-8", tally=Counter()))
        == []
    )


def test_a_parquet_file_without_rows_is_no_edge(tmp_path):
    pq.write_table(
        pa.table({"source": pa.array([], pa.int64()), "target": pa.array([], pa.int64())}), tmp_path / "e.pq"
    )
    assert (
        list(edge_pieces(tmp_path / "e.pq", pa.array([1]), columns=COLUMNS, text_encoding="utf-8", tally=Counter()))
        == []
    )


BEFORE = "a,b,1\n\n" * 20
"""Rows that fill several pieces, with lines between them that are no rows."""


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    ("last", "message"),
    [
        (
            "a,z,1\n",
            "line 42 of {} names the unknown node 'z' in column 'target'; expected an id from column 'id' of the nodes",
        ),
        (
            "z,b,1\n",
            "line 42 of {} names the unknown node 'z' in column 'source'; expected an id from column 'id' of the nodes",
        ),
        ("a,,1\n", "line 42 of {} has no id in column 'target'; expected an id from column 'id' of the nodes"),
        ("  ,b,1\n", "line 42 of {} has no id in column 'source'; expected an id from column 'id' of the nodes"),
        ("a\n", "line 42 of {} has 1 fields, but the header has 3: a"),
        ("a,b,1,2\n", "line 42 of {} has 4 fields, but the header has 3: a,b,1,2"),
        ('a,b,"1\n', "line 42 of {} opens a quotation mark that is never closed; close or remove it"),
        ('a,"b,1\n', "line 42 of {} opens a quotation mark that is never closed; close or remove it"),
        ("à,b,1\n".encode("latin-1"), "line 42 of {} is not utf-8; read it with --text-encoding latin-1 "),
    ],
)
def test_a_mistake_far_down_is_reported_as_in_a_table_that_is_read_at_once(last, message, weighted, tmp_path):
    refused(tmp_path, last, message, WEIGHTED if weighted else COLUMNS)


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("a,b,-1\n", "line 42 of {} has the weight -1; weights must be finite and not negative"),
        ("a,b,-0.5\n", "line 42 of {} has the weight -0.5; weights must be finite and not negative"),
        ("a,b,inf\n", "line 42 of {} has the weight inf; weights must be finite and not negative"),
        ("a,b,\n", "line 42 of {} has no weight; weights must be finite and not negative"),
        ("a,b,NA\n", "line 42 of {} has no weight; weights must be finite and not negative"),
        ("a,b,heavy\n", "column 'weight' of {} must hold numbers, got string"),
    ],
)
def test_a_wrong_weight_far_down_is_reported_as_in_a_table_that_is_read_at_once(last, message, tmp_path):
    refused(tmp_path, last, message, WEIGHTED)


def refused(folder, last, message, columns):
    path = folder / "e.csv"
    path.write_bytes(f"source,target,weight\n{BEFORE}".encode() + (last if isinstance(last, bytes) else last.encode()))
    words = []
    for read in (at_once, in_pieces):
        with pytest.raises(ValueError, match=r"e\.csv") as caught:
            read(path, pa.array(["a", "b"]), columns)
        words.append(str(caught.value))
    assert words[0] == words[1]
    assert words[0].startswith(message.format(path))
    assert "\n" not in words[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source,target,weight\na,b,true\n", "must hold numbers, got bool"),
        ("source,target,weight\na,b,2020-01-01\n", "must hold numbers, got date32"),
        ("source,target,weight\na,b,\n", "must hold numbers, got null"),
        ("source,target,weight\na,b,x\n", "must hold numbers, got string"),
        ("source,target\na,b\n", "has no column 'weight'; found: source, target"),
        ("source,target,target,weight\na,b,b,1\n", "has two columns 'target'; rename one of them"),
        ("", "is empty; expected a header line and rows"),
        ("PAR1 not really", "is not a Parquet file"),
    ],
)
def test_a_wrong_file_is_reported_in_the_same_words(text, message, tmp_path):
    path = tmp_path / "e.csv"
    path.write_text(text)
    words = []
    for read in (in_pieces, lambda *_: load_tables(pa.table({"id": ["a", "b"]}), path, weight_column="weight")):
        with pytest.raises(ValueError, match=message) as caught:
            read(path, pa.array(["a", "b"]), WEIGHTED)
        words.append(str(caught.value))
    assert words[0] == words[1]


@pytest.mark.parametrize(
    ("source", "weight", "message"),
    [
        (8, 1.0, "row 21 of {} names the unknown node 8 in column 'source'"),
        (None, 1.0, "row 21 of {} has no id in column 'source'"),
        (1, -2.0, "row 21 of {} has the weight -2; weights"),
        (1, None, "row 21 of {} has no weight; weights"),
        (1, float("nan"), "row 21 of {} has the weight nan; weights"),
    ],
)
def test_rows_of_parquet_are_counted_over_the_whole_file(source, weight, message, tmp_path):
    path = tmp_path / "e.parquet"
    table = {"source": [1] * 20 + [source], "target": [2] * 21, "weight": [1.0] * 20 + [weight]}
    pq.write_table(pa.table(table), path, row_group_size=8)
    for read in (at_once, in_pieces):
        with pytest.raises(ValueError, match=r"e\.parquet") as caught:
            read(path, pa.array([1, 2]), WEIGHTED)
        assert str(caught.value).startswith(message.format(path))


def test_ends_that_are_no_whole_numbers_are_reported_with_their_row(tmp_path):
    pq.write_table(pa.table({"source": [1.0] * 20 + [1.5], "target": [2] * 21}), tmp_path / "e.parquet")
    with pytest.raises(ValueError, match=r"row 21 of .*e\.parquet has the id 1\.5 in column 'source'; ids must be"):
        in_pieces(tmp_path / "e.parquet", pa.array([1, 2]), COLUMNS)
    pq.write_table(pa.table({"source": [[1]] * 21, "target": [2] * 21}), tmp_path / "e.parquet")
    with pytest.raises(ValueError, match=r"column 'source' of .*e\.parquet holds list<.*>; ids must be"):
        in_pieces(tmp_path / "e.parquet", pa.array([1, 2]), COLUMNS)


def test_unknown_nodes_are_dropped_piece_by_piece_but_never_added(tmp_path):
    (tmp_path / "e.csv").write_text("source,target\n" + "a,b\nb,z\n" * 20)
    given = {"columns": COLUMNS, "text_encoding": "utf-8", "tally": (tally := Counter())}
    pieces = list(edge_pieces(tmp_path / "e.csv", pa.array(["a", "b"]), **given, unknown_edges="drop"))
    assert np.concatenate([ends for ends, _ in pieces], axis=1).tolist() == [[0] * 20, [1] * 20]
    assert (tally["rows"], tally["dropped"]) == (20, 20)
    with pytest.raises(ValueError, match="cannot add nodes; drop them, or put the nodes in the table"):
        list(edge_pieces(tmp_path / "e.csv", pa.array(["a", "b"]), **given, unknown_edges="add"))
