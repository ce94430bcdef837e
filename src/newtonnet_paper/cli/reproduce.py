"""``newtonnet-paper reproduce``: one claim of the paper, its work resumed where it stopped, its figures beside ours."""

import json as jsonlib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from newtonnet.cli.amounts import seconds
from newtonnet.cli.places import ADDRESS, ON, WORKERS, Place
from newtonnet.cli.splits import check_writable
from rich.console import Console

from newtonnet.cli.app import print_json, talk
from newtonnet.files import write_whole
from newtonnet_paper.claim import PROFILES, Claim, Request, check_options, load_lines
from newtonnet_paper.claims import CLAIMS, find_claim
from newtonnet_paper.exhibit import Report
from newtonnet_paper.pages import results_page
from newtonnet_paper.pages.drawings import save_figure
from newtonnet_paper.pages.exhibits import print_report, report_markdown
from newtonnet_paper.pages.results_page import fill_results, show_stored

from .app import app
from .claim_work import left_undone, work

OWN = "Of single claims"
"""Heading of the options that not every claim takes."""

SEARCHES = "Of claims that rest on searches"
"""Heading of the options that say where searches run."""

ALL = "all"
"""Instead of a claim: every one, from what is stored."""

WIDTH = 180
"""Columns of the tables where they do not go to a terminal."""

MARKED = "README.md"
"""The page beside the folder of pages, whose marked tables are made from results."""


@app.command()
def reproduce(
    claim: Annotated[
        str | None,
        typer.Argument(help=f"One of: {', '.join(sorted(CLAIMS))}; all: every one from what is stored, without work."),
    ] = None,
    profile: Annotated[str, typer.Option(help="quick for minutes, paper for the paper's protocol.")] = "quick",
    results: Annotated[Path, typer.Option(help="Folder of stored results, one below it for each claim.")] = Path(
        "results"
    ),
    time_limit: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Begin nothing new after 90s, 30m or 1h30m.")
    ] = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Show what is stored; do no work.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write drawings (PNG, SVG) and pages (markdown) to this folder.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List all claims and stop.")] = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON value on standard output; claims that rest on searches then do no work."
        ),
    ] = False,
    datasets: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=OWN,
            help="Graphs to work on, with commas between; printed tables show all that is stored.",
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(rich_help_panel=SEARCHES, help=WORKERS)] = None,
    on: Annotated[str, typer.Option(rich_help_panel=SEARCHES, help=ON)] = "local",
    address: Annotated[str | None, typer.Option(rich_help_panel=SEARCHES, help=ADDRESS)] = None,
    nodes: Annotated[int | None, typer.Option(rich_help_panel=OWN, help="frequency: nodes of each graph.")] = None,
    features: Annotated[
        int | None, typer.Option(rich_help_panel=OWN, help="frequency: features of each node; as many as nodes.")
    ] = None,
    homophilies: Annotated[
        str | None,
        typer.Option(rich_help_panel=OWN, help="frequency: how many from 0 to 1, or numbers with commas between."),
    ] = None,
) -> None:
    """Reproduce one claim of the paper: do the work that is not stored yet, then show ours beside the published.

    Example: newtonnet reproduce theory --out docs
    """
    if listed:
        _print_list(json=json)
        return
    if claim is None:
        raise ValueError(f"name a claim: {', '.join(sorted(CLAIMS))}")
    if out is not None:
        check_writable(out / "figures" / "figure.png")
    if claim == ALL:
        if (datasets, time_limit, nodes, features, homophilies, workers, address) != (None,) * 7:
            raise ValueError("all shows what is stored: it takes --results, --out and --json alone")
        Request(profile)  # refused as for any other claim
        _tell_if_missing(results)
        _show_all(results, out, json=json)
        return
    chosen = find_claim(claim)
    options = {
        "datasets": None if datasets is None else [name.strip() for name in datasets.split(",")],
        "nodes": nodes,
        "features": features,
        "homophilies": None if homophilies is None else _homophilies(homophilies),
    }
    request = Request(profile, {name: value for name, value in options.items() if value is not None})
    limit = None if time_limit is None else seconds(time_limit)
    place = Place(on, address, workers)
    check_options(chosen, request)
    idle = no_run or (json and chosen.cells is not None)
    if not idle:
        check_writable(results / chosen.name / "lines.jsonl")
    left = 0 if idle else work(chosen, request, results, limit=limit, place=place)
    report = chosen.summarise(load_lines(chosen, results))
    if idle:
        _tell_if_missing(results)
        left = left_undone(chosen, request, results)
    if out is not None:
        _write(chosen, report, out, profile)
    if left:
        more = "the same command without --no-run and --json does it" if idle else "the same command goes on"
        lacking = "1 piece of work is" if left == 1 else f"{left} pieces of work are"
        talk.print(f"{lacking} not done of profile {profile}; {more}", style="dim")
    if json:
        print_json(_as_json(chosen, report, left, request.options.get("datasets")))
    else:
        console = Console()
        if not console.is_terminal:
            console.width = WIDTH
        print_report(chosen, report, console)


