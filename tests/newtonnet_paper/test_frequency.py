from collections import Counter

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from newtonnet.datasets import csbm
from newtonnet_paper import frequency
from newtonnet_paper.claim import Request
from newtonnet_paper.frequency import FREQUENCY
from newtonnet_paper.frequency.study import crossing
from newtonnet_paper.frequency.training import (
    Protocol,
    apply_filters,
    candidate_filters,
    importances,
    projector_stack,
    sparse_split,
    train_filters,
)

SMALL = Protocol(epochs=20, every=5, hidden=8)


@pytest.fixture(scope="module")
def graph():
    return csbm(0.9, nodes=400, features=40, degree=8.0, mu=20.0, seed=3)


def test_a_filter_of_three_amplitudes_is_what_the_eigendecomposition_says(graph, dense_laplacian, rng):
    frequencies, vectors = np.linalg.eigh(dense_laplacian(graph))
    amplitudes = np.array([[0.4, 1.6, 0.8], [2.0, 0.0, 1.2]])
    x = rng.normal(size=(graph.nodes, 2, 3))
    rows = np.array([5, 0, 77])
    ours = apply_filters(
        projector_stack(graph)[:, rows], torch.from_numpy(amplitudes).float(), torch.from_numpy(x).float()
    )
    for p, (low, middle, high) in enumerate(amplitudes):
        g = np.where(frequencies < 2 / 3, low, np.where(frequencies < 4 / 3, middle, high))
        expected = vectors @ np.diag(g) @ vectors.T @ x[:, p]
        assert ours[:, p].numpy() == pytest.approx(expected[rows], abs=1e-5)


def test_a_filter_learns_the_same_whoever_trains_beside_it(graph):
    split = sparse_split(graph, 0)
    filters = candidate_filters()[[7, 40, 100, 215]]
    together = train_filters(graph, split, filters, SMALL, seed=1)
    for i in range(len(filters)):
        alone = train_filters(graph, split, filters[i : i + 1], SMALL, seed=1)
        assert alone.test[0] == pytest.approx(together.test[i], abs=2e-3)
        assert alone.last[0] == pytest.approx(together.last[i], abs=2e-3)


def test_chunks_do_not_change_a_result(graph, monkeypatch):
    split, filters = sparse_split(graph, 0), candidate_filters()[[7, 40, 100]]
    whole = train_filters(graph, split, filters, SMALL)
    monkeypatch.setattr(frequency.training, "TOGETHER", 2)
    parts = train_filters(graph, split, filters, SMALL)
    assert parts.test == pytest.approx(whole.test, abs=2e-3)


def test_a_low_pass_filter_beats_a_high_pass_one_on_a_homophilous_graph(graph):
    filters = np.array([[2.0, 0.4, 0.0], [0.0, 0.4, 2.0], [0.0, 0.0, 0.0]])
    low, high, nothing = train_filters(graph, sparse_split(graph, 0), filters, Protocol(epochs=40, hidden=16)).test
    assert low > high + 0.1
    assert nothing == 0.5


def test_scores_are_taken_where_validation_is_best_first(graph, monkeypatch):
    seen = []
    measure = frequency.training._aucs

    def watch(margin, positive):
        result = measure(margin, positive)
        seen.append((margin.numpy(), positive.numpy(), result.numpy()))
        return result

    monkeypatch.setattr(frequency.training, "_aucs", watch)
    scores = train_filters(graph, sparse_split(graph, 0), np.array([[1.2, 0.8, 0.4]]), SMALL)
    for margin, positive, result in seen:
        assert result[0] == pytest.approx(roc_auc_score(positive, margin[:, 0]))
    validation, test = [r[2][0] for r in seen[::2]], [r[2][0] for r in seen[1::2]]
    assert len(validation) == 4
    assert scores.validation[0] == max(validation)
    assert scores.test[0] == test[int(np.argmax(validation))]
    assert scores.last[0] == test[-1]


def test_the_split_is_that_of_successive_permutations(graph):
    rng = np.random.RandomState(33780)
    for index in range(3):
        nodes = rng.permutation(400)
        split = sparse_split(graph, index)
        assert split.train.tolist() == nodes[:10].tolist()
        assert split.validation.tolist() == nodes[10:20].tolist()
        assert len(split.test) == 380


