"""Which settings are best, and can a cluster find them?

A search tries settings of a model, trains each on every split, and stores every trial. `on_ray()` starts Ray on this
machine; with an address the same lines run on a cluster. Stop a search at any time: the next call continues where it
ended.
"""

import tempfile

import matplotlib.pyplot as plt

from newtonnet.search import make_study, on_ray, open_store, sweep

study = make_study("digits", "newtonnet", splits=2, max_epochs=40, fixed={"hidden": 16})
with tempfile.TemporaryDirectory() as folder, open_store(folder, study) as store, on_ray(workers=2) as executor:
    trials = sorted(sweep(study, store, executor=executor, trials=8), key=lambda trial: -trial.objective)

for trial in trials[:3]:
    print(f"validation {100 * trial.objective:.1f}%: {dict(trial.setting)}")

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot([trial.number for trial in trials], [100 * trial.objective for trial in trials], "o")
axes.set(xlabel="trial", ylabel="validation accuracy, %")
