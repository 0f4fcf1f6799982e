"""`xai-mcp-agent servers list` and `check`, `call`, `login` and `logout`."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from ..bridge.faces import Bridge
from ..bridge.operations import Operations
from ..canvas.at_node import call_here
from ..console.terminal_questions import Ended, open_page, read_line, why_not_here
from ..console.text import count, progress_text
from ..core.errors import InvalidArguments
from ..core.events import SourceStatus
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..core.questions import SignInRequest
from ..core.schemas import properties, signature, value_from_text
from ..core.tools import MCP, Tool
from ..settings.load import load_settings
from ..settings.models import Settings
from ..views.servers import (
    marks_text,
    result_json,
    status_json,
    status_text,
    store_json,
    store_text,
)
from ..views.tools import unknown_text
from .bridges import no_settings, open_bridge, require_settings, server_named, servers_named
from .component_files import clash_lines, find_clashes
from .given import LIMIT_WORDS, Timeout, in_our_words
from .output import AsJson, ServerName, SettingsFile, echo_json, say, say_result

if TYPE_CHECKING:
    from ..policy.suspicion import Mark

_MARKED = 3  # the exit status where what servers say has something odd in it
_TOOL_FAILED = 3  # the exit status where the tool itself answered with an error


def list_servers(settings: SettingsFile = None, as_json: AsJson = False) -> None:
    """List the servers in your settings, and what each starts or reaches. Starts no server."""
    loaded = load_settings(settings)
    if not loaded.file:
        raise no_settings(loaded)
    shown = [_listed(name, loaded) for name in loaded.names]
    if as_json:
        echo_json({"settings": loaded.file, "servers": shown, "groups": loaded.group_names})
        return
    say(f"Servers in {loaded.file}:")
    for server in shown:
        say(f"  {server['name']}: {server['kind']}, {server['state']}")
        for line in (*server["facts"], *([server["problem"]] if server["problem"] else [])):
            say(f"      {line}")
    if loaded.group_names:
        say(f"Groups: {', '.join(loaded.group_names)}")


def _listed(name: str, loaded: Settings) -> JsonObject:
    source, problem, kind = (
        loaded.sources.get(name),
        loaded.problems.get(name),
        loaded.kind_of(name),
    )
    state = "disabled" if source and source.disabled else "wrong" if problem else "enabled"
    return {
        "name": name,
        "kind": kind.name if kind else MCP.name,
        "state": state,
        "facts": [fact for part in loaded.parts if part.source == name for fact in part.facts],
        "problem": str(problem or ""),
    }


def check(
    only: Annotated[
        list[str] | None,
        typer.Argument(metavar="SERVER", help="Only these servers: names, URLs or commands."),
    ] = None,
    settings: SettingsFile = None,
    descriptions: Annotated[
        bool,
        typer.Option(
            "--descriptions", help="Also check the descriptions of tools for suspicious text."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Start the servers in your settings, or the ones you name, and show their state.

    The exit status is 1 if a server cannot be used or the decisions about tools cannot be read.
    With --descriptions it is 3 if a server describes its tools in a suspicious way.
    """
    with open_bridge(settings, as_json=as_json, servers=only or ()) as bridge:
        names = servers_named(bridge, only or ())
        require_settings(bridge)
        for name in names:
            bridge.settings.source(name)
        if bridge.settings.file and not as_json:
            say(f"Servers in {bridge.settings.file}:")
        found = _connected(bridge, names, quiet=as_json)
        marks = _marks(bridge, names) if descriptions else None
        unknown = bridge.decisions_trouble()
        _tell(bridge, found, marks, unknown, as_json=as_json)
    if unknown or any(x.error for x in found):
        raise typer.Exit(1)
    if marks:
        raise typer.Exit(_MARKED)


