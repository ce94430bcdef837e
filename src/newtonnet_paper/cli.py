"""The command ``newtonnet-paper``: claims, bench, scale, portfolio, datasets; parsing and printing, lazy imports."""

import json as jsonlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from newtonnet.cli import (
    Address,
    Application,
    DataRoot,
    ExecutorName,
    Group,
    Json,
    Place,
    Workers,
    console,
    memory,
    open_executor,
    print_json,
    seconds,
)
from newtonnet.cli import run as run_command
from newtonnet.files import check_writable, write_whole

from .claim import (
    CLAIMS,
    PROFILES,
    Claim,
    Request,
    all_claims,
    check_options,
    find_claim,
    load_lines,
    pending,
    run,
    wanted_cells,
)

if TYPE_CHECKING:
    from .cells import Cell
    from .exhibit import Report
    from .scale import ScaleSize, Stage

OWN = "Options of single claims"

WIDTH = 180
"""Columns of tables that are not printed to a terminal."""

BENCH_RESULTS = Path("results/bench")
BENCH_PAGES = (Path("docs/speed.md"), Path("README.md"))
"""Pages whose marked tables are made from the benchmark's results."""

app = Application(
    name="newtonnet-paper",
    cls=Group,
    help="Reproduce the paper's claims and measure this machine.",
    rich_markup_mode="markdown",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a user's mistake becomes one line on standard error and exit code 2."""
    sys.exit(run_command(app, arguments, name="newtonnet-paper"))


@app.command()
def reproduce(
    claim: Annotated[str | None, typer.Argument(help=f"all, or one of {', '.join(sorted(CLAIMS))}.")] = None,
    profile: Annotated[str, typer.Option(help="quick takes minutes; paper is the paper's protocol.")] = "quick",
    results: Annotated[Path, typer.Option(help="Folder of stored results.")] = Path("results"),
    time_limit: Annotated[
        str | None, typer.Option(metavar="TIME", help="Start nothing new after 90s or 1h30m.")
    ] = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Show stored results; do no work.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for figures (PNG, SVG) and pages (markdown).")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List all claims and exit.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON value; searches are then not run.")] = False,
    datasets: Annotated[str | None, typer.Option(rich_help_panel=OWN, help="Graphs, separated by commas.")] = None,
    workers: Workers = None,
    executor: ExecutorName = "local",
    address: Address = None,
    nodes: Annotated[int | None, typer.Option(rich_help_panel=OWN, help="frequency: nodes of each graph.")] = None,
    features: Annotated[int | None, typer.Option(rich_help_panel=OWN, help="frequency: features of a node.")] = None,
    homophilies: Annotated[
        str | None,
        typer.Option(rich_help_panel=OWN, help="frequency: a count from 0 to 1, or numbers separated by commas."),
    ] = None,
) -> None:
    """Reproduce one claim of the paper: do the missing work, then compare the results with the published ones.

    all shows every stored result without any work. Claims that are based on searches do no work with --json.

    Example: newtonnet-paper reproduce theory --out docs
    """
    if listed:
        _print_list(json=json)
        return
    if claim is None:
        raise ValueError(f"name a claim: {', '.join(sorted(CLAIMS))}")
    if out is not None:
        from .drawings import check_drawing

        check_drawing()
        check_writable(out / "figures" / "figure.png")
    if claim == "all":
        if (datasets, time_limit, nodes, features, homophilies, workers, address) != (None,) * 7:
            raise ValueError("all shows what is stored: it accepts only --results, --out and --json")
        Request(profile)  # checked as for any other claim
        _warn_if_missing(results)
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
    place = Place(executor, address, workers)
    check_options(chosen, request)
    idle = no_run or (json and chosen.cells is not None)
    if not idle:
        check_writable(results / chosen.name / "lines.jsonl")
    left = 0 if idle else _work(chosen, request, results, limit=limit, place=place)
    report = chosen.summarise(load_lines(chosen, results))
    if idle:
        _warn_if_missing(results)
        left = _left_undone(chosen, request, results)
    if out is not None:
        _write(chosen, report, out, profile)
    if left:
        how = "the same command without --no-run and --json does it" if idle else "the same command continues"
        console.print(f"{left} piece{'s' * (left > 1)} of work left for profile {profile}; {how}", style="dim")
    if json:
        print_json(_as_json(chosen, report, left, request.options.get("datasets")))
    else:
        from .pages import print_report

        print_report(chosen, report, _standard_output())


