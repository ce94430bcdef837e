"""Options that several commands share, and how their values are read: times, amounts of memory, settings, executors."""

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from newtonnet.memory import parse_amount
from newtonnet.progress import console

if TYPE_CHECKING:
    from newtonnet.search import Executor

evaluation = partial(typer.Option, rich_help_panel="Evaluation")
model = partial(typer.Option, rich_help_panel="Model")
run = partial(typer.Option, rich_help_panel="Run")
table = partial(typer.Option, rich_help_panel="Tables")
training = partial(typer.Option, rich_help_panel="Training")
"""Options under a heading of the help."""

MODELS = (
    "appnp, bernnet, chebnet, chebnetii, gcn, glognn++, gprgnn, jacobiconv, legendre, linkx, mixhop, mlp, "
    "newton-stack, newtonnet, tuned-gcn"
)
PROTOCOLS = (
    "random, per-class, stratified, weak-0.1, weak-0.2, weak-0.3, weak-0.4, weak-0.5, weak-0.6, weak-0.05, "
    "few-5, few-20"
)
"""Names for the help, which must not load torch; a test compares them with the library."""

SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="Put an apostrophe before ids and classes in predictions.csv that a spreadsheet would take for formulas.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON value on standard output.")]
DataRoot = Annotated[
    Path | None, typer.Option(help="Folder with raw data sets; it is only read. Default: $NEWTONNET_DATA.")
]
Splits = Annotated[int | None, evaluation(help="Number of splits. Default: 10, or all published.")]
Protocol = Annotated[str, evaluation(help=f"How to split the nodes: {PROTOCOLS}, or fixed.")]
MaxEpochs = Annotated[int, run(min=1, help="Maximum number of epochs.")]
Patience = Annotated[int, run(min=0, help="Stop after this many epochs without a better validation score; 0: never.")]
Threads = Annotated[int | None, run(min=1, help="Number of threads. Default: torch's choice.")]
MaxMemory = Annotated[str | None, run(help="Memory for training, besides the graph, such as 500MB or 2GB.")]
Assign = Annotated[
    list[str] | None,
    model("--set", metavar="NAME=VALUE", help="Any option of the model or its training; repeatable."),
]
UNKNOWN = "Edges to nodes that are not in the table: error, drop them, or add such nodes without features and label."
MEMORY: Literal["memory"] = "memory"
OUT_OF_CORE: Literal["out-of-core"] = "out-of-core"
Regime = Annotated[
    Literal["memory", "out-of-core"],
    run(help="out-of-core is for graphs that do not fit in memory: one setting, propagated features on disk."),
]
ExecutorName = Annotated[
    Literal["local", "ray"],
    run(help="Where to train: local, on this machine; or ray, on a cluster (needs the extra cluster)."),
]
Address = Annotated[
    str | None,
    run(help="With --executor ray: auto, or HOST:PORT of the cluster's head node. Default: start Ray on this machine."),
]
Workers = Annotated[
    int | None, run(min=1, help="Processes that train at the same time. Default: all cores, with one thread each.")
]

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_OWN_OPTION = ("seed", "max_epochs", "patience", "metric")
"""Settings that have an option of their own."""


def seconds(text: str) -> float:
    """Seconds of a time such as ``90s``, ``30m`` or ``1h30m``; a number alone is in seconds.

    >>> seconds("1h30m"), seconds("90")
    (5400.0, 90.0)
    """
    given, text = text, text if text[-1:] in _SECONDS else f"{text}s"
    parts = re.findall(r"(\d+(?:\.\d+)?)([hms])", text)
    total = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if "".join(number + unit for number, unit in parts) != text or total <= 0:
        raise ValueError(f"--time-limit takes a time such as 90s, 30m or 1h30m, got {given!r}")
    return total


def memory(text: str | None) -> int | None:
    """Bytes of an amount such as ``500MB`` or ``2GB``; None for None.

    >>> memory("1.5GB")
    1500000000
    """
    if text is None:
        return None
    try:
        return parse_amount(text)
    except ValueError as reason:
        raise ValueError(f"--max-memory takes {reason}") from None


def assignments(texts: Iterable[str] | None) -> dict[str, Any]:
    """Values of ``--set NAME=VALUE`` by name; numbers, true, false and null are read as such.

    >>> assignments(["degree=8", "points=chebyshev", "nonnegative=false"])
    {'degree': 8, 'points': 'chebyshev', 'nonnegative': False}
    """
    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ValueError(f"--set takes NAME=VALUE, got {text!r}")
        if name in _OWN_OPTION:
            raise ValueError(f"{name} has an option of its own; use --{name.replace('_', '-')}")
        found[name] = value
        with suppress(json.JSONDecodeError):
            found[name] = json.loads(value)
    return found


def command_line(context: typer.Context) -> str:
    """The command line of this invocation, as it was given."""
    return shlex.join(["newtonnet", *context.obj])


def check_regime(regime: Regime, model: str, *, store: Path | None) -> None:
    """Refuse options of the out-of-core regime that do not go together, before any work is done."""
    if regime == MEMORY and store is not None:
        raise ValueError(f"--store belongs to --regime {OUT_OF_CORE}")
    if regime == OUT_OF_CORE and model != "newtonnet":
        raise ValueError(f"--regime {OUT_OF_CORE} trains newtonnet only, got --model {model}")


@dataclass(frozen=True)
class Place:
    """Where tasks run, from the options ``--executor``, ``--address`` and ``--workers``."""

    executor: str = "local"
    address: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.address is not None and self.executor != "ray":
            raise ValueError("--address belongs to a Ray cluster; add --executor ray")

    def find(self) -> str | None:
        """The address of the cluster; what ``auto`` has found is said."""
        from newtonnet.cluster import find_cluster

        found = find_cluster(self.address)
        if self.address == "auto" and found is not None:
            console.print(f"Ray cluster: {found}", style="dim", soft_wrap=True)
        return found

    @property
    def count(self) -> int:
        """Number of tasks that run at once: ``workers``, or the number of cores."""
        return len(os.sched_getaffinity(0)) if self.workers is None else self.workers


@contextmanager
def open_executor(place: Place, *, data_root: Path | None = None) -> Iterator["Executor"]:
    """The executor of a place; it disconnects from a cluster at the end."""
    from newtonnet.search import in_process, on_ray, processes

    if place.executor == "local":
        yield in_process(data_root=data_root) if place.count == 1 else processes(place.count, data_root=data_root)
        return
    with ExitStack() as stack:
        address = place.find()
        with console.status("connecting to Ray"):
            executor = stack.enter_context(on_ray(address, workers=place.workers, data_root=data_root))
        yield executor
