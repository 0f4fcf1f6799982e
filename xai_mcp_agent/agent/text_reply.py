"""Finds the tool calls in what a model wrote, for models that cannot call functions.

The form we teach is a line `TOOL: name {"argument": "value"}`. Small models
decorate it, fence it, spread it over lines, answer it themselves, or remember other forms;
this reads what they plainly meant and nothing more. What the arguments say is for `arguments.py`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call found in a text. `name` may be empty or unknown; `arguments` is the text it wrote."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class TextReply:
    """What a model said besides calling tools, and the calls, in order."""

    thought: str
    calls: tuple[TextCall, ...] = ()


def parse_reply(text: str) -> TextReply:
    """Split a model's text into what it said and the tools it wants called.

    A call inside a block of code or of thinking does not count, and nothing counts after
    the model starts to write the tool's answer itself. `TOOL:` without a name is a call
    with an empty name, so that it can be answered with a hint.
    """
    return _Reader(text.replace("\r\n", "\n")).read()


# What may stand before a call: a list bullet, Markdown emphasis, code ticks. Not `>`: that quotes.
_LEAD = r"[ \t]*(?:(?:[-*+#]+|\d+[.)])[ \t]+)*[*_`]*"
# Every place where a call, or text that must not be searched for one, may begin.
_MARK = re.compile(
    rf"""
      ^(?P<line>{_LEAD})(?P<word>(?i:TOOL))[*_`]*[ \t]*:
    | (?<=[ \t*_`])(?P<inline>TOOL)[*_`]*[ \t]*:
    | (?P<xml><tool\s+name\s*=\s*["'](?P<xml_name>[^"'<>]*)["']\s*(?P<empty>/?)>)
    | (?P<wrapped><tool_call>)
    | ^[ \t]*(?P<fence>```)(?P<language>[^\n`]*)$
    | ^[ \t]*(?P<think><think(?:ing)?>)
    | ^[ \t]*(?P<thought></think(?:ing)?>)
    """,
    re.MULTILINE | re.VERBOSE,
)
# The model goes on by itself: it invents the result, or the next turn.
_INVENTED = re.compile(
    rf"^{_LEAD}(?:(?i:TOOL[ _-]?(?:RESULT|OUTPUT|RESPONSE)S?\b)"
    r"|(?:SYSTEM|System|USER|User|HUMAN|Human|OBSERVATION|Observation)[*_]*[ \t]*:)",
    re.MULTILINE,
)
# Where arguments that never close are given up.
_GIVE_UP = re.compile(rf"\n[ \t]*\n|{_INVENTED.pattern}|^{_LEAD}TOOL[*_`]*[ \t]*:", re.MULTILINE)
_NAME = re.compile(r"[*]*(?:_+(?=\s))?[ \t]*(?!```)[`*\"' \t]*(-*\w[\w./:-]*)")
_NAME_BELOW = re.compile(
    r"[*_`]*[ \t]*\n[ \t]*(?!```)[*`]*(-*\w[\w./:-]*)(?=[*_`]*[ \t]*(?:\n|\Z|[{(]))"
)
_AFTER_NAME = re.compile(r"(?!```)[\"'*_`]*[ \t]*[:,]?[*_]*[ \t]*")
_INTRODUCED = re.compile(
    r"(?:with[ \t]+)?(?:arguments|args|parameters|params|input)[ \t]*[:=]?[ \t]*(?=\{)"
)
_FENCE_OPENS = re.compile(r"(?:[ \t]*\n)?[ \t]*```[\w+-]*[ \t]*\n?")
_OBJECT_BELOW = re.compile(r"(?:[ \t]*\n){1,2}[ \t]*(?=\{)")
_BRACKET_OR_QUOTE = re.compile(r"\\.|[{}\[\]()\"']", re.DOTALL)
# A value stands at most this far from its bracket, comma or colon: a line and its indentation.
_QUOTE_REACH_CHARS = 80
_LINE_ENDS = re.compile(r"[*_`]*[ \t]*[.,;]?[*_`]*[ \t]*(?=\n|\Z|TOOL:)")
_FENCE_CLOSES = re.compile(r"^[ \t]*```[ \t]*$", re.MULTILINE)
_THINKING_ENDS = re.compile(r"</think(?:ing)?>")
# A fence in another language shows code; it does not call.
_CALL_LANGUAGES = {"", "json", "plaintext", "text", "tool", "tool_call", "tool_code", "txt", "xml"}


class _Arguments(NamedTuple):
    """Arguments and where they end. `explicit`: in brackets or a fence, so surely arguments."""

    text: str
    end: int
    explicit: bool


class _Found(NamedTuple):
    """A call and the place where it ends."""

    call: TextCall
    end: int


@dataclass
class _Reader:
    """Goes through a text once, from mark to mark, and sorts it into what is said and calls."""

    text: str
    said: list[str] = field(default_factory=list[str])
    calls: list[TextCall] = field(default_factory=list[TextCall])
    said_until: int = 0
    in_call_fence: bool = False
    invented_at: int = -1  # Where the next invented text begins; searched once, not for each mark.

    def read(self) -> TextReply:
        at = 0
        while (mark := self._next_mark(at)) is not None:
            at = self._pass(mark)
        self._say(len(self.text))
        said = re.sub(r"\n{3,}", "\n\n", "".join(self.said)).strip()
        return TextReply(said, tuple(self.calls))

    def _next_mark(self, at: int) -> re.Match[str] | None:
        mark = _MARK.search(self.text, at)
        if not self.calls:
            return mark
        if self.invented_at < at:
            invented = _INVENTED.search(self.text, at)
            self.invented_at = invented.start() if invented else len(self.text)
        if self.invented_at <= (mark.start() if mark else len(self.text)):
            self.text = self.text[: self.invented_at]
            return None
        return mark

    def _pass(self, mark: re.Match[str]) -> int:
        """Deal with one mark; gives the place to go on from."""
        if mark["fence"]:
            return self._pass_fence(mark)
        if mark["think"]:
            return _end_of(_THINKING_ENDS, self.text, mark.end())
        if mark["thought"]:
            # Some servers swallow the opening tag: all of it was thinking.
            self.calls.clear()
            self.said, self.said_until = [], 0
            return mark.end()
        found = self._call_at(mark)
        return mark.end() if found is None else self._take(mark.start(), found)

    def _call_at(self, mark: re.Match[str]) -> _Found | None:
        if mark["xml"]:
            return _xml_call(self.text, mark)
        if mark["wrapped"]:
            return _wrapped_call(self.text, mark.end())
        return _line_call(self.text, mark, may_fence=not self.in_call_fence)

    def _pass_fence(self, mark: re.Match[str]) -> int:
        language = mark["language"].strip().lower()
        opens_calls = language in _CALL_LANGUAGES and self._call_follows(mark.end())
        if not self.in_call_fence and not opens_calls:
            return _end_of(_FENCE_CLOSES, self.text, mark.end())
        self.in_call_fence = not self.in_call_fence
        self._say(mark.start())
        self.said_until = mark.end()
        return mark.end()

    def _call_follows(self, at: int) -> bool:
        mark = _MARK.search(self.text, at)
        if mark is None or self.text[at : mark.start()].strip():
            return False
        return mark["word"] == "TOOL" or bool(mark["xml"] or mark["wrapped"])

    def _take(self, start: int, found: _Found) -> int:
        self._say(start)
        self.calls.append(found.call)
        rest = _LINE_ENDS.match(self.text, found.end)
        self.said_until = rest.end() if rest else found.end
        return self.said_until

    def _say(self, end: int) -> None:
        self.said.append(self.text[self.said_until : end])
        self.said_until = end


def _line_call(text: str, mark: re.Match[str], *, may_fence: bool) -> _Found | None:
    """The call at a `TOOL:`, unless it is prose that only looks like one."""
    named = _NAME.match(text, mark.end())
    if named is None:
        named = _NAME_BELOW.match(text, mark.end())
    sure = mark["word"] == "TOOL"
    if named is None:
        return _nameless_call(text, mark.end()) if sure else None
    name = named[1].rstrip("./:")
    found = _arguments_at(text, named.start(1) + len(name), mark["line"] or "", may_fence)
    ends_line = _LINE_ENDS.match(text, found.end) is not None
    if mark["inline"]:
        before = text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()]
        sure = found.explicit and ends_line and not before.lstrip().startswith(">")
    elif not sure:
        sure = found.explicit or not (found.text or text[found.end :].strip("*_` \t\n"))
    return _Found(TextCall(name, found.text), found.end) if sure else None


