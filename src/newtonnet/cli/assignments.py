"""Options of a model or its training by name, as ``--set NAME=VALUE`` gives them."""

import json
from collections.abc import Iterable
from typing import Any

OWN = ("seed", "max_epochs", "patience", "metric")
"""Names that have an option of their own."""


def assignments(texts: Iterable[str] | None) -> dict[str, Any]:
    """Values by name, as numbers, true, false or null where they read as one.

    >>> assignments(["degree=8", "points=chebyshev", "nonnegative=false"])
    {'degree': 8, 'points': 'chebyshev', 'nonnegative': False}
    """
    return dict(_assignment(text) for text in texts or ())


def _assignment(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"--set takes NAME=VALUE, got {text!r}")
    if name in OWN:
        raise ValueError(f"{name} has an option of its own; use --{name.replace('_', '-')}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
