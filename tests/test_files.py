import errno
import os
import signal
import tempfile
from pathlib import Path

import pytest

from newtonnet import files
from newtonnet.files import (
    append,
    current,
    explain,
    locked,
    parse_json,
    scratch,
    whole_file,
    whole_files,
    with_sum,
    without_sum,
    write_whole,
)


def test_a_file_appears_whole_under_its_name(tmp_path):
    write_whole(tmp_path / "deep" / "a.txt", "grüß")
    assert (tmp_path / "deep" / "a.txt").read_text(encoding="utf-8") == "grüß"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.txt"]


def test_a_new_file_has_the_permissions_that_the_umask_leaves_and_the_umask_stays(tmp_path, monkeypatch):
    before, change = os.umask(0o027), os.umask
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("other threads make files meanwhile"))
    try:
        write_whole(tmp_path / "a.txt", "whole")
    finally:
        change(before)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640


def half_write(path):
    with whole_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        half_write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_written_file_and_its_name_are_synced_to_the_disk(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync

    def note(descriptor):
        synced.append((os.readlink(f"/proc/self/fd/{descriptor}"), (tmp_path / "a.txt").exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write_whole(tmp_path / "a.txt", "whole")
    (temporary, there), (folder, renamed) = synced
    assert (Path(temporary).parent, there) == (tmp_path, False)
    assert (folder, renamed) == (str(tmp_path), True)


@pytest.mark.parametrize("write", [lambda path: write_whole(path, "whole"), lambda path: append(path, b"line\n")])
def test_the_names_of_new_folders_are_synced_to_the_disk(write, tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync

    def note(descriptor):
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write(tmp_path / "new" / "newer" / "a.txt")
    assert {str(tmp_path), str(tmp_path / "new"), str(tmp_path / "new" / "newer")} <= set(synced)


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    child = os.fork()
    if child == 0:
        with whole_file(tmp_path / "a.txt") as temporary, scratch(tmp_path, "work-") as folder:
            temporary.write_text("half")
            (folder / "piece").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) == 2
    with whole_file(tmp_path / "a.txt") as temporary, scratch(tmp_path, "work-") as folder:
        assert set(tmp_path.iterdir()) == {temporary, folder}
        temporary.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_folder_without_a_lock_is_removed_by_the_next(tmp_path):
    (tmp_path / "work-made.newtonnet").mkdir()  # its process was killed before it had made the lock
    (tmp_path / "work-removed.newtonnet").mkdir()
    (tmp_path / "work-removed.newtonnet" / "piece").write_text("half")  # or while it removed the folder
    (tmp_path / "other").mkdir()
    (tmp_path / "work-link.newtonnet").symlink_to(tmp_path / "other")
    with scratch(tmp_path, "work-") as folder:
        assert {path.name for path in tmp_path.iterdir()} == {folder.name, "other", "work-link.newtonnet"}
    assert list((tmp_path / "other").iterdir()) == []


def test_a_folder_that_is_taken_for_abandoned_at_once_is_made_again(tmp_path, monkeypatch):
    make, made = tempfile.mkdtemp, []

    def stolen(**options):
        made.append(make(**options))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", stolen)
    with scratch(tmp_path, "work-") as folder:
        assert folder.is_dir()
    assert len(made) == 2


def test_files_of_a_running_process_and_of_others_are_left_alone(tmp_path):
    (tmp_path / ".a.txt.backup").write_text("mine")
    (tmp_path / "work-mine").mkdir()
    with whole_file(tmp_path / "a.txt") as first, scratch(tmp_path, "work-") as folder:
        write_whole(tmp_path / "a.txt", "second")
        with scratch(tmp_path, "work-"):
            assert first.exists()
            assert folder.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"a.txt", ".a.txt.backup", "work-mine"}


def test_an_append_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    append(tmp_path / "lines", b"one\n")
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:2]))
    append(tmp_path / "lines", b"two\n")

    def fail(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        append(tmp_path / "lines", b"three\n")
    assert explain(caught.value).startswith(f"{tmp_path / 'lines'}: No space left on device; free some room")
    assert (tmp_path / "lines").read_bytes() == b"one\ntwo\n"


def test_a_lock_is_refused_while_it_is_held_and_leaves_no_file(tmp_path):
    with (
        locked(tmp_path / "a.lock"),
        pytest.raises(ValueError, match="busy"),
        locked(tmp_path / "a.lock", busy=ValueError("busy")),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_of_many_processes_that_wait_for_a_lock_one_holds_it_at_a_time(tmp_path):
    (tmp_path / "count").write_text("0")
    children = []
    for _ in range(4):
        if (child := os.fork()) == 0:
            for _ in range(50):
                with locked(tmp_path / "a.lock"):
                    number = int((tmp_path / "count").read_text())
                    (tmp_path / "count").write_text(str(number + 1))
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert (tmp_path / "count").read_text() == "200"


def test_every_changed_byte_of_a_line_with_a_sum_is_noticed():
    line = with_sum('{"a":1,"b":"text"}')
    assert without_sum(line) == '{"a":1,"b":"text"}'
    for place in range(len(line)):
        changed = line[:place] + chr(ord(line[place]) ^ 1) + line[place + 1 :]
        try:
            found = parse_json(without_sum(changed))
        except ValueError:
            continue
        assert found.keys() != {"a", "b"} or found == {"a": 1, "b": "text"}


def test_json_that_is_nested_too_deeply_is_a_value_error():
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_json("[" * 10**5)


def test_a_complete_set_can_be_read_by_those_who_can_read_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "finish", lambda folder: None)  # killed before the files are moved
    (tmp_path / "run").mkdir(mode=0o750)
    with whole_files(tmp_path / "run") as new:
        (new / "a").write_text("whole")
    assert current(tmp_path / "run", "a").parent.stat().st_mode & 0o777 == 0o750


def test_an_error_while_a_set_is_written_names_the_folder(tmp_path):
    def write():
        with whole_files(tmp_path) as new:
            (new / "a").write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        write()
    assert caught.value.filename == str(tmp_path)
    assert list(tmp_path.iterdir()) == []
