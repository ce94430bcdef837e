"""Help and imports are fast: what is slow to load is loaded when it is used."""

import json
import subprocess
import sys
from itertools import pairwise

import pytest

from newtonnet.analysis import FOLDS
from newtonnet.cli import app, options, run
from newtonnet.datasets import PROTOCOLS
from newtonnet.nn import ZOO
from newtonnet_paper.cli import app as laboratory

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


LOADED = """
import sys
from newtonnet.cli.app import load_torch
load_torch()
import newtonnet.analysis
print([name for name in ("pandas", "plotly", "scipy.optimize", "scipy.stats._stats_py") if name in sys.modules])
import pandas
from scipy import stats
print(pandas.Series(stats.rankdata([30, 10, 20])).tolist(), stats is sys.modules["scipy.stats"])
"""


def test_a_command_loads_torch_without_pandas_and_statistics_which_can_be_used_later():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "[3.0, 1.0, 2.0] True"]


FRAMES = """
from newtonnet.cli.app import load_torch
load_torch()
import pandas, pyarrow
print(pyarrow.array(pandas.Series([1.0, None])).null_count)
"""


def test_the_model_of_another_package_may_hand_frames_to_pyarrow(tmp_path):
    offer = tmp_path / "other-1.0.dist-info"
    offer.mkdir()
    (offer / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (offer / "entry_points.txt").write_text("[newtonnet.models]\nother = other:ENTRY\n")
    code = f"import sys; sys.path.append({str(tmp_path)!r})\n{FRAMES}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


@pytest.mark.parametrize("closed", [1, 2], ids=["output", "errors"])
def test_a_command_ends_with_its_code_where_a_stream_is_closed(closed):
    code = f"import os; os.close({closed}); import sys; sys.std{'out' if closed == 1 else 'err'} = None\n"
    code += "from newtonnet.cli import main; main(['fit', '--other'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


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


@pytest.mark.parametrize(("program", "command"), [(app, "fit"), (app, "explain"), (laboratory, "portfolio")])
def test_paragraphs_of_the_help_fill_the_terminal(program, command, monkeypatch, capsys):
    """Lines of a docstring that are longer than the terminal would leave single words on lines of their own."""
    monkeypatch.setenv("COLUMNS", "80")
    assert run(program, [command, "--help"]) == 0
    text = capsys.readouterr().out.split("Usage: ")[1].split("╭")[0]
    lines = [line.strip() for line in text.splitlines()]
    broken = [f"{a} {b.split()[0]}" for a, b in pairwise(lines) if a and b]
    assert broken
    assert min(map(len, broken)) > 70


@pytest.mark.parametrize("words", [(app, "fit"), (app,), (laboratory, "reproduce")], ids=["fit", "all", "reproduce"])
def test_a_flag_is_shown_without_a_type(words, capsys):
    program, *command = words
    assert run(program, [*command, "--help"]) == 0
    printed = capsys.readouterr().out
    assert "--help" in printed
    assert "<bool>" not in printed
