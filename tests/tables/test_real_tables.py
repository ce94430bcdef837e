"""What real tables bring: edges to outsiders, ids written in two ways, Excel and JSON, other dates, many categories."""

import sys
import zipfile
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from newtonnet.tables import TableOptions, load_tables, networkx_tables, read_tables

NODES = "id,age,city,label\na,20,Bonn,x\nb,30,Bonn,y\nc,40,Aachen,\n"
EDGES = "source,target,weight\na,b,1\nb,z,2\ny,z,3\nc,a,4\nz,c,5\n"


@pytest.fixture
def write(tmp_path):
    """Write a file and give its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_edges_to_unknown_nodes_are_refused_unless_asked_for(write):
    with pytest.raises(ValueError, match=r"unknown node 'y' .*; --unknown-edges drop leaves such edges out"):
        load_tables(write("n.csv", NODES), write("e.csv", EDGES))
    with pytest.raises(ValueError, match=r"unknown_edges must be one of error, drop, add, got 'keep'"):
        TableOptions(unknown_edges="keep")


def test_edges_to_unknown_nodes_can_be_dropped_and_are_counted(write):
    read = read_tables(write("n.csv", NODES), write("e.csv", EDGES), TableOptions(unknown_edges="drop"))
    assert read.graph.nodes == 3
    assert read.graph.pairs.tolist() == [[0, 0], [1, 2]]
    assert read.graph.adjacency.max() == 4
    assert "3 of 5 edges name nodes that are not in the table; they were dropped." in read.notes


def test_unknown_nodes_can_be_added_as_context(write):
    options = TableOptions(unknown_edges="add", label_column="label")
    read = read_tables(write("n.csv", NODES), write("e.csv", EDGES), options)
    graph = read.graph
    assert graph.node_names == ("a", "b", "c", "y", "z")
    assert graph.edges == 5
    assert graph.labels.tolist() == [0, 1, -1, -1, -1]
    x = graph.features.toarray() if sp.issparse(graph.features) else graph.features
    assert not x[3:].any()
    assert read.added == 2
    assert "2 nodes named by edges only: added without features or label, and not predicted." in read.notes


@pytest.mark.parametrize("rows", ["1,1\n2,2\n", "1.0,1\n2.0,2\n"])
@pytest.mark.parametrize("links", ["1,2\n2,3\n", "1.0,2.0\n2.0,3.0\n", "1,2.0\n2,3.0\n3,1.0\n"])
@pytest.mark.parametrize(("unknown", "nodes"), [("drop", 2), ("add", 3)])
def test_ids_with_a_point_are_not_taken_for_unknown_ones(rows, links, unknown, nodes, write):
    graph = load_tables(
        write("n.csv", f"id,x\n{rows}"), write("e.csv", f"source,target\n{links}"), unknown_edges=unknown
    )
    assert graph.nodes == nodes
    assert graph.pairs[:, 0].tolist() == [0, 1]
    assert graph.node_names[2:] == ("3",) * (nodes - 2)


def test_added_nodes_of_a_table_without_features_get_one_of_their_own(write):
    graph = load_tables(write("n.csv", "id\na\nb\n"), write("e.csv", "source,target\na,b\nb,z\n"), unknown_edges="add")
    np.testing.assert_array_equal(graph.features, np.eye(3))


def test_a_blank_end_is_refused_even_if_unknown_ones_are_dropped(write):
    with pytest.raises(ValueError, match=r"line 2 of .*e\.csv has no id in column 'target'"):
        load_tables(write("n.csv", NODES), write("e.csv", "source,target\na,\n"), unknown_edges="drop")


@pytest.mark.parametrize(("ids", "ends"), [(["2299.0", "7.0"], ["7", "2299"]), (["2299", "7"], ["7.0", "2299.0"])])
def test_whole_numbers_with_and_without_a_point_name_the_same_nodes(ids, ends, write):
    nodes = write("n.csv", "id,x\n" + "".join(f"{one},{i}\n" for i, one in enumerate(ids)))
    graph = load_tables(nodes, write("e.csv", f"source,target\n{ends[0]},{ends[1]}\n"))
    assert graph.pairs.tolist() == [[0], [1]]
    assert graph.node_names == tuple(ids)


def test_an_id_that_is_written_in_another_way_is_named(write):
    nodes = write("n.csv", "id,x\n2299,1\nann,2\n")
    with pytest.raises(ValueError, match=r"unknown node '2299\.0' .*; the nodes have '2299': write ids the same way"):
        load_tables(nodes, write("e.csv", "source,target\nann,ann\n2299.0,ann\n"))
    with pytest.raises(ValueError, match=r"unknown node ' ann' .*; the nodes have 'ann': write ids the same way"):
        load_tables(nodes, write("e.csv", "source,target\n2299, ann\n"))


@pytest.mark.parametrize("name", ["id", "customer_id", "CustomerID", "client-id"])
def test_a_second_column_of_ids_is_no_feature(name, write):
    nodes = write("n.csv", f"name,{name},age\nann,11,20\nbob,12,30\ncy,13,20\n")
    options = TableOptions(id_column="name")
    read = read_tables(nodes, write("e.csv", "source,target\nann,bob\n"), options)
    assert read.encoding.feature_names == ("age",)
    assert read.left_out == {name: "a different id for every node"}


@pytest.mark.parametrize("column", ["paid,11,12,13", "city_id,1,1,2", "weight,11,12,13"])
def test_other_columns_of_different_numbers_are_features(column, write):
    name, *values = column.split(",")
    nodes = write(
        "n.csv", f"key,{name}\n" + "".join(f"{key},{value}\n" for key, value in zip("abc", values, strict=True))
    )
    assert read_tables(nodes, write("e.csv", "source,target\na,b\n")).encoding.feature_names == (name,)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("n.json", '[{"id": "a"}]', r"n\.json is a JSON file; .*pandas\.read_json"),
        ("n.jsonl", '{"id": "a"}\n{"id": "b"}\n', r"n\.jsonl is a JSON file"),
        ("n.csv", '  {"id": "a"}', r"n\.csv is a JSON file"),
        ("n.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", r"n\.xls is an old Excel file; save it as .xlsx or CSV"),
        ("n.csv", b"PK\x03\x04rest", r"n\.csv is a zip archive; unpack it first"),
    ],
)
def test_files_of_other_kinds_are_named(name, content, message, write):
    with pytest.raises(ValueError, match=message) as caught:
        load_tables(write(name, content), write("e.csv", "source,target\na,b\n"))
    assert "\n" not in str(caught.value)


@pytest.fixture
def excel(monkeypatch):
    """An openpyxl whose every workbook has one sheet with these rows."""

    def install(*rows):
        sheet = SimpleNamespace(iter_rows=lambda values_only: iter(rows))
        workbook = SimpleNamespace(worksheets=[sheet], close=lambda: None)
        monkeypatch.setitem(sys.modules, "openpyxl", SimpleNamespace(load_workbook=lambda path, **options: workbook))

    return install


def test_an_excel_file_is_read_where_openpyxl_is_installed(excel, write):
    excel(("id", "age", "code", None), (1, 20, "x", None), (2, 30.5, 7, None), (None, None, None, None))
    read = read_tables(write("n.xlsx", b"PK\x03\x04rest"), write("e.csv", "source,target\n1,2\n"))
    assert read.graph.node_names == ("1", "2")
    assert read.encoding.feature_names == ("age", "code=7", "code=x")


@pytest.mark.parametrize("rows", [[], [("id", "age")], [("id",), (1, 2)]], ids=["empty", "header", "ragged"])
def test_a_sheet_without_rows_or_with_ragged_ones_is_refused_in_one_line(rows, excel, write):
    excel(*rows)
    with pytest.raises(ValueError, match=r"^[^\n]*n\.xlsx (has no rows|is no Excel file with a table)[^\n]*$"):
        read_tables(write("n.xlsx", b"PK\x03\x04rest"), write("e.csv", "source,target\n1,2\n"))


def test_a_damaged_excel_file_is_refused_in_one_line(monkeypatch, write):
    def fail(path, **options):
        raise zipfile.BadZipFile("File is not\na zip file")

    monkeypatch.setitem(sys.modules, "openpyxl", SimpleNamespace(load_workbook=fail))
    with pytest.raises(ValueError, match=r"^[^\n]*n\.xlsx is no Excel file with a table \(BadZipFile: [^\n]*$"):
        load_tables(write("n.xlsx", b"PK\x03\x04rest"), write("e.csv", "source,target\n1,2\n"))


def test_an_excel_file_without_openpyxl_says_what_to_install(monkeypatch, write):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r"n\.xlsx is an Excel file; .*pip install openpyxl.* save it as CSV"):
        load_tables(write("n.xlsx", b"PK\x03\x04rest"), write("e.csv", "source,target\n1,2\n"))


@pytest.mark.parametrize(
    ("dates", "first", "second"),
    [
        ("day-first", "31.12.2020", "1.1.2021"),
        ("day-first", "31/12/2020", "01/01/2021"),
        ("month-first", "12/31/2020", "1/1/2021"),
    ],
)
def test_dates_that_do_not_begin_with_the_year_are_read_if_asked(dates, first, second, write):
    nodes, edges = write("n.csv", f"id,since\na,{first}\nb,{second}\nc,\n"), write("e.csv", "source,target\na,b\n")
    (column,) = read_tables(nodes, edges, TableOptions(dates=dates)).encoding.columns
    assert (column.kind, column.moments, column.missing) == ("number", True, True)
    assert column.scale == pytest.approx(0.5)  # two days in a row


def test_dates_in_another_order_are_explained(write):
    rows = "".join(f"n{i},{1 + i % 28}.12.2020\n" for i in range(40))
    notes = read_tables(write("n.csv", "id,since\n" + rows), write("e.csv", "source,target\nn1,n2\n")).notes
    assert any("write dates as 2020-01-31, or read them with --dates day-first" in note for note in notes)


def test_the_most_frequent_of_many_categories_are_kept(write, monkeypatch):
    monkeypatch.setattr("newtonnet.tables.encoding.MOST_CATEGORIES", 3)
    cities = ["A"] * 9 + ["B"] * 8 + ["C"] * 7 + ["D"] * 2 + ["E"]
    nodes = write("n.csv", "id,city\n" + "".join(f"{i},{city}\n" for i, city in enumerate(cities)))
    read = read_tables(nodes, write("e.csv", "source,target\n0,1\n"))
    assert read.encoding.feature_names == ("city=A", "city=B", "city=C")
    x = read.graph.features
    assert np.asarray((x.toarray() if sp.issparse(x) else x)[-3:]).sum() == 0
    message = (
        "Column 'city' has 5 different texts: the 3 most frequent (89% of the values) are categories, the others none."
    )
    assert message in read.notes


def test_a_rare_category_of_a_later_table_is_not_called_unseen(write, monkeypatch):
    monkeypatch.setattr("newtonnet.tables.encoding.MOST_CATEGORIES", 2)
    nodes, edges = write("n.csv", "id,city\n0,A\n1,A\n2,B\n3,B\n4,C\n"), write("e.csv", "source,target\n0,1\n")
    encoding = read_tables(nodes, edges).encoding
    assert read_tables(nodes, edges, encoding=encoding).notes == (
        "city: 1 unseen or rare value; encoded as no category",
    )


def test_a_long_list_of_names_is_left_out(write, monkeypatch):
    monkeypatch.setattr("newtonnet.tables.encoding.MOST_CATEGORIES", 30)
    nodes = write("n.csv", "id,name,age\n" + "".join(f"{i},person {i},{i % 3}\n" for i in range(40)))
    read = read_tables(nodes, write("e.csv", "source,target\n0,1\n"))
    assert read.encoding.feature_names == ("age",)
    assert read.left_out == {"name": "a name, 40 different texts"}


class Frame:
    """Any frame that speaks Arrow's stream interface, such as one of Polars, whose texts are views."""

    def __init__(self, table):
        self.table = table.cast(
            pa.schema([(f.name, pa.string_view() if f.type == pa.string() else f.type) for f in table.schema])
        )

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_any_frame_with_arrows_stream_interface_is_read():
    nodes = Frame(pa.table({"id": ["a", "b"], "age": [20, 30], "city": ["Bonn", "Aachen"]}))
    read = read_tables(nodes, Frame(pa.table({"source": ["a"], "target": ["b"]})))
    assert read.graph.node_names == ("a", "b")
    assert read.encoding.feature_names == ("age", "city=Aachen", "city=Bonn")


