"""What notebooks show: small pictures, tables and figures, with every name escaped."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from newtonnet import NewtonNetClassifier
from newtonnet.drawing import filter_picture, filter_plot, label
from newtonnet.estimator import LearnedFilter
from newtonnet.explanations import Explanation
from newtonnet.graphs import from_edges, plot_graph
from newtonnet.graphs.plotting import nearest_nodes
from newtonnet.polynomials import equispaced, jacobi_filter, newton_filter

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def graph():
    names = [EVIL, *(f"n{i}" for i in range(1, 8))]
    ends = [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]]
    known = {"labels": [0, 1, -1, -1, 1, 0, -1, 1], "class_names": (EVIL, "b")}
    return from_edges(ends, np.eye(8), **known, node_names=names, name=EVIL)


@pytest.fixture
def explanation():
    return Explanation(
        node=0,
        classes=(1, 0),
        method="exact",
        total=1.0,
        bias=0.25,
        remainder=0.0,
        nodes=np.array([0, 1, 2]),
        contributions=np.array([0.5, 0.5, -0.25]),
        hops=np.array([0, 1, 2]),
        features=np.array([0.25, 0.25, 0.25]),
        inputs=("links",),
        bands={"low": 0.5, "high": 0.25},
        node_names=(EVIL, "n1", "n2"),
        class_names=(EVIL, "b"),
        feature_names=(EVIL, "age"),
    )


def texts(figure):
    """Every text of a figure."""
    return re.findall(r'"((?:[^"\\]|\\.)*)"', figure.to_json())


def curve(svg):
    """The points of the last path of a picture."""
    path = [part for part in ElementTree.fromstring(svg).iter() if part.tag.endswith("path")][-1].get("d")
    return np.array([[float(number) for number in pair.split(",")] for pair in path[1:].split(" L")])


def test_an_explanation_prints_in_a_few_lines_without_its_arrays(explanation):
    shown = repr(explanation)
    assert shown.startswith("Explanation(node=0, classes=(1, 0), method='exact', total=1.0")
    assert "array" not in shown


def test_a_filter_is_drawn_at_its_start_values_or_at_given_ones():
    g = newton_filter(equispaced(2))
    flat, steep = g.plot(), g.plot({"values": torch.tensor([0.0, 1.0, 2.0])})
    np.testing.assert_allclose(flat.data[-2].y, 1)
    np.testing.assert_allclose(steep.data[-2].y, steep.data[-2].x, atol=1e-6)
    assert tuple(steep.data[-1].x) == (0, 1, 2)
    np.testing.assert_allclose(steep.data[-1].y, [0, 1, 2], atol=1e-6)


def test_a_filter_with_channels_has_a_thin_line_for_each_and_their_mean():
    figure = jacobi_filter(2, channels=3).plot()
    assert len(figure.data) == 3 + 2
    np.testing.assert_allclose(figure.data[3].y, np.mean([one.y for one in figure.data[:3]], axis=0))


def test_the_small_picture_rises_where_the_filter_rises():
    x, y = curve(filter_picture([0.0, 1.0, 2.0], [[0.0, 1.0, 2.0]], alternative="")).T
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) < 0).all(), "the axis of a picture points down"
    assert ElementTree.fromstring(newton_filter()._repr_html_()).get("aria-label").startswith("filter newton")


def test_a_learned_filter_is_drawn_scaled():
    grid = np.linspace(0, 2, 41)
    learned = LearnedFilter(np.array([0.0, 2.0]), np.array([[0.0, 4.0], [0.0, 2.0]]), grid, np.array([2 * grid, grid]))
    figure = learned.plot()
    np.testing.assert_allclose(figure.data[-2].y, grid / 2)
    np.testing.assert_allclose(figure.data[-1].y, [0, 1])
    assert (
        len([part for part in ElementTree.fromstring(learned._repr_html_()).iter() if part.tag.endswith("path")]) == 3
    )


def test_a_graph_shows_its_counts_and_classes(graph):
    shown = graph._repr_html_()
    assert "<td>8</td>" in shown
    assert "b 3" in shown
    assert EVIL not in shown
    assert ElementTree.fromstring(shown).find("caption").text == EVIL


def test_a_drawing_of_a_graph_has_every_edge_and_a_colour_for_each_class(graph):
    figure = graph.plot()
    assert np.isnan(np.array(figure.data[0].x, dtype=float)).sum() == 2 * graph.edges, "a gap after every stored edge"
    assert sorted(len(trace.x) for trace in figure.data[1:]) == [2, 3, 3]
    assert len({trace.marker.color for trace in figure.data[1:]}) == 3


def test_of_a_large_graph_the_nearest_nodes_are_drawn(graph):
    figure = plot_graph(graph, "n3", most=3)
    assert sorted(text for trace in figure.data[1:] for text in trace.text) == ["n2", "n3", "n4"]
    assert "3 of 8 nodes, around n3" in figure.layout.title.text
    assert nearest_nodes(graph, 7, 5).tolist() == [7], "an isolated node reaches nobody"
    with pytest.raises(ValueError, match="no node is called 'x'"):
        graph.plot("x")
    with pytest.raises(ValueError, match=r"node 8 is not in the graph, whose nodes are 0\.\.7"):
        graph.plot(8)


def test_an_explanation_shows_its_strongest_parts_and_the_sum_of_the_others(explanation):
    figure = explanation.plot(top=1)
    bars = {trace.name: dict(zip(trace.y[1], trace.x, strict=True)) for trace in figure.data}
    assert bars["frequencies"] == {"low ": 0.5, "high ": 0.25}
    assert bars["features"] == {f"{label(EVIL, 28)} ": 0.25, "all others ": 0.5}
    assert bars["nodes"] == {f"{label(EVIL, 28)} ": 0.5, "all others ": 0.25}
    shown = explanation._repr_html_()
    assert "age" in shown
    assert "links" in shown
    assert "b rather than" in shown


def test_an_explanation_of_a_number_shows_the_number(explanation):
    shown = replace(explanation, classes=(0, None), class_names=("price",), total=1234.5)._repr_html_()
    assert "1234" in shown
    assert "rather than" not in shown


def test_no_name_becomes_markup(graph, explanation):
    for figure in (graph.plot(), explanation.plot()):
        assert not [text for text in texts(figure) if "<img" in text]
    for shown in (graph._repr_html_(), explanation._repr_html_()):
        assert "<img" not in shown


def test_an_estimator_shows_the_diagram_of_scikit_learn():
    assert "sk-" in NewtonNetClassifier(time_limit=5)._repr_html_()


def test_one_response_has_no_thin_lines():
    assert len(filter_plot([0, 2], [[0, 1]]).data) == 2
