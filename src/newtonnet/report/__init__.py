"""Reports: reads records and stored results, never trains."""

from .findings import Agreement, Data, Evaluation, Findings, History, Part, Response, Scores, Spectrum
from .findings_page import render_findings
from .page import Study, headline, render
from .terminal import draw_response

__all__ = [
    "Agreement",
    "Data",
    "Evaluation",
    "Findings",
    "History",
    "Part",
    "Response",
    "Scores",
    "Spectrum",
    "Study",
    "draw_response",
    "headline",
    "render",
    "render_findings",
]
