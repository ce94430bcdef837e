"""Reports: reads records and stored results, never trains."""

from .drawings import draw, save_figure
from .exhibits import print_report, report_markdown, table_markdown
from .page import Study, headline, render
from .terminal import draw_response

__all__ = [
    "Study",
    "draw",
    "draw_response",
    "headline",
    "print_report",
    "render",
    "report_markdown",
    "save_figure",
    "table_markdown",
]
