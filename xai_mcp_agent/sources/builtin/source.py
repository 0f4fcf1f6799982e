"""Built-in tools as a source: the tools that an entry names, called like Python functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import anyio.to_thread

from ...core.calls import ToolInvocation
from ...core.events import Inventory
from ...core.patterns import guard
from ...core.results import ToolResult
from ...core.tools import BUILTIN, ToolAnnotations, ToolKey
from ...settings.entry import SourceSettings
from ...settings.server import ServerSettings
from ...settings.sources import BuiltinSettings, FunctionSettings, WorkflowSettings
from ..functions.function import Function, FunctionCalls
from ..reading import ReadSource
from .calculator import calculate
from .clock import current_time
from .workspace import Workspace

_LOOKS = ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
_WRITES = ToolAnnotations(read_only=False, destructive=True, idempotent=True, open_world=False)


class BuiltinSource(ReadSource[Mapping[str, Function]]):
    """A `Source` of built-in tools. They run in threads, because a disk may hang."""

    kind = BUILTIN

    def __init__(
        self,
        settings: BuiltinSettings,
        mask: Callable[[str], str],
        entries: Mapping[str, SourceSettings],
    ) -> None:
        super().__init__(settings, mask)
        self._settings = settings
        self._entries = entries
        self._calls = FunctionCalls(settings, mask)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call a tool; see `Source.call`."""
        return await self._calls.call(invocation, self._ready_within)

    async def _read(self) -> Mapping[str, Function]:
        # In a thread: it imports modules and makes schemas.
        return await anyio.to_thread.run_sync(_functions, self._settings, self._entries)

    def _inventory_of(self, value: Mapping[str, Function]) -> Inventory:
        disabled = tuple(x for x in self._settings.tools if x not in value)
        return Inventory(self.name, tuple(x.tool for x in value.values()), disabled=disabled)


def started_files(entries: Iterable[SourceSettings]) -> Iterator[Path]:
    """Yield the files of programs, functions and workflows that entries start."""
    for entry in entries:
        match entry:
            case ServerSettings(command=command, args=args, cwd=cwd):
                yield from _files_of_command((command, *args), cwd)
            case FunctionSettings(module=module, folder=folder) if module:
                yield from _files_of_module(module, folder)
            case FunctionSettings(file=file) | WorkflowSettings(file=file):
                yield Path(file)
            case _:
                pass


def _files_of_command(words: Sequence[str], cwd: str) -> Iterator[Path]:
    for before, word in pairwise(("", *words)):
        if before == "-m" and word:  # of Python, which looks in the working folder first
            yield from _files_of_module(word, cwd)
        path = os.path.join(cwd, os.path.expanduser(word.rpartition("=")[2]))  # `--file=server.py`
        # A script that does not exist yet would be started, too.
        if os.path.isfile(path) or (os.path.splitext(path)[1] and not os.path.exists(path)):
            yield Path(path)


def _files_of_module(module: str, folder: str) -> Iterator[Path]:
    package = Path(folder, *module.split("."))
    yield from (package, package.with_suffix(".py"))


def _functions(
    settings: BuiltinSettings, entries: Mapping[str, SourceSettings]
) -> Mapping[str, Function]:
    files = Workspace(settings.workspace, started_files(entries.values()))
    is_off = guard(*settings.disabled_tools)
    runs: Mapping[str, Callable[..., object]] = {
        "current_time": current_time,
        "calculate": calculate,
        "list_files": files.list_files,
        "read_file": files.read_file,
        "write_file": files.write_file,
    }
    return {
        name: Function.of(
            ToolKey(BUILTIN.name, settings.name, name),
            "",
            runs[name],
            _WRITES if name == "write_file" else _LOOKS,
        )
        for name in settings.tools
        if not is_off(name)
    }
