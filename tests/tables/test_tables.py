import gzip
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import newtonnet
from newtonnet.tables import Columns, TableOptions, column_names, find_columns, load_tables, read_tables
from newtonnet.tables.encoding import Encoding

NODES = """id,age,flag,colour,label
ann,20,1,red,cat
bob,30,0,blue,dog
cy,,1,,
dee,40,0,red,cat
"""
EDGES = """source,target,weight
ann,bob,2
bob,ann,1
bob,cy,0.5
cy,cy,1
"""
COLUMNS = Columns(id="id", label="label", source="source", target="target", weight="weight")
UNLABELLED = replace(COLUMNS, label=None)


@pytest.fixture
def write(tmp_path):
    """Write a file and give its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def nodes(write):
    return write("people.csv", NODES)


@pytest.fixture
def edges(write):
    return write("links.csv", EDGES)


def test_two_csv_files_make_a_graph(nodes, edges):
    graph = load_tables(nodes, edges, label_column="label")
    assert graph.name == "people"
    assert graph.node_names == ("ann", "bob", "cy", "dee")
    assert graph.class_names == ("cat", "dog")
    assert graph.labels.tolist() == [0, 1, -1, 0]
    assert graph.pairs.tolist() == [[0, 1], [1, 2]]


def test_columns_become_features_by_their_kind(nodes, edges):
    read = read_tables(nodes, edges, columns=COLUMNS)
    graph, encoding = read.graph, read.encoding
    assert encoding.feature_names == (*("age", "age missing", "flag", "colour=blue", "colour=red", "colour missing"),)
    deviation = np.std([20, 30, 40])
    expected = [
        [-10 / deviation, 0, 1, 0, 1, 0],
        [0, 0, 0, 1, 0, 0],
        [0, 1, 1, 0, 0, 1],
        [10 / deviation, 0, 0, 0, 1, 0],
    ]
    x = graph.features.toarray() if sp.issparse(graph.features) else graph.features
    np.testing.assert_allclose(x, expected, rtol=1e-6)


def test_weights_are_read_and_the_larger_direction_counts(nodes, edges):
    expected = [[0, 2, 0], [2, 0, 0.5], [0, 0.5, 0]]
    for named in ("weight", None):  # the usual name needs no naming
        graph = load_tables(nodes, edges, label_column="label", weight_column=named)
        assert graph.adjacency.toarray()[:3, :3].tolist() == expected


def test_without_a_column_of_weights_they_are_all_one(nodes, write):
    graph = load_tables(nodes, write("e.csv", "source,target,cost\nann,bob,7\n"))
    assert graph.adjacency.data.tolist() == [1, 1]


def test_weights_can_be_left_unread(nodes, edges):
    graph = read_tables(nodes, edges, columns=replace(COLUMNS, weight=None)).graph
    assert graph.adjacency.data.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("part", ["id", "label", "source", "target", "weight"])
def test_columns_that_are_not_there_are_refused(part, nodes, edges):
    with pytest.raises(ValueError, match=r"\.csv has no column 'gone'; found: "):
        read_tables(nodes, edges, columns=replace(COLUMNS, **{part: "gone"}))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_that_gave_no_feature_is_named_with_what_it_holds(ending, edges, tmp_path):
    nothing, one = "no value at all", "one value only"
    columns = {"id": ["ann", "bob", "cy"], "age": [1.0, 2.0, 4.0], "blank": [None] * 3, "same": ["x"] * 3}
    if ending == "csv":
        rows = tmp_path / "n.csv"
        rows.write_text("id,age,blank,same\nann,1,,x\nbob,2,NA,x\ncy,4,,x\n")
        expected = {"blank": nothing, "same": one}
    else:
        rows = pa.table({**columns, "nan": [float("nan")] * 3, "none": ["", "NA", None], "three": [3.0] * 3})
        expected = {"blank": nothing, "same": one, "nan": nothing, "none": nothing, "three": one}
    read = read_tables(rows, edges, columns=UNLABELLED)
    assert read.left_out == expected
    assert read_tables(rows, edges, columns=UNLABELLED, encoding=read.encoding).left_out == {}


def test_a_message_about_a_wide_table_names_a_few_columns(edges, write):
    header = ",".join(["id", *(f"x{i}" for i in range(500))])
    rows = write("n.csv", f"{header}\n{','.join(['ann'] + ['1'] * 500)}\n")
    with pytest.raises(ValueError, match=r"no column 'y'; found: id, x0, .*, x8 and 491 more$"):
        load_tables(rows, edges, label_column="y")
    with pytest.raises(ValueError, match=r"no column 'hue'; found: id, x0, .*, x8 and 491 more$"):
        load_tables(rows, edges, ignore=["hue"])


def test_a_column_of_ends_is_no_column_of_weights(write):
    graph = load_tables(write("n.csv", "id,x\n1,5\n2,6\n"), write("e.csv", "a,weight\n1,2\n"))
    assert graph.adjacency.data.tolist() == [1, 1]


def test_the_largest_of_many_weights_of_a_pair_counts(rng):
    n, m = 30, 2000
    ends, weights = rng.integers(0, n, (2, m)), rng.integers(0, 9, m) / 4
    table = pa.table({"source": ends[0], "target": ends[1], "weight": weights})
    rows = pa.table({"id": np.arange(n), "x": rng.normal(size=n)})
    for directed in (False, True):
        expected = np.zeros((n, n))
        for a, b, w in zip(*ends, weights, strict=True):
            if a != b:
                expected[a, b] = max(expected[a, b], w)
        if not directed:
            expected = np.maximum(expected, expected.T)
        graph = load_tables(rows, table, directed=directed)
        np.testing.assert_array_equal(graph.adjacency.toarray(), expected)
        assert graph.adjacency.has_canonical_format
        assert (graph.adjacency.data > 0).all()


def test_blanks_around_a_label_do_not_count(edges, write):
    rows = "id,x,y\nann,1, cat\nbob,2,cat \ncy,3,   \ndee,4,dog\neve,5, NA \n"
    graph = load_tables(write("n.csv", rows), edges, label_column="y")
    assert graph.class_names == ("cat", "dog")
    assert graph.labels.tolist() == [0, 0, -1, 1, -1]


def test_a_learned_column_without_any_value_is_missing_everywhere(nodes, edges, write):
    encoding = read_tables(nodes, edges, columns=COLUMNS).encoding
    rows = write("new.csv", "id,age,flag,colour\nann,,1,red\nbob,,0,blue\ncy,,,\ndee,,0,red\n")
    graph = read_tables(rows, edges, columns=UNLABELLED, encoding=encoding).graph
    x = graph.features.toarray() if sp.issparse(graph.features) else graph.features
    assert x[:, :2].tolist() == [[0, 1]] * 4  # the mean, and the feature that says so


def test_edges_stay_one_way_if_asked(nodes, edges):
    graph = load_tables(nodes, edges, label_column="label", directed=True)
    assert graph.directed
    assert graph.edges == 3


def test_parquet_and_frames_and_gzip_give_the_same_graph_as_csv(nodes, edges, write, tmp_path):
    import pyarrow.csv as pacsv

    expected = load_tables(nodes, edges, label_column="label").checksum
    pq.write_table(pacsv.read_csv(nodes), tmp_path / "people.parquet")
    pq.write_table(pacsv.read_csv(edges), tmp_path / "links.parquet")
    zipped = write("people.csv.gz", gzip.compress(NODES.encode()))
    for rows, links in (
        (tmp_path / "people.parquet", tmp_path / "links.parquet"),
        (str(zipped), str(edges)),
        (pacsv.read_csv(nodes), pacsv.read_csv(edges)),
    ):
        graph = load_tables(rows, links, label_column="label")
        assert graph.checksum == expected
        assert graph.node_names == ("ann", "bob", "cy", "dee")


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_are_found_from_the_header(delimiter, nodes, edges, write):
    expected = load_tables(nodes, edges, label_column="label").checksum
    other = (write(f"{i}.csv", text.replace(",", delimiter)) for i, text in enumerate((NODES, EDGES)))
    assert load_tables(*other, label_column="label").checksum == expected


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(nodes, edges, write):
    other = write("windows.csv", b"\xef\xbb\xbf" + NODES.replace("\n", "\r\n").encode())
    assert (
        load_tables(other, edges, label_column="label").checksum
        == load_tables(nodes, edges, label_column="label").checksum
    )


def test_columns_can_be_named(write):
    rows = write("n.csv", "kind,name,size\na,x,1\nb,y,2\n")
    links = write("e.csv", "when,from,to\n2020,x,y\n")
    graph = load_tables(rows, links, id_column="name", label_column="kind", from_column="from", to_column="to")
    assert graph.node_names == ("x", "y")
    assert graph.edges == 1
    assert graph.features.shape == (2, 1)


def test_without_the_usual_names_the_first_columns_are_the_ids(write):
    graph = load_tables(write("n.csv", "who,size\nx,1\ny,2\n"), write("e.csv", "a,b\ny,x\n"))
    assert graph.node_names == ("x", "y")
    assert graph.edges == 1
    assert graph.classes == 0


def test_ids_stay_text_whatever_they_look_like(write):
    rows = write("n.csv", "id,size\n007,1\n7,2\nNA,3\n1.0,4\n")
    graph = load_tables(rows, write("e.csv", "source,target\n007,7\nNA,1.0\n"))
    assert graph.node_names == ("007", "7", "NA", "1.0")
    assert graph.pairs.T.tolist() == [[0, 1], [2, 3]]


def test_whole_numbers_and_text_can_name_the_same_nodes(tmp_path):
    pq.write_table(pa.table({"id": [10, 20, 30], "x": [0.5, 1.5, 4.0]}), tmp_path / "n.parquet")
    for ends in (
        ["10", "30"],
        [10.0, 30.0],
        pa.array([10, 30], pa.uint16()),
        pa.array(["10", "30"]).dictionary_encode(),
    ):
        pq.write_table(pa.table({"source": ends, "target": [20, 20]}), tmp_path / "e.parquet")
        assert load_tables(tmp_path / "n.parquet", tmp_path / "e.parquet").pairs.T.tolist() == [[0, 1], [1, 2]]


def test_classes_that_are_numbers_are_sorted_as_numbers(write):
    rows = write("n.csv", "id,x,y\na,1,10\nb,2,2\nc,3,\nd,4,10\n")
    graph = load_tables(rows, write("e.csv", "source,target\na,b\n"), label_column="y")
    assert graph.class_names == ("2", "10")
    assert graph.labels.tolist() == [1, 0, -1, 1]


def test_labels_with_gaps_that_became_floats_are_whole_again(tmp_path):
    table = pa.table({"id": ["a", "b", "c"], "x": [1, 2, 4], "y": [3.0, float("nan"), 1.0]})
    graph = load_tables(table, pa.table({"source": ["a"], "target": ["b"]}), label_column="y")
    assert graph.class_names == ("1", "3")
    assert graph.labels.tolist() == [1, -1, 0]


def test_nodes_without_features_get_one_each(write):
    graph = load_tables(write("n.csv", "id\na\nb\nc\n"), write("e.csv", "source,target\na,b\n"))
    np.testing.assert_array_equal(graph.features, np.eye(3))


def test_an_empty_table_of_edges_is_a_graph_without_edges(write):
    assert load_tables(write("n.csv", "id,x\na,1\nb,2\n"), write("e.csv", "source,target\n")).edges == 0


def test_another_encoding_is_read_where_it_is_named(write, edges):
    rows = write("n.csv", "id,town\nann,Orléans\nbob,Rome\ncy,Rome\n".encode("latin-1"))
    read = read_tables(rows, edges, TableOptions(text_encoding="latin-1"), columns=UNLABELLED)
    assert read.encoding.feature_names == ("town=Orléans", "town=Rome")
    assert read.graph.nodes == 3


def test_a_learned_encoding_serves_another_table(nodes, edges, write):
    first = read_tables(nodes, edges, columns=COLUMNS)
    kept = Encoding.from_json(first.encoding.to_json())
    assert kept == first.encoding
    rows = write("new.csv", "id,label,colour,age,flag\nann,dog,green,30,1\nbob,,red,50,0\ncy,cat,,,1\n")
    read = read_tables(rows, edges, columns=COLUMNS, encoding=kept, class_names=first.graph.class_names)
    assert read.encoding is kept
    again = read.graph
    assert again.labels.tolist() == [1, -1, 0]
    x = again.features.toarray() if sp.issparse(again.features) else again.features
    deviation = np.std([20, 30, 40])
    expected = [[0, 0, 1, 0, 0, 0], [20 / deviation, 0, 0, 0, 1, 0], [0, 1, 1, 0, 0, 1]]
    np.testing.assert_allclose(x, expected, rtol=1e-6)


def test_a_class_that_was_not_learned_is_refused(nodes, edges):
    with pytest.raises(ValueError, match=r"line 3 of .*people.csv has the unknown class 'dog'; known: cat, cow"):
        read_tables(nodes, edges, columns=COLUMNS, class_names=["cat", "cow"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("id,x,y\na,1,p\nb,2,q\na,3,p\n", r"line 4 of .*n\.csv repeats the id 'a' of line 2"),
        ("id,x,y\na,1,p\n,2,q\n", r"line 3 of .*n\.csv has no id in column 'id'"),
        ("id,x\na,1\nb,2\n", r"n\.csv has no column 'y'; found: id, x"),
        ("id,x,y\na,1,p\nb,2,p\n", r"column 'y' of .*n\.csv has only the class 'p'; at least 2"),
        ("id,x,y\na,1,\nb,2,NA\n", r"column 'y' of .*n\.csv has no label at all"),
        ("id,x,y\na,1,p\nb,2\n", r"line 3 of .*n\.csv has 2 fields, but the header has 3: b,2"),
        ("id,x,y\na,1,p\nb,2,q,r\n", r"line 3 of .*n\.csv has 4 fields, but the header has 3: b,2,q,r"),
        ("", r"n\.csv is empty"),
        ("\n\n", r"n\.csv must start with a header line"),
        ("id,x,y\n", r"n\.csv has no rows"),
        ("id,x,x,y\na,1,2,p\n", r"n\.csv has two columns 'x'"),
        ("id,x,y\na,1,p\n\nb,inf,q\n", r"line 4 of .*n\.csv holds an infinite number in column 'x'"),
        ("id,x,y", r"n\.csv has no rows"),
        ("id,x,y\n\n\n", r"n\.csv has no rows"),
        ("id,x,y\n\na,1,p\n\n\nb,2,q\na,3,p\n", r"line 7 of .*n\.csv repeats the id 'a' of line 3"),
        ('id,x,y\na,"1\n\n2",p\nb,2,q\nb,3,p\n', r"line 6 of .*n\.csv repeats the id 'b' of line 5"),
        ('id,"x\nx",y\na,1,p\n,2,q\n', r"line 4 of .*n\.csv has no id in column 'id'"),
        ("id,x,y\r\ra,1,p\rb,2\r", r"line 4 of .*n\.csv has 2 fields, but the header has 3: b,2"),
        ('id,x,y\na,"1\n2",p\n\nb,2\n', r"line 5 of .*n\.csv has 2 fields"),
        ('id,x,y\na,1,p\nb,2,"q\nc,3,p\n', r"line 3 of .*n\.csv opens a quotation mark that is never closed"),
        ('id,x,y\n"a",1,p\n"b,2,q\nc,3,p\n', r"line 3 of .*n\.csv opens a quotation mark that is never closed"),
        ("id,x,é\na,1,p\nb,2,q\n".encode("latin-1"), r"line 1 of .*n\.csv is not utf-8; .*--text-encoding latin-1"),
        (
            "id,x,y\na,1,p\nb,2,q\n".encode("utf-16"),
            r"n\.csv is utf-16 text, not utf-8; read it with --text-encoding utf-16 \(text_encoding='utf-16'",
        ),
        ("id,x,y\na,1,p\nb,2,q\n".encode("utf-32"), r"n\.csv is utf-32 text, not utf-8"),
        ("id,x,y\na,1,p\nb,2,q\n".encode("utf-16-le"), r"n\.csv contains zero bytes, so it is not utf-8 text"),
        (
            "id,x,y\na,1,p\nb,é,q\n".encode("latin-1"),
            r"line 3 of .*n\.csv is not utf-8; read it with --text-encoding latin-1 ",
        ),
        ("id,x,y\nà,1,p\nb,2,q\n".encode("latin-1"), r"line 2 of .*n\.csv is not utf-8"),
        (b"id,x,y\na,1,p\nb,2,q\nzo\xc3", r"line 4 of .*n\.csv is not utf-8"),  # cut inside a character
        (b"PAR1 not really", r"n\.csv is not a Parquet file"),
        (bytes(range(256)), r"n\.csv is not a text table; expected CSV or Parquet"),
        ("id|x|y\na|1|p\n", r"n\.csv: only one column found; is '\|' the separator\?"),
        ("id,x,y\na,1,p\n\t,2,q\n", r"line 3 of .*n\.csv has no id in column 'id'"),
        ("id;x;y\na;1;0,8\nb;2;0,25\nc;3;1\n", r"column 'y' of .*n\.csv holds numbers such as 0,25, not classes"),
        ("id,x,y\na,1,0.8031\nb,2,0.25\nc,3,\n", r"column 'y' of .*n\.csv holds numbers such as 0\.25, not classes"),
    ],
)
def test_a_mistake_in_the_nodes_is_one_clear_line(rows, message, write):
    links = write("e.csv", "source,target\na,b\n")
    with pytest.raises(ValueError, match=message) as caught:
        load_tables(write("n.csv", rows), links, label_column="y")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ("source,target,w\na,b,1\na,z,1\n", r"line 3 of .*e\.csv names the unknown node 'z' in column 'target'"),
        ("source,target,w\nz,b,1\n", r"line 2 of .*e\.csv names the unknown node 'z' in column 'source'"),
        ("source,target,w\na,,1\n", r"line 2 of .*e\.csv has no id in column 'target'"),
        ("source,target,w\na,b,1\nb,a,-1\n", r"line 3 of .*e\.csv has the weight -1"),
        ("source,target,w\na,b,1\nb,a,\n", r"line 3 of .*e\.csv has no weight"),
        ("source,target,w\na,b,heavy\n", r"column 'w' of .*e\.csv must hold numbers, got string"),
        ('source,target,w\na,b,"1,250"\n', r"column 'w' of .*e\.csv must hold numbers, got string"),
        ("source,target\na,b\n", r"e\.csv has no column 'w'; found: source, target"),
        ("source\na\n", r"e\.csv has one column only \('source'\); edges need two"),
        ("target,w\na,1\n", r"source and target are both 'target'"),
        ("source,target,w\na\n", r"line 2 of .*e\.csv has 1 fields"),
        ("", r"e\.csv is empty"),
    ],
)
def test_a_mistake_in_the_edges_is_one_clear_line(links, message, write):
    rows = write("n.csv", "id,x\na,1\nb,2\n")
    with pytest.raises(ValueError, match=message) as caught:
        load_tables(rows, write("e.csv", links), weight_column="w")
    assert "\n" not in str(caught.value)


def test_rows_of_parquet_are_counted_from_one(tmp_path):
    pq.write_table(pa.table({"id": [5, 6, 5], "x": [1.0, 2.0, 3.0]}), tmp_path / "n.parquet")
    pq.write_table(pa.table({"source": [5], "target": [7]}), tmp_path / "e.parquet")
    with pytest.raises(ValueError, match=r"row 3 of .*n\.parquet repeats the id 5 of row 1"):
        load_tables(tmp_path / "n.parquet", tmp_path / "e.parquet")
    pq.write_table(pa.table({"id": [5, 6], "x": [1.0, 2.0]}), tmp_path / "n.parquet")
    with pytest.raises(ValueError, match=r"row 1 of .*e\.parquet names the unknown node 7 in column 'target'"):
        load_tables(tmp_path / "n.parquet", tmp_path / "e.parquet")


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            "id",
            [1.0, 1.5, 3.0],
            r"row 2 of the table of nodes has the id 1\.5 in column 'id'; ids must be whole numbers or text",
        ),
        ("id", [1.0, 2.0, float("inf")], "row 3 of the table of nodes has the id inf"),
        ("id", [1.0, 1e300, 3.0], r"row 2 of the table of nodes has the id 1e\+300"),
        ("id", [[1], [2], [3]], "column 'id' of the table of nodes holds list<.*>; ids must be whole numbers or text"),
        ("y", [1.0, 2.0, float("inf")], "row 3 of the table of nodes has an infinite label in column 'y'"),
        ("y", [[1], [2], [3]], "column 'y' holds list<.*>, which is neither text nor numbers"),
        ("y", [{"a": 1}, {"a": 2}, {"a": 3}], "column 'y' holds struct<.*>, which is neither"),
        ("x", [{"a": 1}, {"a": 2}, {"a": 3}], "column 'x' holds struct<.*>, which is neither text nor numbers"),
        ("x", [b"\xff", b"a", b"b"], "column 'x' holds binary, which is neither"),
        ("x", [["a"], ["b"], ["c"]], "column 'x' holds list<.*>; lists must be of numbers"),
        ("x", [[1.0], [float("inf")], [2.0]], "row 2 of the table of nodes holds an infinite number in column 'x'"),
        ("x", [[1.0, 2.0], [1.0, None], [2.0, 3.0]], "row 2 of the table of nodes lacks a number in column 'x'"),
        ("x", [1.0, float("-inf"), 2.0], "row 2 of the table of nodes holds an infinite number in column 'x'"),
    ],
)
def test_a_column_of_the_wrong_kind_is_one_clear_line(column, values, message):
    columns = {"id": [1, 2, 3], "x": [1.5, 2.5, 4.5], "y": ["p", "q", "p"]}
    with pytest.raises(ValueError, match=message) as caught:
        load_tables(pa.table({**columns, column: values}), pa.table({"source": [1], "target": [2]}), label_column="y")
    assert "\n" not in str(caught.value)


def test_ends_of_the_wrong_kind_are_one_clear_line():
    rows = pa.table({"id": [1, 2], "x": [1.5, 2.5]})
    with pytest.raises(ValueError, match=r"column 'target' of the table of edges holds list<.*>; ids must be"):
        load_tables(rows, pa.table({"source": [1], "target": [[2]]}))
    with pytest.raises(ValueError, match=r"row 2 of the table of edges has the id 2\.5 in column 'target'"):
        load_tables(rows, pa.table({"source": [1, 1], "target": [2.0, 2.5]}))


def test_texts_among_broken_numbers_are_classes(write, edges):
    rows = write("n.csv", "id,y\nann,0.5\nbob,high\ncy,0.5\ndee,\n")
    assert load_tables(rows, edges, label_column="y").class_names == ("0.5", "high")


def test_rows_of_edges_that_became_none_are_counted(write):
    rows = write("n.csv", "id,x\na,1\nb,2\nc,3\n")
    links = write("e.csv", "source,target\na,b\nb,a\na,b\nb,c\nc,c\n")
    notes = read_tables(rows, links, columns=replace(UNLABELLED, weight=None)).notes
    assert notes == (
        "5 rows of edges became 2 edges: 1 self-loop was dropped and 2 duplicates were merged; "
        "edge directions are ignored.",
    )


def test_a_colon_in_the_name_of_a_single_column_is_no_separator(write):
    rows = write("n.csv", "osm:id\n17\n18\n")
    assert load_tables(rows, write("e.csv", "source,target\n17,18\n")).node_names == ("17", "18")


def test_labels_beyond_whole_numbers_are_texts():
    rows = pa.table({"id": [1, 2, 3], "x": [1.5, 2.5, 4.5], "y": [2.0, 1e300, None]})
    graph = load_tables(rows, pa.table({"source": [1], "target": [2]}), label_column="y")
    assert graph.class_names == ("2", "1e+300")
    assert graph.labels.tolist() == [0, 1, -1]


def test_unsigned_ids_beyond_the_signed_ones_are_kept():
    ids = pa.array([1, 2**63 + 1], pa.uint64())
    graph = load_tables(pa.table({"id": ids, "x": [1, 2]}), pa.table({"source": ids[:1], "target": ids[1:]}))
    assert graph.node_names == ("1", str(2**63 + 1))
    assert graph.edges == 1


def test_utf_16_is_read_if_it_is_named(nodes, edges, write):
    expected = load_tables(nodes, edges, label_column="label").checksum
    rows, links = (write(f"{i}.csv", text.encode("utf-16")) for i, text in enumerate((NODES, EDGES)))
    assert load_tables(rows, links, label_column="label", text_encoding="utf-16").checksum == expected
    with pytest.raises(ValueError, match=r"links\.csv is not utf-16 text"):
        load_tables(rows, edges, label_column="label", text_encoding="utf-16")


def test_a_quotation_mark_inside_a_value_is_a_letter(edges, write):
    rows = 'id,disk\nann,5" floppy\nbob,"3"" floppy"\ncy,none\ndee,none\n'
    encoding = read_tables(write("n.csv", rows), edges, columns=UNLABELLED).encoding
    assert encoding.feature_names == ('disk=3" floppy', 'disk=5" floppy', "disk=none")


def test_edges_with_a_header_alone_are_no_edges(nodes, write):
    assert load_tables(nodes, write("e.csv", "source,target")).edges == 0


def test_a_line_that_cannot_be_found_is_given_as_a_row(edges, write):
    long = "x" * 200_000  # beyond what Python's csv takes as one value
    with pytest.raises(ValueError, match=r"row 3 of .*n\.csv repeats the id 'a' of line 2"):
        load_tables(write("n.csv", f"id,x\na,1\nb,{long}\na,2\n"), edges)


@pytest.mark.parametrize(("ids", "first"), [("abc", "a,b"), ("123", "1,2")])
def test_edges_without_a_header_are_refused(write, ids, first):
    nodes = write("n.csv", "id,x\n" + "".join(f"{name},{place}\n" for place, name in enumerate(ids)))
    links = write("e.csv", f"{first}\n{ids[1]},{ids[2]}\n")
    with pytest.raises(ValueError, match=r"e\.csv seems to have no header: its first line names the nodes"):
        load_tables(nodes, links)
    whole = write("e.csv", f"source,target\n{first}\n{ids[1]},{ids[2]}\n")
    assert load_tables(nodes, whole).edges == 2


def test_columns_that_are_numbered_are_no_missing_header(write):
    nodes = pa.table({"id": [0, 1, 2], "x": [1.0, 2.0, 4.0]})
    assert load_tables(nodes, pa.table({"0": [0, 1], "1": [1, 2]})).edges == 2
    with pytest.raises(ValueError, match="seems to have no header"):
        load_tables(nodes, write("e.csv", "0,1\n1,2\n"))
    with pytest.raises(ValueError, match="names the unknown node '7'"):
        load_tables(nodes, write("e.csv", f"{10**30},1\n7,2\n"))


def test_a_message_on_an_unknown_end_says_where_ids_are(write):
    nodes, links = write("n.csv", "name,key,x\nann,007,1\nbob,8,2\n"), write("e.csv", "source,target\n7,8\n")
    with pytest.raises(
        ValueError, match=r"unknown node '7' .* expected an id from column 'name' of the nodes, such as 'ann'"
    ):
        load_tables(nodes, links)


def test_columns_of_edges_that_are_not_used_are_reported(write, nodes):
    links = write("e.csv", "edge,Source,Target,Weight,since\n1,ann,bob,2,1999\n")
    read = read_tables(nodes, links, TableOptions(label_column="label"))
    assert "Edges join 'Source' and 'Target' with weights in 'Weight'; columns not used: edge, since." in read.notes
    assert read.graph.adjacency.max() == 2


@pytest.mark.parametrize("value", ["1e300", "-1e31"])
def test_a_number_that_is_too_large_is_refused_with_its_place(write, edges, value):
    rows = write("n.csv", f"id,x\nann,1\nbob,2\ncy,{value}\ndee,\n")
    with pytest.raises(ValueError, match=r"line 4 of .*n\.csv holds -?1e\+3\d+ in column 'x', which is beyond ±1e\+30"):
        load_tables(rows, edges)


@pytest.mark.parametrize("header", ["", "Unnamed: 0"])
def test_a_column_without_a_name_is_no_feature(write, edges, header):
    rows = write("n.csv", f"{header},id,x\n0,ann,1\n1,bob,2\n2,cy,4\n3,dee,5\n")
    read = read_tables(rows, edges, columns=UNLABELLED)
    assert read.encoding.feature_names == ("x",)
    assert f"{header or repr(header)} (has no name)" in read.read_as


@pytest.mark.parametrize("header", ["", "Unnamed: 0"])
def test_row_numbers_are_not_taken_for_ids(write, edges, header):
    """As pandas writes a frame with its index."""
    rows = write("n.csv", f"{header},customer,x\n0,ann,1\n1,bob,2\n2,cy,4\n3,dee,5\n")
    with pytest.raises(ValueError, match=r"first column of .*n\.csv has no name .*choose one with --id-column"):
        load_tables(rows, edges)
    assert load_tables(rows, edges, id_column="customer").node_names[0] == "ann"
    links = write("e.csv", f"{header},buyer,seller\n0,ann,bob\n1,bob,cy\n")
    with pytest.raises(ValueError, match=r"first column of .*e\.csv has no name .*--from-column"):
        load_tables(write("m.csv", "id,x\nann,1\nbob,2\ncy,3\n"), links)


def test_decimal_commas_are_read_here_and_in_a_later_table(write):
    rows = write("n.csv", "id;pay;rate\nann;1.250,5;7\nbob;-3,25;1,5\ncy;;2\ndee;12;3\n")
    links = write("e.csv", "source;target;weight\nann;bob;1,25\nbob;cy;2\n")
    read = read_tables(rows, links)
    points = write("p.csv", "id,pay,rate\nann,1250.5,7\nbob,-3.25,1.5\ncy,,2\ndee,12,3\n")
    same = read_tables(points, links)
    assert read.encoding == same.encoding
    assert np.array_equal(read.graph.features, same.graph.features)
    assert read.graph.adjacency[0, 1] == 1.25
    later = write("m.csv", "id;pay;rate\nann;1,250;7\nbob;2,500;1\ncy;;2\ndee;12;3\n")  # thousandths, as is known
    found = read_tables(later, links, encoding=read.encoding)
    mean, scale = read.encoding.columns[0].mean, read.encoding.columns[0].scale
    assert found.graph.features[0, 0] == pytest.approx((1.25 - mean) / scale, abs=1e-6)


@pytest.mark.parametrize("values", ["1,234 7 8 9", "1,5 2.5 3 4", "1,5 x 3 4"])
def test_commas_that_may_mean_another_thing_stay_texts(write, edges, values):
    cells = zip(["ann", "bob", "cy", "dee"], values.split(), strict=True)
    rows = write("n.csv", "id;x\n" + "".join(f"{name};{value}\n" for name, value in cells))
    assert read_tables(rows, edges, columns=UNLABELLED).encoding.columns[0].kind == "category"


def test_labels_that_differ_in_case_only_are_warned_about(write, edges):
    rows = write("n.csv", "id,x,label\nann,1,yes\nbob,2,YES\ncy,4,no\ndee,5,\n")
    read = read_tables(rows, edges, TableOptions(label_column="label"))
    assert "The labels 'YES' and 'yes' differ only in case and are treated as different classes." in read.notes


@pytest.mark.parametrize(("last", "warned"), [("", True), ("7", False)])
def test_a_column_that_is_filled_where_the_label_is_known_is_warned_about(write, edges, last, warned):
    rows = write("n.csv", f"id,x,paid,label\nann,1,3,a\nbob,2,4,b\ncy,4,4,b\ndee,5,{last},\n")
    read = read_tables(rows, edges, TableOptions(label_column="label"))
    notes = [note for note in read.notes if "leak the label" in note]
    assert [note.startswith("Column 'paid' has a value exactly where") for note in notes] == [True] * warned


def test_categories_stay_text_whatever_they_look_like(write, edges):
    learned = write("n.csv", "id,code,sure\nann,01,True\nbob,02,False\ncy,A1,maybe\ndee,1,True\n")
    read = read_tables(learned, edges, columns=UNLABELLED)
    later = write("m.csv", "id,code,sure\nann,01,True\nbob,02,False\ncy,02,True\ndee,1,False\n")
    again = read_tables(later, edges, columns=UNLABELLED, encoding=read.encoding)
    assert again.notes == ()
    assert np.asarray(again.graph.features.sum(axis=1)).tolist() == [2, 2, 2, 2]
    codes = write("c.csv", "id,zip\nann,01\nbob,1\ncy,2\ndee,2\n")
    asked = read_tables(codes, edges, TableOptions(categorical=["zip"]), columns=UNLABELLED)
    assert asked.encoding.columns[0].categories == ("01", "1", "2")


@pytest.mark.parametrize(
    ("learned", "later", "message"),
    [
        (
            ["2020-01-31", "2021-02-01"],
            ["7", "8"],
            "'x' held dates or times during fitting, but holds int64 now",
        ),
        (["2020-01-31", "2021-02-01"], ["01.02.2020", "b"], "but holds string now; write dates as 2020-01-31"),
        (["7", "8.5"], ["2020-01-31", "2021-02-01"], "'x' held numbers during fitting, but holds dates or times now"),
    ],
)
def test_dates_and_numbers_are_not_taken_for_each_other(write, edges, learned, later, message):
    def table(name, values):
        return write(
            name, "id,x\n" + "".join(f"{who},{value}\n" for who, value in zip(PEOPLE, values * 2, strict=True))
        )

    encoding = read_tables(table("n.csv", learned), edges, columns=UNLABELLED).encoding
    again = Encoding.from_json(encoding.to_json())
    assert read_tables(table("m.csv", learned), edges, columns=UNLABELLED, encoding=again).notes == ()
    with pytest.raises(ValueError, match=message):
        read_tables(table("m.csv", later), edges, columns=UNLABELLED, encoding=again)


def test_blanks_that_fitting_did_not_have_are_reported(write, edges):
    rows = "id,age,flag\nann,1,0\nbob,2,1\ncy,3,0\ndee,6,1\n"
    encoding = read_tables(write("n.csv", rows), edges, columns=UNLABELLED).encoding
    later = write("m.csv", "id,age,flag\nann,,0\nbob,,\ncy,3,0\ndee,6,1\n")
    notes = read_tables(later, edges, columns=UNLABELLED, encoding=encoding).notes
    assert notes == (
        "age: 2 missing values, none seen during fitting; filled with 3",
        "flag: 1 missing value, none seen during fitting; filled with 0",
    )


PEOPLE = ("ann", "bob", "cy", "dee")


def test_words_for_nothing_among_labels_are_reported_and_so_is_minus_one(write, edges):
    rows = write("n.csv", "id,label\nann,EU\nbob,NA\ncy,AS\ndee,NA\n")
    assert "The label 'NA' is treated as missing (2 times)." in read_tables(rows, edges, columns=COLUMNS).notes
    rows = write("n.csv", "id,label\nann,-1\nbob,0\ncy,1\ndee,\n")
    assert any(
        note.startswith("The label -1 is treated as a class")
        for note in read_tables(rows, edges, columns=COLUMNS).notes
    )
    rows = write("n.csv", "id,label\nann,a\nbob,b\ncy,\ndee,\n")
    assert not any("label" in note.lower() for note in read_tables(rows, edges, columns=COLUMNS).notes)


def test_a_missing_file_is_named(nodes, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*gone\.csv"):
        load_tables(nodes, tmp_path / "gone.csv")


def test_a_column_to_ignore_must_be_there(nodes, edges):
    with pytest.raises(
        ValueError, match=r"no column 'colur'; did you mean 'colour'\? found: id, age, flag, colour, label"
    ):
        load_tables(nodes, edges, ignore=["colur"])


def test_ignored_columns_are_no_features(nodes, edges):
    encoding = read_tables(nodes, edges, TableOptions(ignore=["age", "colour"]), columns=COLUMNS).encoding
    assert encoding.feature_names == ("flag",)


@pytest.mark.parametrize("name", ["klingon", "hex", "rot13"])
def test_an_unknown_text_encoding_is_refused(name, nodes, edges):
    with pytest.raises(ValueError, match=f"unknown text encoding '{name}'"):
        load_tables(nodes, edges, text_encoding=name)


def test_something_else_than_a_table_is_refused(edges):
    with pytest.raises(TypeError, match="the nodes must be a path, a pyarrow table or a pandas frame, got int"):
        load_tables(3, edges)


def test_many_nodes_take_less_than_a_minute_for_a_million(tmp_path, rng):
    n, m = 30_000, 300_000
    ids = pa.array([f"user-{i}" for i in rng.permutation(n)])
    columns = {"id": ids, "age": rng.normal(size=n), "country": pa.array(rng.choice(["a", "b", "c"], n))}
    pq.write_table(pa.table(columns), tmp_path / "n.parquet")
    ends = {side: ids.take(pa.array(rng.integers(0, n, m))) for side in ("source", "target")}
    pq.write_table(pa.table(ends), tmp_path / "e.parquet")
    start = time.process_time()
    graph = load_tables(tmp_path / "n.parquet", tmp_path / "e.parquet")
    assert time.process_time() - start < 1.8, "a million nodes and ten million edges must take less than a minute"
    assert graph.nodes == n
    # Independent count: different unordered pairs without loops.
    position = {name: i for i, name in enumerate(ids.to_pylist())}
    a, b = (np.array([position[name] for name in ends[side].to_pylist()]) for side in ("source", "target"))
    assert graph.edges == len(np.unique((np.minimum(a, b) * n + np.maximum(a, b))[a != b]))


def test_an_index_of_pandas_that_has_a_name_is_a_column(nodes, edges):
    pd = pytest.importorskip("pandas")
    frame, links = pd.read_csv(nodes, dtype={"id": str}), pd.read_csv(edges)
    expected = load_tables(frame, links, label_column="label")
    by_index = load_tables(frame.set_index("id"), links.set_index(["source", "target"]), label_column="label")
    assert by_index.checksum == expected.checksum
    assert by_index.node_names == expected.node_names
    weighted = load_tables(frame, links.assign(weight=2.0).set_index("weight"), label_column="label")
    assert weighted.node_names == expected.node_names
    assert set(weighted.adjacency.data.tolist()) == {2.0}
    aside = links.set_index("target")
    assert load_tables(frame, aside, label_column="label").checksum == expected.checksum


@pytest.mark.parametrize("name", [None, "row", "index", 0])
def test_an_index_that_merely_counts_rows_is_no_column(nodes, edges, name):
    pd = pytest.importorskip("pandas")
    frame, links = pd.read_csv(nodes, dtype={"id": str}), pd.read_csv(edges)
    expected = load_tables(frame, links, label_column="label")
    counted = frame.rename_axis(index=name)
    assert load_tables(counted, links.rename_axis(index=name), label_column="label").checksum == expected.checksum
    backwards = counted.set_index(counted.index[::-1])  # the ids have a column of their own
    assert load_tables(backwards, links, label_column="label").checksum == expected.checksum
    without = counted.rename(columns={"id": "node"})
    assert load_tables(without, links, label_column="label").checksum == expected.checksum


PEOPLE = ("ann", "bob", "cy", "dee")


def test_a_header_of_any_length_is_read(edges, write):
    header = ",".join(["id", *(f"{'feature' * 10}_{i}" for i in range(1000)), "label"])
    assert len(header) > 1 << 16
    rows = [",".join([name, *(str(i * j) for j in range(1, 1001)), "xy"[i % 2]]) for i, name in enumerate(PEOPLE)]
    graph = load_tables(write("wide.csv", "\n".join([header, *rows])), edges, label_column="label")
    assert graph.features.shape == (4, 1000)
    assert graph.class_names == ("x", "y")


def test_a_row_longer_than_a_block_is_read(edges, write):
    rows = [f"{name},{name * (1 << 20)},{name[0]}" for name in PEOPLE]
    graph = load_tables(write("essays.csv", "\n".join(["id,essay,label", *rows])), edges, label_column="label")
    assert graph.features.shape == (4, 4)


def test_a_delimiter_inside_quoted_names_is_a_letter(edges, write):
    rows = [f"{name};{i};{name[0]}" for i, name in enumerate(PEOPLE)]
    nodes = write("sizes.csv", "\n".join(['id;"size, in cm, rounded, mean";label', *rows]))
    assert load_tables(nodes, edges, label_column="label").class_names == ("a", "b", "c", "d")


def test_a_first_line_that_is_no_header_is_one_clear_line(edges, write):
    with pytest.raises(ValueError, match=r"the header of .* cannot be read"):
        load_tables(write("nodes.csv", "x" * (1 << 18) + "\na\n"), edges)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_words_that_count_as_unknown_labels_are_reported(kind):
    nodes = pa.table({"id": [*"abcd"], "label": pa.array(["x", "NA", "y", "NA"], kind)})
    links = pa.table({"source": ["a"], "target": ["b"]})
    reading = read_tables(nodes, links, TableOptions(label_column="label"))
    assert "The label 'NA' is treated as missing (2 times)." in reading.notes


def test_dates_are_the_same_whatever_they_are_stored_as(write, tmp_path):
    days = ["2020-01-31", "", "2021-05-01", "2020-12-24"]
    frame = pa.table({"id": [*"abcd"], "joined": days, "label": [*"xyxy"]})
    links = pa.table({"source": ["a"], "target": ["b"]})
    rows = [f"{key},{day},{label}" for key, day, label in zip("abcd", days, "xyxy", strict=True)]
    csv = load_tables(write("n.csv", "\n".join(["id,joined,label", *rows])), links, label_column="label")
    pq.write_table(frame, tmp_path / "n.parquet")
    for nodes in (frame, frame.to_pandas(), tmp_path / "n.parquet"):
        np.testing.assert_array_equal(load_tables(nodes, links, label_column="label").features, csv.features)
    kept = read_tables(frame, links, TableOptions(label_column="label", categorical=["joined"]))
    assert kept.graph.features.shape == (4, 4)  # three days and a gap


def test_edges_with_a_header_of_weights_alone_are_no_edges(nodes, write):
    assert load_tables(nodes, write("none.csv", "source,target,weight\n")).edges == 0


def test_a_note_says_which_weight_of_a_pair_counts(nodes, write):
    links = write("twice.csv", "source,target,weight\nann,bob,5\nbob,ann,2\n")
    reading = read_tables(nodes, links)
    assert any("1 duplicate was merged (the largest weight counts)" in note for note in reading.notes)


def test_a_weight_beyond_single_precision_is_refused_with_the_limit(nodes, write):
    with pytest.raises(ValueError, match=r"line 2 of .* has the weight 1e\+300; weights must be at most 3.4e38"):
        load_tables(nodes, write("huge.csv", "source,target,weight\nann,bob,1e300\n"))


def test_classes_that_look_like_none_are_reported():
    nodes = pa.table({"id": [*"abcd"], "label": ["x", "Unknown", "y", "Unknown"]})
    links = pa.table({"source": ["a"], "target": ["b"]})
    reading = read_tables(nodes, links, TableOptions(label_column="label"))
    assert any(note.startswith("The label 'Unknown' is treated as a class") for note in reading.notes)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "nodes.csv").write_text("kind;name;size\nx;a;1\ny;b;2\n")
    table = pa.table({"to": ["a"], "weight": [1.0], "source": ["b"]})
    pq.write_table(table, tmp_path / "edges.parquet")
    return tmp_path / "nodes.csv", tmp_path / "edges.parquet"


def test_columns_have_their_usual_names_or_places(files):
    found = find_columns(*files, TableOptions(id_column="name", label_column="kind", to_column="to"))
    assert found == Columns(id="name", label="kind", source="source", target="to", weight="weight")
    assert find_columns(*files, TableOptions(to_column="weight")) == Columns(
        "kind", None, "source", "weight", None, ("to",)
    )


def test_usual_names_may_be_written_in_any_case():
    rows = pa.table({"Kind": ["x"], "ID": ["a"]})
    links = pa.table({"Type": ["u"], "Source": ["a"], "Target": ["b"], "Weight": [1.0]})
    assert find_columns(rows, links) == Columns("ID", None, "Source", "Target", "Weight", ("Type",))
    twice = pa.table({"source": ["a"], "target": ["b"], "Weight": [1.0], "WEIGHT": [1.0]})
    assert find_columns(rows, twice).weight is None


def test_all_columns_of_a_file_are_read_from_its_header(files):
    assert [column_names(file) for file in files] == [("kind", "name", "size"), ("to", "weight", "source")]


def test_tables_in_memory_have_columns_too():
    rows = pa.table({"id": ["a", "b"], "kind": ["x", "y"]})
    found = find_columns(rows, pa.table({"source": ["a"], "target": ["b"]}), TableOptions(label_column="kind"))
    assert found == Columns(id="id", label="kind", source="source", target="target", weight=None)


def test_a_column_that_is_not_there_is_refused(files):
    with pytest.raises(ValueError, match=r"nodes\.csv has no column 'key'; found: kind, name, size"):
        find_columns(*files, TableOptions(id_column="key", to_column="to"))
    with pytest.raises(ValueError, match=r"nodes\.csv has no column 'class'"):
        find_columns(*files, TableOptions(label_column="class", to_column="to"))
    with pytest.raises(ValueError, match=r"edges\.parquet has no column 'from'"):
        find_columns(*files, TableOptions(from_column="from"))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        find_columns("nowhere.csv", files[1])


def test_options_take_lists_of_columns_but_no_single_text():
    assert TableOptions(ignore=["a", "b"]).ignore == ("a", "b")
    with pytest.raises(TypeError, match=r"categorical must be a list of columns, got the text 'zip'; write \['zip'\]"):
        TableOptions(categorical="zip")


def test_single_fields_change_the_options_of_a_graph(nodes, edges):
    graph = load_tables(nodes, edges, TableOptions(ignore=["age"]), label_column="label", name="mine")
    same = load_tables(nodes, edges, TableOptions(ignore=["age"], label_column="label"))
    assert graph.name == "mine"
    assert graph.checksum == same.checksum != load_tables(nodes, edges, label_column="label").checksum
    with pytest.raises(TypeError, match="labels"):
        load_tables(nodes, edges, labels="label")


def test_given_columns_are_used_exactly(nodes, edges):
    read = read_tables(nodes, edges, TableOptions(label_column="label"))
    assert read.columns == COLUMNS
    assert read.graph.weighted
    unweighted = read_tables(nodes, edges, columns=replace(read.columns, weight=None))
    assert not unweighted.graph.weighted


def test_options_load_neither_pyarrow_nor_torch():
    """The package above is replaced, so that only this door is measured."""
    code = f"""
import sys, types
top = sys.modules["newtonnet"] = types.ModuleType("newtonnet")
top.__path__ = {list(newtonnet.__path__)!r}
from newtonnet.tables import TableOptions
print(sorted({{"pandas", "pyarrow", "torch"}} & set(sys.modules)))
from newtonnet.tables import read_tables
print(sorted({{"pyarrow"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n['pyarrow']\n"


def test_a_later_text_among_zeros_and_ones_is_reported_with_its_line(write, edges):
    encoding = read_tables(write("n.csv", "id,flag\nann,0\nbob,1\ncy,0\n"), edges, columns=UNLABELLED).encoding
    later = write("m.csv", "id,flag\nann,0\nbob,yes\ncy,0\n")
    with pytest.raises(ValueError, match=r"line 3 of .*m\.csv holds 'yes' in column 'flag', which must hold numbers"):
        read_tables(later, edges, columns=UNLABELLED, encoding=encoding)
