"""Costs of the history: at a connect, a refresh, a call, and when it is read.

A call is measured with a bridge that keeps its history in a file, as bridges do, against the same
bridge while its reports are dropped: two servers alone differ by a few percent. The rest calls the
writer of the store directly, with tools that are listed already, so that only the recording is
timed.

The targets are ours.
"""

from __future__ import annotations

import contextlib
import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from xai_mcp_agent import Bridge, Settings, Subject, Tool, ToolKey
from xai_mcp_agent.core.calls import Caller
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.event import Range
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import Place, find_place
from xai_mcp_agent.history.recording.call_journal import call_event
from xai_mcp_agent.history.recording.recorder import HistoryRecorder, caller_fields
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed, Lost, Report

from .echo import ENTRY, echo_calls, http_server
from .rows import Row, compare, processor_seconds, seconds, size

_TOOLS = size(10_000, 100)
_CONNECT_SECONDS, _REFRESH_MS, _OPEN_SECONDS = 1.0, 50.0, 1.0
_OPEN_PROCESSOR_SECONDS = 0.1
_EVENTS = size(1_000_000, 3_000)
_BATCH = 1000  # events of a transaction
_REPEATS = size(5, 1)
_CALLS, _ROUNDS, _OVERHEAD = size(48, 8), size(161, 1), 1.02
_CONNECTS, _CONNECT_BYTES = size(200, 2), 300
_SAVED_CALLS, _CALL_BYTES = size(50_000, 1_000), 300
_REPORTED_CALLS, _REPORT_US, _CLOSE_SECONDS = size(5000, 50), 200.0, 30.0
_BIG = Subject(MCP, "big")


def rows() -> Iterator[Row]:
    """Measure the cost of a call, then listings, then a long history."""
    for tool in ("read", "echo"):
        yield _call_row("stdio", ENTRY, tool)
        with http_server() as url:
            yield _call_row("HTTP", {"url": url}, tool)
    for measure in (_report_rows, _listing_rows, _long_history_rows):
        with _temporary_folder() as folder:
            settings = Settings(str(folder / "mcp_settings.json"))
            yield from measure(find_place(settings, environ={}))


def _call_row(transport: str, entry: dict[str, Any], tool: str) -> Row:
    """Compare calls of a tool that only reads, or that is also noted before it is called."""
    with _bridge(entry) as bridge:
        calls, recorder = echo_calls(bridge, _CALLS, tool), bridge.run(_recorder)

        def drop_reports() -> None:
            recorder.note_call = lambda *_, **__: 0
            recorder.record_call = lambda *_, **__: None
            calls()
            del recorder.note_call, recorder.record_call

        calls()  # warm
        kind = "a reading call" if tool == "read" else "a call that may change something,"
        what = f"{kind} over {transport}, remembered / not"
        return compare(what, calls, drop_reports, _ROUNDS, _OVERHEAD)


@contextlib.contextmanager
def _bridge(entry: dict[str, Any]) -> Iterator[Bridge]:
    with (
        _temporary_folder() as folder,
        Bridge({"mcpServers": {"echo": entry}}, store=folder / "h.db") as bridge,
    ):
        bridge.connect(wait=True)
        yield bridge


async def _recorder(operations: Any) -> Any:
    return operations.engine.recorder


