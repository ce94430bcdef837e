"""An exported model scores graphs with NumPy and SciPy alone, and its probabilities are ours."""

import ast
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

import newtonnet
from newtonnet import NewtonNetClassifier, NewtonNetRegressor, export
from newtonnet.analysis import exporting
from newtonnet.analysis import scorer as module
from newtonnet.analysis.scorer import Scorer
from newtonnet.bank import BoostingOptions, RidgeOptions, prediction_bank, train_boosting, train_ridge
from newtonnet.datasets import Split, csbm
from newtonnet.estimator.ensemble import Ensemble
from newtonnet.estimator.members import Member
from newtonnet.estimator.scaling import learn_scaling
from newtonnet.graphs import from_edges
from newtonnet.metrics import Threshold
from newtonnet.nn import NewtonStackOptions, Options, build
from newtonnet.tables import TableOptions, read_tables

pytestmark = pytest.mark.usefixtures("two_folds", "few_trees")
CLASSES = ("cat", "dog", "owl")
QUICK = {"max_epochs": 20, "patience": 10, "threads": 1}


def make_graph(seed=0, *, nodes=90, features=6, directed=False, sparse=False, zeros_and_ones=False):
    """Classes that show in features and neighbours; five nodes without an edge, weights, and half the labels known."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=nodes)
    x = rng.normal(size=(nodes, features)) + truth[:, None]
    x = (x > 1).astype(float) if zeros_and_ones else 50 * x if not sparse else x * (rng.random(x.shape) < 0.2)
    ends = rng.integers(nodes - 5, size=(2, 4 * nodes))
    weights = None if zeros_and_ones else rng.uniform(0.5, 2.0, size=4 * nodes)
    labels = np.where(rng.random(nodes) < 0.5, truth, -1)
    return from_edges(ends, x, labels=labels, weights=weights, class_names=CLASSES, directed=directed)


def classifier_of(graph, *members, weights=None, temperature=0.8, standardise=False):
    """A classifier that averages these members, as ``fit`` would make one."""
    shares = [1 / len(members)] * len(members) if weights is None else weights
    model = NewtonNetClassifier(threads=1)
    model.classes_, model.n_features_in_ = np.array(CLASSES), graph.features.shape[1]
    model.scaling_ = learn_scaling(graph) if standardise else None
    model.ensemble_ = Ensemble(members, shares, CLASSES, temperature, graph.labels, graph.structure)
    model.threshold_ = model.tables_ = None
    return model


def network(name, graph, options, seed=0):
    """A member with random weights, running statistics and filters, as large as trained ones are."""
    population = build(name, graph, options, seeds=[seed])
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for key, parameter in population.named_parameters():
        noise = torch.rand(parameter.shape, generator=generator)
        state[key] = parameter.detach() + (noise if key.endswith("variance") else 0.4 * (noise - 0.5))
    if hasattr(options, "points"):
        options = replace(options, points=tuple(population.filter.points.tolist()))
    bound = None if population.transductive is None else graph.structure
    return Member(name, options, seed, state, bound, None)


def bank_member(graph, options, seed=0):
    known = graph.labelled
    split = Split(known[::2], known[1::4], known[3::4])
    ridge = isinstance(options, RidgeOptions)
    trained = (train_ridge if ridge else train_boosting)(graph, split, options, seed=seed, threads=1)
    return Member("ridge" if ridge else "boosting", options, seed, trained.state, None, None)


def scores(model, graph, folder, **given):
    path, _ = export(model, folder)
    return Scorer(path).probabilities(graph.adjacency, graph.features, directed=graph.directed, **given)


NETWORKS = [
    ("newtonnet", Options()),
    ("newtonnet", Options(per_channel=True, branch=8)),
    ("newtonnet", Options(points="chebyshev", degree=10)),
    ("newtonnet", Options(hidden=0, nonnegative=False, unit=True)),
    ("newton-stack", NewtonStackOptions(layers=3, labels=0.5)),
    ("newton-stack", NewtonStackOptions(layers=12, labels=0.5)),
    ("newton-stack", NewtonStackOptions(layers=3, norm="layer", mean=True)),
    ("newton-stack", NewtonStackOptions(layers=2, norm="none", degree=3, per_channel=True, log_degree=False)),
    ("newton-stack", NewtonStackOptions(layers=2, directed=True, labels=0.5, jumping=True)),
    ("newton-stack", NewtonStackOptions(layers=2, directed=True, mean=True, projection=True)),
    ("newton-stack", NewtonStackOptions(layers=2, projection=True, jumping=True, degree=2)),
]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("name", "options"), NETWORKS, ids=lambda value: str(value)[:60])
def test_a_network_scores_as_ours(name, options, sparse, directed, tmp_path):
    graph = make_graph(sparse=sparse, directed=directed, features=30 if sparse else 6)
    assert isinstance(graph.features, sp.csr_array) == sparse
    model = classifier_of(graph, network(name, graph, options), standardise=True)
    np.testing.assert_allclose(scores(model, graph, tmp_path), model.predict_proba(graph), atol=1e-5)


BANKS = [
    RidgeOptions(),
    RidgeOptions(filter="mean", label_hops=4, walks=4),
    RidgeOptions(label_hops=4, components=3),
    RidgeOptions(eigenvectors=3, structure=False, label_hops=0),
    BoostingOptions(),
    BoostingOptions(filter="chebyshev", hops=3, label_hops=3, walks=4),
    BoostingOptions(components=3),
]


@pytest.mark.parametrize("zeros_and_ones", [False, True])
@pytest.mark.parametrize("options", BANKS, ids=lambda value: str(value)[:60])
def test_a_bank_scores_as_ours(options, zeros_and_ones, tmp_path):
    graph = make_graph(nodes=200, zeros_and_ones=zeros_and_ones)
    model = classifier_of(graph, bank_member(graph, options))
    np.testing.assert_allclose(scores(model, graph, tmp_path), model.predict_proba(graph), atol=1e-5)


def number_graph(nodes=200, seed=0, *, directed=False):
    """Numbers that show in features and neighbours, two thirds of them known; five nodes without an edge."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=nodes)
    ends = rng.integers(nodes - 5, size=(2, 8 * nodes))
    ends = ends[:, np.abs(truth[ends[0]] - truth[ends[1]]) < 0.5]
    known = np.where(rng.random(nodes) < 0.66, 100 + 20 * truth, np.nan)
    x = rng.normal(size=(nodes, 4)) + truth[:, None]
    return from_edges(ends, x, labels=np.zeros(nodes, dtype=int), directed=directed).with_targets(known, "price")


