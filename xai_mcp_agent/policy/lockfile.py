"""The file `mcp_tools.lock.json`: people's decisions, its location, how to read and change it.

Its text is made for git: sorted, one decision a line, in ASCII, so that no letter looks like
another one. It is read strictly: one mistake makes all of it unreadable. Reading it for each call
costs one `stat` while nothing changes. A change is a function of the file's current content, under
a lock between processes; the file is replaced as a whole.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import anyio
import anyio.to_thread
from annotated_types import Ge, MinLen
from pydantic import ConfigDict, StringConstraints, TypeAdapter, ValidationError

from ..core.errors import LockFailed
from ..core.json import JsonObject, clipped
from ..core.names import did_you_mean, letters, skeleton
from ..core.shell import shown_command
from ..core.tools import KIND_NAMES, SourceKind, ToolKey, kind_named
from ..history.event import NAMELESS
from ..secrets.private_files import file_lock, followed, open_to_read, replace_file
from ..settings.document import ParsedObject
from ..settings.load import LOCK_NAME
from ..settings.models import Settings

ENVIRONMENT_VARIABLE = "XAI_MCP_LOCK"
VERSION = 1
ALWAYS = "always"
"""An approval that a person may write into the lock file, for any definition of a tool."""

MAX_BYTES = 32 << 20  # a hundred times the largest catalogs
_LOCK_SECONDS = 10.0  # another process may be writing the file to a slow disk
# Some file systems have coarse clocks: a younger file may change again without a trace.
_COARSE_NS = 2 * 10**9
_CAN_LOCK_FOLDERS = hasattr(os, "fork")  # not on Windows
_NO_FILE = (FileNotFoundError, NotADirectoryError)
_MARKS = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)
_KEY_CHARS = 60  # of a key in a message

_Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{32,128}$")]
_Approval = Annotated[str, StringConstraints(pattern=f"^({ALWAYS}|[0-9a-f]{{32,128}})$")]
_SourceName = Annotated[str, StringConstraints(pattern=f"(?s)^({'|'.join(KIND_NAMES)}):.")]


# Decisions


@dataclass(frozen=True)
class SourceLock:
    """The decisions about one source.

    `accepted` has the digests of tools' definitions by name; None means that nothing was accepted,
    an empty map that a listing without tools was. `approved` has the tools that need no approval,
    `instructions` the digest of the source's instructions, `off` the tools that no agent may use.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    accepted: dict[str, _Digest] | None = None
    approved: dict[str, _Approval] = field(default_factory=dict[str, str])
    instructions: _Digest = ""
    off: frozenset[Annotated[str, MinLen(1)]] = frozenset()

    @property
    def is_untouched(self) -> bool:
        """Whether nothing of the source was ever accepted."""
        return self.accepted is None and not self.instructions

    def is_off(self, tool: str) -> bool:
        """Return whether no agent may use a tool, or one with a look-alike name."""
        return bool(self.off) and letters(tool) in self._letters_off

    def looks_like(self, tool: str) -> str:
        """Return the accepted tool that a name may be confused with; empty if there is none."""
        if not self.accepted or tool in self.accepted:
            return ""
        return self._accepted_skeletons.get(skeleton(tool), "")

    def with_accepted(self, digests: Mapping[str, str], instructions: str = "") -> SourceLock:
        """Return this with more accepted definitions, and these instructions if any."""
        accepted = {**(self.accepted or {}), **digests}
        instructions = instructions or self.instructions
        return replace(self, accepted=accepted, instructions=instructions)

    def switched(self, tool: str, *, is_enabled: bool) -> SourceLock:
        """Return this with a tool switched on or off; names that look alike go on with it."""
        if not is_enabled:
            return replace(self, off=self.off | {tool})
        alike = letters(tool)
        return replace(self, off=frozenset(x for x in self.off if letters(x) != alike))

    def with_approved(self, tool: str, word: str) -> SourceLock:
        """Return this with the calls of a tool approved; an empty word withdraws that."""
        approved = {name: x for name, x in self.approved.items() if name != tool}
        return replace(self, approved=approved | ({tool: word} if word else {}))

    def as_json(self) -> JsonObject:
        """Return the decisions by their keys in the file."""
        keys = {
            "accepted": self.accepted, "approved": self.approved or None,
            "instructions": self.instructions or None, "off": sorted(self.off) or None,
        }  # fmt: skip
        return {key: x for key, x in keys.items() if x is not None}

    def prepare(self) -> None:
        """Compute the look-alikes now, in a thread: for very many tools that takes seconds."""
        self.is_off("")
        self.looks_like("")

    @cached_property
    def _letters_off(self) -> frozenset[str]:
        return frozenset(map(letters, self.off))

    @cached_property
    def _accepted_skeletons(self) -> Mapping[str, str]:
        return {skeleton(x): x for x in self.accepted or ()}


