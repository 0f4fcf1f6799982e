"""`xai-mcp-agent tools list`, `refresh`, `enable`, `disable` and `accept`: the tools of servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..bridge.faces import Bridge
from ..bridge.operations.history import At, when
from ..catalog.entry import CatalogEntry, Refreshed, ToolListing
from ..console.terminal_questions import why_not_here
from ..console.text import clean
from ..core.errors import ReviewNeeded, SourceError, UnknownServer, XaiMcpError
from ..core.names import did_you_mean, nearest
from ..history.records import Records
from ..policy.decisions import Choice
from ..policy.review import digest_of_reviews, waiting_of
from ..views.servers import refreshed_json, refreshed_text
from ..views.tools import (
    NOTHING,
    choice_json,
    choice_text,
    records_json,
    records_text,
    review_text,
    tool_json,
    tool_text,
    unknown_text,
)
from .bridges import name_in_history, open_bridge, require_settings, server_named
from .history import opened, say_nothing_yet, shown_at
from .openapi import is_document, show_document
from .output import AsJson, AtTime, SettingsFile, StoreOption, echo_json, say, says_yes, text_width
from .tools_page import Listed, ToolsPage, names_to_paste
from .waits import shown_wait, start_limit

_NOTHING_THEN = "Nothing was known then."
_NO_PAGES = (
    "--named, --usable, --limit, --offset and --as-list choose among the tools that are there now: "
    "leave them out with --all and --at."
)
_AS_NOTED = "Decisions are told as the history noted them; `tools` has what counts now."

Server = Annotated[
    str, typer.Argument(help="The server, as the settings name it; `canvas` for drawn tools.")
]
Tools = Annotated[list[str], typer.Argument(help="Its tools, as the server names them.")]


def list_tools(
    server: Annotated[
        str | None,
        typer.Argument(
            metavar="SERVER|DOCUMENT",
            help="Only this server or group: its name, its URL or its command. Or the file or URL "
            "of an OpenAPI document.",
        ),
    ] = None,
    tool: Annotated[
        str | None,
        typer.Argument(help="Of an OpenAPI document: only this tool, and where its arguments go."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option("--base-url", help="The address of the service of an OpenAPI document."),
    ] = None,
    named: Annotated[
        str,
        typer.Option(
            "--named", metavar="PATTERN", help="Only tools whose names match, such as '*_order'."
        ),
    ] = "",
    usable: Annotated[
        bool, typer.Option("--usable", help="Only tools that agents may use now.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Show at most this many tools.")
    ] = None,
    offset: Annotated[int, typer.Option("--offset", min=0, help="Skip this many.")] = 0,
    as_list: Annotated[
        bool,
        typer.Option(
            "--as-list",
            help="Only names, to paste into `tools` of a node AgentUse...; with --json for the "
            "settings.",
        ),
    ] = False,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Include tools that are gone, and how often each was called."),
    ] = False,
    at: AtTime = None,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """List the tools of one server, of a group, or of all servers.

    --limit and --offset show one page. --as-list prints names that you can paste into a node: plain
    names for one server, `server/tool` for a group or all servers. --all shows every tool ever
    seen, with its calls and errors, and when and why it disappeared. --at shows the tools known at
    that time and starts no server.

    For an OpenAPI document (its name ends in .json, .yaml or .yml) it shows which tools it gives,
    and what cannot be a tool, and why. It reads only the document and calls nothing.
    """
    if server and (tool or base_url or is_document(server)):
        show_document(server, tool, base_url, as_json=as_json)
        return
    page = ToolsPage(named, usable, limit, offset)
    if (as_list or page != ToolsPage()) and (everything or at is not None):
        raise typer.BadParameter(_NO_PAGES)
    if at is not None:
        _tell_known_at(name_in_history(server, settings), at, store, settings, as_json=as_json)
        return
    if everything:
        _tell_known_now(server, store, settings, as_json=as_json)
        return
    with open_bridge(settings, store=store, as_json=as_json, servers=[server]) as bridge:
        server = server and server_named(bridge, server)
        require_settings(bridge)
        shown, listing = listed_tools(bridge, server, page)
        of_one = bool(server) and bridge.settings.group(server) is None
    failed, unknown = listing.failed, listing.trouble
    if as_list:
        _print_list(names_to_paste(shown, of_one=of_one), as_json=as_json)
        _tell_beside(page.left_text(shown, listing.total), failed)
    elif as_json:
        told = {name: [tool_json(x) for x in found] for name, found in shown.items()}
        echo_json({"tools": told, "total": listing.total, "failed": failed, "decisions": unknown})
    else:
        _print_tools(shown)
        if left := page.left_text(shown, listing.total):
            say(left)
        if unknown:
            say(unknown_text(unknown), to_stderr=True)
        _tell_beside("", failed)
    if failed or unknown:
        raise typer.Exit(1)


def refresh(
    server: Annotated[
        str | None, typer.Argument(help="Only this server: its name, its URL or its command.")
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Record every tool, even without changes."),
    ] = False,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Connect to one server, or all, and show what changed in their tools since last time.

    A server that cannot be listed is reported and the others go on; the exit status is then 1.
    """
    with open_bridge(settings, store=store, as_json=as_json, servers=[server]) as bridge:
        server = server and server_named(bridge, server)
        require_settings(bridge)
        if server:
            bridge.settings.source(server)
        names = [server] if server else bridge.usable_servers()
        found = bridge.refresh(*names, force=force)
        broken = [] if server else [str(x) for x in bridge.settings.problems.values()]
    if as_json:
        echo_json({"servers": [refreshed_json(x) for x in found], "problems": broken})
    else:
        _print_refreshed(found, broken)
    if broken or any(x.error for x in found):
        raise typer.Exit(1)


