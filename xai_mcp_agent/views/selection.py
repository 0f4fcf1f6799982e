"""Which tools a request shows, and why, as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator

from ..catalog.definitions import ToolDefinition
from ..console.text import count, wrap
from ..core.tools import JsonObject
from ..search.selector import Selection, Shown


def selection_json(selection: Selection, *, deferred_names: bool = True) -> JsonObject:
    """All of it; of the deferred ones only their number, where their names are not wanted."""
    deferred = [_named(x) for x in selection.deferred] if deferred_names else None
    return {
        "budget_tokens": selection.budget_tokens,
        "tokens": selection.tokens,
        "shown": [_shown_json(x) for x in selection.shown],
        "deferred": len(selection.deferred) if deferred is None else deferred,
        "left_out": [{**_named(x.definition), "why": x.why} for x in selection.left_out],
    }


def selection_text(selection: Selection, width: int) -> str:
    """The same to read."""
    return "\n".join(_lines(selection, width))


def _lines(selection: Selection, width: int) -> Iterator[str]:
    yield f"{selection.in_short}."
    for shown in selection.shown:
        steps = f", shortened in {count(shown.shortened, 'step')}" if shown.shortened else ""
        line = f"{shown.definition.name}: {shown.tokens:,} tokens, {shown.why}{steps}"
        yield from wrap(line, width, "  ", "      ")
    if selection.left_out:
        yield "No room for:"
    for left_out in selection.left_out:
        yield from wrap(f"{left_out.definition.name}: {left_out.why}", width, "  ", "      ")
    if selection.deferred:
        tokens = sum(x.tokens for x in selection.deferred)
        others = count(len(selection.deferred), "other tool")
        yield from wrap(f"{others} ({tokens:,} tokens) can be found with tool_search.", width)


def _shown_json(shown: Shown) -> JsonObject:
    found = {**_named(shown.definition), "why": shown.why}
    return {**found, "shortened": shown.shortened} if shown.shortened else found


def _named(definition: ToolDefinition) -> JsonObject:
    tool = definition.tool
    return {"name": definition.name, "server": tool.source, "tokens": definition.tokens}
