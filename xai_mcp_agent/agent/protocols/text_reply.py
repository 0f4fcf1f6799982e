"""Finds the tool calls in what a model wrote, for models that cannot call functions.

The form we teach is a line `TOOL: name {"argument": "value"}`. Small models decorate it, fence it,
spread it over lines, answer it themselves, or remember other forms (`spellings.py`); this reads
what they plainly meant and nothing more. What the arguments say is for `arguments.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from . import spellings
from .extents import INVENTED, LEAD, LINE_ENDS, Extents, TooTangled
from .spellings import NAME, OPENS_JSON, Found, IsTool, TextCall

# About 64,000 tokens, more than models say in one turn.
MAX_REPLY_CHARS = 256_000
MAX_CALLS = 100


@dataclass(frozen=True, slots=True)
class TextReply:
    """What a model said besides calling tools, and the calls, in order.

    `thinking` is what it marked as such. `note` tells the model what of its reply does not count.
    `invented` is the tool whose result it made up without a call, `before_invented` what it said
    until then.
    """

    thought: str
    calls: tuple[TextCall, ...] = ()
    thinking: str = ""
    note: str = ""
    invented: str = ""
    before_invented: str = ""


def _no_tool(_name: str) -> bool:
    return False


def parse_reply(text: str, is_tool: IsTool = _no_tool, *, taught: bool = True) -> TextReply:
    """Split a model's text into what it thought, what it said, and the tools it wants called.

    Calls end a reply: where words follow the last one, the reply is an answer and calls nothing.
    A call inside a block of code or of thinking, or in a line that begins with `>`, does not
    count, and nothing counts after the model starts to write the tool's answer itself. `TOOL:`
    without a name is a call with an empty name, so that it can be answered with a hint.
    What may be something else than a call is one only if `is_tool` knows its name. `taught` says
    that the model was told of this protocol; else only other spellings of known tools count, and
    of those not JSON without a mark.
    Takes time in proportion to the length of the text, less than a second for the longest.
    """
    return _Reader(text.replace("\r\n", "\n"), is_tool, taught).read()


# Every place where a call, or text that must not be searched for one, may begin.
_MARK = re.compile(
    rf"""
      ^(?P<line>{LEAD})(?P<word>(?i:TOOL))[*_`]*+[ \t]*+:
    | (?<=[ \t*_`])(?P<inline>TOOL)[*_`]*+[ \t]*+:
    | (?P<xml><tool\s++name\s*+=\s*+["'](?P<xml_name>[^"'<>]*+)["']\s*+(?P<empty>/?)>)
    | (?P<wrapped><(?:tool_calls?|function_calls?)>)
    | (?P<element><function=(?P<function>{NAME})>?)
    | (?P<listed>\[TOOL_CALLS\])
    | ^{LEAD}(?P<action>(?i:Action)[*_`]*+[ \t]*+:)
    | ^[ \t]*+(?P<json>{OPENS_JSON})
    | ^[ \t]*+(?P<fence>```)(?P<language>[^\n`]*+)$
    | ^[ \t]*+(?P<think><(?:think|thinking|thought|reasoning)>|\[THINK\])
    | ^[ \t]*+(?P<thought></(?:think|thinking|thought|reasoning)>|\[/THINK\])
    """,
    re.MULTILINE | re.VERBOSE,
)
_NAME = re.compile(rf"[*]*+(?:_++(?=\s))?+[ \t]*+(?!```)[`*\"' \t]*+({NAME})")
_NAME_BELOW = re.compile(
    rf"[*_`]*+[ \t]*+\n[ \t]*+(?!```)[*`]*+({NAME})(?=[*_`]*+[ \t]*+(?:\n|\Z|[{{(]))"
)
_AFTER_NAME = re.compile(r"(?!```)[\"'*_`]*[ \t]*[:,]?[*_]*[ \t]*")
_INTRODUCED = re.compile(
    r"(?:with[ \t]++)?(?:arguments|args|parameters|params|input)[ \t]*+[:=]?+[ \t]*+(?=\{)"
)
_FENCE_OPENS = re.compile(r"(?:[ \t]*+\n)?[ \t]*+```[\w+-]*+[ \t]*+\n?")
_OBJECT_BELOW = re.compile(r"(?:[ \t]*+\n){1,2}[ \t]*+(?=\{)")
_FENCE_CLOSES = re.compile(r"^[ \t]*+```[ \t]*+$", re.MULTILINE)
_FENCE_CLOSES_HERE = re.compile(r"\s*+```")
_THINKING_ENDS = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]")
_BLANK_LINES = re.compile(r"(?:[ \t]*+\n)*+")
_DECORATION = re.compile(r"[*_` \t]*+")
_NOTHING_MORE = re.compile(r"[*_` \t\n]*+\Z")
_BEFORE_PROSE = re.compile(r"[` \t]*+")
_QUOTED = re.compile(r"[ \t]*+>")
# Services let through `</s>`, `<|im_end|>` and `[/TOOL_CALLS]`: the ends of turns and calls.
_TURN_ENDS = re.compile(r"<[^\s<>]{1,40}+>|\[/\w{1,40}+\]")
_WORD = re.compile(r"[^\W_]")
# A fence in another language shows code; it does not call.
_CALL_LANGUAGES = {"", "json", "plaintext", "text", "tool", "tool_call", "tool_code", "txt", "xml"}
_INVENTED_NOTE = (
    "What you wrote after your calls, as if a result had come, was left out: results come only "
    "from tools. Go on from those here."
)
_TOO_MUCH_NOTE = (
    "Your reply was too long or too tangled to be read whole: of its {length} characters the last "
    "{left} were left out, and no call in them was made. At most {calls} tools are called in one "
    "reply. Repeat shorter what you still want."
)


class _Arguments(NamedTuple):
    """Arguments and where they end. `explicit`: in brackets or a fence, so surely arguments."""

    text: str
    end: int
    explicit: bool


class _Line(NamedTuple):
    """What stands before the marks of a line; found once for all of them."""

    start: int = -1
    prose_at: int = 0
    is_quoted: bool = False


class _Reader:
    """Goes through a text once, from mark to mark, and sorts it into what is said and calls."""

    def __init__(self, text: str, is_tool: IsTool, taught: bool, is_answer: bool = False) -> None:
        self.given = self.whole = text
        self.text = text[:MAX_REPLY_CHARS]
        self.is_tool, self.taught, self.is_answer = is_tool, taught, is_answer
        self.extents = Extents(self.text)
        self.said: list[str] = []
        self.thinking: list[str] = []
        self.calls: list[TextCall] = []
        self.said_before_call = 0  # pieces of `said`
        self.said_until = self.thought_until = 0
        self.in_call_fence = False
        self.line, self.line_known_to = _Line(), 0
        self.note = ""

    def read(self) -> TextReply:
        """The whole reply."""
        at = 0
        try:
            while (mark := self._next_mark(at)) is not None:
                at = self._pass(mark)
            self._leave_out(len(self.text))
        except TooTangled:
            self._leave_out(at)
        self._say(len(self.text))
        after = "".join(self.said[self.said_before_call :])
        if self.calls and _WORD.search(_TURN_ENDS.sub("", after)):
            return _Reader(self.given, self.is_tool, self.taught, is_answer=True).read()
        said = re.sub(r"\n{3,}", "\n\n", "".join(self.said)).strip()
        thoughts = [self.text[: self.thought_until], *self.thinking]
        thinking = "\n\n".join(x.strip() for x in thoughts).strip()
        invented = INVENTED.search(said) if self.taught and not self.calls else None
        tool, before = (invented["tool"], said[: invented.start()]) if invented else ("", "")
        return TextReply(said, tuple(self.calls), thinking, self.note, tool or "", before.strip())

    def _next_mark(self, at: int) -> re.Match[str] | None:
        mark = _MARK.search(self.text, at)
        if not self.calls:
            return mark
        invented = self.extents.next(INVENTED, at)
        if invented and (mark is None or invented.start() <= mark.start()):
            self.text = self.whole = self.text[: invented.start()]
            self.note = _INVENTED_NOTE
            return None
        if mark and len(self.calls) >= MAX_CALLS:
            self._leave_out(mark.start())
            return None
        return mark

    def _leave_out(self, at: int) -> None:
        """Read no further than this; without calls, all of it is an answer."""
        if not self.calls:
            self.text = self.whole
        elif at < len(self.whole):
            length, left = len(self.whole), len(self.whole) - at
            self.note = _TOO_MUCH_NOTE.format(length=length, left=left, calls=MAX_CALLS)
            self.text = self.whole = self.whole[:at]

    def _pass(self, mark: re.Match[str]) -> int:
        """Deal with one mark; gives the place to go on from."""
        if mark["fence"]:
            return self._pass_fence(mark)
        if mark["think"]:
            return self._pass_thinking(mark)
        if mark["thought"]:
            # Some servers swallow the opening tag: all of it was thinking.
            self.calls, self.said, self.thinking = [], [], []
            self.thought_until, self.said_until = mark.start(), mark.end()
            return mark.end()
        found = self._call_at(mark)
        if found is None:
            return mark.end()
        if not self._counts(found):
            # The inside of other JSON is not searched: it is data.
            return found.end if mark["json"] else mark.end()
        return self._take(mark, found)

    def _call_at(self, mark: re.Match[str]) -> Found | None:
        if self._line_of(mark.start()).is_quoted or not (self.taught or _is_other_form(mark)):
            return None
        if mark["xml"] or mark["element"]:
            return self._element(mark)
        if mark["wrapped"]:
            return spellings.wrapped_json(self.text, self.extents, mark.end())
        if mark["listed"]:
            return spellings.listed(self.text, self.extents, mark.end())
        if mark["json"]:
            return spellings.json_calls(self.text, self.extents, mark.start("json"))
        if mark["action"]:
            return spellings.action(self.text, self.extents, mark.end(), self._arguments_after)
        return self._line_call(mark)

    def _counts(self, found: Found) -> bool:
        """Whether these are calls: unmistakably, or because they name tools that there are."""
        if not found.calls or self.is_answer:
            return False
        known = all(self.is_tool(x.name) for x in found.calls)
        return (known or found.sure) if self.taught else (known and found.sure)

    def _pass_thinking(self, mark: re.Match[str]) -> int:
        self._say(mark.start())
        closing = _THINKING_ENDS.search(self.whole, mark.end())
        end, self.said_until = closing.span() if closing else (len(self.whole), len(self.whole))
        self.thinking.append(self.whole[mark.end() : end])
        return self.said_until

    def _pass_fence(self, mark: re.Match[str]) -> int:
        language = mark["language"].strip().lower()
        if language == "tool_code" and not self.in_call_fence:
            found = spellings.code_calls(self.text, self.extents, mark.end())
            if found and self._counts(found):
                return self._take(mark, found)
        opens_calls = language in _CALL_LANGUAGES and self._call_follows(mark)
        if not self.in_call_fence and not opens_calls:
            return self.extents.end_of(_FENCE_CLOSES, mark.end())[1]
        self.in_call_fence = not self.in_call_fence
        self._say(mark.start())
        self.said_until = mark.end()
        return mark.end()

    def _call_follows(self, fence: re.Match[str]) -> bool:
        mark = _MARK.match(self.text, self.extents.skip(_BLANK_LINES, fence.end() + 1))
        if mark is None:
            return False
        if mark["json"]:
            found = self._call_at(mark)
            return found is not None and self._counts(found)
        return (
            self.taught
            and not self.is_answer
            and (mark["word"] == "TOOL" or bool(mark["xml"] or mark["wrapped"]))
        )

    def _take(self, mark: re.Match[str], found: Found) -> int:
        self._say(mark.start())
        written = self.text[mark.start(mark.lastgroup or 0) : found.end]
        self.calls += [x if x.written else replace(x, written=written) for x in found.calls]
        self.said_until = self.extents.skip(LINE_ENDS, found.end)
        self.said_before_call = len(self.said)
        return self.said_until

    def _say(self, end: int) -> None:
        self.said.append(self.text[self.said_until : end])
        self.said_until = end

    def _line_of(self, at: int) -> _Line:
        newline = self.text.rfind("\n", self.line_known_to, at)
        self.line_known_to = max(at, self.line_known_to)
        if newline >= 0 or self.line.start < 0:
            start = newline + 1
            is_quoted = _QUOTED.match(self.text, start) is not None
            self.line = _Line(start, self.extents.skip(_BEFORE_PROSE, start), is_quoted)
        return self.line

    def _element(self, mark: re.Match[str]) -> Found | None:
        start = mark.start()
        if self.text[start - 1 : start] == "`" and self._line_of(start).prose_at < start:
            return None  # Inline code in a sentence: it explains, it does not call.
        read = spellings.named_element if mark["xml"] else spellings.function_element
        return read(self.text, self.extents, mark)

    def _line_call(self, mark: re.Match[str]) -> Found | None:
        """The call at a `TOOL:`, unless it is prose that only looks like one."""
        text, sure = self.text, mark["word"] == "TOOL"
        named = _NAME.match(text, mark.end()) or _NAME_BELOW.match(text, mark.end())
        if named is None:
            return self._nameless_call(mark.end()) if sure else None
        name = named[1].rstrip("./:")
        found = self._arguments_at(named.start(1) + len(name), mark["line"])
        if mark["inline"]:
            sure = found.explicit and LINE_ENDS.match(text, found.end) is not None
        elif not sure:
            nothing_more = not found.text and _NOTHING_MORE.match(text, found.end)
            sure = found.explicit or bool(nothing_more)
        return Found((TextCall(name, found.text),), found.end) if sure else None

    def _nameless_call(self, at: int) -> Found:
        """`TOOL: {"name": ..., "arguments": ...}`; else a call that nothing is called by."""
        text = self.text
        opening = _FENCE_OPENS.match(text, at) or _OBJECT_BELOW.match(text, at)
        start = opening.end() if opening else self.extents.skip(_DECORATION, at)
        if not text.startswith("{", start):
            end = self.extents.line_end(at)
            return Found((TextCall("", text[at:end].strip("*_` \t")),), end)
        end = self.extents.object(start)
        call = spellings.call_in(text[start:end])
        is_fenced = opening is not None and "```" in opening[0]
        return Found((call,), self.extents.skip(_FENCE_CLOSES_HERE, end) if is_fenced else end)

    def _arguments_after(self, at: int) -> tuple[str, int]:
        found = self._arguments_at(at, "")
        return found.text, found.end

    def _arguments_at(self, at: int, lead: str | None) -> _Arguments:
        """The arguments after a name: in brackets, in a fence, on the next lines, or bare.

        `lead` is what the line begins with; None inside a line, where bare ones are not meant.
        """
        text, extents = self.text, self.extents
        touching = text.startswith("(", at)
        at = extents.skip(_INTRODUCED, extents.skip(_AFTER_NAME, at))
        opening = None if self.in_call_fence else _FENCE_OPENS.match(text, at)
        if opening:
            body_end, end = extents.fenced(opening.end())
            return _Arguments(text[opening.end() : body_end].strip(), end, explicit=True)
        at = extents.skip(_OBJECT_BELOW, at)
        if text.startswith("{", at):
            end = extents.object(at)
            return _Arguments(text[at:end].strip(), end, explicit=True)
        end = extents.bracket(at) if text.startswith(("(", "["), at) else None
        if end is not None and (touching or LINE_ENDS.match(text, end)):
            inside = text[at + 1 : end - 1] if text[at] == "(" else text[at:end]
            return _Arguments(inside.strip(), end, explicit=True)
        return self._bare(at, lead) if lead is not None else _Arguments("", at, explicit=False)

    def _bare(self, at: int, lead: str) -> _Arguments:
        """The rest of the line, without the emphasis or tick that the line began with."""
        end = self.extents.line_end(at)
        rest = self.text[at:end].strip()
        decoration = lead.lstrip(" \t-+#.)0123456789")
        if decoration and rest.endswith(decoration[::-1]):
            rest = rest.removesuffix(decoration[::-1]).rstrip()
        return _Arguments(rest, end, explicit=False)


def _is_other_form(mark: re.Match[str]) -> bool:
    return not (mark["word"] or mark["inline"] or mark["xml"])
