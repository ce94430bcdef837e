from pathlib import Path

import pytest

from newtonnet.datasets import CATALOGUE, load_dataset, summarise
from newtonnet.datasets.comparison import compare, comparison_page
from newtonnet.datasets.entry import Published
from newtonnet.datasets.summary import Summary

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


@pytest.fixture(scope="module")
def rows(data_root, manifest):
    summaries = [summarise(name, data_root=data_root) for name in CATALOGUE]
    return [
        (CATALOGUE[s.name], s, load_dataset(s.name, data_root=data_root).files if s.available else ())
        for s in summaries
    ]


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
    published = Published(3, 2, 1, 2, 0.24, "someone")
    assert compare(Summary("x", True, 3, 2, 1, 2, 0.2449, "accuracy"), published) == ()
    assert compare(Summary("x", True, 3, 2, 1, 2, 0.2301, "accuracy"), published) == ("homophily",)
    assert compare(Summary("x", True, 4, 2, 1, 2, 0.9, "accuracy"), Published(3, 2, 1, 2, None, "x")) == ("nodes",)
