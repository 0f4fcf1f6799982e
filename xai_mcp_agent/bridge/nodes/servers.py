"""Using servers without a model, for nodes and the command line: plain values in and out.

The functions for nodes raise what the method of `Bridge` that they are for raises, and
`BadSetting` for a port that is not wired or has a value of the wrong kind.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar

from ...core.events import SourceStatus
from ...core.results import ImagePart, ResourcePart, TextPart, ToolResult, describe
from ...core.schemas import signature
from ...core.templates import fill_template
from ...core.tools import JsonObject
from ..deciding.marks import MarkedTool, marked_tools
from ..engine import Engine
from ..past.asking import StoreStatus
from ..ports import as_text, mapping, optional, positive, required
from ..saving import save
from ..screen.values import count
from ..transcript import used
from .asking import ask, call

T = TypeVar("T")

_SERVER = "server_name"
_DESCRIPTION_CHARS = 100


def list_tools(ctx: Any, server: str) -> tuple[list[JsonObject], str]:
    """The server's tools as dicts, and as text to read."""
    tools = _listed(ctx, "MCPListTools", server, marked_tools, "tool", lambda x: x.tool.name)
    return [tool_as_dict(x) for x in tools], "\n".join(tool_line(x) for x in tools)


def call_tool(
    ctx: Any, server: str, tool: str, arguments: JsonObject | None, timeout_seconds: float | None
) -> ToolResult:
    """Call a tool; 0 or None as a limit is the server's own."""
    node = "MCPCallTool"
    server, tool = required(server, _SERVER, node), required(tool, "tool_name", node)
    limit = positive(timeout_seconds, "timeout_seconds", node)
    given = mapping(arguments, "arguments", node)
    with used(ctx, node, server=server, tool=tool, arguments=given) as (bridge, tell):
        result = call(bridge, server, tool, given, limit)
        tell(text=result.text, is_error=result.is_error)
    return result


def list_resources(ctx: Any, server: str) -> list[JsonObject]:
    """Resources and templates as dicts."""
    node, ask_for = "MCPListResources", Engine.list_resources
    found = _listed(ctx, node, server, ask_for, "resource", lambda x: x.uri)
    return [asdict(x) for x in found]


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
            bridge, server, lambda engine: engine.read_resource(server, uri),
            awaited=f"{_awaited(server)} to read {uri}", tell=lambda found: f"read {uri}",
        )  # fmt: skip
        text = "\n".join(describe(x) for x in contents)
        files = save(contents, file) if file else []
        tell(text=text, files=files)
    return text, [asdict(x) for x in contents], files


def list_prompts(ctx: Any, server: str) -> list[JsonObject]:
    """Prompts as dicts."""
    node, ask_for = "MCPListPrompts", Engine.list_prompts
    found = _listed(ctx, node, server, ask_for, "prompt", lambda x: x.name)
    return [asdict(x) for x in found]


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
            bridge, server, lambda engine: engine.get_prompt(server, name, texts),
            awaited=f"{_awaited(server)} to fill in {name}",
            tell=lambda found: f"prompt {name}, {count(len(found), 'message')}",
        )  # fmt: skip
        text = "\n".join(describe(x.content) for x in messages)
        tell(text=text)
    return [{"role": x.role, "content": _message_content(x.content)} for x in messages], text


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
                bridge, server, lambda engine: engine.connect([server]),
                awaited=_awaited(server), tell=lambda failed: _state(server, failed),
            )  # fmt: skip
        elif server and server not in bridge.settings.problems:
            bridge.settings.server(server)
        found = [x for x in bridge.servers() if not server or x.name == server]
        tell(states={x.name: x.state for x in found})
        told = [*map(status_text, found), store_line(bridge.store())]
    return [asdict(x) for x in found], "\n".join(told)