NUMBERS = [
    ("newtonnet", {"hidden": 8}),
    ("newton-stack", {"hidden": 8, "layers": 2, "labels": 0.5}),
    ("boosting", {"max_iterations": 30}),
    ("boosting", {"max_iterations": 30, "filter": "chebyshev"}),
    ("ridge", {}),
    ("ridge", {"filter": "mean"}),
]


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("name", "settings"), NUMBERS, ids=str)
def test_numbers_are_ours_on_the_graph_of_the_fit_and_on_another(name, settings, directed, tmp_path):
    graph, other = number_graph(directed=directed), number_graph(seed=1, directed=directed)
    model = NewtonNetRegressor(name, tune="off", folds=2, settings=settings, **QUICK).fit(graph)
    model.save(tmp_path / "price.safetensors")
    scorer = Scorer(export(tmp_path / "price.safetensors", tmp_path)[0])
    for one in (graph, other):
        ours = model.predict(one)
        np.testing.assert_allclose(
            scorer.predict(one.adjacency, one.features, directed=directed), ours, atol=1e-5 * np.abs(ours).max()
        )


def test_the_width_is_that_of_intervals_of_new_nodes(tmp_path):
    graph = number_graph()
    model = NewtonNetRegressor("ridge", tune="off", folds=3).fit(graph)
    scorer = Scorer(export(model, tmp_path)[0])
    new = np.isnan(graph.truth)
    for coverage in (0.5, 0.9):
        lower, upper = model.predict_interval(graph, coverage)[new].T
        np.testing.assert_allclose(upper - lower, 2 * scorer.width(coverage), rtol=1e-6)
    assert scorer.width(0.999) == np.inf
    with pytest.raises(ValueError, match="a coverage between 0 and 1"):
        scorer.width(0)
    with pytest.raises(ValueError, match="this model predicts numbers, which have no probabilities; use predict"):
        scorer.probabilities(graph.adjacency, graph.features)


