"""Ports of the nodes that use servers without a model.

Each function raises the errors of the `Bridge` method that it calls.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ..bridge.operations import Operations
from ..bridge.transcript import new_run_id
from ..console.text import count
from ..core.errors import XaiMcpError
from ..core.json import JsonObject
from ..core.results import ResourcePart, bytes_of, describe, fields_of
from ..core.util import fill_template
from ..views.changes import change_json
from ..views.servers import (
    marks_text,
    message_json,
    parts_json,
    refreshed_text,
    status_json,
    status_text,
    store_text,
)
from ..views.tools import tool_json, tool_text, unknown_text
from .at_node import at_node
from .ports import as_text

L = TypeVar("L", bound=Sequence[Any])


class CannotSave(XaiMcpError):
    """A file could not be written; the message says where and why."""


def list_tools(ctx: Any, server_name: str) -> dict[str, Any]:
    """Return the tools of a server, or of a group."""
    listing = _list_features(ctx, "MCPListTools", server_name, Operations.list_tools, "tool")
    lines = [*map(tool_text, listing.entries), *(f"Left out: {x}" for x in listing.failed.values())]
    lines += [unknown_text(listing.trouble)] if listing.trouble else []
    return {"tools": [tool_json(x) for x in listing.entries], "summary": "\n".join(lines)}


def call_tool(
    ctx: Any,
    server_name: str,
    tool_name: str,
    arguments: JsonObject,
    timeout_seconds: float | None = None,
) -> dict[str, Any]:
    """Return the result of a tool; None as the limit means the server's own."""
    fields = {"server": server_name, "tool": tool_name, "arguments": arguments}
    with at_node(ctx, "MCPCallTool", server_name, new_run_id(), **fields) as work:
        result = work.call(server_name, tool_name, arguments, timeout_seconds)
    return {**work.answer, "parts": parts_json(result)}


def read_resource(
    ctx: Any, server_name: str, uri: str, values: JsonObject, save_as: str
) -> dict[str, Any]:
    """Return a resource and the files it was saved to; without `uri` a list of all.

    Raises:
        CannotSave: the file cannot be written.
    """
    if not uri:
        return _list_resources(ctx, server_name)
    if values or "{" in uri:
        uri = fill_template(uri, values)
    with at_node(ctx, "MCPReadResource", server_name, server=server_name, uri=uri) as work:
        contents = work.wait(
            lambda operations: operations.read_resource(server_name, uri),
            waiting_for=f"the server {server_name} to read {uri}",
            summary=lambda _: f"read {uri}",
        )
        text = "\n".join(describe(x) for x in contents)
        files = save(contents, save_as) if save_as else []
        work.answer.update(text=text, files=files)
    return {"text": text, "contents": [fields_of(x) for x in contents], "files": files}


def _list_resources(ctx: Any, server: str) -> dict[str, Any]:
    resources = _list_features(
        ctx, "MCPReadResource", server, Operations.list_resources, "resource"
    )
    text = "\n".join(_line(x.uri, x.description or x.name) for x in resources)
    return {"text": text, "contents": [fields_of(x) for x in resources], "files": []}


def _list_features(
    ctx: Any,
    node: str,
    server: str,
    list_features: Callable[[Operations, str], Awaitable[L]],
    thing: str,
) -> L:
    with at_node(ctx, node, server, server=server) as work:
        things = work.wait(
            lambda operations: list_features(operations, server),
            waiting_for=f"the server {server}",
            summary=lambda x: count(len(x), thing),
        )
        work.answer["names"] = [getattr(x, "uri", x.name) for x in things]
    return things


