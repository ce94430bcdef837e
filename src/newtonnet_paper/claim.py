"""The frame of every claim: what the paper says, its work in resumable units, its stored lines, the list of claims."""

import json
import os
import time
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from newtonnet.files import append, locked
from newtonnet.meaning import meant

from .exhibit import Report

if TYPE_CHECKING:
    from .cells import Cell

PROFILES = ("quick", "paper")

CLAIMS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("claims.toml").read_text(encoding="utf-8"))
"""What each claim states, and where it is defined; modules are imported when they are used."""

Line = Mapping[str, Any]
"""One stored result."""


@dataclass(frozen=True)
class Request:
    """What to run of a claim.

    Attributes:
        profile: ``quick`` for minutes, ``paper`` for the paper's protocol.
        options: the claim's own options by name, such as ``datasets`` or ``nodes``, that differ from its defaults.
    """

    profile: str = "quick"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ValueError(f"unknown profile {self.profile!r}; available: {', '.join(PROFILES)}")


@dataclass(frozen=True)
class Unit:
    """One piece of work: the key, which determines the result, and the function that returns the rest of the line."""

    key: Mapping[str, Any]
    run: Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes:
        place: where the paper makes it.
        summarise: turns stored lines into a report; a pure function that never trains.
        units: the work of a request, in order.
        options: names of the request's options that the claim accepts.
        version: raised when a change can alter a result; lines of other versions are ignored.
        load: reads what is summarised from the folder of all results, for claims that are based on other work such as
            searches; by default the lines of the claim's own units.
        cells: the lists or searches that the claim is based on; they run before any unit.
        after: units that depend on what is stored, such as the settings that are chosen.
        plan: what there is still to do beside the cells, one line each, from the request and the folder of results.
    """

    name: str
    statement: str
    place: str
    summarise: Callable[[Sequence[Line]], Report]
    units: Callable[[Request], Sequence[Unit]] = lambda request: ()
    options: frozenset[str] = frozenset()
    version: int = 1
    load: Callable[[Path], Sequence[Line]] | None = None
    cells: "Callable[[Request, Path], Sequence[Cell]] | None" = None
    after: Callable[[Request, Path], Sequence[Unit]] = lambda request, results: ()
    plan: Callable[[Request, Path], Sequence[str]] = lambda request, results: ()


def define_claim(
    name: str, summarise: Callable[[Sequence[Line]], Report], *, options: Collection[str] = (), **parts: Any
) -> Claim:
    """The claim of this name in ``claims.toml``; one that is based on searches accepts ``datasets``."""
    accepted = frozenset((*options, "datasets") if "cells" in parts else options)
    return Claim(name, CLAIMS[name]["statement"], CLAIMS[name]["place"], summarise, options=accepted, **parts)


def find_claim(name: str) -> Claim:
    """The claim of this name."""
    if name not in CLAIMS:
        raise ValueError(f"unknown claim {name!r}; {meant(name, CLAIMS)}available: {', '.join(sorted(CLAIMS))}, all")
    module, attribute = CLAIMS[name]["defined"].split(".")
    claim: Claim = getattr(import_module(f"newtonnet_paper.{module}"), attribute)
    return claim


def all_claims() -> list[Claim]:
    """Every claim, in the order of the results page."""
    return [find_claim(name) for name in CLAIMS]


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All complete lines of a file; none where there is no file. A truncated last line is ignored."""
    if not path.exists():
        return []
    *whole, torn = path.read_bytes().split(b"\n")
    lines = []
    for number, raw in enumerate(whole, 1):
        line = _parsed(raw)
        if line is None:
            raise ValueError(f"{path}, line {number} is not a JSON object; remove it, and its work is done again")
        lines.append(line)
    last = _parsed(torn)
    return lines if last is None else [*lines, last]