@pytest.mark.parametrize("options", [BoostingOptions(), RidgeOptions()], ids=lambda value: type(value).__name__)
def test_the_columns_of_a_grid_are_the_same_bits(options):
    side = 50  # deep inside, PageRank is 1 but for rounding, and means of zeros and ones repeat
    nodes = np.arange(side * side).reshape(side, side)
    pairs = [(nodes[:, 1:], nodes[:, :-1]), (nodes[1:], nodes[:-1]), (nodes[1:, 1:], nodes[:-1, :-1])]
    ends = np.concatenate([np.stack([a.ravel(), b.ravel()]) for a, b in pairs], axis=1)
    rng = np.random.default_rng(0)
    graph = from_edges(ends, np.eye(4)[rng.integers(4, size=nodes.size)], labels=rng.integers(-1, 3, size=nodes.size))
    ours = prediction_bank({"sizes": torch.tensor([4, 3])}, options.layout, graph, graph.labels).values
    scored, known = module.make_graph(graph.adjacency, graph.features, False), graph.labels[:, None] == np.arange(3)
    np.testing.assert_array_equal(module.bank(scored, {}, asdict(options), known, 3), ours)


def test_a_bank_of_a_directed_graph_with_two_classes_scores_as_ours(tmp_path):
    graph = make_graph(nodes=200, directed=True)
    graph = graph.relabelled(np.where(graph.labels == 2, -1, graph.labels))
    model = classifier_of(graph, bank_member(graph, RidgeOptions()), bank_member(graph, BoostingOptions()))
    np.testing.assert_allclose(scores(model, graph, tmp_path), model.predict_proba(graph), atol=1e-5)


def test_labels_are_shown_on_the_graph_of_the_fit_alone(tmp_path):
    graph, other = make_graph(nodes=200), make_graph(1, nodes=200)
    stack = network("newton-stack", graph, NewtonStackOptions(layers=2, labels=0.5))
    model = classifier_of(graph, stack, bank_member(graph, BoostingOptions()), weights=[0.3, 0.7])
    own = scores(model, graph, tmp_path)
    np.testing.assert_allclose(own, model.predict_proba(graph), atol=1e-5)
    np.testing.assert_allclose(scores(model, other, tmp_path), model.predict_proba(other), atol=1e-5)
    hidden = replace(model.ensemble_, labels=None)
    model.ensemble_ = hidden
    assert np.abs(model.predict_proba(graph) - own).max() > 1e-3


def test_edges_and_a_matrix_give_the_same(tmp_path):
    graph = make_graph(zeros_and_ones=True)
    scorer = Scorer(export(classifier_of(graph, network("newtonnet", graph, Options())), tmp_path)[0])
    again = np.concatenate([graph.pairs, graph.pairs[::-1, :3], [[4], [4]]], axis=1)  # twice, and a self-loop
    by_edges = scorer.probabilities(again, graph.features)
    np.testing.assert_array_equal(by_edges, scorer.probabilities(sp.triu(graph.adjacency), graph.features))


def test_the_threshold_decides(tmp_path):
    graph = make_graph()
    labels = np.where(graph.labels == 2, -1, graph.labels)
    graph = replace(graph, labels=labels, class_names=("no", "yes"))
    model = classifier_of(graph, network("newtonnet", graph, Options()))
    model.classes_ = np.array(["no", "yes"])
    model.ensemble_ = replace(model.ensemble_, class_names=("no", "yes"))
    model.threshold_ = Threshold("f1", 0.8, 0.5, 0.5, 0, True)
    path, _ = export(model, tmp_path)
    predicted = Scorer(path).predict(graph.adjacency, graph.features)
    assert predicted.tolist() == model.predict(graph).tolist()
    assert predicted.tolist() != model.classes_[model.predict_proba(graph).argmax(axis=1)].tolist()


