"""The examples of experiment tracking log every epoch and every setting, and run where the tracker is not installed."""

import contextlib
import runpy
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm

EXAMPLES = Path(__file__).parent.parent / "examples"
QUICK = {"settings": {"degree": 2, "hidden": 4}, "folds": 2, "max_epochs": 3, "threads": 1}


class FakeMLflow(ModuleType):
    """Counts calls by name, with what they were given."""

    def __init__(self):
        super().__init__("mlflow")
        self.calls = []

    def log_metrics(self, metrics, step=None):
        self.calls.append(("metrics", metrics, step))

    def log_params(self, params):
        self.calls.append(("params", params, None))

    @contextlib.contextmanager
    def start_run(self, run_name=None, *, nested=False):
        self.calls.append(("run", run_name, nested))
        yield


class FakeWriter:
    def __init__(self):
        self.calls = []

    def add_scalar(self, name, value, step):
        self.calls.append((name, float(value), int(step)))

    def add_text(self, name, text, step):
        self.calls.append((name, text, int(step)))


@pytest.fixture(scope="module")
def fitted():
    """A quick fit that calls a tracker."""
    return lambda tracker: NewtonNetClassifier(**QUICK).fit(
        csbm(0.1, nodes=60, features=10), on_epoch=tracker.on_epoch, on_trial=tracker.on_trial
    )


def example(name):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def test_mlflow_gets_a_nested_run_for_every_trial_and_numbered_epochs(fitted, monkeypatch):
    fake = FakeMLflow()
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    tracker = example("track_mlflow")["MLflowTracker"]()
    model = fitted(tracker)
    runs = [call for call in fake.calls if call[0] == "run"]
    params = [call[1] for call in fake.calls if call[0] == "params"]
    steps = [step for what, _, step in fake.calls if what == "metrics" and step is not None]
    assert len(runs) == len(params) >= model.tried_
    assert all(nested for *_, nested in runs)
    assert {one["degree"] for one in params} == {2}
    assert steps == list(range(1, tracker.epochs + 1))


def test_tensorboard_gets_a_score_for_every_trial_and_curves_over_epochs(fitted):
    writer = FakeWriter()
    tracker = example("track_tensorboard")["TensorBoardTracker"](writer)
    model = fitted(tracker)
    names = Counter(name for name, *_ in writer.calls)
    assert names["epoch/loss"] == names["epoch/homophily"] == names["epoch/best"] == tracker.epochs
    assert names["trial/validation"] == names["trial/settings"] >= model.tried_


@pytest.mark.parametrize(("name", "module"), [("track_mlflow", "mlflow"), ("track_tensorboard", "tensorboard")])
def test_without_the_tracker_the_example_says_what_to_install(name, module, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert f"pip install {module}" in capsys.readouterr().out
