"""Where the real raw files are, and a cache that is no one else's."""

import json
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """One cache for all tests of this folder, so that every real graph is parsed once."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "newtonnet-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEWTONNET_CACHE", str(folder))
        yield folder


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache of this test alone, empty, and no data root."""
    folder = tmp_path / "own-cache"
    monkeypatch.setenv("NEWTONNET_CACHE", str(folder))
    monkeypatch.delenv("NEWTONNET_DATA", raising=False)
    return folder


@pytest.fixture(scope="session")
def data_root():
    """The folder of real raw files."""
    named = os.environ.get("NEWTONNET_DATA")
    if not named or not Path(named).is_dir():
        pytest.skip("NEWTONNET_DATA names no folder of raw data sets")
    return Path(named)


@pytest.fixture(scope="session")
def manifest(data_root):
    """What others measured on these files, by the manifest's own names."""
    path = data_root / "manifest.json"
    if not path.is_file():
        pytest.skip("the data root has no manifest.json to compare with")
    return {row["name"]: row for row in json.loads(path.read_text())["datasets"]}
