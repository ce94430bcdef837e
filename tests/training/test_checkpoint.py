import errno
import json
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from newtonnet.training import deferred_interrupt, load_checkpoint, save_checkpoint


def test_every_damaged_checkpoint_is_refused(tmp_path, rng):
    path = tmp_path / "state"
    save_checkpoint(path, {"a": torch.arange(30.0), "b": torch.ones(4, 5)}, fingerprint="f")
    whole = path.read_bytes()
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        try:
            tensors = load_checkpoint(path, fingerprint="f")
        except ValueError:
            continue
        np.testing.assert_array_equal(tensors["a"], np.arange(30))  # the name of the checksum was hit
        np.testing.assert_array_equal(tensors["b"], np.ones((4, 5)))


def test_what_was_read_does_not_change_with_the_file(tmp_path):
    path = tmp_path / "state"
    save_checkpoint(path, {"a": torch.ones(2000)}, fingerprint="f")
    tensors = load_checkpoint(path, fingerprint="f")
    with path.open("r+b") as stream:  # in place, as cp does
        stream.write(bytes(path.stat().st_size))
    assert tensors["a"].tolist() == [1] * 2000


def test_a_large_file_of_another_format_is_refused_unread(tmp_path):
    with (tmp_path / "state").open("wb") as stream:
        stream.write(b"something else")
        stream.truncate(1 << 40)
    with pytest.raises(ValueError, match="another format"):
        load_checkpoint(tmp_path / "state", fingerprint="f")


def test_a_checkpoint_from_before_there_were_checksums_is_read(tmp_path):
    save_file({"a": torch.ones(2)}, tmp_path / "state", metadata={"newtonnet": json.dumps({"fingerprint": "f"})})
    assert load_checkpoint(tmp_path / "state", fingerprint="f")["a"].tolist() == [1, 1]


def test_a_full_disk_is_one_system_error_that_names_the_file(tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as caught:
        save_checkpoint(tmp_path / "state", {"a": torch.ones(2)}, fingerprint="f")
    assert caught.value.filename == str(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_the_first_ctrl_c_waits_and_the_second_acts_at_once():
    with deferred_interrupt() as release:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            release()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_is_there_keeps_the_say():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with deferred_interrupt() as release:
            signal.raise_signal(signal.SIGINT)
            release()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


def test_an_ignored_ctrl_c_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_interrupt() as release:
            signal.raise_signal(signal.SIGINT)
            release()
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_changes_nothing():
    seen = []

    def work():
        with deferred_interrupt() as release:
            release()
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
