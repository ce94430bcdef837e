import numpy as np
import pytest

from newtonnet_paper.claim import Request
from newtonnet_paper.theory import THEORY
from newtonnet_paper.theory.checks import (
    between_example,
    chance_homophily,
    check_by_homophily,
    check_lemma1,
    check_normalised,
    check_theorem1,
    check_theorem2,
    class_energies,
    edge_energies,
    expected_gap,
    pairwise_gap,
    separation_gap,
    smallest_example,
    smallest_normalised,
    smallest_signed,
)
from newtonnet_paper.theory.samples import (
    Sample,
    affine_pair,
    eigenspaces,
    random_pair,
    random_sample,
    signed_pair,
    step_pair,
)

PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])


def spectrum_of(edges, nodes):
    adjacency = np.zeros((nodes, nodes))
    for a, b in edges:
        adjacency[a, b] = adjacency[b, a] = 1
    return adjacency


@pytest.mark.parametrize("make", [random_pair, signed_pair, step_pair])
def test_pairs_cross_once_and_have_equal_norms(make, rng):
    for _ in range(30):
        spaces = eigenspaces(random_sample(rng).plain)
        g1, g2 = make(spaces, rng)
        assert (spaces.counts * (g1**2 - g2**2)).sum() == pytest.approx(0, abs=1e-9)
        below = np.flatnonzero(g1 < g2)
        above = np.flatnonzero(g1 > g2)
        assert below.max() < above.min()
        assert len(below) + len(above) == len(g1)
        assert spaces.counts[below].sum() > 1


def test_expected_distance_of_connected_nodes_is_the_mean_over_signals(rng):
    sample = random_sample(rng)
    spaces = eigenspaces(sample.normalised)
    g1, g2 = random_pair(spaces, rng)
    x = rng.standard_normal((len(sample.labels), 10000))
    ends = np.argwhere(np.triu(sample.adjacency))
    distances = [((y[ends[:, 0]] - y[ends[:, 1]]) ** 2).sum(axis=0) for y in (spaces.matrix(g) @ x for g in (g1, g2))]
    drawn = distances[0] - distances[1]
    exact, _ = expected_gap(g1, g2, edge_energies(spaces, sample.plain))
    assert abs(drawn.mean() - exact) < 5 * drawn.std() / np.sqrt(len(drawn))


def test_theorem_1_holds_with_its_assumptions_and_fails_without():
    violations = check_theorem1(trials=60, seed=5)["violations"]
    assert violations["plain"] == violations["magnitude"] == violations["scaled"] == 0
    assert violations["signed"] > 20
    assert violations["one signal"] > 0


def test_the_signed_counterexample_is_the_path_of_three_nodes_checked_by_hand():
    example = smallest_signed()
    assert example["nodes"] == 3
    assert len(example["edges"]) == 2
    g1, g2 = np.array(example["g1"]), np.array(example["g2"])
    frequencies = np.array([0.0, 1.0, 3.0])
    assert example["frequencies"] == frequencies.tolist()
    assert (g1**2).sum() == (g2**2).sum()
    assert (g1[:2] < g2[:2]).all()
    assert g1[2] > g2[2]
    assert ((g1**2 - g2**2) * frequencies).sum() == example["gap"] < 0


def test_the_normalised_counterexample_is_real():
    example = smallest_normalised()
    assert example["nodes"] == 4
    adjacency = spectrum_of(example["edges"], example["nodes"])
    degrees = adjacency.sum(axis=1)
    values, vectors = np.linalg.eigh(np.eye(4) - adjacency / np.sqrt(np.outer(degrees, degrees)))
    assert values == pytest.approx(example["frequencies"], abs=1e-5)
    g1, g2 = np.array(example["g1"]), np.array(example["g2"])
    assert min(g1.min(), g2.min()) >= 0
    roughness = np.diag(degrees) - adjacency
    distance = [np.trace((vectors * g**2) @ vectors.T @ roughness) for g in (g1, g2)]
    assert distance[0] - distance[1] == pytest.approx(example["gap"], abs=1e-4)
    assert example["gap"] < 0


def test_theorem_2_is_exact_for_affine_differences_and_errs_for_others():
    result = check_theorem2(trials=60, seed=5)
    assert result["violations"]["affine"] == result["violations"]["distinct"] == 0
    assert result["violations"]["crossing"] > 5
    assert result["identity_error"] < 1e-12


def test_class_separation_is_the_mean_over_all_pairs_and_signals(rng):
    sample = Sample(PATH_OF_FOUR, np.array([0, 0, 1, 1]))
    spaces = eigenspaces(sample.plain)
    g1, g2 = random_pair(spaces, rng)
    formula = separation_gap(g1, g2, class_energies(sample, spaces), sample)
    assert formula == pytest.approx(pairwise_gap(g1, g2, spaces, sample), abs=1e-12)
    x = rng.standard_normal((4, 200000))
    drawn = 0.0
    for sign, g in ((1, g1), (-1, g2)):
        y = spaces.matrix(g) @ x
        square = ((y[:, None] - y[None]) ** 2).mean(axis=2)
        same = sample.labels[:, None] == sample.labels
        drawn += sign * (square[~same].mean() - square[same].mean())
    assert formula == pytest.approx(drawn, abs=0.02)


PATH_OF_FOUR = spectrum_of([(0, 1), (1, 2), (2, 3)], 4)


def test_mean_frequency_of_the_classes_is_their_heterophily(rng):
    for _ in range(10):
        sample = random_sample(rng)
        spaces = eigenspaces(sample.plain)
        energies = class_energies(sample, spaces)
        ratio = (spaces.frequencies * energies).sum() / energies.sum() / sample.degrees.mean()
        assert ratio == pytest.approx((1 - sample.homophily) / (1 - 1 / sample.classes), abs=1e-9)


