"""Calls noted in a file before they are sent, and when they are over, until the store has them.

One line appended takes some millionths of a second, and is there when the process is killed: a
transaction for each call would take longer than many calls. The file lies beside that of the
history; that of a database elsewhere among what this user has on this machine. Who starts next
takes in what a process left behind that is not there any more.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import stat
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...core.json import JsonObject
from ...core.tools import kind_named
from ...secrets.private_files import make_private_folder, open_private, take_lock
from ..event import Subject
from ..place import Place
from .reports import NAMES, Begun, Called

logger = logging.getLogger(__name__)

# Some hundred thousand calls, which wait for a store that is away.
_LARGEST_BYTES = 32 * 2**20
_TIDY_BYTES = 2**20  # written anew without what the store has by now
_HASH_CHARS = 24
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT
_FIELDS = ("seconds", "error", "arguments", "result", "structured", "by")
_UNSAID: dict[str, Any] = {"error": "", "by": ()}
_USED_BY = {"run_id", "call_id", *NAMES}
_MOST_ERROR_CHARS = 500
_MOST_LINE_BYTES = 200_000  # ten times the longest of ours
_NO_PIPES = getattr(os, "O_NONBLOCK", 0)


class CallJournal:
    """That of one run, by its id. Used from any thread; nothing in it waits.

    `warn` is told once, in a thread of its own, if calls cannot be noted: they are made all the
    same.
    """

    def __init__(
        self, place: Place, run: str, warn: Callable[[str], None] = logger.warning
    ) -> None:
        self._run = json.dumps({"run": run}).encode() + b"\n"
        stem = _stem(place)
        self._file = None if stem is None else stem.with_name(f"{stem.name}{uuid.uuid4().hex}")
        self._warn = warn
        self._opened: int | None = None
        self._is_full = False
        self._lines: dict[int, bytes] = {}  # what the store does not have yet
        self._size = self._last = 0
        self._changing = threading.RLock()
        self._pid = os.getpid()
        _all.add(self)

    def begin(self, call: Begun) -> int:
        """A call is about to be sent; the number that it has here, 0 for none."""
        with self._changing:
            self._last += 1
            return self._last if self._add(self._last, _line(self._last, call)) else 0

    def end(self, number: int, call: Called) -> Called:
        """A call is over; what is to be reported of it. `number` is what it has here, if any."""
        if self._file is None:
            return call
        with self._changing:
            if not number:
                number = self._last = self._last + 1
            self._add(number, _line(number, call))
        return replace(call, entry=number)

    def written(self, numbers: Iterable[int]) -> None:
        """The store has these calls, or they were never made."""
        with self._changing:
            for number in numbers:
                self._lines.pop(number, None)
            if self._opened is None or self._pid != os.getpid():
                return
            try:
                if not self._lines:
                    os.ftruncate(self._opened, 0)
                    self._size = 0
                    self._append(self._run)
                elif self._size > _TIDY_BYTES + 2 * sum(map(len, self._lines.values())):
                    self._write_anew()
            except OSError as reason:
                logger.debug("The file of calls stays as it is: %s", reason)

    def withdraw(self, number: int) -> None:
        """This call was not made."""
        with self._changing:
            if number in self._lines:
                line = json.dumps({"n": number, "was": "withdrawn"})
                self._add(number, line.encode() + b"\n")
                self.written([number])

    def close(self) -> None:
        """Let go of the file; if the store does not have all of it, for who starts next."""
        with self._changing:
            opened, self._opened, file, self._file = self._opened, None, self._file, None
            if opened is None or self._pid != os.getpid():
                return
            if file is not None and not self._lines:
                with suppress(OSError):
                    file.unlink(missing_ok=True)
            os.close(opened)

    def drop(self) -> None:
        """Close the file in a fork: its lock is that of the process that writes to it."""
        opened, self._opened, self._file = self._opened, None, None
        if opened is not None:
            os.close(opened)

    def _add(self, number: int, line: bytes) -> bool:
        """Whether it is noted."""
        if self._file is None or self._is_full or self._pid != os.getpid():
            return False
        try:
            if self._opened is None:
                self._open(self._file)
            if self._opened is None or self._size + len(line) > _LARGEST_BYTES:
                return False
            self._append(line)
        except OSError as reason:
            self._say(reason)
            return False
        self._lines[number] = self._lines.get(number, b"") + line
        return True

    def _open(self, file: Path) -> None:
        try:
            make_private_folder(file.parent)
        except OSError as reason:
            logger.info("Calls are not noted before they are sent: %s", reason)
            self._file = None  # the history lies there as well, and has it told
            return
        opened = open_private(file, _FLAGS)
        take_lock(opened)  # of nobody else's: by which others know that this process is there
        self._opened = opened
        self._append(self._run)

    def _append(self, line: bytes) -> None:
        if self._opened is None:
            return
        written = os.write(self._opened, line)
        self._size += written
        if written < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _write_anew(self) -> None:
        if self._file is None:
            return
        before, beside = self._opened, self._file.with_name(f"{self._file.name}.new")
        opened = open_private(beside, _FLAGS | os.O_TRUNC)
        try:
            take_lock(opened)
            data = self._run + b"".join(self._lines.values())
            if os.write(opened, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.replace(beside, self._file)
        except OSError:
            os.close(opened)
            raise
        self._opened, self._size = opened, len(data)
        if before is not None:
            os.close(before)

    def _say(self, reason: OSError) -> None:
        self._is_full = True
        text = (
            f"Calls cannot be noted before they are sent ({reason}): if this process is killed, "
            "the last ones may be missing in the history. The agent goes on."
        )
        threading.Thread(target=self._warn, args=(text,), daemon=True).start()


_all: weakref.WeakSet[CallJournal] = weakref.WeakSet()


def _drop_all() -> None:
    for journal in tuple(_all):
        journal.drop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all)


class LeftBehind:
    """What a process noted that is not there any more. To be let go of, or removed.

    The file may have come from anywhere, with a clone, say: a line that is not as we write it is
    left out.
    """

    def __init__(self, file: Path, opened: int) -> None:
        self._file, self._opened = file, opened
        self.run = ""
        self.calls: list[Begun | Called] = []
        """Those that were begun and are not known to have ended, and those that did."""
        self._read()

    def remove(self) -> None:
        """The store has them all."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
        self.let_go()

    def let_go(self) -> None:
        """Leave it for somebody else."""
        opened, self._opened = self._opened, -1
        if opened >= 0:
            os.close(opened)

    def _read(self) -> None:
        calls: dict[int, Begun | Called] = {}
        with os.fdopen(os.dup(self._opened), "rb") as file:
            lines = file.read(_LARGEST_BYTES).splitlines()
            for text in (x for x in lines if len(x) <= _MOST_LINE_BYTES):
                with suppress(OverflowError, ValueError):  # cut off, or not ours
                    line = _Line.model_validate_json(text)
                    if line.run:
                        self.run = line.run
                    elif line.was == "withdrawn":
                        calls.pop(line.n, None)
                    else:
                        calls[line.n] = line.call()
        self.calls = [*calls.values()]


