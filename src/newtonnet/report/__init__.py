"""Reports: reads records, never trains."""

from .page import Study, headline, render
from .terminal import draw_response

__all__ = ["Study", "draw_response", "headline", "render"]
