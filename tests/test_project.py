"""The files of the project agree with each other: workflow, versions, extras, wheel."""

import re
import tomllib
from pathlib import Path

import yaml

import newtonnet

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
JOBS = WORKFLOW["jobs"]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def steps(job):
    return " ; ".join(step.get("run", step.get("uses", "")) for step in JOBS[job]["steps"])


def test_the_workflow_tests_three_systems_and_every_supported_python():
    matrix = JOBS["test"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == ["3.11", "3.12", "3.13"], "a number such as 3.10 would lose its zero"
    assert PROJECT["project"]["requires-python"] == f">={matrix['python'][0]}"
    assert "pytest" in steps("test")


def test_the_workflow_checks_documents_and_builds_wheels():
    assert "make check" in steps("check")
    assert "make docs" in steps("check")
    assert "python -m build" in steps("wheels")
    assert ".ci/smoke" in steps("wheels")
    made = {word for job in JOBS for word in re.findall(r"make ([a-z]+)", steps(job))}
    assert made <= TARGETS


def test_every_step_of_the_workflow_runs_or_uses_something():
    for job in JOBS.values():
        assert "runs-on" in job
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])


def test_the_local_checks_install_the_wheel_and_use_it():
    assert "make smoke" in (ROOT / ".ci" / "run").read_text()
    assert "smoke" in TARGETS


def test_the_version_is_read_from_the_package():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "newtonnet.__version__"}
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]
    assert str(cited) == newtonnet.__version__


def test_no_module_asks_for_the_version_of_a_distribution():
    texts = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    assert not [text for text in texts if "metadata.version" in text or "import version" in text]


def test_everything_that_is_installed_is_pinned():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {re.split("==", line)[0].lower().replace("_", "-") for line in lines if line and line[0] != "#"}
    extras = PROJECT["project"]["optional-dependencies"]
    needed = [*PROJECT["project"]["dependencies"], *(one for names in extras.values() for one in names)]
    names = {re.split(r"[\[>=]", one)[0].lower().replace("_", "-") for one in needed}
    assert names - pinned == {"newtonnet-spectral"}
