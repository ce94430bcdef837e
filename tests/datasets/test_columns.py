import pyarrow as pa
import pyarrow.parquet as paparquet
import pytest

from newtonnet.datasets import Columns, find_columns


@pytest.fixture
def files(tmp_path):
    (tmp_path / "nodes.csv").write_text("kind;name;size\nx;a;1\ny;b;2\n")
    table = pa.table({"to": ["a"], "weight": [1.0], "source": ["b"]})
    paparquet.write_table(table, tmp_path / "edges.parquet")
    return tmp_path / "nodes.csv", tmp_path / "edges.parquet"


def test_columns_have_their_usual_names_or_places(files):
    found, names = find_columns(*files, id_column="name", label_column="kind", target_column="to")
    assert found == Columns(id="name", label="kind", source="source", target="to", weight="weight")
    assert names == ("kind", "name", "size")
    assert find_columns(*files, target_column="weight")[0] == Columns("kind", None, "source", "weight", None)


def test_a_label_column_that_is_not_there_is_none(files):
    assert find_columns(*files, label_column="class", target_column="to")[0].label is None


def test_any_other_column_that_is_not_there_is_refused(files):
    with pytest.raises(ValueError, match=r"nodes\.csv has no column 'key'; found: kind, name, size"):
        find_columns(*files, id_column="key", target_column="to")
    with pytest.raises(ValueError, match=r"edges\.parquet has no column 'from'"):
        find_columns(*files, source_column="from")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        find_columns("nowhere.csv", files[1])