def test_affine_gap_has_the_sign_of_chance_minus_homophily_on_the_path():
    sample = Sample(PATH_OF_FOUR, np.array([0, 0, 1, 1]))  # h = 2/3
    spaces = eigenspaces(sample.plain)
    assert separation_gap(*affine_pair(spaces), class_energies(sample, spaces), sample) < 0
    other = Sample(PATH_OF_FOUR, np.array([0, 1, 0, 1]))  # h = 0
    assert separation_gap(*affine_pair(spaces), class_energies(other, spaces), other) > 0


def test_on_the_normalised_laplacian_the_sign_follows_the_weighted_homophily():
    result = check_normalised(trials=300, seed=3)
    assert result["violations"]["weighted"] == 0
    assert 0 < result["violations"]["plain"] == result["between"]
    assert result["identity_error"] < 1e-12


def test_weighted_homophily_counts_edges_by_their_degrees():
    sample = Sample(PATH_OF_FOUR, np.array([0, 0, 1, 1]))  # ends weigh 1/sqrt(2), the middle edge 1/2
    assert sample.weighted_homophily == pytest.approx(2 / np.sqrt(2) / (2 / np.sqrt(2) + 0.5))
    assert sample.homophily == pytest.approx(2 / 3)


def test_the_graph_between_the_two_homophilies_is_real():
    example = between_example()
    labels = np.array(example["labels"])
    adjacency = spectrum_of(example["edges"], len(labels))
    same = labels[:, None] == labels
    assert (adjacency * same).sum() / adjacency.sum() > 0.5
    scale = 1 / np.sqrt(adjacency.sum(axis=1))
    matrix = -scale[:, None] * adjacency * scale  # g1² - g2² = λ - 1
    distance = np.diag(matrix)[:, None] + np.diag(matrix) - 2 * matrix
    gap = distance[~same].mean() - distance[same].mean()
    assert gap == pytest.approx(example["gap"], abs=1e-6)
    assert gap > 0  # the theorem says below 0 for h > 1/C


def test_the_counterexample_to_theorem_2_is_real():
    example = smallest_example()
    labels = np.array(example["labels"])
    adjacency = spectrum_of(example["edges"], len(labels))
    same = labels[:, None] == labels
    assert (adjacency * same).sum() / adjacency.sum() > 0.5
    _, vectors = np.linalg.eigh(np.diag(adjacency.sum(axis=1)) - adjacency)
    gap = 0.0
    for sign, name in ((1, "g1"), (-1, "g2")):
        matrix = (vectors * np.array(example[name]) ** 2) @ vectors.T
        distance = np.diag(matrix)[:, None] + np.diag(matrix) - 2 * matrix
        gap += sign * (distance[~same].mean() - distance[same].mean())
    assert gap == pytest.approx(example["gap"], abs=1e-4)
    assert gap > 0  # the theorem says below 0 for h > 1/C


def test_chance_homophily_is_the_share_of_equal_pairs():
    labels = [0, 0, 0, 1, 1]
    pairs = [labels[i] == labels[j] for i in range(5) for j in range(i)]
    assert float(chance_homophily([3, 2])) == pytest.approx(np.mean(pairs))


def test_lemma_1_needs_pairs_with_oneself():
    for row in check_lemma1(trials=400, seed=1)["rows"]:
        assert abs(row["measured"] - row["exact"]) <= 4 * row["error"] + 1e-12
        assert abs(row["with_loops"] - row["lemma"]) <= 4 * row["loop_error"]
    assert check_lemma1(trials=10)["rows"][0]["measured"] == 0


def test_the_theorem_errs_most_near_chance():
    shares = check_by_homophily(graphs=3, pairs=10, nodes=60)["shares"]
    assert max(shares["affine"]) == 0
    assert np.mean(shares["crossing"][8:13]) > np.mean(shares["crossing"][-5:])


def test_summary_calls_each_statement_by_its_numbers():
    results = {
        "lemma1": check_lemma1(trials=50),
        "theorem1": check_theorem1(trials=5),
        "theorem2": check_theorem2(trials=5),
        "normalised": check_normalised(trials=5),
        "by_homophily": check_by_homophily(graphs=1, pairs=1, nodes=40),
    }

    def lines(first, second):
        changed = dict(results)
        for name, violations in (("theorem1", first), ("theorem2", second)):
            changed[name] = {**results[name], "violations": results[name]["violations"] | violations}
        return [{"key": {"check": name}, "result": result} for name, result in changed.items()]

    report = THEORY.summarise(lines({"plain": 0}, {"affine": 0, "crossing": 3}))
    verdicts = {finding.statement: finding.verdict for finding in report.findings}
    assert verdicts["Theorem 1 for nonnegative filters and the Laplacian D - A"] == "holds"
    assert verdicts["Theorem 2 for any two nonnegative filters of Theorem 1"] == "does not hold"
    broken = THEORY.summarise(lines({"plain": 1}, {"affine": 1}))
    assert [finding.statement for finding in broken.findings if finding.verdict == "holds"] == [
        "Theorem 2 there with every edge weighted by 1/√(d_s d_t) in h"
    ]
    assert THEORY.summarise([]).findings[0].verdict == "not measured yet"


def test_every_check_is_one_unit():
    assert [unit.key["check"] for unit in THEORY.units(Request())] == [
        "lemma1",
        "theorem1",
        "theorem2",
        "normalised",
        "by_homophily",
    ]
