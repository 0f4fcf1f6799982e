"""Calls of Python functions: in threads, within their limits, with progress, and stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from functools import partial

import anyio

from ...core.calls import ToolInvocation, left_of
from ...core.errors import InvalidArguments, SourceFailed, ToolTimeout, UnknownTool
from ...core.results import ToolResult
from ...core.schemas import signature
from ...secrets.redactor import redact_beginning
from ...settings.entry import SourceSettings
from ..progress import ProgressListener
from ..threads import Threads, TooManyLeft
from .context import RunningCall
from .function import Function

_PAUSE_SECONDS = 0.05  # between two tellings of progress: nobody reads faster
# Of what a function raised: no model reads more of it, and looking for secrets takes time.
_MAX_ERROR_CHARS = 10_000


class FunctionCalls:
    """Makes the calls of one source's functions. What one raises is told without secrets."""

    def __init__(self, settings: SourceSettings, mask: Callable[[str], str]) -> None:
        self._settings = settings
        self._mask = mask
        self.threads = Threads(f"functions {settings.name}")

    async def call(
        self,
        invocation: ToolInvocation,
        ready: Callable[[float], Awaitable[Mapping[str, Function]]],
    ) -> ToolResult:
        """Call a function in a thread; see `Source.call`. `ready` gives those that exist now.

        Once nobody waits, a coroutine is cancelled; other functions see it in their context.

        Raises:
            InvalidArguments: pydantic does not take them for the function's types.
            UnknownTool: the source does not have it any more.
            ToolTimeout: it did not end in time.
            SourceFailed: too many of those that nobody waits for are still running.
        """
        started, name = anyio.current_time(), invocation.tool.name
        limit = invocation.timeout_seconds or self._settings.call_timeout_seconds
        function = (await ready(limit)).get(name)
        if function is None:
            raise UnknownTool(f"{self._settings.name} has no function {name!r} any more.")
        if invocation.check is not None:
            invocation.check()
        left = left_of(limit, anyio.current_time() - started)
        return await self._run(function, invocation, limit, left)

    async def _run(
        self, function: Function, invocation: ToolInvocation, limit: float, left: float
    ) -> ToolResult:
        running = _Watched()
        notes: list[str] = []
        listener = invocation.on_progress and ProgressListener(invocation.on_progress, notes)
        try:
            result = await self.threads.run(
                partial(function.call, invocation.arguments, running.call),
                left,
                partial(running.watch, listener),
            )
        except TimeoutError as cause:
            raise self._too_slow(function, limit) from cause
        except TooManyLeft as cause:
            raise self.too_many() from cause
        except InvalidArguments as wrong:
            problems = [self._told(x) for x in wrong.problems]
            expected = signature(function.tool.input_schema)
            raise InvalidArguments(function.tool.name, problems, expected) from None
        finally:
            running.call.end()
        # What it raised may quote the environment; what it gave back is for the model.
        if result.is_error:
            result = ToolResult.of_text(self._told(result.text), is_error=True)
        return replace(result, notes=(*result.notes, *notes)) if notes else result

    def _told(self, text: str) -> str:
        """What a person's code says, without secrets, and not too long."""
        shown = redact_beginning(text, self._mask, _MAX_ERROR_CHARS)
        is_cut = len(text) > _MAX_ERROR_CHARS + len(shown)
        return f"{shown}... (the rest is left out)" if is_cut else shown

    def too_many(self) -> SourceFailed:
        """That nothing more is begun, and why."""
        return SourceFailed(
            self._settings.name,
            "too many of its functions are still running, though nobody waits for them any more.",
            "Mend what does not end, then run the workflow again in a new process.",
        )

    def _too_slow(self, function: Function, limit: float) -> ToolTimeout:
        rest = "It was told to stop."
        if not function.can_stop:
            rest = (
                "It goes on in the background: a function without a ToolContext cannot be stopped."
            )
        return ToolTimeout(
            self._settings.name,
            f"the function {function.tool.name} did not end within {limit:g} s. {rest}",
            "Give it more time with `timeout`, or have it do less.",
            is_of_tool=True,
        )


class _Watched:
    """A call, and the loop on which somebody waits for it and for its progress."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._told_at = -_PAUSE_SECONDS
        self.call = RunningCall(self._wake)

    async def watch(
        self, listener: ProgressListener | None, future: Future[ToolResult]
    ) -> ToolResult:
        """Wait for the result, and tell the listener how far the call is meanwhile."""
        waiting = asyncio.wrap_future(future)
        waiting.add_done_callback(lambda _: self._news.set())
        try:
            while not waiting.done():
                await self._news.wait()
                self._news.clear()
                await self._tell(listener)
            await self._tell(listener)
            return await waiting
        finally:
            waiting.cancel()

    async def _tell(self, listener: ProgressListener | None) -> None:
        step = self.call.take()
        if step is not None and listener is not None:
            self._told_at = self._loop.time()
            await listener.tell(*step)

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(self._soon)

    def _soon(self) -> None:
        self._loop.call_at(self._told_at + _PAUSE_SECONDS, self._news.set)