def append_line(path: Path, line: Line) -> None:
    """Append one line and wait until it is on disk; a truncated last line is removed first."""
    text = json.dumps(line, allow_nan=False) + "\n"
    content = path.read_bytes() if path.exists() else b""
    if content and not content.endswith(b"\n"):
        start = content.rfind(b"\n") + 1
        if _parsed(content[start:]) is None:
            os.truncate(path, start)
        else:  # complete but for its line feed
            text = "\n" + text
    append(path, text.encode())


def _parsed(raw: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(raw)
    except ValueError:  # also bytes that are cut inside a character
        return None
    return value if isinstance(value, dict) else None


def lines_path(claim: Claim, results: Path) -> Path:
    """The file of the claim's lines in the folder of results."""
    return results / claim.name / "lines.jsonl"


def load_lines(claim: Claim, results: Path) -> Sequence[Line]:
    """The lines that the claim's summary is made from."""
    return own_lines(claim, results) if claim.load is None else claim.load(results)


def own_lines(claim: Claim, results: Path) -> list[dict[str, Any]]:
    """The stored lines of the claim's present version; of several lines for one unit the latest."""
    path = lines_path(claim, results)
    latest = {}
    for line in read_lines(path):
        if line.get("version") == claim.version:
            if not isinstance(line.get("key"), dict):
                raise ValueError(
                    f"{path} has a line without the key of its unit; remove it, and its work is done again"
                )
            latest[_identity(line["key"])] = line
    return list(latest.values())


def check_options(claim: Claim, request: Request) -> None:
    """Refuse an option that the claim does not accept."""
    unknown = request.options.keys() - claim.options
    if unknown:
        accepted = ", ".join(f"--{name}" for name in sorted(claim.options)) or "no options of its own"
        raise ValueError(f"{claim.name} does not accept --{min(unknown)}; it accepts {accepted}")


def wanted_cells(claim: Claim, request: Request, results: Path) -> "Sequence[Cell]":
    """The searches of a request; none for a claim that is based on its own units alone."""
    check_options(claim, request)
    return () if claim.cells is None else claim.cells(request, results)


def pending(claim: Claim, request: Request, results: Path) -> tuple[list[Unit], int]:
    """The units of a request without a stored line, and the number of all units."""
    check_options(claim, request)
    done = {_identity(line["key"]) for line in own_lines(claim, results)}
    units = [*claim.units(request), *claim.after(request, results)]
    return [unit for unit in units if _identity(unit.key) not in done], len(units)


def run(
    claim: Claim,
    request: Request,
    results: Path,
    *,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Run the units of a request that are not stored yet, one stored line for each.

    Args:
        claim: the claim.
        request: what to run.
        results: folder of all results.
        seconds: time limit: no unit starts after it; None for no limit.
        progress: called with the number of finished units and of all units, first before any work.

    Returns:
        The number of units left.
    """
    units, total = pending(claim, request, results)
    if units:
        with _alone(claim, results):
            units, total = pending(claim, request, results)  # another process may just have finished
            end = None if seconds is None else time.monotonic() + seconds
            for i, unit in enumerate(units):
                if progress is not None:
                    progress(total - len(units) + i, total)
                if end is not None and time.monotonic() >= end:
                    return len(units) - i
                started = time.monotonic()
                line = {"key": dict(unit.key), "version": claim.version, **unit.run()}
                elapsed = round(time.monotonic() - started, 2)
                append_line(lines_path(claim, results), {**line, "seconds": elapsed})
    if progress is not None:
        progress(total, total)
    return 0


@contextmanager
def _alone(claim: Claim, results: Path) -> Iterator[None]:
    """Refuse a second process: it would do the same work and disturb timings."""
    from newtonnet.search import lock_path

    busy = ValueError(f"another process is running {claim.name} ({lines_path(claim, results)})")
    with locked(lock_path(results, claim.name), busy=busy):
        yield


def _identity(key: Mapping[str, Any]) -> str:
    return repr(sorted(key.items()))
