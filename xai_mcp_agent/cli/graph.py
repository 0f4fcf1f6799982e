"""`history graph`: draw all servers and tools, and which of them fit together."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from typer import Option

from ..bridge.flows import MOST_FLOWS, flows_around
from ..core.errors import LockFailed, XaiMcpError
from ..history.event import At, Range
from ..policy.lock_document import DecisionLock
from ..policy.lockfile import find_lock, read_decisions
from ..settings.load import load_settings
from ..views.flows import flow_notes
from .frame import StoreFrame
from .history import Names
from .options import AtTime, OneServer, OneTool
from .output import say

if TYPE_CHECKING:
    from ..history.graph import Graph
    from ..history.history import History

Format: TypeAlias = Literal["mermaid", "json", "html"]

_BY_SUFFIX: dict[str, Format] = {".html": "html", ".htm": "html", ".json": "json"}


def graph(
    frame: StoreFrame,
    server: OneServer = None,
    tool: OneTool = None,
    limit: Annotated[
        int, Option(min=1, help="Show at most this many flows, the best ones.")
    ] = MOST_FLOWS,
    at: AtTime = None,
    format_: Annotated[
        Format | None, Option("--format", help="Default: from the name of FILE, else mermaid.")
    ] = None,
    out: Annotated[Path | None, Option(help="Write to this file. Default: print.")] = None,
) -> None:
    """Show the graph of all servers and tools ever seen, also those that are gone.

    It starts no server. With SERVER it shows only that server and its neighbours, and which results
    can feed which tools, and why. GitHub, GitLab and notebooks draw mermaid; html is a page for a
    browser. --json is --format json.
    """
    suffix = out.suffix.lower() if out else ""
    form = format_ or ("json" if frame.as_json else _BY_SUFFIX.get(suffix, "mermaid"))
    server = frame.name_in_history(server)
    with frame.history({"nodes": [], "edges": []}) as history:
        history_graph = _graph(history, at, (server, tool), limit, _decided(frame, at))
        text = _draw(history_graph, form, _time(history, at) if form == "html" else None)
    if out is None:
        say(text.rstrip("\n"))
    else:
        _write(out, text)
    for note in flow_notes(history_graph):
        say(f"note: {note}", to_stderr=True)


def _decided(frame: StoreFrame, at: At) -> DecisionLock | None:
    """Return the current decisions, or None if only the history counts: for the past or a file."""
    if at is not None or frame.store:
        return None
    try:
        return read_decisions(find_lock(load_settings(frame.settings)))
    except LockFailed as reason:
        say(
            f"note: Switched-off tools are shown as the history recorded them. {reason}",
            to_stderr=True,
        )
        return None


def _graph(history: History, at: At, names: Names, limit: int, lock: DecisionLock | None) -> Graph:
    is_off = None if lock is None else lock.is_off
    if names != (None, None):
        return flows_around(history.tool_graph(at, *names), is_off, limit)
    graph = history.graph(at)
    return graph if is_off is None else graph.marked(is_off)


def _draw(graph: Graph, form: Format, as_of: datetime | None) -> str:
    match form:
        case "mermaid":
            return graph.as_mermaid()
        case "json":
            return json.dumps(graph.as_json(), indent=2)
        case "html":
            from ..views.graph import graph_page  # loads the template library

            return graph_page(graph, as_of)


def _time(history: History, at: At) -> datetime | None:
    if at is None or isinstance(at, datetime):
        return at
    return next((x.event.time for x in history.rows(Range(after=at - 1, until=at))), None)


def _write(file: Path, text: str) -> None:
    if file.suffix.lower() == ".md":  # a Markdown page shows the drawing
        text = f"```mermaid\n{text.rstrip()}\n```"
    try:
        file.write_text(f"{text.rstrip()}\n", encoding="utf-8")
    except OSError as cause:
        raise XaiMcpError(
            f"{file} cannot be written: {cause.strerror}. Name another one."
        ) from cause
    say(f"Written: {file}")
