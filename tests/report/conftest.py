from dataclasses import replace

import numpy as np
import pytest

from newtonnet.estimator import Effect, Importance
from newtonnet.report.findings import (
    Data,
    EnsembleMember,
    Findings,
    GraphHomophily,
    HeldOutResults,
    History,
    IntervalCoverage,
    ModelScores,
    NodeGroup,
    NumberErrors,
    NumberResults,
    Response,
    Spectrum,
    TargetSummary,
)

CLASSES = ("student", "faculty", "course", "project", "staff")
COUNTS = (412, 285, 240, 173, 90)
POINTS = (0.0, 0.4, 0.8, 1.2, 1.6, 2.0)
SPLITS = 10
SETTINGS = {
    "degree": 5,
    "points": "equispaced",
    "hidden": 64,
    "learning_rate": 0.01,
    "filter_learning_rate": 0.005,
    "weight_decay": 0.0005,
    "dropout": 0.5,
    "gammas": (2.0, 1.0, 3.0),
    "patience": None,
    "self_loops": False,
}


@pytest.fixture(scope="session")
def findings():
    """A heterophilous graph of five classes, evaluated on ten splits, with numbers as a real run gives them."""
    rng = np.random.default_rng(7)
    return Findings(
        title="People of four departments",
        model="newtonnet",
        command="newtonnet fit --nodes people.csv --edges links.csv --label-column role --out run/ --seed 0",
        version="0.1.0",
        metric="accuracy",
        ensemble=[
            EnsembleMember("newtonnet", 0.62, SETTINGS, drawn=True),
            EnsembleMember("newton-stack", 0.38, {"layers": 3}, drawn=False),
        ],
        tried=24,
        seconds=93.4,
        data=Data(
            nodes=1520,
            edges=6843,
            features=1703,
            feature_kind="sparse",
            class_names=CLASSES,
            class_counts=COUNTS,
            isolated=12,
            components=17,
            weighted=False,
            warnings=("12 nodes have no edge; for them the model sees features alone.",),
        ),
        homophily=GraphHomophily(measured=0.112, labelled_edges=4310, learned=0.131, chance=0.244),
        spectrum=spectrum(),
        response=response(rng),
        history=[history(rng) for _ in range(SPLITS)],
        evaluation=evaluation(rng),
        explained=[explained_node(i) for i in range(3)],
        leaderboard=[
            leaderboard_row("newtonnet", {"gammas": [2.0, 1.0, 3.0], "learning_rate": 0.01}, 0.79, 0.62),
            leaderboard_row("newton-stack", {"layers": 3}, 0.781, 0.38),
            leaderboard_row("ridge", {}, 0.72, 0.0),
        ],
        importance=importance(),
    )


def leaderboard_row(model, setting, score, weight):
    return {"model": model, "setting": setting, "score": score, "folds": 5, "seconds": 12.5, "weight": weight}


def importance(names=("age", "income", "city")):
    """As :func:`newtonnet.estimator.importance.measure_importance` gives it."""
    effects = [Effect(name, "feature", 0.05 / i, (0.01, 0.09), 1, 5) for i, name in enumerate(names, 1)]
    effects.append(Effect("without edges", "structure", 0.12, (0.1, 0.14), 0, 1))
    return Importance("accuracy", 0.79, 1200, tuple(effects), 2)


def explained_node(i, names=CLASSES):
    """As :func:`newtonnet.report.explained_node` gives it."""
    rows = [[f"P-{i}", 0, True, 0, 0.5, 0.0, 0.0, 0], ["P-9", 1, False, 1, -0.25, 0.0, -1.0, 0]]
    return {
        "node": f"P-{i}",
        "class": names[0],
        "against": names[1],
        "method": "exact",
        "total": 0.45,
        "bias": 0.2,
        "remainder": 0.0,
        "nodes": [{"node": row[0], "hops": row[3], "contribution": row[4]} for row in rows],
        "other_nodes": 0.0,
        "hops": {"0": 0.5, "1": -0.25},
        "features": [{"feature": "age", "contribution": 0.25}],
        "other_features": 0.0,
        "bands": {"low": 0.25, "middle": 0.0, "high": 0.0},
        "group": "uncertain",
        "probability": 0.61,
        "label": None,
        "drawing": {"nodes": rows, "links": [[0, 1]]},
    }


