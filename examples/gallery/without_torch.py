"""How do I score where torch is not installed?

`export` writes two files: `model.npz` and `scorer.py`, which needs NumPy and SciPy alone. Copy them to where
predictions are needed. [Scoring without torch](../export.md) says what they take.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import newtonnet
from newtonnet.datasets import customers
from newtonnet.tables import load_tables

tables = customers(300)
model = newtonnet.NewtonNetClassifier("ridge", tune="off").fit(tables, "status")
expected = model.predict_proba(tables)[:, 0]

# The other side: a process that may not import torch.
PROGRAM = """
import sys
sys.modules["torch"] = None
import numpy as np
from scorer import Scorer

given = np.load("given.npz")
scorer = Scorer("model.npz")
np.save("found.npy", scorer.probabilities(given["edges"], given["features"]))
"""
with tempfile.TemporaryDirectory() as folder:
    newtonnet.export(model, folder)
    ids = {name: place for place, name in enumerate(tables[0]["id"].to_pylist())}
    edges = [[ids[name] for name in column.to_pylist()] for column in tables[1].columns]
    graph = load_tables(*tables, label_column="status")
    np.savez(Path(folder, "given.npz"), edges=edges, features=graph.features)
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, check=True)
    found = np.load(Path(folder, "found.npy"))[:, 0]

print(f"largest difference of {len(found)} probabilities: {np.abs(found - expected).max():.0e}")
figure, axes = plt.subplots(figsize=(4, 4), layout="constrained")
axes.plot(expected, found, ".")
axes.set(xlabel="newtonnet", ylabel="scorer.py", title="probability of leaving")
