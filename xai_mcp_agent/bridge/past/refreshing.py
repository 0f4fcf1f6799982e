"""Listing the tools of servers anew, and what has changed since they were listed last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ...core.errors import StoreFailed, XaiMcpError
from ...core.tools import JsonObject
from ..deciding.marks import MarkedTool, marked_tools
from ..engine import Engine
from ..screen.values import count
from .asking import answer, refresh
from .times import time_text

if TYPE_CHECKING:
    from ...catalog.comparing.compared import ToolChanged
    from ...history.store import Store


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What came of one server. `error` is empty if it was listed.

    `before` is when it was listed last; None if it never was. `changes` is None if the history
    cannot tell, and `trouble` says why.
    """

    server: str
    tools: tuple[MarkedTool, ...] = ()
    before: datetime | None = None
    changes: tuple[ToolChanged, ...] | None = None
    error: str = ""
    trouble: str = ""

    def as_json(self) -> JsonObject:
        """For programs."""
        changes = None if self.changes is None else [x.as_json() for x in self.changes]
        return {
            "server": self.server,
            "tools": [x.tool.name for x in self.tools],
            "before": self.before and self.before.isoformat(),
            "changes": changes,
            "error": self.error,
            "trouble": self.trouble,
        }


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


def headline(one: Refreshed) -> str:
    """What came of a server, in a line; the changes themselves are told below it."""
    if one.error:
        return one.error
    tools = count(len(one.tools), "tool")
    if one.changes is None:
        return f"{one.server}: {tools}. What changed is not known: {one.trouble}"
    if one.before is None:
        return f"{one.server}: {tools}, listed for the first time"
    what = "these changed" if one.changes else "nothing changed"
    return f"{one.server}: {tools}; {what} since {time_text(one.before)}"


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


async def _listed(engine: Engine, server: str, force: bool) -> list[MarkedTool]:
    """Its tools, listed right now; one that is connected just for this is not listed twice."""
    was_ready = engine.pool.start(server).state == "ready"
    await engine.list_tools(server)
    if was_ready or force:
        await refresh(engine, server, force)
    return await marked_tools(engine, server)


# These run in the thread that owns the store, and load SQLAlchemy there.


def _last_listed(server: str, store: Store) -> tuple[int, datetime | None]:
    """The newest position, and when the server was listed last."""
    from ...catalog.asking.past import When, records_at
    from ...history import log

    with store.reading() as connection:
        position = log.last_position(connection, store.project_id)
    sources = records_at(store, When()).sources.values()
    return position, next((x.last_sync for x in sources if x.name == server), None)


def _changed(server: str, position: int, store: Store) -> list[ToolChanged]:
    from ...catalog.asking.named import changes_between
    from ...catalog.asking.past import When

    return changes_between(store, server, None, When(position=position), When())
