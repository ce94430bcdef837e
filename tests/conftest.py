"""The random stream, the tiny graphs, the tables and the browser that every test may ask for."""

import csv
import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

os.environ["OMP_NUM_THREADS"] = "1"  # tests run side by side; read when torch is loaded

import numpy as np
import pytest

from newtonnet.graphs import from_edges

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell gives this to what it starts in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


RAY = ("tests/search/test_ray_executor.py", "tests/out_of_core/test_ray_training.py")
"""Tests that start clusters: one after the other, in one process, or they starve each other."""


def pytest_addoption(parser):
    """The length of the campaigns in tests/campaigns, see docs/reliability.md."""
    parser.addoption("--campaign", choices=("short", "long"), default="short", help="length of tests/campaigns")
    parser.addoption("--most", type=int, default=10**9, help="most cases of each kind in a long campaign")


def pytest_collection_modifyitems(items):
    """The longest group first, so that nobody waits for it at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(RAY))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """File by file to whoever is free, in the order of collection: what a file shares is made once."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "ray" if nodeid.startswith(RAY) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def path():
    """P3 with the signal (1, 2, 4): frequencies 0, 1, 2, and 0, 1/2, 7/6 with self-loops."""
    return from_edges([[0, 1], [1, 2]], [[1.0], [2.0], [4.0]], labels=[0, 0, 1], name="path")


@pytest.fixture(scope="session")
def ring():
    """A ring of 8 nodes with alternating classes: frequencies 1 - cos(2 pi k / 8)."""
    nodes = np.arange(8)
    return from_edges([nodes, (nodes + 1) % 8], np.eye(8), labels=nodes % 2, name="ring")


@pytest.fixture(scope="session")
def two_cliques():
    """Two separate cliques of 4 nodes, each one class: frequencies 0 twice and 4/3 six times."""
    pairs = [(c + i, c + j) for c in (0, 4) for i in range(4) for j in range(i)]
    return from_edges(np.array(pairs).T, np.eye(8), labels=np.repeat([0, 1], 4), name="two cliques")


@pytest.fixture(scope="session")
def random_graph():
    """40 nodes and 42 weighted edges, 9 nodes without an edge, 8 without a label; frequencies all over [0, 2)."""
    rng = np.random.default_rng(7)
    linked = np.delete(np.arange(40), [3, 17, 18, 39])
    pairs = rng.choice(linked, size=(2, 45))
    weights = rng.uniform(0.5, 2.0, size=45)
    labels = rng.integers(-1, 3, size=40)
    return from_edges(pairs, rng.normal(size=(40, 5)), labels=labels, weights=weights, name="random")


@pytest.fixture(scope="session")
def arrows():
    """A directed graph of 6 nodes with weights, one of them without an arrow out and one without any."""
    edges = [[0, 1, 2, 2, 3, 0], [1, 2, 0, 3, 4, 3]]
    return from_edges(edges, np.eye(6), weights=[1.0, 2.0, 0.5, 1.0, 3.0, 1.5], directed=True, name="arrows")


@pytest.fixture(scope="session")
def tiny_graphs(path, ring, two_cliques, random_graph):
    return {"path": path, "ring": ring, "two cliques": two_cliques, "random": random_graph}


@pytest.fixture(scope="session")
def dense_laplacian():
    """The normalised Laplacian written out entry by entry in numpy, as an oracle for everything sparse."""

    def build(graph, *, self_loops=False):
        weights = graph.adjacency.toarray().astype(np.float64)
        n = len(weights)
        if self_loops:
            weights = weights + np.eye(n)
        degree = [sum(weights[i]) for i in range(n)]
        laplacian = np.eye(n)
        for i in range(n):
            for j in range(n):
                if weights[i, j] > 0:
                    laplacian[i, j] -= weights[i, j] / np.sqrt(degree[i] * degree[j])
        return laplacian

    return build


ODD = ["007", "7", "a,b", 'quo"te', "zoë 图", " lead", "-1", "line\nbreak"]
"""Ids that are easily damaged."""