def _report_rows(place: Place) -> Iterator[Row]:
    """Measure the wait of the loop at a call, and the time that its own transaction would take."""
    recorder = HistoryRecorder(place, str)
    key = ToolKey("mcp", "big", "tool_1")

    def report() -> None:
        recorder.record_call(key, 0.01, "", number=recorder.note_call(key))

    def report_and_save() -> None:
        report()
        recorder.flush().result()

    report_and_save()
    reporting = _median_seconds(report, _REPORTED_CALLS)
    what = "a call, noted before it is sent and when it is over"
    yield Row(what, reporting * 1_000_000, " us", _REPORT_US, "there when the process is killed")
    saving = _median_seconds(report_and_save, _REPORTED_CALLS // 10)
    yield Row("the same in a transaction of its own, which is not done", saving * 1000, " ms")
    recorder.close(_CLOSE_SECONDS)


def _listing_rows(place: Place) -> Iterator[Row]:
    writer = ReportWriter(open_history(place), str)
    tools = tuple(map(_tool, range(_TOOLS)))
    first = seconds(lambda: writer.record([_listed(tools)]))
    what = f"writing down a connect with {_TOOLS} tools"
    yield Row(what, first, " s", _CONNECT_SECONDS, "one transaction")
    reports = [_listed(_copies(tools)) for _ in range(_REPEATS)]
    again = statistics.median(seconds(lambda x=x: writer.record([x])) for x in reports)
    yield Row("the same tools, listed again as they were", again * 1000, " ms", _REFRESH_MS)
    yield from _size_rows(writer, place, tools)
    writer.close()


def _size_rows(writer: ReportWriter, place: Place, tools: tuple[Tool, ...]) -> Iterator[Row]:
    """Measure how much the file grows, on average."""
    for what, target, change_count in (("", _CONNECT_BYTES, 0), (" and one changed", None, 1)):
        before = _size_bytes(place)
        for number in range(_CONNECTS):
            words = f"Another one, for the {number}th time."
            other = Tool(tools[0].key, words, {}) if change_count else tools[0]
            writer.record([Lost(_BIG, datetime.now(UTC), "It was closed.")])
            writer.record([_listed((other, *_copies(tools[1:])))])
        each = (_size_bytes(place) - before) / _CONNECTS
        name = f"a connect and a close of {_TOOLS} tools{what}, in the file"
        yield Row(name, each, " B", target, "mean of all its pages")
    before, began = _size_bytes(place), datetime.now(UTC)
    for first in range(0, _SAVED_CALLS, _BATCH):
        writer.record([_call(number, began) for number in range(first, first + _BATCH)])
    each = (_size_bytes(place) - before) / _SAVED_CALLS
    yield Row("a call, in the file", each, " B", _CALL_BYTES, "with its places in the indices")


def _size_bytes(place: Place) -> int:
    """Return the bytes of the pages in use."""
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


def _copies(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """Return equal tools as new objects, as a session lists them again."""
    return tuple(Tool(x.key, x.description, x.input_schema) for x in tools)


def _listed(tools: tuple[Tool, ...]) -> Listed:
    return Listed(_BIG, datetime.now(UTC), tools, "stdio", "Big")


def _long_history_rows(place: Place) -> Iterator[Row]:
    middle = _write(place)
    recent = Range(about=Subject(MCP, "big", "tool_7"), limit=20)

    def read_events_and_tools() -> None:
        store = open_history(place)
        assert len(store.events(recent)) == recent.limit
        assert store.records().tools
        store.close()

    def read_tools_of_the_middle() -> None:
        store = open_history(place)
        assert store.records(middle).tools
        store.close()

    def read_stats(since: datetime | None) -> None:
        store = open_history(place)
        calls = sum(x.usage.calls for x in store.stats(since).tools)
        assert calls == (_EVENTS if since is None else _EVENTS - _EVENTS // 2)
        store.close()

    yield Row(
        f"a history of {_EVENTS:,} events, opened to the first answer",
        _median_seconds(read_events_and_tools), " s", _OPEN_SECONDS,
        "20 events of a tool, and all tools now",
    )  # fmt: skip
    processor = statistics.median(processor_seconds(read_events_and_tools) for _ in range(_REPEATS))
    what = "the same, in time of the processor"
    yield Row(what, processor, " s", _OPEN_PROCESSOR_SECONDS, "also on a busy machine")
    for what, read in (
        ("as of a time in the middle", read_tools_of_the_middle),
        ("`stats` of all calls", lambda: read_stats(None)),
        ("`stats` of all calls since a time", lambda: read_stats(middle)),
    ):
        yield Row(f"the same, {what}", _median_seconds(read), " s", _OPEN_SECONDS)


def _write(place: Place) -> datetime:
    """Write a long history; return a time in its middle."""
    writer = ReportWriter(open_history(place), str)
    began = datetime.now(UTC) - timedelta(seconds=_EVENTS)
    tools = tuple(map(_tool, range(1000)))
    writer.record([Listed(_BIG, began, tools, "stdio", "Big")])
    for first in range(0, _EVENTS, _BATCH):
        writer.record([_call(number, began) for number in range(first, first + _BATCH)])
    writer.close()
    return began + timedelta(seconds=_EVENTS // 2)


def _median_seconds(function: Callable[[], object], repeats: int = _REPEATS) -> float:
    return statistics.median(seconds(function) for _ in range(repeats))


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="xai-history-") as folder:
        yield Path(folder)
