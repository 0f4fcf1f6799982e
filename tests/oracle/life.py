"""The life of a server as `Bridge` and its history show it: every event, record and version.

The same life is played over stdio (2026-07-28) and over HTTP (2025-11-25). Calls have rows of their
own, because a call and the listing that it causes are recorded in either order.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.fault_http import FaultHttp, fault_http
from tests.support.fault_server import entry, tool
from tests.support.processes import pids_in, wait_until
from xai_mcp_agent import Bridge, Event, JsonObject, XaiMcpError

from .tables import Rows, error_facts, stable

_CALLS = ("called", "begun")
SET_TOOLS = {"name": "set_tools", "inputSchema": {"type": "object"}}

A, B, C = tool("a"), tool("b"), tool("c")
A2 = tool("a", description="better", inputSchema={
    "type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]
})  # fmt: skip


class OverStdio:
    """A server of 2026-07-28 that is a child of ours."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._journal = folder, folder / "journal"

    def offer(self, *tools: JsonObject) -> JsonObject:
        """Set its tools from the next start on; return its entry in a settings file."""
        return entry(
            self._folder / "options.json",
            era="modern", tools=[*tools, SET_TOOLS], journal=str(self._journal),
        )  # fmt: skip

    def lose(self, _bridge: Bridge, *tools: JsonObject) -> None:
        """End it like a crash; the bridge starts it again at once, with these tools."""
        self.offer(*tools)
        os.kill(pids_in(self._journal)[-1], signal.SIGKILL)


class OverHttp:
    """A server of 2025-11-25 that somebody else runs."""

    def __init__(self, peer: FaultHttp) -> None:
        self._peer = peer

    def offer(self, *tools: JsonObject) -> JsonObject:
        """Set its tools from the next request on; return its entry in a settings file."""
        self._peer.peer.tools = [*tools, SET_TOOLS]
        return self._peer.entry()

    def lose(self, bridge: Bridge, *tools: JsonObject) -> None:
        """End it like a crash; once the bridge notices, start it again with these tools."""
        wait_until(lambda: bool(self._peer.streams), "the standing stream is open")

        def failures() -> int:
            return [x.change for x in bridge.history()].count("failed")

        earlier = failures()
        self._peer.stop()
        wait_until(lambda: failures() > earlier, "the bridge has noticed it")
        self.offer(*tools)  # not before: it may be asked once more until it is gone
        self._peer.start()


