import resource
import sys
import threading
from pathlib import Path

import pytest
import torch

from newtonnet.kernels import kept_memory
from newtonnet.kernels.memory import OWN_CHOICE, _glibc

PAGES = 32_768  # 128 MB in pages of 4 kB


@pytest.fixture
def no_choice(monkeypatch):
    for name in (*OWN_CHOICE, "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    if not sys.platform.startswith("linux") or _glibc() is None:
        pytest.skip("not glibc")


def faults():
    """Pages that the system hands out for a block of 128 MB which is used and freed, after a few like it."""
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        torch.empty(PAGES * 1024).fill_(1.0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def resident():
    """Megabytes that the process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


@pytest.mark.usefixtures("no_choice")
def test_a_freed_block_is_used_again_inside_and_given_back_at_the_end():
    before = resident()
    with kept_memory():
        assert faults() < PAGES // 100
        assert resident() > before + 100
    assert resident() < before + 20


@pytest.mark.usefixtures("no_choice")
def test_memory_is_kept_until_the_last_of_several_users_has_left():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with kept_memory():
            inside.set()
            leave.wait(10)

    before = resident()
    thread = threading.Thread(target=other)
    with kept_memory():
        thread.start()
        assert inside.wait(10)
    assert faults() < PAGES // 100
    assert resident() > before + 100
    leave.set()
    thread.join()
    assert resident() < before + 20


@pytest.mark.usefixtures("no_choice")
def test_memory_is_given_back_after_an_error():
    before = resident()
    with pytest.raises(ZeroDivisionError), kept_memory():
        raise ZeroDivisionError(faults())
    assert resident() < before + 20


@pytest.mark.parametrize(
    ("name", "value"), [*((name, "1000000") for name in OWN_CHOICE), ("GLIBC_TUNABLES", "glibc.malloc.mmap_max=9")]
)
def test_what_the_environment_has_set_is_left_alone(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert _glibc() is None
    with kept_memory():
        pass