def test_importance_is_the_mean_amplitude_of_the_eleven_best():
    filters = candidate_filters()
    scores = np.zeros(216)
    chosen = np.arange(200, 211)
    scores[chosen] = np.linspace(0.6, 0.9, 11)
    assert importances(scores, filters) == pytest.approx(filters[chosen].mean(axis=0))


def test_filters_that_tie_for_the_last_place_share_it():
    filters = np.array([[2.0, 0, 0], [0, 2.0, 0], [0, 0, 2.0], [0, 0, 0]])
    assert importances(np.array([0.9, 0.7, 0.7, 0.1]), filters, share=0.5) == pytest.approx([1.0, 0.5, 0.5])


def test_the_crossing_leaves_the_fewest_graphs_on_the_wrong_side():
    h = np.linspace(0, 1, 11)
    low = np.where(h > 0.45, 2.0, 0.0)
    low[2] = 2.0  # one graph against the trend
    assert crossing(h, low, 2 - low) == pytest.approx(0.45)
    assert crossing(h, np.ones(11), np.zeros(11)) is None


def line(h, mask, test, **key):
    return {"key": {"homophily": h, "mask": mask, "nodes": 800, "features": 800, "epochs": 300, **key}, "test": test}


def hand_made(h, rng, noise=1e-3):
    """Scores that are best where the low amplitude is 2h and the high one 2 - 2h."""
    low, _, high = candidate_filters().T
    return (-((low - 2 * h) ** 2) - (high - 2 + 2 * h) ** 2 + noise * rng.normal(size=216)).tolist()


def test_summary_reports_the_trend_and_the_crossing_of_stored_scores(rng):
    report = FREQUENCY.summarise([line(h, 0, hand_made(h, rng)) for h in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)])
    data = report.data["800 nodes, 800 features (1 mask, 300 epochs)"]
    assert data["crossing"] == 0.5
    assert data["rank_correlation"]["low"] > 0.7
    assert data["rank_correlation"]["high"] < -0.7
    verdicts = [finding.verdict for finding in report.findings]
    assert verdicts[0] == verdicts[1] == verdicts[3] == "holds"


@pytest.mark.parametrize(
    ("homophilies", "key", "command"),
    [
        ([0.05 * i for i in range(21)], {}, "quick"),
        ([0.0, 0.5], {"epochs": 1200}, "paper --homophilies 0,0.5"),
        ([0.5], {"nodes": 3000, "features": 3000}, "quick --nodes 3000 --homophilies 0.5"),
        ([0.5], {"features": 20}, "quick --features 20 --homophilies 0.5"),
    ],
)
def test_a_table_names_the_command_that_makes_it(rng, homophilies, key, command):
    report = FREQUENCY.summarise([line(round(h, 2), 0, hand_made(h, rng), **key) for h in homophilies])
    assert report.tables[0].notes[-1] == f"Command: `newtonnet-paper reproduce frequency --profile {command}`"


def test_the_opposite_trend_is_called_one_that_does_not_hold(rng):
    report = FREQUENCY.summarise([line(h, 0, hand_made(1 - h, rng)) for h in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)])
    assert [report.findings[i].verdict for i in (0, 1, 3)] == ["does not hold"] * 3


def test_masks_are_averaged_before_the_best_are_chosen(rng):
    first, second = np.zeros(216), np.zeros(216)
    first[0], second[0], second[215] = -1.0, 3.0, 1.9  # filter 0 is best on average only
    report = FREQUENCY.summarise([line(0.5, 0, first.tolist()), line(0.5, 1, second.tolist())])
    mean = (first + second) / 2
    assert report.tables[0].rows[0][1:4] == pytest.approx(
        [round(v, 2) for v in importances(mean, candidate_filters())], abs=1e-9
    )
    assert report.figures[0].panels[0].series[0].spread != ()


def test_sizes_and_lengths_stand_in_panels_of_their_own(rng):
    lines = [line(0.5, 0, hand_made(0.5, rng)), line(0.5, 0, hand_made(0.5, rng), nodes=1000, features=1000)]
    report = FREQUENCY.summarise(lines)
    assert len(report.figures[0].panels) == 2
    statements = [finding.statement for finding in report.findings]
    assert len(set(statements)) == len(statements) == 8
    assert statements[0] == "importance of low frequencies rises with h, 800 nodes, 800 features (1 mask, 300 epochs)"


