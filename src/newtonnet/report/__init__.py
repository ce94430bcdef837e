"""The page of a fit: findings gathered from a fitted classifier, in words, figures and HTML. Nothing is trained here.

The text at the top of the page is written by :func:`headline`.
"""

from .figures import draw_response
from .findings import Findings, HeldOutResults, ModelScores, NumberResults
from .fit_page import render_findings
from .gathering import gather, graph_homophily, spectrum_bytes
from .records_page import RecordGroup, render_records
from .why import GROUPS, explained_node, nodes_to_explain, render_why
from .words import (
    amount,
    comparisons,
    decimal,
    duration,
    guess,
    headline,
    is_known,
    metric_name,
    percent,
    percent_range,
    plain,
    threshold_words,
)

__all__ = [
    "GROUPS",
    "Findings",
    "HeldOutResults",
    "ModelScores",
    "NumberResults",
    "RecordGroup",
    "amount",
    "comparisons",
    "decimal",
    "draw_response",
    "duration",
    "explained_node",
    "gather",
    "graph_homophily",
    "guess",
    "headline",
    "is_known",
    "metric_name",
    "nodes_to_explain",
    "percent",
    "percent_range",
    "plain",
    "render_findings",
    "render_records",
    "render_why",
    "spectrum_bytes",
    "threshold_words",
]
