"""Finds where things end that a model opened in its text: brackets, strings, fences, elements.

What never ends is searched to the end of the text. Those searches together cover a fixed multiple
of the text, so that reading costs time in proportion to its length.
"""

from __future__ import annotations

import json
import re
from typing import Any

# What may stand before a call: a list bullet, Markdown emphasis, code ticks. Not `>`: that quotes.
LEAD = r"[ \t]*+(?:(?:[-*+#]++|\d++[.)])[ \t]++)*+[*_`]*+"
# The model goes on by itself: it invents the result, or the next turn.
INVENTED = re.compile(
    rf"^{LEAD}(?:(?i:TOOL[ _-]?(?:RESULT|OUTPUT|RESPONSE)S?\b)"
    r"(?:[ \t]+(?P<tool>[\w./-]{1,255}+)(?: \(error\))?[*_`]*+:)?"
    r"|(?:SYSTEM|System|USER|User|HUMAN|Human|OBSERVATION|Observation)[*_]*+[ \t]*+:)",
    re.MULTILINE,
)
LINE_ENDS = re.compile(r"[*_`]*+[ \t]*+[.,;]?+[*_`]*+[ \t]*+(?=\n|\Z|TOOL:)")
# Where arguments that never close are given up.
_GIVE_UP = re.compile(
    rf"\n[ \t]*+\n|{INVENTED.pattern.replace('?P<tool>', '')}|^{LEAD}TOOL[*_`]*+[ \t]*+:",
    re.MULTILINE,
)
_BRACKET_OR_QUOTE = re.compile(r"\\.|[{}\[\]()\"']", re.DOTALL)
# A value stands at most this far from its bracket, comma or colon: a line and its indentation.
_QUOTE_REACH_CHARS = 80
_FENCE = "```"
_FENCE_HEAD = re.compile(r"```[\w+-]*[ \t]*\n?")
# Searches may cover the text so many times, and a short text much more often.
_MOST_PASSES = 4
_FREE_CHARS = 100_000


class TooTangled(Exception):
    """So much of the text never ends that it is not read further."""


class Extents:
    """The ends of things in one text. The starts are asked for roughly in their order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._chars_left = _MOST_PASSES * len(text) + _FREE_CHARS
        self._ahead: dict[re.Pattern[str], tuple[int, re.Match[str] | None]] = {}

    def next(self, pattern: re.Pattern[str], start: int) -> re.Match[str] | None:
        """The next match from `start` on; the same stretch is not searched twice."""
        searched_from, found = self._ahead.get(pattern, (start + 1, None))
        if not (searched_from <= start and (found is None or start <= found.start())):
            found = pattern.search(self._text, start)
            self._ahead[pattern] = start, found
        return found

    def end_of(self, pattern: re.Pattern[str], start: int) -> tuple[int, int]:
        """Where the next match begins and ends; the end of the text if there is none."""
        found = self.next(pattern, start)
        return found.span() if found else (len(self._text), len(self._text))

    def line_end(self, start: int) -> int:
        """The end of the line at `start`."""
        end = self._text.find("\n", start)
        return end if end >= 0 else len(self._text)

    def bracket(self, start: int) -> int | None:
        """The place after the bracket that closes the one at `start`.

        Raises:
            TooTangled: too many of them never close.
        """
        end = closing(self._text, start)
        self._chars_left -= (len(self._text) if end is None else end) - start
        if self._chars_left < 0:
            raise TooTangled
        return end

    def object(self, start: int) -> int:
        """The end of the JSON object that begins at `start`, or a sensible end of a broken one."""
        text, end = self._text, self.bracket(start)
        if end is not None and (
            "\n" not in text[start:end] or as_json(text[start:end]) is not None
        ):
            return end
        # A stray quote may swallow what follows: one that closes on its own line ends there.
        line = text[start : self.line_end(start)].rstrip("*_`. \t\r")
        if line.endswith("}"):
            return start + len(line)
        return self.end_of(_GIVE_UP, start)[0] if end is None else end

    def fenced(self, start: int) -> tuple[int, int]:
        """Where the text that a fence opened at `start` ends, and where the fence does."""
        after = self.object(start) if self._text.startswith("{", start) else start
        return self.end_of(_CLOSING_FENCE, after)

    def element(self, start: int, closing_tag: re.Pattern[str]) -> tuple[int, int]:
        """Where the body that begins at `start` ends, and where its closing tag does."""
        at = self.skip(_SPACE, start)
        after = self.object(at) if self._text.startswith("{", at) else start
        if (found := self.next(closing_tag, after)) is not None:
            return found.span()
        body_end = self.end_of(_GIVE_UP, after)[0]
        return body_end, body_end

    def skip(self, pattern: re.Pattern[str], at: int) -> int:
        """The place after what the pattern matches at this one, if it does."""
        found = pattern.match(self._text, at)
        return found.end() if found else at


_CLOSING_FENCE = re.compile(_FENCE)
_SPACE = re.compile(r"\s*+")


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


def without_fence(text: str) -> str:
    """The text inside, when a Markdown fence is all that stands around it."""
    stripped = text.strip()
    head = _FENCE_HEAD.match(stripped)
    if head is None or not stripped.endswith(_FENCE) or len(stripped) < head.end() + len(_FENCE):
        return stripped
    return stripped[head.end() : -len(_FENCE)].strip()


def as_json(text: str) -> Any:
    """The value of a JSON text; None when it is none."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _may_quote(text: str, at: int) -> bool:
    """Whether a string may begin at the single quote at `at`; else it is an apostrophe."""
    before = text[max(0, at - _QUOTE_REACH_CHARS) : at].rstrip()
    return before.endswith(tuple("{[(,:="))