def test_categories_whose_texts_are_views_are_read_as_categories():
    """As Polars gives them; they are labels, features, and ids."""
    views = pa.array(["Aachen", "Bonn", "a", "b", "c", "no", "yes"], pa.string_view())

    def column(*codes):
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.uint32()), views)

    nodes = pa.table({"id": column(2, 3, 4), "city": column(1, 0, 1), "label": column(6, None, 5)})
    read = read_tables(nodes, pa.table({"source": column(2), "target": column(3)}), TableOptions(label_column="label"))
    assert read.graph.node_names == ("a", "b", "c")
    assert read.encoding.feature_names == ("city=Aachen", "city=Bonn")
    assert read.graph.class_names == ("no", "yes")
    assert read.graph.labels.tolist() == [1, -1, 0]


def test_a_stream_that_can_be_read_only_once_is_refused():
    reader = pa.table({"id": ["a"]}).to_reader()
    with pytest.raises(TypeError, match=r"can be read only once; give nodes\.read_all\(\)"):
        load_tables(reader, pa.table({"source": ["a"], "target": ["a"]}))


def test_a_networkx_graph_has_tables_with_a_column_for_each_attribute():
    people = nx.Graph()
    people.add_node("ann", age=20, city="Bonn", kind="x")
    people.add_node(7, age=30, city="Aachen", kind="y", mixed=1)
    people.add_node(("cy", 1), mixed="text", id="another")
    people.add_edge("ann", 7, weight=2.0)
    people.add_edge(7, ("cy", 1))
    read = read_tables(*networkx_tables(people), TableOptions(label_column="kind"))
    graph = read.graph
    assert graph.node_names == ("ann", "7", "('cy', 1)")
    assert graph.labels.tolist() == [0, 1, -1]
    assert graph.adjacency.max() == 2
    assert set(read.encoding.feature_names) >= {"age", "city=Bonn", "mixed=1", "mixed=text"}


def test_the_karate_club_is_two_tables():
    graph = load_tables(*networkx_tables(nx.karate_club_graph()), label_column="club")
    assert (graph.nodes, graph.edges, graph.class_names) == (34, 78, ("Mr. Hi", "Officer"))
    assert graph.features.shape == (34, 34)
    assert load_tables(*networkx_tables(nx.empty_graph(3))).edges == 0
