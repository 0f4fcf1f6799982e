"""Missing parts of a drawn workflow: notes for a person, and nodes to put before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.names import did_you_mean
from ..core.tools import BUILTIN, kind_named
from ..drawing.flow import DrawnCall
from ..drawing.tracing import LeftOut
from ..settings.models import Settings
from ..steps.references import CANVAS_SOURCE

_DRAWN_TOOL = (
    "This tool was drawn in the workflow of the run. Copy its nodes, from AgentDefineTool on, into "
    "this one."
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Calls to draw, calls to leave out, and the kinds of their sources if known."""

    calls: Sequence[DrawnCall]
    left_out: Sequence[LeftOut] = ()
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])


def with_notes(drawing: Drawing, loaded: Settings, *, has_tools: bool) -> list[DrawnCall]:
    """Return the calls with a note at the first use of each missing tool or source.

    `has_tools`: the nodes of drawn tools are part of the workflow.
    """
    missing: set[str] = set()
    calls: list[DrawnCall] = []
    for call in drawing.calls:
        what, note = _lacking(call, drawing.kinds, loaded, has_tools=has_tools)
        is_new = what and what not in missing and not call.note
        calls.append(replace(call, note=note) if is_new else call)
        missing.add(what)
    return calls


def _lacking(
    call: DrawnCall, kinds: Mapping[str, str], loaded: Settings, *, has_tools: bool
) -> tuple[str, str]:
    """Return the missing tool or source of a call and the next step; empty if none is missing."""
    source = call.source
    if source == CANVAS_SOURCE:
        return ("", "") if has_tools else (call.name, _DRAWN_TOOL)
    if not loaded.file or source in loaded.sources or kinds.get(source) == BUILTIN.name:
        return "", ""
    noun = kind_named(kinds.get(source) or "mcp").noun
    suggestion = did_you_mean(source, loaded.sources)
    hint = f"{suggestion} " if suggestion else ""
    return source, f"The settings have no {noun} {source}. {hint}Add it, or correct the first line."


def nodes_before(drawing: Drawing, loaded: Settings) -> list[tuple[str, Mapping[str, Any]]]:
    """Return nodes for the sources that the settings do not have."""
    calls, kinds = drawing.calls, drawing.kinds
    used = {x.source for x in calls if kinds.get(x.source) == BUILTIN.name} - {*loaded.sources}
    return [
        ("AgentUseBuiltinTools", {"tools": ", ".join(dict.fromkeys(_tools_of(calls, name)))})
        for name in sorted(used)
    ]


def _tools_of(calls: Sequence[DrawnCall], source: str) -> Iterator[str]:
    yield from (x.tool for x in calls if x.source == source)
