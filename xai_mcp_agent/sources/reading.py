"""Sources whose tools are read from something: a file, a document, a card of an agent."""

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
    SourceLost,
    SourceState,
    SourceStatus,
    SourceUnreachable,
)
from ..core.results import ToolResult
from ..core.tools import SourceKind
from ..secrets.redactor import redact_beginning
from ..settings.entry import SourceSettings
from .healing import Shared, renewed

logger = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
# Of what went wrong: it may quote a whole document, and looking for secrets in it takes time.
_MAX_PROBLEM_CHARS = 10_000


@dataclass(frozen=True)
class _Read(Generic[T]):
    """What was read, and what it offers."""

    value: T
    inventory: Inventory


class ReadSource(ABC, Generic[T]):
    """A `Source` that is read when it is asked for, and again when its stamp has changed.

    What was read last stays usable while it cannot be read again; its status says why. A kind says
    how: `_stamp`, `_read`, `_inventory_of`, `call`. `is_remote`: no stamp tells that it changed, so
    `refresh` always reads it again; and what could not be read is tried again when somebody asks,
    after a pause that grows.
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
        self._reading: Shared[bool] | None = None  # the reading that is going on, and its stamp
        self._reading_stamp: object = None
        self._read_stamp: object = None  # of what was read last, or could not be
        self._last: _Read[T] | None = None
        self._error: SourceFailed | None = None
        self._seconds: float | None = None
        self._backoff = Backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        self._failed_at = 0.0

    @abstractmethod
    async def _read(self) -> T:
        """Read it; the very value of the last time where it has not changed.

        It belongs to nobody who waits for it.

        Raises:
            SourceFailed: it cannot be read.
        """

    @abstractmethod
    def _inventory_of(self, value: T) -> Inventory:
        """What it offers. Its notes may hold secrets: they are masked here."""

    @abstractmethod
    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one tool; see `Source.call`."""

    async def _stamp(self) -> object:
        """What changes when it has to be read again; asked for with every use, so it is cheap.

        Raises:
            SourceFailed: nobody can tell.
        """
        return None

    def _title(self) -> str:
        """What it calls itself, for the status."""
        return ""

    def _close(self, value: T) -> None:
        """Let go of what was read last: another was read, or the source is closed."""

    @property
    def name(self) -> str:
        """Its name in the settings."""
        return self._base.name

    def status(self) -> SourceStatus:
        """How it is doing now."""
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
        """Read it, and stay until stopped. Run by exactly one task."""
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
        if not self._owned.is_set():  # it may never run; nobody must wait for it
            self.state = "closed"
            self._owned.set()

    async def ready(self, caller: Caller = PROGRAM) -> Inventory:
        """What it offers now; see `Source.ready`.

        If it has changed and cannot be read, the status says why and the last inventory stays.
        """
        try:
            return (await self._current()).inventory
        except SourceFailed:
            if self._last is None or self.state == "closed":
                raise
        return self._last.inventory

    async def refresh(self, caller: Caller = PROGRAM) -> Inventory:
        """As `ready`, but what cannot be read is an error, and it is listed anew."""
        before = self._last
        current = await self._current(anew=True)
        if current is before:
            self._notice(InventoryChanged(self.name, current.inventory))
        return current.inventory

    def features(self, caller: Caller) -> None:
        """Tools are all that it offers."""

    async def _ready_within(self, seconds: float) -> T:
        """What was read, within the limit of a call.

        Raises:
            SourceFailed: it cannot be read, or not in time.
        """
        try:
            with anyio.fail_after(seconds):
                await self.ready()
        except TimeoutError as cause:
            problem = f"it was not ready within {seconds:g} s."
            fix = "Give the call more time, or connect it before calling."
            raise SourceFailed(self.name, problem, fix) from cause
        assert self._last is not None
        return self._last.value

    async def _read_first(self) -> None:
        with suppress(SourceFailed):  # whoever needs it is told
            await self._current()

    async def _current(self, *, anew: bool = False) -> _Read[T]:
        """It as it is now. `anew`: read it again where nothing tells that it is the same.

        Raises:
            SourceFailed: it cannot be read, or it could not as it is now.
        """
        await self._owned.wait()
        self._check_open()
        stamp = await self._stamp()
        is_due = self._is_due() or (anew and (self.is_remote or self._error is not None))
        if stamp != self._read_stamp or is_due:
            await self._read_once(stamp)
        if self._error is not None:
            raise renewed(self._error)
        if self._last is None:  # its owner ended meanwhile
            raise self._closed()
        return self._last

    def _is_due(self) -> bool:
        """Whether it was never read, or could not be and may be by now."""
        if self._error is None:
            return self._last is None
        return self.is_remote and anyio.current_time() - self._failed_at >= self._backoff.seconds

    async def _read_once(self, stamp: object) -> None:
        """Wait until it was read as it is now."""
        while self._reading and self._reading_stamp != stamp:
            await self._reading.wait()
        self._check_open()
        if self._reading is None:
            self._reading, self._reading_stamp = Shared(), stamp
            self._tasks.start_soon(self._do_read, self._reading)
        await self._reading.wait()
        self._check_open()

    def _check_open(self) -> None:
        if self.state == "closed":
            raise self._closed()

    def _closed(self) -> SourceFailed:
        return SourceFailed(self.name, CLOSED, "Run the workflow again.")

    async def _do_read(self, reading: Shared[bool]) -> None:
        started = anyio.current_time()
        try:
            value = await self._read()
            self._use(value, anyio.current_time() - started)
        except SourceFailed as error:
            self._failed(error)
        except Exception as fault:
            # A fault of ours in one source must not end its owner, and with it those who wait.
            logger.exception("Reading the source %r failed unexpectedly", self.name)
            problem = f"it cannot be read: {type(fault).__name__}: {fault}."
            self._failed(SourceFailed(self.name, problem, "Please report this."))
        finally:
            self._read_stamp, self._reading = self._reading_stamp, None
            reading.settle(True)

    def _use(self, value: T, seconds: float) -> None:
        self._seconds, self._error = seconds, None
        self._backoff.reset()
        self.state = "ready"
        before = self._last
        if before is not None and before.value is value:
            return  # it says that it has not changed
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

    def _notice(self, event: InventoryChanged | SourceConnected | SourceUnreachable) -> None:
        if self._observer is not None:
            self._observer.notice(event)


def file_stamp(file: str) -> object:
    """What changes when somebody saves the file; None where there is none. The disk may hang."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
