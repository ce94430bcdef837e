"""``newtonnet export``: two files from a run folder, and mistakes in one line."""

import json

import numpy as np

from newtonnet import Analysis, NewtonNetClassifier, TableOptions, analyse
from newtonnet.analysis.scorer import Scorer
from newtonnet.cli import app, run
from newtonnet.tables import read_tables


def test_a_run_is_exported(tables, tmp_path, capsys):
    files = (tables.folder / "nodes.csv", tables.folder / "edges.csv")
    model = NewtonNetClassifier(tune="off", max_epochs=10, threads=1)
    analyse(*files, label_column="kind", classifier=model, folds=0, folder=tmp_path / "run")
    assert run(app, ["export", str(tmp_path / "run"), "--out", str(tmp_path / "out"), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["files"]
    assert written == [str(tmp_path / "out" / name) for name in ("model.npz", "scorer.py")]
    graph = read_tables(*files, TableOptions(label_column="kind")).graph
    ours = Analysis.load(tmp_path / "run").model.predict_proba(graph)
    np.testing.assert_allclose(Scorer(written[0]).probabilities(graph.adjacency, graph.features), ours, atol=1e-5)


def test_a_folder_without_a_run_is_refused_in_one_line(tmp_path, one_line):
    assert run(app, ["export", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    one_line("is not a run folder")
