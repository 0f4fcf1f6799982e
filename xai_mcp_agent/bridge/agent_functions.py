"""Python functions as tools of one agent: handed to it in the program, not found in a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..agent.toolsets import Toolset
from ..core.errors import BadSetting
from ..core.invocation import ToolInvocation
from ..core.kinds import STATIC
from ..core.results import ToolResult
from ..core.tools import Tool, ToolKey
from ..settings.sources import FunctionSettings
from ..sources.functions.calling import FunctionCalls
from ..sources.functions.function import Function

_NAME = "functions of the program"


class FunctionToolset(Toolset):
    """The functions, each called in a thread of its own, and given the usual limit.

    Raises:
        BadSetting: one of them can be no tool, or two have one name.
    """

    def __init__(self, functions: Sequence[Callable[..., Any]], mask: Callable[[str], str]) -> None:
        self._functions = _by_name(functions)
        self._tools = tuple(x.tool for x in self._functions.values())
        self._calls = FunctionCalls(FunctionSettings(name=_NAME), mask)

    async def tools(self) -> Sequence[Tool]:
        """All of them."""
        return self._tools

    def known(self) -> Sequence[Tool]:
        """All of them."""
        return self._tools

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one of them; see `FunctionCalls.call`."""

        async def ready(_: float) -> Mapping[str, Function]:
            return self._functions

        return await self._calls.call(invocation, ready)


def _by_name(functions: Sequence[Callable[..., Any]]) -> dict[str, Function]:
    found: dict[str, Function] = {}
    for run in functions:
        function = _function(run)
        if function.tool.name in found:
            raise BadSetting(
                f"Two functions of the agent are called {function.tool.name!r}. Rename one."
            )
        found[function.tool.name] = function
    return found


def _function(run: Callable[..., Any]) -> Function:
    name = getattr(run, "__name__", "")
    if not name.isidentifier():
        raise BadSetting(f"{run!r} has no name to call it by. Write it with `def`.")
    try:
        file = inspect.getsourcefile(inspect.unwrap(run)) or ""
        return Function.of(ToolKey(STATIC.name, "", name), file, run)
    except Exception as cause:
        # Pydantic and Python raise of every kind here: of annotations that a person wrote.
        raise BadSetting(f"The function {name!r} cannot be a tool: {cause}") from cause
