"""A file of Python functions as a source: imported when asked for, and again when it changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import anyio
from anyio.abc import TaskGroup

from ...core.errors import SourceFailed, ToolTimeout, UnknownTool
from ...core.events import (
    Inventory,
    InventoryChanged,
    Observer,
    SourceConnected,
    SourceLost,
    SourceState,
    SourceStatus,
    SourceUnreachable,
)
from ...core.invocation import PROGRAM, Caller, ToolInvocation
from ...core.kinds import FUNCTIONS
from ...core.limits import left_of
from ...core.results import ToolResult
from ...settings.functions import FunctionSettings
from .file import FunctionFile, read_functions
from .threads import Threads, TooManyLeft

_CLOSED = "it was closed."


class _Import:
    """One import of the file, as it was with this stamp."""

    def __init__(self, stamp: object) -> None:
        self.stamp = stamp
        self.done = anyio.Event()


class FunctionSource:
    """A `Source` over one file. Its code runs in threads, never on the event loop."""

    _tasks: TaskGroup  # of the owner

    def __init__(self, settings: FunctionSettings, mask: Callable[[str], str]) -> None:
        self._settings = settings
        self._mask = mask
        self._threads = Threads(f"functions {settings.name}")
        self._state: SourceState = "idle"
        self._observer: Observer | None = None
        self._owned, self._stopping = anyio.Event(), anyio.Event()
        self._import: _Import | None = None  # that is going on
        self._stamp: object = None  # of the file as it was imported last, or could not be
        self._file: FunctionFile | None = None
        self._error: SourceFailed | None = None
        self._seconds: float | None = None

    @property
    def name(self) -> str:
        """Its name in the settings."""
        return self._settings.name

    @property
    def state(self) -> SourceState:
        """What it is doing now."""
        return self._state

    def status(self) -> SourceStatus:
        """How it is doing now."""
        found, error = self._file, self._error
        return SourceStatus(
            name=self.name,
            kind=FUNCTIONS.name,
            state=self._state,
            transport=self._settings.transport,
            server=os.path.basename(self._settings.file),
            tool_count=len(found.functions) if found else None,
            connect_seconds=self._seconds,
            error=error.problem if error else "",
            next_step=error.next_step if error else "",
            notes=found.notes if found else (),
        )

    async def own(self, observer: Observer) -> None:
        """Import the file, and stay until stopped. Run by exactly one task."""
        self._observer, self._state = observer, "connecting"
        try:
            async with anyio.create_task_group() as self._tasks:
                self._owned.set()
                self._tasks.start_soon(self._import_first)
                await self._stopping.wait()
                self._tasks.cancel_scope.cancel()
        finally:
            self._state = "closed"
            if self._file is not None:
                self._file.forget()
                observer.notice(SourceLost(self.name, _CLOSED, on_purpose=True))

    def stop(self) -> None:
        """Ask the owner task to end. Functions that still run are left."""
        self._stopping.set()

    async def ready(self, caller: Caller = PROGRAM) -> Inventory:
        """What the file offers now; see `Source.ready`.

        A file that has changed and cannot be imported is told of in the status; what it offered
        before goes on.
        """
        try:
            return await self._current()
        except SourceFailed:
            if self._file is None or self._state == "closed":
                raise
        return self._inventory(self._file)

    async def refresh(self, caller: Caller = PROGRAM) -> Inventory:
        """As `ready`, but a file that cannot be imported is an error, and it is listed anew."""
        before = self._file
        inventory = await self._current(once_more=True)
        if self._file is before:
            self._notice(InventoryChanged(self.name, inventory))
        return inventory

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one function in a thread; see `Source.call`. Nobody is told of progress.

        Raises:
            InvalidArguments: pydantic does not take them for the function's types.
            UnknownTool: the file does not have it any more.
        """
        started, name = anyio.current_time(), invocation.tool.name
        limit = invocation.timeout_seconds or self._settings.call_timeout_seconds
        await self._ready_within(limit)
        function = self._file.functions.get(name) if self._file else None
        if function is None:
            raise UnknownTool(f"{self.name} has no function {name!r} any more.")
        if invocation.check is not None:
            invocation.check()
        left = left_of(limit, anyio.current_time() - started)
        try:
            result = await self._threads.run(partial(function.call, invocation.arguments), left)
        except TimeoutError as cause:
            raise ToolTimeout(
                self.name,
                f"the function {name} did not end within {limit:g} s. It goes on in the "
                "background: a function cannot be stopped.",
                "Give it more time with `timeout`, or have it do less.",
            ) from cause
        except TooManyLeft as cause:
            raise self._too_many() from cause
        # What it raised may quote the environment; what it gave back is for the model.
        return (
            ToolResult.of_text(self._mask(result.text), is_error=True)
            if result.is_error
            else result
        )

    def features(self, caller: Caller) -> None:
        """Functions are all that a file offers."""

    async def _ready_within(self, seconds: float) -> None:
        try:
            with anyio.fail_after(seconds):
                await self.ready()
        except TimeoutError as cause:
            raise SourceFailed(
                self.name,
                f"it was not imported within {seconds:g} s.",
                "Give the call more time, or connect it before calling.",
            ) from cause

    async def _import_first(self) -> None:
        with suppress(SourceFailed):  # whoever needs it is told
            await self._current()

    async def _current(self, *, once_more: bool = False) -> Inventory:
        """What the file offers as it is now. `once_more`: try again what could not be imported.

        Raises:
            SourceFailed: it cannot be imported, or it could not as it is now.
        """
        await self._owned.wait()
        self._check_open()
        stamp = await self._stamp_now()
        if stamp != self._stamp or self._file is None or (once_more and self._error):
            await self._imported(stamp)
        if self._error is not None:
            raise _again(self._error)
        assert self._file is not None
        return self._inventory(self._file)

    async def _imported(self, stamp: object) -> None:
        """Wait until the file was imported as it is now. It belongs to nobody who waits."""
        while self._import and self._import.stamp != stamp:
            await self._import.done.wait()
        self._check_open()
        if self._import is None:
            self._import = _Import(stamp)
            self._tasks.start_soon(self._do_import, self._import)
        await self._import.done.wait()
        self._check_open()

    def _check_open(self) -> None:
        if self._state == "closed":
            raise SourceFailed(self.name, _CLOSED, "Run the workflow again.")

    async def _stamp_now(self) -> object:
        """In a thread, as the import: the file's disk may hang."""
        file, limit = self._settings.file, self._settings.start_timeout_seconds
        try:
            return await self._threads.run(partial(_stamp, file), limit)
        except TimeoutError as cause:
            problem = f"looking whether {file} has changed did not end within {limit:g} s."
            raise SourceFailed(self.name, problem, "Look whether its disk answers.") from cause
        except TooManyLeft as cause:
            raise self._too_many() from cause

    async def _do_import(self, job: _Import) -> None:
        started = anyio.current_time()
        limit = self._settings.start_timeout_seconds
        was_connected = self._file is not None
        try:
            read = partial(read_functions, self._settings)
            found = await self._threads.run(read, limit)
        except TimeoutError:
            problem = f"importing {self._settings.file} did not end within {limit:g} s."
            fix = "Look for what takes so long at the top of the file, or raise `startTimeout`."
            self._failed(SourceFailed(self.name, problem, fix))
        except TooManyLeft:
            self._failed(self._too_many())
        except SourceFailed as error:
            self._failed(error)
        else:
            self._use(replace(found, notes=tuple(map(self._mask, found.notes))))
            self._seconds, self._error = anyio.current_time() - started, None
            self._state = "ready"
            if not was_connected:
                self._notice(SourceConnected(self.name, self._settings.transport, "", FUNCTIONS))
            self._notice(InventoryChanged(self.name, self._inventory(found)))
        finally:
            self._stamp, self._import = job.stamp, None
            job.done.set()

    def _use(self, found: FunctionFile | None) -> None:
        if self._file is not None:
            self._file.forget()
        self._file = found

    def _failed(self, error: SourceFailed) -> None:
        self._error = SourceFailed(self.name, self._mask(error.problem), error.next_step)
        if self._file is None:
            self._state = "failed"
        self._notice(SourceUnreachable(self.name, self._error.problem, FUNCTIONS))

    def _too_many(self) -> SourceFailed:
        return SourceFailed(
            self.name,
            "too many of its functions are still running, though nobody waits for them any more.",
            "Mend what does not end, then run the workflow again in a new process.",
        )

    def _inventory(self, found: FunctionFile) -> Inventory:
        tools = tuple(x.tool for x in found.functions.values())
        return Inventory(self.name, tools, notes=found.notes, disabled=found.disabled)

    def _notice(self, event: InventoryChanged | SourceConnected | SourceUnreachable) -> None:
        if self._observer is not None:
            self._observer.notice(event)


def _stamp(file: str) -> object:
    """What changes when somebody saves the file; None without any."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _again(error: SourceFailed) -> SourceFailed:
    """The same anew: a raised exception collects the tracebacks of its travels."""
    return SourceFailed(error.source, error.problem, error.next_step)
