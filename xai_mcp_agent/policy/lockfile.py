"""The file `mcp_tools.lock.json` of people's decisions: its location, how to read and change it.

Reading it for each call costs one `stat` while nothing changes. A change is a function of the
file's current content, under a lock between processes; the file is replaced as a whole.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread

from ..core.errors import LockFailed
from ..core.shell import shell_command
from ..secrets.private_files import file_lock, follow_link, open_to_read, replace_file
from ..settings.load import LOCK_NAME
from ..settings.models import Settings
from .lock_document import DecisionLock, UnreadableLock, read_lock

ENVIRONMENT_VARIABLE = "XAI_MCP_LOCK"
_LOCK_SECONDS = 10.0  # another process may be writing the file to a slow disk
# Some file systems have coarse clocks: a younger file may change again without a trace.
_COARSE_NS = 2 * 10**9
_CAN_LOCK_FOLDERS = hasattr(os, "fork")  # not on Windows
_NO_FILE = (FileNotFoundError, NotADirectoryError)

Change: TypeAlias = Callable[[DecisionLock], DecisionLock]
"""A decision, as a function of the decisions before it. It may run more than once."""

_Signature: TypeAlias = tuple[int, ...]


def find_lock(settings: Settings, path: str | Path | None = None) -> Path | None:
    """Return the lock file of these settings, or None if decisions are kept in memory.

    It is `path`, or `XAI_MCP_LOCK`, or beside the settings file, or in the current folder if there
    is none. Settings from Python keep decisions in memory.
    """
    is_of_a_file = settings.file and not settings.is_from_python
    folder = Path(settings.file).parent if is_of_a_file else Path(os.path.abspath("."))
    path_text = path or os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
    if path_text:
        return folder / os.path.expanduser(path_text)
    return None if settings.is_from_python else folder / LOCK_NAME


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of the file at one time. `trouble` says why it cannot be read.

    If `is_fresh`, it may change again while its `signature` stays the same.
    """

    signature: _Signature = ()
    lock: DecisionLock | None = None
    trouble: LockFailed | None = None
    is_fresh: bool = False

    @property
    def is_missing(self) -> bool:
        return self.lock is None and self.trouble is None


def read_decisions(path: Path | None) -> DecisionLock:
    """Read the decisions of a file now; there are none without a file.

    Raises:
        LockFailed: the file cannot be read.
    """
    content = _Content() if path is None else _read(path)
    if content.trouble is not None:
        raise content.trouble
    return content.lock or DecisionLock()


