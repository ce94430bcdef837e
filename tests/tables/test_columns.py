import pyarrow as pa
import pyarrow.parquet as paparquet
import pytest

from newtonnet.tables import Columns, TableOptions, column_names, find_columns


@pytest.fixture
def files(tmp_path):
    (tmp_path / "nodes.csv").write_text("kind;name;size\nx;a;1\ny;b;2\n")
    table = pa.table({"to": ["a"], "weight": [1.0], "source": ["b"]})
    paparquet.write_table(table, tmp_path / "edges.parquet")
    return tmp_path / "nodes.csv", tmp_path / "edges.parquet"


def test_columns_have_their_usual_names_or_places(files):
    found = find_columns(*files, TableOptions(id_column="name", label_column="kind", target_column="to"))
    assert found == Columns(id="name", label="kind", source="source", target="to", weight="weight")
    assert find_columns(*files, TableOptions(target_column="weight")) == Columns(
        "kind", None, "source", "weight", None, ("to",)
    )


def test_usual_names_may_be_written_in_any_case():
    rows = pa.table({"Kind": ["x"], "ID": ["a"]})
    links = pa.table({"Type": ["u"], "Source": ["a"], "Target": ["b"], "Weight": [1.0]})
    assert find_columns(rows, links) == Columns("ID", None, "Source", "Target", "Weight", ("Type",))
    twice = pa.table({"source": ["a"], "target": ["b"], "Weight": [1.0], "WEIGHT": [1.0]})
    assert find_columns(rows, twice).weight is None


def test_all_columns_of_a_file_are_told_by_its_header(files):
    assert [column_names(file) for file in files] == [("kind", "name", "size"), ("to", "weight", "source")]


def test_tables_in_memory_have_columns_too():
    rows = pa.table({"id": ["a", "b"], "kind": ["x", "y"]})
    found = find_columns(rows, pa.table({"source": ["a"], "target": ["b"]}), TableOptions(label_column="kind"))
    assert found == Columns(id="id", label="kind", source="source", target="target", weight=None)


def test_a_column_that_is_not_there_is_refused(files):
    with pytest.raises(ValueError, match=r"nodes\.csv has no column 'key'; found: kind, name, size"):
        find_columns(*files, TableOptions(id_column="key", target_column="to"))
    with pytest.raises(ValueError, match=r"nodes\.csv has no column 'class'"):
        find_columns(*files, TableOptions(label_column="class", target_column="to"))
    with pytest.raises(ValueError, match=r"edges\.parquet has no column 'from'"):
        find_columns(*files, TableOptions(source_column="from"))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        find_columns("nowhere.csv", files[1])
