"""Reads calls that are written in other ways than the one we teach.

Each function gets the place of a mark that begins such a call, and gives the calls and
where they end, or None where none is meant.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias, cast

from .extents import LEAD, LINE_ENDS, Extents, as_json, without_fence

IsTool: TypeAlias = Callable[[str], bool]
"""Whether there is a tool of this name."""

# Longer than any name of a tool; a bound, because every place may be tried as one.
NAME = r"-*+\w[\w./:-]{0,255}+"
_NAME_KEYS = ("name", "tool", "tool_name", "function", "action")
_ARGUMENT_KEYS = ("arguments", "args", "parameters", "params", "input", "action_input")
# What else stands beside name and arguments in the messages that models were trained on.
_OTHER_KEYS = {"id", "type", "index", "call_id"}
OPENS_JSON = rf'[\[{{](?=[\s\[{{]{{0,60}}+"(?:{"|".join((*_NAME_KEYS, *_ARGUMENT_KEYS))}|id|type)")'
_WRAPPED_ENDS = re.compile(r"</(?:tool_calls?|function_calls?)>")
_FUNCTION = re.compile(rf"\s*+<function=(?P<function>{NAME})>?")
_FUNCTION_ENDS = re.compile(r"</function>")
_PARAMETER = re.compile(r"\s*+<parameter=([\w.-]{1,255})>(.*)", re.DOTALL)
_TOOL_ENDS = re.compile(r"</tool>")
_LISTED = re.compile(rf"\s*+(?P<name>{NAME})(?:\[CALL_ID\]\w*+)?(?:\[ARGS\])?[ \t]*+(?=\{{)")
_SPACE = re.compile(r"\s*+")
_CODE_CALL = re.compile(
    rf"\s*+(?:\w+[ \t]*+=[ \t]*+)?(?P<print>print\()?(?P<name>{NAME})[ \t]*+(?=\()"
)
_CLOSES_PRINT = re.compile(r"[ \t]*+\)")
_ACTION_NAME = re.compile(rf"[*_`\"' \t]*+(?P<name>{NAME})")
_ACTION_OBJECT = re.compile(r"[*_` \t]*+\n?[ \t]*+(?:```[\w+-]*+[ \t]*+\n?)?(?=\{)")
_ACTION_INPUT = re.compile(
    rf"[*_`\"' \t.]*+\n\s{{0,80}}+{LEAD}(?i:action[ _]input)[*_`]*+[ \t]*+:[*_]*+[ \t]*+"
)
_FENCE_CLOSES = re.compile(r"\s*+```")


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call found in a text. `name` may be empty or unknown; `arguments` is the text it wrote.

    `written` is the whole text that makes the call.
    """

    name: str
    arguments: str
    written: str = field(default="", compare=False)


class Found(NamedTuple):
    """Calls and the place where they end. `sure`: whatever they name, nothing else is meant."""

    calls: tuple[TextCall, ...]
    end: int
    sure: bool = True


def named_element(text: str, extents: Extents, mark: re.Match[str]) -> Found:
    """`<tool name="x">arguments</tool>`, the form taught by XpressAI's xai-agent prompts."""
    name = mark["xml_name"].strip()
    if mark["empty"]:
        return Found((TextCall(name, ""),), mark.end())
    body_end, end = extents.element(mark.end(), _TOOL_ENDS)
    return Found((TextCall(name, without_fence(text[mark.end() : body_end])),), end)


def wrapped_json(text: str, extents: Extents, start: int) -> Found:
    """`<tool_call>{"name": ..., "arguments": ...}</tool_call>`, as of Qwen and Hermes."""
    body_end, end = extents.element(start, _WRAPPED_ENDS)
    body = without_fence(text[start:body_end])
    function = _FUNCTION.match(body)
    if function:
        call = TextCall(function["function"], _parameters(body[function.end() :]))
        return Found((call,), end)
    return Found(_calls_in(as_json(body)) or (TextCall("", body.strip()),), end)


def function_element(text: str, extents: Extents, mark: re.Match[str]) -> Found:
    """`<function=name>{...}</function>`, as of Llama, or with `<parameter=a>1</parameter>`."""
    body_end, end = extents.element(mark.end(), _FUNCTION_ENDS)
    return Found((TextCall(mark["function"], _parameters(text[mark.end() : body_end])),), end)


def listed(text: str, extents: Extents, start: int) -> Found | None:
    """`[TOOL_CALLS] [{"name": ..., "arguments": ...}]` or `[TOOL_CALLS]name{...}`, of Mistral."""
    at = extents.skip(_SPACE, start)
    if text.startswith(("[", "{"), at):
        end = extents.object(at)
        return Found(_calls_in(as_json(text[at:end])) or (TextCall("", text[at:end]),), end)
    named = _LISTED.match(text, start)
    if named is None:
        return None
    end = extents.object(named.end())
    return Found((TextCall(named["name"], text[named.end() : end].strip()),), end)


