"""``newtonnet report``: a page from records that were written earlier."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from newtonnet.files import check_writable, write_whole
from newtonnet.progress import console

from .app import app
from .options import DataRoot, command_line

if TYPE_CHECKING:
    from newtonnet.report import RecordGroup
    from newtonnet.training import Record

FREE = ("seed", "run_seed", "history_interval")
"""Training fields in which runs of one setting may differ."""


@app.command()
def report(
    context: typer.Context,
    records: Annotated[list[Path], typer.Argument(help="Files of records (JSON lines) that newtonnet train wrote.")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "What was learned",
    data_root: DataRoot = None,
) -> None:
    """Write a page about training runs: scores, filters and homophily of each data set and setting.

    Example: newtonnet report out/records/*.jsonl --out report.html
    """
    check_writable(out)
    if out.resolve() in {path.resolve() for path in records}:
        raise ValueError(f"{out} holds the records and would be overwritten; name another file with --out")
    from newtonnet.report import render_records

    runs = group_runs([record for path in records for record in _read(path)])
    groups = [_group(name, found, data_root) for name, found in runs]
    write_whole(out, render_records(title, groups, command=command_line(context)))
    for group in groups:
        print(f"{group.title}: {group.headline}")
    console.print(f"{out} written", style="dim", soft_wrap=True)


def group_runs(records: "Iterable[Record]") -> "list[tuple[str, list[Record]]]":
    """Group records that differ in split and seed only, each group with a title; duplicates count once.

    If a model has several settings on a data set, the titles name the differences.
    """
    groups: list[tuple[Mapping[str, Any], dict[str, Record]]] = []
    for record in records:
        decided = _decided(record)
        found = next((members for known, members in groups if known == decided), None)
        if found is None:
            groups.append((decided, found := {}))
        found[record.id] = record
    return [(_title(known, [other for other, _ in groups]), list(found.values())) for known, found in groups]


def _decided(record: "Record") -> dict[str, Any]:
    """Everything that determines a run except its split and seed, by name."""
    from newtonnet.training import ADDED

    config = {name: value for name, value in record.config.items() if name not in FREE}
    protocol = record.split["protocol"]
    return {**ADDED, **record.options, **config, "model": record.model, "dataset": record.dataset, "protocol": protocol}


def _title(one: Mapping[str, Any], groups: Iterable[Mapping[str, Any]]) -> str:
    from newtonnet.report import plain

    rivals = [other for other in groups if all(other[name] == one[name] for name in ("model", "dataset"))]
    names = dict.fromkeys(name for other in rivals for name in other)
    differing = [name for name in names if any(other.get(name) != one.get(name) for other in rivals)]
    details = ", ".join(f"{name} {plain(one.get(name))}" for name in differing)
    return f"{one['model']} on {one['dataset']}" + (f" ({details})" if details else "")


def _read(path: Path) -> "list[Record]":
    """The records of a file; a line that is not a record is refused."""
    from newtonnet.training import Record

    if path.is_dir():
        raise ValueError(f"{path} is a folder; give files of records; the page of a fit is report.html in its folder")
    if not path.is_file():
        raise ValueError(f"there is no file {path}; give files of records, which newtonnet train writes")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as reason:
        raise ValueError(f"{path} is not a text file; give files of records") from reason
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(Record.from_json(line))
        except ValueError as reason:
            raise ValueError(f"{path}, line {number}: {reason}") from reason
    if not found:
        raise ValueError(f"{path} holds no records")
    return found


def _group(title: str, records: "list[Record]", data_root: Path | None) -> "RecordGroup":
    """The records with the homophily of their graph."""
    from newtonnet.datasets import CATALOGUE, load_dataset
    from newtonnet.report import RecordGroup, graph_homophily

    name = records[0].dataset
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}; the page of your own tables is report.html in the run folder")
    for directed in (None, "as-stored"):
        graph = load_dataset(name, data_root=data_root, directed=directed).graph
        if all(record.checksum == graph.checksum for record in records):
            return RecordGroup(title, records, graph_homophily(graph), graph.classes)
    raise ValueError(f"these records belong to another version of {name} than the one found here; train again")
