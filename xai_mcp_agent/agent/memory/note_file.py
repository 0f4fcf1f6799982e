"""The file of a memory: a line of JSON for each note, which several processes read and add to.

The file is the truth: who adds a note reads it back from there, after those of others. A line that
is no note costs that line: it is moved beside, to `<file>.broken`.
"""

from __future__ import annotations

import json
import logging
import os
from array import array
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from operator import mul
from pathlib import Path
from typing import Any

from ...core.errors import XaiMcpError
from ...secrets.private_files import (
    append_private,
    close_to_others,
    file_lock,
    followed,
    make_private_folder,
    replace_private,
)

logger = logging.getLogger(__name__)

_LOCK_SECONDS = 10.0  # a note is written in milliseconds, so who has it for longer is stuck
# Who finds these bytes again where it has read to knows that only what follows is new.
_TAIL_BYTES = 200
# Every line that was ever written begins so; a file without any is somebody else's.
_BEGINNING = b'{"agent"'


class MemoryFailed(XaiMcpError):
    """A memory that cannot be read or written; says which file or service, and what to do."""


@dataclass(slots=True)
class StoredNote:
    """A note as a line has it; `vector` has the length 1, or is empty."""

    agent: str
    id: str
    text: str
    metadata: Any
    vector: array[float] = field(default_factory=lambda: array("d"))


class NoteFile:
    """Used by one thread at a time.

    Raises:
        MemoryFailed: the file is somebody else's.
    """

    def __init__(self, file: Path) -> None:
        with _told(file, "read"):
            self._file = followed(file)
        self._state: tuple[int, ...] | None = None
        self._end, self._tail = 0, b""
        self._ends_whole = True
        self._is_locked = False

    @property
    def has_news(self) -> bool:
        """Whether it is not as it was when it was read last."""
        return self._state != self._state_now()

    @contextmanager
    def locked(self) -> Generator[None]:
        """Within the block no other process reads or writes; not where files cannot be locked.

        Raises:
            MemoryFailed: another process has it for too long.
        """
        beside = self._file.with_name(f"{self._file.name}.lock")
        with suppress(OSError):  # where it cannot be made, nothing can be written: told then
            make_private_folder(self._file.parent)
        with _told(self._file, "used"), file_lock(beside, _LOCK_SECONDS) as self._is_locked:
            yield

    def read(self) -> tuple[bool, list[StoredNote]]:
        """The notes since the last time; and whether those of before are not in it any more.

        Raises:
            MemoryFailed: the file cannot be read, or is no memory.
        """
        with _told(self._file, "read"):
            self._state = self._state_now()
            start, data = self._new_data()
        lines = data.split(b"\n")
        rest = lines.pop()
        if rest and (self._is_locked or _note_in(rest)):
            lines.append(rest)  # not one that somebody is just writing
            rest = b""
        whole = data.removesuffix(rest)
        self._end = start + len(whole)
        self._tail = ((self._tail if start else b"") + whole)[-_TAIL_BYTES:]
        self._ends_whole = not rest and self._tail[-1:] in (b"", b"\n")
        found = [_note_in(x) for x in lines]
        broken = [x for x, note in zip(lines, found, strict=True) if note is None and x.strip()]
        notes = [x for x in found if x is not None]
        if broken:
            self._pass_over(broken, is_memory=bool(start or notes))
        return start == 0, notes

    def append(self, note: StoredNote) -> None:
        """Add a note, which is read back by `read`.

        Raises:
            MemoryFailed: the file cannot be written.
        """
        # All in ASCII: a note may hold half a character, which no file encoding takes.
        fields = {**asdict(note), "vector": list(note.vector) or None}
        line = json.dumps(fields, default=str).encode("ascii") + b"\n"
        with _told(self._file, "written"):
            append_private(self._file, line if self._ends_whole else b"\n" + line)

    def _state_now(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._file)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def _new_data(self) -> tuple[int, bytes]:
        """What was added, and where that begins; from 0 where it is another file than it was."""
        try:
            with self._file.open("rb") as opened:
                opened.seek(self._end - len(self._tail))
                if opened.read(len(self._tail)) != self._tail:
                    opened.seek(0)
                return opened.tell(), opened.read()
        except (FileNotFoundError, NotADirectoryError):
            return 0, b""

    def _pass_over(self, broken: list[bytes], *, is_memory: bool) -> None:
        if not is_memory and not all(x.startswith(_BEGINNING) for x in broken):
            self._state, self._end, self._tail = None, 0, b""
            raise MemoryFailed(
                f"The memory file {self._file} cannot be read: no line of it is a note. "
                "Choose another `file`."
            )
        aside = self._file.with_name(f"{self._file.name}.broken")
        where = "stays in it"
        if self._is_locked:
            try:
                close_to_others(self._file)
                append_private(aside, b"".join(x + b"\n" for x in broken))
                self._keep_notes()
                where = f"is in {aside.name} now: correct it there, and put it back"
            except OSError as reason:
                where = f"stays in it, as it cannot be moved ({reason.strerror})"
        logger.warning(
            "The memory file %s has %d broken line(s), the first begins %.80r. What is broken %s.",
            self._file, len(broken), broken[0].decode("utf-8", "replace"), where,
        )  # fmt: skip

    def _keep_notes(self) -> None:
        """Write the file anew with its notes only, as they are."""
        lines = self._file.read_bytes().split(b"\n")
        whole = b"".join(x + b"\n" for x in lines if _note_in(x))
        replace_private(self._file, whole)
        self._state = self._state_now()
        self._end, self._tail, self._ends_whole = len(whole), whole[-_TAIL_BYTES:], True


def unit(vector: Iterable[float] | None) -> array[float]:
    """The vector with the length 1, packed; an empty one where there is none."""
    packed = array("d", vector or ())
    length = sum(map(mul, packed, packed)) ** 0.5
    return array("d", [x / length for x in packed] if length else ())


def _note_in(line: bytes) -> StoredNote | None:
    try:
        raw: Any = json.loads(line.decode("utf-8-sig"))
        words = raw["agent"], raw["id"], raw["text"]
        note = StoredNote(*words, raw["metadata"], unit(raw.get("vector")))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
    return note if all(isinstance(x, str) for x in words) else None


@contextmanager
def _told(file: Path, done: str) -> Generator[None]:
    try:
        yield
    except OSError as cause:
        raise MemoryFailed(
            f"The memory file {file} cannot be {done}: {cause.strerror or cause}. "
            "Choose another `file`, or free it."
        ) from cause
