"""The page on extending the package is run as it stands."""

import re
from pathlib import Path

import pytest
import scipy.special
import torch

from newtonnet.nn import ZOO

PAGE = Path(__file__).parent.parent / "docs" / "extending.md"


@pytest.fixture(scope="module")
def names():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    space: dict[str, object] = {}
    try:
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), space)
        yield space
    finally:
        ZOO.pop("second", None)


def test_a_new_filter_takes_about_twenty_lines():
    block = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)[0]
    assert len([line for line in block.splitlines() if line.strip()]) <= 20


def test_the_new_filter_is_what_the_page_says(names):
    filter = names["model"].filter
    weights = torch.rand(9, dtype=torch.float64)
    frequency = torch.linspace(0.01, 1.99, 50, dtype=torch.float64)
    expected = sum(float(w) * scipy.special.eval_chebyu(k, frequency.numpy() - 1) for k, w in enumerate(weights))
    assert filter.response(frequency, {"weights": weights}).numpy() == pytest.approx(expected, abs=1e-9)


def test_the_new_filter_trains_and_takes_the_penalty(names):
    record = names["record"]
    third = len(record.outcome.response) // 3
    assert record.outcome.test > 0.8
    assert sum(record.outcome.response[-third:]) > sum(record.outcome.response[:third])