ALONE = """
import sys
for name in ("torch", "sklearn", "newtonnet", "pyarrow", "pandas"):
    sys.modules[name] = None
import numpy as np, scipy.sparse as sp
from scorer import Scorer
x, adjacency, out = sys.argv[1:]
scorer = Scorer("model.npz")
features = np.load(x)
np.savez(out, shares=scorer.probabilities(sp.load_npz(adjacency), features),
         predicted=scorer.predict(sp.load_npz(adjacency), features))
"""


@pytest.mark.parametrize("regime", ["memory", "out-of-core"])
def test_a_default_fit_scores_as_ours_without_torch_scikit_learn_and_newtonnet(regime, tmp_path):
    graph = csbm(0.85, nodes=150, features=12, degree=8, seed=1)
    labels = np.where(np.arange(150) % 3 > 0, graph.labels, -1)
    given = {"time_limit": 1.5 if regime == "memory" else None, "regime": regime, **QUICK}
    model = NewtonNetClassifier(**given).fit(graph, np.array([7, 9])[labels] * (labels >= 0) - (labels < 0))
    export(model, tmp_path)
    np.save(tmp_path / "x.npy", graph.features)
    sp.save_npz(tmp_path / "adjacency.npz", graph.adjacency)
    words = [sys.executable, "-c", ALONE, "x.npy", "adjacency.npz", "out.npz"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_allclose(out["shares"], model.predict_proba(graph), atol=1e-5)
        assert out["predicted"].tolist() == model.predict(graph).tolist()


def test_the_scorer_is_short_and_imports_numpy_and_scipy_only(tmp_path):
    graph = make_graph()
    _, path = export(classifier_of(graph, network("newtonnet", graph, Options())), tmp_path)
    text = path.read_text()
    assert text.count("\n") < 260
    parsed = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", None) or node.names[0].name for node in parsed}
    assert names <= {"hashlib", "json", "types", "typing", "numpy", "scipy.sparse", "scipy.special"}
    assert text == Path(module.__file__).read_text()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    graph = make_graph()
    member = network("newtonnet", graph, Options(branch=4))
    return graph, Scorer(export(classifier_of(graph, member), tmp_path_factory.mktemp("small"))[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.zeros((90, 5))}, "features must have shape (nodes, 6), got (90, 5)"),
        ({"features": np.zeros(6)}, "features must have shape (nodes, 6), got (6,)"),
        ({"features": np.full((90, 6), np.nan)}, "features must be finite; fill those that are NaN or infinite"),
        ({"adjacency": sp.eye_array(80)}, "the adjacency must have shape (90, 90) for 90 rows of features"),
        ({"adjacency": sp.csr_array(-np.ones((90, 90)))}, "edge weights must be finite and not negative"),
        ({"adjacency": [[0.5], [1.0]]}, "edges must be node numbers 0..89 of shape (2, E), got float64 (2, 1)"),
        ({"adjacency": [[0], [90]]}, "edges must be node numbers 0..89 of shape (2, E), got int64 (2, 1)"),
        ({"adjacency": [[0], [1]]}, "weights for each node of its training graph, and this is another one"),
    ],
)
def test_the_scorer_refuses_wrong_input_in_one_line(small, change, message):
    graph, scorer = small
    given = {"adjacency": graph.adjacency, "features": graph.features, **change}
    with pytest.raises(ValueError, match=r"^[^\n]*$") as raised:
        scorer.probabilities(**given)
    assert message in str(raised.value)


