"""The file `mcp_tools.lock.json`: where it is, looking at it for each call, and changing it.

A look costs one `stat` as long as nothing changes. A change is a function: it is made of what the
file says at that moment, under a lock between processes, and the file is replaced as a whole.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread

from ..core.errors import LockFailed
from ..core.shell import shown_command
from ..secrets.private_files import file_lock, followed, open_to_read, replace_file
from ..settings.load import LOCK_NAME
from ..settings.models import Settings
from .lock import DecisionLock, Unreadable, read_lock

logger = logging.getLogger(__name__)

ENVIRONMENT_VARIABLE = "XAI_MCP_LOCK"

MAX_BYTES = 32 << 20  # a hundred times the largest catalogs
_READ_HERE_BYTES = 256 << 10  # some milliseconds on the event loop; larger ones in a thread
_LOCK_SECONDS = 10.0  # another process writes a file, and waits for its disk
# Of file systems whose clocks are coarse: a file that is as new may change without a trace.
_COARSE_NS = 2 * 10**9
_CAN_LOCK_FOLDERS = hasattr(os, "fork")  # not on Windows
_NO_FILE = (FileNotFoundError, NotADirectoryError)

Change: TypeAlias = Callable[[DecisionLock], DecisionLock]
"""What somebody decides, as a change of what is decided already. It may be made more than once."""

_Signature: TypeAlias = tuple[int, ...]


def find_lock(
    settings: Settings, given: str | Path | None = None, environ: Mapping[str, str] | None = None
) -> Path | None:
    """The file for these settings; None: decisions are kept in memory.

    What is `given` decides, then `XAI_MCP_LOCK`. Without them it is beside the settings file, in
    the current folder where there is none, and in memory for settings that are no file's.
    """
    environ = os.environ if environ is None else environ
    folder = Path(settings.file).parent if _is_of_a_file(settings) else Path(os.path.abspath("."))
    named = given or environ.get(ENVIRONMENT_VARIABLE, "").strip()
    if named:
        return folder / os.path.expanduser(named)
    return None if settings.is_from_python else folder / LOCK_NAME


def _is_of_a_file(settings: Settings) -> bool:
    return bool(settings.file) and not settings.is_from_python


@dataclass(frozen=True, slots=True)
class _Found:
    """What a look into the file found. `trouble` is why it cannot be read."""

    signature: _Signature = ()
    lock: DecisionLock | None = None
    trouble: LockFailed | None = None
    contents: str = ""  # a digest of them
    is_fresh: bool = False  # it may have changed since without a trace
    is_looked_at: bool = True

    @property
    def is_missing(self) -> bool:
        return self.lock is None and self.trouble is None


_NOT_LOOKED = _Found(is_looked_at=False)


def decided_now(path: Path | None) -> DecisionLock:
    """What the file says at this moment; nothing where there is none.

    Raises:
        LockFailed: it cannot be read.
    """
    found = _Found() if path is None else _read(path)
    if found.trouble is not None:
        raise found.trouble
    return found.lock or DecisionLock()


class LockFile:
    """Used on the bridge's loop. Without a path all is kept in memory.

    `lock` is what counts: what the file said last, and what was decided here and could not be
    written. `version` is another one when that may be different.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.lock = DecisionLock()
        self.version = 0
        self._found = _NOT_LOOKED
        self._known = DecisionLock()  # what the file said last that could be read
        self._unwritten: list[Change] = []
        self._using = anyio.Lock()
        self._was_there = False

    @property
    def trouble(self) -> LockFailed | None:
        """Why it cannot be read; nothing that was decided is known then."""
        return self._found.trouble

    @property
    def was_looked_at(self) -> bool:
        """Whether it is known what it says."""
        return self.path is None or self._found.is_looked_at

    @property
    def is_lost(self) -> bool:
        """Whether it was there, and is not any more. What it said goes on to count here."""
        return self._found.is_missing and self._was_there

    async def look(self) -> None:
        """Know what the file says now."""
        if self.path is None or not self._is_news():
            return
        async with self._using:
            if self._is_news():
                self._take(await self._read(self.path))

    async def change(self, change: Change) -> None:
        """Have a decision count, and write it, with those that could not be written before.

        Raises:
            LockFailed: it cannot be written; it counts as long as this process lives.
        """
        if self.path is None:
            self._known = change(self._known)
            self._count()
            return
        self.keep(change)
        async with self._using:
            changes = tuple(self._unwritten)
            kept = self._known if self.is_lost else None
            write = partial(_changed, self.path, changes, kept)
            found = await anyio.to_thread.run_sync(write)
            del self._unwritten[: len(changes)]
            self._take(found)

    def keep(self, change: Change) -> None:
        """Have a decision count here, to be written with the next one."""
        self._unwritten.append(change)
        self._count()

    def _is_news(self) -> bool:
        if self._found.is_fresh or not self._found.is_looked_at:
            return True
        return self.path is not None and _signature_of(self.path) != self._found.signature

    async def _read(self, path: Path) -> _Found:
        read = partial(_read, path, self._found)
        signature = _signature_of(path)
        if signature[:1] and signature[0] <= _READ_HERE_BYTES:
            return read()
        return await anyio.to_thread.run_sync(_prepared, read)

    def _take(self, found: _Found) -> None:
        before, self._found = self._found, found
        if found.lock is not None:
            self._known, self._was_there = found.lock, True
        if (found.lock, str(found.trouble)) != (before.lock, str(before.trouble)):
            self._count()

    def _count(self) -> None:
        self.lock = _made(self._unwritten, self._known)
        self.version += 1


