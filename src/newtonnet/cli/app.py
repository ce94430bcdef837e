"""The frame of the command line: one application, messages on standard error, errors in one line with an exit code."""

import atexit
import gc
import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from newtonnet.files import explain
from newtonnet.meaning import escaped

ORDER = ("fit", "predict", "explain", "export", "demo", "datasets", "train", "search", "report")
"""Commands in the help, the most common first."""
RENAMED = {"--for": "--time-limit", "--on": "--executor"}
"""Options that had another name once."""
STOPPED = 130
"""Exit code after Ctrl-C."""


class _Plain:
    """Shows a flag in the help without a type: it takes no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Arguments and options."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in found:
            if getattr(one, "is_flag", False):
                one.metavar = ""
        return found


class Command(_Plain, TyperCommand):
    """A command."""


class Group(_Plain, TyperGroup):
    """A group of commands."""


class InOrder(Group):
    """A group that lists its commands in a fixed order."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the commands."""
        return sorted(super().list_commands(ctx), key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


class Application(typer.Typer):
    """The commands of a program."""

    def command(self, *given: Any, **options: Any) -> Callable[[Any], Any]:
        """Add the function below as a command."""
        return super().command(*given, cls=Command, **options)


app = Application(
    name="newtonnet",
    cls=InOrder,
    help="Predict the classes of the nodes of a graph, with reasons; train and compare spectral filters.",
    epilog="Example: newtonnet fit --nodes nodes.csv --edges edges.csv --label-column label --out run",
    rich_markup_mode="markdown",  # which joins the lines of a paragraph
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _Later(ModuleType):
    """Stands for a module while others are loaded that import it, unless they need a name of it."""

    def __getattr__(self, name: str) -> Any:
        if name == "__file__":  # torch asks all modules for it
            raise AttributeError(name)
        self.leave()
        return getattr(import_module(self.__name__), name)

    def leave(self) -> None:
        """Make room for the module."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


class _NoPandas(MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse pandas, know nothing of other modules."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not loaded now", name=name)


def load_torch() -> None:
    """Load torch, scikit-learn and pyarrow without what commands do not use: that saves 40% of their time.

    Torch comes first, since it looks at every module that is loaded before it. The others load pandas for the frames
    of a caller, and a command has none; scikit-learn loads SciPy's statistics for one function. Without pandas, pyarrow
    knows no frame for the rest of the process: where another package offers models, which may have some, all is loaded.
    """
    from importlib.metadata import entry_points  # slow to import

    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # large columns are read faster, and given back
    if entry_points(group="newtonnet.models"):
        return
    later = _Later("scipy.stats")
    sys.modules.setdefault("scipy.stats", later)
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    gc.disable()  # there is no garbage among what is loaded
    try:
        for name in ("torch", "sklearn.base", "pyarrow"):
            import_module(name)
        sys.modules["pyarrow"].array([0])  # looks for pandas, and never again
    finally:
        sys.meta_path.remove(finder)
        later.leave()
        gc.freeze()  # and there will be none: to search a quarter of a million objects again takes 0.1 s each time
        gc.enable()


def print_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one JSON value on one line of standard output, with null for NaN."""
    print(json.dumps(json.loads(json.dumps(value), parse_constant=lambda _: None)))


@app.callback(invoke_without_command=True)
def _common(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if show_version:
        from newtonnet import __version__

        print(f"newtonnet {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit, at once: Python would first take apart all that torch has loaded, for 0.3 s."""
    code = run(app, arguments)
    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # None where it was closed before the start
                stream.flush()
    except OSError:  # nobody reads any more; Python has its own ways with that
        sys.exit(code)
    os._exit(code)


def run(application: Callable[..., Any], arguments: Sequence[str] | None, *, name: str = "newtonnet") -> int:
    """Run one command; an error becomes one line on standard error.

    Args:
        application: a Typer application; a command may return an exit code.
        arguments: words of the command line; those of the process if None.
        name: name of the program in the help.

    Returns:
        The exit code: 0, 2 for a user's mistake, 130 for Ctrl-C, 143 for SIGTERM and 129 for SIGHUP.
    """
    with _stop_signals() as stopped_by:
        code = _run(application, arguments, name)
    return 128 + stopped_by[-1] if stopped_by and code == STOPPED else code


@contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """SIGTERM and SIGHUP interrupt like Ctrl-C, and their numbers are put in the list that is yielded."""
    seen: list[int] = []

    def stop(number: int, frame: object) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    ours = []
    if threading.current_thread() is threading.main_thread():
        named = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        ours = [number for number in named if signal.getsignal(number) == signal.SIG_DFL]  # nohup ignores SIGHUP
    try:
        for number in ours:
            signal.signal(number, stop)
        yield seen
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _run(application: Callable[..., Any], arguments: Sequence[str] | None, name: str) -> int:
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            words = sys.argv[1:] if arguments is None else list(arguments)
            outcome = application(args=words, obj=words, prog_name=name, standalone_mode=False)
        if outcome == STOPPED:
            print("newtonnet: stopped", file=sys.stderr)
        return outcome if isinstance(outcome, int) else 0
    except typer.TyperException as mistake:
        option, context = getattr(mistake, "option_name", ""), getattr(mistake, "ctx", None)
        if option in RENAMED:
            return _fail(f"{option} is now {RENAMED[option]}")
        hint = "" if context is None else f"; see {context.command_path} --help"
        return _fail(mistake.format_message().removesuffix(".").replace("Value error, ", "") + hint)
    except ValueError as mistake:
        return _fail(str(mistake))
    except OSError as mistake:
        return _fail(explain(mistake))
    except (MemoryError, RuntimeError) as trouble:
        if isinstance(trouble, MemoryError) or "allocate" in str(trouble):
            return _fail(f"not enough memory for this run ({trouble}); use fewer splits or a smaller model")
        raise
    except (typer.Abort, KeyboardInterrupt):
        print("newtonnet: stopped", file=sys.stderr)
        return STOPPED


def _show_warning(message: Warning | str, *_: object) -> None:
    print(f"newtonnet: {escaped(str(message))}", file=sys.stderr)


def _fail(message: str) -> int:
    print(f"newtonnet: {escaped(' '.join(message.split()))}", file=sys.stderr)
    return 2
