"""What the system refuses is one line that names the file and says what to do."""

import errno
import logging
import os

import pytest

from newtonnet.cli import app, run

pytestmark = pytest.mark.usefixtures("two_folds")
FAST = ["--no-tune", "--max-epochs", "2", "--threads", "1", "--folds", "0"]


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "free some room"),
        (errno.EDQUOT, "free some room"),
        (errno.EROFS, "name a place on another disk"),
        (errno.EIO, "may be failing"),
        (errno.EMFILE, "ulimit -n"),
    ],
)
def test_a_system_error_while_a_run_is_written_is_one_line(number, advice, tables, tmp_path, monkeypatch, capsys):
    def fail(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    arguments = ["fit", *tables.arguments, "--label-column", "kind", "--out", str(tmp_path / "run"), *FAST]
    assert run(app, arguments) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"newtonnet: {tmp_path / 'run'}")
    assert f"{os.strerror(number)}; " in last
    assert advice in last


def test_names_cannot_move_the_cursor_of_a_terminal(tables, tmp_path, capsys):
    column = "a\x1b[2J\x07b"
    assert run(app, ["fit", *tables.arguments, "--label-column", column, "--out", str(tmp_path / "run"), *FAST]) == 2
    printed = capsys.readouterr().err
    assert "\x1b" not in printed
    assert "\\x1b[2J\\x07b" in printed


def test_a_broken_kernel_file_falls_back_to_torch_with_one_warning(monkeypatch, caplog):
    from newtonnet.kernels import native

    def broken(name):
        raise OSError("not a shared object")

    monkeypatch.setattr(native, "import_module", broken)
    monkeypatch.delenv(native.SETTING, raising=False)
    for cached in (native.available, native.native):
        cached.cache_clear()
    try:
        with caplog.at_level(logging.WARNING, "newtonnet"):
            assert not native.available()
            assert not native.available()
            assert native.kind() == "torch"
        assert len(caplog.records) == 1
    finally:
        monkeypatch.undo()
        for cached in (native.available, native.native):
            cached.cache_clear()
