"""Nodes that query the history: what goes out on their ports.

If the history cannot be used, the text says so and the workflow goes on.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..console.text import count
from ..core.errors import BadSetting, StoreFailed, UnknownServer
from ..history.event import Event
from ..history.records import Records
from ..views.changes import change_json
from ..views.history import event_json, events_text
from ..views.servers import refreshed_text
from ..views.times import BadTime, moment, now
from ..views.tools import records_json, records_text, tool_json
from .at_node import at_node

_HISTORY, _REFRESH = "MCPToolHistory", "MCPRefreshTools"
_WIDTH = 80  # as the output panel of the lab has it
_USUAL_LIMIT = 100
_OLDER = "Older ones are left out: raise `limit`, or set `since` or `until`."


def tool_history(
    ctx: Any, server_name: str = "", tool_name: str = "", **ports: Any
) -> dict[str, Any]:
    """The newest events, oldest first; without a tool also how each tool is doing.

    Raises:
        BadSetting: `since` or `until` is no time.
        UnknownServer, UnknownTool: neither the settings nor the history have it.
    """
    chosen = _chosen(ports)
    named = {"server_name": server_name, "tool_name": tool_name, **ports}
    asked = {port: value for port, value in named.items() if value}

    async def read(operations: Operations) -> tuple[list[Event], bool, Records | None]:
        events = await _events(operations, server_name, tool_name, chosen)
        records = None if tool_name else await operations.records()
        return events, await _has_older(operations, server_name, tool_name, chosen, events), records

    with at_node(ctx, _HISTORY, "history", **asked) as work:
        try:
            events, has_older, records = work.wait(
                read, waiting_for="the history", summary=lambda x: count(len(x[0]), "event")
            )
        except StoreFailed as reason:
            work.answer["trouble"] = str(reason)
            return {"events": [], "text": str(reason), "tools": [], "status": str(reason)}
        work.answer["events"] = len(events)
        if records is not None:
            _require(work.bridge, records, server_name)
    text = events_text(events, _WIDTH)
    if has_older:
        text = f"{text}\n{count(len(events), 'event')}. {_OLDER}"
    only = server_name or None
    return {
        "events": [event_json(x) for x in events],
        "text": text,
        "tools": records_json(records, only)["tools"] if records else [],
        "status": records_text(records, _WIDTH, only) if records else "",
    }


async def _events(
    operations: Operations, server: str, tool: str, chosen: dict[str, Any]
) -> list[Event]:
    try:
        return await operations.history(server or None, tool or None, **chosen)
    except UnknownServer:
        if server in operations.settings.sources:
            return []  # it was not used yet
        raise


async def _has_older(
    operations: Operations, server: str, tool: str, chosen: dict[str, Any], events: list[Event]
) -> bool:
    if not events:
        return False
    before = {**chosen, "until": events[0].position - 1, "limit": 1}
    return bool(await _events(operations, server, tool, before))


def refresh_tools(ctx: Any, server_name: str = "", force: bool = False) -> dict[str, Any]:
    """The tools of one server or of all, listed anew, and what changed in them.

    The text names a server that cannot be listed.

    Raises:
        UnknownServer, SettingsError: a name that cannot be used.
    """
    server, label = server_name, server_name or "servers"
    with at_node(ctx, _REFRESH, label, server=server, force=force) as work:
        if server:
            work.bridge.settings.source(server)
        names = [server] if server else work.bridge.usable_servers()
        lists = work.wait(
            lambda operations: operations.refresh(*names, force=force),
            waiting_for=f"the tools of {server or 'all servers'}",
            summary=lambda x: count(sum(len(one.tools) for one in x), "tool"),
        )
        total, failed = sum(len(x.tools) for x in lists), [x.server for x in lists if x.error]
        work.answer.update(tools=total, failed=failed)
    return {
        "tools": [{"server": x.server, **tool_json(tool)} for x in lists for tool in x.tools],
        "changes": [change_json(change) for x in lists for change in x.changes or ()],
        "text": "\n".join(refreshed_text(x, _WIDTH) for x in lists),
    }


def _require(bridge: Bridge, records: Records, server: str) -> None:
    """Refuse a name that nobody knows; the settings say which they do."""
    if server and all(x.shown_source != server for x in (*records.sources, *records.tools)):
        bridge.settings.source(server)


def _chosen(ports: dict[str, Any]) -> dict[str, Any]:
    return {
        "since": _moment(ports, "since"),
        "until": _moment(ports, "until"),
        "failed": bool(ports.get("failed")),
        "agent": ports.get("agent_name") or None,
        "text": ports.get("text_in_it") or "",
        "limit": ports.get("limit") or _USUAL_LIMIT,
    }


def _moment(ports: dict[str, Any], port: str) -> datetime | None:
    text = ports.get(port)
    try:
        return moment(text, now(), is_end=port == "until") if text else None
    except BadTime as reason:
        raise BadSetting(f"{_HISTORY}: {port}: {reason}") from reason
