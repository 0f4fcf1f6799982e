"""Servers, their results, resources and prompts, and the store, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from textwrap import indent
from typing import TYPE_CHECKING, Any

from ..catalog.entry import Refreshed
from ..console.text import clean, count, counts, cut
from ..core.events import SourceStatus
from ..core.json import JsonObject
from ..core.results import (
    ImagePart,
    PromptMessage,
    ToolResult,
    describe,
    fields_of,
)
from ..history.place import StoreStatus
from .changes import change_json, changes_text
from .times import time_text

if TYPE_CHECKING:
    from ..policy.suspicion import Mark

_NEXT_STEP = (
    "This blocks nothing. Read it, and switch off a tool that you do not trust: "
    "`xai-mcp-agent tools disable SERVER TOOL`."
)
_INSTRUCTIONS_COLUMNS = 200  # enough to judge them by


def status_json(status: SourceStatus, marks: Iterable[Mark] | None = None) -> JsonObject:
    """Return all fields of the status of a server, and its marks, if any were looked for."""
    if marks is None:
        return asdict(status)
    own = [asdict(x) for x in marks if x.source == status.name]
    return {**asdict(status), "marks": own}


def marks_text(marks: Sequence[Mark]) -> str:
    """Return suspicious texts by server, and the next step."""
    if not marks:
        return "Checked: nothing suspicious in the descriptions of their tools."
    lines = list[str]()
    for source, group in groupby(marks, lambda x: x.source):
        lines += [f"Suspicious text from {source}:", *(f"  {clean(str(x))}" for x in group)]
    return "\n".join([*lines, _NEXT_STEP])


def status_text(status: SourceStatus) -> str:
    """Return the status of a server in lines: its offers, or its problem and the next step."""
    lines = [f"{status.name}: {status.state}"]
    if status.state == "ready":
        features = {"prompt": status.prompt_count, "resource": status.resource_count}
        others = {x: number for x, number in features.items() if number}
        offered = counts({"tool": status.tool_count or 0, **others})
        lines[0] += f", {offered} in {status.connect_seconds or 0:.1f} s"
        lines[0] += f", {status.transport}"
        lines[0] += f", protocol {status.era}" if status.era else ""
        lines[0] += f", {status.sessions} sessions" if status.sessions > 1 else ""
    if status.signed_in:
        lines.append(f"  Signed in at {status.signed_in}")
    if status.instructions:
        silent = "" if status.tells_instructions else " (not shown to agents)"
        words = cut(clean(status.instructions), _INSTRUCTIONS_COLUMNS)
        lines.append(f"  Instructions{silent}: {words}")
    if status.error:
        lines.append(f"  {status.error}")
        lines += [f"    stderr: {line}" for line in status.stderr_tail]
    if status.breaker:
        lines.append(f"  Breaker: {status.breaker}")
    if status.next_step:
        lines.append(f"  Next step: {status.next_step}")
    return "\n".join([*lines, *(f"  Note: {note}" for note in status.notes)])


def store_text(store: StoreStatus) -> str:
    """Return the place of the history, or the reason why nothing is recorded now."""
    return (
        f"History: nothing is recorded now. {store.error}"
        if store.error
        else f"History: {store.place}"
    )


def refreshed_json(one: Refreshed) -> JsonObject:
    """Return the outcome of listing a server again."""
    return {
        "server": one.server,
        "tools": [x.key.name for x in one.tools],
        "before": one.before and one.before.isoformat(),
        "changes": None if one.changes is None else [change_json(x) for x in one.changes],
        "error": str(one.error or ""),
        "trouble": one.trouble,
    }


def refreshed_text(one: Refreshed) -> str:
    """Return the outcome of listing a server again in a line, with its changes below it."""
    if one.error:
        return str(one.error)
    head = f"{one.server}: {count(len(one.tools), 'tool')}"
    if one.changes is None:
        return f"{head}. The changes are unknown: {one.trouble}"
    if one.before is None:
        return f"{head}, listed for the first time"
    if not one.changes:
        return f"{head}; nothing changed since {time_text(one.before)}"
    changes = indent(changes_text(one.changes), "  ")
    return f"{head}; these changed since {time_text(one.before)}\n{changes}"


def result_json(result: ToolResult) -> JsonObject:
    """Return the result of a tool without its `meta`, which `ToolResult` has."""
    return {
        "is_error": result.is_error,
        "text": result.text,
        "structured": result.structured,
        "parts": parts_json(result),
        "notes": result.notes,
    }


def parts_json(result: ToolResult) -> list[JsonObject]:
    """Return a result's parts with their kinds: text, image, audio, link, resource, unknown."""
    kinds = (type(part).__name__.removesuffix("Part").lower() for part in result.parts)
    return [{"kind": k, **fields_of(p)} for k, p in zip(kinds, result.parts, strict=True)]


def message_json(message: PromptMessage) -> JsonObject:
    """Return a message of a prompt for a model, with text or a picture."""
    content: str | Sequence[Any] = describe(message.content)
    if isinstance(message.content, ImagePart):
        url = f"data:{message.content.mime_type};base64,{message.content.data}"
        content = [{"type": "image_url", "image_url": {"url": url}}]
    return {"role": message.role, "content": content}
