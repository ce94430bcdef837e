"""The peak of a whole `fit`, measured in a process of its own, is what it says before, and a limit is kept."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fit_memory.py"


def measure(*words):
    done = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what a process holds is read from /proc")
def test_the_peak_is_said_before_and_a_limit_is_kept():
    short = ("--folds", "0", "--no-compare", "--threads", "2")
    one = ("--model", "tuned-gcn", "--no-tune", "--max-epochs", "2", "--time-limit", "12s", *short)
    free = measure("20000", "60000", "16", *one)
    assert 0.9 * free["peak"] <= free["stated"][0] <= 1.3 * free["peak"]
    limit = round(0.8 * free["peak"])
    cut = measure("20000", "60000", "16", "--max-memory", f"{limit}MB", "--time-limit", "5s", *short)
    assert cut["code"] == 0
    assert cut["peak"] <= 1.1 * limit
