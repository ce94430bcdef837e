import numpy as np
import pytest
from scipy.interpolate import BarycentricInterpolator

from newtonnet_paper.claim import Request
from newtonnet_paper.interpolation import INTERPOLATION, approximation, framework, runge


@pytest.fixture(scope="module")
def report():
    return INTERPOLATION.summarise([{"key": unit.key, **unit.run()} for unit in INTERPOLATION.units(Request())])


def test_interpolation_agrees_with_scipy_and_passes_through_its_points():
    data = approximation()
    expected = BarycentricInterpolator(data["points"], data["values"])(np.array(data["grid"]))
    assert data["fits"]["interpolation"] == pytest.approx(expected, abs=1e-9)
    assert data["misses"]["interpolation"] < 1e-12
    assert min(data["misses"]["least squares"], data["misses"]["bernstein"]) > 0.1


def test_runge_errors_agree_with_scipy():
    data = runge()
    grid = np.linspace(0, 2, 4001)
    bump = lambda x: 1 / (1 + 25 * (x - 1) ** 2)  # noqa: E731
    for degree in (5, 10):
        q = np.linspace(0, 2, degree + 1)
        expected = np.abs(BarycentricInterpolator(q, bump(q))(grid) - bump(grid)).max()
        assert data["errors"]["equispaced"][data["degrees"].index(degree)] == pytest.approx(expected, rel=1e-6)
    assert data["degrees"] == list(range(2, 21))


def test_the_penalty_encourages_low_frequencies_above_chance_and_high_ones_below():
    shapes = framework()["shapes"]
    # Each step multiplies a value by 1 + 0.1 * 2 * 0.3 where its band is encouraged, by 1 - 0.06 where not.
    up, down = 1.06**10, 0.94**10
    assert shapes["homophilous"]["values"] == pytest.approx([up, up, down, down, down, down])
    assert shapes["heterophilous"]["values"] == pytest.approx([down, down, down, down, up, up])


def test_the_candidates_are_six_levels_in_each_third(report):
    panel = next(figure for figure in report.figures if figure.name == "candidates").panels[0]
    dashed = [series for series in panel.series if series.kind == "dashed"]
    assert len(dashed) == 18
    assert {series.y[0] for series in dashed if series.role == "middle"} == {0.0, 0.4, 0.8, 1.2, 1.6, 2.0}
    assert panel.series[-1].y == (0.4, 0.4, 1.6, 1.6, 0.8, 0.8)


def test_both_statements_hold_and_all_drawings_are_there(report):
    assert [finding.verdict for finding in report.findings] == ["holds", "holds"]
    assert [figure.name for figure in report.figures] == ["candidates", "framework", "approximation", "runge"]
    assert INTERPOLATION.summarise([]).findings[0].verdict == "not measured yet"
