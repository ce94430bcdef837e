from dataclasses import replace

import numpy as np
import pytest

from newtonnet.report import Scores
from newtonnet.report.filter_shape import filter_kind, filter_shape
from newtonnet.report.words import comparison_rule, comparison_words, describe, headline, score_words

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


def with_agreement(findings, known, chance, edges=5000, learned=None):
    agreement = replace(findings.agreement, known=known, chance=chance, known_edges=edges, learned=learned)
    return replace(findings, agreement=agreement)


@pytest.mark.parametrize(
    ("known", "chance", "words"),
    [
        (0.81, 0.18, "strongly homophilous"),
        (0.50, 0.20, "clearly homophilous"),
        (0.23, 0.20, "slightly homophilous"),
        (0.205, 0.20, "about chance"),
        (0.17, 0.20, "slightly heterophilous"),
        (0.11, 0.244, "clearly heterophilous"),
        (0.03, 0.50, "strongly heterophilous"),
    ],
)
def test_agreement_is_judged_against_chance_for_these_classes(findings, known, chance, words):
    assert f": {words}." in headline(with_agreement(findings, known, chance))


def test_the_headline_states_both_shares_and_what_the_filter_keeps(findings):
    text = headline(with_filter(with_agreement(findings, 0.23, 0.2), "high"))
    assert text.startswith("Neighbours share a label 23% of the time; chance here is 20%: slightly homophilous.")
    assert "The learned filter keeps high frequencies" in text
    assert "unusual for a homophilous graph, though it is only slightly so; look at the comparison with the MLP" in text


def test_shares_that_round_alike_get_a_decimal(findings):
    assert "20.4% of the time; chance here is 20.0%" in headline(with_agreement(findings, 0.204, 0.2))


def test_few_edges_cannot_show_a_small_difference(findings):
    text = headline(with_agreement(findings, 0.23, 0.2, edges=40))
    assert "too few edges to tell it from chance (40 edges between labelled nodes)" in text
    assert "no more than by chance" not in text
    assert "slightly homophilous" in headline(with_agreement(findings, 0.23, 0.2, edges=40_000))


def test_without_an_edge_between_labels_the_learned_homophily_speaks(findings):
    text = headline(with_agreement(findings, None, None, edges=0, learned=0.7))
    assert "No edge joins two labelled nodes" in text
    assert "by the model's own predictions neighbours share a label 70% of the time" in text
    assert "chance among classes of equal size is 20%: clearly homophilous" in text


def test_without_any_homophily_nothing_is_claimed(findings):
    text = headline(with_agreement(findings, None, float("nan"), edges=0))
    assert text.startswith("How often neighbours share a label is not known")
    assert "philous" not in text
    assert "expects" not in text


@pytest.mark.parametrize("kind", CURVES)
def test_the_kind_of_a_filter_does_not_depend_on_scale_or_sign(kind):
    assert filter_kind(GRID, CURVES[kind]) == kind
    assert filter_kind(GRID, 1e-3 * CURVES[kind]) == kind


@pytest.mark.parametrize(
    ("known", "kind", "verdict"),
    [
        (0.8, "low", "keeps low frequencies, and that is what one expects here"),
        (0.05, "high", "keeps high frequencies, and that is what one expects here"),
        (0.8, "high", "keeps high frequencies, which is unusual for a homophilous graph; look at the comparison"),
        (0.05, "low", "keeps low frequencies, which is unusual for a heterophilous graph; look at the comparison"),
        (0.8, "middle", "keeps the middle frequencies and suppresses both ends, which is unusual for a homophilous"),
        (0.05, "ends", "one expects the high end in a heterophilous graph"),
        (0.8, "flat", "leaves the features as they are, which is unusual for a homophilous graph"),
        (0.2, "flat", "leaves the features as they are, and that is what one expects here"),
        (0.2, "low", "nothing favours that, so look at the comparison with the MLP"),
        (0.05, "even", "favours none of the three bands"),
    ],
)
def test_filter_and_agreement_are_held_against_each_other(findings, known, kind, verdict):
    assert verdict in headline(with_filter(with_agreement(findings, known, 0.2), kind))


def test_without_an_mlp_no_comparison_with_it_is_pointed_at(findings):
    alone = replace(with_filter(with_agreement(findings, 0.8, 0.2), "high"), evaluation=None)
    assert "look at the comparison" not in headline(alone)
    assert "a comparison with an MLP would show" in headline(alone)


def test_splits_that_disagree_with_their_mean_are_counted(findings):
    mixed = with_filter(findings, "high")
    rows = [*mixed.response.responses[:8], CURVES["low"].tolist(), CURVES["low"].tolist()]
    mixed = replace(mixed, response=replace(mixed.response, responses=rows))
    assert "(by itself so in 8 of 10 splits)" in headline(mixed)


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
    parts = [replace(findings.parts[0], model="gcn", drawn=False)]
    assert "This model has no spectral filter" in headline(replace(findings, response=None, parts=parts))


