from dataclasses import replace

import numpy as np
import pytest

from newtonnet.report import ModelScores, headline
from newtonnet.report.findings import filter_kind, filter_shape
from newtonnet.report.words import comparison_words, describe, score_words

GRID = np.linspace(0, 2, 41)
CURVES = {
    "low": (1 - GRID / 2) ** 2,
    "high": (GRID / 2) ** 2,
    "middle": 1 - (GRID - 1) ** 2,
    "ends": (GRID - 1) ** 2,
    "flat": 1 - 0.05 * GRID,
    "even": 0.6 + 0.4 * np.cos(6 * np.pi * GRID),
}


def with_filter(findings, kind, count=10):
    rows = [(scale * CURVES[kind]).tolist() for scale in range(1, count + 1)]
    frequencies = GRID.tolist()
    return replace(
        findings,
        response=replace(findings.response, frequencies=frequencies, responses=rows, points=(), values=[]),
    )


def with_homophily(findings, measured, chance, edges=5000, learned=None):
    homophily = replace(findings.homophily, measured=measured, chance=chance, labelled_edges=edges, learned=learned)
    return replace(findings, homophily=homophily)


@pytest.mark.parametrize(
    ("measured", "chance", "words"),
    [
        (0.81, 0.18, "strongly homophilous"),
        (0.50, 0.20, "clearly homophilous"),
        (0.23, 0.20, "slightly homophilous"),
        (0.205, 0.20, "neither homophilous nor heterophilous"),
        (0.17, 0.20, "slightly heterophilous"),
        (0.11, 0.244, "clearly heterophilous"),
        (0.03, 0.50, "strongly heterophilous"),
    ],
)
def test_homophily_is_compared_with_chance_for_these_classes(findings, measured, chance, words):
    assert f"The graph is {words}." in headline(with_homophily(findings, measured, chance))


def test_the_headline_states_both_shares_and_what_the_filter_keeps(findings):
    text = headline(with_filter(with_homophily(findings, 0.23, 0.2), "high"))
    assert text.startswith(
        "Neighbours share a label 23% of the time; 20% is expected by chance. The graph is slightly homophilous."
    )
    assert "The learned filter keeps high frequencies" in text
    assert "unusual for a homophilous graph (this one is only slightly so); see the comparison with the MLP" in text


def test_shares_that_round_alike_get_a_decimal(findings):
    assert "20.4% of the time; 20.0% is expected by chance" in headline(with_homophily(findings, 0.204, 0.2))


def test_few_edges_cannot_show_a_small_difference(findings):
    text = headline(with_homophily(findings, 0.23, 0.2, edges=40))
    assert "With 40 edges between labelled nodes, the difference may be chance." in text
    assert "The graph is" not in text
    assert "slightly homophilous" in headline(with_homophily(findings, 0.23, 0.2, edges=40_000))


def test_without_an_edge_between_labels_the_learned_homophily_speaks(findings):
    text = headline(with_homophily(findings, None, None, edges=0, learned=0.7))
    assert "No edge joins two labelled nodes" in text
    assert "according to the model's predictions, neighbours share a label 70% of the time" in text
    assert "20% is expected by chance among classes of equal size. The graph is clearly homophilous." in text


def test_without_any_homophily_nothing_is_claimed(findings):
    text = headline(with_homophily(findings, None, float("nan"), edges=0))
    assert text.startswith("Homophily is unknown")
    assert "philous" not in text
    assert "expected" not in text


@pytest.mark.parametrize("kind", CURVES)
def test_the_kind_of_a_filter_does_not_depend_on_scale_or_sign(kind):
    assert filter_kind(GRID, CURVES[kind]) == kind
    assert filter_kind(GRID, 1e-3 * CURVES[kind]) == kind


@pytest.mark.parametrize(
    ("measured", "kind", "verdict"),
    [
        (0.8, "low", "keeps low frequencies, as expected for a homophilous graph."),
        (0.05, "high", "keeps high frequencies, as expected for a heterophilous graph."),
        (0.8, "high", "keeps high frequencies, which is unusual for a homophilous graph; see the comparison"),
        (0.05, "low", "keeps low frequencies, which is unusual for a heterophilous graph; see the comparison"),
        (0.8, "middle", "suppresses low and high ones, which is unusual for a homophilous"),
        (0.05, "ends", "for a heterophilous graph, only the high ones are expected"),
        (0.8, "flat", "leaves the features unchanged, which is unusual for a homophilous graph"),
        (0.2, "flat", "leaves the features unchanged, as expected when neighbours share labels only by chance"),
        (0.2, "low", "although neighbours share labels only by chance; see the comparison with the MLP"),
        (0.05, "even", "keeps all three bands about equally"),
    ],
)
def test_the_filter_is_compared_with_what_the_homophily_suggests(findings, measured, kind, verdict):
    assert verdict in headline(with_filter(with_homophily(findings, measured, 0.2), kind))


def test_without_an_mlp_no_comparison_with_it_is_pointed_at(findings):
    alone = replace(with_filter(with_homophily(findings, 0.8, 0.2), "high"), evaluation=None)
    assert "see the comparison" not in headline(alone)
    assert "compare with an MLP to see whether the edges help" in headline(alone)


