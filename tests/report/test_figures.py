import plotly.graph_objects as go
import pytest

from newtonnet.report import draw_response
from newtonnet.report.figures import (
    calibration_figure,
    comparison_figure,
    confusion_figure,
    homophily_figure,
    importance_figure,
    spectral_figure,
    training_figure,
)
from newtonnet.report.findings import filter_shape


def figures(findings):
    evaluation, shape = findings.evaluation, filter_shape(findings.response)
    yield spectral_figure(shape, findings.spectrum)
    yield spectral_figure(shape, None)
    yield spectral_figure(None, findings.spectrum)
    yield homophily_figure(findings.history, findings.homophily)
    yield training_figure(findings.history, "accuracy")
    yield comparison_figure(evaluation, "accuracy")
    yield confusion_figure(evaluation.confusion, findings.data.class_names)
    yield confusion_figure([[1] * 20] * 20, [str(i) for i in range(20)])
    yield calibration_figure(evaluation.bins)
    yield importance_figure(findings.importance.effects, "accuracy")


def test_plotly_accepts_every_figure(findings):
    for figure in figures(findings):
        assert len(go.Figure(figure).data) == len(figure["data"]) > 0


def test_plotly_refuses_a_figure_with_an_unknown_option(findings):
    figure = next(figures(findings))
    figure["data"][0]["colour"] = "red"
    with pytest.raises(ValueError, match="colour"):
        go.Figure(figure)


def test_the_spectrum_is_drawn_below_the_filter_on_the_same_frequencies(findings):
    figure = next(figures(findings))
    assert {trace.get("yaxis", "y") for trace in figure["data"]} == {"y", "y2"}
    assert figure["layout"]["yaxis2"]["domain"][1] < figure["layout"]["yaxis"]["domain"][0]
    assert all("xaxis" not in trace for trace in figure["data"])


def test_a_drawn_filter_has_its_highest_bar_at_its_largest_amplitude():
    picture = draw_response([0.1 * i for i in range(41)], height=4).splitlines()
    assert picture[0].startswith("4.0")
    assert picture[0].rstrip().endswith("█")
    assert picture[0].count("█") < picture[3].count("█")


def test_negative_amplitudes_are_dots():
    assert "·" in draw_response([-1.0] * 6 + [1.0] * 6)
