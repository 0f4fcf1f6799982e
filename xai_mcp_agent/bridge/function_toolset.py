"""Python functions of the program as tools of an agent."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..agent.toolsets import Toolset
from ..core.calls import ToolInvocation
from ..core.errors import BadSetting
from ..core.results import ToolResult
from ..core.tools import STATIC, Tool, ToolKey
from ..settings.sources import FunctionSettings
from ..sources.functions.function import Function, FunctionCalls

_NAME = "functions of the program"


class FunctionToolset(Toolset):
    """Functions as tools: each call in a thread of its own, with the usual time limit.

    Raises:
        BadSetting: a function cannot be a tool, or two have the same name.
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
    by_name: dict[str, Function] = {}
    for run in functions:
        function = _function(run)
        if function.tool.name in by_name:
            raise BadSetting(
                f"Two functions of the agent are called {function.tool.name!r}. Rename one."
            )
        by_name[function.tool.name] = function
    return by_name


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
