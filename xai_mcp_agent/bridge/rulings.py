"""What rules and approvals say of an agent's calls, before any is made: a dry run."""

from __future__ import annotations

from collections.abc import Iterable

import anyio.to_thread

from ..core.invocation import Caller
from ..core.tools import JsonObject, Tool
from ..policy.rules.rulebook import reason
from ..policy.rules.ruled import RuledTool
from .engine import Engine
from .search import listed_tools


async def ruled_tools(
    engine: Engine, caller: Caller, name: str | None = None
) -> tuple[list[RuledTool], dict[str, str]]:
    """What is said of an agent's calls of a source's or a group's tools, or of all.

    And why some cannot be listed.
    """
    await engine.rules.look()
    choice = engine.choice([name]) if name else None
    entries, failed = await listed_tools(engine, choice)
    tools = [x.require() for x in entries.values()]
    return await anyio.to_thread.run_sync(lambda: [*_ruled(engine, caller, tools)]), failed


async def ruled_call(
    engine: Engine, caller: Caller, tool: Tool, arguments: JsonObject | None
) -> RuledTool:
    """What is said of one call; without arguments, of any call of that tool."""
    await engine.rules.look()
    return await anyio.to_thread.run_sync(lambda: _ruled_one(engine, caller, tool, arguments))


def _ruled(engine: Engine, caller: Caller, tools: Iterable[Tool]) -> Iterable[RuledTool]:
    return (_ruled_one(engine, caller, x, None) for x in tools)


def _ruled_one(
    engine: Engine, caller: Caller, tool: Tool, arguments: JsonObject | None
) -> RuledTool:
    ruling = engine.rules.book.ruling(engine.rules.facts(tool, caller, arguments))
    if ruling.word == "deny":
        return RuledTool(tool, ruling, "deny", reason(ruling))
    verdict = engine.approvals.verdict(tool, caller, ruling)
    return RuledTool(tool, ruling, verdict.word, verdict.reason)