def test_splits_that_disagree_with_their_mean_are_counted(findings):
    mixed = with_filter(findings, "high")
    rows = [*mixed.response.responses[:8], CURVES["low"].tolist(), CURVES["low"].tolist()]
    mixed = replace(mixed, response=replace(mixed.response, responses=rows))
    assert "keeps high frequencies (in 8 of 10 splits)" in headline(mixed)


def test_every_split_counts_alike_however_large_its_response(findings):
    rows = [(1000 * CURVES["low"]).tolist(), CURVES["high"].tolist(), CURVES["high"].tolist()]
    response = replace(with_filter(findings, "low").response, responses=rows)
    shape = filter_shape(response)
    np.testing.assert_allclose(shape.mean, (CURVES["low"] + 2 * CURVES["high"]) / 3)
    assert shape.kind == "high"


def test_a_split_that_failed_is_left_out(findings):
    response = with_filter(findings, "low", count=2).response
    broken = replace(response, responses=[response.responses[0], [float("nan")] * 41])
    np.testing.assert_allclose(filter_shape(broken).mean, CURVES["low"])
    assert filter_shape(replace(response, responses=[[float("nan")] * 41])) is None


def test_a_model_without_a_filter_says_so(findings):
    members = [replace(findings.ensemble[0], model="gcn", drawn=False)]
    assert "This model has no spectral filter" in headline(replace(findings, response=None, ensemble=members))


def test_a_deep_stack_is_not_called_a_model_without_a_filter(findings):
    stacked = replace(findings, response=None, ensemble=[replace(findings.ensemble[1], weight=1.0)])
    text = headline(stacked)
    assert "The best model is a deep stack of filters, which has no single response to draw." in text
    assert "no spectral filter" not in text


def ours_of(findings, low, mean, high):
    ours = replace(findings.evaluation.ours, mean=mean, interval=(low, high))
    return replace(findings.evaluation, ours=ours, majority=0.4)


@pytest.mark.parametrize(
    ("low", "mean", "high", "words"),
    [
        (0.5, 0.6, 0.7, "clearly better than always predicting the largest class (40.0%)"),
        (0.35, 0.45, 0.55, "not clearly better than always predicting"),
        (0.1, 0.2, 0.3, "%), worse than always predicting"),
        (float("nan"), 0.9, float("nan"), "Accuracy on held-out nodes is 90.0%, not clearly better than"),
    ],
)
def test_the_score_is_compared_with_guessing_by_its_interval(findings, low, mean, high, words):
    assert words in score_words(ours_of(findings, low, mean, high), "accuracy")


def test_roc_auc_is_compared_with_one_half(findings):
    text = score_words(replace(ours_of(findings, 0.55, 0.6, 0.65), majority=0.9), "roc_auc")
    assert "ROC-AUC on held-out nodes is 60.0% (95% interval 55.0% to 65.0%), clearly better than random" in text
    assert "guessing (50.0%)" in text


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (
            (0.0105, 0.0001, 0.0209),
            "The edges help: 1.1 points better than an MLP, which ignores the edges (95% interval",
        ),
        ((0.0102, -0.0001, 0.0205), "No clear difference from an MLP, which ignores the edges: +1.0 points"),
        ((-0.0105, -0.0209, -0.0001), "The edges do harm: 1.1 points worse"),
        ((0.0, 0.0, 0.0), "These nodes cannot show whether the model is better than an MLP"),
        (None, "These nodes cannot show whether the model is better than an MLP"),
    ],
)
def test_a_difference_counts_only_when_its_interval_leaves_out_zero(ahead, words):
    assert words in comparison_words(ModelScores("mlp", [0.5], 0.5, (0.0, 1.0), 1.0, ahead))


@pytest.mark.parametrize(("sign", "which"), [(1, "Better"), (-1, "Worse")])
def test_a_difference_from_a_rival_is_said_once(sign, which):
    ahead = (0.0105, 0.0001, 0.0209) if sign > 0 else (-0.0105, -0.0209, -0.0001)
    text = comparison_words(ModelScores("tuned-gcn", [0.5], 0.5, (0.0, 1.0), 1.0, ahead))
    assert text.startswith(f"{which} than a tuned residual GCN by 1.1 points (95% interval ")


def test_without_an_evaluation_only_the_headline_is_left(findings):
    assert len(describe(findings)) == 4
    assert describe(replace(findings, evaluation=None)) == [headline(replace(findings, evaluation=None))]


def test_without_edges_nothing_is_said_of_a_filter_or_of_structure(findings):
    bare = replace(with_homophily(findings, None, None, edges=0), data=replace(findings.data, edges=0))
    *others, last = describe(bare)
    assert last.startswith("The graph has no edges, so the model is an MLP on the features")
    assert "filter" not in last
    assert len(others) == 2
    assert not any(word in text for text in others for word in ("smooth", "edges"))


def test_a_filter_that_had_no_time_is_not_interpreted(findings):
    text = headline(replace(findings, cut_at=12))
    assert "The filter was trained too briefly to be interpreted (12 epochs at most); allow more time with" in text
    assert "keeps" not in text
