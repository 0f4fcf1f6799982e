"""Files that only their owner may read, whatever the umask, and locks between processes.

On Windows a person's folders are private by default; it has no such modes and owners.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

logger = logging.getLogger(__name__)

_FILE, _FOLDER = 0o600, 0o700
_OF_NEW_FILES = 0o666  # minus the umask
_NAME_CHARS = 100  # characters of a file's name in its temporary file's name
_OTHERS = 0o077
_LOOK_SECONDS = 0.01  # between two tries to get a lock
# Not through a link, which may be new; not inherited by children; without line-end conversion.
_ALWAYS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class NotOurs(PermissionError):
    """The file, folder or link belongs to another user, who could read what we write."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EPERM, "it belongs to somebody else", str(path))


def open_private(path: Path, flags: int) -> int:
    """Open a file for writing, as `os.open` does, and remove other users' access to it.

    A new file is private from the start. A link is followed if it and its target are ours.

    Raises:
        NotOurs: the file or the link is another user's.
        OSError: as `os.open` does.
    """
    place = follow_link(path)
    file = os.open(place, flags | _ALWAYS, _FILE)
    try:
        close_to_others(place, file)
    except BaseException:
        os.close(file)
        raise
    return file


def open_to_read(path: Path) -> int:
    """Open a file for reading, also through a link. A pipe does not block.

    Raises:
        ValueError: it is not a regular file.
        OSError: as `os.open` does.
    """
    flags = (getattr(os, x, 0) for x in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    file = os.open(path, os.O_RDONLY | sum(flags))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise ValueError("it is not a file but a folder, a pipe or a device")
    return file


def append_private(path: Path, data: bytes) -> None:
    """Append to a file, in one write if the disk has room; create it if it does not exist.

    Raises:
        OSError: as `open_private` does.
    """
    file = open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with os.fdopen(file, "ab", buffering=0) as stream:
        while data:
            data = data[stream.write(data) :]


def replace_private(path: Path, data: bytes) -> None:
    """Replace a private file atomically."""
    _replace(path, data, _FILE)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically and keep its mode; a new file gets the usual one."""
    try:
        _replace(path, data, _FILE, change_to=stat.S_IMODE(os.stat(path).st_mode))
    except FileNotFoundError:
        _replace(path, data, _OF_NEW_FILES)


def _replace(path: Path, data: bytes, mode: int, change_to: int | None = None) -> None:
    beside = path.with_name(f".{path.name[:_NAME_CHARS]}.{secrets.token_hex(6)}.new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _ALWAYS, mode)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if change_to is not None:
            os.chmod(beside, change_to)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def make_private_folder(folder: Path) -> None:
    """Create a private folder and its missing parents; existing ones stay as they are."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(_FOLDER, exist_ok=True)


def close_to_others(path: Path, file: int | None = None) -> bool:
    """Remove other users' access to a path, open as `file`; return whether they had any.

    Raises:
        NotOurs: it is another user's.
    """
    place = path if file is None else file
    status = os.stat(place)
    if os.name == "nt" or stat.S_ISCHR(status.st_mode):  # a terminal, or /dev/null
        return False
    if status.st_uid != os.geteuid():
        raise NotOurs(path)
    owners = _FOLDER if stat.S_ISDIR(status.st_mode) else _FILE
    mode = stat.S_IMODE(status.st_mode)
    if mode & (_OTHERS | owners) != owners:
        os.chmod(place, mode & ~_OTHERS | owners)
    return bool(mode & _OTHERS)


def follow_link(path: Path) -> Path:
    """Return the target of a link that is ours or the system's; any other path as it is.

    Raises:
        NotOurs: the link is another user's.
    """
    if not path.is_symlink():
        return path
    if os.name != "nt" and path.lstat().st_uid not in (os.geteuid(), 0):
        raise NotOurs(path)
    return Path(os.path.realpath(path))


@contextmanager
def file_lock(path: Path, seconds: float) -> Generator[bool]:
    """Hold the lock of a file within the block, and yield whether it could be locked.

    The file is created if it does not exist. A folder can be locked too, but not on Windows. Some
    network drives and read-only folders have no locks.

    Raises:
        TimeoutError: another process had the lock for `seconds`.
    """
    file, until = open_lock(path), time.monotonic() + seconds
    try:
        while file is not None and not take_lock(file):
            if time.monotonic() > until:
                raise TimeoutError(errno.ETIMEDOUT, "another process keeps it locked", str(path))
            time.sleep(_LOOK_SECONDS)
        yield file is not None
    finally:
        if file is not None:
            close_lock(file)


def open_lock(path: Path) -> int | None:
    """Open a file for its lock; return None if it cannot be locked."""
    try:
        if path.is_dir():
            return os.open(path, os.O_RDONLY | _ALWAYS)
        return open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError as reason:
        logger.debug("No lock at %s: %s", path, reason)
        return None


def close_lock(file: int) -> None:
    """Release the lock of a file and close it.

    Closing alone may not release it: a starting child process has a copy for a moment.
    """
    with suppress(OSError):  # files cannot be locked here
        if os.name != "nt":
            fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


if os.name == "nt":
    import msvcrt

    def take_lock(file: int) -> bool:
        """Try to get the lock; return whether it is ours."""
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def take_lock(file: int) -> bool:
        """Try to get the lock; return True if it is ours, or if locks do not exist here."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as reason:
            logger.debug("Files cannot be locked here: %s", reason)
        return True