def get_prompt(
    ctx: Any, server_name: str, prompt_name: str, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a filled-in prompt as messages for a model; without `prompt_name` a list of all.

    Prompts take only texts: any other value is passed as JSON.
    """
    if not prompt_name:
        return _list_prompts(ctx, server_name)
    texts = {key: as_text(value) for key, value in arguments.items()}
    fields: JsonObject = {"server": server_name, "prompt": prompt_name, "arguments": texts}
    with at_node(ctx, "MCPGetPrompt", server_name, **fields) as work:
        messages = work.wait(
            lambda operations: operations.get_prompt(server_name, prompt_name, texts),
            waiting_for=f"the server {server_name} to fill in {prompt_name}",
            summary=lambda x: f"prompt {prompt_name}, {count(len(x), 'message')}",
        )
        text = "\n".join(describe(x.content) for x in messages)
        work.answer["text"] = text
    return {"conversation": [message_json(x) for x in messages], "text": text, "prompts": []}


def _list_prompts(ctx: Any, server: str) -> dict[str, Any]:
    prompts = _list_features(ctx, "MCPGetPrompt", server, Operations.list_prompts, "prompt")
    text = "\n".join(_line(x.name, x.description) for x in prompts)
    return {"conversation": [], "text": text, "prompts": [fields_of(x) for x in prompts]}


def status(ctx: Any, server_name: str = "") -> dict[str, Any]:
    """Return the state of the servers; a named server is connected first.

    A disabled server, or one with invalid settings, is reported like any other.

    Raises:
        UnknownServer: the settings have no server of that name.
    """
    server = server_name
    with at_node(ctx, "MCPServerStatus", server, server=server) as work:
        if server in work.bridge.usable_servers():
            work.wait(
                lambda operations: operations.wait_for(server),
                waiting_for=f"the server {server}",
                summary=lambda failed: "cannot be used" if server in failed else "ready",
            )
        elif server and server not in work.bridge.settings.problems:
            work.bridge.settings.source(server)
        servers = [x for x in work.bridge.servers() if not server or x.name == server]
        marks = work.bridge.marks(*(x.name for x in servers))
        work.answer["states"] = {x.name: x.state for x in servers}
        lines = [*map(status_text, servers), *([marks_text(marks)] if marks else [])]
        lines.append(store_text(work.bridge.store()))
    return {"status": [status_json(x, marks) for x in servers], "summary": "\n".join(lines)}


def refresh_tools(ctx: Any, server_name: str = "", force: bool = False) -> dict[str, Any]:
    """List the tools of one server or of all again, and return what changed.

    The text names a server that cannot be listed.

    Raises:
        UnknownServer, SettingsError: a name that cannot be used.
    """
    server, label = server_name, server_name or "servers"
    with at_node(ctx, "MCPRefreshTools", label, server=server, force=force) as work:
        if server:
            work.bridge.settings.source(server)
        names = [server] if server else []
        lists = work.wait(
            lambda operations: operations.refresh(*names, force=force),
            waiting_for=f"the tools of {server or 'all servers'}",
            summary=lambda x: count(sum(len(one.tools) for one in x), "tool"),
        )
        total, failed = sum(len(x.tools) for x in lists), [x.server for x in lists if x.error]
        work.answer.update(tools=total, failed=failed)
    return {
        "tools": [{"server": x.server, **tool_json(tool)} for x in lists for tool in x.tools],
        "changes": [change_json(change) for x in lists for change in x.changes or ()],
        "text": "\n".join(refreshed_text(x) for x in lists),
    }


def _line(name: str, description: str | None) -> str:
    return f"{name}: {' '.join(description.split())}" if description else name


def save(contents: Sequence[ResourcePart], file: str) -> list[str]:
    """Write the contents to this file, creating folders, and return the paths.

    A resource with several contents goes to as many files: `page.png`, `page-2.png`, ...

    Raises:
        CannotSave: the file cannot be written.
    """
    target = Path(file).expanduser()
    further = (target.with_stem(f"{target.stem}-{n}") for n in range(2, len(contents) + 1))
    files = [target, *further][: len(contents)]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for path, part in zip(files, contents, strict=True):
            path.write_bytes(bytes_of(part))
    except OSError as cause:
        raise CannotSave(
            f"{target} could not be written: {cause.strerror or cause}. Choose another `save_as`."
        ) from cause
    return [str(x) for x in files]
