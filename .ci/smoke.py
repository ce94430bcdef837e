"""Use an installed newtonnet as a user would: fit, predict, explain, the page, and what lacks an extra says so."""

import csv
import json
import os
import random
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

EXTRAS = {
    "search": "newtonnet search digits --model mlp --trials 12 --splits 2",
    "pyg": "newtonnet train cora",
    "cluster": "newtonnet search digits --model mlp --trials 1 --splits 2 --executor ray",
    "paper": "newtonnet-paper reproduce theory --no-run --out pages",
}
"""A command for each extra that needs it."""


def run(command: str, *, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command with the kernels required, and check its exit code."""
    words = command.split()
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "NEWTONNET_KERNELS": "require"})
    if done.returncode != code:
        sys.exit(f"{command}: expected exit code {code}, got {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def write_tables() -> None:
    """Two hundred nodes whose neighbours differ."""
    rng = random.Random(0)
    kinds = [rng.choice(["buyer", "seller"]) for _ in range(200)]
    with open("nodes.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "size", "kind"])
        for i, kind in enumerate(kinds):
            rows.writerow([f"C-{i}", rng.gauss(kind == "buyer", 1), kind if rng.random() < 0.6 else ""])
    with open("edges.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["source", "target"])
        for _ in range(1500):
            a, b = rng.randrange(200), rng.randrange(200)
            if a != b and rng.random() < (0.9 if kinds[a] != kinds[b] else 0.1):
                rows.writerow([f"C-{a}", f"C-{b}"])


def cpu_seconds(code: str) -> float:
    """CPU time of a fresh interpreter that runs some code."""
    before = os.times()
    subprocess.run([sys.executable, "-I", "-c", code], check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Run everything; the first thing that is wrong ends it."""
    for name in ("g++", "gcc", "cc", "clang"):
        assert shutil.which(name) is None, f"{name} is in reach"
    import newtonnet
    from newtonnet.kernels.native import native

    packages = Path(sysconfig.get_path("purelib"))
    assert Path(newtonnet.__file__).is_relative_to(packages), newtonnet.__file__
    for name in ("optuna", "ray", "torch_geometric", "matplotlib", "pandas", "pytest"):
        assert not (packages / name).exists(), f"{name} is no part of the core"
    assert newtonnet.__version__ in run("newtonnet --version").stdout

    write_tables()
    tables = "--nodes nodes.csv --edges edges.csv"
    fitted = run(f"newtonnet fit {tables} --label-column kind --out run --transferable --time-limit 30s --json")
    summary = json.loads(fitted.stdout.splitlines()[-1])
    assert summary["cross_validation"]["mean"] > 0.8, summary
    run(f"newtonnet predict run {tables} --out again.csv")
    with open("again.csv", newline="") as file:
        assert len(list(csv.reader(file))) == 201
    why = json.loads(run("newtonnet explain run --node C-0 --json").stdout)
    assert "C-0" in json.dumps(why)
    assert Path("run/report.html").stat().st_size > 1_000_000, "the page brings its own plotly"
    for extra, command in EXTRAS.items():
        lines = run(command, code=2).stderr.strip().splitlines()
        assert lines[-1].startswith("newtonnet: "), lines
        assert f"newtonnet-spectral[{extra}]" in lines[-1], lines
        assert not [line for line in lines if "Traceback" in line], lines

    size = sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())
    seconds = {code: cpu_seconds(code) for code in ("import newtonnet", "from newtonnet import NewtonNetClassifier")}
    print(f"installed: {size / 1e6:,.0f} MB; kernels: {native().__name__}")
    print("; ".join(f"{code}: {took:.2f} s of CPU time" for code, took in seconds.items()))


if __name__ == "__main__":
    main()
