"""What an experiment shows, as plain data: findings, tables and curves that any renderer can draw."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

HOLDS, PARTLY, UNSURE, FAILS = "holds", "holds in part", "not certain", "does not hold"
"""The verdicts on a statement; not certain: what was measured fits it and its opposite."""

OPEN = "not measured yet"
"""Stands for a verdict where there is nothing to judge by."""

Role = Literal["main", "second", "quiet", "low", "middle", "high"]
"""What a curve's colour stands for."""

Band = Literal["low", "middle", "high"]

BANDS: tuple[Band, ...] = ("low", "middle", "high")

Cell = str | float | int | None
"""A table's cell; None is drawn as a dash."""


@dataclass(frozen=True)
class Finding:
    """One statement of the paper beside what was measured here."""

    statement: str
    ours: str
    published: str
    verdict: str


@dataclass(frozen=True)
class Table:
    """Rows under named columns; notes stand below."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r} has {len(self.columns)} columns, but a row of {len(row)} cells")


@dataclass(frozen=True)
class Series:
    """One named curve.

    Attributes:
        name: its place in the legend; an empty name has none.
        x: ascending abscissas.
        y: values, as many.
        spread: half the height of a band around the curve, as many, or none.
        kind: a line, separate points, or a line broken by dashes.
        role: what the colour stands for: one of the three bands, the main curve, or a quiet one.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] = ()
    kind: Literal["line", "points", "dashed"] = "line"
    role: Role = "main"

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y) or (self.spread and len(self.spread) != len(self.y)):
            raise ValueError(f"series {self.name!r}: {len(self.x)} abscissas, {len(self.y)} values")


@dataclass(frozen=True)
class Arrow:
    """A vertical arrow from one height to another, with a word beside it."""

    x: float
    start: float
    end: float
    text: str = ""


@dataclass(frozen=True)
class Curves:
    """One panel: named series over one pair of axes.

    Attributes:
        title: above the panel.
        x_label: the horizontal axis.
        y_label: the vertical axis.
        series: what is drawn, in this order.
        bands: shade the low, middle and high thirds of the spectrum behind the curves.
        logarithmic: draw the vertical axis by powers of ten.
        upright: abscissas of dotted vertical lines with a word each.
        arrows: what pushes the curves where.
        ticks: abscissas that stand for something else, with what they stand for.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    bands: bool = False
    logarithmic: bool = False
    upright: tuple[tuple[float, str], ...] = ()
    arrows: tuple[Arrow, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Figure:
    """Panels that are drawn together; the name becomes the file's."""

    name: str
    caption: str
    panels: tuple[Curves, ...]
    own_scales: bool = False
    """Each panel has a vertical axis of its own, also where another shows the same quantity."""


@dataclass(frozen=True)
class Report:
    """All that an experiment shows.

    Attributes:
        findings: the paper's statements beside ours.
        tables: numbers.
        figures: drawings.
        text: paragraphs in markdown for the page, such as a derivation.
        data: what ``--json`` prints under ``data``, for programs.
        page: the name of a page to write from this report, without ending; none if empty.
        bare: print ``data`` alone under ``--json``, for claims whose JSON has a form of its own.
        headline: a short table for pages that mark a place for it.
    """

    findings: tuple[Finding, ...]
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    text: str = ""
    data: Mapping[str, Any] | None = None
    page: str = ""
    bare: bool = False
    headline: Table | None = None
