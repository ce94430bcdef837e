"""Help and imports are fast: what is slow to load is loaded when it is used."""

import json
import subprocess
import sys

import pytest

from newtonnet.analysis import FOLDS
from newtonnet.cli import app, options
from newtonnet.datasets import PROTOCOLS
from newtonnet.nn import ZOO

HEAVY = "matplotlib numpy optuna pandas plotly pyarrow ray scipy sklearn torch torch_geometric"
COMMANDS = ("fit", "predict", "demo", "datasets", "train", "search", "report")
HELP = {"help": ["--help"], **{f"{name} help": [name, "--help"] for name in COMMANDS}}
LIMITS = {"import": 0.3, **dict.fromkeys(HELP, 0.5)}
CODE = f"""
import json, sys, time
import newtonnet

def look(others=0.0):
    return [name for name in {HEAVY!r}.split() if name in sys.modules], time.process_time() - others

found = {{"import": look()}}
from newtonnet.cli import app, run
start = time.process_time()
for name, words in {HELP!r}.items():
    others = time.process_time() - start
    assert run(app, words) == 0
    found[name] = look(others)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def started():
    """What is loaded after each help of a new process, and its time with that of the start, without other helps."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("case", LIMITS)
def test_nothing_heavy_is_loaded_and_little_time_is_used(case, started):
    loaded, seconds = started[case]
    assert loaded == []
    assert seconds < 3 * LIMITS[case]  # a generous bound: other tests may run beside this one


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
