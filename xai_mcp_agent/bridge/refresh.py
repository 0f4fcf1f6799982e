"""Lists the tools of servers again, and compares them with the last listing."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ..catalog.entry import CatalogEntry, Refreshed
from ..core.errors import StoreFailed, XaiMcpError
from ..core.tools import Tool
from .engine import Engine
from .history import answer, refresh

if TYPE_CHECKING:
    from ..history.diff.changes import ToolChanged
    from ..history.store import Store


async def refreshed(
    engine: Engine, servers: Iterable[str], *, force: bool = False
) -> list[Refreshed]:
    """List these anew, all at once; those that cannot be say why, and the others go on.

    With `force` every tool is written into the history, though nothing may have changed.
    """
    names = list(servers)
    found: dict[str, Refreshed] = {}

    async def one(name: str) -> None:
        found[name] = await _refreshed(engine, name, force)

    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(one, name)
    return [found[x] for x in names]


async def _refreshed(engine: Engine, server: str, force: bool) -> Refreshed:
    try:
        position, before = await answer(engine, partial(_last_listed, server))
        trouble = ""
    except StoreFailed as reason:
        position, before, trouble = 0, None, str(reason)
    try:
        tools = await _listed(engine, server, force)
    except XaiMcpError as reason:
        return Refreshed(server, before=before, error=str(reason), trouble=trouble)
    changes = None
    if not trouble:
        try:
            changes = tuple(await answer(engine, partial(_changed, server, position)))
        except StoreFailed as reason:
            trouble = str(reason)
    return Refreshed(server, tuple(tools), before, changes, trouble=trouble)


async def _listed(engine: Engine, server: str, force: bool) -> list[CatalogEntry]:
    """Its tools, listed right now; one that is connected just for this is not listed twice."""
    engine.breakers.reset(server)  # a person asks for it
    was_ready = engine.pool.start(server).state == "ready"
    await engine.list_tools(server)
    if was_ready or force:
        await refresh(engine, server, force)
    return await marked_tools(engine, server)


async def marked_tools(engine: Engine, server: str) -> list[CatalogEntry]:
    """The server's tools, connecting it first if needed."""
    tools = await engine.list_tools(server)
    await engine.decisions.read()
    await engine.catalog.digest_all(tools)
    return [marked_tool(engine, x) for x in tools]


def marked_tool(engine: Engine, tool: Tool) -> CatalogEntry:
    """The tool with what was decided about it, as far as that was read."""
    pin = engine.pin_of(tool.source, engine.caller)
    return engine.decisions.marked(engine.catalog.entry_of(tool), pin)


# These run in the thread that owns the store, and load SQLAlchemy there.


def _last_listed(server: str, store: Store) -> tuple[int, datetime | None]:
    """The newest position, and when the server was listed last."""
    from ..history.queries import last_listed

    return last_listed(store, server)


def _changed(server: str, position: int, store: Store) -> list[ToolChanged]:
    from ..history.queries import When, changes_between

    return changes_between(store, server, None, When(position=position), When())
