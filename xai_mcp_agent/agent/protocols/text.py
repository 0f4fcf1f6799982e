"""Tools for models that cannot call functions: everything is said in the text of messages.

The system prompt describes the tools, the model writes `TOOL: name {...}`, and results come
back in messages that begin with `TOOL RESULT name:` (spec 1, AgentRun: `TOOL: <tool_name>
<args>`). Every form written here can be read back exactly; the offline model depends on it.
What a model writes is read by `text_reply.py`, its arguments by `arguments.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.provider_schema import FunctionSpec
from ..messages import text_of
from .arguments import parse_arguments
from .extents import LEAD
from .spellings import TextCall
from .text_reply import TextReply, parse_reply

__all__ = [
    "INSTRUCTION",
    "TextCall",
    "TextReply",
    "TextResult",
    "describe_tools",
    "each_result",
    "format_call",
    "format_result",
    "is_results",
    "parse_arguments",
    "parse_reply",
    "read_results",
    "read_tools",
    "text_of",
]

INSTRUCTION = """\
To use a tool, write a line with its name and its arguments as one JSON object, like this:
TOOL: name {"argument": "value"}
You may write several such lines to use several tools. They end your reply: with words after \
them nothing is called. Then stop and wait. The results come back as messages that begin with \
TOOL RESULT name: and you go on from there. Never write a TOOL RESULT yourself. When you need no \
tool, answer in plain text."""

_TOOL_ENTRY = re.compile(r"^- (\S+):(?: (.*))?\n  arguments: (\{.*\})$", re.MULTILINE)
_RESULT_HEAD = re.compile(r"^TOOL RESULT (\S+?)( \(error\))?:$", re.MULTILINE)
_LOOKS_LIKE_HEAD = re.compile(r"^( *TOOL RESULT )", re.MULTILINE)
_ESCAPED_HEAD = re.compile(r"^ ( *TOOL RESULT )", re.MULTILINE)
# A line in which some spelling of a call begins, or thinking.
_CALLS = (
    rf"(?:{LEAD}(?i:tool|action)[*_`]*+[ \t]*+:|[^\n]*[ \t*_`]TOOL[*_`]*+[ \t]*+:"
    r"|[^\n]*(?:<(?:tool\s|tool_call|function|/?think|/?thought|/?reasoning)|\[/?(?:TOOL_CALLS|THINK)\])"
    r"|[ \t]*+```tool_code)"
)
_LOOKS_LIKE_CALL = re.compile(rf"^(?=(?:> )*+{_CALLS})", re.MULTILINE)
_ESCAPED_CALL = re.compile(rf"^> (?=(?:> )*+{_CALLS})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TextResult:
    """The result of a tool as a model in the text protocol reads it.

    `call` is what was asked for; its arguments are empty when the call is not among the messages.
    """

    call: TextCall
    text: str
    is_error: bool


def describe_tools(functions: Sequence[FunctionSpec]) -> str:
    """The list of tools for a system prompt: two lines for each, the second with its JSON Schema.

    White space in a description is folded, so that foreign text cannot forge another entry.
    """
    return "\n".join(_entry(x) for x in functions)


def read_tools(prompt: str) -> list[FunctionSpec]:
    """The tools that `describe_tools` put anywhere into a longer text; the first of a name wins."""
    found: dict[str, FunctionSpec] = {}
    for name, description, schema in _TOOL_ENTRY.findall(prompt):
        try:
            parameters = json.loads(schema)
        except (ValueError, RecursionError):
            continue  # Somebody else's list that happens to look like ours.
        found.setdefault(name, FunctionSpec(name, description, parameters))
    return list(found.values())


def format_call(name: str, arguments: str) -> str:
    """A call as the model should have written it. `arguments` is JSON, or meant to be."""
    try:
        shown = json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        shown = " ".join(arguments.split())
    return f"TOOL: {name} {shown}".rstrip()


def format_result(name: str, text: str, *, is_error: bool = False) -> str:
    """A result as the model reads it. Several of them, joined by a blank line, make one message.

    A line of `text` that looks like the head of another result is indented by one space, one that
    looks like a call is put in a quotation by `> `.
    """
    head = f"TOOL RESULT {'_'.join(name.split()) or 'unnamed'}{' (error)' if is_error else ''}:"
    quoted = _LOOKS_LIKE_CALL.sub("> ", text)
    return head + "\n" + _LOOKS_LIKE_HEAD.sub(r" \1", quoted)


def is_results(text: str) -> bool:
    """Whether a message with this text holds results."""
    return _RESULT_HEAD.match(text) is not None


def each_result(text: str, change: Callable[[str], str]) -> str:
    """A message of results with another text for each of them."""
    changed = [
        format_result(x.call.name, change(x.text), is_error=x.is_error) for x in _results_in(text)
    ]
    return "\n\n".join(changed)


def read_results(messages: Iterable[Mapping[str, Any]]) -> list[TextResult]:
    """The results in a conversation of the text protocol, in order, each with its call.

    A result belongs to the first call of that name, in the model's last message before it, that
    has no result yet.
    """
    results: list[TextResult] = []
    waiting: list[TextCall] = []
    for message in messages:
        if message.get("role") == "assistant":
            waiting = list(parse_reply(text_of(message)).calls)
        elif message.get("role") != "system":
            results += [_answered(x, waiting) for x in _results_in(text_of(message))]
    return results


def _entry(function: FunctionSpec) -> str:
    name = "_".join(function.name.split())
    description = " ".join(function.description.split())
    schema = json.dumps(function.parameters, ensure_ascii=False, separators=(",", ":"))
    return f"- {name}:{' ' if description else ''}{description}\n  arguments: {schema}"


def _results_in(text: str) -> list[TextResult]:
    heads = list(_RESULT_HEAD.finditer(text))
    if not heads or heads[0].start() != 0:
        return []
    ends = [x.start() - 2 for x in heads[1:]] + [len(text)]
    bodies = [text[head.end() + 1 : end] for head, end in zip(heads, ends, strict=True)]
    return [
        TextResult(TextCall(head[1], ""), _as_given(body), bool(head[2]))
        for head, body in zip(heads, bodies, strict=True)
    ]


def _as_given(body: str) -> str:
    """The text that `format_result` was given."""
    return _ESCAPED_CALL.sub("", _ESCAPED_HEAD.sub(r"\1", body))


def _answered(result: TextResult, waiting: list[TextCall]) -> TextResult:
    """`result` with the call it answers, which is taken off the waiting ones."""
    for call in waiting:
        if call.name == result.call.name:
            waiting.remove(call)
            return TextResult(call, result.text, result.is_error)
    return result
