"""Events as JSON and as lines, with similar neighbours joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING, TypeAlias

from ..console.text import count, counts, cut, one_line
from ..core.json import JsonObject
from ..core.tools import FEATURES
from ..history.event import Change, Event, Subject
from ..history.records import is_usual_end
from .times import clock_text, day_text, seconds_text, utc_text

if TYPE_CHECKING:
    from ..history.log import LogRow

NOTHING = "There is no history yet."

_MOST_NAMES = 6  # in one line; JSON has all
_MOST_CALLS = 12  # lines of calls in a row; more are summed up by tool
_MOST_REASON_CHARS = 500
_INDENT = " " * len("00:00:00  ")
_MOST_DIFFERENT, _MOST_DIFFERENCES = 3, 5  # tools of a line, and changes of each
_WHO = ("agent", "node", "workflow")
_CLOSINGS = ("disconnected", "left")

_OF_TOOLS: dict[Change, str] = {
    "seeded": "part of the workflow",
    "discovered": "new",
    "confirmed": "as before",
    "changed": "changed",
    "returned": "back, as before",
    "unavailable": "not available",
    "enabled": "switched on again",
    "disabled": "switched off, so offered to no agent",
    "accepted": "accepted with this definition",
    "approved": "approved",
    "withdrawn": "no longer approved for good",
    "refused": "not called",
    "begun": "called",
    "forgotten": "its learned requests are forgotten",
}
_BY_FIRST_LISTING = "listed for the first time, and so accepted with this definition"


@dataclass(frozen=True)
class HistoryLine:
    """Line for similar events: some of them, and their number.

    For a source, `others` counts the tools, prompts and so on that came or went with it. A line
    with a `text` shows that instead of a summary of its events.
    """

    events: Sequence[Event]
    count: int
    others: Mapping[str, int] = field(default_factory=dict[str, int])
    text: str = ""

    @property
    def first(self) -> Event:
        """Return the oldest of the events."""
        return self.events[0]

    @property
    def last(self) -> Event:
        """Return the newest of the stored events."""
        return self.events[-1]


@dataclass(frozen=True)
class _QuietSession:
    """Uneventful session of a source."""

    first: Event
    last: Event


Differ: TypeAlias = Callable[[Event], Sequence[str]]


def event_json(event: Event) -> JsonObject:
    """Return all fields of an event, its links, and its subject as names."""
    return {
        "position": event.position,
        "time": utc_text(event.time),
        "context_id": event.context_id,
        "event_kind": event.event_kind,
        "source": event.source,
        "change": event.change,
        "payload": event.payload,
        "extends": list(event.links.extends),
        "related_to": list(event.links.related_to),
        "reinforces": list(event.links.reinforces),
        "contradicts": list(event.links.contradicts),
        "kind": event.subject.kind.name,
        "tool_source": event.subject.source,
        "tool": event.subject.tool,
        "definition": event.definition,
        "reason": event.reason,
        "run": event.run,
    }


def events_text(events: Iterable[Event]) -> str:
    """Return the events as lines, each day under its date."""
    return lines_text(_merge(HistoryLine([x], 1) for x in events)) or NOTHING


def lines_of(rows: Iterable[LogRow], *, is_all: bool = True) -> Iterator[HistoryLine]:
    """Yield the lines of these rows, oldest first; without `is_all`, join uneventful sessions."""
    for day, group in groupby(rows if is_all else _fold_sessions(rows), _day_of_session):
        items = list(group)
        if day:
            yield _sessions_line([x for x in items if isinstance(x, _QuietSession)])
        else:
            log_rows = (x for x in items if not isinstance(x, _QuietSession))
            yield from _merge(x for row in log_rows for x in _lines_of_row(row))


def _day_of_session(item: LogRow | _QuietSession) -> str:
    return day_text(item.first.time) if isinstance(item, _QuietSession) else ""


def _fold_sessions(log: Iterable[LogRow]) -> Iterator[LogRow | _QuietSession]:
    """Yield the rows, oldest first, with each uneventful session in place of its last row."""
    rows = list(log)
    open_sessions: dict[tuple[object, str], list[int]] = {}
    sessions, inside = dict[int, _QuietSession](), set[int]()
    for number, row in enumerate(rows):
        event = row.event
        key = (event.subject.anchor, event.run)
        if _is_as_before(row):
            open_sessions.setdefault(key, []).append(number)
            continue
        session = open_sessions.pop(key, [])
        if session and _is_usual_end(row) and rows[session[0]].event.change == "reconnected":
            inside.update(session)
            sessions[number] = _QuietSession(rows[session[0]].event, event)
    for number, row in enumerate(rows):
        if number not in inside:
            yield sessions.get(number, row)


def _is_as_before(row: LogRow) -> bool:
    """Return whether a source connected or listed again without changes."""
    event = row.event
    if event.subject.tool is not None or event.change not in ("reconnected", "refreshed"):
        return False
    is_news = any(x == "transport" or x.endswith("_name") for x in event.payload)
    return row.is_in_range and not is_news and not event.followed_by


def _is_usual_end(row: LogRow) -> bool:
    return row.is_in_range and row.event.change in _CLOSINGS and is_usual_end(row.event.reason)


def _lines_of_row(row: LogRow) -> Iterator[HistoryLine]:
    if row.is_in_range:
        yield HistoryLine([row.event], 1)
    for _, tools in groupby(row.tools, lambda x: x[0].kind):
        some = replace(row, tools=list(tools))
        yield HistoryLine([*islice(some.implied(), _MOST_NAMES + 1)], len(some.tools))


def lines_text(
    lines: Iterable[HistoryLine], differ: Differ | None = None, after_day: str = ""
) -> str:
    """Return lines to read, each new day under its date.

    `differ` returns the differences of a changed tool, in lines.
    """
    out = list[str]()
    for day, of_day in groupby(lines, lambda x: day_text(x.first.time)):
        if day != after_day:
            out.append(day)
        for one in of_day:
            out.append(one_line(_text(one), f"{clock_text(one.first.time)}  "))
            if differ:
                out += [one_line(x, f"{_INDENT}    ") for x in _different(one, differ)]
    return "\n".join(out)


def _different(line: HistoryLine, differ: Differ) -> Iterator[str]:
    """Yield the differences of the first tools in a line of changed tools."""
    if line.first.change != "changed":
        return
    for event in line.events[:_MOST_DIFFERENT]:
        differences = differ(event)
        name = f"{event.subject.tool}: " if line.count > 1 else ""
        yield from (f"{name}{x}" for x in differences[:_MOST_DIFFERENCES])
        if (more := len(differences) - _MOST_DIFFERENCES) > 0:
            yield f"{name}and {more:,} more, which `history diff` shows"


def subject_text(subject: Subject) -> str:
    """Return the subject of an event, by its names."""
    source, (item, name) = subject.source_name, subject.item
    if subject.tool is None:
        return source
    return f"{source}.{name}" if subject.is_tool else f"{source}.{name} ({item})"


def _merge(lines: Iterable[HistoryLine]) -> Iterator[HistoryLine]:
    """Join similar neighbours; many calls are joined by tool, wherever they are.

    Learned requests have no lines: `tools usage` shows them.
    """
    visible = (x for x in lines if x.first.change != "learned")
    for is_call, group in groupby(visible, lambda x: x.first.change == "called"):
        joined = [_join(list(x)) for _, x in groupby(group, _likeness)]
        if not is_call:
            yield from _with_their_tools(joined)
        elif len(joined) <= _MOST_CALLS:
            yield from joined
        else:
            by_tool = dict[tuple[object, ...], list[HistoryLine]]()
            for line in joined:
                by_tool.setdefault(_likeness(line), []).append(line)
            yield from map(_join, by_tool.values())


def _join(lines: Sequence[HistoryLine]) -> HistoryLine:
    return HistoryLine([event for x in lines for event in x.events], sum(x.count for x in lines))


def _likeness(line: HistoryLine) -> tuple[object, ...]:
    """Return a key: lines with equal keys can be joined."""
    event, day = line.first, day_text(line.first.time)
    if event.change == "called":
        return event.subject, day, by_text(event)
    about = (event.subject, event.payload.get("tool_count"))
    if event.subject.tool is not None:
        about = (event.subject.anchor, event.subject.kind, event.time)
    return (*about, day, event.change, event.reason, event.source)


def _with_their_tools(lines: Sequence[HistoryLine]) -> Iterator[HistoryLine]:
    """Join sources with the tools that came or went with them."""
    source = lines[0]
    for line in lines[1:]:
        if _is_of(line, source):
            item = line.first.subject.kind.item
            source = replace(source, others={**source.others, item: line.count})
        else:
            yield source
            source = line
    yield source


def _is_of(tools: HistoryLine, source: HistoryLine) -> bool:
    one, other = source.last, tools.first
    if (one.subject, one.time, one.run) != (other.subject.anchor, other.time, other.run):
        return False
    match one.change, other.change:
        case ("disconnected", "unavailable"):
            return one.reason == other.reason
        case ("reconnected" | "refreshed", "confirmed"):
            return tools.count == one.payload.get(f"{other.subject.kind.item}_count")
        case _:
            return False


def by_text(event: Event) -> str:
    """Return the agent or node that made a call, and its workflow; "" for a program."""
    agent, node, workflow = (cut(str(event.payload.get(x, "")), 60) for x in _WHO)
    who = agent or node
    return f"{who} in {workflow}" if who and workflow else who


def _text(line: HistoryLine) -> str:
    if line.text:
        return line.text
    if line.first.change == "called":
        return f"{subject_text(line.first.subject)}: {_of_calls(line)}"
    if line.first.subject.tool is None:
        return f"{subject_text(line.first.subject)}: {_of_source(line)}"
    return _of_tools(line)


def _of_tools(line: HistoryLine) -> str:
    first = line.first
    what = _OF_TOOLS.get(first.change, first.change)
    if first.change == "accepted" and first.source == "executor":
        what = _BY_FIRST_LISTING
    if first.change in ("approved", "refused") and (by := first.payload.get("by")):
        what += f" ({first.payload.get('scope', '')}, by {by})"
    why = f": {_short(first.reason)}" if first.reason else ""
    if line.count == 1:
        return f"{subject_text(first.subject)}: {what}{why}"
    names = [x.subject.tool or "" for x in line.events[:_MOST_NAMES]]
    tools = count(line.count, first.subject.kind.item)
    return f"{subject_text(first.subject.anchor)}: {tools} {what}{why} ({_some(names, line.count)})"


def _some(names: Sequence[str], of: int) -> str:
    more = f" and {of - len(names):,} more" if of > len(names) else ""
    return f"{', '.join(names)}{more}"


def _sessions_line(sessions: Sequence[_QuietSession]) -> HistoryLine:
    """Join consecutive uneventful sessions of one day."""
    first = sessions[0].first
    names = list(dict.fromkeys(x.first.subject.source_name for x in sessions))
    begin, end = clock_text(first.time), clock_text(max(x.last.time for x in sessions))
    until = "" if begin == end else f" until {end}"
    often = f" {len(sessions):,} times" if len(sessions) > 1 else ""
    text = f"connected and closed{often}{until}, nothing changed"
    return HistoryLine([first], 1, text=f"{_some(names[:_MOST_NAMES], len(names))}: {text}")


def _of_source(line: HistoryLine) -> str:
    event, payload = line.first, line.first.payload
    offered = counts(offered_in(payload))
    times = f" {line.count:,} times" if line.count > 1 else ""
    as_before = ", as before" if line.others else ""
    match event.change:
        case "connected":
            own = next((str(x) for k, x in payload.items() if k.endswith("_name")), "")
            title = f" ({own})" if own not in ("", event.subject.source) else ""
            over = f" over {payload['transport']}" if payload.get("transport") else ""
            return f"connected for the first time{over}{title}, {offered}"
        case "reconnected":
            return f"connected again{times}, {offered}{as_before}"
        case "refreshed":
            return f"listed its tools again{times}, {offered}{as_before}"
        case "left":
            return f"closed by one process{times}; others still have it"
        case "disconnected":
            with_it = f", with {counts(line.others)}" if line.others else ""
            return f"disconnected{with_it}: {_short(event.reason)}"
        case "accepted":
            return "its instructions are accepted"
        case "failed":
            failed = len(line.events)
            times = f" {failed:,} times" if failed > 1 else ""
            return f"failed{times}: {_short(event.reason)}"
        case _:
            return event.change


def offered_in(payload: JsonObject) -> dict[str, int]:
    """Return the numbers of tools, prompts and so on in a listing."""
    others = {x.item: int(payload.get(f"{x.item}_count", 0)) for x in FEATURES}
    return {"tool": int(payload.get("tool_count", 0)), **{x: y for x, y in others.items() if y}}


def _of_calls(line: HistoryLine) -> str:
    seconds = [float(x.payload.get("seconds", 0.0)) for x in line.events]
    errors = [x for x in (str(e.payload.get("error", "")) for e in line.events) if x]
    longest, who = seconds_text(max(seconds)), by_text(line.first)
    by = f" by {who}{_run_text(line.events)}" if who else ""
    if len(line.events) == 1 and errors:
        return f"{f'called{by}, ' if by else ''}failed after {longest}: {_short(errors[0])}"
    if len(line.events) == 1:
        return f"called{by}, {longest}"
    times = [x.time for x in line.events]
    begin, end = clock_text(min(times)), clock_text(max(times))
    until = "" if begin == end else f" until {end}"
    mean = seconds_text(sum(seconds) / len(seconds))
    text = f"called{by} {len(line.events):,} times{until}, {mean} each, {longest} at most"
    return f"{text}; {len(errors):,} failed, the last: {_short(errors[-1])}" if errors else text


def _run_text(events: Sequence[Event]) -> str:
    """Return the run of all these events, as a transcript names it; "" for several runs."""
    runs = {str(x.payload.get("run_id", "")) for x in events}
    run = runs.pop() if len(runs) == 1 else ""
    return f" (run {run})" if run else ""


def _short(reason: str) -> str:
    return cut(reason, _MOST_REASON_CHARS)
