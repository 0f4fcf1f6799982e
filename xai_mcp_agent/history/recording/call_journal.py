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
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from ...core.json import JsonObject
from ...core.tools import kind_named
from ...secrets.private_files import make_private_folder, open_private, take_lock
from ..event import Subject
from ..place import Place
from .reports import CALLER_KEYS, Begun, Called

logger = logging.getLogger(__name__)

_LARGEST_BYTES = 32 * 2**20  # some hundred thousand calls, which wait for a store that is away
_HASH_CHARS = 24
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT
_MOST_ERROR_CHARS = 500
_MOST_LINE_BYTES = 200_000  # ten times the longest of ours


class CallJournal:
    """The journal of one run, by its id. Used from any thread; nothing in it waits.

    `warn` is called once, in a thread of its own, if calls cannot be noted: they are made all the
    same.
    """

    def __init__(
        self, place: Place, run: str, warn: Callable[[str], None] = logger.warning
    ) -> None:
        self._run = to_json({"run": run}) + b"\n"
        stem = _stem(place)
        self._file = None if stem is None else stem.with_name(f"{stem.name}{uuid.uuid4().hex}")
        self._warn = warn
        self._opened: int | None = None
        self._pending: set[int] = set()  # what the store does not have yet
        self._size = 0
        self.numbers = count(1)  # for calls
        self._changing = threading.RLock()
        _all.add(self)

    def begin(self, call: Begun) -> int:
        """Note that a call is about to be sent; its number, 0 where it is not noted."""
        number = next(self.numbers)
        return number if self._add(number, _line(number, call)) else 0

    def end(self, call: Called) -> None:
        """Note that a call is over, under the number in its `entry`."""
        if self._file is not None:
            self._add(call.entry, _line(call.entry, call))

    def written(self, numbers: Iterable[int]) -> None:
        """The store has these calls, or they were never made."""
        with self._changing:
            self._pending.difference_update(numbers)
            if self._opened is not None and not self._pending and self._size > len(self._run):
                with suppress(OSError):
                    os.ftruncate(self._opened, 0)
                    self._size = os.write(self._opened, self._run)

    def withdraw(self, number: int) -> None:
        """Note that this call was not made."""
        if number in self._pending:
            self._add(number, to_json({"n": number, "was": "withdrawn"}) + b"\n")
            self.written([number])

    def close(self) -> None:
        """Let go of the file; if the store does not have all of it, for who starts next."""
        with self._changing:
            opened, file = self._opened, self._file
            self._opened = self._file = None
            if opened is None:
                return
            os.close(opened)  # before it is removed: Windows removes no open file
            if file is not None and not self._pending:
                with suppress(OSError):
                    file.unlink(missing_ok=True)

    def drop(self) -> None:
        """Close the file in a fork: its lock is that of the process that writes to it."""
        opened, self._opened, self._file = self._opened, None, None
        if opened is not None:
            os.close(opened)

    def _add(self, number: int, line: bytes) -> bool:
        """Whether it is noted."""
        with self._changing:
            if self._file is None:
                return False
            try:
                opened = self._opened or self._open(self._file)
                if opened is None or self._size + len(line) > _LARGEST_BYTES:
                    return False
                self._append(opened, line)
            except OSError as reason:
                self._give_up(reason)
                return False
            self._pending.add(number)
            return True

    def _open(self, file: Path) -> int | None:
        try:
            make_private_folder(file.parent)
        except OSError as reason:
            logger.info("Calls are not noted before they are sent: %s", reason)
            self._file = None  # the history lies there as well, and has it told
            return None
        self._opened = open_private(file, _FLAGS)
        take_lock(self._opened)  # by which others know that this process is there
        self._append(self._opened, self._run)
        return self._opened

    def _append(self, opened: int, line: bytes) -> None:
        written = os.write(opened, line)
        self._size += written
        if written < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _give_up(self, reason: OSError) -> None:
        text = (
            f"Calls cannot be noted before they are sent ({reason}): if this process is killed, "
            "the last ones may be missing in the history. The agent goes on."
        )
        threading.Thread(target=self._warn, args=(text,), daemon=True).start()
        if self._opened is None:
            self._file = None
        else:
            self._size = _LARGEST_BYTES  # nothing more is added until it is emptied


