"""Pages and drawings of the laboratory, made from what is stored."""

from .drawings import draw, save_figure
from .exhibits import print_report, report_markdown, table_markdown
from .results_page import Shown, fill_results, results_page, show_stored

__all__ = [
    "Shown",
    "draw",
    "fill_results",
    "print_report",
    "report_markdown",
    "results_page",
    "save_figure",
    "show_stored",
    "table_markdown",
]
