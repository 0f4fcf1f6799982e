"""What a run tells those who learn from it: the tools that it used with success."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ..core.json import JsonObject
from ..core.results import ToolResult
from ..core.tools import Tool, ToolKey

Learn: TypeAlias = Callable[[ToolKey, Sequence[str]], None]
"""Remembers, for later searches, what was asked for when a tool was used. Returns at once."""


@dataclass(frozen=True, slots=True)
class UsedTool:
    """A call of a tool that went well."""

    tool: Tool
    arguments: JsonObject = field(repr=False)
    result: ToolResult = field(repr=False)


LearnRun: TypeAlias = Callable[[str, Sequence[Sequence[UsedTool]]], Awaitable[None]]
"""Learns from a run that went well: what was asked for, and the tools it used, turn by turn."""
