"""The core works without the extras, and what needs one says in one line which."""

import sys

import pytest

from newtonnet.cli import run
from newtonnet.datasets import load
from newtonnet.search import make_study, on_ray, propose
from newtonnet_paper.cli import app


@pytest.fixture
def without(monkeypatch):
    def hide(*names):
        for name in [*sys.modules]:
            if name.split(".")[0] in names:
                monkeypatch.delitem(sys.modules, name)
        monkeypatch.delitem(sys.modules, "newtonnet.datasets.sources", raising=False)
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)

    return hide


def test_a_published_graph_that_is_not_cached_needs_the_extra_pyg(without, tmp_path, monkeypatch):
    monkeypatch.setenv("NEWTONNET_DATA", str(tmp_path))
    monkeypatch.setenv("NEWTONNET_CACHE", str(tmp_path / "cache"))
    without("torch_geometric")
    with pytest.raises(ValueError, match=r"cora.* needs PyTorch Geometric .*\[pyg\]'$"):
        load("cora")


def test_a_broken_package_is_one_line_too(tmp_path, monkeypatch):
    """Packages that do not fit the installed torch raise other errors than a missing one."""
    (tmp_path / "optuna.py").write_text("raise OSError('undefined symbol')")
    monkeypatch.delitem(sys.modules, "optuna", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    study = make_study("digits", "mlp", splits=2, max_epochs=2)
    with pytest.raises(ValueError, match=r"needs Optuna \(undefined symbol\).*\[search\]'$"):
        propose(study, [], 0)


def test_proposals_of_a_search_need_the_extra_search(without):
    without("optuna")
    study = make_study("digits", "mlp", splits=2, max_epochs=2)
    with pytest.raises(ValueError, match=r"needs Optuna .*\[search\]'$"):
        propose(study, [], 0)


def test_a_search_on_ray_needs_the_extra_cluster(without):
    without("ray")
    with pytest.raises(ValueError, match=r"Ray .*\[cluster\]'$"), on_ray():
        pass


def test_figures_of_the_paper_need_the_extra_paper_before_any_work_is_done(without, tmp_path, capsys):
    without("matplotlib")
    assert run(app, ["reproduce", "theory", "--no-run", "--out", str(tmp_path / "out")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("newtonnet: drawing a figure needs matplotlib")
    assert line.endswith("[paper]'")
    assert not (tmp_path / "out").exists()
