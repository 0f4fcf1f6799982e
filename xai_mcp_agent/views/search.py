"""Matches, selected tools, the tools of a request, an explained tool: as JSON and as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

from ..console.approval import claims
from ..console.text import clean, count, one_line
from ..core.json import JsonObject
from ..core.schemas import fields, signature, value_label
from ..core.tools import item_key
from ..search.results import ExplainedTool, FoundTool, SelectedTool
from ..search.selector import Selection
from .times import time_text, utc_text
from .tools import marks_of, tool_json, tool_text, usage_text

_INDENT = " " * 6  # under the text, beside the scores
_LEVELS, _MOST_PARAMETERS = 3, 500  # nobody reads more


def match_json(match: FoundTool) -> JsonObject:
    """Return a match of a search, with the definition of the tool."""
    why = {
        "score": round(match.score, 3),
        "confidence": round(match.confidence, 2),
        "reasons": list(match.reasons),
    }
    item, _ = item_key(match.tool)
    kind = {} if item == "tool" else {"kind": item}
    return {"server": match.entry.key.source, **kind, **why, **tool_json(match.entry)}


def match_text(match: FoundTool) -> str:
    """Return a match in lines: the signature of the tool, then the reasons."""
    item, _ = item_key(match.tool)
    server = f"{match.entry.key.source}{'' if item == 'tool' else f' {item}'}"
    text = one_line(f"{server}: {tool_text(match.entry)}", f"{match.score:.2f}  ")
    why = "; ".join(match.reasons)
    return f"{text}\n{one_line(why, _INDENT)}" if why else text


def selected_json(selected: SelectedTool) -> JsonObject:
    """Return the tool that fits a request best, with the reasons, and the other candidates."""
    return {
        "server": selected.tool.source,
        "tool": selected.tool.name,
        "description": selected.tool.description,
        "confidence": round(selected.confidence, 2),
        "reasons": list(selected.reasons),
        "alternatives": [
            {
                "server": x.tool.source,
                "tool": x.tool.name,
                "score": round(x.score, 3),
                "confidence": round(x.confidence, 2),
                "reasons": list(x.reasons),
            }
            for x in selected.alternatives
        ],
    }


def selection_text(selection: Selection) -> str:
    """Return the selection to read."""
    return "\n".join(_selection_lines(selection))


def _selection_lines(selection: Selection) -> Iterator[str]:
    yield f"{selection.in_short}."
    for tool in selection.shown:
        steps = f", shortened in {count(tool.shortened, 'step')}" if tool.shortened else ""
        yield one_line(f"{tool.definition.name}: {tool.tokens:,} tokens, {tool.why}{steps}", "  ")
    if selection.left_out:
        yield "No room for:"
    for tool in selection.left_out:
        yield one_line(f"{tool.definition.name}: {tool.why}", "  ")
    if selection.deferred:
        tokens = sum(x.tokens for x in selection.deferred)
        others = count(len(selection.deferred), "other tool")
        yield f"{others} ({tokens:,} tokens) can be found with tool_search."


def explained_json(explained: ExplainedTool) -> JsonObject:
    """Return a tool with its signature, example arguments, dates and number of calls."""
    entry = explained.entry
    record = entry.record
    return {
        "server": entry.key.source,
        **tool_json(entry),
        "signature": f"{entry.key.name}({signature(entry.require().input_schema)})",
        "example": explained.example,
        "first_seen": utc_text(record and record.created),
        "last_changed": utc_text(record and record.updated),
        "calls": entry.usage.calls,
    }


def explained_text(explained: ExplainedTool) -> str:
    """Return a tool with its signature, parameters and an example, to read."""
    return "\n".join(_explained_lines(explained))


def _explained_lines(explained: ExplainedTool) -> Iterator[str]:
    entry, tool = explained.entry, explained.entry.require()
    marks = f" ({x})" if (x := marks_of(entry)) else ""
    yield one_line(f"{tool.source}: {tool.title or tool.name}{marks}")
    yield from (f"  {x}" for x in clean(tool.description.strip()).split("\n"))
    yield one_line(f"{tool.name}({signature(tool.input_schema)})", "  ")
    yield from _parameter_lines(tool.input_schema)
    yield clean(f"  Example: {tool.name} {json.dumps(explained.example, ensure_ascii=False)}")
    if effects := claims(tool.annotations):
        yield f"  Its source says: {', '.join(effects)}."
    if tool.note:
        yield one_line(f"Note: {tool.note}", "  ")
    yield one_line(_age_text(explained), "  ")


def _parameter_lines(schema: JsonObject) -> Iterator[str]:
    seen = set[tuple[str, ...]]()
    for path, spec, is_required in islice(fields(schema, _LEVELS), _MOST_PARAMETERS):
        words = f": {x}" if (x := spec.get("description")) else ""
        needed = ", required" if is_required else ""
        again = "or " if path in seen else ""  # another alternative of a choice has it, too
        seen.add(path)
        yield one_line(f"{again}{'.'.join(path)} ({value_label(spec)}{needed}){words}", _INDENT)


def _age_text(explained: ExplainedTool) -> str:
    """Return the age of a tool, and a summary of its calls."""
    record = explained.entry.record
    if record is None:
        return "Seen for the first time."
    changed = f", changed {time_text(record.updated)}" if record.updated > record.created else ""
    return (
        f"Known since {time_text(record.created)}{changed}; {usage_text(record.usage).rstrip('.')}."
    )
