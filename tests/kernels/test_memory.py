import json
import os
import platform
import signal
import subprocess
import sys

import pytest

from newtonnet.kernels import kept_memory, threads
from newtonnet.kernels.threads import OWN_CHOICE, _glibc

MEGABYTES = 64  # above the 32 MB up to which glibc keeps freed blocks by itself
PAGES = MEGABYTES * 256  # of 4 kB

# In a process of its own: one that was ever refused memory, as tests do to theirs, maps its large blocks for good.
WAY = """
import json, resource, threading
from pathlib import Path

import torch

from newtonnet.kernels import kept_memory


def faults():
    for _ in range(10):  # up to six fall between small blocks that remain, where the next does not fit
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.empty(MEGABYTES << 18).fill_(1.0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6 - start


def other():
    with kept_memory():
        inside.set()
        leave.wait(10)


start = 0
start = resident()
seen = {"before": [faults(), resident()]}
with kept_memory():
    seen["inside"] = [faults(), resident()]
seen["after"] = resident()

try:
    with kept_memory():
        seen["before an error"] = [faults(), resident()]
        raise ZeroDivisionError
except ZeroDivisionError:
    seen["after an error"] = resident()

inside, leave = threading.Event(), threading.Event()
thread = threading.Thread(target=other)
with kept_memory():
    thread.start()
    assert inside.wait(10)
seen["while another is inside"] = [faults(), resident()]
leave.set()
thread.join()
seen["after the other"] = resident()
print(json.dumps(seen))
""".replace("MEGABYTES", str(MEGABYTES))


@pytest.fixture(scope="module")
def seen():
    """Pages handed out by the system for a block which is used and freed, after a few like it, and megabytes held."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("not glibc")
    free = {name: value for name, value in os.environ.items() if name not in (*OWN_CHOICE, "GLIBC_TUNABLES")}
    done = subprocess.run([sys.executable, "-c", WAY], capture_output=True, text=True, check=True, env=free)
    return json.loads(done.stdout)


@pytest.mark.parametrize("moment", ["inside", "before an error", "while another is inside"])
def test_a_freed_block_is_used_again_until_the_last_user_has_left(seen, moment):
    faults, resident = seen[moment]
    assert faults < PAGES // 100
    assert resident > MEGABYTES - 20


def test_a_freed_block_is_given_back_without_it(seen):
    faults, resident = seen["before"]
    assert faults >= PAGES
    assert resident < 20


@pytest.mark.parametrize("moment", ["after", "after an error", "after the other"])
def test_all_is_given_back_at_the_end(seen, moment):
    assert seen[moment] < 20


SAME = ("MMAP_MAX", "MMAP_THRESHOLD", "TOP_PAD", "TRIM_THRESHOLD")  # names of the parameters that are set


@pytest.mark.parametrize(
    ("name", "value"),
    [*((f"MALLOC_{name}_", "1000000") for name in SAME), ("GLIBC_TUNABLES", "glibc.malloc.mmap_max=9")],
)
def test_what_the_environment_has_set_is_left_alone(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert _glibc() is None
    with kept_memory():
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_that_is_forked_while_another_thread_is_at_the_door_does_not_wait_for_it():
    with threads._door:
        if (child := os.fork()) == 0:
            signal.alarm(5)
            with kept_memory():
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
