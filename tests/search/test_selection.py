from dataclasses import replace

import pytest

from newtonnet.search import best_trial, propose
from newtonnet.search.selection import nested_selection, paper_selection
from newtonnet.search.trials import Task

# (validation, test) of three splits for four settings, made by hand.
SCORES = [
    ((0.5, 0.9, 0.7), (0.51, 0.91, 0.71)),
    ((0.8, 0.6, 0.7), (0.61, 0.62, 0.63)),
    ((0.6, 0.8, 0.7), (0.71, 0.72, 0.73)),
    ((0.9, 0.3, 0.6), (0.81, 0.31, 0.41)),
]


@pytest.fixture
def trials(study, pretend):
    made = pretend(Task(study, tuple(propose(study, [], 0)[:4])))
    return [
        replace(trial, validation=validation, test=test) for trial, (validation, test) in zip(made, SCORES, strict=True)
    ]


def test_papers_way_takes_the_best_mean_and_the_earlier_of_equals(trials):
    chosen = paper_selection(trials)
    assert chosen.trials == (0, 0, 0)
    assert chosen.test == (0.51, 0.91, 0.71)
    assert chosen.mean == pytest.approx(0.71)
    assert chosen.std == pytest.approx((2 * 0.2**2 / 3) ** 0.5)
    assert chosen.score() == "71.00 ± 16.33"
    assert best_trial(list(reversed(trials))).number == 0


def test_equal_means_are_equal_whatever_the_order_of_their_scores(trials):
    few, many = (0.1, 0.2, 0.3), (0.3, 0.2, 0.1)
    assert sum(few) != sum(many)
    for first, second in ((few, many), (many, few)):
        pair = [replace(trials[0], validation=first), replace(trials[1], validation=second)]
        assert best_trial(pair).number == 0


def test_nested_takes_each_splits_own_best_and_the_earlier_of_equals(trials):
    chosen = nested_selection(list(reversed(trials)))
    assert chosen.trials == (3, 0, 0)
    assert chosen.validation == (0.9, 0.9, 0.7)
    assert chosen.test == (0.81, 0.91, 0.71)


def test_a_failed_split_counts_as_nothing_and_is_never_chosen_by_itself(trials):
    failed = replace(trials[0], validation=(0.5, None, 0.7), test=(0.51, None, 0.71))
    trials = [failed, *trials[1:]]
    assert failed.objective == pytest.approx(0.4)
    assert paper_selection(trials).trials == (1, 1, 1)
    assert nested_selection(trials).trials == (3, 2, 0)
    assert paper_selection([failed]).mean == pytest.approx(0.61)
    nothing = replace(failed, validation=(None,) * 3, test=(None,) * 3)
    assert paper_selection([nothing]).score() == "none"


def test_no_trials_is_no_choice():
    for choose in (paper_selection, nested_selection):
        with pytest.raises(ValueError, match="no complete trials"):
            choose([])
