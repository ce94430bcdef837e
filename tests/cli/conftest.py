"""Small tables as a person might have them, and a run folder made from them."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest

ODD = ["007", "7", "a,b", 'quo"te', "zoë 图", " lead", "-1", "line\nbreak"]
"""Ids that are easily damaged."""


def write_tables(folder, *, nodes=60, seed=0, labels=True, colours="red green"):
    """Two classes that avoid each other's company, told apart by a number and a colour; a fifth has no label."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    ids = [*ODD, *(f"n{i}" for i in range(len(ODD), nodes))]
    classes = rng.permutation(nodes) % 2
    known = rng.random(nodes) < 0.8
    header = ["id", *(["kind"] if labels else []), "size", "colour", "same"]
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        for name, kind, shown in zip(ids, classes, known, strict=True):
            colour = colours.split()[int(rng.random() < 0.2 + 0.6 * kind)]
            label = ["cat" if kind else "dog, big"] if shown else [""]
            size = f"{rng.normal() + 1.5 * kind:.3f}"
            writer.writerow([name, *(label if labels else []), size, colour, "3"])
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["source", "target"])
        for a, b in rng.integers(nodes, size=(4 * nodes, 2)):
            if a != b and (classes[a] == classes[b]) == (rng.random() < 0.9):
                writer.writerow([ids[a], ids[b]])
    return SimpleNamespace(
        folder=folder, ids=ids, arguments=["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv")]
    )


@pytest.fixture
def tables(tmp_path):
    return write_tables(tmp_path / "tables")


@pytest.fixture
def one_line(capsys):
    """Check that a mistake was told in one line on standard error, and that nothing else was printed."""

    def check(message):
        captured = capsys.readouterr()
        assert captured.out == ""
        (line,) = captured.err.splitlines()
        assert line.startswith("newtonnet: ")
        assert message in line

    return check


@pytest.fixture(scope="session")
def write():
    """Make tables in a folder."""
    return write_tables
