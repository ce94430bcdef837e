"""The search on Ray: real training of tiny trials on clusters that live on this machine."""

import ast
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import newtonnet
from newtonnet.cli import app, run
from newtonnet.search import make_study, on_ray, open_store, propose, read_trials, store_path, sweep, sweep_all
from newtonnet.search.trials import Task, run_task
from newtonnet_paper.cells import Cell
from newtonnet_paper.cli import app as laboratory

ray = pytest.importorskip("ray")
psutil = pytest.importorskip("psutil")
Cluster = pytest.importorskip("ray.cluster_utils").Cluster

SOURCE = Path(newtonnet.__file__).parent
DATASET = "digits"
SPACE = {
    "learning_rate": (0.05, 0.02, 0.01, 0.005),
    "weight_decay": (0.0, 1e-5, 1e-4, 5e-4, 1e-3),
    "dropout": (0.1, 0.3, 0.5, 0.7),
}
LOOP = {"fixed": {"hidden": 6}, "splits": 2, "max_epochs": 6, "patience": 5, "batch": 8, "max_population": 2}
TRIALS = 64
HEALTH = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 2}
"""A head that misses a dead node within a second or two, not half a minute."""


@pytest.fixture(scope="module")
def study():
    return make_study(DATASET, "newtonnet", space=SPACE, **LOOP)


@pytest.fixture(scope="module")
def cluster():
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": HEALTH}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # Ray's own files
        made = Cluster(initialize_head=True, head_node_args=head)
        yield made
        made.shutdown()


@pytest.fixture(scope="module")
def executor(cluster):
    with on_ray(cluster.address) as execute:
        yield execute


def search(folder, study, executor=None, trials=TRIALS):
    with open_store(folder, study) as store:
        list(sweep(study, store, trials=trials, executor=executor))
    return told(folder, study)


def told(folder, study):
    """All that a store says but the seconds, byte for byte."""
    trials = sorted(read_trials(store_path(folder, study)), key=lambda trial: trial.number)
    return [replace(trial, seconds=0.0).to_json() for trial in trials]


@pytest.fixture(scope="module")
def unbroken(study, tmp_path_factory):
    return search(tmp_path_factory.mktemp("unbroken"), study)


@pytest.fixture
def placed(monkeypatch):
    """References of everything that is placed in the object store."""
    references, put = [], ray.put

    def keep(value):
        references.append(put(value))
        return references[-1]

    monkeypatch.setattr(ray, "put", keep)
    return references


def test_a_node_killed_in_the_middle_costs_no_trial(study, cluster, executor, tmp_path):
    longer = replace(study, max_epochs=60, patience=60)  # a quarter of a second and more
    unbroken = search(tmp_path / "unbroken", longer, trials=12)
    node = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    # Three tasks at a time, at least one of them on the node; it strikes when they have just begun.
    strike = threading.Timer(0.1, _cut_power, (cluster, node))

    def murderous(source):
        for number, result in enumerate(executor(source)):
            if number == 1:
                strike.start()
            yield result

    with pytest.warns(RuntimeWarning, match=r"newtonnet on digits, trials \d+ was lost \(\w+\) and runs again"):
        assert search(tmp_path / "broken", longer, murderous, trials=12) == unbroken
    strike.join()
    assert len(unbroken) == 12


def test_halving_drops_the_same_settings_as_in_this_process(cluster, executor, tmp_path):
    halved = make_study(DATASET, "newtonnet", space=SPACE, **LOOP, halving=True)
    here = search(tmp_path / "here", halved, trials=16)
    assert any('"dropped":true' in line for line in here)
    assert search(tmp_path / "there", halved, executor, trials=16) == here


def _cut_power(cluster, node):
    """All processes of a node at once: its workers would otherwise finish what they are at."""
    workers = _raylet(node).children(recursive=True)
    cluster.remove_node(node, allow_graceful=False)
    for worker in workers:
        with suppress(psutil.NoSuchProcess):
            worker.kill()


def _raylet(node):
    (info,) = node.all_processes["raylet"]
    return psutil.Process(info.process.pid)


def test_an_interrupt_keeps_what_is_finished_and_the_search_goes_on(study, unbroken, executor, tmp_path):
    ended = threading.Event()

    def strike():
        while not ended.wait(0.01):
            os.kill(os.getpid(), signal.SIGINT)
            ended.wait(20)  # Python loses an interrupt that falls into a finaliser

    def interrupted(source):
        for number, result in enumerate(executor(source)):
            if number == 10:  # strikes while the next result is waited for
                threading.Thread(target=strike).start()
            yield result

    with pytest.raises(KeyboardInterrupt):
        search(tmp_path, study, interrupted)
    ended.set()
    assert 10 < len(told(tmp_path, study)) < TRIALS
    assert search(tmp_path, study, executor) == unbroken


