"""What was decided about the tools that a server lists, for whoever reads the list."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.tools import Tool
from ..engine import Engine


@dataclass(frozen=True, slots=True)
class MarkedTool:
    """A tool; whether agents may use it, and whether another definition of it was accepted."""

    tool: Tool
    is_enabled: bool = True
    is_changed: bool = False

    @property
    def marks(self) -> str:
        """The same in words."""
        return marks_text(is_enabled=self.is_enabled, is_changed=self.is_changed)


def marks_text(*, is_enabled: bool, is_changed: bool) -> str:
    """What was decided about a tool; nothing where it is as usual."""
    said = ("" if is_enabled else "switched off", "changed since it was accepted" * is_changed)
    return ", ".join(x for x in said if x)


async def marked_tools(engine: Engine, server: str) -> list[MarkedTool]:
    """The server's tools, connecting it first if needed."""
    tools, choices = await engine.list_tools(server), engine.choices
    await choices.read([server])
    return [MarkedTool(x, choices.is_enabled(x.key), choices.is_changed(x)) for x in tools]
