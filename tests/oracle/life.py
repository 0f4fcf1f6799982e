"""The life of a server as `Bridge` and its history tell it: every event, record and version.

The same life is played over stdio (2026-07-28) and over HTTP (2025-11-25). Calls are told apart
from the life: a call and the listing that it causes are noted in either order.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from tests.support import fault_server
from tests.support.fault_http import FaultHttp, fault_http
from tests.support.fault_server import entry
from xai_mcp_agent import Bridge, Event, JsonObject, XaiMcpError

from .errors import error_facts
from .tables import Rows, stable

_WAIT_SECONDS = 40.0  # bounds a hang, however busy the machine is
_LOOK_SECONDS = 0.05
_SET_TOOLS: JsonObject = {"name": "set_tools", "inputSchema": {"type": "object"}}
_CALLS = ("called", "begun")


def _tool(name: str, **more: Any) -> JsonObject:
    return {"name": name, "description": name, "inputSchema": {"type": "object"}, **more}


A, B, C = _tool("a"), _tool("b"), _tool("c")
A2 = _tool("a", description="better", inputSchema={
    "type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]
})  # fmt: skip


class _Peer(Protocol):
    """A server whose tools are set from outside, and which can be lost."""

    def entry(self) -> JsonObject:
        """What the settings hold for it."""
        ...

    def offer(self, *tools: JsonObject) -> None:
        """Offer these from its next start on."""
        ...

    def lose(self, bridge: Bridge, *tools: JsonObject) -> None:
        """End it like a crash; it offers these when it comes back."""
        ...


class _OverStdio:
    def __init__(self, folder: Path, era: str) -> None:
        self._options, self._journal, self._era = folder / "options.json", folder / "journal", era

    def entry(self) -> JsonObject:
        arguments = ["-S", "-E", fault_server.__file__, f"@{self._options}"]
        return {"command": sys.executable, "args": arguments}

    def offer(self, *tools: JsonObject) -> None:
        options = {"era": self._era, "tools": [*tools, _SET_TOOLS], "journal": str(self._journal)}
        self._options.write_text(json.dumps(options), encoding="utf-8")

    def lose(self, bridge: Bridge, *tools: JsonObject) -> None:
        self.offer(*tools)
        started = [x for x in self._journal.read_text().splitlines() if x.startswith("pid ")]
        os.kill(int(started[-1].split()[1]), signal.SIGKILL)


class _OverHttp:
    def __init__(self, peer: FaultHttp) -> None:
        self._peer = peer

    def entry(self) -> JsonObject:
        return self._peer.entry()

    def offer(self, *tools: JsonObject) -> None:
        self._peer.peer.tools = [*tools, _SET_TOOLS]

    def lose(self, bridge: Bridge, *tools: JsonObject) -> None:
        failures = _count(bridge, "failed")
        _wait(lambda: bool(self._peer.streams), "the standing stream is open")
        self._peer.stop()
        _wait(lambda: _count(bridge, "failed") > failures, "the loss is noted")
        self.offer(*tools)
        self._peer.start()


@contextmanager
def _peer(transport: str, era: str, folder: Path) -> Generator[_Peer]:
    if transport == "stdio":
        yield _OverStdio(folder, era)
    else:
        is_older = era == "legacy"
        with fault_http(era=era, sessions=is_older, standing=is_older) as peer:
            yield _OverHttp(peer)


class _Life:
    """A bridge and what its history held so far."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self._seen = 0
        self._definitions: dict[str, str] = {}

    def since(self, *ends: tuple[str, str]) -> list[JsonObject]:
        """The new events, once each of these changes of a context id is among them."""

        def are_there() -> bool:
            new = {(x.change, x.context_id) for x in self.bridge.history()[self._seen :]}
            return new.issuperset(ends)

        _wait(are_there, f"{ends} in the history")
        events = self.bridge.history()
        new, self._seen = events[self._seen :], len(events)
        return list(self._told(x for x in new if x.change not in _CALLS))

    def calls(self) -> list[JsonObject]:
        """All calls so far."""
        return [self._event(x) for x in self.bridge.history() if x.change in _CALLS]

    def _told(self, events: Iterator[Event]) -> Iterator[JsonObject]:
        """As facts; a failure that was only repeated counts once."""
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
        """A name for a digest: equal for equal definitions."""
        if not digest:
            return digest
        return self._definitions.setdefault(digest, f"definition {len(self._definitions) + 1}")

    def records(self) -> JsonObject:
        """What is known of every source and tool now."""
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
    for transport, era in (("stdio", "modern"), ("http", "legacy")):
        own = folder / transport
        own.mkdir()
        with _peer(transport, era, own) as peer:
            rows |= _prefixed(transport, _life(peer))
    rows |= _prefixed("decisions", _decisions(folder))
    return rows


def _life(peer: _Peer) -> Rows:
    rows: Rows = {}
    server, a, b, c = "mcp:it", "mcp_tool:it_a", "mcp_tool:it_b", "mcp_tool:it_c"
    last = "mcp_tool:it_set_tools"
    peer.offer(A, B)
    with Bridge({"mcpServers": {"it": peer.entry()}}) as bridge:
        life = _Life(bridge)

        def offer(*tools: JsonObject) -> None:
            offered = [*tools, _SET_TOOLS]
            bridge.call_tool("it", "set_tools", {"tools": offered, "only": True})

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
    """What people decide, and what is refused because of it."""
    rows: Rows = {}
    echo = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    tools = [A, _tool("echo", inputSchema=echo), _tool("result")]
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
            {"subject": x.subject.context_id, "calls": x.calls, "errors": x.errors}
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


def _prefixed(prefix: str, rows: Rows) -> Rows:
    return {f"{prefix}: {name}": x for name, x in rows.items()}


def _count(bridge: Bridge, change: str) -> int:
    return sum(x.change == change for x in bridge.history())


def _until_ready(bridge: Bridge) -> None:
    bridge.list_tools("it")
    _wait(lambda: bridge.servers()[0].state == "ready", "the server is ready")


def _wait(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {_WAIT_SECONDS:g} s: {what}")
        time.sleep(_LOOK_SECONDS)
