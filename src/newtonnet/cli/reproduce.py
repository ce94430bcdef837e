"""``newtonnet reproduce``: one claim of the paper, its work resumed where it stopped, its figures beside ours."""

import json as jsonlib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from newtonnet.experiments.claim import PROFILES, Claim, Request, load_lines, pending, run
from newtonnet.experiments.claims import CLAIMS, find_claim
from newtonnet.experiments.exhibit import Report
from newtonnet.files import write_whole
from newtonnet.report import print_report, report_markdown, save_figure

from .app import app, print_json, talk
from .duration import seconds
from .splits import check_writable

OWN = "Of single claims"
"""Heading of the options that not every claim takes."""


@app.command()
def reproduce(
    claim: Annotated[str | None, typer.Argument(help=f"One of: {', '.join(sorted(CLAIMS))}.")] = None,
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
    json: Annotated[bool, typer.Option("--json", help="Print one JSON value on standard output.")] = False,
    datasets: Annotated[
        str | None, typer.Option(rich_help_panel=OWN, help="Graphs by name, with commas between.")
    ] = None,
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
    chosen = find_claim(claim)
    options = {
        "datasets": None if datasets is None else [name for name in datasets.split(",") if name],
        "nodes": nodes,
        "features": features,
        "homophilies": None if homophilies is None else _homophilies(homophilies),
    }
    request = Request(profile, {name: value for name, value in options.items() if value is not None})
    limit = None if time_limit is None else seconds(time_limit)
    check_writable(results / chosen.name / "lines.jsonl")
    if out is not None:
        check_writable(out / "figures" / "figure.png")
    left = len(pending(chosen, request, results)[0]) if no_run else _work(chosen, request, results, limit)
    report = chosen.summarise(load_lines(chosen, results))
    if out is not None:
        _write(chosen, report, out, profile)
    if left:
        talk.print(f"{left} pieces of work of profile {profile} are not done; the same command goes on", style="dim")
    if json:
        print_json(_as_json(chosen, report, left))
    else:
        print_report(chosen, report, Console())


def _work(claim: Claim, request: Request, results: Path, limit: float | None) -> int:
    """Do what is not stored yet behind a progress bar; how many pieces are left."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=talk, transient=True) as bar:
        task = bar.add_task(f"{claim.name}, {request.profile}", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        return run(claim, request, results, seconds=limit, progress=show)


def _write(claim: Claim, report: Report, out: Path, profile: str) -> None:
    """Drawings below ``out/figures``, and the claim's page where it has one."""
    for figure in report.figures:
        for path in save_figure(figure, out / "figures" / f"{claim.name}-{figure.name}"):
            talk.print(f"{path} written", style="dim")
    if report.page:
        page = out / f"{report.page}.md"
        command = f"newtonnet reproduce {claim.name} --profile {profile} --out {out.name}"
        write_whole(page, report_markdown(claim, report, command=command))
        talk.print(f"{page} written", style="dim")


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


def _as_json(claim: Claim, report: Report, left: int) -> dict[str, Any]:
    if report.bare:
        return dict(report.data or {})
    plain: dict[str, Any] = jsonlib.loads(jsonlib.dumps(asdict(report)))
    kept = {name: plain[name] for name in ("findings", "tables", "figures", "data")}
    return {"claim": claim.name, "statement": claim.statement, "place": claim.place, "left": left, **kept}
