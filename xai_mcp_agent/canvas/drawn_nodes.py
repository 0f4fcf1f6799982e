"""The nodes of drawn tools, for what calls them without an agent: a plan that is carried out."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from ..bridge.context import OwnTools
from ..console.console import Console
from ..core.json import JsonObject
from ..core.results import ToolResult
from ..sources.canvas import DrawnTool, drawn_tools
from .agents import own_agents
from .drawn_tools import DrawnToolset, all_drawn
from .workflow_thread import WorkflowThread


class DrawnNodes:
    """Those of a toolbelt, or all that are drawn in a workflow. They run in its thread."""

    def __init__(self, ctx: Any, toolbelt: Mapping[str, Any] | None = None) -> None:
        self._ctx: Any = ctx
        self._drawn = all_drawn(ctx) if toolbelt is None else drawn_tools(toolbelt)

    @contextmanager
    def on(self, stage: WorkflowThread, console: Console) -> Generator[OwnTools]:
        """The tools for a run on this stage; at its end the workflow is let go of.

        What an error holds on to must not hold the workflow, whose servers close when its `ctx` is
        gone.
        """

        async def run(tool: DrawnTool, arguments: JsonObject) -> ToolResult:
            ctx = self._ctx

            def do() -> ToolResult:
                with own_agents(ctx):
                    return tool.call(ctx, arguments)

            return await stage.run(partial(console.aside, do))

        toolset = DrawnToolset(self._drawn, run)
        try:
            yield OwnTools(tuple(toolset.known()), toolset.call)
        finally:
            self._ctx, self._drawn = None, {}
