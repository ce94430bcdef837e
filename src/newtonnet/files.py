"""The one file layer: files and sets of files that appear whole, locks, checksums, and messages for a disk that fails.

What is promised and how it is tested is in docs/reliability.md.
"""

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import filelock

if sys.platform != "win32":  # there, what killed processes left is not recognised, and stays
    import fcntl

OWN = ".newtonnet"
"""How the names of all files begin or end that are gone when the process that made them has ended."""
COMMITTED = f"{OWN}-commit"
"""A set of files that is complete, and takes the place of the older ones one by one."""
ADVICE = {
    errno.ENOSPC: "free some room or name a place on another disk",
    errno.EDQUOT: "free some room or name a place on another disk",
    errno.EFBIG: "name a place on another disk",
    errno.EROFS: "name a place on another disk",
    errno.EIO: "the disk may be failing; name a place on another disk",
    errno.EMFILE: "raise the limit of open files with ulimit -n",
    errno.ENFILE: "close other programs; the system has too many open files",
}
"""What to do when a system call fails."""


# Files


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary file in the folder of ``path``; it becomes ``path`` at the end, or is removed after an error.

    When this returns, the file is on the disk and would survive a power failure. What a killed process left of an
    earlier attempt is removed.
    """
    with named_errors(path):
        make_folder(path.parent)
        start, end = f".{path.name}.", OWN
        _remove_abandoned(path.parent, start, end)
        temporary, held = _claim(path.parent, start, end)
        try:
            yield temporary
            sync(temporary)
            rename(temporary, path)
        finally:
            with suppress(OSError):
                temporary.unlink()
            os.close(held)


def write_whole(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with whole_file(path) as temporary:
        temporary.write_bytes(text.encode())


def append(path: Path, data: bytes) -> None:
    """Append to a file and sync it to the disk; if that fails, the file is as long as before."""
    with named_errors(path):
        make_folder(path.parent)
        fresh = not path.exists()
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            before = os.fstat(descriptor).st_size
            try:
                while data:
                    data = data[os.write(descriptor, data) :]
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, before)
                raise
        finally:
            os.close(descriptor)
        if fresh:
            sync(path.parent)


def rename(source: Path, target: Path) -> None:
    """Rename a file or folder in one step, replacing a file of that name, and sync the folder to the disk."""
    os.replace(source, target)
    sync(target.parent)


def make_folder(folder: Path) -> None:
    """Create a folder and those above it, and sync their names to the disk."""
    with named_errors(folder):
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for path in missing:
            with suppress(PermissionError):  # one that may be written to but not read
                sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as reason:
        if reason.errno != errno.EINVAL:  # a file system without it
            raise
    finally:
        os.close(descriptor)


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """System errors inside name this path, not a temporary one."""
    try:
        yield
    except OSError as reason:
        if reason.errno is None:
            raise
        raise OSError(reason.errno, os.strerror(reason.errno), str(path)) from reason


def explain(error: OSError) -> str:
    """One line: the file, what happened and what to do."""
    if error.errno is None or error.strerror is None:
        return str(error)
    file = "" if error.filename is None else f"{error.filename}: "
    return f"{file}{error.strerror}; {ADVICE.get(error.errno, 'name another place')}"


# Sets of files


@contextmanager
def whole_files(folder: Path) -> Iterator[Path]:
    """Yield a folder to write files into; at the end all of them take their place in ``folder``, or none does.

    The set is complete with one rename. From then on :func:`current` finds the new files, and should the process be
    killed before it has moved them, :func:`finish` does. The caller holds a lock of the folder.
    """
    finish(folder)
    with named_errors(folder), scratch(folder, f"{OWN}-new-") as new:
        yield new
        for path in new.iterdir():
            sync(path)
        new.chmod(folder.stat().st_mode & 0o777)  # for whoever may read the folder, until the files are moved
        sync(new)
        rename(new, folder / COMMITTED)
    finish(folder)


def finish(folder: Path) -> None:
    """Move the files of a complete set into place."""
    committed = folder / COMMITTED
    if committed.is_dir():
        with named_errors(folder):
            (committed / LOCK).unlink(missing_ok=True)
            for path in sorted(committed.iterdir()):
                os.replace(path, folder / path.name)
            sync(folder)
            committed.rmdir()


def current(folder: Path, name: str) -> Path:
    """Where a file of a folder is: in its place, or still in a complete set."""
    committed = folder / COMMITTED / name
    return committed if committed.exists() else folder / name


# Temporary folders, and what killed processes left of them

LOCK = ".lock"


@contextmanager
def scratch(parent: Path | None = None, start: str = "newtonnet-") -> Iterator[Path]:
    """A temporary folder, below that of the system by default, which is removed at the end.

    Others that begin with ``start`` are removed too if the process that made them no longer runs.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    with named_errors(parent):
        make_folder(parent)
        _remove_abandoned(parent, start)
        place, held = _claim(parent, start)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(held)


