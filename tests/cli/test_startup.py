"""Help and imports are fast: what is slow to load is loaded when it is used."""

import resource
import subprocess
import sys

import pytest

from newtonnet.analysis import FOLDS
from newtonnet.cli import app, options
from newtonnet.datasets import PROTOCOLS
from newtonnet.nn import ZOO

HEAVY = "matplotlib numpy optuna pandas plotly pyarrow ray scipy sklearn torch torch_geometric"
LOADED = f"\nimport sys\nprint('loaded', *[name for name in {HEAVY!r}.split() if name in sys.modules])"
HELP = "from newtonnet.cli import app, run\nassert run(app, {words!r}) == 0"
COMMANDS = ("fit", "predict", "demo", "datasets", "train", "search", "report")
CASES = {
    "import": ("import newtonnet", 0.3),
    "help": (HELP.format(words=["--help"]), 0.5),
    **{f"{name} help": (HELP.format(words=[name, "--help"]), 0.5) for name in COMMANDS},
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_heavy_is_loaded_and_little_time_is_used(case):
    code, limit = CASES[case]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code + LOADED], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.splitlines()[-1] == "loaded"
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert seconds < 3 * limit  # a generous bound: other tests may run beside this one


def test_names_in_the_help_are_those_of_the_library():
    assert options.MODELS.split(", ") == sorted(ZOO)
    assert options.PROTOCOLS.split(", ") == list(PROTOCOLS)
    assert str(FOLDS) in _help("fit", "folds")


def _help(command, parameter):
    import typer.main

    found = typer.main.get_command(app).commands[command]
    return str(next(one.show_default for one in found.params if one.name == parameter))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example(command):
    import typer.main

    assert f"Example: newtonnet {command}" in typer.main.get_command(app).commands[command].help