_NOTHING = SourceLock()


@dataclass(frozen=True)
class DecisionLock:
    """All decisions by source, such as `mcp:weather`: a kind and a name."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    sources: dict[_SourceName, SourceLock] = field(default_factory=dict[str, SourceLock])
    version: Annotated[int, Ge(1)] = VERSION

    def of(self, source: str) -> SourceLock:
        """Return the decisions about a source."""
        return self.sources.get(source, _NOTHING)

    def by_source(self) -> Iterator[tuple[str, str, SourceLock]]:
        """Yield the kind and name of each source, as in a `ToolKey`, and its decisions."""
        for name, lock in self.sources.items():
            kind, _, source = name.partition(":")
            yield kind, "" if source == NAMELESS.get(kind_named(kind)) else source, lock

    def is_off(self, key: ToolKey) -> bool:
        """Return whether no agent may use a tool."""
        return self.of(source_of(key)).is_off(key.name)

    def with_source(self, name: str, source: SourceLock) -> DecisionLock:
        """Return this with the decisions about one source replaced."""
        sources = {x: lock for x, lock in self.sources.items() if x != name}
        return replace(self, sources=sources | ({} if source == _NOTHING else {name: source}))

    def as_text(self) -> str:
        """Return the text of the file."""
        sources = {name: x.as_json() for name, x in self.sources.items()}
        return json.dumps({"version": VERSION, "sources": sources}, indent=2, sort_keys=True) + "\n"


def source_name(kind: SourceKind, source: str) -> str:
    """Return the name of a source in the lock file: `mcp:weather`, `tools:canvas`."""
    return f"{kind.name}:{source or NAMELESS.get(kind, '')}"


def source_of(key: ToolKey) -> str:
    """Return the name of a tool's source in the lock file."""
    return source_name(kind_named(key.kind), key.source)


# Text


class Unreadable(ValueError):
    """The text is not a lock file; `fix` says what to do, if that is known."""

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(problem)
        self.fix = fix


def read_lock(text: str) -> DecisionLock:
    """Parse the text of a lock file.

    Raises:
        Unreadable: the text has a mistake.
    """
    if not text.strip():
        raise Unreadable("it is empty.")
    if marks := _MARKS.search(text):
        line = text.count("\n", 0, marks.start()) + 1
        fix = "Keep the right lines of both sides, and remove the marks."
        raise Unreadable(f"line {line} is a mark of an unresolved git merge.", fix)
    try:
        json.loads(text, object_pairs_hook=_require_unique)
        lock = TypeAdapter(DecisionLock).validate_json(text)
    except json.JSONDecodeError as cause:
        where = f"line {cause.lineno}, column {cause.colno}"
        raise Unreadable(f"it is not JSON, at {where}: {cause.msg}.") from None
    except ValidationError as cause:
        raise _unreadable(cause) from None
    except Unreadable:
        raise
    except (RecursionError, ValueError) as cause:
        raise Unreadable(f"it is not JSON: {cause}.") from None
    if lock.version > VERSION:
        raise Unreadable(f"it has version {lock.version}.", "Update xai-mcp-agent to read it.")
    return lock


def _unreadable(cause: ValidationError) -> Unreadable:
    """Return the first mistake with its place and, for a misspelt word, the nearest one."""
    error = cause.errors(include_url=False, include_input=False)[0]
    place = [x for x in error["loc"] if x != "[key]"]
    where = "".join(f".{x}" if str(x).isidentifier() else f"[{_shown(x)}]" for x in place)
    message = error["msg"].replace("Input should", "must").replace("String should", "must")
    problem = f"`{where.lstrip('.')}` {message}." if place else f"it {message}."
    if error["type"] != "unexpected_keyword_argument":
        return Unreadable(problem)
    words = [x.name for x in fields(SourceLock if len(place) > 1 else DecisionLock)]
    fix = did_you_mean(str(place[-1]), words) or f"Known keys: {', '.join(words)}."
    return Unreadable(f"the key `{where.lstrip('.')}` is unknown.", fix)


