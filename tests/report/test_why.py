"""Which nodes are explained, what is drawn of their neighbourhoods, and a page that no name can break."""

import json
import re

import numpy as np
import pytest

from newtonnet.explanations import explain
from newtonnet.graphs import from_edges
from newtonnet.nn import Options, build
from newtonnet.report.why import FURTHEST, GROUPS, explained_node, nodes_to_explain, render_why, why_section

HOSTILE = ("<script>alert(1)</script>", "</script><!--", '"><img src=x onerror=alert(1)>')


@pytest.fixture(scope="module")
def tree():
    """A path of nine nodes from 0 to 8, with leaves 9 and 10 at 1 and 11 at 2."""
    ends = [[*range(8), 1, 1, 2], [*range(1, 9), 9, 10, 11]]
    rng = np.random.default_rng(0)
    labels = np.array([0, 1, 2] * 4)
    labels[5:] = -1
    names = [HOSTILE[1] if i == 3 else f"C-{i}" for i in range(12)]
    graph = from_edges(ends, rng.normal(size=(12, 4)), labels=labels, class_names=HOSTILE, node_names=names)
    return graph, build("newtonnet", graph, Options(hidden=8))


def told(tree, node):
    graph, model = tree
    shares = np.full((12, 3), 1 / 3)
    (explanation,) = explain(model, graph, [node], [(0, 1)])
    return explanation, explained_node(explanation, graph, shares, feature_names=[HOSTILE[2], "b", "c", "d"])


def test_a_drawing_has_the_node_in_the_middle_and_every_other_node_linked_towards_it(tree):
    graph, _ = tree
    _, node = told(tree, 0)
    rows = node["drawing"]["nodes"]
    assert rows[0][0] == "C-0"
    assert rows[0][5:7] == [0.0, 0.0]
    places = {row[0]: i for i, row in enumerate(rows)}
    numbers = {name: i for i, name in enumerate(graph.node_names)}
    for name, _, _, hops, _, x, y, parent in rows[1:]:
        assert 0 < hops <= FURTHEST
        assert rows[parent][3] == hops - 1
        assert graph.adjacency[numbers[name], numbers[rows[parent][0]]]
        assert 0 < np.hypot(x, y) <= 1.01
    assert {tuple(sorted((places["C-1"], places["C-9"])))} <= {tuple(pair) for pair in node["drawing"]["links"]}


def test_contributions_in_the_drawing_are_those_of_the_explanation(tree):
    explanation, node = told(tree, 2)
    graph, _ = tree
    drawn = {row[0]: row[4] for row in node["drawing"]["nodes"]}
    near = explanation.hops <= FURTHEST
    assert len(drawn) == near.sum() < len(near)
    for j, value in zip(explanation.nodes[near], explanation.contributions[near], strict=True):
        assert drawn[graph.node_names[j]] == pytest.approx(value, abs=1e-5)


def test_known_labels_and_predicted_classes_are_told_apart(tree):
    _, node = told(tree, 4)
    known = {row[0]: row[2] for row in node["drawing"]["nodes"]}
    assert known["C-4"]
    assert not known["C-5"]
    assert node["label"] == HOSTILE[1]


def test_uncertain_surprising_and_typical_nodes_are_chosen(rng):
    """In a ring of 30 nodes of class 0, node 7 is sure to be of class 1 and node 20 is undecided."""
    nodes = np.arange(30)
    graph = from_edges([nodes, (nodes + 1) % 30], np.eye(30), labels=[0] * 29 + [1])
    shares = np.tile([0.9, 0.1], (30, 1)) + np.linspace(0, 0.01, 30)[:, None] * [1, -1]
    shares[7], shares[20] = (0.05, 0.95), (0.51, 0.49)
    chosen = dict(nodes_to_explain(graph, shares, 9))
    assert len(chosen) == 9
    assert chosen[20] == GROUPS[0]
    assert chosen[7] == GROUPS[1]
    assert chosen[29] == GROUPS[2]


@pytest.mark.parametrize("most", [1, 5, 300])
def test_no_more_nodes_than_asked_or_there_are(tree, most, rng):
    graph, _ = tree
    chosen = nodes_to_explain(graph, rng.dirichlet([1, 1, 1], 12), most)
    assert len(chosen) == len(dict(chosen)) == min(most, 12)


@pytest.mark.parametrize("classes", [1, 3])
def test_nodes_that_only_the_edges_name_are_not_chosen(tree, classes, rng):
    graph, _ = tree
    chosen = nodes_to_explain(graph, rng.dirichlet([1] * 3, 12)[:, :classes], 12, own=4)
    assert sorted(dict(chosen)) == [0, 1, 2, 3]


def test_one_node_is_not_called_nodes(tree):
    _, node = told(tree, 0)
    assert "This node is explained for its most" in why_section([node], HOSTILE)
    assert "Each of these 2 nodes is explained for its most" in why_section([node, node], HOSTILE)


def test_the_page_holds_its_data_and_no_name_becomes_markup(tree):
    _, node = told(tree, 0)
    page = render_why(HOSTILE[0], [node], HOSTILE, version="<i>")
    data = json.loads(re.search(r'id="why-data">(.*?)</script>', page, re.DOTALL).group(1))
    assert data["nodes"][0]["node"] == "C-0"
    assert data["classes"] == list(HOSTILE)
    for name in HOSTILE:
        assert name not in page
    assert len(page) < 60_000  # no plotly


def test_explanations_that_are_too_much_for_a_page_are_thinned_out(tree, monkeypatch):
    _, node = told(tree, 0)
    monkeypatch.setattr("newtonnet.report.why.LARGEST", 8 * len(json.dumps(node)))
    page = why_section([node | {"node": str(i)} for i in range(40)], HOSTILE)
    data = json.loads(re.search(r'id="why-data">(.*?)</script>', page, re.DOTALL).group(1))
    assert [one["node"] for one in data["nodes"]] == ["0", "8", "16", "24", "32"]
    assert "5 nodes" in " ".join(page.split())
    assert why_section([], HOSTILE) == "<p>No prediction was explained.</p>"
