"""Figures for papers: curves drawn with matplotlib and written as PNG and SVG without a display."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from newtonnet.files import whole_file
from newtonnet.graphs import BANDS
from newtonnet.meaning import lacking

from .exhibit import BANDS as NAMES
from .exhibit import Curves, Figure, Series

if TYPE_CHECKING:  # importing matplotlib takes half a second
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

COLOURS = {
    "main": "#0f172a",
    "second": "#db2777",
    "quiet": "#94a3b8",
    "low": "#2563eb",
    "middle": "#d97706",
    "high": "#059669",
}
SHADES = ("#eff6ff", "#fffbeb", "#ecfdf5")
PER_ROW = 3
TALL = 10.0
"""Inches from which a figure is drawn with half the dots, so that no file has more than half a megabyte."""
LOOK = Path(__file__).with_suffix(".mplstyle")


def check_drawing() -> None:
    """Raise an error, before hours of training, where figures cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except Exception as error:  # a broken installation can raise anything
        raise lacking("drawing a figure needs matplotlib", "paper", error) from None


def save_figure(figure: Figure, stem: Path) -> list[Path]:
    """Write ``stem.png`` and ``stem.svg`` atomically and return both paths; equal figures give equal files."""
    import matplotlib

    paths = [stem.with_name(stem.name + ending) for ending in (".png", ".svg")]
    with matplotlib.rc_context(fname=LOOK):
        drawing = draw(figure)
        dots = matplotlib.rcParams["savefig.dpi"] / (2 if drawing.get_figheight() > TALL else 1)
        for path, stamp in zip(paths, ("Creation Time", "Date"), strict=True):
            with whole_file(path) as temporary:
                drawing.savefig(temporary, format=path.suffix[1:], metadata={stamp: None}, dpi=dots)
    return paths


def draw(figure: Figure) -> "Drawing":
    """All panels of a figure, at most three in a row; panels of one quantity share its axis unless ``own_scales``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    count = len(figure.panels)
    columns = min(count, PER_ROW)
    rows = -(-count // columns)
    width, height = (5.6, 3.7) if count == 1 else (4.5, 3.5)
    drawing = Drawing(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(drawing)
    first: dict[str, Axes] = {}
    for i, panel in enumerate(figure.panels):
        shared = None if figure.own_scales else first.get(panel.y_label)
        axes = drawing.add_subplot(rows, columns, i + 1, sharey=shared)
        first.setdefault(panel.y_label, axes)
        _draw_panel(axes, panel)
    return drawing


def _draw_panel(axes: "Axes", panel: Curves) -> None:
    if panel.bands:
        _shade(axes)
    for order, series in enumerate(panel.series):
        _draw_series(axes, series, order)
    for x, text in panel.upright:
        axes.axvline(x, color=COLOURS["quiet"], linestyle=":", linewidth=1.2, zorder=1)
        _label(axes, text, x, 1, xytext=(3, -2), textcoords="offset points", va="top", color="#64748b")
    for arrow in panel.arrows:
        if arrow.text:
            colour = COLOURS["high"] if arrow.text == "encouraged" else "#b91c1c"
            _label(axes, arrow.text, arrow.x, 0.03, ha="center", fontweight="bold", color=colour)
        else:
            style = {"arrowstyle": "-|>", "color": COLOURS["second"], "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", (arrow.x, arrow.end), (arrow.x, arrow.start), arrowprops=style, zorder=3)
    if panel.logarithmic:
        axes.set_yscale("log")
    if any(arrow.text for arrow in panel.arrows):
        bottom, top = axes.get_ylim()
        axes.set_ylim(min(bottom, 0) - 0.06 * (top - bottom))  # room for the words below the curves
    if panel.ticks:
        axes.set_xticks([x for x, _ in panel.ticks], [text for _, text in panel.ticks])
    elif all(float(x).is_integer() for series in panel.series for x in series.x):
        axes.locator_params(axis="x", integer=True)
    axes.set_title(panel.title, pad=20 if panel.bands else 8)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if any(series.name for series in panel.series):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, columnspacing=1.4, handlelength=1.8)


def _label(axes: "Axes", text: str, x: float, height: float, **look: Any) -> None:
    """A word at an abscissa of the data and a height as a share of the panel."""
    axes.annotate(text, (x, height), xycoords=("data", "axes fraction"), **{"fontsize": 8.5, **look})


def _draw_series(axes: "Axes", series: Series, order: int) -> None:
    colour = COLOURS[series.role]
    label = series.name or "_nolegend_"
    front = 2 + 0.01 * order
    if series.spread:
        low = [y - s for y, s in zip(series.y, series.spread, strict=True)]
        high = [y + s for y, s in zip(series.y, series.spread, strict=True)]
        axes.fill_between(series.x, low, high, color=colour, alpha=0.14, linewidth=0, zorder=front - 0.5)
    if series.kind == "points":
        axes.scatter(series.x, series.y, s=42, c=colour, edgecolors="white", linewidths=1.0, label=label, zorder=4)
    elif series.kind == "dashed":
        axes.plot(series.x, series.y, color=colour, linestyle=(0, (4, 2.5)), linewidth=1.3, label=label, zorder=front)
    else:
        # Markers for few measured points; a step function, which repeats an abscissa, has none.
        marker = "o" if len(set(series.x)) == len(series.x) <= 40 else ""
        axes.plot(
            series.x, series.y, color=colour, linewidth=2, marker=marker, markersize=3.2, label=label, zorder=front
        )


def _shade(axes: "Axes") -> None:
    """The three thirds of the spectrum behind the curves, each with its name above."""
    edges = (0.0, *BANDS, 2.0)
    for name, shade, left, right in zip(NAMES, SHADES, edges, edges[1:], strict=False):
        axes.axvspan(left, right, color=shade, zorder=0, linewidth=0)
        _label(axes, name, (left + right) / 2, 1.015, ha="center", va="bottom", color=COLOURS[name], fontsize=9)
    axes.set_xlim(-0.03, 2.03)
