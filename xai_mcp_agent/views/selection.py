"""The selection of tools for a request, with its reasons, as text."""

from __future__ import annotations

from collections.abc import Iterator

from ..console.text import count, one_line
from ..search.selector import Selection


def selection_text(selection: Selection) -> str:
    """Return the selection to read."""
    return "\n".join(_lines(selection))


def _lines(selection: Selection) -> Iterator[str]:
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
