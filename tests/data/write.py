"""Write what a release stores: `python tests/data/write.py` makes a folder named after the version, once per release.

Every later 0.x must read it; ``tests/test_older_files.py`` compares the predictions.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from newtonnet import NewtonNetClassifier, NewtonNetRegressor, __version__, analyse
from newtonnet.tables import load_tables

SMALL = {"tune": "off", "folds": 2, "max_epochs": 30, "threads": 1}
MODELS = {
    "newtonnet": {"hidden": 8},
    "newton-stack": {"hidden": 8, "layers": 2},
    "ridge": None,
    "boosting": {"max_iterations": 20, "max_leaves": 4},
}
"""One model of every family, and settings that keep its file small."""


def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sixty nodes whose neighbours differ, with every kind of column."""
    rng = np.random.default_rng(7)
    kind = rng.integers(0, 2, 60)
    known = np.where(rng.random(60) < 0.7, np.where(kind == 0, "buyer", "seller"), None)
    nodes = pd.DataFrame(
        {
            "id": [f"C-{i:03d}" for i in range(60)],
            "size": np.where(rng.random(60) < 0.1, np.nan, rng.normal(kind, 1.0).round(3)),
            "city": rng.choice(["Aachen", "Bonn", "Köln"], 60),
            "since": [f"2020-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(60)],
            "kind": known,
        }
    )
    ends = rng.integers(0, 60, (2, 600))
    kept = ends[:, (kind[ends[0]] != kind[ends[1]]) | (rng.random(600) < 0.1)][:, :150]
    return nodes, pd.DataFrame({"source": nodes["id"].to_numpy()[kept[0]], "target": nodes["id"].to_numpy()[kept[1]]})


def main() -> None:
    place = Path(__file__).parent / __version__
    place.mkdir()
    nodes, edges = tables()
    nodes.to_csv(place / "nodes.csv", index=False)
    edges.to_csv(place / "edges.csv", index=False)
    graph = load_tables(place / "nodes.csv", place / "edges.csv", label_column="kind")
    expected = {}
    for name, settings in MODELS.items():
        model = NewtonNetClassifier(name, settings=settings, transferable=name != "newton-stack", **SMALL).fit(graph)
        model.save(place / f"{name}.safetensors")
        expected[name] = model.predict_proba(graph).round(6).tolist()
    numbers = load_tables(place / "nodes.csv", place / "edges.csv", target_column="size", ignore=("kind",))
    regressor = NewtonNetRegressor(settings={"hidden": 8}, transferable=True, **SMALL).fit(numbers)
    regressor.save(place / "regressor.safetensors")
    expected["regressor"] = regressor.predict(numbers).round(6).tolist()
    (place / "probabilities.json").write_text(json.dumps(expected))
    # Tables in memory, so that the run names no files of the machine that wrote it.
    classifier = NewtonNetClassifier(settings={"hidden": 8}, transferable=True, **SMALL)
    analyse(nodes, edges, label_column="kind", classifier=classifier, compare=False, folder=place / "run")
    (place / "run" / "report.html").unlink()  # megabytes, and read by nobody but a person


if __name__ == "__main__":
    main()
