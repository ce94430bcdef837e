"""Reports: reads records and stored results, never trains."""

from .drawings import draw, save_figure
from .exhibits import print_report, report_markdown, table_markdown
from .findings import Agreement, Data, Evaluation, Findings, History, Part, Response, Scores, Spectrum
from .findings_page import render_findings
from .page import Study, headline, render
from .results_page import Shown, fill_results, results_page, show_stored
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
    "Shown",
    "Spectrum",
    "Study",
    "draw",
    "draw_response",
    "fill_results",
    "headline",
    "print_report",
    "render",
    "render_findings",
    "report_markdown",
    "results_page",
    "save_figure",
    "show_stored",
    "table_markdown",
]
