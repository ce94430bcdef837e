"""How campaigns break things: a child process whose n-th durable call kills it or fails; and what they count."""

import os
import resource
import signal
import sys
import traceback
from collections import Counter

import pytest

collect_ignore = ["atheris_readers.py"]
"""A program of its own."""
CALLS = ("fsync", "replace", "unlink", "rmdir", "write", "truncate", "ftruncate", "posix_fallocate")
"""System calls by which the file layer makes something durable or removes it."""
ROOM = 4 << 30
"""Bytes that a child may allocate beyond what its parent has: a forged size must not ask for more."""
TINY = ["--model", "mlp", "--ignore", "colour", "--ignore", "same", "--no-tune", "--folds", "0"]
TINY += ["--max-epochs", "1", "--threads", "1"]
"""Options of a fit that writes all files of a run and computes little."""
COUNTS = pytest.StashKey()


@pytest.fixture(scope="session")
def choose(request):
    """One of two numbers: that of the short campaign, or of the long one, or what ``--most`` allows of it."""
    kind, most = (request.config.getoption(name) for name in ("--campaign", "--most"))
    return lambda *, short, long: short if kind == "short" else min(long, most) if isinstance(long, int) else long


@pytest.fixture(scope="session")
def count(request):
    """A counter of what the campaign did, printed at the end."""
    return request.config.stash.setdefault(COUNTS, Counter())


def pytest_terminal_summary(terminalreporter, config):
    for name, number in sorted(config.stash.get(COUNTS, {}).items()):
        terminalreporter.write_line(f"campaign: {name}: {number:,}")


def in_child(work, *, bounded=False):
    """Run in a forked process with the imports done; returns what it returned as text, and how it ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 1
        try:
            if bounded:
                with open("/proc/self/statm") as stream:
                    used = int(stream.read().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))
            answer = work()
            os.close(os.dup(writer))
            with open(writer, "w") as stream:
                stream.write("" if answer is None else str(answer))
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader) as stream:
        answer = stream.read()
    return answer, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def break_at(place, action):
    """In this process: the ``place``-th durable call, from 1, does ``action(call, arguments)`` instead; a counter."""
    seen = Counter()

    def broken(name, call):
        def checked(*arguments, **options):
            if name == "write" and arguments[0] <= 2:
                return call(*arguments, **options)
            seen["calls"] += 1
            if seen["calls"] == place:
                return action(name, call, arguments)
            return call(*arguments, **options)

        return checked

    for name in CALLS:
        setattr(os, name, broken(name, getattr(os, name)))
    return seen


def die(name, call, arguments):
    if name == "write":
        call(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])  # a torn write
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="session")
def kill_at():
    """Run work in a child that dies at its n-th durable call; the number of its calls if it made fewer, else None."""

    def run(work, place):
        def broken():
            seen = break_at(place, die)
            work()
            return seen["calls"]

        answer, code = in_child(broken)
        assert code in (0, -signal.SIGKILL), code
        return int(answer) if code == 0 else None

    return run


@pytest.fixture(scope="session")
def fail_at():
    """Run work in a child whose n-th durable call fails with an errno; its answer, or None if it was not reached."""

    def run(work, place, number):
        def fail(name, call, arguments):
            raise OSError(number, os.strerror(number))

        def broken():
            seen = break_at(place, fail)
            answer = work()
            return "" if seen["calls"] < place else f"reached {answer}"

        answer, code = in_child(broken)
        assert code == 0
        return answer.removeprefix("reached ") if answer else None

    return run


@pytest.fixture(scope="session")
def child():
    return in_child


@pytest.fixture(scope="session")
def runs(tmp_path_factory, write):
    """Tables with arguments of a tiny fit of them, and two analyses with other seeds."""
    from newtonnet import NewtonNetClassifier, analyse
    from newtonnet.cli import app, run

    tables = write(tmp_path_factory.mktemp("runs") / "tables", nodes=24)
    tables.arguments += ["--label-column", "kind", *TINY]
    names = (tables.folder / "nodes.csv", tables.folder / "edges.csv")
    fast = {"tune": "off", "max_epochs": 3, "folds": 2, "threads": 1}
    made = [
        analyse(*names, label_column="kind", classifier=NewtonNetClassifier(**fast, random_state=seed), folds=0)
        for seed in (0, 1)
    ]
    assert run(app, ["fit", *tables.arguments, "--out", str(tables.folder / "run")]) == 0  # children find it imported
    return tables, *made
