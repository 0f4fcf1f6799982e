"""Costs of the history: at a connect, a refresh, a call, and when it is read.

A call is measured with a bridge that remembers in a file, as bridges do, against one whose reports
are dropped. Both speak to a server of their own, and take turns. The rest is the thread that owns
the store, driven directly: what is listed is there already, so that only the recording is timed.

The targets are ours.
"""

from __future__ import annotations

import contextlib
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from xai_mcp_agent import Bridge, Settings, Subject, Tool, ToolKey
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.events_table import Range
from xai_mcp_agent.history.history import When, open_history
from xai_mcp_agent.history.place import Place, find_place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed, Lost, Report, call_event, caller_fields

from .calls import http_server, stdio_server
from .rows import Row, ratio, seconds, size

_TOOLS = size(10_000, 100)
_CONNECT_SECONDS, _REFRESH_MS, _OPEN_SECONDS = 1.0, 50.0, 1.0
_OPEN_PROCESSOR_SECONDS = 0.1
_EVENTS = size(1_000_000, 3_000)
_AT_ONCE = 1000
_TIMES = size(5, 1)
_CALLS, _ROUNDS, _OVERHEAD = size(96, 8), size(41, 1), 1.02
_CONNECTS, _CONNECT_BYTES = size(200, 2), 300
_SOME_CALLS, _CALL_BYTES = size(50_000, 1_000), 300
_NOTED, _NOTED_US, _CLOSE_SECONDS = size(5000, 50), 200.0, 30.0
_BIG = Subject(MCP, "big")


def rows() -> Iterator[Row]:
    """Measure what a call costs, then listings, then a long history."""
    yield from _calls()
    with _store() as place:
        yield from _noted(place)
    with _store() as place:
        yield from _listings(place)
    with _store() as place:
        yield from _long(place)


def _calls() -> Iterator[Row]:
    one, other = stdio_server(), stdio_server()
    yield _overhead("stdio", one, other)
    with http_server() as one, http_server() as other:
        yield _overhead("HTTP", {"url": one}, {"url": other})


def _overhead(name: str, one: dict[str, Any], other: dict[str, Any]) -> Row:
    with _bridge(one) as remembering, _bridge(other) as forgetting:
        _forget(forgetting)
        calls = _calls_of(remembering), _calls_of(forgetting)
        calls[0](), calls[1]()  # warm
        value, spread = ratio(*calls, _ROUNDS)
    return Row(f"a call over {name}, remembered / not", value, "x", _OVERHEAD, spread)


@contextlib.contextmanager
def _bridge(entry: dict[str, Any]) -> Iterator[Bridge]:
    with (
        _folder() as folder,
        Bridge({"mcpServers": {"echo": entry}}, store=folder / "h.db") as made,
    ):
        made.connect(wait=True)
        yield made


def _forget(bridge: Bridge) -> None:
    async def drop(operations: Any) -> None:
        operations.engine.recorder.called = lambda *_, **__: None
        operations.engine.recorder.begun = lambda *_, **__: 0

    bridge.run(drop)


def _calls_of(bridge: Bridge) -> Callable[[], None]:
    def calls() -> None:
        for _ in range(_CALLS):
            bridge.call_tool("echo", "echo", {"text": "hello"})

    return calls


