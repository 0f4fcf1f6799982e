"""What was called next after a tool, counted from the calls in the log."""

from __future__ import annotations

from collections import Counter

from ..core.tools import META, ToolKey
from .event import Event
from .events_table import Range, is_failure
from .history import History

_CALLS = Range(changes=("called",), limit=5_000)  # the newest calls: people's work changes


def followers(history: History, tool: ToolKey) -> Counter[ToolKey]:
    """Return the tools called next after this one in a run, with counts; not failed calls."""
    counts = Counter[ToolKey]()
    last = dict[str, ToolKey]()
    for event in history.events(_CALLS):
        if is_failure(event) or not event.subject.is_tool or event.subject.kind == META:
            continue
        run, key = _run_of(event), event.subject.key
        counts[key] += last.get(run) == tool
        last[run] = key
    return +counts


def _run_of(event: Event) -> str:
    """Return the run of an agent; drawn steps have ids of their own, so theirs is the process."""
    payload = event.payload
    return str(payload.get("run_id", "")) if payload.get("agent") else event.run
