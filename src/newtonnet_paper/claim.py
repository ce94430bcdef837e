"""The frame of every claim: what the paper says, the work it takes in resumable units, and what stored lines show."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from newtonnet.search import lock_path

from .cells import Cell
from .exhibit import Report
from .results import Line, append_line, read_lines

PROFILES = ("quick", "paper")


@dataclass(frozen=True)
class Request:
    """What to run of a claim; an option is given only where it differs from the claim's own choice.

    Attributes:
        profile: ``quick`` for minutes, ``paper`` for the paper's protocol.
        options: the claim's own options by name, such as ``datasets`` or ``nodes``.
    """

    profile: str = "quick"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.profile not in PROFILES:
            raise ValueError(f"unknown profile {self.profile!r}; available: {', '.join(PROFILES)}")


@dataclass(frozen=True)
class Unit:
    """One piece of work that is done whole or not at all.

    Attributes:
        key: everything that decides its result, as plain data; it stands in the stored line.
        run: does the work and returns the rest of the line.
    """

    key: Mapping[str, Any]
    run: Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class Claim:
    """One claim of the paper.

    Attributes:
        name: what ``newtonnet reproduce`` calls it.
        statement: the claim in one sentence.
        place: where the paper makes it.
        units: the work of a request, in the order in which it is done.
        summarise: stored lines to what they show; a pure function that never trains.
        options: names of the request's options that the claim understands.
        version: raised whenever a change can move a result; lines of other versions are left aside.
        load: reads what is summarised from the folder of all results, for claims that rest on the work of others such
            as a search; by default the lines that the claim's own units left.
        cells: the searches that the claim rests on, given the request and the folder of results; they are swept before
            any unit is done.
    """

    name: str
    statement: str
    place: str
    units: Callable[[Request], Sequence[Unit]]
    summarise: Callable[[Sequence[Line]], Report]
    options: frozenset[str] = frozenset()
    version: int = 1
    load: Callable[[Path], Sequence[Line]] | None = None
    cells: Callable[[Request, Path], Sequence[Cell]] | None = None


def lines_path(claim: Claim, results: Path) -> Path:
    """Where the claim's lines are kept below the folder of results."""
    return results / claim.name / "lines.jsonl"


def load_lines(claim: Claim, results: Path) -> Sequence[Line]:
    """What the claim's summary is made of."""
    return own_lines(claim, results) if claim.load is None else claim.load(results)


def own_lines(claim: Claim, results: Path) -> list[dict[str, Any]]:
    """The stored lines of the claim's present version, each piece of work once, the latest."""
    path = lines_path(claim, results)
    latest = {}
    for line in read_lines(path):
        if line.get("version") == claim.version:
            if not isinstance(line.get("key"), dict):
                raise ValueError(
                    f"{path} holds a line without the key of its work; remove it, and its work is done again"
                )
            latest[_identity(line["key"])] = line
    return list(latest.values())


def check_options(claim: Claim, request: Request) -> None:
    """Refuse an option that the claim does not know."""
    unknown = request.options.keys() - claim.options
    if unknown:
        there = ", ".join(f"--{name}" for name in sorted(claim.options)) or "no options of its own"
        raise ValueError(f"{claim.name} does not take --{min(unknown)}; it takes {there}")


def wanted_cells(claim: Claim, request: Request, results: Path) -> Sequence[Cell]:
    """The searches of a request; none for a claim that rests on its own units alone."""
    check_options(claim, request)
    return () if claim.cells is None else claim.cells(request, results)


def pending(claim: Claim, request: Request, results: Path) -> tuple[list[Unit], int]:
    """The units of a request that have no stored line, and how many units there are in all."""
    check_options(claim, request)
    done = {_identity(line["key"]) for line in own_lines(claim, results)}
    units = claim.units(request)
    return [unit for unit in units if _identity(unit.key) not in done], len(units)


def run(
    claim: Claim,
    request: Request,
    results: Path,
    *,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Do the work of a request that is not done yet, one stored line for each unit.

    Args:
        claim: the claim.
        request: what to run.
        results: folder of all results.
        seconds: begin no unit after this time; None never stops.
        progress: told how many units are done and how many there are, first before any work.

    Returns:
        How many units are left undone.
    """
    units, total = pending(claim, request, results)
    if units:
        with _alone(claim, results):
            units, total = pending(claim, request, results)  # another process may just have ended
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
    """Refuses a second process: it would do the same work, and disturb what is timed."""
    lock = FileLock(lock_path(results, claim.name), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ValueError(f"another process is at work on {claim.name} ({lines_path(claim, results)})") from None
    try:
        yield
    finally:
        lock.release()


def _identity(key: Mapping[str, Any]) -> str:
    return repr(sorted(key.items()))