def test_an_interrupt_ends_the_tasks_that_run(study, cluster, executor, tmp_path):
    """A quarter of an hour of training, struck when it has begun."""
    long = replace(study, max_epochs=100_000, patience=None)
    ended = threading.Event()

    def strike():
        while not _at_work(cluster.head_node):
            time.sleep(0.05)
        while not ended.is_set():  # Python loses an interrupt that falls into a finaliser
            os.kill(os.getpid(), signal.SIGINT)
            ended.wait(20)

    threading.Thread(target=strike).start()
    with pytest.raises(KeyboardInterrupt):
        search(tmp_path, long, executor, trials=1)
    ended.set()
    assert told(tmp_path, long) == []
    deadline = time.monotonic() + 10
    while _at_work(cluster.head_node):
        assert time.monotonic() < deadline, "a task outlives the search"
        time.sleep(0.05)


def _at_work(node):
    """The node's processes that run a task."""
    found = []
    for process in _raylet(node).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found += [process] * process.name().startswith("ray::_work")
    return found


def test_a_graph_is_placed_once_for_all_studies_of_it(study, cluster, executor, placed, tmp_path):
    other = replace(study, label="other")
    with on_ray() as fresh, open_store(tmp_path, study) as one, open_store(tmp_path, other) as two:
        list(sweep_all([(study, one, 2), (other, two, 2)], executor=fresh))
        list(sweep_all([(study, one, 4), (other, two, 4)], executor=fresh))
    assert len(placed) == 1


def test_a_graph_lost_with_its_node_is_placed_again(study, unbroken, cluster, executor, placed, tmp_path, monkeypatch):
    put = ray.put

    def lose_the_first(value):
        """Put its only copy on another node, and cut that node's power."""
        if placed:
            return put(value)
        far = cluster.add_node(num_cpus=0, resources={"far": 1})
        cluster.wait_for_nodes()
        placed.append(ray.remote(num_cpus=0, resources={"far": 1}, max_retries=0)(lambda same: same).remote(value))
        ray.wait(placed, fetch_local=False)
        _cut_power(cluster, far)
        return placed[0]

    monkeypatch.setattr(ray, "put", lose_the_first)
    with on_ray() as fresh, pytest.warns(RuntimeWarning, match=r"trials 0 was lost \(Object\w+\) and runs again"):
        assert search(tmp_path, study, fresh, trials=16) == unbroken[:16]
    assert len(placed) == 2


def test_training_works_on_arrays_that_lie_in_the_store(study, executor, unbroken):
    """Nothing is copied and nothing written to; a warning would be an error here."""
    from newtonnet.search.study import load_data

    graph, splits = ray.get(ray.put(load_data(*study.data)))
    for array in (graph.adjacency.data, graph.adjacency.indices, graph.labels, splits[0].train):
        assert not array.flags.owndata
        assert not array.flags.writeable
    (trial,) = run_task(Task(study, (propose(study, [], 0)[0],)), graph, splits)
    assert replace(trial, seconds=0.0).to_json() == unbroken[0]


def test_an_error_in_a_task_arrives_as_it_was(study, executor, tmp_path):
    wrong = replace(study, fixed={**study.fixed, "dropout": 1.5}, space={"learning_rate": (0.1, 0.2)})
    with pytest.raises(ValueError, match=r"^a dropout rate must be at least 0 and below 1, got 1.5$") as caught:
        search(tmp_path, wrong, executor)
    assert type(caught.value) is ValueError


class _Foreign(str):
    """Text that no other process can read, as what a node without this package gets."""

    def __reduce__(self):
        return _refuse, (os.getpid(),)


def _refuse(home):
    if os.getpid() != home:
        raise ModuleNotFoundError("No module named 'nothing'")
    return ""


def test_a_node_that_cannot_read_a_task_is_named_in_one_line(study, executor, tmp_path):
    with pytest.raises(ChildProcessError, match=r"cannot run on a node: .*; check that every node has"):
        search(tmp_path, replace(study, label=_Foreign()), executor)


class _Changing(str):
    """Text that is another elsewhere, as a model's defaults are in another version."""

    def __reduce__(self):
        return str, ("changed",)