def close(ctx: Any, server: str | None) -> None:
    """Close one server, or all."""
    server = optional(server, _SERVER, "MCPCloseServer")
    never_open = ("idle", "disabled")
    with used(ctx, "MCPCloseServer", server=server) as (bridge, _):
        opened = [x.name for x in bridge.servers() if x.state not in never_open]
        for name in [server] if server else opened:
            ask(
                bridge, name, partial(Engine.disconnect, server=name),
                awaited=f"{_awaited(name)} to end", tell=lambda _: "closed",
            )  # fmt: skip


def _listed(
    ctx: Any,
    node: str,
    server: str,
    ask_for: Callable[[Engine, str], Awaitable[list[T]]],
    kind: str,
    name_of: Callable[[T], str],
) -> list[T]:
    """All that a server has of one kind; told on the screen and in the transcript."""
    server = required(server, _SERVER, node)
    with used(ctx, node, server=server) as (bridge, tell):
        found = ask(
            bridge, server, lambda engine: ask_for(engine, server),
            awaited=_awaited(server), tell=lambda found: count(len(found), kind),
        )  # fmt: skip
        tell(names=[name_of(x) for x in found])
    return found


def _awaited(server: str) -> str:
    return f"the server {server}"


def _state(server: str, failed: Mapping[str, object]) -> str:
    return "cannot be used" if server in failed else "ready"


def tool_as_dict(marked: MarkedTool) -> JsonObject:
    """A tool for people and JSON; what it does not say is None."""
    tool = marked.tool
    return {
        "name": tool.name,
        "title": tool.title,
        "icons": [asdict(x) for x in tool.icons],
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": asdict(tool.annotations),
        "note": tool.note,
        "is_enabled": marked.is_enabled,
        "is_changed": marked.is_changed,
    }


def tool_line(marked: MarkedTool) -> str:
    """A tool in one line: how to call it, what was decided about it, and what it does."""
    tool, marks = marked.tool, f" ({marked.marks})" if marked.marks else ""
    first = (tool.description.strip().splitlines() or [""])[0]
    short = first if len(first) <= _DESCRIPTION_CHARS else f"{first[:_DESCRIPTION_CHARS]}..."
    titled = tool.title if tool.title and tool.title not in (tool.name, short) else ""
    words = ". ".join(x.rstrip(".") if x == titled else x for x in (titled, short) if x)
    call = f"{tool.name}({signature(tool.input_schema)})"
    return f"{call}{marks}: {words}" if words else f"{call}{marks}"


def status_text(found: SourceStatus) -> str:
    """A server in a line or more: what it is, or why it cannot be used and what to do."""
    lines = [f"{found.name}: {found.state}"]
    if found.state == "ready":
        lines[0] += f", {found.tool_count} tools in {found.connect_seconds or 0:.1f} s"
        lines[0] += f", {found.transport}, protocol {found.era}"
    if found.signed_in:
        lines.append(f"  Signed in at {found.signed_in}")
    if found.error:
        lines.append(f"  {found.error}")
        lines += [f"    stderr: {line}" for line in found.stderr_tail]
    if found.next_step:
        lines.append(f"  Next step: {found.next_step}")
    return "\n".join([*lines, *(f"  Note: {note}" for note in found.notes)])


def store_line(store: StoreStatus) -> str:
    """Where the history is kept, or why nothing is remembered now."""
    return f"History: not kept now. {store.error}" if store.error else f"History: {store.place}"


def parts_as_dicts(result: ToolResult) -> list[JsonObject]:
    """Every part of a result with its kind: text, image, audio, link, resource, unknown."""
    kinds = (type(part).__name__.removesuffix("Part").lower() for part in result.parts)
    return [{"kind": k, **asdict(p)} for k, p in zip(kinds, result.parts, strict=True)]


def _message_content(part: Any) -> str | Sequence[JsonObject]:
    """A prompt's part as a model takes it: text, or a picture it may look at."""
    match part:
        case TextPart(text):
            return text
        case ImagePart(data, mime_type):
            return [{"type": "image_url", "image_url": {"url": f"data:{mime_type};base64,{data}"}}]
        case ResourcePart(text=str(text)):
            return text
        case _:
            return describe(part)