def _nameless_call(text: str, at: int) -> _Found:
    """`TOOL: {"name": ..., "arguments": ...}`; else a call that nothing is called by."""
    opening = _FENCE_OPENS.match(text, at) or _OBJECT_BELOW.match(text, at)
    start = opening.end() if opening else at + len(text[at:]) - len(text[at:].lstrip("*_` \t"))
    if not text.startswith("{", start):
        end = _line_end(text, at)
        return _Found(TextCall("", text[at:end].strip("*_` \t")), end)
    end = _object_end(text, start)
    call = _call_in(text[start:end])
    closing = re.compile(r"\s*```").match(text, end) if opening and "```" in opening[0] else None
    return _Found(call, closing.end() if closing else end)


def _xml_call(text: str, mark: re.Match[str]) -> _Found | None:
    """`<tool name="x">arguments</tool>`, the form taught by XpressAI's xai-agent prompts."""
    before = text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()]
    if before.endswith("`") and before.strip("` \t"):
        return None  # Inline code in a sentence: it explains, it does not call.
    name = mark["xml_name"].strip()
    if mark["empty"]:
        return _Found(TextCall(name, ""), mark.end())
    body_end, end = _element_end(text, mark.end(), "</tool>")
    return _Found(TextCall(name, without_fence(text[mark.end() : body_end])), end)


def _wrapped_call(text: str, start: int) -> _Found:
    """`<tool_call>{"name": ..., "arguments": ...}</tool_call>`, as some models were trained to."""
    body_end, end = _element_end(text, start, "</tool_call>")
    return _Found(_call_in(without_fence(text[start:body_end])), end)