class _Life:
    """A bridge, and the position up to which its history was read."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self._position = 0
        self._definitions: dict[str, str] = {}

    def since(self, *ends: tuple[str, str]) -> list[JsonObject]:
        """Wait for these changes of context ids, and return all new events."""

        def are_there() -> bool:
            new = {(x.change, x.context_id) for x in self.bridge.history()[self._position :]}
            return new.issuperset(ends)

        wait_until(are_there, f"{ends} in the history")
        events = self.bridge.history()
        new, self._position = events[self._position :], len(events)
        return list(self._facts(x for x in new if x.change not in _CALLS))

    def calls(self) -> list[JsonObject]:
        """Return all calls so far."""
        return [self._event(x) for x in self.bridge.history() if x.change in _CALLS]

    def _facts(self, events: Iterator[Event]) -> Iterator[JsonObject]:
        """Yield the facts of events; a repeated failure counts once."""
        last: JsonObject = {}
        for event in events:
            facts = self._event(event)
            if event.change != "failed" or last.get("change") != "failed":
                yield facts
            last = facts

    def _event(self, event: Event) -> JsonObject:
        links = {
            name: list(getattr(event.links, name))
            for name in ("extends", "related_to", "reinforces", "contradicts")
        }
        return stable({
            "context_id": event.context_id,
            "change": event.change,
            "kind": event.event_kind,
            "teller": event.source,
            "subject": f"{event.subject.kind.name}/{event.subject.source}/{event.subject.tool}",
            "payload": event.payload,
            "reason": event.reason,
            "definition": self.definition(event.definition),
            **{name: x for name, x in links.items() if x},
        })  # fmt: skip

    def definition(self, digest: str | None) -> str | None:
        """Return a name for a digest, the same for equal definitions."""
        if not digest:
            return digest
        return self._definitions.setdefault(digest, f"definition {len(self._definitions) + 1}")

    def records(self) -> JsonObject:
        """Return the records of every source and tool."""
        records = self.bridge.records()
        sources = (
            "name", "title", "transport", "tool_count", "is_connected", "reason", "last_error",
            "failures",
        )  # fmt: skip
        tools = ("name", "is_available", "reason", "is_enabled", "accepted", "is_held")
        usage = ("calls", "errors", "last_error", "unknown")
        return stable({
            **{x.context_id: _fields(y, sources) for x, y in records.sources.items()},
            **{
                x.context_id: {
                    **_fields(y, tools),
                    "accepted": self.definition(y.accepted),
                    "definition": self.definition(y.definition),
                    "usage": _fields(y.usage, usage),
                }
                for x, y in records.tools.items()
            },
        })  # fmt: skip


def record(folder: Path) -> Rows:
    """Play every life; the rows are its steps."""
    rows: Rows = {}
    rows |= _with_prefix("stdio", _life(OverStdio(folder)))
    with fault_http(era="legacy", sessions=True, standing=True) as peer:
        rows |= _with_prefix("http", _life(OverHttp(peer)))
    rows |= _with_prefix("decisions", _decisions(folder))
    return rows


def _life(peer: OverStdio | OverHttp) -> Rows:
    rows: Rows = {}
    server, a, b, c = "mcp:it", "mcp_tool:it_a", "mcp_tool:it_b", "mcp_tool:it_c"
    last = "mcp_tool:it_set_tools"
    with Bridge({"mcpServers": {"it": peer.offer(A, B)}}) as bridge:
        life = _Life(bridge)

        def offer(*tools: JsonObject) -> None:
            tools_now = [*tools, SET_TOOLS]
            bridge.call_tool("it", "set_tools", {"tools": tools_now, "only": True})

        bridge.list_tools("it")
        rows["01 connect"] = life.since(("discovered", last))
        rows["01 status"] = _status(bridge)
        offer(A2, B)
        rows["02 a tool is changed"] = life.since(("changed", a))
        offer(A2, B, C)
        rows["03 a tool is new"] = life.since(("discovered", c))
        offer(A2, C)
        rows["04 a tool is gone"] = life.since(("unavailable", b))
        offer(A2, B, C)
        rows["05 a tool is back"] = life.since(("returned", b))
        bridge.refresh("it")
        rows["06 refresh"] = life.since(("refreshed", server))
        bridge.refresh("it", force=True)
        rows["07 refresh by force"] = life.since(("confirmed", last))
        peer.lose(bridge, A2, B, C)
        _until_ready(bridge)
        rows["08 lost, and back with the same"] = life.since(("confirmed", last))
        peer.lose(bridge, A, C)
        _until_ready(bridge)
        rows["09 lost, and back with others"] = life.since(("confirmed", last), ("unavailable", b))
        bridge.disconnect("it")
        rows["10 disconnect"] = life.since(("unavailable", last))
        rows["10 status"] = _status(bridge)
        rows["10 records"] = life.records()
        bridge.list_tools("it")
        rows["11 connect again"] = life.since(("confirmed", last))
        rows["12 records"] = life.records()
        rows["12 calls"] = life.calls()
        versions = bridge.versions("it", "a")
        rows["12 versions"] = stable([
            {"definition": x.definition, "lines": x.lines} for x in versions
        ])  # fmt: skip
        changes = bridge.difference("it", before=1)
        rows["12 difference"] = stable([
            {**_fields(x, ("how", "was", "lines")), "tool": str(x.tool)} for x in changes
        ])  # fmt: skip
        rows["12 graph"] = stable(_without_project(bridge.graph().as_json()))
    return rows


def _decisions(folder: Path) -> Rows:
    """Play the decisions of a person, and calls that are refused because of them."""
    rows: Rows = {}
    echo = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    tools = [A, tool("echo", inputSchema=echo), tool("result")]
    with Bridge({"mcpServers": {"it": {**entry(tools=tools), "lock": True}}}) as it:
        life = _Life(it)
        it.list_tools("it")
        rows["1 connect a locked server"] = life.since(("discovered", "mcp_tool:it_result"))
        rows["2 call what is not accepted"] = _answer(lambda: it.call_tool("it", "echo", {}))
        rows["2 events"] = life.since()
        for review in it.review("it"):
            with suppress(XaiMcpError):
                it.accept("it", *([review.tool] if review.tool else []), digest=review.digest)
        rows["3 accept"] = life.since()
        rows["4 call"] = _answer(lambda: it.call_tool("it", "echo", {"text": "fine"}).text)
        rows["5 wrong arguments"] = _answer(lambda: it.call_tool("it", "echo", {"text": 5}).text)
        rows["6 no such tool"] = _answer(lambda: it.call_tool("it", "ecko", {}).text)
        rows["7 no such server"] = _answer(lambda: it.call_tool("itt", "echo", {}).text)
        failing = {"content": [{"type": "text", "text": "out of paper"}], "isError": True}
        rows["8 a tool fails"] = _answer(lambda: it.call_tool("it", "result", failing).is_error)
        it.disable("it", "a")
        it.enable("it", "a")
        rows["9 off and on"] = life.since()
        rows["9 calls"] = life.calls()
        rows["9 records"] = life.records()
        rows["9 stats"] = stable([
            {"subject": x.subject.context_id, "calls": x.usage.calls, "errors": x.usage.errors}
            for x in (*it.stats().tools, *it.stats().sources)
        ])  # fmt: skip
    return rows


def _answer(do: Callable[[], Any]) -> Any:
    try:
        return stable(do())
    except XaiMcpError as error:
        return stable(error_facts(error))


def _status(bridge: Bridge) -> JsonObject:
    names = (
        "name", "kind", "state", "transport", "era", "server", "tool_count", "error", "next_step",
        "stderr_tail", "notes", "signed_in", "instructions", "breaker",
    )  # fmt: skip
    return stable(_fields(bridge.servers()[0], names))


def _without_project(graph: Mapping[str, Any]) -> JsonObject:
    nodes = [{**x, "label": "..."} if x["kind"] == "project" else x for x in graph["nodes"]]
    return {**{name: x for name, x in graph.items() if name != "project"}, "nodes": nodes}


def _fields(value: object, names: tuple[str, ...]) -> JsonObject:
    return {name: getattr(value, name) for name in names}


def _with_prefix(prefix: str, rows: Rows) -> Rows:
    return {f"{prefix}: {name}": x for name, x in rows.items()}


def _until_ready(bridge: Bridge) -> None:
    bridge.list_tools("it")
    wait_until(lambda: bridge.servers()[0].state == "ready", "the server is ready")
