"""The lemma and the two theorems as a claim: four seeded checks, and what their numbers say."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from newtonnet_paper.claim import Claim, Request, Unit
from newtonnet_paper.exhibit import FAILS, HOLDS, OPEN, PARTLY, Finding, Report
from newtonnet_paper.results import Line

from .derivation import DERIVATION
from .lemma1 import check_lemma1
from .tables import examples, figure, first_table, lemma_table, second_table
from .theorem1 import check_theorem1
from .theorem2 import check_by_homophily, check_theorem2

SIZES: dict[str, dict[str, dict[str, int]]] = {
    "lemma1": {"quick": {"trials": 2000}, "paper": {"trials": 20000}},
    "theorem1": {"quick": {"trials": 400}, "paper": {"trials": 4000}},
    "theorem2": {"quick": {"trials": 400}, "paper": {"trials": 4000}},
    "by_homophily": {"quick": {"graphs": 10, "pairs": 20}, "paper": {"graphs": 40, "pairs": 40}},
}
CHECKS: dict[str, Callable[..., dict[str, Any]]] = {
    "lemma1": check_lemma1,
    "theorem1": check_theorem1,
    "theorem2": check_theorem2,
    "by_homophily": check_by_homophily,
}


def units(request: Request) -> list[Unit]:
    """One unit for each check."""
    return [
        Unit({"check": name, **SIZES[name][request.profile], "seed": 0}, partial(_run, name, request.profile))
        for name in CHECKS
    ]


def _run(name: str, profile: str) -> dict[str, Any]:
    return {"result": CHECKS[name](**SIZES[name][profile], seed=0)}


def summarise(lines: Sequence[Line]) -> Report:
    """Where each statement holds and where it does not, by the largest run of each check."""
    results: dict[str, Any] = {}
    for line in sorted(lines, key=lambda line: line["result"]["trials"]):
        results[line["key"]["check"]] = line["result"]
    if missing := CHECKS.keys() - results.keys():
        return Report((Finding("Lemma 1, Theorems 1 and 2", f"{len(missing)} of 4 checks not run", "proved", OPEN),))
    lemma, first, second, by_h = (results[name] for name in CHECKS)
    return Report(
        findings=(*_lemma_findings(lemma), *_first_findings(first), *_second_findings(second)),
        tables=(lemma_table(lemma), first_table(first), second_table(second), examples(first, second)),
        figures=(figure(by_h),),
        text=DERIVATION,
        data=results,
        page="theory",
    )


def _lemma_findings(lemma: Any) -> list[Finding]:
    small, large = lemma["rows"][0], lemma["rows"][-1]
    looped = all(abs(row["with_loops"] - row["lemma"]) <= 4 * row["loop_error"] for row in lemma["rows"])
    exact = all(abs(row["measured"] - row["exact"]) <= 4 * row["error"] + 1e-12 for row in lemma["rows"])
    return [
        Finding(
            "Lemma 1: randomly joined nodes of C equal classes have expected homophily 1/C",
            f"{small['measured']:.3f} at N = {small['nodes']}, C = {small['classes']}; {large['measured']:.4f} at "
            f"N = {large['nodes']}, C = {large['classes']} (1/C = {large['lemma']:.4f})",
            "1/C",
            PARTLY if looped and exact else FAILS,
        )
    ]


def _first_findings(first: Any) -> list[Finding]:
    wrong, trials = first["violations"], first["trials"]
    return [
        Finding(
            "Theorem 1 for filters of at least 0 and the Laplacian D - A",
            _share(wrong["plain"], trials),
            "E[Δs] > 0",
            _verdict(wrong["plain"]),
        ),
        Finding(
            "Theorem 1 as written, filters of any sign",
            _share(wrong["signed"], trials),
            "E[Δs] > 0",
            _verdict(wrong["signed"]),
        ),
        Finding(
            "Theorem 1 for the normalised Laplacian, plain distances",
            _share(wrong["normalised"], trials) + f", and a graph of {first['normalised_example']['nodes']} nodes",
            "E[Δs] > 0",
            FAILS if first["normalised_example"]["gap"] < 0 else HOLDS,
        ),
    ]


def _second_findings(second: Any) -> list[Finding]:
    wrong, trials = second["violations"], second["trials"]
    return [
        Finding(
            "Theorem 2 where g1² - g2² is affine in λ",
            _share(wrong["affine"], trials),
            "sign changes at h = 1/C",
            _verdict(wrong["affine"]),
        ),
        Finding(
            "Theorem 2 for any two filters of Theorem 1, at least 0",
            _share(wrong["crossing"], trials),
            "sign changes at h = 1/C",
            _verdict(wrong["crossing"]),
        ),
        Finding(
            "The sentence after it: graphs with h > 1/C favour g1",
            "they favour g2, the low-pass one: the theorem itself says so" if not wrong["affine"] else "unclear",
            "g1",
            OPEN if wrong["affine"] else FAILS,
        ),
    ]


def _share(wrong: int, trials: int) -> str:
    return f"{wrong} of {trials} trials contradict it"


def _verdict(wrong: int) -> str:
    return HOLDS if wrong == 0 else FAILS


THEORY = Claim(
    name="theory",
    statement=(
        "A filter with more high and less low frequency drives connected nodes apart, and so separates the classes "
        "better below h = 1/C and worse above."
    ),
    place="Lemma 3.1, Theorems 3.2 and 3.3, Appendix A",
    units=units,
    summarise=summarise,
)