def json_calls(text: str, extents: Extents, start: int) -> Found | None:
    """JSON with a name and arguments that makes up the rest of its line; without calls if other."""
    end = extents.bracket(start)
    value = as_json(text[start:end]) if end is not None else None
    if end is None or value is None:
        return None
    calls = _calls_in(value) if _is_exactly_calls(value) and LINE_ENDS.match(text, end) else ()
    return Found(calls, end, sure=False)


def code_calls(text: str, extents: Extents, start: int) -> Found | None:
    """The lines of a fence `tool_code`, as of Gemma: `name(a=1)`, or that in `print(...)`."""
    calls: list[TextCall] = []
    at = start
    while not text.startswith("```", at := extents.skip(_SPACE, at)) and at < len(text):
        call = _CODE_CALL.match(text, at)
        end = extents.bracket(call.end()) if call else None
        if call is None or end is None:
            return None
        name = call["name"].removeprefix("default_api.")
        calls.append(TextCall(name, text[call.end() + 1 : end - 1].strip(), text[at:end]))
        at = extents.skip(_CLOSES_PRINT, end) if call["print"] else end
    return Found(tuple(calls), min(at + len("```"), len(text))) if calls else None


def action(
    text: str,
    extents: Extents,
    at: int,
    arguments_at: Callable[[int], tuple[str, int]],
) -> Found | None:
    """`Action: name` and below it `Action Input: ...`, or JSON with both after `Action:`."""
    if (opening := _ACTION_OBJECT.match(text, at)) is not None:
        end = extents.object(opening.end())
        calls = _calls_in(as_json(text[opening.end() : end]))
        if "```" in opening[0]:
            end = extents.skip(_FENCE_CLOSES, end)
        return Found(calls, end) if calls else None
    named = _ACTION_NAME.match(text, at)
    if named is None:
        return None
    name = named["name"].rstrip("./:")
    name_end = named.start("name") + len(name)
    if (put := _ACTION_INPUT.match(text, name_end)) is not None:
        arguments, end = arguments_at(put.end())
        return Found((TextCall(name, arguments),), end)
    arguments, end = arguments_at(name_end)
    is_whole = text.startswith("(", name_end) or not arguments
    return Found((TextCall(name, arguments),), end, sure=False) if is_whole else None


def call_in(text: str) -> TextCall:
    """The call that a JSON object with a name and arguments describes; else one of nothing."""
    return next(iter(_calls_in(as_json(text))), TextCall("", text.strip()))


def calls_as_answer(text: str) -> tuple[TextCall, ...]:
    """The calls that a text describes if it is JSON and nothing else, in a fence perhaps."""
    value = as_json(plain := without_fence(text))
    calls = _calls_in(value) if _is_exactly_calls(value) else ()
    return tuple(replace(x, written=plain) for x in calls)


def _calls_in(value: Any) -> tuple[TextCall, ...]:
    """The calls in JSON: an object for each, maybe in a list; empty if anything else is in it."""
    if isinstance(value, list):
        found = [_calls_in(x) for x in cast(list[Any], value)]
        return tuple(call for calls in found for call in calls) if all(found) else ()
    if not isinstance(value, dict):
        return ()
    fields = dict(cast(dict[str, Any], value))
    if isinstance(fields.get("function"), dict):
        return _calls_in(fields["function"])
    named = [x for x in _NAME_KEYS if isinstance(fields.get(x), str)]
    if not named:
        return ()
    name = str(fields.pop(named[0])).strip()
    wrapper = [x for x in _ARGUMENT_KEYS if x in fields]
    arguments = fields[wrapper[0]] if wrapper else fields
    if isinstance(arguments, str):
        return (TextCall(name, arguments),)
    written = json.dumps(arguments, ensure_ascii=False) if arguments else ""
    return (TextCall(name, written),)


def _is_exactly_calls(value: Any) -> bool:
    """Whether JSON holds a name, arguments and nothing else; an answer may hold a name, too."""
    if isinstance(value, list):
        return all(_is_exactly_calls(x) for x in cast(list[Any], value))
    if not isinstance(value, dict):
        return False
    fields = cast(dict[str, Any], value)
    if isinstance(fields.get("function"), dict):
        return fields.keys() <= {"function", *_OTHER_KEYS} and _is_exactly_calls(fields["function"])
    names = fields.keys() & set(_NAME_KEYS)
    arguments = fields.keys() & set(_ARGUMENT_KEYS)
    return len(names) == len(arguments) == 1 and fields.keys() - names - arguments <= _OTHER_KEYS


def _parameters(body: str) -> str:
    """Arguments in an element: as they are, or of `<parameter=a>1</parameter>` as `<a>1</a>`."""
    body = without_fence(body.replace("</function>", ""))
    if not body.startswith("<parameter="):
        return body
    *parts, rest = body.split("</parameter>")
    found = [_PARAMETER.match(x) for x in parts]
    if rest.strip() or not all(found):
        return body
    return "".join(f"<{x[1]}>{x[2].strip()}</{x[1]}>" for x in found if x)