def test_a_deep_stack_is_not_called_a_model_without_a_filter(findings):
    stacked = replace(findings, response=None, parts=[replace(findings.parts[1], weight=1.0)])
    text = headline(stacked)
    assert "The best model here is a deep stack of filters and has no single response to draw." in text
    assert "no spectral filter" not in text


def ours_of(findings, low, mean, high):
    ours = replace(findings.evaluation.ours, mean=mean, interval=(low, high))
    return replace(findings.evaluation, ours=ours, majority=0.4)


@pytest.mark.parametrize(
    ("low", "mean", "high", "words"),
    [
        (0.5, 0.6, 0.7, "clearly better than guessing the largest class, which gives 40.0%"),
        (0.35, 0.45, 0.55, "not clearly better than guessing"),
        (0.1, 0.2, 0.3, "%), worse than guessing"),
        (float("nan"), 0.9, float("nan"), "90.0% accuracy, not clearly better than guessing"),
    ],
)
def test_the_score_is_judged_by_its_interval_against_guessing(findings, low, mean, high, words):
    assert words in score_words(ours_of(findings, low, mean, high), "accuracy")


def test_the_area_under_a_roc_curve_is_held_against_one_half(findings):
    text = score_words(replace(ours_of(findings, 0.55, 0.6, 0.65), majority=0.9), "roc_auc")
    assert "60.0% ROC-AUC (95% interval 55.0% to 65.0%), clearly better than guessing at random" in text
    assert "which gives 50.0%" in text


def made(model, splits, ratio=1 / 9):
    return Scores(model, splits, float(np.mean(splits)), (0.0, 1.0), 1.0, ratio)


def test_a_difference_counts_only_when_its_corrected_interval_leaves_out_zero():
    theirs = np.array([0.5, 0.6, 0.7, 0.8, 0.5, 0.6, 0.7, 0.8, 0.6, 0.7])
    # Differences of mean d and standard deviation 1: the interval reaches t_9 sqrt(1/10 + 1/9) = 1.0393 to each side.
    shape = np.array([-1, 1] * 5) / np.sqrt(10 / 9)
    for mean, words in (
        (1.05, "The structure is worth it: 1.1 points better"),
        (1.02, "Within noise"),
        (-1.05, "harm"),
    ):
        ours = made("newtonnet", (theirs + 0.01 * (mean + shape)).tolist())
        assert words in comparison_words(ours, made("mlp", theirs.tolist())), mean


def test_folds_that_are_missing_do_not_change_how_much_training_nodes_overlap():
    # Two of five folds: one test node for every four training nodes; t_1 sqrt(1/2 + 1/4) s = 11.0 s to each side.
    ours, theirs = (
        made("newtonnet", [0.5 + 0.111, 0.5 + 0.111 + 0.01 * np.sqrt(2)], 1 / 4),
        made("mlp", [0.5, 0.5], 1 / 4),
    )
    assert "The structure is worth it: 11.8 points better" in comparison_words(ours, theirs)
    assert "one test node for every 4 training nodes" in comparison_rule(ours)
    assert "Within noise" in comparison_words(replace(ours, ratio=1.0), theirs)


def test_equal_differences_on_all_splits_are_not_certain():
    ours, theirs = made("newtonnet", [0.9, 0.8, 0.7]), made("mlp", [0.4, 0.3, 0.2])
    assert comparison_words(ours, theirs).startswith("From 3 splits it cannot be told whether it is better than an MLP")


def test_a_single_split_and_splits_that_do_not_pair_cannot_tell():
    assert "From 1 split it cannot be told" in comparison_words(made("a", [0.9]), made("gcn", [0.1]))
    assert "cannot be told" in comparison_words(made("a", [0.9, 0.8]), made("gcn", [0.1, 0.2, 0.3]))


def test_without_an_evaluation_only_the_headline_is_left(findings):
    assert len(describe(findings)) == 3
    assert describe(replace(findings, evaluation=None)) == [headline(replace(findings, evaluation=None))]


def test_without_edges_nothing_is_said_of_a_filter_or_of_structure(findings):
    bare = replace(with_agreement(findings, None, None, edges=0), data=replace(findings.data, edges=0))
    first, *others = describe(bare)
    assert first.startswith("There are no edges, so the model is an MLP on the features")
    assert "filter" not in first
    assert len(others) == 1
    assert not any(word in text for text in others for word in ("smooth", "structure"))


def test_a_filter_that_had_no_time_is_not_interpreted(findings):
    text = headline(replace(findings, cut_at=12))
    assert "The filter had too little time to take shape (12 epochs at most); give it more with --for." in text
    assert "keeps" not in text
