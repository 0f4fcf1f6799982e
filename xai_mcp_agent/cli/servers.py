"""`servers list` and `check`: the configured servers and their state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from ..core.json import JsonObject
from ..core.tools import MCP
from ..settings.load import load_settings
from ..settings.models import Settings
from ..views.servers import marks_text, status_json, status_text, store_text
from ..views.tools import unknown_text
from .component_files import clash_lines, find_clashes
from .frame import LOOK, Frame, Report, StoreFrame, connect, no_settings


def list_servers(frame: Frame) -> Report:
    """List the servers in your settings, and what each starts or reaches. Starts no server."""
    loaded = load_settings(frame.settings)
    if not loaded.file:
        raise no_settings(loaded)
    servers = [_server_json(name, loaded) for name in loaded.names]
    lines = [f"Servers in {loaded.file}:"]
    for server in servers:
        lines.append(f"  {server['name']}: {server['kind']}, {server['state']}")
        lines += [f"      {x}" for x in (*server["facts"], server["problem"]) if x]
    if loaded.group_names:
        lines.append(f"Groups: {', '.join(loaded.group_names)}")
    json = {"settings": loaded.file, "servers": servers, "groups": loaded.group_names}
    return Report(json, "\n".join(lines))


def _server_json(name: str, loaded: Settings) -> JsonObject:
    source, problem = loaded.sources.get(name), loaded.problems.get(name)
    kind = loaded.kind_of(name)
    state = "disabled" if source and source.disabled else "wrong" if problem else "enabled"
    return {
        "name": name,
        "kind": kind.name if kind else MCP.name,
        "state": state,
        "facts": [fact for part in loaded.parts if part.source == name for fact in part.facts],
        "problem": str(problem or ""),
    }


def check(
    frame: StoreFrame,
    only: Annotated[
        list[str] | None,
        Argument(metavar="SERVER", help="Only these servers: names, URLs or commands."),
    ] = None,
    descriptions: Annotated[
        bool, Option(help="Also check the descriptions of tools for suspicious text.")
    ] = False,
) -> Report:
    """Start the servers in your settings, or the ones you name, and show their state.

    The exit status is 1 if a server cannot be used or the decisions about tools cannot be read.
    With --descriptions it is 3 if a server describes its tools in a suspicious way.
    """
    with frame.bridge(*(only or ())) as (bridge, names):
        for name in names:
            bridge.settings.source(name)
        connect(bridge, [x for x in bridge.usable_servers() if x in names or not names])
        statuses = [x for x in bridge.servers() if x.name in names or not names]
        marks = bridge.marks(*names) if descriptions else None
        unknown, renamed, store = (
            bridge.decisions_trouble(),
            bridge.unused_decisions(),
            bridge.store(),
        )
        settings = bridge.settings
    clashes = find_clashes(Path(), *([Path(settings.file).parent] if settings.file else []))
    lines = [f"Servers in {settings.file}:"] if settings.file else []
    lines += [f"  {x}" for status in statuses for x in status_text(status).splitlines()]
    lines += [marks_text(marks)] if marks is not None else []
    lines += [store_text(store), *([unknown_text(unknown)] if unknown else [])]
    lines += [f"note: {x}" for x in (*settings.notes, *([renamed] if renamed else []))]
    json = {
        "settings": settings.file,
        "servers": [status_json(x, marks) for x in statuses],
        "clashes": clashes,
        "store": store,
        "decisions": unknown,
    }
    failed = bool(unknown) or any(x.error for x in statuses)
    text = "\n".join([*lines, *clash_lines(clashes)])
    return Report(json, text, status=1 if failed else LOOK if marks else 0)