def _element_end(text: str, start: int, closing_tag: str) -> tuple[int, int]:
    """Where the body that begins at `start` ends, and where its closing tag does."""
    at = start + len(text[start:]) - len(text[start:].lstrip())
    after = _object_end(text, at) if text.startswith("{", at) else start
    body_end = text.find(closing_tag, after)
    if body_end >= 0:
        return body_end, body_end + len(closing_tag)
    given_up = _GIVE_UP.search(text, after)
    body_end = given_up.start() if given_up else len(text)
    return body_end, body_end


def _call_in(text: str) -> TextCall:
    """The call that a JSON object with a name and arguments describes."""
    found = _json(text)
    if not isinstance(found, dict):
        return TextCall("", text.strip())
    fields = cast(dict[str, Any], found)
    named = [x for x in ("name", "tool", "tool_name", "function") if isinstance(fields.get(x), str)]
    if not named:
        return TextCall("", text.strip())
    name = str(fields.pop(named[0])).strip()
    wrapper = [x for x in ("arguments", "args", "parameters", "params", "input") if x in fields]
    arguments = fields[wrapper[0]] if wrapper else fields
    if isinstance(arguments, str):
        return TextCall(name, arguments)
    return TextCall(name, json.dumps(arguments, ensure_ascii=False) if arguments else "")


def _arguments_at(text: str, at: int, lead: str, may_fence: bool) -> _Arguments:
    """The arguments after a name: in brackets, in a fence, on the next lines, or bare."""
    touching = text.startswith("(", at)
    if after := _AFTER_NAME.match(text, at):
        at = after.end()
    if introduced := _INTRODUCED.match(text, at):
        at = introduced.end()
    opening = _FENCE_OPENS.match(text, at) if may_fence else None
    if opening:
        return _fenced(text, opening.end())
    if below := _OBJECT_BELOW.match(text, at):
        at = below.end()
    if text.startswith("{", at):
        end = _object_end(text, at)
        return _Arguments(text[at:end].strip(), end, explicit=True)
    end = closing(text, at) if text.startswith(("(", "["), at) else None
    if end is not None and (touching or _LINE_ENDS.match(text, end)):
        inside = text[at + 1 : end - 1] if text[at] == "(" else text[at:end]
        return _Arguments(inside.strip(), end, explicit=True)
    return _bare(text, at, lead)


def _fenced(text: str, start: int) -> _Arguments:
    after = _object_end(text, start) if text.startswith("{", start) else start
    closing = text.find("```", after)
    body_end = closing if closing >= 0 else len(text)
    end = closing + 3 if closing >= 0 else len(text)
    return _Arguments(text[start:body_end].strip(), end, explicit=True)


def _bare(text: str, at: int, lead: str) -> _Arguments:
    """The rest of the line, without the emphasis or tick that the line began with."""
    end = _line_end(text, at)
    rest = text[at:end].strip()
    decoration = lead.lstrip(" \t-+#.)0123456789")
    if decoration and rest.endswith(decoration[::-1]):
        rest = rest.removesuffix(decoration[::-1]).rstrip()
    return _Arguments(rest, end, explicit=False)


def _object_end(text: str, start: int) -> int:
    """The end of the JSON object that begins at `start`, or a sensible end of a broken one."""
    end = closing(text, start)
    if end is not None and ("\n" not in text[start:end] or _json(text[start:end]) is not None):
        return end
    # A stray quote may swallow what follows: an object that closes on its own line ends there.
    line = text[start : _line_end(text, start)].rstrip("*_`. \t\r")
    if line.endswith("}"):
        return start + len(line)
    if end is not None:
        return end
    given_up = _GIVE_UP.search(text, start)
    return given_up.start() if given_up else len(text)


def closing(text: str, start: int) -> int | None:
    """The place after the bracket that closes the one at `start`; strings are respected."""
    depth, quote = 0, ""
    for found in _BRACKET_OR_QUOTE.finditer(text, start):
        char = found[0]
        if quote:
            quote = "" if char == quote else quote
        elif char == '"' or (char == "'" and _may_quote(text, found.start())):
            quote = char
        elif char in "{[(":
            depth += 1
        elif char in "}])":
            depth -= 1
            if depth == 0:
                return found.end()
    return None


def _may_quote(text: str, at: int) -> bool:
    """Whether a string may begin at the single quote at `at`; else it is an apostrophe."""
    before = text[max(0, at - _QUOTE_REACH_CHARS) : at].rstrip()
    return before.endswith(tuple("{[(,:="))


def without_fence(text: str) -> str:
    """The text inside, when a Markdown fence is all that stands around it."""
    stripped = text.strip()
    fence = re.fullmatch(r"```[\w+-]*[ \t]*\n?(.*?)\n?[ \t]*```", stripped, re.DOTALL)
    return fence[1].strip() if fence else stripped


def _json(text: str) -> Any:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.search(text, at)
    return found.end() if found else len(text)