def test_a_large_correlation_of_few_homophilies_is_not_certain(rng):
    places = {0.0: 0.0, 0.25: 0.4, 0.5: 0.2, 0.75: 0.8, 1.0: 0.6}  # ranks 1 3 2 5 4: correlation .8, by chance .1
    report = FREQUENCY.summarise([line(h, 0, hand_made(place, rng)) for h, place in places.items()])
    assert report.data["800 nodes, 800 features (1 mask, 300 epochs)"]["rank_correlation"]["low"] == 0.8
    assert [report.findings[i].verdict for i in (0, 1, 3)] == ["not certain"] * 3


def test_few_homophilies_give_no_verdict(rng):
    report = FREQUENCY.summarise([line(0.5, 0, hand_made(0.5, rng))])
    assert {finding.verdict for finding in report.findings} == {"not measured yet"}
    assert FREQUENCY.summarise([]).findings[0].verdict == "not measured yet"


@pytest.mark.parametrize(("centre", "verdict"), [(0.2, "holds"), (0.7, "does not hold")])
def test_one_homophily_with_the_full_protocol_is_compared_with_the_short_one(rng, centre, verdict):
    short = [line(h, 0, hand_made(h, rng, 0.5)) for h in (0.0, 0.2, 0.4, 0.6, 0.8)]
    full = [line(0.2, mask, hand_made(centre, rng, 0.5), epochs=1200) for mask in range(5)]
    report = FREQUENCY.summarise([*short, *full])
    assert len(report.findings) == 5
    commands = "`newtonnet-paper reproduce frequency --profile paper --homophilies 0.2`"
    assert report.tables[-1].notes[-1].endswith(commands)
    assert report.findings[-1].statement.startswith("1 mask, 300 epochs, order the bands as 5 masks, 1200 epochs, do")
    assert report.findings[-1].verdict == verdict
    assert len(report.figures[0].panels) == 1
    rows = report.tables[-1].rows
    assert [row[:2] for row in rows[:2]] == [(0.2, "1 mask, 300 epochs"), (0.2, "5 masks, 1200 epochs")]
    tests = np.array([each["test"] for each in full])
    alone = [importances(test, candidate_filters()) for test in tests]
    assert list(rows[0][2:5]) == two_places(importances(np.array(short[1]["test"]), candidate_filters()))
    assert list(rows[1][2:5]) == two_places(importances(tests.mean(axis=0), candidate_filters()))
    assert [cell.split(" ± ") for cell in rows[2][2:5]] == [
        list(pair) for pair in zip(two_places(np.mean(alone, axis=0)), two_places(np.std(alone, axis=0)), strict=True)
    ]


def two_places(values):
    return [f"{value:.2f}" for value in values]


def test_one_mask_or_another_size_repeats_nothing(rng):
    short = [line(h, 0, hand_made(h, rng)) for h in (0.0, 0.2, 0.4, 0.6, 0.8)]
    for more in (
        [line(0.2, 0, hand_made(0.2, rng), epochs=1200)],
        [line(0.2, m, hand_made(0.2, rng), nodes=900) for m in (0, 1)],
    ):
        report = FREQUENCY.summarise([*short, *more])
        assert not any("order the bands" in finding.statement for finding in report.findings)
        assert len(report.tables) == len(report.figures[0].panels) == 2


def test_profiles_ask_for_the_papers_work():
    assert len(FREQUENCY.units(Request("quick"))) == 21
    assert len(FREQUENCY.units(Request("quick", {"homophilies": [0.1, 0.9, 0.9]}))) == 2
    paper = FREQUENCY.units(Request("paper", {"nodes": 3000}))
    assert len(paper) == 105
    assert paper[0].key == {"homophily": 0.0, "mask": 0, "nodes": 3000, "features": 3000, "epochs": 1200}


def test_scores_without_any_trend_support_nothing(rng):
    verdicts = Counter()
    for _ in range(20):
        noise = [line(round(0.05 * i, 2), 0, rng.random(216).tolist()) for i in range(21)]
        verdicts += Counter(finding.verdict for finding in FREQUENCY.summarise(noise).findings)
    assert verdicts["holds"] <= 4  # of 80, by chance


def test_a_further_mask_waits_until_every_homophily_has_it(rng):
    lines = [line(h, 0, hand_made(h, rng)) for h in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)]
    before = FREQUENCY.summarise(lines)
    after = FREQUENCY.summarise([*lines, line(0.0, 1, hand_made(0.0, rng))])
    assert after.tables[0].rows == before.tables[0].rows