def _claim(parent: Path, start: str, end: str | None = None) -> tuple[Path, int]:
    """A new folder, or file if its name gets an ``end``, and the descriptor that locks it while its process runs."""
    while True:
        if end is None:
            place = Path(tempfile.mkdtemp(prefix=start, suffix=OWN, dir=parent))
            lock = place / LOCK
            try:
                descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                continue  # another process has just taken it for abandoned
        else:
            lock = place = parent / f"{start}{secrets.token_hex(6)}{end}"
            try:  # unlike those of tempfile, with the permissions that the user gives to new files
                descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                continue
        if sys.platform != "win32":
            with suppress(OSError):  # a file system without locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        if lock.exists():
            return place, descriptor
        os.close(descriptor)  # as above


def _remove_abandoned(parent: Path, start: str, end: str | None = None) -> None:
    """Remove what killed processes of this user left: what :func:`_claim` made and no process has locked.

    A folder whose name says that it is ours may have no lock: its process was killed just after it had made the folder,
    or while it removed it.
    """
    for name in os.listdir(parent) if sys.platform != "win32" else ():
        if not (name.startswith(start) and name.endswith(end or "")):
            continue
        place = parent / name
        with suppress(OSError):  # it is locked, or gone
            if place.is_symlink() or place.stat().st_uid != os.getuid():
                continue
            made = os.O_CREAT if end is None and name.endswith(OWN) else 0
            descriptor = os.open(place / LOCK if end is None else place, os.O_RDWR | os.O_NOFOLLOW | made, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(place) if end is None else place.unlink()
            finally:
                os.close(descriptor)


# Locks and checksums


@contextmanager
def locked(path: Path, *, busy: Exception | None = None) -> Iterator[None]:
    """Hold a lock file. While another process holds it, wait, or raise ``busy`` if that is given."""
    make_folder(path.parent)
    if sys.platform == "win32":
        try:
            held = filelock.FileLock(path).acquire(timeout=-1 if busy is None else 0)
        except filelock.Timeout:
            raise busy or TimeoutError from None
        with held:
            yield
        return
    with named_errors(path):
        descriptor = _lock(path, wait=busy is None)
    if descriptor is None:
        raise busy or TimeoutError
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # whoever waits for it sees that, and makes another
        os.close(descriptor)


def _lock(path: Path, *, wait: bool) -> int | None:
    """The descriptor of a lock file that this process alone has locked; None if another has."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            with suppress(FileNotFoundError):  # its last holder has removed it
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def file_checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text; a ValueError for anything else, also if it is nested too deeply to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("expected JSON, got lists or objects nested too deeply") from None


_SUM = re.compile(r',"sum":"([0-9a-f]{16})"}')


def with_sum(line: str) -> str:
    """A JSON object on one line, with a checksum of itself as its last field.

    >>> with_sum('{"a":1}')
    '{"a":1,"sum":"015abd7f5cc57a2d"}'
    """
    return f'{line[:-1]},"sum":"{_short_sum(line)}"}}'


def without_sum(line: str) -> str:
    """The object without its checksum, which must be right; a line from before there were checksums as it is."""
    found = _SUM.fullmatch(line, len(line) - 26) if len(line) > 26 else None
    if found is None:
        return line
    bare = line[: found.start()] + "}"
    if _short_sum(bare) != found[1]:
        raise ValueError("its checksum differs, so it was changed after it was written")
    return bare


def _short_sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def check_writable(path: Path) -> None:
    """Raise an error for a path that cannot be written to, before any work is done for it."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file to write to")
    existing = next(parent for parent in path.absolute().parents if parent.exists())
    if not existing.is_dir():
        raise ValueError(f"{existing} is a file, so nothing can be written below it; name another place")
    try:
        with tempfile.TemporaryFile(dir=existing):  # permissions are not enough: a file system may be read-only
            pass
    except OSError as reason:
        raise ValueError(f"nothing can be written to {existing} ({reason.strerror}); name another place") from None