def _require_unique(pairs: list[tuple[str, Any]]) -> JsonObject:
    value = ParsedObject.of_pairs(pairs)
    if value.repeated:
        raise Unreadable(f"the key {_shown(value.repeated[0])} is there twice.")
    return value


def _shown(key: object) -> str:
    return json.dumps(clipped(str(key), _KEY_CHARS))


# File

Change: TypeAlias = Callable[[DecisionLock], DecisionLock]
"""A decision, as a function of the decisions before it. It may run more than once."""

_Signature: TypeAlias = tuple[int, ...]


def find_lock(
    settings: Settings, path: str | Path | None = None, environ: Mapping[str, str] | None = None
) -> Path | None:
    """Return the lock file of these settings, or None if decisions are kept in memory.

    It is `path`, or `XAI_MCP_LOCK`, or beside the settings file, or in the current folder if there
    is none. Settings from Python keep decisions in memory.
    """
    environ = os.environ if environ is None else environ
    is_of_a_file = settings.file and not settings.is_from_python
    folder = Path(settings.file).parent if is_of_a_file else Path(os.path.abspath("."))
    named = path or environ.get(ENVIRONMENT_VARIABLE, "").strip()
    if named:
        return folder / os.path.expanduser(named)
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


def decided_now(path: Path | None) -> DecisionLock:
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
        self._was_there = False

    @property
    def trouble(self) -> LockFailed | None:
        """Why the file cannot be read; then no decision is known."""
        return self._content.trouble if self._content else None

    @property
    def was_looked_at(self) -> bool:
        """Whether the file was read at least once."""
        return self.path is None or self._content is not None

    @property
    def is_lost(self) -> bool:
        """Whether the file is gone. Its decisions still count here."""
        is_missing = self._content is not None and self._content.is_missing
        return self._was_there and is_missing

    async def look(self) -> None:
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
            self._readable, self._was_there = content.lock, True
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
    signature, is_fresh = _signature_of(path), False
    try:
        data, signature, is_fresh = _bytes_of(path)
        lock = read_lock(data.decode("utf-8-sig"))
    except _NO_FILE:
        if not path.is_symlink():
            return _Content()
        problem = f"it is a link to {os.readlink(path)}, which does not exist."
        fix = "Correct the link, or delete it: without a file there are no decisions."
    except UnicodeDecodeError as cause:
        problem, fix = f"it is not UTF-8, from byte {cause.start} on.", ""
    except Unreadable as cause:
        problem, fix = str(cause), cause.fix
    except (OSError, ValueError) as cause:
        problem, fix = f"it cannot be read: {_words(cause)}.", ""
    else:
        for source in lock.sources.values():
            source.prepare()
        return _Content(signature, lock, None, is_fresh)
    back = shown_command("git", "checkout", "--", str(path))
    trouble = LockFailed(str(path), problem, fix or f"Correct it, or restore it with `{back}`.")
    return _Content(signature, None, trouble, is_fresh)


def _bytes_of(path: Path) -> tuple[bytes, _Signature, bool]:
    with os.fdopen(open_to_read(path), "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES >> 20} MiB")
        data = file.read(MAX_BYTES + 1)
    # The status of the opened file: later changes are read next time.
    age = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns)
    return data, _signature(status), 0 <= age < _COARSE_NS


def _write(path: Path, changes: Sequence[Change], lost: DecisionLock) -> _Content:
    """Apply changes to the file's current content, or to its last one if the file is `lost`."""
    try:
        place = followed(path)
        if not place.parent.is_dir():
            raise ValueError("there is no such folder")
        # If folders cannot be locked, lock a file beside it.
        hidden = place.with_name(f".{place.name}.lock")
        with file_lock(place.parent if _CAN_LOCK_FOLDERS else hidden, _LOCK_SECONDS):
            content = _read(path)
            if content.trouble is not None:
                raise content.trouble
            lock = _apply(changes, content.lock or lost)
            if lock != (content.lock or DecisionLock()):
                replace_file(place, lock.as_text().encode())
            return _read(place)
    except (OSError, ValueError) as reason:
        raise LockFailed(
            str(path),
            f"it cannot be written: {_words(reason)}. The decision counts until this process ends.",
            "Make it writable, or name another file in XAI_MCP_LOCK, then decide again.",
        ) from reason


def _words(cause: Exception) -> str:
    return getattr(cause, "strerror", None) or str(cause)
