"""`xai-mcp-agent graph`: the event graph, to look at, to put into a page, or for programs."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from ..bridge.past.asking import At, when
from ..core.errors import XaiMcpError
from .options import AtTime, SettingsFile, StoreOption
from .output import say
from .past import opened, say_nothing_yet

if TYPE_CHECKING:
    from ..catalog.drawing.graph import Graph
    from ..history.store import Store

Format: TypeAlias = Literal["mermaid", "json", "html"]

_BY_SUFFIX: dict[str, Format] = {".html": "html", ".htm": "html", ".json": "json"}


def graph(
    at: AtTime = None,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="Default: what the name of FILE says, else mermaid."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write it there. Default: print it."),
    ] = None,
    store: StoreOption = None,
    settings: SettingsFile = None,
) -> None:
    """Give the graph of all servers and tools there ever were, and what is dead. Starts no server.

    mermaid is text that GitHub, GitLab and notebooks draw; html is a page for a browser.
    """
    wanted = format_ or _BY_SUFFIX.get(out.suffix.lower() if out else "", "mermaid")
    with opened(store, settings) as found:
        text = None if found is None else _drawn(found, at, wanted)
    if text is None:
        say_nothing_yet(store, settings)
    elif out is None:
        say(text.rstrip("\n"))
    else:
        _write(out, text)


def _drawn(store: Store, at: At, wanted: Format) -> str:
    from ..catalog.asking.past import graph_at  # loads SQLAlchemy

    found: Graph = graph_at(store, when(at))
    match wanted:
        case "mermaid":
            return found.as_mermaid()
        case "json":
            return json.dumps(found.as_json(), indent=2)
        case "html":
            from ..catalog.drawing.page import page_of  # loads a library for templates

            return page_of(found, _time(store, at))


def _time(store: Store, at: At) -> datetime | None:
    if at is None or isinstance(at, datetime):
        return at
    from ..catalog.asking.past import events_in
    from ..history.log import Range

    return next((x.time for x in events_in(store, Range(after=at - 1, until=at))), None)


def _write(file: Path, text: str) -> None:
    if file.suffix.lower() == ".md":  # where a page of Markdown shows the drawing
        text = f"```mermaid\n{text.rstrip()}\n```"
    try:
        file.write_text(f"{text.rstrip()}\n", encoding="utf-8")
    except OSError as cause:
        raise XaiMcpError(
            f"{file} cannot be written: {cause.strerror}. Name another one."
        ) from cause
    say(f"Written: {file}")