def test_another_model_of_the_zoo_is_refused_in_one_line(tmp_path):
    graph = make_graph()
    model = NewtonNetClassifier("gcn", tune="off", **QUICK).fit(graph)
    with pytest.raises(ValueError, match="a member 'gcn' cannot be exported, only newtonnet, newton-stack, boosting"):
        export(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(TypeError, match="expected a fitted estimator, an Analysis or a run folder, got int"):
        export(3, tmp_path)


def test_a_run_is_exported_with_the_encoding_of_its_columns(tmp_path, write):
    tables = write(tmp_path / "tables")
    files = (tables.folder / "nodes.csv", tables.folder / "edges.csv")
    model = NewtonNetClassifier(tune="off", **QUICK)
    found = newtonnet.analyse(*files, label_column="kind", classifier=model, folds=0, folder=tmp_path / "run")
    path, _ = export(tmp_path / "run", tmp_path / "out")
    scorer, reading = Scorer(path), read_tables(*files, TableOptions(label_column="kind"))
    frame = pd.read_csv(files[0])
    x = scorer.encode({name: frame[name] for name in frame.columns})
    assert scorer.feature_names == ["size", "colour=green", "colour=red"]
    expected = reading.graph.features
    np.testing.assert_allclose(x, expected.toarray() if sp.issparse(expected) else expected, rtol=1e-6)
    shares = scorer.probabilities(reading.graph.adjacency, x)
    np.testing.assert_allclose(shares, found.model.predict_proba(reading.graph), atol=1e-5)
    with pytest.raises(ValueError, match="column 'colour' is missing; the model was fitted with it"):
        scorer.encode({"size": [1.0]})


def test_columns_are_encoded_as_tables_are(tmp_path):
    frame = pd.DataFrame(
        {
            "id": range(6),
            "age": [31.0, None, 50.0, 18.0, 44.0, 20.0],
            "member": [0, 1, 1, 0, None, 1],
            "town": ["Bonn", None, "Ulm", "Bonn", "Ulm", "Ulm"],
            "place": [[0.5, 1.0], [2.0, 3.0], [0.0, 0.0], [1.0, 1.0], [4.0, 2.0], [3.0, 3.0]],
        }
    )
    reading = read_tables(frame, pd.DataFrame({"source": [0, 1], "target": [2, 3]}))
    scorer = Scorer.__new__(Scorer)
    scorer.described = {"columns": [asdict(column) for column in reading.encoding.columns]}
    features = reading.graph.features
    dense = features.toarray() if sp.issparse(features) else features
    np.testing.assert_allclose(scorer.encode(frame), dense, rtol=1e-6, atol=1e-7)
    assert {column.kind for column in reading.encoding.columns} == {"number", "binary", "category", "vector"}


def test_a_model_without_tables_has_no_columns_to_encode(small):
    with pytest.raises(ValueError, match="was not fitted on columns; give its features themselves"):
        small[1].encode({"age": [3]})


def test_a_newer_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "FORMAT", 3)
    graph = make_graph()
    path, _ = export(classifier_of(graph, network("newtonnet", graph, Options())), tmp_path)
    with pytest.raises(ValueError, match=r"has format 3; use the scorer\.py that came with it"):
        Scorer(path)


def test_a_damaged_file_is_refused_in_one_line(tmp_path):
    graph = make_graph()
    path, _ = export(classifier_of(graph, network("newtonnet", graph, Options())), tmp_path)
    whole, arrays = path.read_bytes(), Scorer(path).arrays
    refusals = set()
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        try:
            found = Scorer(path).arrays
        except ValueError as refusal:
            refusals.add(str(refusal))
        else:  # a byte that nothing is read from
            assert all(np.array_equal(found[name], array) for name, array in arrays.items())
    assert refusals == {f"{path} is no exported model, or it was damaged; export it again"}
    for text in (whole[: len(whole) // 2], b"", b"no archive"):
        path.write_bytes(text)
        with pytest.raises(ValueError, match="is no exported model, or it was damaged"):
            Scorer(path)


def test_a_file_in_which_an_array_has_another_name_is_refused(tmp_path):
    graph = make_graph()
    path, _ = export(classifier_of(graph, network("newtonnet", graph, Options())), tmp_path)
    whole, names = path.read_bytes(), sorted(Scorer(path).arrays)
    assert len(names) > 3
    for name in names:
        path.write_bytes(whole.replace(f"{name}.npy".encode(), f"{name[:-1]}?.npy".encode()))
        with pytest.raises(ValueError, match="is no exported model, or it was damaged"):
            Scorer(path)