def write_tables(folder, *, nodes=60, seed=0, labels=True, colours="red green"):
    """Two classes that avoid each other's company, told apart by a number and a colour; a fifth has no label."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    ids = [*ODD, *(f"n{i}" for i in range(len(ODD), nodes))]
    classes = rng.permutation(nodes) % 2
    known = rng.random(nodes) < 0.8
    header = ["id", *(["kind"] if labels else []), "size", "colour", "same"]
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        for name, kind, shown in zip(ids, classes, known, strict=True):
            colour = colours.split()[int(rng.random() < 0.2 + 0.6 * kind)]
            label = ["cat" if kind else "dog, big"] if shown else [""]
            size = f"{rng.normal() + 1.5 * kind:.3f}"
            writer.writerow([name, *(label if labels else []), size, colour, "3"])
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["source", "target"])
        for a, b in rng.integers(nodes, size=(4 * nodes, 2)):
            if a != b and (classes[a] == classes[b]) == (rng.random() < 0.9):
                writer.writerow([ids[a], ids[b]])
    return SimpleNamespace(
        folder=folder, ids=ids, arguments=["--nodes", str(folder / "nodes.csv"), "--edges", str(folder / "edges.csv")]
    )


@pytest.fixture
def tables(tmp_path):
    return write_tables(tmp_path / "tables")


@pytest.fixture(scope="session")
def write():
    """Make tables in a folder."""
    return write_tables


@pytest.fixture(scope="module")
def two_folds():
    """Models are averages over two inner folds, for tests that hold with any number of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("newtonnet.estimator.estimator.fold_count", lambda graph: 2)
        yield


@pytest.fixture(scope="module")
def few_trees():
    """Boosting ends after ten trees, for tests that hold with any number of them."""
    from newtonnet.bank import BoostingOptions, train_boosting
    from newtonnet.estimator.families import BANK

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BANK, "boosting", (BoostingOptions(max_iterations=10), train_boosting))
        yield


@pytest.fixture(scope="module")
def generated_once():
    """Generated graphs of the catalogue are made once."""
    from newtonnet.datasets import CATALOGUE

    once = {
        name: replace(entry, generate=entry.generate and cache(entry.generate)) for name, entry in CATALOGUE.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("newtonnet.datasets.catalogue.CATALOGUE", once)
        yield


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
PATIENCE = 20.0


class Browser:
    """One Chromium with one tab; commands go in, answers and events come out."""

    def __init__(self, profile):
        (command_end, commands), (answers, answer_end) = os.pipe(), os.pipe()
        # The protocol wants file descriptors 3 and 4; high ones cannot be overwritten while they are put there.
        given = [fcntl.fcntl(end, fcntl.F_DUPFD, 30) for end in (command_end, answer_end)]
        places = f'exec "$@" 3<&{given[0]} 4>&{given[1]}'
        arguments = ["bash", "-c", places, "bash", CHROMIUM, *FLAGS, f"--user-data-dir={profile}"]
        self.process = subprocess.Popen(
            arguments, pass_fds=given, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for end in (command_end, answer_end, *given):
            os.close(end)
        os.set_blocking(answers, False)
        self.commands, self.answers, self.rest = commands, answers, b""
        self.count, self.session, self.events, self.page = 0, None, [], None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.count:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def receive(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            assert time.monotonic() < end, "Chromium does not answer"
            try:
                self.rest += os.read(self.answers, 1 << 20)
            except BlockingIOError:
                time.sleep(0.005)
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, expression):
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def show(self, path, *, width=1200, height=900):
        """Open a page and wait until its script has run and its fonts and plots are there."""
        self.events.clear()
        self.page = path
        self.resize(width, height)
        self.send("Page.navigate", url=path.as_uri())
        self.until("document.readyState === 'complete' && location.protocol === 'file:'")
        self.settle()

    def until(self, condition):
        end = time.monotonic() + PATIENCE
        while not self.evaluate(condition):
            assert time.monotonic() < end, f"in vain: {condition}"
            time.sleep(0.02)

    def settle(self):
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def resize(self, width, height=900):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def pointer(self, kind, x, y):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def text(self, part):
        return self.evaluate(f"document.querySelector('[data-part=\"{part}\"]').textContent")

    def complaints(self):
        """Errors of the console and of scripts."""
        self.evaluate("0")
        wrong = [e for e in self.events if e["method"] == "Runtime.exceptionThrown"]
        wrong += [
            e for e in self.events if e["method"] == "Runtime.consoleAPICalled" and e["params"]["type"] == "error"
        ]
        wrong += [
            e for e in self.events if e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] == "error"
        ]
        return wrong

    def requests(self):
        """Addresses that the page asked for."""
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def close(self):
        self.session = None
        self.send("Browser.close")
        self.process.wait(PATIENCE)
        os.close(self.commands)
        os.close(self.answers)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A real browser: Chromium, driven over its DevTools protocol through a pipe."""
    if CHROMIUM is None:
        pytest.skip("needs a Chromium in the PATH (Debian: apt-get install chromium)")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
