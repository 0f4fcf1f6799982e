"""Tools, their records, and the decisions about them, as JSON and as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

from ..catalog.entry import CatalogEntry
from ..console.text import clean, count, counts, cut, one_line
from ..core.json import JsonObject, clip
from ..core.schemas import signature
from ..core.tools import META, RESOURCE, STATIC, TEMPLATE
from ..history.event import Subject
from ..history.records import Records, SourceRecord, ToolRecord
from ..history.usage import Usage
from ..policy.review import INSTRUCTIONS, Choice, Review
from .history import NOTHING
from .times import seconds_text, time_text, utc_text

_DESCRIPTION_CHARS = 100
_FIRST_WORDS_END = re.compile(r"\n[^\S\n]*\n|(?<=[.!?:])[^\S\n]*\n")
_STANDING = {
    "accepted": "is as it was accepted",
    "changed": "changed since it was accepted",
    "new": "was not accepted yet",
}
_CHOSEN = {
    ("enabled", True): "{} is switched on again.",
    ("enabled", False): "{} is not switched off.",
    ("disabled", True): "{} is switched off: no agent is offered it.",
    ("disabled", False): "{} is switched off already.",
    ("accepted", True): "{} is accepted as it is now.",
    ("accepted", False): "{} has not changed since it was accepted.",
    ("approved", True): "{} is called without a question from now on, as it is now.",
    ("approved", False): "{} is approved already.",
    ("withdrawn", True): "{} needs your approval again.",
    ("withdrawn", False): "{} was not approved.",
}

# Length of a text about one tool; a whole log as an error would bury the others.
_MOST_CHARS = 400
_KINDS = {STATIC: " (tools on the canvas)", META: " (built-in tools)"}


def tool_json(entry: CatalogEntry) -> JsonObject:
    """Return a tool for people and programs; fields that it does not declare are None."""
    tool = entry.require()
    return {
        "name": tool.name,
        "title": tool.title,
        "icons": [asdict(x) for x in tool.icons],
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": asdict(tool.annotations),
        "tags": list(tool.tags),
        "operation": asdict(tool.operation) if tool.operation else None,
        "note": tool.note,
        "is_enabled": entry.is_enabled,
        "is_changed": entry.is_changed,
        "is_held": entry.is_held,
    }


def tool_text(entry: CatalogEntry) -> str:
    """Return a tool in one line: its signature, the decisions about it, and its description."""
    tool = entry.require()
    marks = f" ({x})" if (x := marks_of(entry)) else ""
    # A sentence may go on in the next line, as in docstrings and in comments of workflows.
    first = _FIRST_WORDS_END.split(tool.description.strip(), maxsplit=1)[0]
    short = clip(" ".join(first.split()), _DESCRIPTION_CHARS)
    title = tool.title if tool.title and tool.title not in (tool.name, short) else ""
    words = ". ".join(x.rstrip(".") if x == title else x for x in (title, short) if x)
    call = f"{tool.name}({signature(tool.input_schema)})"
    call = tool.name if tool.key.kind in (RESOURCE.name, TEMPLATE.name) else call
    return clean(f"{call}{marks}: {words}" if words else f"{call}{marks}")


def marks_of(entry: CatalogEntry) -> str:
    """Return decisions about a tool, also those that wait for a person; "" without any."""
    is_new = entry.is_held and not entry.is_changed
    return _marks_text(entry.is_enabled, entry.is_changed, is_new)


def unknown_text(why: str) -> str:
    """Return a warning that decisions are unknown, for this reason; "" without a reason."""
    effect = "Decisions: they cannot be looked up, so agents are offered no tools."
    return f"{effect} {why}" if why else ""


def review_text(review: Review) -> str:
    """Return the lines to read before accepting a tool."""
    alike = f", and its name looks like {cut(review.like, 80)}" if review.like else ""
    what = _STANDING[review.standing]
    title = f"{review.server}: {cut(review.name, 80)} {what}{alike} (digest {review.digest})"
    return "\n".join((title, *(f"    {line}" for line in review.lines)))


def choice_text(choice: Choice) -> str:
    """Return a decision about a tool in a line, and a line for each difference."""
    sentence = _CHOSEN[choice.decision, choice.is_new].format(choice.tool or INSTRUCTIONS)
    return "\n".join((f"{choice.server}: {sentence}", *(f"  {line}" for line in choice.lines)))


def records_text(records: Records, server: str | None = None) -> str:
    """Return each source, or only `server`, with its tools, to read."""
    out = list[str]()
    for subject, tools in _sources(records, server):
        source = records.sources.get(subject)
        out.append(one_line(_source_line(subject, source, tools)))
        for tool in tools:
            out += _tool_lines(tool)
    return "\n".join(out) or NOTHING


def records_json(records: Records, server: str | None = None) -> dict[str, list[JsonObject]]:
    """Return the `servers` with a record, all `tools`, and prompts and resources as `features`.

    `server`: only this one.
    """
    sources = _sources(records, server)
    return {
        "servers": [
            _source_json(x) for subject, _ in sources if (x := records.sources.get(subject))
        ],
        "tools": [
            _tool_json(tool) for _, tools in sources for tool in tools if tool.subject.is_tool
        ],
        "features": [
            _feature_json(tool)
            for _, tools in sources
            for tool in tools
            if not tool.subject.is_tool
        ],
    }


def usage_text(usage: Usage) -> str:
    """Return a summary of the calls of a tool: number, durations, and the last error."""
    unknown = f"{count(usage.unknown, 'call')} that may have been carried out"
    if not usage.calls:
        return unknown if usage.unknown else "never called"
    text = f"{count(usage.calls, 'call')}, {seconds_text(usage.mean_seconds or 0)}"
    if usage.calls > 1:
        text += f" on average, p95 {seconds_text(usage.p95_seconds or 0)}"
    if usage.errors:
        text += f"; {usage.errors:,} failed, the last: {_short(usage.last_error)}"
    return f"{text}; and {unknown}" if usage.unknown else text


def _sources(records: Records, server: str | None) -> list[tuple[Subject, list[ToolRecord]]]:
    """Return the sources with their tools, first the kinds that do not connect."""
    tools: dict[Subject, list[ToolRecord]] = {x: [] for x in records.sources}
    for tool in records.items.values():
        tools.setdefault(tool.subject.anchor, []).append(tool)
    some = (x for x in tools if server in (None, x.source_name))
    subjects = sorted(some, key=lambda x: (x.kind.connects, x.source, x.kind.name))
    return [(x, sorted(tools[x], key=_rank)) for x in subjects]


def _rank(tool: ToolRecord) -> tuple[bool, bool, str]:
    """Return a key that sorts tools by name, with former tools last."""
    return not tool.subject.is_tool, tool.state == "gone", tool.name


def _source_line(subject: Subject, source: SourceRecord | None, tools: list[ToolRecord]) -> str:
    present = Counter(x.subject.kind.item for x in tools if x.state != "gone")
    offered = counts({"tool": present.pop("tool", 0), **present})
    if source is None:
        return f"{subject.source_name}{_KINDS.get(subject.kind, '')}: {offered}"
    name = source.name if source.title in ("", source.name) else f"{source.name} ({source.title})"
    if source.is_connected:
        error = f". Last error{_failures_text(source)}: {_short(source.last_error)}"
        error = error if source.last_error else ""
        return f"{name}: connected, {offered}{error}"
    if source.last_sync is None:
        return f"{name}: never connected{_failures_text(source)}: {_short(source.last_error)}"
    since = f" since {time_text(x)}" if (x := source.disconnected_since) else ""
    error = f" Since then{_failures_text(source)}: {_short(source.last_error)}"
    error = error if source.last_error else ""
    return f"{name}: {offered}, not connected{since}: {_short(source.reason)}{error}"


def _failures_text(source: SourceRecord) -> str:
    """Return the number of failures since the last good listing, if more than one."""
    return f" ({source.failures:,} failures)" if source.failures > 1 else ""


def _tool_lines(tool: ToolRecord) -> Iterator[str]:
    if tool.subject.is_tool:
        yield one_line(f"{tool.name}: {_marks(tool)}{usage_text(tool.usage)}", "  ")
    else:
        yield one_line(f"{tool.name} ({tool.subject.kind.item})", "  ")
    if tool.state == "gone":
        since = f" since {time_text(x)}" if (x := tool.unavailable_since) else ""
        yield one_line(f"gone{since}: {_short(tool.reason)}", "      ")


def _marks(tool: ToolRecord) -> str:
    is_changed = tool.accepted not in ("", tool.definition)
    marks = _marks_text(tool.is_enabled, is_changed, tool.is_held and not is_changed)
    return f"{marks}; " if marks else ""


def _marks_text(is_enabled: bool, is_changed: bool, is_new: bool = False) -> str:
    marks = {
        "switched off": not is_enabled,
        "changed since it was accepted": is_changed,
        "not accepted yet": is_new,
    }
    return ", ".join(x for x, is_so in marks.items() if is_so)


def _source_json(record: SourceRecord) -> JsonObject:
    return {
        "name": record.name,
        "kind": record.subject.kind.name,
        "is_connected": record.is_connected,
        "title": record.title,
        "transport": record.transport,
        "tool_count": record.tool_count,
        **{f"{item}_count": number for item, number in record.others.items()},
        "inventory": record.inventory,
        "created": utc_text(record.created),
        "last_sync": utc_text(record.last_sync),
        "last_error": record.last_error,
        "failures": record.failures,
        "disconnected_since": utc_text(record.disconnected_since),
        "reason": record.reason,
    }


def _tool_json(record: ToolRecord) -> JsonObject:
    usage = record.usage
    return {
        "name": record.name,
        "server": record.subject.source_name,
        "kind": record.subject.kind.name,
        "state": record.state,
        "unavailable_since": utc_text(record.unavailable_since),
        "reason": record.reason,
        "is_enabled": record.is_enabled,
        "is_held": record.is_held,
        "created": utc_text(record.created),
        "updated": utc_text(record.updated),
        "last_seen": utc_text(record.last_seen),
        "definition": record.definition,
        "accepted": record.accepted,
        "calls": usage.calls,
        "errors": usage.errors,
        "unknown": usage.unknown,
        "last_error": usage.last_error,
        "last_executed": utc_text(usage.last_executed),
        "mean_seconds": usage.mean_seconds,
        "median_seconds": usage.median_seconds,
        "p95_seconds": usage.p95_seconds,
    }


def _feature_json(record: ToolRecord) -> JsonObject:
    fields = _tool_json(record)
    names = ("name", "server", "kind", "state", "unavailable_since", "reason", "created", "updated")
    return {x: fields[x] for x in (*names, "last_seen", "definition")}


def _short(text: str) -> str:
    return cut(text, _MOST_CHARS)
