"""Do today's numbers agree with the stored ones? Train stored settings again, on all splits, with five seeds.

Three stored trials of every method of the paper's main table on texas and cora are trained again as the search
trained them. Each stored mean test score is compared with the mean over the seeds, in standard errors of the
difference:

    z = (stored - mean) / (std over seeds * sqrt(1 + 1 / seeds))

Usage: python benchmarks/stored_settings.py OUT.jsonl [--datasets texas cora] [--seeds 5]
(It continues where OUT.jsonl ends.)
"""

import argparse
import json
import statistics
import time
from dataclasses import fields, replace
from pathlib import Path

import torch

from newtonnet.datasets import load_dataset, make_splits
from newtonnet.nn import build
from newtonnet.search import Study, read_study, read_trials
from newtonnet.training import OUTDATED, fit

METHODS = (
    "mlp",
    "gcn",
    "mixhop",
    "appnp",
    "gprgnn",
    "bernnet",
    "jacobiconv",
    "chebnet",
    "chebnetii",
    "glognn++",
    "newtonnet",
)
RESULTS = Path(__file__).parent.parent / "results" / "search"


def chosen(path: Path) -> list:
    """The first, a middle and the last trial of a stored search that failed on no split and can still be trained."""
    trials = [
        trial
        for trial in read_trials(path)
        if not (trial.failed or trial.dropped) and trial.setting.get("variant") != OUTDATED
    ]
    return [trials[0], trials[len(trials) // 2], trials[-1]]


def main() -> None:
    """Train what is missing and print how many settings disagree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--datasets", nargs="+", default=["texas", "cora"])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    done = {(row["dataset"], row["method"], row["trial"]): row for row in map(json.loads, lines)}
    for dataset in given.datasets:
        graph = load_dataset(dataset).graph
        for method in given.methods:
            path = RESULTS / dataset / f"{method}.jsonl"
            described = read_study(path)
            study = Study(**{field.name: described[field.name] for field in fields(Study)})
            splits = make_splits(graph, study.protocol, count=study.splits)
            for trial in chosen(path):
                key = (dataset, method, trial.number)
                if key in done:
                    continue
                began, means = time.monotonic(), []
                setting = study.setting(trial.setting)
                for seed in range(given.seeds):  # seed 0 trains as the search did
                    configs = [
                        replace(setting.config, seed=split.index + 1000 * seed, run_seed=seed) for split in splits
                    ]
                    model = build(method, graph, setting.options, seeds=[config.seed for config in configs])
                    records = fit(model, graph, splits, configs, threads=1)
                    means.append(100 * statistics.fmean(record.outcome.test or 0.0 for record in records))
                stored = 100 * statistics.fmean(trial.test)
                error = statistics.stdev(means) * (1 + 1 / len(means)) ** 0.5
                row = {
                    "dataset": dataset,
                    "method": method,
                    "trial": trial.number,
                    "stored": round(stored, 3),
                    "again": [round(mean, 3) for mean in means],
                    "z": round((stored - statistics.fmean(means)) / max(error, 1e-9), 2),
                    "seconds": round(time.monotonic() - began, 1),
                }
                done[key] = row
                with given.out.open("a") as stream:
                    stream.write(json.dumps(row) + "\n")
                print(row, flush=True)
    sizes = [abs(row["z"]) for row in done.values()]
    beyond = [sum(size > limit for size in sizes) for limit in (2, 4)]
    print(f"{len(sizes)} settings: {beyond[0]} beyond two standard errors, {beyond[1]} beyond four")


if __name__ == "__main__":
    main()
