"""Models of other packages: an entry point makes them as visible as those of the zoo, on the command line too."""

import json

import pytest

from newtonnet.cli import app, run
from newtonnet.nn import ZOO, find_model

MODULE = """
from newtonnet.nn import DegreeOptions, ModelEntry, build_spectral
from newtonnet.polynomials import legendre_filter

def build(graph, options, seeds, dtype):
    filter = legendre_filter(options.degree)
    return build_spectral(filter, graph, name="mine", options=options, seeds=seeds, dtype=dtype)

entry = ModelEntry(build, DegreeOptions(degree=3), "nowhere")
something = 7
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed package that offers models."""
    (tmp_path / "their_models.py").write_text(MODULE)
    about = tmp_path / "their_models-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-models\nVersion: 1.0\n")
    lines = ("mine = their_models:entry", "odd = their_models:something", "gone = their_models:missing")
    (about / "entry_points.txt").write_text("[newtonnet.models]\n" + "\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    ZOO.pop("mine", None)


def test_a_model_of_another_package_trains_on_the_command_line(package, tmp_path, capsys):
    words = ["train", "csbm-heterophilous", "--model", "mine", "--splits", "1", "--max-epochs", "2", "--json"]
    assert run(app, [*words, "--set", "degree=2", "--out", str(tmp_path / "r.jsonl")]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["degree"] == 2


def test_models_of_other_packages_are_listed_and_mistakes_in_them_are_one_line(package):
    with pytest.raises(ValueError, match=r"unknown model 'nine'; .*available: .*gone, gprgnn, .*mine"):
        find_model("nine")
    with pytest.raises(ValueError, match="model 'odd' of their_models:something must be a ModelEntry, got int"):
        find_model("odd")
    with pytest.raises(ValueError, match="model 'gone' of their_models:missing cannot be loaded"):
        find_model("gone")
