"""Python functions as a source: imported when asked for, and again when their file changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from ...core.calls import ToolInvocation
from ...core.errors import SourceFailed
from ...core.events import Inventory
from ...core.results import ToolResult
from ...core.tools import FUNCTIONS
from ...settings.sources import FunctionSettings
from ..reading import ReadSource
from ..threads import TooManyLeft
from .calling import FunctionCalls
from .file import FunctionFile, read_functions
from .function import Function
from .modules import stamp_of


class FunctionSource(ReadSource[FunctionFile]):
    """A `Source` over one file or module. Its code runs in threads, never on the event loop."""

    kind = FUNCTIONS

    def __init__(self, settings: FunctionSettings, mask: Callable[[str], str]) -> None:
        super().__init__(settings, mask)
        self._settings = settings
        self._calls = FunctionCalls(settings, mask)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one function; see `FunctionCalls.call`."""

        async def ready(seconds: float) -> Mapping[str, Function]:
            return (await self._ready_within(seconds)).functions

        return await self._calls.call(invocation, ready)

    def _title(self) -> str:
        return os.path.basename(self._settings.file) or self._settings.module

    def _inventory_of(self, value: FunctionFile) -> Inventory:
        tools = tuple(x.tool for x in value.functions.values())
        return Inventory(self.name, tools, notes=value.notes, disabled=value.disabled)

    def _close(self, value: FunctionFile) -> None:
        value.forget()

    async def _stamp(self) -> object:
        """In a thread, as the import: the file's disk may hang."""
        origin, limit = self._settings.origin, self._settings.start_timeout_seconds
        try:
            return await self._calls.threads.run(partial(stamp_of, self._settings), limit)
        except TimeoutError as cause:
            problem = f"looking whether {origin} has changed did not end within {limit:g} s."
            raise SourceFailed(self.name, problem, "Look whether its disk answers.") from cause
        except TooManyLeft as cause:
            raise self._calls.too_many() from cause

    async def _read(self) -> FunctionFile:
        limit = self._settings.start_timeout_seconds
        try:
            return await self._calls.threads.run(partial(read_functions, self._settings), limit)
        except TimeoutError:
            problem = f"importing {self._settings.origin} did not end within {limit:g} s."
            fix = "Look for what takes so long at the top of the file, or raise `startTimeout`."
            raise SourceFailed(self.name, problem, fix) from None
        except TooManyLeft:
            raise self._calls.too_many() from None
