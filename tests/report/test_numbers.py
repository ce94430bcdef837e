"""The page of numbers: what its sentences and tables say."""

from dataclasses import replace

import numpy as np
import pytest

from newtonnet.graphs import from_edges
from newtonnet.report import headline, render_findings
from newtonnet.report.findings import GraphHomophily
from newtonnet.report.why import numbers_to_explain
from newtonnet.report.words import correlation_words, describe


def test_the_headline_compares_the_correlation_with_0_and_names_the_filter(priced):
    text = headline(priced)
    assert "Neighbours' numbers have a correlation of -0.41; 0 is expected by chance." in text
    assert "The graph is clearly heterophilous." in text
    assert "as expected for a heterophilous graph" in text


@pytest.mark.parametrize(
    ("measured", "edges", "words"),
    [
        (0.9, 1000, "strongly homophilous"),
        (0.1, 10_000, "slightly homophilous"),
        (-0.9, 1000, "strongly heterophilous"),
        (0.01, 10_000, "neither homophilous nor heterophilous"),
        (0.3, 10, "With 10 edges between known nodes, this may be chance."),
    ],
)
def test_the_words_follow_the_correlation_and_the_number_of_edges(measured, edges, words):
    assert words in correlation_words(GraphHomophily(measured, edges, None, 0.0))[1]


def test_without_known_neighbours_the_predicted_numbers_are_compared():
    text = correlation_words(GraphHomophily(None, 0, 0.5, None))[1]
    assert text.startswith("No edge joins two nodes with a known number; the predicted numbers of neighbours have")


def test_the_score_is_told_with_errors_in_the_targets_units(priced):
    score = describe(priced)[1]
    assert score.startswith("R² on held-out nodes is ")
    assert "clearly better than always predicting the mean (0%)" in score
    assert "is 3.200, that of always predicting the median 21.50; root mean squared error 4.100" in score


def test_rivals_that_ignore_the_edges_are_named_as_such(priced):
    compared = describe(priced)[2]
    assert "The edges help: 39.0 points better than an MLP, which ignores the edges" in compared
    assert "No clear difference from boosted trees on the features alone" in compared


def test_the_page_has_errors_residuals_and_intervals_and_nothing_of_classes(priced):
    page = render_findings(priced)
    for text in ("Residuals", "Held-out errors by the true price &lt;b&gt;€&lt;/b&gt;", "for 91.5%", "13.40 wide"):
        assert text in page
    for text in ("Confusion matrix", "prediction_set", "<b>€</b> known"):
        assert text not in page


def test_a_page_without_an_evaluation_still_names_the_target(priced):
    page = render_findings(replace(priced, evaluation=None))
    assert "The predictions were not evaluated" in page
    assert "neighbours&#x27; correlation" in page


def test_explained_numbers_are_wrong_surprising_or_of_all_sizes():
    graph = from_edges([[0, 1, 2, 3], [1, 2, 3, 4]], np.eye(6)).with_targets(np.array([1.0, 1, 1, 1, 9, np.nan]))
    chosen = dict(numbers_to_explain(graph, np.array([1.0, 1, 5, 1, 2, 3]), 3))
    assert chosen == {4: "far from its known number", 2: "unlike its neighbours", 0: "one of all sizes"}
