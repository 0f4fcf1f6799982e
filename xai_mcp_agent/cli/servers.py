"""`servers list` and `check`: the configured servers and their state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..core.events import SourceStatus
from ..core.json import JsonObject
from ..core.tools import MCP
from ..settings.load import load_settings
from ..settings.models import Settings
from ..views.servers import marks_text, status_json, status_text, store_json, store_text
from ..views.tools import unknown_text
from .component_files import clash_lines, find_clashes
from .frame import LOOK, Frame, Report, StoreFrame, no_settings
from .output import say

if TYPE_CHECKING:
    from ..policy.suspicion import Mark


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
        if bridge.settings.file and not frame.as_json:
            say(f"Servers in {bridge.settings.file}:")
        statuses = _connect(bridge, names, shows=not frame.as_json)
        marks = None
        if descriptions:
            marks = [x for x in bridge.marks() if not names or x.source in names]
        unknown = bridge.decisions_trouble()
        failed = bool(unknown) or any(x.error for x in statuses)
        status = 1 if failed else LOOK if marks else 0
        return _report(bridge, statuses, marks, unknown, status)


def _connect(bridge: Bridge, only: Sequence[str], *, shows: bool) -> list[SourceStatus]:
    """Connect these servers, or all, at once; print each as soon as it is ready or has failed."""
    names = [x for x in bridge.usable_servers() if not only or x in only]
    waiting: dict[Future[Any], str] = {bridge.submit(Operations.wait_for, n): n for n in names}
    printed: set[str] = set()
    for future in as_completed(waiting):
        future.result()
        name = waiting[future]
        if shows:
            _print_statuses(x for x in bridge.servers() if x.name == name)
        printed.add(name)
    statuses = [x for x in bridge.servers() if not only or x.name in only]
    if shows:
        _print_statuses(x for x in statuses if x.name not in printed)
    return statuses


def _print_statuses(statuses: Iterable[SourceStatus]) -> None:
    for status in statuses:
        say("\n".join(f"  {line}" for line in status_text(status).splitlines()))


def _report(
    bridge: Bridge,
    statuses: Sequence[SourceStatus],
    marks: list[Mark] | None,
    unknown: str,
    status: int,
) -> Report:
    """Report the store, the decisions and clashes as text, and everything as JSON."""
    settings, store = bridge.settings.file, bridge.store()
    clashes = find_clashes(Path(), *([Path(settings).parent] if settings else []))
    lines = [marks_text(marks)] if marks is not None else []
    lines += [store_text(store), *([unknown_text(unknown)] if unknown else [])]
    renamed = bridge.unused_decisions()
    lines += [f"note: {x}" for x in (*bridge.settings.notes, *([renamed] if renamed else []))]
    json = {
        "settings": settings,
        "servers": [status_json(x, marks) for x in statuses],
        "clashes": clashes,
        "store": store_json(store),
        "decisions": unknown,
    }
    return Report(json, "\n".join([*lines, *clash_lines(clashes)]), status=status)