class LockFile:
    """The lock file. Used on the bridge's loop. Without a path, decisions stay in memory.

    `lock` holds the decisions that count: the last ones read, plus decisions made here that could
    not be written. `version` changes whenever they may have changed.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.lock = DecisionLock()
        self.version = 0
        self._content: _Content | None = None  # as last read
        self._readable = DecisionLock()  # the last content without trouble
        self._unwritten: list[Change] = []
        self._using = anyio.Lock()
        self._existed = False

    @property
    def trouble(self) -> LockFailed | None:
        """Why the file cannot be read; then no decision is known."""
        return self._content.trouble if self._content else None

    @property
    def was_read(self) -> bool:
        """Whether the file was read at least once."""
        return self.path is None or self._content is not None

    @property
    def is_lost(self) -> bool:
        """Whether the file is gone. Its decisions still count here."""
        is_missing = self._content is not None and self._content.is_missing
        return self._existed and is_missing

    async def read_if_changed(self) -> None:
        """Read the file if it may have changed since the last read."""
        if self.path is None or not self._may_have_changed(self.path):
            return
        async with self._using:
            if self._may_have_changed(self.path):
                self._take(await anyio.to_thread.run_sync(_read, self.path))

    async def change(self, change: Change) -> None:
        """Make a decision and write it, together with unwritten ones.

        Raises:
            LockFailed: it cannot be written; it counts until this process ends.
        """
        if self.path is None:
            self._readable = change(self._readable)
            self._count()
            return
        self._unwritten.append(change)
        self._count()
        async with self._using:
            changes = tuple(self._unwritten)
            lost = self._readable if self.is_lost else DecisionLock()
            content = await anyio.to_thread.run_sync(partial(_write, self.path, changes, lost))
            del self._unwritten[: len(changes)]
            self._take(content)

    def _may_have_changed(self, path: Path) -> bool:
        content = self._content
        return content is None or content.is_fresh or _signature_of(path) != content.signature

    def _take(self, content: _Content) -> None:
        before, self._content = self._content or _Content(), content
        if content.lock is not None:
            self._readable, self._existed = content.lock, True
        if (content.lock, str(content.trouble)) != (before.lock, str(before.trouble)):
            self._count()

    def _count(self) -> None:
        self.lock = _apply(self._unwritten, self._readable)
        self.version += 1


def _apply(changes: Sequence[Change], lock: DecisionLock) -> DecisionLock:
    for change in changes:
        lock = change(lock)
    return lock


def _signature_of(path: Path) -> _Signature:
    """Return an identity of a file's content without reading it; empty if there is no file.

    It includes `ctime`, which changes even when somebody sets back the file's time.
    """
    try:
        return _signature(os.stat(path))
    except _NO_FILE:
        return (-1,) if path.is_symlink() else ()
    except (OSError, ValueError) as reason:
        return (-1, getattr(reason, "errno", 0) or 0)


def _signature(status: os.stat_result) -> _Signature:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev


def _read(path: Path) -> _Content:
    """Read the file; call it in a thread if the file may be long."""
    signature, is_fresh, fix = _signature_of(path), False, ""
    try:
        data, signature, is_fresh = _bytes_of(path)
        lock = read_lock(data.decode("utf-8-sig"))
        for source in lock.sources.values():
            source.prepare()
        return _Content(signature, lock, None, is_fresh)
    except _NO_FILE:
        if not path.is_symlink():
            return _Content()
        problem = f"it is a link to {os.readlink(path)}, which does not exist."
        fix = "Correct the link, or delete it: without a file there are no decisions."
    except UnreadableLock as cause:
        problem, fix = str(cause), cause.fix
    except (OSError, ValueError) as cause:
        problem = f"it cannot be read: {_reason(cause)}."
    back = shell_command("git", "checkout", "--", str(path))
    trouble = LockFailed(str(path), problem, fix or f"Correct it, or restore it with `{back}`.")
    return _Content(signature, None, trouble, is_fresh)


def _bytes_of(path: Path) -> tuple[bytes, _Signature, bool]:
    with os.fdopen(open_to_read(path), "rb") as file:
        # The status of the opened file: later changes are read next time.
        status = os.fstat(file.fileno())
        data = file.read()
    age = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)
    return data, _signature(status), 0 <= age < _COARSE_NS


def _write(path: Path, changes: Sequence[Change], lost: DecisionLock) -> _Content:
    """Apply changes to the file's current content, or to its last one if the file is `lost`."""
    try:
        place = follow_link(path)
        if not place.parent.is_dir():  # else the lock would be a file in place of the folder
            raise ValueError("there is no such folder")
        # If folders cannot be locked, lock a file beside it.
        lock_path = place.with_name(f".{place.name}.lock")
        with file_lock(place.parent if _CAN_LOCK_FOLDERS else lock_path, _LOCK_SECONDS):
            content = _read(path)
            if content.trouble is not None:
                raise content.trouble
            lock = _apply(changes, content.lock or lost)
            if lock != (content.lock or DecisionLock()):
                replace_file(place, lock.as_text().encode())
            return _read(place)
    except (OSError, ValueError) as cause:
        raise LockFailed(
            str(path),
            f"it cannot be written: {_reason(cause)}. The decision counts until this process ends.",
            "Make it writable, or name another file in XAI_MCP_LOCK, then decide again.",
        ) from cause


def _reason(cause: Exception) -> str:
    return getattr(cause, "strerror", None) or str(cause)
