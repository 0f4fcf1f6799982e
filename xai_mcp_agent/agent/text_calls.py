"""Finds the calls in a model's text: `TOOL: name {...}` lines, and the tags of its training.

It reads only what is plainly a call. `arguments.py` reads the arguments.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, cast
from urllib.parse import unquote_plus

from .arguments import without_fence

Forms: TypeAlias = Literal["all", "tags", "none"]
"""Forms that count as calls: all, only the tags that models are trained on, or none."""

_MAX_CHARS = 100_000  # 25,000 tokens; a longer reply calls nothing
_MAX_CALLS = 100  # small models may repeat a line without end; such a reply calls nothing
_NAME = r"-*\w[\w./:-]{0,255}"
# A list bullet, Markdown emphasis, code ticks. Not `>`: that quotes.
_LEAD = r"[ \t]*+(?:(?:[-*+#]++|\d++[.)])[ \t]++)*+[*_`]*+"
_TAGS = rf"""
    (?:<(?:tool|function)_calls?>\s*)?<function=(?P<function>{_NAME})>?  # Llama, Qwen Coder
    | (?P<wrapper><(?:tool|function)_calls?>)  # Qwen, Hermes
    | \[TOOL_CALLS\]\s*(?P<mistral>{_NAME}|(?=[\[{{]))(?:\[ARGS\])?  # Mistral
"""
_MARKS = {
    "tags": re.compile(_TAGS, re.VERBOSE),
    "all": re.compile(
        rf"""{_TAGS}
        | ^{_LEAD}(?P<line>(?i:TOOL))[*_`]*+[ \t]*+:
        | (?<=[ \t*_`])(?P<inline>TOOL)[*_`]*+[ \t]*+:
        | <tool\s+name\s*=\s*["'](?P<tool>[^"'<>]*)["']\s*(?P<empty>/?)>  # XpressAI's xai-agent
        """,
        re.MULTILINE | re.VERBOSE,
    ),
}
_BLOCK = re.compile(
    r"^[ \t]*+(?:```(?P<language>[^\n`]*+)\n(?P<code>.*?)(?:^[ \t]*+```[ \t]*$|\Z)"
    r"|(?:<(?P<tag>think|thinking|thought|reasoning)>|\[THINK\])(?P<thought>.*?)"
    r"(?:</(?P=tag)>|\[/THINK\]|\Z))",
    re.MULTILINE | re.DOTALL,
)
# Some servers swallow the opening tag: all text before the closing one was thinking.
_THOUGHT_ENDS = re.compile(
    r"^[ \t]*+(?:</(?:think|thinking|thought|reasoning)>|\[/THINK\])", re.MULTILINE
)
_FENCED_ARGUMENTS = re.compile(
    r"(TOOL[*_`]*+[ \t]*+:[^\n{(`]{0,300}+)\n?[ \t]*+```\w*+[ \t]*+\n?[ \t]*+(\{.*?)(?:```|\Z)",
    re.DOTALL,
)
_QUOTE_OR_CODE = re.compile(
    r"^[ \t]*+(?:>[^\n]*+|```.*?(?:^[ \t]*+```[ \t]*$|\Z))", re.MULTILINE | re.DOTALL
)
# A fence in another language shows code; it does not call.
_CALL_LANGUAGES = {"", "json", "plaintext", "text", "tool", "tool_call", "txt", "xml"}
_NAME_AFTER = re.compile(
    rf"\**+(?:_++(?=\s))?[ \t`*\"']*+({_NAME})?[\"'*_`]*+[ \t]*+[:,]?[*_]*+[ \t]*+"
)
_OBJECT_BELOW = re.compile(r"(?:[ \t]*+\n){0,2}[ \t]*+(?=\{)")
_NEXT_LINE = re.compile(rf"^{_LEAD}TOOL[*_`]*+[ \t]*+:", re.MULTILINE)
_CALL_ENDS = re.compile(r"[*_`]*+[ \t]*+[.,;]?+[*_`]*+[ \t]*+(?=\n|\Z|TOOL:)")
_CLOSING_TAGS = re.compile(r"(?:\s*(?:</(?:tool|function)(?:_calls?)?>|\[/TOOL_CALLS\]))+")
_PARAMETER = re.compile(r"<parameter=([\w.-]{1,255})>\s*(.*?)\s*</parameter>", re.DOTALL)
# The model runs on: it invents the result, or the next turn.
_INVENTED = re.compile(
    rf"^{_LEAD}(?:(?i:TOOL[ _-]?(?:RESULT|OUTPUT|RESPONSE)S?\b)"
    r"|(?:SYSTEM|System|USER|User|HUMAN|Human|OBSERVATION|Observation)[*_]*+[ \t]*+:)",
    re.MULTILINE,
)
# Services let `</s>` and `<|im_end|>` through, the ends of turns.
_TURN_ENDS = re.compile(r"<[^\s<>]{1,40}+>|\[/\w{1,40}+\]")
_WORD = re.compile(r"[^\W_]")
_SPACE = re.compile(r"\s*+")
_DECODER = json.JSONDecoder(strict=False)
# What may differ between a page and its quotation.
_DECORATION = str.maketrans("", "", "*_`\"'\\\u00ad\u200b\u200c\u200d\u2060\ufeff")
_UNICODE_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_SPACE_BESIDE_MARKS = re.compile(r"\s+(?!\w)|(?<!\w)\s+")


class TextCall(NamedTuple):
    """A call in a text. `name` may be empty or unknown; `text` is the whole text of the call."""

    name: str
    arguments: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class TextReply:
    """A model's text without its calls, the calls in order, and its thinking."""

    text: str
    calls: tuple[TextCall, ...] = ()
    thinking: str = ""


def read_reply(text: str, forms: Forms, is_tool: Callable[[str], bool] = bool) -> TextReply:
    """Split a model's text into thinking, words and calls.

    Calls end a reply: if words follow the last one, the reply is an answer and calls nothing. Code
    blocks, thinking and lines that begin with `>` do not count, and neither does anything after the
    model starts to write the tool's result itself. Tags count only for names that `is_tool`
    accepts.
    """
    text, thinking = _without_thinking(text.replace("\r\n", "\n"))
    plain = TextReply(text.strip(), (), thinking)
    if forms == "none" or len(text) > _MAX_CHARS:
        return plain
    text = _without_fences(text) if forms == "all" else text
    masked = _QUOTE_OR_CODE.sub(lambda x: "x" * len(x[0]), text)
    prose, calls, at = list[str](), list[TextCall](), 0
    while mark := _MARKS[forms].search(masked, at):
        at_mark, end = _calls_at(text, mark)
        if not at_mark or (forms == "tags" and not all(is_tool(x.name) for x in at_mark)):
            prose.append(text[at : mark.end()])
            at = mark.end()
            continue
        if not calls and (invented := _INVENTED.search(masked, end)):
            masked, text = masked[: invented.start()], text[: invented.start()]
        prose.append(text[at : mark.start()])
        calls += at_mark
        at = _skip(_CALL_ENDS, text, _skip(_CLOSING_TAGS, text, end))
    is_answer = _WORD.search(_TURN_ENDS.sub("", masked[at:])) or len(calls) > _MAX_CALLS
    if not calls or is_answer:
        return plain
    return TextReply(re.sub(r"\n{3,}", "\n\n", "".join(prose)).strip(), tuple(calls), thinking)


def calls_in_json(text: str) -> tuple[TextCall, ...]:
    """Return the calls in a text that is nothing but JSON of calls, maybe in a fence."""
    try:
        value = json.loads(without_fence(text))
    except (ValueError, RecursionError):
        return ()
    return tuple(_calls_in(value))


def quotations_in(results: Iterable[str], calls: Iterable[TextCall]) -> set[TextCall]:
    """Return the calls that occur word for word in tool results, with any page or JSON escapes.

    A model that repeats a page may repeat a line in it that calls a tool.
    """
    pages = [_plain(x) for x in results]

    def is_quoted(text: str) -> bool:
        # Empty arguments and the end of a sentence may differ.
        pattern = re.compile(re.escape(_plain(text).rstrip("{}().,;")) + r"(?!\w)")
        return any(pattern.search(x) for x in pages)

    return {x for x in calls if is_quoted(x.text) or is_quoted(f"TOOL: {x.name} {x.arguments}")}


def _without_thinking(text: str) -> tuple[str, str]:
    """Return the text without its thinking, and the thinking."""
    thoughts: list[str] = []

    def block(match: re.Match[str]) -> str:
        if match["thought"] is None:
            return match[0]
        thoughts.append(match["thought"].strip())
        return ""

    text = _BLOCK.sub(block, text)
    if tag := _THOUGHT_ENDS.search(text):
        thoughts.insert(0, text[: tag.start()].strip())
        text = text[tag.end() :]
    return text, "\n\n".join(x for x in thoughts if x)


def _without_fences(text: str) -> str:
    """Return the text with calls and their arguments taken out of their fences."""

    def block(match: re.Match[str]) -> str:
        code, language = match["code"] or "", (match["language"] or "").strip().lower()
        is_call = language in _CALL_LANGUAGES and _MARKS["all"].match(code.lstrip())
        return code if is_call else match[0]

    return _BLOCK.sub(block, _FENCED_ARGUMENTS.sub(r"\1 \2\n", text))


def _calls_at(text: str, mark: re.Match[str]) -> tuple[Sequence[TextCall], int]:
    """Return the calls at a mark and their end; no calls if it is prose."""
    calls, end = _read_calls(text, mark)
    word = "line" if mark.groupdict().get("line") else 0  # without the bullet before it
    return [TextCall(x.name, x.arguments, text[mark.start(word) : end]) for x in calls], end


def _read_calls(text: str, mark: re.Match[str]) -> tuple[Sequence[TextCall], int]:
    groups, at = mark.groupdict(), mark.end()
    if groups["function"] is not None:
        body, end = _element(text, at, "</function>")
        elements = _PARAMETER.sub(r"<\1>\2</\1>", body)
        return [TextCall(groups["function"], elements)], end
    if groups.get("tool") is not None:
        body, end = ("", at) if groups["empty"] else _element(text, at, "</tool>")
        return [TextCall(groups["tool"].strip(), without_fence(body))], end
    if groups["mistral"]:
        body, end = _object(text, at)
        return ([TextCall(groups["mistral"], body)], end) if body else ([], at)
    if groups["wrapper"] or groups["mistral"] is not None:
        body, end = _element(text, at, "</tool_call>") if groups["wrapper"] else _object(text, at)
        return calls_in_json(body) or [TextCall("", body.strip())], end
    return _line_call(text, mark)


def _line_call(text: str, mark: re.Match[str]) -> tuple[Sequence[TextCall], int]:
    """Read the call of `TOOL: name arguments`, unless it is prose that only looks like one."""
    match = _NAME_AFTER.match(text, mark.end())
    at = match.end() if match else mark.end()
    name = ((match and match[1]) or "").rstrip("./:")
    line_end = text.find("\n", at)
    line_end = len(text) if line_end < 0 else line_end
    if text.startswith("{", start := _skip(_OBJECT_BELOW, text, at)):
        body, end = _object(text, start)
        calls = [TextCall(name, body)] if name else calls_in_json(body) or [TextCall("", body)]
        is_call = mark["line"] or _CALL_ENDS.match(text, end)
    else:
        body, end = text[at:line_end].strip("*_` \t\r"), line_end
        body = body[1:-1].strip() if body.startswith("(") and body.endswith(")") else body
        calls, is_call = [TextCall(name, body)], mark["line"] == "TOOL"
    return (calls, end) if is_call else ([], at)


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return the position after a match of the pattern here, or the same position."""
    match = pattern.match(text, at)
    return match.end() if match else at


def _object(text: str, at: int) -> tuple[str, int]:
    """Return the JSON that begins here and its end; broken JSON ends with its line or at a call."""
    try:
        end = _DECODER.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        line = text[at:].split("\n", 1)[0].rstrip("*_`. \t\r")
        following = _NEXT_LINE.search(text, at)
        end = following.start() if following else len(text)
        end = at + len(line) if line.endswith("}") else end
    return text[at:end].strip(), end


def _element(text: str, at: int, closing: str) -> tuple[str, int]:
    """Return an element's content and its end; a closing tag in a JSON string does not count."""
    start = _skip(_SPACE, text, at)
    inside = _object(text, start)[1] if text.startswith(("{", "["), start) else at
    end = text.find(closing, inside)
    if end < 0:
        end = inside if inside > at else len(text)
    return text[at:end].strip(), end


def _calls_in(value: Any) -> list[TextCall]:
    """Return the calls in JSON: an object with a name and arguments only, or a list of these."""
    if isinstance(value, list):
        lists = [_calls_in(x) for x in cast("list[Any]", value)]
        return [call for calls in lists for call in calls] if all(lists) else []
    fields = dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else {}
    if isinstance(fields.get("function"), dict):
        return _calls_in(fields["function"])
    name = fields.get("name")
    values = [fields[x] for x in ("arguments", "parameters") if x in fields]
    if not isinstance(name, str) or len(values) != 1 or len(fields.keys() - {"id", "type"}) != 2:
        return []
    (arguments,) = values
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return [TextCall(name.strip(), arguments)]


def _plain(text: str) -> str:
    """Return the text without escapes, decoration, and white space that separates no words."""
    for _ in range(3):  # JSON in JSON, HTML in an address; three layers are enough
        text = _UNICODE_ESCAPES.sub(_decoded, unquote_plus(html.unescape(text)))
        text = re.sub(r"\\+[nrt]", " ", text)
    text = " ".join(text.translate(_DECORATION).casefold().split())
    return _SPACE_BESIDE_MARKS.sub("", text)


def _decoded(escapes: re.Match[str]) -> str:
    return bytes.fromhex(escapes[0].replace("\\u", "")).decode("utf-16-be", "replace")