def call(
    server: ServerName,
    tool: Annotated[str, typer.Argument(help="The tool, as the server names it.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(help="name=value for each, or one JSON object such as '{\"a\": 1}'."),
    ] = None,
    timeout: Timeout = None,
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Call one tool and print its result.

    Values are converted to the type of the parameter: count=3 is a number where the tool takes one.
    """
    with open_bridge(settings, as_json=as_json, servers=[server]) as bridge:
        server = server_named(bridge, server)
        require_settings(bridge)
        listed = bridge.tool(server, tool)
        given = read_arguments(arguments or [], listed)
        with in_our_words(LIMIT_WORDS):
            if as_json:  # for a program: nobody is asked anything
                result = bridge.call_tool(server, tool, given, timeout_seconds=timeout)
            else:
                result = call_here(bridge, server, tool, given, timeout, _print_progress)
    if as_json:
        echo_json(result_json(result))
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
        if name in given:
            raise _unusable(tool, f"{name!r} is given twice: leave one out")
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


def _connected(bridge: Bridge, only: Sequence[str], *, quiet: bool) -> list[SourceStatus]:
    """Connect all servers at once, or these; each is shown as soon as its verdict is known."""
    names = [x for x in bridge.usable_servers() if not only or x in only]
    waiting: dict[Future[Any], str] = {bridge.submit(Operations.wait_for, n): n for n in names}
    shown: set[str] = set()
    for done in as_completed(waiting):
        done.result()
        name = waiting[done]
        if not quiet:
            _print_statuses(x for x in bridge.servers() if x.name == name)
        shown.add(name)
    found = [x for x in bridge.servers() if not only or x.name in only]
    if not quiet:
        _print_statuses(x for x in found if x.name not in shown)
    return found


def _marks(bridge: Bridge, only: Sequence[str]) -> list[Mark]:
    return [x for x in bridge.marks() if not only or x.source in only]


def _tell(
    bridge: Bridge,
    found: Sequence[SourceStatus],
    marks: list[Mark] | None,
    unknown: str,
    *,
    as_json: bool,
) -> None:
    """Say what is not about one server, or everything as JSON."""
    settings, store = bridge.settings.file, bridge.store()
    beside = [Path(settings).parent] if settings else []
    clashes = find_clashes(Path(), *beside)
    if as_json:
        shown = {"settings": settings, "servers": [status_json(x, marks) for x in found]}
        echo_json({**shown, "clashes": clashes, "store": store_json(store), "decisions": unknown})
        return
    if marks is not None:
        say(marks_text(marks))
    say(store_text(store))
    if unknown:
        say(unknown_text(unknown))
    renamed = bridge.unused_decisions()
    for note in (*bridge.settings.notes, *([renamed] if renamed else [])):
        say(f"note: {note}")
    for line in clash_lines(clashes):
        say(line)


def _print_statuses(found: Iterable[SourceStatus]) -> None:
    for status in found:
        say("\n".join(f"  {line}" for line in status_text(status).splitlines()))


def _print_progress(done: float, total: float | None, message: str) -> None:
    say(f"... {progress_text(done, total, message)}", to_stderr=True)


def login(
    server: ServerName,
    settings: SettingsFile = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only show the link; open it where you like.")
    ] = False,
) -> None:
    """Sign in to a server; every run on this machine then has access."""
    # Asked here, in the main thread, which is the one that may read.
    visit = _Visit(opens=not no_browser, reads=not why_not_here())
    with open_bridge(settings, servers=[server]) as bridge:
        server = server_named(bridge, server)
        require_settings(bridge)
        try:
            tools = bridge.sign_in(server, visit.sign_in)
        finally:
            visit.over.set()
    say(f"Signed in to {server}, which offers {count(len(tools), 'tool')}.")


def logout(server: ServerName, settings: SettingsFile = None) -> None:
    """Sign out of a server: its stored access is deleted."""
    with open_bridge(settings, servers=[server]) as bridge:
        server = server_named(bridge, server)
        require_settings(bridge)
        had_access = bridge.sign_out(server)
    if had_access:
        say(f"Signed out of {server}: its token is deleted here.")
    else:
        say(f"Nobody was signed in to {server}.")


class _Visit:
    """Shows one person the page to sign in, and takes the address where the browser ended."""

    def __init__(self, *, opens: bool, reads: bool) -> None:
        self.over = threading.Event()
        self._opens = opens
        self._reads = reads

    def sign_in(self, request: SignInRequest) -> str | None:
        """Called in a thread of its own."""
        say(f"{request.server} wants you to sign in at {request.host}.")
        if self._opens and open_page(request.url):
            say("Your browser should show the page now. If it does not, open this link:")
        else:
            say("Open this link in a browser:")
        say(f"\n  {request.url}\n")
        if not self._reads:
            return None
        say("If the browser ends at a page that it cannot show, copy the address of that page,")
        say("paste it here and press Enter. Otherwise just wait. Ctrl-C gives up.")
        return self._typed(time.monotonic() + request.limit_seconds)

    def _typed(self, deadline: float) -> str | None:
        """What the person types, if it comes to that."""
        while True:
            try:
                line = read_line(deadline, self.over).strip()
            except (Ended, TimeoutError):
                return None
            if line:
                return line