def test_trials_of_another_version_are_refused(study, executor, tmp_path):
    changing = replace(study, label=_Changing())
    with pytest.raises(ValueError, match="a node runs another version of newtonnet"):
        search(tmp_path, changing, executor)
    assert told(tmp_path, changing) == []


def test_a_process_that_is_connected_takes_no_other_address(executor):
    with pytest.raises(ValueError, match="connected to Ray already"), on_ray("elsewhere:6379"):
        pass
    assert ray.is_initialized()


def test_a_task_that_is_lost_too_often_stops_the_search(study, cluster, executor, tmp_path, monkeypatch):
    """Its worker dies by a signal, as where memory is short."""
    monkeypatch.setattr(import_module("newtonnet.search.executors"), "LOSSES", 0)
    over = threading.Event()

    def kill_workers():
        while not over.wait(0.05):
            for process in _at_work(cluster.head_node):
                with suppress(psutil.NoSuchProcess):
                    process.kill()

    thread = threading.Thread(target=kill_workers)
    thread.start()
    try:
        with pytest.raises(ChildProcessError, match=r"0 was lost once \(WorkerCrashedError\); is there enough memory"):
            search(tmp_path, replace(study, max_epochs=2000, patience=None), executor, trials=1)
    finally:
        over.set()
        thread.join()


COMMAND = ["search", DATASET, "--model", "mlp", "--trials", "8", "--splits", "2", "--max-epochs", "3"]


def test_a_ray_of_its_own_gives_the_table_of_this_process_and_keeps_quiet(tmp_path):
    own = [sys.executable, "-m", "newtonnet.cli", *COMMAND, "--executor", "ray", "--workers", "2", "--json"]
    home = {**os.environ, "HOME": str(tmp_path)}  # Ray keeps a token there
    done = subprocess.run([*own, "--results", tmp_path / "ray"], capture_output=True, text=True, timeout=300, env=home)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0].startswith("mlp on digits: 8 trials, best validation ")
    assert len([line for line in done.stderr.splitlines() if line.strip()]) == 1
    assert run(app, [*COMMAND, "--workers", "1", "--json", "--results", str(tmp_path / "here")]) == 0
    tables = [_table(tmp_path / name) for name in ("ray", "here")]
    assert len(tables[0]) == 8
    assert tables[0] == tables[1]


def _table(folder: Path):
    trials = sorted(read_trials(folder / "search" / DATASET / "mlp.jsonl"), key=lambda trial: trial.number)
    return [replace(trial, seconds=0.0).to_json() for trial in trials]


def test_a_claim_searches_on_ray(executor, capsys, tmp_path, monkeypatch):
    """On the cluster that this process is connected to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("newtonnet_paper.cli.wanted_cells", lambda *_: [Cell(DATASET, "mlp", 2)])
    monkeypatch.setattr(
        Cell, "make", lambda cell, results: make_study(cell.dataset, cell.model, splits=2, max_epochs=2)
    )
    asked = []
    monkeypatch.setattr(ray, "wait", lambda answers, wait=ray.wait: asked.extend(answers) or wait(answers))
    assert run(laboratory, ["reproduce", "table1", "--executor", "ray"]) == 0
    assert "mlp-list on digits: done with trial 1" in capsys.readouterr().err
    assert len(_table(tmp_path / "results")) == 2
    assert asked


def test_without_ray_one_line_says_how_to_get_it(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run(app, [*COMMAND, "--executor", "ray", "--results", str(tmp_path)]) == 2
    assert _only_line(capsys).endswith("pip install 'newtonnet-spectral[cluster]'")
    assert list(tmp_path.iterdir()) == []


def test_an_address_with_nothing_there_gets_one_line(capsys, monkeypatch, tmp_path):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        empty = f"127.0.0.1:{server.getsockname()[1]}"
    monkeypatch.setenv("RAY_ADDRESS", empty)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    for address in (empty, "auto"):
        assert run(app, [*COMMAND, "--executor", "ray", "--address", address, "--results", str(tmp_path)]) == 2
        assert f"no Ray cluster answers at {empty} " in _only_line(capsys)
    assert list(tmp_path.iterdir()) == []


def _only_line(capsys):
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = [line for line in captured.err.splitlines() if line.strip()]
    assert line.startswith("newtonnet: ")
    return line


def test_ray_is_imported_inside_functions_only():
    for path in SOURCE.rglob("*.py"):
        names = [name for node in ast.parse(path.read_text()).body for name in _imported(node)]
        assert "ray" not in names, path


def _imported(node):
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    return [node.module.split(".")[0]] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
