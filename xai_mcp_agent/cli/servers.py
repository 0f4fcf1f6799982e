"""`xai-mcp-agent servers`, `tools` and `call`: the configured MCP servers from the command line.

Exit status: 0 all is well, 1 something failed, 2 wrong usage, 3 the tool itself answered
with an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ..bridge.bridge import Bridge
from ..bridge.deciding.marks import MarkedTool, marked_tools
from ..bridge.engine import Engine
from ..bridge.nodes.asking import call_here
from ..bridge.nodes.servers import parts_as_dicts, status_text, store_line, tool_as_dict, tool_line
from ..bridge.screen.values import progress_text
from ..core.errors import InvalidArguments, XaiMcpError
from ..core.events import SourceStatus
from ..core.names import did_you_mean
from ..core.schemas import properties, signature, value_from_text
from ..core.tools import JsonObject, Tool
from .clashes import clash_lines, find_clashes
from .known import tell_known_at, tell_known_now
from .options import AsJson, AtTime, SettingsFile, StoreOption
from .output import echo_json, say, say_result
from .past import absolute

_TOOL_FAILED = 3


def servers(settings: SettingsFile = None, as_json: AsJson = False) -> None:
    """Start every configured server and tell how it does, or why it cannot be used."""
    with Bridge.open(settings) as bridge:
        require_settings(bridge)
        if not as_json:
            say(f"Servers in {bridge.settings.file}:")
        found = _connected(bridge, quiet=as_json)
        _tell(bridge, found, as_json=as_json)
    if any(x.error for x in found):
        raise typer.Exit(1)


def tools(
    server: Annotated[str | None, typer.Argument(help="Only this server's tools.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that are gone, and how often each was called.")
    ] = False,
    at: AtTime = None,
    store: StoreOption = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """List the tools of one server, or of all of them.

    With --all every tool that there ever was, with its calls and errors, since when it is gone and
    why. With --at the same as it was known then; no server is started for that.
    """
    if at is not None:
        tell_known_at(server, at, store, settings, as_json=as_json)
        return
    if everything:
        tell_known_now(server, store, settings, as_json=as_json)
        return
    with Bridge.open(settings, store=absolute(store)) as bridge:
        require_settings(bridge)
        if server:
            bridge.settings.server(server)
        names = [server] if server else list(bridge.usable_servers())
        bridge.connect(*names, wait=True)
        listed, failed = _tools_of(bridge, names)
        if not server:  # those that the settings themselves make unusable
            failed |= {name: str(reason) for name, reason in bridge.settings.problems.items()}
    if as_json:
        shown = {name: [tool_as_dict(x) for x in found] for name, found in listed.items()}
        echo_json({"tools": shown, "failed": failed})
    else:
        _print_tools(listed)
        for reason in failed.values():
            say(f"error: {reason}", to_stderr=True)
    if failed:
        raise typer.Exit(1)


def call(
    server: Annotated[str, typer.Argument(help="The server, as the settings name it.")],
    tool: Annotated[str, typer.Argument(help="The tool, as the server names it.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="name=value for each, or one JSON object such as '{\"a\": 1}'."),
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="The longest wait, in seconds.")] = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Call one tool and print its result.

    Values are read as the parameters want them: count=3 is a number where one is wanted.
    """
    with Bridge.open(settings) as bridge:
        require_settings(bridge)
        listed = bridge.run(Engine.tool, server, tool)
        given = read_arguments(arguments or [], listed)
        if as_json:  # for a program: nobody is asked anything
            result = bridge.call_tool(server, tool, given, timeout_seconds=timeout)
        else:
            result = call_here(bridge, server, tool, given, timeout, _print_progress)
    if as_json:
        shown = {"is_error": result.is_error, "text": result.text, "structured": result.structured}
        echo_json({**shown, "parts": parts_as_dicts(result), "notes": result.notes})
    else:
        say_result(result.text, to_stderr=result.is_error)
        for note in result.notes:
            say(f"note: {note}", to_stderr=True)
    if result.is_error:
        raise typer.Exit(_TOOL_FAILED)