_all: weakref.WeakSet[CallJournal] = weakref.WeakSet()


def _drop_all() -> None:
    for journal in tuple(_all):
        journal.drop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all)


class LeftBehind:
    """What a process noted that is not there any more. To be let go of, or removed."""

    def __init__(self, file: Path, opened: int) -> None:
        self._file, self._opened = file, opened
        self.run = ""
        self._calls: dict[int, Begun | Called] = {}
        with os.fdopen(os.dup(opened), "rb") as lines:
            for line in lines.read(_LARGEST_BYTES).splitlines():
                if len(line) <= _MOST_LINE_BYTES:
                    with suppress(OverflowError, ValueError):  # cut off, or not ours
                        self._read(_Line.model_validate_json(line))

    @property
    def calls(self) -> list[Begun | Called]:
        """Those that were begun and are not known to have ended, and those that did."""
        return [*self._calls.values()]

    def remove(self) -> None:
        """The store has them all."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
        self.let_go()

    def let_go(self) -> None:
        """Leave it for somebody else."""
        os.close(self._opened)

    def _read(self, line: _Line) -> None:
        if line.run:
            self.run = line.run
        elif line.was == "withdrawn":
            self._calls.pop(line.n, None)
        else:
            self._calls[line.n] = line.call()


def left_behind(place: Place) -> list[LeftBehind]:
    """What processes noted that are not there any more, for this project in this store."""
    files: list[LeftBehind] = []
    if (stem := _stem(place)) is None:
        return files
    names: list[str] = []
    with suppress(OSError):  # there is no such folder yet
        names = sorted(x for x in os.listdir(stem.parent) if x.startswith(stem.name))
    for file in map(stem.with_name, names):
        with suppress(OSError):
            if file.is_symlink() or not file.is_file():  # none of ours
                continue
            opened = open_private(file, os.O_RDWR)
            if take_lock(opened):
                files.append(LeftBehind(file, opened))
            else:
                os.close(opened)
    return files


def _stem(place: Place) -> Path | None:
    """What the names of such files begin with."""
    if not place.is_lasting or place.problem:
        return None
    if place.file is not None:
        return place.file.with_name(f"{place.file.name}.calls-")
    # Here, because only databases elsewhere need it.
    from platformdirs import user_state_path

    name = f"{place.url}\0{place.folder}".encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(name).hexdigest()[:_HASH_CHARS]
    return user_state_path("xai-mcp-agent", appauthor=False) / "calls" / f"{digest}-"


def _line(number: int, call: Begun | Called) -> bytes:
    subject = call.tool
    value: JsonObject = {
        "n": number, "was": "begun", "time": call.time,
        "tool": (subject.kind.name, subject.source, subject.tool),
    }  # fmt: skip
    if isinstance(call, Called):
        value |= {"was": "called", "seconds": call.seconds, "error": call.error}
        value |= {"result": call.result, "structured": call.structured}
    value |= {"arguments": call.arguments, "by": call.by}
    try:
        return to_json(value, exclude_none=True) + b"\n"
    except ValueError:  # halves of surrogate pairs
        return json.dumps(value, default=str).encode() + b"\n"


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
        """The call of this line."""
        kind, source, tool = self.tool
        subject, time = Subject(kind_named(kind), source, tool), self.time.astimezone(UTC)
        by = tuple(x for x in self.by if x[0] in CALLER_KEYS)
        if self.was == "begun":
            return Begun(subject, time, self.arguments, by)
        return Called(
            subject, time, self.seconds, self.error, self.arguments, self.result, self.structured,
            by=by,
        )  # fmt: skip
