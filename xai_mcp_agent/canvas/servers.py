"""Using servers without a model, for nodes and the command line: plain values in and out.

The functions for nodes raise what the method of `Bridge` that they are for raises, and
`BadSetting` for a port that is not wired or has a value of the wrong kind.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from ..bridge.operations import Operations
from ..bridge.transcript import new_run_id
from ..console.text import count
from ..core.json import JsonObject
from ..core.results import ToolResult, describe
from ..core.util import fill_template
from ..views.servers import (
    feature_json,
    marks_text,
    message_json,
    status_json,
    status_text,
    store_text,
)
from ..views.tools import tool_json, tool_text, unknown_text
from .ports import as_text, mapping, optional, positive, required
from .saving import save
from .transcript import used
from .waits import ask, call

L = TypeVar("L", bound=list[Any])

_SERVER = "server_name"


def list_tools(ctx: Any, server: str) -> tuple[list[JsonObject], str]:
    """The tools of a server, or of a group, as dicts, and as text to read."""
    listing = _listed(ctx, "MCPListTools", server, Operations.list_tools, "tool", lambda x: x.name)
    lines = [*map(tool_text, listing.entries), *(f"Left out: {x}" for x in listing.failed.values())]
    lines += [unknown_text(listing.trouble)] if listing.trouble else []
    return [tool_json(x) for x in listing.entries], "\n".join(lines)


def call_tool(
    ctx: Any, server: str, tool: str, arguments: JsonObject | None, timeout_seconds: float | None
) -> ToolResult:
    """Call a tool; 0 or None as a limit is the server's own."""
    node = "MCPCallTool"
    server, tool = required(server, _SERVER, node), required(tool, "tool_name", node)
    limit = positive(timeout_seconds, "timeout_seconds", node)
    given = mapping(arguments, "arguments", node)
    run_id = new_run_id()
    asked = {"server": server, "tool": tool, "arguments": given}
    with used(ctx, node, run_id=run_id, **asked) as (bridge, tell):
        result = call(bridge, server, tool, given, limit, node, run_id)
        tell(text=result.text, structured=result.structured, is_error=result.is_error)
    return result


def list_resources(ctx: Any, server: str) -> list[JsonObject]:
    """Resources and templates as dicts."""
    ask_for = Operations.list_resources
    found = _listed(ctx, "MCPListResources", server, ask_for, "resource", lambda x: x.uri)
    return [feature_json(x) for x in found]


def read_resource(
    ctx: Any, server: str, uri: str, values: JsonObject | None, save_as: str | None
) -> tuple[str, list[JsonObject], list[str]]:
    """The text of a resource, all its contents as dicts, and the files it was saved to.

    Raises:
        CannotSave: the file cannot be written.
    """
    node = "MCPReadResource"
    server, uri = required(server, _SERVER, node), required(uri, "uri", node)
    file = optional(save_as, "save_as", node)
    given = mapping(values, "values", node)
    if given or "{" in uri:
        uri = fill_template(uri, given)
    with used(ctx, node, server=server, uri=uri) as (bridge, tell):
        contents = ask(
            bridge, server, lambda operations: operations.read_resource(server, uri),
            awaited=f"{_awaited(server)} to read {uri}", tell=lambda found: f"read {uri}",
        )  # fmt: skip
        text = "\n".join(describe(x) for x in contents)
        files = save(contents, file) if file else []
        tell(text=text, files=files)
    return text, [feature_json(x) for x in contents], files


def list_prompts(ctx: Any, server: str) -> list[JsonObject]:
    """Prompts as dicts."""
    ask_for = Operations.list_prompts
    found = _listed(ctx, "MCPListPrompts", server, ask_for, "prompt", lambda x: x.name)
    return [feature_json(x) for x in found]


def get_prompt(
    ctx: Any, server: str, name: str, arguments: Mapping[str, Any] | None
) -> tuple[list[JsonObject], str]:
    """A filled-in prompt as messages for a model, and its text.

    Prompts take texts only: any other value is given as JSON.
    """
    node = "MCPGetPrompt"
    server, name = required(server, _SERVER, node), required(name, "prompt_name", node)
    given = mapping(arguments, "arguments", node)
    texts = {key: as_text(value) for key, value in given.items()}
    with used(ctx, node, server=server, prompt=name, arguments=texts) as (bridge, tell):
        messages = ask(
            bridge, server, lambda operations: operations.get_prompt(server, name, texts),
            awaited=f"{_awaited(server)} to fill in {name}",
            tell=lambda found: f"prompt {name}, {count(len(found), 'message')}",
        )  # fmt: skip
        text = "\n".join(describe(x.content) for x in messages)
        tell(text=text)
    return [message_json(x) for x in messages], text


def status(ctx: Any, server: str | None) -> tuple[list[JsonObject], str]:
    """How the servers are doing, as dicts and as text; a named one is connected first.

    One that is disabled, or wrong in the settings, is told of like any other.

    Raises:
        UnknownServer: the settings have no server of that name.
    """
    server = optional(server, _SERVER, "MCPServerStatus")
    with used(ctx, "MCPServerStatus", server=server) as (bridge, tell):
        if server in bridge.usable_servers():
            ask(
                bridge, server, lambda operations: operations.wait_for(server),
                awaited=_awaited(server), tell=lambda failed: _state(server, failed),
            )  # fmt: skip
        elif server and server not in bridge.settings.problems:
            bridge.settings.source(server)
        found = [x for x in bridge.servers() if not server or x.name == server]
        marks = bridge.marks(*(x.name for x in found))
        tell(states={x.name: x.state for x in found})
        told = [*map(status_text, found), *([marks_text(marks)] if marks else [])]
        told.append(store_text(bridge.store()))
    return [status_json(x, marks) for x in found], "\n".join(told)


def close(ctx: Any, server: str | None) -> None:
    """Close one server, or all."""
    server = optional(server, _SERVER, "MCPCloseServer")
    never_open = ("idle", "disabled")
    with used(ctx, "MCPCloseServer", server=server) as (bridge, _):
        opened = [x.name for x in bridge.servers() if x.state not in never_open]
        for name in [server] if server else opened:
            ask(
                bridge, name, partial(Operations.disconnect, server=name),
                awaited=f"{_awaited(name)} to end", tell=lambda _: "closed",
            )  # fmt: skip


def _listed(
    ctx: Any,
    node: str,
    server: str,
    ask_for: Callable[[Operations, str], Awaitable[L]],
    kind: str,
    name_of: Callable[[Any], str],
) -> L:
    """All that a server has of one kind; told on the screen and in the transcript."""
    server = required(server, _SERVER, node)
    with used(ctx, node, server=server) as (bridge, tell):
        found = ask(
            bridge, server, lambda operations: ask_for(operations, server),
            awaited=_awaited(server), tell=lambda found: count(len(found), kind),
        )  # fmt: skip
        tell(names=[name_of(x) for x in found])
    return found


def _awaited(server: str) -> str:
    return f"the server {server}"


def _state(server: str, failed: Mapping[str, object]) -> str:
    return "cannot be used" if server in failed else "ready"
