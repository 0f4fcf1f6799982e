"""Sanitizer of handshakes and listings: a broken part costs only itself.

The SDK refuses a whole listing for one bad tool and a whole result for one unknown block, and it
copies everything it reads several times, on the event loop. So it gets only the frame of a result;
the content stays with the `McpRequest`, and `convert.py` reads it as it came.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from ...core.json import JsonObject, as_object, children, is_list, is_object

Note: TypeAlias = Callable[[str], None]

_MAX_DEPTH = 450
# For a server that names no version; every later version adds to this one.
_DEFAULT_VERSION = "2024-11-05"
_INFO_TEXTS = ("name", "title", "version", "description", "websiteUrl")
FRAMES: dict[str, JsonObject] = {
    "tools/list": {"tools": []},
    "tools/call": {"content": [], "isError": True},
    "prompts/list": {"prompts": []},
    "prompts/get": {"messages": []},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "resources/read": {"contents": []},
    "completion/complete": {"completion": {"values": []}},
}
"""Smallest result of each method that the SDK accepts.

The SDK checks the result of a call against its tool's schema unless it is an error. We do that: the
SDK would list again for unknown tools, and check on the event loop with a library that can hold up
every server for seconds by its import alone.
"""


def handshake(method: str, result: JsonObject) -> JsonObject:
    """Return the valid parts of a handshake."""
    fields = {x: y for x, y in result.items() if x != "instructions" or isinstance(y, str)}
    declared = fields.get("capabilities")
    capabilities: JsonObject = declared if is_object(declared) else {"tools": {}}
    fields["capabilities"] = {name: {} for name, x in capabilities.items() if is_object(x)}
    if not is_object(fields.get("_meta")):
        fields.pop("_meta", None)
    if method == "server/discover":
        return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **fields}
    if not isinstance(fields.get("protocolVersion"), str):
        fields["protocolVersion"] = _DEFAULT_VERSION
    info = as_object(fields.get("serverInfo"))
    texts = {x: y for x, y in info.items() if x in _INFO_TEXTS and isinstance(y, str)}
    fields["serverInfo"] = {"name": "", "version": "", **texts}
    return fields


def usable_tools(items: Any, note: Note) -> tuple[list[JsonObject], JsonObject]:
    """Return the usable tools, and by name the SDK's frames of tools with header arguments.

    The tools stay as they came. `note` gets a line for each tool that is left out.
    """
    if not is_list(items):
        note("The listing has no list of tools.")
        return [], {}
    tools: list[JsonObject] = []
    frames: JsonObject = {}
    for tool in map(as_object, items):
        name, schema = tool.get("name"), tool.get("inputSchema")
        if not isinstance(name, str) or not name:
            note("A tool without a name was left out.")
        elif problem := _problem_of(tool):
            note(f"Tool {name!r} was left out: {problem}.")
        else:
            tools.append(tool)
            if '"x-mcp-header"' in json.dumps(schema):
                frames[name] = {
                    "name": name,
                    "inputSchema": {**tool["inputSchema"], "type": "object"},
                }
    return tools, frames


def _problem_of(tool: JsonObject) -> str:
    schema = tool.get("inputSchema")
    kind = schema.get("type", "object") if is_object(schema) else None
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        return "its inputSchema is not an object schema"
    if _is_deep(tool):
        return "it is nested too deeply"
    if as_object(tool.get("execution")).get("taskSupport") == "required":
        return "its calls must be tasks of MCP 2025-11-25, which are not supported"
    try:
        json.dumps(tool, allow_nan=False)
    except ValueError:
        return "it has a number that JSON cannot represent"
    return ""


def _is_deep(value: Any) -> bool:
    """Return whether the value is nested too deeply for some reader or writer of JSON."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [part for x in level for part in children(x)]
        if not level:
            return False
    return True