def read_arguments(words: Sequence[str], tool: Tool) -> JsonObject:
    """The arguments that words of a command line give: `name=value`s, or one JSON object.

    Raises:
        InvalidArguments: a word is neither, or names no parameter of the tool.
    """
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return _json_object(words[0], tool)
    known = properties(tool.input_schema)
    given: JsonObject = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise _unusable(tool, f"{word!r} is not of the form name=value")
        if (
            known
            and name not in known
            and tool.input_schema.get("additionalProperties") is not True
        ):
            raise _unusable(tool, f"no parameter {name!r}. {did_you_mean(name, known)}".rstrip())
        given[name] = value_from_text(text, known.get(name, {}))
    return given


def _json_object(text: str, tool: Tool) -> JsonObject:
    try:
        value: Any = json.loads(text)
    except ValueError as cause:
        raise _unusable(tool, f"not JSON: {cause}") from cause
    return cast(JsonObject, value)


def _unusable(tool: Tool, problem: str) -> InvalidArguments:
    return InvalidArguments(tool.name, [problem], signature(tool.input_schema))


def require_settings(bridge: Bridge) -> None:
    """Refuse to go on without a settings file.

    Raises:
        XaiMcpError: there is none; says where it was looked for.
    """
    if not bridge.settings.file:
        looked = "".join(f"\n  {place}" for place in bridge.settings.searched)
        raise XaiMcpError(
            f"No mcp_settings.json was found. Looked for:{looked}\n"
            "Run `xai-mcp-agent init` to write one, or name yours with --settings."
        )


def _connected(bridge: Bridge, *, quiet: bool) -> list[SourceStatus]:
    """Connect all servers at once; each is shown as soon as its verdict is known."""
    names = bridge.usable_servers()
    waiting: dict[Future[Any], str] = {bridge.submit(Engine.connect, [n]): n for n in names}
    shown: set[str] = set()
    for done in as_completed(waiting):
        done.result()
        name = waiting[done]
        if not quiet:
            _print_statuses(x for x in bridge.servers() if x.name == name)
        shown.add(name)
    found = bridge.servers()
    if not quiet:
        _print_statuses(x for x in found if x.name not in shown)
    return found


def _tell(bridge: Bridge, found: Sequence[SourceStatus], *, as_json: bool) -> None:
    """Say what is not about one server, or everything as JSON."""
    settings, store = bridge.settings.file, bridge.store()
    clashes = find_clashes(Path(), Path(settings).parent)
    if as_json:
        statuses, known = [asdict(x) for x in found], [asdict(x) for x in clashes]
        shown = {"settings": settings, "servers": statuses, "clashes": known}
        echo_json({**shown, "store": asdict(store)})
        return
    say(store_line(store))
    for note in bridge.settings.notes:
        say(f"note: {note}")
    for line in clash_lines(clashes):
        say(line)


def _print_statuses(found: Iterable[SourceStatus]) -> None:
    for status in found:
        say("\n".join(f"  {line}" for line in status_text(status).splitlines()))


def _tools_of(
    bridge: Bridge, names: Sequence[str]
) -> tuple[dict[str, list[MarkedTool]], dict[str, str]]:
    listed: dict[str, list[MarkedTool]] = {}
    failed: dict[str, str] = {}
    for name in names:
        try:
            listed[name] = bridge.run(marked_tools, name)
        except XaiMcpError as reason:
            failed[name] = str(reason)
    return listed, failed


def _print_tools(listed: dict[str, list[MarkedTool]]) -> None:
    for name, found in listed.items():
        say(f"{name}:")
        for tool in found:
            say(f"  {tool_line(tool)}")


def _print_progress(done: float, total: float | None, message: str) -> None:
    say(f"... {progress_text(done, total, message)}", to_stderr=True)