def response(rng):
    frequencies = np.round(np.arange(41) * 0.05, 2)
    shape = np.array([0.22, 0.05, 0.0, 0.34, 0.81, 1.0])
    rows, values = [], []
    for _ in range(SPLITS):
        t = np.maximum(shape + 0.06 * rng.standard_normal(6), 0) * rng.uniform(0.8, 2.2)
        polynomial = np.polynomial.Chebyshev.fit(POINTS, t, 5, domain=[0, 2])
        values.append(t.tolist())
        rows.append(polynomial(frequencies).tolist())
    return Response(
        frequencies=frequencies.tolist(),
        responses=rows,
        points=POINTS,
        values=values,
        nonnegative=True,
        gammas=(2.0, 1.0, 3.0),
        pivot=0.2,
        homophily=0.131,
        squared=True,
    )


def spectrum():
    x = np.linspace(0, 2, 101)
    density = np.exp(-(((x - 1) / 0.32) ** 2)) + 0.35 * np.exp(-(((x - 0.12) / 0.08) ** 2))
    energy = np.exp(-(((x - 1.45) / 0.28) ** 2)) + 0.2 * np.exp(-(((x - 0.5) / 0.3) ** 2))
    scaled = [(y / np.trapezoid(y, x)).tolist() for y in (density, energy)]
    return Spectrum(frequencies=x.tolist(), density=scaled[0], label_energy=scaled[1], predicted=True)


def history(rng):
    epochs = list(range(0, int(rng.integers(180, 320)), 10))
    rise = 1 - np.exp(-np.array(epochs) / 40)
    validation = 0.3 + 0.5 * rise + 0.012 * rng.standard_normal(len(epochs))
    return History(
        epochs=epochs,
        train=(0.25 + 0.72 * rise).tolist(),
        validation=validation.tolist(),
        homophily=(0.34 - 0.21 * rise + 0.006 * rng.standard_normal(len(epochs))).tolist(),
        best_epoch=epochs[int(validation.argmax())],
    )


def scores(model, centre, spread, rng, seconds, ahead=None):
    splits = np.clip(centre + spread * rng.standard_normal(SPLITS), 0, 1)
    reach = 2.26 * splits.std(ddof=1) * (1 / SPLITS + 1 / (SPLITS - 1)) ** 0.5
    mean = float(splits.mean())
    return ModelScores(model, splits.tolist(), mean, (mean - reach, mean + reach), seconds, ahead)


def evaluation(rng):
    ours = scores("newtonnet", 0.79, 0.018, rng, 41.2)
    others = [
        scores("mlp", 0.735, 0.02, rng, 12.9, ahead=(0.055, 0.031, 0.079)),
        scores("gcn", 0.561, 0.024, rng, 18.3, ahead=(0.229, 0.201, 0.257)),
    ]
    right = (0.88, 0.81, 0.83, 0.69, 0.42)
    confusion = []
    for i, (count, share) in enumerate(zip(COUNTS, right, strict=True)):
        correct = round(count * share)
        others_of_row = rng.multinomial(count - correct, [0.25] * 4).tolist()
        confusion.append([*others_of_row[:i], correct, *others_of_row[i:]])
    table = np.array(confusion)
    precision, recall = table.diagonal() / table.sum(axis=0), table.diagonal() / table.sum(axis=1)
    return HeldOutResults(
        ours=ours,
        others=others,
        majority=COUNTS[0] / sum(COUNTS),
        confusion=confusion,
        precision=precision.tolist(),
        recall=recall.tolist(),
        f1=(2 * precision * recall / (precision + recall)).tolist(),
        bins=[
            (0.35, 0.31, 60),
            (0.46, 0.42, 95),
            (0.55, 0.5, 140),
            (0.65, 0.58, 180),
            (0.75, 0.7, 210),
            (0.85, 0.79, 255),
            (0.95, 0.91, 260),
        ],
        calibration_error=0.049,
        calibration_interval=(0.028, 0.066),
        groups=[
            NodeGroup("no neighbours", 12, 0.67, (0.39, 0.86)),
            NodeGroup("1 to 2 neighbours", 200, 0.61, (0.54, 0.67)),
            NodeGroup("10 or more neighbours", 988, 0.82, (0.79, 0.84)),
        ],
    )