def _made(changes: Sequence[Change], lock: DecisionLock) -> DecisionLock:
    def make(before: DecisionLock, change: Change) -> DecisionLock:
        return change(before)

    return reduce(make, changes, lock)


def _signature_of(path: Path) -> _Signature:
    """Its size, and what tells it from another or a changed one; empty where there is no file.

    Also its `ctime`: whoever sets the time of a file back, or lets it be read, changes that.
    """
    try:
        return _signature(os.stat(path))
    except _NO_FILE:
        return (-1,) if path.is_symlink() else ()
    except (OSError, ValueError) as reason:
        return (-1, getattr(reason, "errno", 0) or 0)


def _signature(found: os.stat_result) -> _Signature:
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev


def _read(path: Path, before: _Found = _NOT_LOOKED) -> _Found:
    """What is in the file; what was found `before` saves reading the same text again."""
    try:
        data, signature, is_fresh = _contents(path)
    except _NO_FILE:
        if not path.is_symlink():
            return _Found()
        problem = f"it is a link to {os.readlink(path)}, where no file is."
        fix = "Correct the link, or delete it: without a file nothing was decided."
        trouble = LockFailed(str(path), problem, fix)
        return _Found(_signature_of(path), trouble=trouble, contents=problem)
    except (OSError, ValueError) as reason:
        problem = getattr(reason, "strerror", None) or str(reason)
        trouble = _unreadable(path, f"it cannot be read: {problem}.")
        return _Found(_signature_of(path), trouble=trouble, contents=problem)
    digest = hashlib.sha256(data).hexdigest()
    if digest == before.contents:
        return _Found(signature, before.lock, before.trouble, digest, is_fresh)
    try:
        lock, trouble = read_lock(_text(data)), None
    except Unreadable as reason:
        lock, trouble = None, _unreadable(path, str(reason), reason.fix)
    return _Found(signature, lock, trouble, digest, is_fresh)


def _prepared(read: Callable[[], _Found]) -> _Found:
    """What is read, in a thread, made quick to ask on the loop."""
    if (found := read()).lock is not None:
        found.lock.prepare()
    return found


def _contents(path: Path) -> tuple[bytes, _Signature, bool]:
    with os.fdopen(open_to_read(path), "rb") as opened:
        found = os.fstat(opened.fileno())
        if found.st_size > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES >> 20} MiB")
        data = opened.read(MAX_BYTES + 1)
    # Of the file as it was opened: what is written meanwhile is found by the next look.
    age = time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns)
    return data, _signature(found), 0 <= age < _COARSE_NS


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise Unreadable(f"it is no UTF-8, from byte {cause.start} on.") from None


def _changed(path: Path, changes: Sequence[Change], lost: DecisionLock | None) -> _Found:
    """Make these changes of what the file says now, or of what it said before it was `lost`."""
    try:
        place = followed(path)
        if not place.parent.is_dir():
            raise ValueError("there is no such folder")
        # Where folders cannot be locked, a file beside it.
        hidden = place.with_name(f".{place.name}.lock")
        with file_lock(place.parent if _CAN_LOCK_FOLDERS else hidden, _LOCK_SECONDS):
            found = _read(path)
            if found.trouble is not None:
                raise found.trouble
            before = found.lock or lost or DecisionLock()
            lock = _made(changes, before)
            if lock != found.lock and (found.lock is not None or lock.decisions):
                replace_file(place, lock.as_text().encode())
            return _prepared(partial(_read, place))
    except (OSError, ValueError) as reason:
        problem = getattr(reason, "strerror", None) or str(reason)
        raise LockFailed(
            str(path),
            f"it cannot be written: {problem}. What was decided counts until this process ends.",
            "Make it writable, or name another file in XAI_MCP_LOCK, then decide again.",
        ) from reason


def _unreadable(path: Path, problem: str, fix: str = "") -> LockFailed:
    back = shown_command("git", "checkout", "--", str(path))
    return LockFailed(str(path), problem, fix or f"Mend it, or take it back with `{back}`.")
