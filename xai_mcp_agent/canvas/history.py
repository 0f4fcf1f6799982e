"""Nodes that query the history: plain values and text out.

A history that cannot be used is told of, and the workflow goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..console.text import count
from ..core.errors import BadSetting, StoreFailed, UnknownServer
from ..core.json import JsonObject
from ..history.event import Event
from ..history.records import Records
from ..views.history import change_json, event_json, events_text
from ..views.servers import refreshed_text
from ..views.times import BadTime, moment, now
from ..views.tools import records_json, records_text, tool_json
from .ports import optional, whole
from .transcript import used
from .waits import ask

T = TypeVar("T")

_HISTORY, _STATUS, _REFRESH = "MCPToolHistory", "MCPToolStatus", "MCPRefreshTools"
_TITLE = "history"
_WIDTH = 80  # as the output panel of the lab has it
_USUAL_LIMIT = 100
_AWAITED = "the history"


def tool_history(ctx: Any, ports: Mapping[str, Any]) -> tuple[list[JsonObject], str]:
    """The newest events as dicts, oldest first, and as text to read. `ports` are the node's.

    Raises:
        BadSetting: `since` or `until` is no time, or another port has a value of the wrong kind.
        UnknownServer, UnknownTool: neither the settings nor the history have it.
    """
    server = optional(ports["server_name"], "server_name", _HISTORY)
    tool = optional(ports["tool_name"], "tool_name", _HISTORY)
    chosen = _chosen(ports)
    given = {x: value for x, value in ports.items() if value is not None}
    with used(ctx, _HISTORY, **given) as (bridge, tell):

        async def do(operations: Operations) -> list[Event]:
            try:
                return await operations.history(server or None, tool or None, **chosen)
            except UnknownServer:
                if server in operations.settings.sources:
                    return []  # it was not used yet
                raise

        found, trouble = _asked(bridge, do, lambda x: count(len(x), "event"))
        tell(events=len(found or ()), trouble=trouble)
    if found is None:
        return [], trouble
    return [event_json(x) for x in found], events_text(found, _WIDTH)


def tool_status(ctx: Any, server: str | None) -> tuple[list[JsonObject], str]:
    """What is known of every tool there ever was, of one server or of all; connects nothing.

    Raises:
        BadSetting: the port has a value of the wrong kind.
        UnknownServer: neither the settings nor the history have it.
    """
    server = optional(server, "server_name", _STATUS)
    with used(ctx, _STATUS, server=server) as (bridge, tell):
        found, trouble = _asked(
            bridge,
            lambda operations: operations.records(),
            lambda x: count(len(records_json(x, server or None)["tools"]), "tool"),
        )
        if found is not None:
            _require(bridge, found, server)
        tell(trouble=trouble)
    if found is None:
        return [], trouble
    only = server or None
    return records_json(found, only)["tools"], records_text(found, _WIDTH, only)


def refresh_tools(
    ctx: Any, server: str | None, force: bool | None
) -> tuple[list[JsonObject], list[JsonObject], str]:
    """The tools of one server or of all, listed anew; what changed in them; both to read.

    A server that cannot be listed is told of in the text.

    Raises:
        BadSetting: a port has a value of the wrong kind.
        UnknownServer, SettingsError: a name that cannot be used.
    """
    server = optional(server, "server_name", _REFRESH)
    with used(ctx, _REFRESH, server=server, force=bool(force)) as (bridge, tell):
        if server:
            bridge.settings.source(server)
        names = [server] if server else bridge.usable_servers()
        found = ask(
            bridge, server or "servers",
            lambda operations: operations.refresh(*names, force=bool(force)),
            awaited=f"the tools of {server or 'all servers'}",
            tell=lambda x: count(sum(len(one.tools) for one in x), "tool"),
        )  # fmt: skip
        tell(tools=sum(len(x.tools) for x in found), failed=[x.server for x in found if x.error])
    tools = [{"server": x.server, **tool_json(tool)} for x in found for tool in x.tools]
    changes = [change_json(change) for x in found for change in x.changes or ()]
    return tools, changes, "\n".join(refreshed_text(x, _WIDTH) for x in found)


def _asked(
    bridge: Bridge, do: Callable[[Operations], Awaitable[T]], tell: Callable[[T], str]
) -> tuple[T | None, str]:
    """What the history says, or None and why it cannot."""

    async def answer(operations: Operations) -> tuple[T | None, str]:
        try:
            return await do(operations), ""
        except StoreFailed as reason:
            return None, str(reason)

    def told(found: tuple[T | None, str]) -> str:
        return found[1] if found[0] is None else tell(found[0])

    return ask(bridge, _TITLE, answer, awaited=_AWAITED, tell=told)


def _require(bridge: Bridge, records: Records, server: str) -> None:
    """Refuse a name that nobody knows; the settings say which they do."""
    if server and all(x.shown_source != server for x in (*records.sources, *records.tools)):
        bridge.settings.source(server)


def _chosen(ports: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "since": _moment(ports, "since"),
        "until": _moment(ports, "until"),
        "failed": bool(ports["failed"]),
        "agent": optional(ports["agent_name"], "agent_name", _HISTORY) or None,
        "text": optional(ports["text_in_it"], "text_in_it", _HISTORY),
        "limit": whole(ports["limit"], "limit", _HISTORY) or _USUAL_LIMIT,
    }


def _moment(ports: Mapping[str, Any], port: str) -> datetime | None:
    text = optional(ports[port], port, _HISTORY)
    try:
        return moment(text, now(), is_end=port == "until") if text else None
    except BadTime as reason:
        raise BadSetting(f"{_HISTORY}: {port}: {reason}") from reason
