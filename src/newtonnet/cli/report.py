"""``newtonnet report``: a page from records that were written earlier."""

from pathlib import Path
from typing import Annotated

import typer

from newtonnet.datasets import CATALOGUE, load_dataset
from newtonnet.files import write_whole
from newtonnet.report import RecordGroup, graph_homophily, render_records
from newtonnet.training import Record

from .alike import group_runs
from .app import app, talk
from .command_line import command_line
from .options import DataRoot
from .splits import check_writable


@app.command()
def report(
    context: typer.Context,
    records: Annotated[list[Path], typer.Argument(help="Files of records (JSON lines) that newtonnet train wrote.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Of the page.")] = "What was learned",
    data_root: DataRoot = None,
) -> None:
    """Show what runs have learned on one page: scores, filters, homophily, a section for each graph and setting.

    Example: newtonnet report out/records/*.jsonl --out report.html
    """
    check_writable(out)
    if out.resolve() in {path.resolve() for path in records}:
        raise ValueError(f"{out} holds the records and would be written over; name another page with --out")
    alike = group_runs([record for path in records for record in _read(path)])
    groups = [_group(name, found, data_root) for name, found in alike]
    write_whole(out, render_records(title, groups, command=command_line(context)))
    for group in groups:
        print(f"{group.title}: {group.headline}")
    talk.print(f"{out} written", style="dim")


def _read(path: Path) -> list[Record]:
    """The records of a file, refused where a line is none."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}; give files of records, which newtonnet train writes")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as reason:
        raise ValueError(f"{path} is no text; give files of records") from reason
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(Record.from_json(line))
        except ValueError as reason:
            raise ValueError(f"{path}, line {number}: {reason}") from reason
    if not found:
        raise ValueError(f"{path} holds no record")
    return found


def _group(title: str, records: list[Record], data_root: Path | None) -> RecordGroup:
    """The records with the homophily of their graph."""
    name = records[0].dataset
    if name not in CATALOGUE:
        raise ValueError(
            f"there is no data set {name!r}: records of your own tables have their page in the folder of the run, "
            "report.html"
        )
    for directed in (None, "as-stored"):
        graph = load_dataset(name, data_root=data_root, directed=directed).graph
        if all(record.checksum == graph.checksum for record in records):
            return RecordGroup(title, records, graph_homophily(graph), graph.classes)
    raise ValueError(f"these records are of another {name} than the one at hand; train again")