def _standard_output() -> Console:
    output = Console()
    if not output.is_terminal:
        output.width = WIDTH
    return output


def _warn_if_missing(results: Path) -> None:
    if results.exists() and not results.is_dir():
        raise ValueError(f"{results} is a file; --results expects the folder of stored results")
    if not results.is_dir():
        console.print(f"there is no folder {results}, so nothing is stored; name another with --results", style="dim")


def _show_all(results: Path, out: Path | None, *, json: bool) -> None:
    """Print every stored finding; with a folder also write the page of results and fill marked tables."""
    from .pages import fill_results, results_page, show_stored

    shown = show_stored(all_claims(), results)
    if out is not None:
        for claim, report in shown:
            if report is not None:
                _write(claim, report, out, PROFILES[-1])
        _save(out / "results.md", results_page(shown))
        _fill(out.resolve().parent / "README.md", lambda text: fill_results(text, shown))
    found = {claim.name: [] if report is None else report.findings for claim, report in shown}
    if json:
        print_json({name: [asdict(finding) for finding in findings] for name, findings in found.items()})
        return
    for name, findings in found.items():
        if not findings:
            print(f"{name}: nothing stored")
        for finding in findings:
            print(f"{name}: {finding.statement}: {finding.verdict} ({finding.ours})")


def _write(claim: Claim, report: "Report", out: Path, profile: str) -> None:
    """Write the figures to ``out/figures``, and the claim's page where it has one."""
    from .drawings import save_figure
    from .pages import report_markdown

    for figure in report.figures:
        for path in save_figure(figure, out / "figures" / f"{claim.name}-{figure.name}"):
            console.print(f"{path} written", style="dim")
    if report.page:
        command = f"newtonnet-paper reproduce {claim.name} --profile {profile} --out {out.name}"
        _save(out / f"{report.page}.md", report_markdown(claim, report, command=command))


def _save(path: Path, text: str) -> None:
    write_whole(path, text)
    console.print(f"{path} written", style="dim")


def _fill(path: Path, fill: Callable[[str], str]) -> None:
    """Renew the marked tables of a page where it exists."""
    if path.is_file() and (new := fill(text := path.read_text(encoding="utf-8"))) != text:
        _save(path, new)


def _homophilies(text: str) -> list[float]:
    """``11`` is eleven values from 0 to 1; ``0.2,0.5`` is these two."""
    try:
        if "," not in text and int(text) >= 2:
            return [round(i / (int(text) - 1), 4) for i in range(int(text))]
    except ValueError:
        pass
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(f"--homophilies expects a count or numbers separated by commas, got {text!r}") from None


def _print_list(*, json: bool) -> None:
    claims = all_claims()
    if json:
        print_json({claim.name: {"claim": claim.statement, "place": claim.place} for claim in claims})
        return
    for claim in claims:
        own = f" Options: {', '.join('--' + option for option in sorted(claim.options))}." if claim.options else ""
        print(f"{claim.name}: {claim.statement} ({claim.place}.){own}")
    print(f"profiles: {', '.join(PROFILES)}")


def _as_json(claim: Claim, report: "Report", left: int, datasets: list[str] | None) -> dict[str, Any]:
    if report.bare:
        return {name: row for name, row in (report.data or {}).items() if datasets is None or name in datasets}
    plain: dict[str, Any] = jsonlib.loads(jsonlib.dumps(asdict(report)))
    kept = {name: plain[name] for name in ("findings", "tables", "figures", "data")}
    return {"claim": claim.name, "statement": claim.statement, "place": claim.place, "left": left, **kept}


def _left_undone(claim: Claim, request: Request, results: Path) -> int:
    """Number of trials and units of a request that are not stored."""
    from .cells import missing

    trials = sum(count for _, count in missing(wanted_cells(claim, request, results), results))
    return trials + len(pending(claim, request, results)[0])


