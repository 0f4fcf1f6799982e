"""Tools drawn on the canvas, as a toolset: their nodes run in the workflow's thread."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from ..agent.toolsets import Toolset
from ..core.errors import DefinitionChanged, XaiMcpError
from ..core.invocation import ToolInvocation
from ..core.results import ToolResult
from ..core.tools import JsonObject, Tool
from ..sources.canvas import DrawnTool, drawn_tools

RunDrawn: TypeAlias = Callable[[DrawnTool, JsonObject], Awaitable[ToolResult]]
"""Runs a drawn tool in the thread of its workflow."""

_TOOLBELT = "toolbelt_"


def drawn_in(ctx: Mapping[str, Any]) -> list[Tool]:
    """All tools that were drawn so far, of all toolbelts; the last one of a name counts."""
    # Copied first: agents in other threads write into the same `ctx`.
    belts = [x for name, x in list(ctx.items()) if str(name).startswith(_TOOLBELT)]
    drawn: dict[str, Any] = {}
    for belt in belts:
        if isinstance(belt, Mapping):  # else it is something of a person's
            drawn |= cast(Mapping[str, Any], belt)
    usable = {n: x for n, x in drawn.items() if isinstance(x, DrawnTool) or callable(x)}
    return [x.tool() for x in drawn_tools(usable).values()]


class DrawnToolset(Toolset):
    """The drawn tools of one agent."""

    def __init__(self, drawn: Mapping[str, DrawnTool], run: RunDrawn) -> None:
        self._drawn = drawn
        self._run = run
        self._tools = tuple(x.tool() for x in drawn.values())

    async def tools(self) -> Sequence[Tool]:
        """All of them."""
        return self._tools

    def known(self) -> Sequence[Tool]:
        """All of them."""
        return self._tools

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Run the nodes of one of them."""
        name = invocation.tool.name
        try:
            return await self._run(self._drawn[name], invocation.arguments)
        except DefinitionChanged:  # of a tool that its nodes call
            raise
        except Exception as cause:
            # Whatever a person's nodes raise, the model should read it and the run go on.
            raise XaiMcpError(_failure(name, cause)) from cause


def _failure(name: str, cause: Exception) -> str:
    frames = traceback.extract_tb(cause.__traceback__)
    where = f" (in {frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    return f"The drawn tool {name!r} failed: {type(cause).__name__}: {cause}{where}"
