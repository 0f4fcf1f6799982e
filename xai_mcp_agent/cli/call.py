"""`xai-mcp-agent call`: call one tool by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from ..canvas.at_node import call_here
from ..console.text import progress_text
from ..core.errors import InvalidArguments
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..core.schemas import properties, signature, value_from_text
from ..core.tools import Tool as ListedTool
from ..views.servers import result_json
from .frame import LOOK, Report, StoreFrame
from .options import Arguments, Server, Timeout, Tool
from .output import say, say_result


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
            say_result(result.text, to_stderr=result.is_error)
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
