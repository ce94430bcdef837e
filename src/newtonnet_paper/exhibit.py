"""The results of an experiment as plain data: findings, tables and curves that any renderer can draw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

Role = Literal["main", "second", "quiet", "low", "middle", "high"]
"""What the colour of a curve means."""

Band = Literal["low", "middle", "high"]

BANDS: tuple[Band, ...] = ("low", "middle", "high")

Value = str | float | int | None
"""One value of a table; None is shown as a dash."""


class Verdict(StrEnum):
    """Whether a statement holds; not certain: the measurements are consistent with it and with its opposite."""

    HOLDS = "holds"
    PARTLY = "holds in part"
    UNSURE = "not certain"
    FAILS = "does not hold"
    OPEN = "not measured yet"

    @classmethod
    def by_count(cls, good: int, count: int) -> "Verdict":
        """The verdict on a statement that holds in ``good`` of ``count`` cases.

        >>> [str(Verdict.by_count(good, count)) for good, count in ((2, 2), (1, 2), (0, 2), (0, 0))]
        ['holds', 'holds in part', 'does not hold', 'not measured yet']
        """
        return cls.OPEN if not count else cls.HOLDS if good == count else cls.PARTLY if good else cls.FAILS

    @classmethod
    def by_interval(cls, low: float, high: float) -> "Verdict":
        """The verdict on a statement that a quantity is above 0, by its confidence interval."""
        return cls.HOLDS if low > 0 else cls.FAILS if high < 0 else cls.UNSURE


@dataclass(frozen=True)
class Finding:
    """One statement of the paper, what was measured here, and whether the statement holds."""

    statement: str
    ours: str
    published: str
    verdict: Verdict


@dataclass(frozen=True)
class Table:
    """Rows with named columns, and notes below them."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.title!r} has {len(self.columns)} columns, but a row of {len(row)} values"
                )


@dataclass(frozen=True)
class Series:
    """One named curve.

    Attributes:
        name: shown in the legend; an empty name is not.
        spread: half the height of a band around the curve at each abscissa; empty for no band.
        kind: a line, separate points, or a dashed line.
        role: what the colour means: one of the three bands, the main curve, or a quiet one.
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
    """A vertical arrow from one height to another, with an optional word."""

    x: float
    start: float
    end: float
    text: str = ""


@dataclass(frozen=True)
class Curves:
    """One panel: named series over one pair of axes.

    Attributes:
        bands: shade the low, middle and high thirds of the spectrum behind the curves.
        logarithmic: use a logarithmic vertical axis.
        upright: dotted vertical lines as pairs of abscissa and label.
        arrows: arrows from the start of a curve to where it moved.
        ticks: tick labels of the horizontal axis as pairs of abscissa and text.
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
    """Panels that are drawn together; the file is named after the figure."""

    name: str
    caption: str
    panels: tuple[Curves, ...]
    own_scales: bool = False
    """Give each panel its own vertical scale, even where another panel shows the same quantity."""


@dataclass(frozen=True)
class Report:
    """The results of one claim.

    Attributes:
        text: paragraphs in markdown for the page, such as a derivation.
        data: what ``--json`` prints under ``data``, for programs.
        page: name of the page to write from this report, without suffix; empty for none.
        bare: print only ``data`` under ``--json``.
        headline: a short table for pages that have a marker for it.
    """

    findings: tuple[Finding, ...]
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    text: str = ""
    data: Mapping[str, Any] | None = None
    page: str = ""
    bare: bool = False
    headline: Table | None = None


def make_table(title: str, rows: Sequence[Mapping[str, Value]], *notes: str) -> Table:
    """A table from rows that map a column's name to its value.

    >>> make_table("Squares", [{"x": 1, "x²": 1}, {"x": 2, "x²": 4}]).columns
    ('x', 'x²')
    """
    columns = tuple(rows[0]) if rows else ()
    return Table(title, columns, tuple(tuple(row[name] for name in columns) for row in rows), notes)


def nothing_stored(statement: str, published: str, *, bare: bool = False) -> Report:
    """The report of a claim without stored results."""
    return Report(
        (Finding(statement, "nothing stored", published, Verdict.OPEN),), data={} if bare else None, bare=bare
    )
