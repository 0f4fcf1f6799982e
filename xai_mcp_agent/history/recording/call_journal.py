"""Reports of calls, and the journal: a file that notes them until the store has them.

One appended line takes some microseconds, and survives when the process is killed: a transaction
for each call would take longer than many calls. The file lies beside the history's; for a database
elsewhere, among this user's files on this machine. The next process takes over the calls of a dead
one.
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
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pydantic import ConfigDict, TypeAdapter
from pydantic_core import to_json

from ...core.json import JsonObject
from ...secrets.private_files import make_private_folder, open_private, take_lock
from ..event import Event, Subject, subject_of, usual_payload
from ..place import Place

logger = logging.getLogger(__name__)

UNKNOWN = "Its process ended during the call, so it is unknown whether it was carried out."

_LARGEST_BYTES = 32 * 2**20  # some hundred thousand calls, which wait for a store that is away
_HASH_CHARS = 24
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT

CallerFields: TypeAlias = tuple[tuple[str, str], ...]
"""Caller of a call: keys and values of a payload."""


class CallReport(NamedTuple):
    """A call that is about to be sent, or with `seconds` one that has finished.

    `tool` has the parts of its key, and `time` counts from the epoch; the rest is as in
    `call_event`. It is quick to make and to write, because the caller waits for it.
    """

    tool: tuple[str, str, str]
    time: float
    by: CallerFields = ()
    arguments: JsonObject | str | None = None
    seconds: float | None = None
    error: str = ""
    result: str | None = None
    structured: Any = None

    def event(self) -> Event:
        """Return its event; without `seconds`, its process ended during the call."""
        tool, time = subject_of(*self.tool), datetime.fromtimestamp(self.time, UTC)
        if self.seconds is not None:
            return call_event(
                tool, time, self.seconds, self.error, self.arguments, self.result,
                self.structured, self.by,
            )  # fmt: skip
        payload = usual_payload("begun") | ({"arguments": self.arguments} if self.arguments else {})
        return Event(tool, "begun", time, payload | dict(self.by), reason=UNKNOWN)


_STRICT = ConfigDict(strict=True, allow_inf_nan=False, defer_build=True)
# The run, then calls with their numbers, without a report if the call was not made after all.
# Strict, because the file may come with a clone.
_LINE = TypeAdapter[str | tuple[int, CallReport | None]](
    str | tuple[int, CallReport | None], config=_STRICT
)


def call_event(
    tool: Subject,
    time: datetime,
    seconds: float,
    error: str = "",
    arguments: JsonObject | str | None = None,
    result: str | None = None,
    structured: Any = None,
    by: CallerFields = (),
) -> Event:
    """Return the event of a finished call. `error` is "" if it succeeded.

    `arguments`, `result` (as text) and `structured` (the same as data, if the tool returned data)
    are None unless they are stored. They are masked and cut. `by` is the caller.
    """
    payload: JsonObject = {"status": "error" if error else "ok", "seconds": round(seconds, 6)}
    if error:
        payload["error"] = error
    for name, value in (("arguments", arguments), ("result", result), ("structured", structured)):
        if value is not None:
            payload[name] = value
    payload |= by
    return Event(tool, "called", time, payload)


class CallJournal:
    """Journal of one run, by its id. Used from any thread; nothing in it waits.

    `warn` is called once, in a thread of its own, if calls cannot be noted; they are made anyway.
    """

    def __init__(
        self, place: Place, run: str, warn: Callable[[str], None] = logger.warning
    ) -> None:
        self._run = to_json(run) + b"\n"
        stem = _stem(place)
        self._file = None if stem is None else stem.with_name(f"{stem.name}{uuid.uuid4().hex}")
        self._warn = warn
        self._opened: int | None = None
        self._pending: set[int] = set()  # numbers of calls that the store does not have yet
        self._size = 0
        self._numbers = count(1)
        self._changing = threading.RLock()
        _all.add(self)

    def note(self, call: CallReport, number: int = 0) -> int:
        """Note that a call is about to be sent, or has ended; return its number, 0 without one.

        `number` is the number of the note of its start.
        """
        new = number or next(self._numbers)
        return new if self._file and self._add(new, call) else number

    def discard(self, numbers: Iterable[int]) -> None:
        """Discard these calls: the store has them, or they were never made."""
        with self._changing:
            self._pending.difference_update(numbers)
            if self._opened is not None and not self._pending and self._size > len(self._run):
                with suppress(OSError):
                    os.ftruncate(self._opened, 0)
                    self._size = os.write(self._opened, self._run)

    def withdraw(self, number: int) -> None:
        """Note that this call was not made."""
        if number in self._pending:
            self._add(number, None)
            self.discard([number])

    def close(self) -> None:
        """Close the file; leave it for the next process if calls are missing in the store."""
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
        """Close the file in a fork: its lock belongs to the parent process."""
        opened, self._opened, self._file = self._opened, None, None
        if opened is not None:
            os.close(opened)

    def _add(self, number: int, call: CallReport | None) -> bool:
        """Append a line; return whether it was written."""
        value = (number, call and tuple(call))
        try:
            line = to_json(value) + b"\n"
        except ValueError:  # lone surrogates
            line = json.dumps(value, default=str).encode() + b"\n"
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
            self._file = None  # the history is in the same place, and reports the problem
            return None
        self._opened = open_private(file, _FLAGS)
        take_lock(self._opened)  # it shows others that this process is alive
        self._append(self._opened, self._run)
        return self._opened

    def _append(self, opened: int, line: bytes) -> None:
        size = os.write(opened, line)
        self._size += size
        if size < len(line):
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


class AbandonedJournal:
    """Calls in the journal of a dead process, which must be released or removed.

    Unfinished calls are `begun`, the others `called`.
    """

    def __init__(self, file: Path, opened: int) -> None:
        self._file, self._opened = file, opened
        calls: dict[int, Event] = {}
        run = ""
        with os.fdopen(os.dup(opened), "rb") as lines:
            for text in lines.read(_LARGEST_BYTES).splitlines():
                with suppress(OSError, OverflowError, ValueError):  # cut off, or not ours
                    match _LINE.validate_json(text):
                        case str(run):
                            pass
                        case number, None:
                            calls.pop(number, None)
                        case number, call:
                            calls[number] = replace(call.event(), run=run)
        self.calls = list(calls.values())

    def remove(self) -> None:
        """Remove the file: the store has them all."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Close the file, and leave it for another process."""
        os.close(self._opened)


def abandoned_journals(place: Place) -> list[AbandonedJournal]:
    """Return the journals of dead processes, for this project in this store."""
    files: list[AbandonedJournal] = []
    if (stem := _stem(place)) is None:
        return files
    names: list[str] = []
    with suppress(OSError):  # there is no such folder yet
        names = sorted(x for x in os.listdir(stem.parent) if x.startswith(stem.name))
    for file in map(stem.with_name, names):
        with suppress(OSError):
            if file.is_symlink() or not file.is_file():  # not one of ours
                continue
            opened = open_private(file, os.O_RDWR)
            if take_lock(opened):
                files.append(AbandonedJournal(file, opened))
            else:
                os.close(opened)
    return files


def _stem(place: Place) -> Path | None:
    """Return the path of journals without their random suffix; None for a place without any."""
    if not place.is_lasting or place.problem:
        return None
    if place.file is not None:
        return place.file.with_name(f"{place.file.name}.calls-")
    # Imported here, because only databases elsewhere need it.
    from platformdirs import user_state_path

    name = f"{place.url}\0{place.folder}".encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(name).hexdigest()[:_HASH_CHARS]
    return user_state_path("xai-mcp-agent", appauthor=False) / "calls" / f"{digest}-"