def listed_tools(
    bridge: Bridge, server: str | None = None, page: ToolsPage | None = None
) -> tuple[Listed, ToolListing]:
    """One page of the tools of one server or group, or of all, connected for it.

    Raises:
        UnknownServer: the settings have none of that name.
        SettingsError: something is wrong in that group.
    """
    names = [server] if server else list(bridge.usable_servers())
    is_group = bool(server) and bridge.settings.group(server) is not None
    if server and not is_group:
        bridge.settings.source(server)
    if not is_group:
        with shown_wait(names, start_limit(bridge.settings, names)):
            bridge.connect(*names, wait=True)
    options = asdict(page) if page else {}
    try:
        listing = bridge.list_tools(*([server] if server else []), **options)
    except SourceError as reason:
        listing = ToolListing(failed={server or "": str(reason)})
    for line in listing.notes:
        say(f"note: {line}", to_stderr=True)
    shown: dict[str, list[CatalogEntry]] = {}
    if page in (None, ToolsPage()) and not is_group:  # also those that have no tools
        shown = {name: [] for name in names if name not in listing.failed}
    for entry in listing.entries:
        shown.setdefault(entry.key.source, []).append(entry)
    return shown, listing


def _print_tools(listed: Listed) -> None:
    for name, found in listed.items():
        say(f"{name}:")
        for tool in found:
            say(f"  {tool_text(tool)}")


def _print_list(names: Sequence[str], *, as_json: bool) -> None:
    """What belongs into the box of a list on the canvas, or with brackets into the settings."""
    if as_json:
        echo_json(names)
    elif names:
        typer.echo(clean(json.dumps(names, ensure_ascii=False)[1:-1]))


def _tell_beside(left: str, failed: Mapping[str, str]) -> None:
    """Tell on stderr what is not among the tools that were listed."""
    for line in (left, *(f"error: {x}" for x in failed.values())):
        if line:
            say(line, to_stderr=True)


def _tell_known_now(
    server: str | None, store: str | None, settings: Path | None, *, as_json: bool
) -> None:
    """Connect the servers as far as that can be done, and tell all that is known of their tools.

    Without a settings file only the history is told.

    Raises:
        UnknownServer: neither the settings nor the history have it.
        Exit: some servers could not be connected; all is told.
    """
    with open_bridge(settings, store=store, as_json=as_json, servers=[server]) as bridge:
        server = server and server_named(bridge, server, is_needed=False)
        failed = _connected(bridge, server)
        records = bridge.records()
        place = bridge.store().place
        also = tuple(bridge.settings.names)
        _require(server, records, "is in the settings or the history", also)
    if as_json:
        echo_json({**records_json(records, server), "failed": failed})
    else:
        text = records_text(records, text_width(), server)
        say(f"Nothing is remembered yet in {place}." if text == NOTHING else text)
        for reason in failed.values():
            say(f"error: {reason}", to_stderr=True)
    if failed:
        raise typer.Exit(1)


def _tell_known_at(
    server: str | None, at: At, store: str | None, settings: Path | None, *, as_json: bool
) -> None:
    """Tell what was known at a time or position. Starts no server.

    Raises:
        UnknownServer: the history does not have it.
        StoreFailed: it cannot be used.
    """
    with opened(store, settings) as found:
        records, known = Records(), Records()
        if found is not None:
            records, known = found.records(when(at)), found.records()
    if found is not None:
        _require(server, known, "is in the history")
    if as_json:
        echo_json({**records_json(records, server), "failed": {}})
    elif found is None:
        say_nothing_yet(store, settings)
    else:
        text = records_text(records, text_width(), server)
        told = _NOTHING_THEN if text == NOTHING else f"{text}\n{_AS_NOTED}"
        say(f"As of {shown_at(at)}:\n{told}")