def _work(claim: Claim, request: Request, results: Path, *, limit: float | None, place: Place) -> int:
    """Do the work that is not stored yet, searches first, and return the number of pieces left."""
    from .cells import missing, plan, take_over

    deadline = None if limit is None else time.monotonic() + limit
    cells = wanted_cells(claim, request, results)
    take_over(cells, results)
    lines = plan(cells, results)
    for line in [*lines, *claim.plan(request, results)]:
        console.print(line, style="dim", soft_wrap=True)
    if lines:
        _search(cells, results, deadline, place)
    rest = None if deadline is None else max(deadline - time.monotonic(), 0.0)
    with _bar() as bar:
        task = bar.add_task(f"{claim.name}, {request.profile}", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        undone = run(claim, request, results, seconds=rest, progress=show)
    return undone + sum(count for _, count in missing(cells, results))


def _search(cells: "Sequence[Cell]", results: Path, deadline: float | None, place: Place) -> None:
    from .cells import missing, sweep_cells

    left = {(cell.dataset, cell.name): count for cell, count in missing(cells, results)}
    stop = None if deadline is None else lambda expected: time.monotonic() + expected > deadline
    with open_executor(place) as executor, _bar() as bar:
        task = bar.add_task("search", total=sum(left.values()))
        for cell, trial in sweep_cells(cells, results, executor=executor, stop=stop):
            key = (cell.dataset, cell.name)
            left[key] -= 1
            bar.update(task, advance=1, description=f"{cell.name} on {cell.dataset}")
            if left[key] <= 0:
                console.print(f"{cell.name} on {cell.dataset}: done with trial {trial.number}", style="dim")


def _bar() -> Progress:
    text, rest = TextColumn("{task.description}"), TimeRemainingColumn()
    columns = (text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), rest)
    return Progress(*columns, console=console, transient=True)


@app.command()
def bench(
    quick: Annotated[bool, typer.Option("--quick", help="A few minutes instead of forty.")] = False,
    json: Json = False,
    out: Annotated[Path | None, typer.Option(help="File for the figures; default: results/bench/PROFILE.json.")] = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads; default: torch's choice.")] = None,
    reference: Annotated[Path | None, typer.Option(help="PyTorch Geometric model to compare with.")] = None,
    page: Annotated[bool, typer.Option("--page", help="Measure nothing; rebuild docs/speed.md.")] = False,
) -> None:
    """Measure epochs, populations, kernels, growth and memory on this machine in one run.

    Example: newtonnet-paper bench --quick
    """
    if page:
        if quick or json or out is not None or threads is not None or reference is not None:
            raise typer.BadParameter("--page measures nothing; it accepts no other option")
        if not BENCH_RESULTS.is_dir():
            raise ValueError(
                f"there are no figures in {BENCH_RESULTS}; run newtonnet-paper bench in the project's folder"
            )
        _update_pages()
        return
    if threads is not None and threads < 1:
        raise typer.BadParameter(f"--threads must be at least 1, got {threads}")
    from .bench import PROFILES as BENCH_PROFILES
    from .bench import find_reference, run_bench, tables
    from .pages import table_grid

    profile = BENCH_PROFILES["quick" if quick else "full"]
    path = out or (BENCH_RESULTS if Path("results").is_dir() else Path("out/bench")) / f"{profile.name}.json"
    check_writable(path)

    def say(text: str) -> None:
        console.print(f"newtonnet: {text}", soft_wrap=True)

    result = run_bench(profile, reference=find_reference(reference), threads=threads, say=say)
    _save(path, jsonlib.dumps(result, indent=1, allow_nan=False) + "\n")
    if path.parent == BENCH_RESULTS:
        _update_pages()
    output = _standard_output()
    for table in tables(result).values():
        output.print(table_grid(table))
    if json:
        print_json(result)


def _update_pages() -> None:
    from .bench import read_results, update_page

    results = read_results(BENCH_RESULTS)
    for path in BENCH_PAGES:
        _fill(path, lambda text: update_page(text, results))