def _noted(place: Place) -> Iterator[Row]:
    """Measure how long the loop waits at a call, and how long its own transaction would take."""
    recorder = HistoryRecorder(place, str)
    key = ToolKey("mcp", "big", "tool_1")

    def call() -> None:
        recorder.called(key, 0.01, "", begun=recorder.begun(key))

    def call_in_store() -> None:
        call()
        recorder.settled().result()

    call_in_store()
    noted = statistics.median(seconds(call) for _ in range(_NOTED))
    what = "a call, noted before it is sent and when it is over"
    yield Row(what, noted * 1_000_000, " us", _NOTED_US, "there when the process is killed")
    written = statistics.median(seconds(call_in_store) for _ in range(_NOTED // 10))
    yield Row("the same in a transaction of its own, which is not done", written * 1000, " ms")
    recorder.close(_CLOSE_SECONDS)


def _listings(place: Place) -> Iterator[Row]:
    recorder = ReportWriter(open_history(place), str)
    tools = tuple(map(_tool, range(_TOOLS)))
    first = seconds(lambda: recorder.record([_listed(tools, connected=True)]))
    what = f"writing down a connect with {_TOOLS} tools"
    yield Row(what, first, " s", _CONNECT_SECONDS, "one transaction")
    reports = [_listed(_anew(tools)) for _ in range(_TIMES)]
    again = statistics.median(seconds(lambda x=x: recorder.record([x])) for x in reports)
    yield Row("the same tools, listed again as they were", again * 1000, " ms", _REFRESH_MS)
    yield from _sizes(recorder, place, tools)
    recorder.close()


def _sizes(recorder: ReportWriter, place: Place, tools: tuple[Tool, ...]) -> Iterator[Row]:
    """Measure how much the file grows, on average."""
    for what, target, changed in (("", _CONNECT_BYTES, 0), (" and one changed", None, 1)):
        before = _used(place)
        for number in range(_CONNECTS):
            words = f"Another one, for the {number}th time."
            other = Tool(tools[0].key, words, {}) if changed else tools[0]
            recorder.record([Lost(_BIG, datetime.now(UTC), "It was closed.")])
            recorder.record([_listed((other, *_anew(tools[1:])), connected=True)])
        each = (_used(place) - before) / _CONNECTS
        name = f"a connect and a close of {_TOOLS} tools{what}, in the file"
        yield Row(name, each, " B", target, "mean of all its pages")
    before, began = _used(place), datetime.now(UTC)
    for first in range(0, _SOME_CALLS, _AT_ONCE):
        recorder.record([_call(number, began) for number in range(first, first + _AT_ONCE)])
    each = (_used(place) - before) / _SOME_CALLS
    yield Row("a call, in the file", each, " B", _CALL_BYTES, "with its places in the indices")


def _used(place: Place) -> int:
    """The bytes of the pages that hold something."""
    assert place.file is not None
    with contextlib.closing(sqlite3.connect(place.file)) as file:
        names = ("page_count", "freelist_count", "page_size")
        pages, free, size = (file.execute(f"PRAGMA {x}").fetchone()[0] for x in names)
    return (pages - free) * size


def _call(number: int, began: datetime) -> Report:
    tool = Subject(MCP, "big", f"tool_{number % 97}")
    caller = Caller("agent", "helper", "default", f"{number // 3:012x}", workflow="my_agent")
    by, error = (
        caller_fields(caller, f"call_{number:024x}"),
        "There is no shelf 9." * (number % 40 == 0),
    )
    return call_event(
        tool, began + timedelta(seconds=number), 0.01 + number % 50 / 1000, error, by=by
    )


def _tool(number: int) -> Tool:
    parameter = {"type": "string", "description": "What is to be looked for, in plain words."}
    schema = {"type": "object", "properties": {f"p{n}": {**parameter} for n in range(6)}}
    words = f"Tool {number} looks for something, and gives back what it has found. "
    return Tool(ToolKey("mcp", "big", f"tool_{number}"), words * 3, schema)


def _anew(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """Return equal tools as new objects, as a session lists them again."""
    return tuple(Tool(x.key, x.description, x.input_schema) for x in tools)


def _listed(tools: tuple[Tool, ...], *, connected: bool = False) -> Listed:
    return Listed(_BIG, datetime.now(UTC), tools, connected, "stdio", "Big")


def _long(place: Place) -> Iterator[Row]:
    middle = _write(place)
    answer = Range(about=Subject(MCP, "big", "tool_7"), limit=20)

    def first_answer() -> None:
        store = open_history(place)
        assert len(store.events(answer)) == answer.limit
        assert store.records().tools
        store.close()

    def as_of() -> None:
        store = open_history(place)
        assert store.records(When(middle)).tools
        store.close()

    yield Row(
        f"a history of {_EVENTS:,} events, opened to the first answer",
        _median(first_answer), " s", _OPEN_SECONDS, "20 events of a tool, and all tools now",
    )  # fmt: skip
    processor = statistics.median(_processor_seconds(first_answer) for _ in range(_TIMES))
    what = "the same, in time of the processor"
    yield Row(what, processor, " s", _OPEN_PROCESSOR_SECONDS, "also on a busy machine")
    yield Row("the same, as of a time in the middle", _median(as_of), " s", _OPEN_SECONDS)
    yield from _stats(place, middle)


def _stats(place: Place, middle: datetime) -> Iterator[Row]:
    """Measure `stats` of the whole history, and since its middle."""

    def count(since: datetime | None) -> None:
        store = open_history(place)
        calls = sum(x.calls for x in store.stats(since).tools)
        assert calls == (_EVENTS if since is None else _EVENTS - _EVENTS // 2)
        store.close()

    for what, since in (("of all calls", None), ("of all calls since a time", middle)):
        took = _median(lambda since=since: count(since))
        yield Row(f"the same, `stats` {what}", took, " s", _OPEN_SECONDS)


def _write(place: Place) -> datetime:
    """Write a long history; a time in its middle."""
    recorder = ReportWriter(open_history(place), str)
    began = datetime.now(UTC) - timedelta(seconds=_EVENTS)
    tools = tuple(map(_tool, range(1000)))
    recorder.record([Listed(_BIG, began, tools, True, "stdio", "Big")])
    for first in range(0, _EVENTS, _AT_ONCE):
        recorder.record([_call(number, began) for number in range(first, first + _AT_ONCE)])
    recorder.close()
    return began + timedelta(seconds=_EVENTS // 2)


def _processor_seconds(do: Callable[[], object]) -> float:
    began = time.process_time()
    do()
    return time.process_time() - began


def _median(do: Callable[[], object]) -> float:
    return statistics.median(seconds(do) for _ in range(_TIMES))


@contextlib.contextmanager
def _store() -> Iterator[Place]:
    with _folder() as folder:
        yield find_place(Settings(str(folder / "mcp_settings.json")), environ={})


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="xai-history-") as folder:
        yield Path(folder)