def _tell_if_missing(results: Path) -> None:
    if results.exists() and not results.is_dir():
        raise ValueError(f"{results} is a file; --results takes the folder of stored results")
    if not results.is_dir():
        talk.print(f"there is no folder {results}, so nothing is stored; --results names another", style="dim")


def _show_all(results: Path, out: Path | None, *, json: bool) -> None:
    """Every claim from what is stored; with a folder also the page of results and what other pages mark."""
    shown = show_stored(CLAIMS.values(), results)
    if out is not None:
        for one in shown:
            if one.report is not None:
                _write(one.claim, one.report, out, PROFILES[-1])
        _save(out / "results.md", results_page(shown))
        marked = out.resolve().parent / MARKED
        if marked.is_file():
            text = marked.read_text(encoding="utf-8")
            if (new := fill_results(text, shown)) != text:
                _save(marked, new)
    found = {one.claim.name: [] if one.report is None else one.report.findings for one in shown}
    if json:
        print_json({name: [asdict(finding) for finding in findings] for name, findings in found.items()})
        return
    for name, findings in found.items():
        if not findings:
            print(f"{name}: nothing stored")
        for finding in findings:
            print(f"{name}: {finding.statement}: {finding.verdict} ({finding.ours})")


def _write(claim: Claim, report: Report, out: Path, profile: str) -> None:
    """Drawings below ``out/figures``, and the claim's page where it has one."""
    for figure in report.figures:
        for path in save_figure(figure, out / "figures" / f"{claim.name}-{figure.name}"):
            talk.print(f"{path} written", style="dim")
    if report.page:
        command = f"newtonnet reproduce {claim.name} --profile {profile} --out {out.name}"
        _save(out / f"{report.page}.md", report_markdown(claim, report, command=command))


def _save(path: Path, text: str) -> None:
    write_whole(path, text)
    talk.print(f"{path} written", style="dim")


def _homophilies(text: str) -> list[float]:
    """``11`` is eleven from 0 to 1; ``0.2,0.5`` is these two."""
    try:
        if "," not in text and int(text) >= 2:
            return [round(i / (int(text) - 1), 4) for i in range(int(text))]
    except ValueError:
        pass
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(f"--homophilies takes a count or numbers with commas between, got {text!r}") from None


def _print_list(*, json: bool) -> None:
    if json:
        print_json({name: {"claim": claim.statement, "place": claim.place} for name, claim in CLAIMS.items()})
        return
    for name, claim in CLAIMS.items():
        own = f" Options: {', '.join('--' + option for option in sorted(claim.options))}." if claim.options else ""
        print(f"{name}: {claim.statement} ({claim.place}.){own}")
    print(f"profiles: {', '.join(PROFILES)}")


def _as_json(claim: Claim, report: Report, left: int, datasets: list[str] | None) -> dict[str, Any]:
    if report.bare:
        return {name: row for name, row in (report.data or {}).items() if datasets is None or name in datasets}
    plain: dict[str, Any] = jsonlib.loads(jsonlib.dumps(asdict(report)))
    kept = {name: plain[name] for name in ("findings", "tables", "figures", "data")}
    return {"claim": claim.name, "statement": claim.statement, "place": claim.place, "left": left, **kept}
