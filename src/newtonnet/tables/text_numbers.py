"""Texts that are nearly numbers or dates: a decimal comma, a sign behind them, or a few words among them."""

import re

import pyarrow as pa
import pyarrow.compute as pc

MOSTLY = 0.8
"""Share of a column's values that are numbers, from which on its texts are doubted."""
SHOWN = 3
"""Texts that a sentence quotes."""

_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([. ]\d{3})+),\d+")


def is_number(text: str) -> bool:
    """Whether Python reads it as a number.

    >>> is_number(" 1.5e3"), is_number("1,5"), is_number("1_000")
    (True, False, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def has_comma(text: str) -> bool:
    """Whether it is a number with a decimal comma.

    >>> has_comma("32578,71"), has_comma("1.234,5"), has_comma("a,b")
    (True, True, False)
    """
    return _COMMA.fullmatch(text.strip()) is not None


_NEARLY = (
    (re.compile(r"[+-]?[\d.,]+ ?[%€$£]|[€$£] ?[+-]?[\d.,]+"), "numbers stand alone, without a sign"),
    (re.compile(r"\d{1,2}[./]\d{1,2}[./](\d{4}|\d{2})"), "dates are written as 2020-01-31"),
)
"""Texts that mean a number or a date, and how that is written."""


def why_text(values: pa.ChunkedArray) -> str | None:
    """What keeps a column of texts, null where missing, from being numbers or dates; None where it is neither.

    >>> why_text(pa.chunked_array([["1", "2", "3", "4", "?"]]))
    "because of the text '?': leave such cells blank to have numbers"
    """
    counts = {one["values"]: one["counts"] for one in pc.value_counts(values).to_pylist() if one["values"] is not None}
    for pattern, advice in _NEARLY:
        alike = [text for text in counts if pattern.fullmatch(text.strip())]
        if alike and sum(counts[text] for text in alike) >= MOSTLY * sum(counts.values()):
            return f"because of values such as {alike[0]!r}: {advice}"
    commas = [text for text in counts if has_comma(text)]
    words = [text for text in counts if not is_number(text)]
    others = [text for text in words if not has_comma(text)]
    total = sum(counts.values())
    if not words or total - sum(counts[text] for text in others) < MOSTLY * total:
        return None
    if commas:
        return f"because of values such as {commas[0]!r}: numbers need a decimal point"
    shown = ", ".join(repr(text) for text in sorted(others)[:SHOWN])
    more = f" and {len(others) - SHOWN:,} more" if len(others) > SHOWN else ""
    return f"because of the text{'s' * (len(others) > 1)} {shown}{more}: leave such cells blank to have numbers"
