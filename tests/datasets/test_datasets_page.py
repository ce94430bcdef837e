from pathlib import Path

import numpy as np
import pytest

from newtonnet.cli import run
from newtonnet.datasets import DatasetSummary, Published
from newtonnet_paper.cli import app
from newtonnet_paper.datasets_page import compare, comparison_page, measured_rows

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


@pytest.fixture(scope="module")
def rows(data_root, manifest):
    return measured_rows(data_root)


def test_the_committed_page_is_what_the_command_writes(rows):
    assert PAGE.read_text(encoding="utf-8") == comparison_page(rows)


def test_every_difference_is_explained(rows):
    unexplained = [
        entry.name
        for entry, summary, _ in rows
        if summary.available and entry.published and compare(summary, entry.published) and not entry.differences
    ]
    assert not unexplained


def test_nothing_is_explained_that_does_not_differ(rows):
    idle = [
        entry.name
        for entry, summary, _ in rows
        if summary.available and entry.differences and not compare(summary, entry.published)
    ]
    assert not idle


def test_homophily_is_compared_as_it_is_printed():
    published = Published(3, 2, 1, 2, "someone", 0.24)
    assert compare(DatasetSummary("x", True, 3, 2, 1, 2, 0.2449, "accuracy"), published) == ()
    assert compare(DatasetSummary("x", True, 3, 2, 1, 2, 0.2301, "accuracy"), published) == ("homophily",)
    assert compare(DatasetSummary("x", True, 4, 2, 1, 2, 0.9, "accuracy"), Published(3, 2, 1, 2, "x")) == ("nodes",)


def test_the_page_is_written_and_marks_what_is_not_explained(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NEWTONNET_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "root/HeterophilousGraphDataset/questions/raw/questions.npz"
    path.parent.mkdir(parents=True)
    masks = {
        f"{part}_masks": np.tile(np.arange(6) % 3 == i, (10, 1)) for i, part in enumerate(("train", "val", "test"))
    }
    edges = np.stack([np.arange(5), np.arange(1, 6)], axis=1)
    labels = np.repeat([0, 1], 3)
    np.savez(path, node_features=np.eye(6, dtype=np.float32), node_labels=labels, edges=edges, **masks)
    assert run(app, ["datasets", "--out", str(tmp_path / "page.md"), "--data-root", str(tmp_path / "root")]) == 0
    page = (tmp_path / "page.md").read_text()
    assert "| questions | *6* (48921) | *5* (153540) | *6* (301) | 2 | *0.80* (0.84) | roc_auc | unverified |" in page
    assert "**questions** (nodes, edges, features, homophily): NOT EXPLAINED." in page
    assert capsys.readouterr().out == ""
