"""Python functions as a source: imported on first use, and again when their file changes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ...core.calls import ToolInvocation
from ...core.errors import SourceFailed
from ...core.events import Inventory
from ...core.results import ToolResult
from ...core.tools import FUNCTIONS, ToolKey
from ...settings.sources import FunctionSettings
from ..choice import choose
from ..reading import ReadSource
from ..threads import run_in_thread
from .function import Function, FunctionCalls
from .modules import PRIVATE, import_functions, stamp_of

_FUNCTIONS = (FunctionType, BuiltinFunctionType, type(lru_cache(len)))


@dataclass(frozen=True)
class FunctionFile:
    """Functions of a file or a module. `notes` say which were omitted, and why."""

    functions: dict[str, Function]
    notes: tuple[str, ...]
    disabled: tuple[str, ...]
    module: str


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
        if value.module.startswith(PRIVATE):  # of a file; modules are everybody's
            sys.modules.pop(value.module, None)

    async def _stamp(self) -> object:
        stamp = partial(stamp_of, self._settings)
        return await self._stamp_in_time(stamp, self._settings.start_timeout_seconds)

    async def _read(self) -> FunctionFile:
        limit = self._settings.start_timeout_seconds
        try:
            read = partial(_read_functions, self._settings)
            return await run_in_thread(self.name, read, limit)
        except TimeoutError:
            problem = f"importing {self._settings.origin} did not end within {limit:g} s."
            fix = "Move what takes long out of the top of the file, or raise `startTimeout`."
            raise SourceFailed(self.name, problem, fix) from None


def _read_functions(settings: FunctionSettings) -> FunctionFile:
    """Import the functions and make tools of them. Blocks until the import is complete.

    Raises:
        SourceFailed: it cannot be read or imported; names the line and what to do.
    """
    module = import_functions(settings)
    file = getattr(module, "__file__", None) or ""
    public = dict(_public(module, settings.include))
    choice = choose(public, settings, "which is not one of its functions")
    notes = [*choice.notes]
    functions: dict[str, Function] = {}
    for name in choice.names:
        try:
            key = ToolKey(FUNCTIONS.name, settings.name, name)
            functions[name] = Function.of(key, file, public[name])
        except BaseException as cause:  # noqa: BLE001 - a person's types; the others can be used
            notes.append(
                f"{name} is left out because its types cannot be understood: {_first(cause)}"
            )
    return FunctionFile(functions, tuple(notes), choice.disabled, module.__name__)


def _public(
    module: ModuleType, include: Collection[str]
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the functions that a module defines itself, each under its first name.

    It also yields imported functions that `include` names.
    """
    visited: set[Any] = set()
    for name, value in vars(module).items():
        if name.startswith("_") or not isinstance(value, _FUNCTIONS):
            continue
        is_own = value.__module__ == module.__name__ and value not in visited
        visited.add(value)
        if is_own or name in include:
            yield name, value


def _first(cause: BaseException) -> str:
    return str(cause).strip().partition("\n")[0] or type(cause).__name__
