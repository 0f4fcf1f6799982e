"""`tools list` and `refresh`, the tools of servers and of documents; `call`, one tool by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, cast

import typer
from typer import Argument, Option

from ..agent.results import NO_REASON
from ..bridge.faces import Bridge
from ..canvas.at_node import call_here
from ..catalog.entry import CatalogEntry, ToolListing
from ..console.text import clean, progress_text
from ..core.errors import InvalidArguments, SourceError, XaiMcpError
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..core.schemas import properties, signature, value_from_text
from ..core.tools import Tool as ListedTool
from ..history.event import At, Range
from ..history.records import Records
from ..views.servers import refreshed_json, refreshed_text, result_json
from ..views.tools import NOTHING, records_json, records_text, tool_json, tool_text, unknown_text
from .frame import LOOK, Report, StoreFrame, connect
from .history import moment_text
from .openapi import is_document, show_document
from .options import Arguments, AtTime, OneServer, Server, Timeout, Tool
from .output import say, say_result

_NOTHING_THEN = "There was no history then."
_NO_PAGES = (
    "--named, --usable, --limit, --offset and --as-list choose among the tools that are there now: "
    "leave them out with --all and --at."
)
_AS_NOTED = "Decisions are as recorded then; `tools list` shows the current ones."

ServerOrDocument = Annotated[
    str | None,
    Argument(
        metavar="SERVER|DOCUMENT",
        help="Only this server or group: its name, its URL or its command. Or the file or URL "
        "of an OpenAPI document.",
    ),
]
DocumentTool = Annotated[
    str | None, Argument(help="Of an OpenAPI document: only this tool, and where its arguments go.")
]
ServiceUrl = Annotated[
    str | None, Option(metavar="URL", help="The address of the service of an OpenAPI document.")
]
Named = Annotated[
    str, Option(metavar="PATTERN", help="Only tools whose names match, such as '*_order'.")
]
Usable = Annotated[bool, Option(help="Only tools that agents may use now.")]
PageLimit = Annotated[int | None, Option(min=1, help="Show at most this many tools.")]
Offset = Annotated[int, Option(min=0, help="Skip this many.")]
AsList = Annotated[
    bool,
    Option(
        help="Only names, to paste into `tools` of a node AgentUse...; with --json for the "
        "settings.",
    ),
]
Everything = Annotated[
    bool, Option("--all", help="Include tools that are gone, and how often each was called.")
]


@dataclass(frozen=True, slots=True)
class ToolsPage:
    """Choice of the listed tools: see `Bridge.list_tools`."""

    named: str = ""
    usable: bool = False
    limit: int | None = None
    offset: int = 0

    def remaining_text(self, listing: ToolListing) -> str:
        """Return how to see the other tools, or "" if these are all."""
        if self == ToolsPage():
            return ""
        total, here = listing.total, len(listing.entries)
        remaining = total - self.offset - here
        if remaining > 0:
            return f"{remaining:,} more of {total:,}: go on with --offset {self.offset + here}."
        return "" if here else f"There is no tool here, of {total:,} that match."


def list_tools(
    frame: StoreFrame,
    server: ServerOrDocument = None,
    tool: DocumentTool = None,
    base_url: ServiceUrl = None,
    named: Named = "",
    usable: Usable = False,
    limit: PageLimit = None,
    offset: Offset = 0,
    as_list: AsList = False,
    everything: Everything = False,
    at: AtTime = None,
) -> Report:
    """List the tools of one server, of a group, or of all servers.

    --as-list prints plain names for one server, `server/tool` for a group or all servers. --all
    shows every tool ever seen, with its calls and errors, and when and why it disappeared. --at
    starts no server.

    For an OpenAPI document (its name ends in .json, .yaml or .yml) it shows which tools it gives,
    and what cannot be a tool, and why. It reads only the document and calls nothing.
    """
    if server and (tool or base_url or is_document(server)):
        return show_document(server, tool, base_url)
    page = ToolsPage(named, usable, limit, offset)
    if (as_list or page != ToolsPage()) and (everything or at is not None):
        raise typer.BadParameter(_NO_PAGES)
    if at is not None:
        return _records_then(frame, frame.name_in_history(server), at)
    if everything:
        return _records_now(frame, server)
    with frame.bridge(server) as (bridge, names):
        is_group = bool(names) and bridge.settings.group(names[0]) is not None
        servers = [] if is_group else [*(names or bridge.usable_servers())]
        if not is_group:
            for name in names:
                bridge.settings.source(name)
            connect(bridge, servers)
        try:
            listing = bridge.list_tools(*names, **asdict(page))
        except SourceError as reason:
            listing = ToolListing(failed={names[0]: str(reason)})
    if as_list:
        return _names_report(frame, listing, page, of_one=bool(names) and not is_group)
    return _listing_report(listing, page, servers)


def _listing_report(listing: ToolListing, page: ToolsPage, servers: Sequence[str]) -> Report:
    """Report the tools of each server; the whole list also names the servers without tools."""
    tools: dict[str, list[CatalogEntry]] = {}
    if page == ToolsPage():
        tools = {name: [] for name in servers if name not in listing.failed}
    for entry in listing.entries:
        tools.setdefault(entry.key.source, []).append(entry)
    lines = list[str]()
    for name, entries in tools.items():
        lines += [f"{name}:", *(f"  {tool_text(x)}" for x in entries)]
    if remaining := page.remaining_text(listing):
        lines.append(remaining)
    json = {
        "tools": {name: [tool_json(x) for x in entries] for name, entries in tools.items()},
        "total": listing.total,
        "failed": listing.failed,
        "decisions": listing.trouble,
        "notes": list(listing.notes),
    }
    trouble = [unknown_text(listing.trouble)] if listing.trouble else []
    notes = [*listing.notes, *trouble]
    return Report(json, "\n".join(lines), listing.failed.values(), notes, int(bool(trouble)))


def _names_report(
    frame: StoreFrame, listing: ToolListing, page: ToolsPage, *, of_one: bool
) -> Report:
    """Report names to paste into a list on the canvas, or as JSON for the settings.

    They are plain for one source, else `source/tool`.
    """
    keys = [x.key for x in listing.entries]
    names = [x.name if of_one else f"{x.source}/{x.name}" for x in keys]
    errors = [*listing.failed.values(), *([listing.trouble] if listing.trouble else [])]
    if remaining := page.remaining_text(listing):
        say(remaining, to_stderr=True)
    if not frame.as_json and names:
        typer.echo(clean(json.dumps(names, ensure_ascii=False)[1:-1]))
    return Report(names, "", errors, listing.notes)


def refresh(frame: StoreFrame, server: OneServer = None) -> Report:
    """Connect to one server, or all, and show what changed in their tools since last time.

    A server that cannot be listed is reported and the others go on; the exit status is then 1.
    """
    with frame.bridge(server) as (bridge, names):
        for name in names:
            bridge.settings.source(name)
        refreshed = bridge.refresh(*names)
        broken = [] if names else [str(x) for x in bridge.settings.problems.values()]
    texts = [refreshed_text(x) for x in refreshed if not x.error]
    errors = [refreshed_text(x) for x in refreshed if x.error]
    json = {"servers": [refreshed_json(x) for x in refreshed], "problems": broken}
    return Report(json, "\n".join(texts), [*errors, *broken])


# Known tools of the past


def _records_now(frame: StoreFrame, server: str | None) -> Report:
    """Report all tools ever seen; servers are connected where possible.

    Raises:
        UnknownServer: neither the settings nor the history have it.
    """
    with frame.bridge(server, needs_server=False) as (bridge, names):
        name = names[0] if names else None
        if name in (None, *bridge.settings.names):
            failed = _connect(bridge, names)
        else:
            failed = dict[str, str]()
            bridge.history(name, limit=1)  # refuses a name that it does not have
        records, place = bridge.records(), bridge.store().place
    text = records_text(records, name)
    if text == NOTHING:
        text = f"There is no history yet in {place}."
    return Report({**records_json(records, name), "failed": failed}, text, failed.values())


def _records_then(frame: StoreFrame, server: str | None, at: At) -> Report:
    """Report the tools known at a time or position. Starts no server.

    Raises:
        UnknownServer: the history does not have it.
    """
    with frame.history({**records_json(Records(), server), "failed": {}}) as history:
        records = history.records(at)
        history.rows(Range(limit=1), server)  # refuses a name that it does not have
    text = records_text(records, server)
    text = _NOTHING_THEN if text == NOTHING else f"{text}\n{_AS_NOTED}"
    text = f"As of {moment_text(at)}:\n{text}"
    return Report({**records_json(records, server), "failed": {}}, text)


def _connect(bridge: Bridge, names: Sequence[str]) -> dict[str, str]:
    """Connect these servers, or all, and return why some failed, by name."""
    try:
        return dict(bridge.list_tools(*names).failed)
    except XaiMcpError as reason:
        return {names[0]: str(reason)}


# Calls


def call(
    frame: StoreFrame,
    server: Server,
    tool: Tool,
    arguments: Arguments = None,
    timeout: Timeout = None,
) -> Report:
    """Call one tool and print its result.

    Values are converted to the type of the parameter: count=3 is a number where the tool takes one.
    The exit status is 3 if the tool itself answers with an error.
    """
    with frame.bridge(server) as (bridge, [name]):
        values = read_arguments(arguments or [], bridge.tool(name, tool))
        if frame.as_json:  # a program cannot be asked
            result = bridge.call_tool(name, tool, values, timeout_seconds=timeout)
        else:
            result = call_here(bridge, name, tool, values, timeout, _print_progress)
            text = result.text or (NO_REASON if result.is_error else "")
            say_result(text, to_stderr=result.is_error)
    return Report(result_json(result), notes=result.notes, status=LOOK if result.is_error else 0)


def read_arguments(words: Sequence[str], tool: ListedTool) -> JsonObject:
    """Read the arguments of a command line: `name=value` words, or one JSON object.

    Raises:
        InvalidArguments: a word is neither, or names no parameter of the tool.
    """
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return _json_object(words[0], tool)
    schemas = properties(tool.input_schema)
    is_open = not schemas or tool.input_schema.get("additionalProperties") is True
    values: JsonObject = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise _unusable(tool, f"{word!r} is not of the form name=value")
        if name not in schemas and not is_open:
            raise _unusable(tool, f"no parameter {name!r}. {did_you_mean(name, schemas)}".rstrip())
        if name in values:
            raise _unusable(tool, f"{name!r} is given twice: leave one out")
        values[name] = value_from_text(text, schemas.get(name, {}))
    return values


def _json_object(text: str, tool: ListedTool) -> JsonObject:
    try:
        value: Any = json.loads(text)
    except ValueError as cause:
        raise _unusable(tool, f"not JSON: {cause}") from cause
    return cast(JsonObject, value)


def _unusable(tool: ListedTool, problem: str) -> InvalidArguments:
    return InvalidArguments(tool.name, [problem], signature(tool.input_schema))


def _print_progress(done: float, total: float | None, message: str) -> None:
    say(f"... {progress_text(done, total, message)}", to_stderr=True)
