"""The whole way from drawing a graph to training on it takes bounded memory."""

import json
import subprocess
import sys

import pytest

WAY = """
import json, sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from newtonnet_paper import scale as stages
size = stages.ScaleSize(80_000, 400_000, 48, degree=5, epochs=2, batch=4096, max_memory=8_000_000, threads=1)
works = {"generate": stages._generate, "precompute": stages._precompute, "train": stages._train}
for work in works.values():  # what is loaded and compiled once does not count
    work(replace(size, nodes=2000, edges=10_000), Path(sys.argv[1]) / "first")
for name, work in works.items():
    print(json.dumps(asdict(stages._measure(name, partial(work, size, Path(sys.argv[1]))))))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
def test_memory_is_bounded_by_what_was_allowed_and_not_by_the_blocks(tmp_path):
    made = subprocess.run([sys.executable, "-c", WAY, str(tmp_path)], capture_output=True, text=True, check=True)
    stages = [json.loads(line) for line in made.stdout.splitlines()]
    grown = {stage["name"]: stage["megabytes"] - stage["base"] for stage in stages}
    facts = {stage["name"]: stage["facts"] for stage in stages}
    blocks = sum(path.stat().st_size for path in (tmp_path / "blocks").glob("T*.f32")) / 1e6
    assert blocks == pytest.approx(92.16)
    assert facts["precompute"]["columns"] == 8
    assert facts["train"]["losses"][1] < facts["train"]["losses"][0]
    assert grown["precompute"] < 8 + 40
    assert grown["train"] < 8 + 40