def left_behind(place: Place) -> list[LeftBehind]:
    """What processes noted that are not there any more, for this project in this store."""
    found: list[LeftBehind] = []
    stem = _stem(place)
    if stem is None:
        return found
    try:
        names = sorted(x for x in os.listdir(stem.parent) if x.startswith(stem.name))
    except OSError:
        return found
    for name in names:
        file = stem.with_name(name)
        with suppress(OSError):
            if file.is_symlink():  # none of ours
                continue
            opened = open_private(file, os.O_RDWR | _NO_PIPES)
            if stat.S_ISREG(os.fstat(opened).st_mode) and take_lock(opened):
                found.append(LeftBehind(file, opened))
            else:
                os.close(opened)
    return found


def _stem(place: Place) -> Path | None:
    """What the names of such files begin with."""
    if not place.is_lasting or place.problem:
        return None
    if place.file is not None:
        return place.file.with_name(f"{place.file.name}.calls-")
    # Here, because only databases elsewhere need it.
    from platformdirs import user_state_path

    name = f"{place.url}\0{place.folder}".encode("utf-8", "surrogatepass")
    named = hashlib.sha256(name).hexdigest()[:_HASH_CHARS]
    return user_state_path("xai-mcp-agent", appauthor=False) / "calls" / f"{named}-"


def _line(number: int, call: Begun | Called) -> bytes:
    subject, was = call.tool, "called" if isinstance(call, Called) else "begun"
    value: JsonObject = {"n": number, "was": was, "time": call.time.isoformat()}
    value["tool"] = [subject.kind.name, subject.source, subject.tool]
    fields = {name: getattr(call, name, None) for name in _FIELDS}
    value |= {name: x for name, x in fields.items() if x not in (None, _UNSAID.get(name))}
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


class _Line(BaseModel):
    """A line as it is read back. The file may have come with a clone: only what fits is taken."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    run: str = ""
    n: int = 0
    was: Literal["begun", "called", "withdrawn"] = "withdrawn"
    time: datetime = datetime.min
    tool: tuple[str, str, str] = ("", "", "")
    seconds: float = 0.0
    error: str = Field("", max_length=_MOST_ERROR_CHARS)
    arguments: JsonObject | str | None = None
    result: str | None = None
    structured: Any = None
    by: tuple[tuple[str, str], ...] = ()

    def call(self) -> Begun | Called:
        """The call that it tells of."""
        kind, source, tool = self.tool
        subject, time = Subject(kind_named(kind), source, tool), self.time.astimezone(UTC)
        by = tuple(x for x in self.by if x[0] in _USED_BY)
        if self.was == "begun":
            return Begun(subject, time, self.arguments, by)
        return Called(
            subject, time, self.seconds, self.error, self.arguments, self.result, self.structured,
            by=by,
        )  # fmt: skip
