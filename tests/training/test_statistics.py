import math

import numpy as np
import pytest
from scipy import stats

from newtonnet.training.statistics import compare, estimate, holm

T9 = 2.2621571627409915  # the 97.5% quantile of Student's t with 9 degrees of freedom, from printed tables


def test_the_interval_is_the_closed_form_of_nadeau_and_bengio(rng):
    scores = rng.normal(80, 3, size=10).tolist()
    mean = sum(scores) / 10
    variance = sum((x - mean) ** 2 for x in scores) / 9
    reach = T9 * math.sqrt(variance * (1 / 10 + 38 / 109))
    found = estimate(scores, 38 / 109)
    assert (found.mean, found.low, found.high) == pytest.approx((mean, mean - reach, mean + reach))


def test_without_the_correction_it_is_the_ordinary_paired_test(rng):
    a, b = rng.normal(0.3, 1, size=10), rng.normal(size=10)
    found = compare(a.tolist(), b.tolist(), 0.0)
    theirs = stats.ttest_rel(a, b)
    interval = theirs.confidence_interval(0.95)
    assert (found.p, found.low, found.high) == pytest.approx((theirs.pvalue, interval.low, interval.high))


def test_the_correction_widens_by_the_square_root_of_its_factor(rng):
    differences = rng.normal(size=10).tolist()
    plain, corrected = estimate(differences, 0.0), estimate(differences, 1 / 3)
    assert (corrected.high - corrected.mean) / (plain.high - plain.mean) == pytest.approx(math.sqrt(1 + 10 / 3))
    assert corrected.p > plain.p


def test_equal_scores_have_no_width_and_only_a_difference_is_certain():
    assert estimate([2.0] * 10, 1 / 3).p == 0.0
    same = compare([2.0] * 10, [2.0] * 10, 1 / 3)
    assert (same.mean, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)


def test_failed_splits_are_left_out_in_pairs():
    found = compare([1.0, None, 3.0, 4.0], [0.0, 1.0, None, 1.0], 0.5)
    assert found.splits == 2
    assert found.mean == 2.0
    assert estimate([1.0, None], 0.5) is None


def test_holm_is_its_textbook_example():
    # Four hypotheses at 0.01, 0.04, 0.03, 0.005: times 3, 1, 2, 4, then never smaller than the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_holm_is_never_below_the_single_p_nor_above_bonferroni(rng):
    p = rng.uniform(size=10)
    adjusted = np.array(holm(p.tolist()))
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(1, 10 * p) + 1e-12).all()
    assert (np.argsort(adjusted, kind="stable")[0]) == np.argsort(p)[0]
