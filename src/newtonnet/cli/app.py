"""The command line's frame: one application, talk on standard error, a user's mistake in one line."""

import json
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

ORDER = ("fit", "predict", "demo", "datasets", "train", "search", "report")
"""Commands in the help, those that most people want first; others follow."""


class InOrder(TyperGroup):
    """The commands in an order that does not depend on which module was imported first."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names."""
        return sorted(super().list_commands(ctx), key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


app = typer.Typer(
    name="newtonnet",
    cls=InOrder,
    help="Learn graph spectral filters whose shape is known.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

STOPPED = 130
"""Exit code after Ctrl-C."""

talk = Console(stderr=True, markup=False, highlight=False)
"""Progress and remarks; standard output is kept for results."""


def print_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """One JSON value on one line of standard output."""
    print(json.dumps(value, allow_nan=False))


@app.callback(invoke_without_command=True)
def _common(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if show_version:
        print(f"newtonnet {version('newtonnet')}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; mistakes become one line on standard error and exit code 2."""
    sys.exit(run(app, arguments))


def run(application: Callable[..., Any], arguments: Sequence[str] | None, *, name: str = "newtonnet") -> int:
    """The exit code of one invocation: 0, 2 for a user's mistake, 130 for Ctrl-C."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _remark  # type: ignore[assignment]
            outcome = application(args=arguments, prog_name=name, standalone_mode=False)
        if outcome == STOPPED:
            print("newtonnet: stopped", file=sys.stderr)
        return outcome if isinstance(outcome, int) else 0
    except typer.TyperException as mistake:
        return _complain(mistake.format_message())
    except ValueError as mistake:
        return _complain(str(mistake))
    except OSError as mistake:
        known = mistake.filename is not None and mistake.strerror is not None
        return _complain(f"{mistake.filename}: {mistake.strerror}; name another place" if known else str(mistake))
    except (MemoryError, RuntimeError) as trouble:
        if isinstance(trouble, MemoryError) or "allocate" in str(trouble):
            return _complain(f"not enough memory for this run ({trouble}); use fewer splits or a smaller model")
        raise
    except (typer.Abort, KeyboardInterrupt):
        print("newtonnet: stopped", file=sys.stderr)
        return STOPPED


def _remark(message: Warning | str, *_: object) -> None:
    print(f"newtonnet: {message}", file=sys.stderr)


def _complain(message: str) -> int:
    print(f"newtonnet: {' '.join(message.split())}", file=sys.stderr)
    return 2
