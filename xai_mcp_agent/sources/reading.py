"""Sources that read their tools: from a file, a document, or an agent's card."""

from __future__ import annotations

import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, TypeVar

import anyio
from anyio.abc import TaskGroup

from ..core.backoff import Backoff
from ..core.calls import PROGRAM, Caller, ToolInvocation
from ..core.errors import SourceFailed
from ..core.events import (
    CLOSED,
    Inventory,
    InventoryChanged,
    Observer,
    SourceConnected,
    SourceEvent,
    SourceLost,
    SourceState,
    SourceStatus,
    SourceUnreachable,
)
from ..core.results import ToolResult
from ..core.tools import SourceKind
from ..secrets.redactor import redact_beginning
from ..settings.entry import SourceSettings
from .base import closed_error, copy_error, ready_within
from .threads import run_in_thread

logger = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
# An error may quote a whole document, and searching it for secrets takes time.
_MAX_PROBLEM_CHARS = 10_000


@dataclass(frozen=True)
class _Read(Generic[T]):
    """The value that was read, and its inventory."""

    value: T
    inventory: Inventory


class ReadSource(ABC, Generic[T]):
    """A `Source` that is read on demand, and again when its stamp has changed.

    The last value stays usable while it cannot be read again; the status says why. Subclasses
    implement `_stamp`, `_read`, `_inventory_of` and `call`. If `is_remote`, no stamp shows changes,
    so `refresh` always reads again, and after a failure the next use tries again once a growing
    pause is over.
    """

    kind: ClassVar[SourceKind]
    is_remote = False

    _tasks: TaskGroup  # of the owner

    def __init__(self, settings: SourceSettings, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._base = settings
        self.state: SourceState = "idle"
        self._observer: Observer | None = None
        self._owned, self._stopping = anyio.Event(), anyio.Event()
        self._reading: anyio.Event | None = None  # set when the read in progress has ended
        self._reading_stamp: object = None
        self._read_stamp: object = None  # of the last read, successful or not
        self._last: _Read[T] | None = None
        self._error: SourceFailed | None = None
        self._seconds: float | None = None
        self._backoff = Backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        self._failed_at = 0.0

    @abstractmethod
    async def _read(self) -> T:
        """Read the source; return the same object as last time if nothing has changed.

        Cancelling a caller that waits does not cancel the read.

        Raises:
            SourceFailed: the source cannot be read.
        """

    @abstractmethod
    def _inventory_of(self, value: T) -> Inventory:
        """Return the inventory. Its notes may contain secrets: they are masked here."""

    @abstractmethod
    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one tool; see `Source.call`."""

    async def _stamp(self) -> object:
        """Return a value that changes when a new read is due; cheap, because every use asks for it.

        Raises:
            SourceFailed: the stamp cannot be read.
        """
        return None

    async def _stamp_in_time(self, stamp: Callable[[], object], seconds: float) -> object:
        """Return the stamp of files, read in a thread: their disk may hang.

        Raises:
            SourceFailed: it took too long.
        """
        try:
            return await run_in_thread(self.name, stamp, seconds)
        except TimeoutError as cause:
            problem = f"checking it for changes did not end within {seconds:g} s."
            raise SourceFailed(self.name, problem, "Check that its disk responds.") from cause

    def _title(self) -> str:
        """Return the name that the source gives itself, for the status."""
        return ""

    def _close(self, value: T) -> None:
        """Release a value: it was replaced, or the source is closed."""

    @property
    def name(self) -> str:
        """The name in the settings."""
        return self._base.name

    def status(self) -> SourceStatus:
        """Return the current status."""
        inventory = self._last.inventory if self._last else None
        return SourceStatus(
            name=self.name,
            kind=self.kind.name,
            state=self.state,
            transport=self._base.transport,
            server=self._mask(self._title()),
            tool_count=len(inventory.tools) if inventory else None,
            connect_seconds=self._seconds,
            error=self._error.problem if self._error else "",
            next_step=self._error.next_step if self._error else "",
            notes=inventory.notes if inventory else (),
        )

    async def own(self, observer: Observer) -> None:
        """Read the source, and stay until stopped. Run by exactly one task."""
        self._observer, self.state = observer, "connecting"
        try:
            async with anyio.create_task_group() as self._tasks:
                self._owned.set()
                self._tasks.start_soon(self._read_first)
                await self._stopping.wait()
                self._tasks.cancel_scope.cancel()
        finally:
            self.state = "closed"
            if self._last is not None:
                observer.notice(SourceLost(self.name, CLOSED, on_purpose=True))
                self._close(self._last.value)

    def stop(self) -> None:
        """Ask the owner task to end."""
        self._stopping.set()
        if not self._owned.is_set():  # it may never run, and callers must not wait for it
            self.state = "closed"
            self._owned.set()

    async def ready(self, caller: Caller = PROGRAM) -> Inventory:
        """Return the current inventory; see `Source.ready`.

        If the source has changed and cannot be read, the status says why and the last inventory
        stays.
        """
        try:
            return (await self._current()).inventory
        except SourceFailed:
            if self._last is None or self.state == "closed":
                raise
        return self._last.inventory

    async def refresh(self, caller: Caller = PROGRAM) -> Inventory:
        """Read again like `ready`, but raise if that fails, and announce the inventory."""
        before = self._last
        current = await self._current(force=True)
        if current is before:
            self._notice(InventoryChanged(self.name, current.inventory))
        return current.inventory

    def features(self, caller: Caller) -> None:
        """Return None: there are only tools."""

    async def _ready_within(self, seconds: float) -> T:
        """Return the value within the time limit of a call.

        Raises:
            SourceFailed: the source cannot be read, or not in time.
        """
        with ready_within(self, seconds):
            await self.ready()
        assert self._last is not None
        return self._last.value

    async def _read_first(self) -> None:
        with suppress(SourceFailed):  # the next caller gets it
            await self._current()

    async def _current(self, *, force: bool = False) -> _Read[T]:
        """Return the current value. `force`: read again if no stamp shows that it is unchanged.

        Raises:
            SourceFailed: the source cannot be read in its current state.
        """
        await self._owned.wait()
        self._check_open()
        stamp = await self._stamp()
        is_due = self._is_due() or (force and (self.is_remote or self._error is not None))
        if stamp != self._read_stamp or is_due:
            await self._read_once(stamp)
        if self._error is not None:
            raise copy_error(self._error)
        if self._last is None:  # its owner has ended meanwhile
            raise closed_error(self.name)
        return self._last

    def _is_due(self) -> bool:
        """Return whether it was never read, or failed and may be tried again."""
        if self._error is None:
            return self._last is None
        return self.is_remote and anyio.current_time() - self._failed_at >= self._backoff.seconds

    async def _read_once(self, stamp: object) -> None:
        """Wait for a read with this stamp."""
        while self._reading and self._reading_stamp != stamp:
            await self._reading.wait()
        self._check_open()
        if self._reading is None:
            self._reading, self._reading_stamp = anyio.Event(), stamp
            self._tasks.start_soon(self._do_read, self._reading)
        await self._reading.wait()
        self._check_open()

    def _check_open(self) -> None:
        if self.state == "closed":
            raise closed_error(self.name)

    async def _do_read(self, reading: anyio.Event) -> None:
        started = anyio.current_time()
        try:
            value = await self._read()
            self._use(value, anyio.current_time() - started)
        except SourceFailed as error:
            self._failed(error)
        except Exception as fault:
            # Our own error in one source must not end its owner and everything that waits for it.
            logger.exception("Reading the source %r failed unexpectedly", self.name)
            problem = f"it cannot be read: {type(fault).__name__}: {fault}."
            self._failed(SourceFailed(self.name, problem, "Please report this."))
        finally:
            self._read_stamp, self._reading = self._reading_stamp, None
            reading.set()

    def _use(self, value: T, seconds: float) -> None:
        self._seconds, self._error = seconds, None
        self._backoff.reset()
        self.state = "ready"
        before = self._last
        if before is not None and before.value is value:
            return  # it has not changed
        inventory = self._inventory_of(value)
        inventory = replace(inventory, notes=tuple(map(self._mask, inventory.notes)))
        self._last = _Read(value, inventory)
        if before is not None:
            self._close(before.value)
        if before is None:
            title = self._title()
            self._notice(SourceConnected(self.name, self._base.transport, "", self.kind, title))
        self._notice(InventoryChanged(self.name, inventory))

    def _failed(self, error: SourceFailed) -> None:
        problem = redact_beginning(error.problem, self._mask, _MAX_PROBLEM_CHARS)
        self._error = SourceFailed(self.name, problem, error.next_step)
        self._failed_at = anyio.current_time()
        self._backoff.count()
        if self._last is None:
            self.state = "failed"
        self._notice(SourceUnreachable(self.name, self._error.problem, self.kind))

    def _notice(self, event: SourceEvent) -> None:
        if self._observer is not None:
            self._observer.notice(event)


def file_stamp(file: str) -> object:
    """Return a value that changes when a file is saved, or None without a file. May hang."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