def _connected(bridge: Bridge, server: str | None) -> dict[str, str]:
    """Connect what can be; why the others cannot, by their names."""
    names = [x for x in bridge.usable_servers() if server in (None, x)]
    if names:
        bridge.connect(*names, wait=True)
    failed = {x: str(p) for x, p in bridge.settings.problems.items() if server in (None, x)}
    for name in names:
        try:
            bridge.list_tools(name)
        except XaiMcpError as reason:
            failed[name] = str(reason)
    return failed


def _require(server: str | None, records: Records, where: str, also: tuple[str, ...] = ()) -> None:
    known = {*also, *(x.shown_source for x in (*records.sources, *records.tools))}
    if server is not None and server not in known:
        names = sorted(known)
        hint = did_you_mean(server, names) or f"There is {', '.join(names) or 'none'}."
        raise UnknownServer(f"No server {server!r} {where}. {hint}", server, nearest(server, names))


def _print_refreshed(found: Sequence[Refreshed], broken: Sequence[str]) -> None:
    for one in found:
        error = "error: " if one.error else ""
        say(error + refreshed_text(one, text_width(), "  "), to_stderr=bool(error))
    for problem in broken:
        say(f"error: {problem}", to_stderr=True)


def disable(
    server: Server,
    tools: Tools,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Switch tools off: no agent is offered them until you switch them on again.

    Running workflows notice it when their next agent starts. `call` still calls them.
    """
    _decide(Bridge.disable, server, tools, store, settings, as_json=as_json)


def enable(
    server: Server,
    tools: Tools,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Switch tools on again that were switched off."""
    _decide(Bridge.enable, server, tools, store, settings, as_json=as_json)


def accept(
    server: Annotated[
        str | None, typer.Argument(help="The server, as the settings name it.")
    ] = None,
    tools: Annotated[
        list[str] | None, typer.Argument(help="Its tools, as the server names them.")
    ] = None,
    digest: Annotated[
        str,
        typer.Option(
            metavar="DIGEST",
            help="The digest of what you reviewed: accept it without being asked.",
        ),
    ] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="All tools of all servers that wait; asks about each.")
    ] = False,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Show how servers describe their tools, and accept it if you agree.

    For a tool that changed, only the difference is shown. Agents read only accepted descriptions of
    locked servers. In a script, --digest names the description that was reviewed.
    """
    if everything == bool(server) or (everything and digest):
        raise typer.BadParameter("Name a server, perhaps some of its tools too, or give --all.")
    with open_bridge(settings, store=store, as_json=as_json, servers=[server]) as bridge:
        servers = bridge.locked_servers() if not server else [server_named(bridge, server)]
        accept = _accepted if digest or as_json or why_not_here() else _accepted_when_asked
        choices = [x for name in servers for x in accept(bridge, name, tools or [], digest)]
    tell_choices(choices, as_json=as_json)


def _accepted(bridge: Bridge, server: str, tools: Sequence[str], digest: str) -> list[Choice]:
    """Accept what has this digest.

    Raises:
        ReviewNeeded: it does not; what waits is shown.
    """
    try:
        return bridge.accept(server, *tools, digest=digest)
    except ReviewNeeded:
        for read in waiting_of(bridge.review(server, *tools)):
            say(review_text(read), to_stderr=True)
        raise


def _accepted_when_asked(bridge: Bridge, server: str, tools: Sequence[str], _: str) -> list[Choice]:
    """Show what waits, and accept exactly that, if the person says yes."""
    while waiting := waiting_of(bridge.review(server, *tools)):
        say("\n".join(map(review_text, waiting)))
        if not says_yes(f"Accept this of {server!a}?"):
            say(f"{server}: nothing was accepted.")
            return []
        try:
            return bridge.accept(server, *tools, digest=digest_of_reviews(waiting))
        except ReviewNeeded:
            say("It is something else by now:")
    choices = bridge.accept(server, *tools)
    if not choices:
        say(f"{server}: nothing waits to be accepted.")
    return choices


def _decide(
    do: Callable[..., Sequence[Choice]],
    server: str,
    tools: Sequence[str],
    store: str | None,
    settings: Path | None,
    *,
    as_json: bool,
) -> None:
    with open_bridge(settings, store=store, as_json=as_json, servers=[server]) as bridge:
        choices = do(bridge, server_named(bridge, server, is_needed=False), *tools)
    tell_choices(choices, as_json=as_json)


def tell_choices(choices: Sequence[Choice], *, as_json: bool) -> None:
    """Print what was decided."""
    if as_json:
        echo_json([choice_json(x) for x in choices])
        return
    for choice in choices:
        say(choice_text(choice))
