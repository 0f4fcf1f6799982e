"""Which tools a request shows, defers and leaves out, and why: as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.tools import JsonObject
from ..search.selector import Selection, Shown

_MOST_LISTED = 20  # of the deferred ones, in text


def selection_json(selection: Selection, *, deferred_names: bool = True) -> JsonObject:
    """All of it; of the deferred ones only their number, where their names are not wanted."""
    deferred = [x.name for x in selection.deferred]
    return {
        "budget_tokens": selection.budget_tokens,
        "tokens": selection.tokens,
        "shown": [_shown_json(x) for x in selection.shown],
        "deferred": deferred if deferred_names else len(deferred),
        "left_out": [{"name": x.definition.name, "why": x.why} for x in selection.left_out],
    }


def selection_text(selection: Selection) -> str:
    """A line for each tool that is shown or left out, and one for what is deferred."""
    return "\n".join(_lines(selection))


def _lines(selection: Selection) -> Iterator[str]:
    total = len(selection.shown) + len(selection.deferred) + len(selection.left_out)
    of = f" of {selection.budget_tokens:,}" if selection.budget_tokens else ""
    yield f"{len(selection.shown):,} of {total:,} tools shown, {selection.tokens:,}{of} tokens"
    for shown in selection.shown:
        shorter = f", shortened in {shown.shortened} steps" if shown.shortened else ""
        yield f"  {shown.definition.name}: {shown.tokens:,} tokens, {shown.why}{shorter}"
    for left_out in selection.left_out:
        yield f"  not shown: {left_out.definition.name}: {left_out.why}"
    if selection.deferred:
        names = [x.name for x in selection.deferred]
        more = len(names) - _MOST_LISTED
        listed = ", ".join(names[:_MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")
        yield f"  found by tool_search: {listed}"


def _shown_json(shown: Shown) -> JsonObject:
    found = {"name": shown.definition.name, "tokens": shown.tokens, "why": shown.why}
    return {**found, "shortened": shown.shortened} if shown.shortened else found
