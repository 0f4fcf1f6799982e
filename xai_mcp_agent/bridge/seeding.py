"""The tools that are there from the start, which no source reports: drawn ones, and our own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from ..agent.memory import MEMORY_TOOLS
from ..agent.results import READ_RESULT
from ..catalog.keeping.memory import Memory
from ..core.kinds import META, STATIC
from ..core.tools import Tool
from ..sources.canvas import DrawnTool, drawn_tools

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


def seed_agent(memory: Memory, drawn: Iterable[Tool], *, remembers: bool) -> None:
    """Tell the memory of one agent's tools that are there from the start."""
    memory.seeded(STATIC, drawn)
    memory.seeded(META, (*(MEMORY_TOOLS if remembers else ()), READ_RESULT))