@app.command()
def scale(
    out: Annotated[Path, typer.Option(help="Folder for the graphs and their propagated features; it can grow large.")],
    nodes: Annotated[int, typer.Option(help="Nodes of the largest graph; the others have fewer.")] = 100_000,
    edges: Annotated[list[int] | None, typer.Option(help="Edges; repeat it to compare sizes of equal degree.")] = None,
    features: Annotated[int, typer.Option(help="Features of each node.")] = 16,
    degree: Annotated[int, typer.Option(help="Degree K of the filter.")] = 5,
    epochs: Annotated[int, typer.Option(help="Number of epochs.")] = 5,
    batch: Annotated[int, typer.Option(help="Nodes in a batch.")] = 65536,
    max_memory: Annotated[str | None, typer.Option(help="Memory for features, such as 500MB or 2GB.")] = None,
    threads: Annotated[int | None, typer.Option(help="Number of threads; default: torch's choice.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the graph and the training.")] = 0,
    json: Json = False,
) -> None:
    """Generate heterophilous graphs, propagate their features to disk, train, and report the cost of each stage.

    A graph or features that are in the folder already are used again, and their stage has no time.

    Example: newtonnet-paper scale --nodes 100000 --edges 1000000 --out out/scale
    """
    from .scale import STAGES, ScaleSize, run_stage

    sizes = sorted(set(edges or [1_000_000]))
    whole = ScaleSize(nodes, sizes[-1], features, degree, epochs, batch, memory(max_memory), threads=threads, seed=seed)
    results = []
    for count in sizes:
        size = replace(whole, nodes=max(4, round(nodes * count / sizes[-1] / 2) * 2), edges=count)
        stages = []
        for name in STAGES:
            console.print(f"{count:,} edges: {name} ...", style="dim")
            stages.append(run_stage(name, size, out / f"edges-{count}-nodes-{size.nodes}"))
            if not json:
                _print_stage(size, stages[-1])
        results.append((size, stages))
    ratios = _ratios(results)
    if json:
        runs = [asdict(size) | {"stages": [asdict(stage) for stage in stages]} for size, stages in results]
        print_json({"runs": runs, "time_per_edge": ratios})
        return
    for name, ratio in ratios.items():
        print(f"{name}: time per edge of the largest graph is {ratio:.2f} times that of the smallest")


def _print_stage(size: "ScaleSize", stage: "Stage") -> None:
    taken = "already done"
    if stage.seconds is not None:
        taken = f"{stage.seconds:9.2f} s {1e6 * stage.seconds / size.edges:8.3f} µs/edge"
    room = f"peak {stage.megabytes:,.0f} MB (start {stage.base:,.0f})"
    more = ", ".join(f"{name} {_short(value)}" for name, value in stage.facts.items() if name != "checksum")
    print(f"{size.edges:>13,} edges  {stage.name:<10} {taken}  {room}  {more}")


def _short(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(_short(item) for item in value)
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"


def _ratios(results: "list[tuple[ScaleSize, list[Stage]]]") -> dict[str, float]:
    """For each stage, the time per edge of the largest graph over that of the smallest."""
    if len(results) < 2:
        return {}
    (small, first), (large, last) = results[0], results[-1]
    return {
        a.name: (b.seconds / large.edges) / (a.seconds / small.edges)
        for a, b in zip(first, last, strict=True)
        if a.seconds and b.seconds
    }


@app.command()
def portfolio(
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("src/newtonnet/estimator/portfolio.toml"),
    results: Annotated[Path, typer.Option(help="Folder of stored results.")] = Path("results"),
) -> None:
    """Write the list of settings that the classifier tries, from the stored lines of the study of the portfolio.

    reproduce portfolio --profile paper does the study. The file stays as it is if the list has no less regret on
    families of graphs that it was not chosen on than the one that was written by hand, or rests on too few families.

    Example: newtonnet-paper portfolio
    """
    from .claim import own_lines
    from .portfolio import FAMILIES_NEEDED, PORTFOLIO, choose_list, over_families, portfolio_toml

    _warn_if_missing(results)
    check_writable(out)
    lines = own_lines(PORTFOLIO, results)
    choice = choose_list(lines)
    if choice is None:
        raise ValueError(
            f"{results} has no two families of graphs with all settings; run newtonnet-paper reproduce portfolio"
        )
    ours, theirs = over_families(choice.held_out), over_families(choice.by_hand)
    print(
        f"{len(choice.settings)} settings, chosen on {len(choice.scores)} graphs: regret {ours:.2f} points on families "
        f"left out, {theirs:.2f} by the list that was written by hand"
    )
    if choice.families < FAMILIES_NEEDED:
        print(f"{choice.families} families are complete, {FAMILIES_NEEDED} are needed: {out} stays as it is")
    elif choice.better:
        _save(out, portfolio_toml(choice))
    else:
        print(f"no less regret: {out} stays as it is")


@app.command()
def datasets(
    out: Annotated[Path, typer.Option(help="Markdown file to write.")] = Path("docs/datasets.md"),
    data_root: DataRoot = None,
) -> None:
    """Write a page with the measured statistics of every data set beside the published ones.

    Example: newtonnet-paper datasets --out docs/datasets.md
    """
    from .datasets_page import comparison_page, measured_rows

    _save(out, comparison_page(measured_rows(data_root)))


if __name__ == "__main__":
    main()