@pytest.fixture(scope="session")
def priced(findings):
    """The same graph with a number to predict, whose name would break a page which trusts it."""
    rng = np.random.default_rng(8)
    truth = np.sort(rng.lognormal(3, 1, 400))
    predicted = truth + rng.standard_normal(400) * 4
    name = "price <b>€</b>"
    node = {"target": name, "prediction": "21.5", "kinds": ["below 9", "9 to 30", "above 30"], "label": "20.1"}
    shown = [{**explained_node(i), **node, "class": None, "against": None} for i in range(3)]
    return replace(
        findings,
        metric="r2",
        data=replace(
            findings.data,
            class_names=(name,),
            class_counts=(1200,),
            target=TargetSummary(name, 33.1, 41.2, (1.2, 10.1, 20.3, 39.8, 412.0), 398),
        ),
        homophily=GraphHomophily(measured=-0.41, labelled_edges=4310, learned=-0.37, chance=0.0),
        response=replace(findings.response, pivot=0.0, homophily=-0.37),
        evaluation=NumberResults(
            ours=scores("newtonnet", 0.79, 0.018, rng, 41.2),
            others=[
                scores("mlp", 0.4, 0.02, rng, 12.9, ahead=(0.39, 0.35, 0.43)),
                scores("boosting", 0.78, 0.02, rng, 12.9, ahead=(0.01, -0.02, 0.04)),
            ],
            errors=NumberErrors(r2=0.79, mae=3.2, rmse=4.1, constant_mae=21.5, constant_rmse=41.2),
            truth=truth.tolist(),
            predicted=predicted.tolist(),
            parts=[(1.2, 10.0, 80, 2.5, 0.3), (10.0, 400.0, 320, 3.4, -0.1)],
            intervals=IntervalCoverage(0.9, 0.915, 13.4),
            method="For each of 5 folds, the model was fitted again without its nodes.",
        ),
        explained=shown,
        sets=None,
        curve=None,
    )


HOSTILE = ("<script>alert(1)</script>", "</script><!--", '"><img src=x onerror=alert(1)>', "<b>bold</b>", "a\u2028b")


@pytest.fixture(scope="session")
def hostile(findings):
    """The same run with names that would break a page which trusts them."""
    return replace(
        findings,
        title=HOSTILE[0],
        model=HOSTILE[2],
        command=f"newtonnet fit --title '{HOSTILE[1]}'",
        version="<i>0</i>",
        ensemble=[EnsembleMember(HOSTILE[2], 1.0, {HOSTILE[0]: HOSTILE[2]}, drawn=True)],
        warnings=(HOSTILE[2],),
        explained=[explained_node(0, HOSTILE) | {"node": HOSTILE[1], "label": HOSTILE[2], "group": HOSTILE[3]}],
        data=replace(findings.data, class_names=HOSTILE, feature_kind=HOSTILE[3], warnings=(HOSTILE[1],)),
        evaluation=replace(
            findings.evaluation,
            ours=replace(findings.evaluation.ours, model=HOSTILE[2]),
            others=[replace(findings.evaluation.others[0], model=HOSTILE[0])],
        ),
        leaderboard=[leaderboard_row(HOSTILE[0], {HOSTILE[1]: HOSTILE[2]}, 0.5, 1.0)],
        importance=importance(HOSTILE),
    )
