"""Tells a call that a model makes from one that it only quotes.

A model that repeats a page or a person's text may repeat a line in it that calls a tool. Such a
call stands word for word in a result or in what the person wrote, maybe with the escapes of HTML,
JSON or an address, and is not made at once.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote_plus

from ..messages import text_of, with_calls
from .spellings import TextCall
from .text import read_results

HINT = (
    "This call was not made, because the same text stands in {place}: a quotation runs nothing. "
    "If you want this call yourself, say in a sentence of your own why, and write the call again "
    "below it."
)
_QUOTE_MARKS = re.compile(r"^[>\s]+", re.MULTILINE)
# Emphasis, ticks and quotes come and go when a text is repeated, and so do empty arguments.
_DECORATION = str.maketrans("", "", "*_`\"'")
_NO_ARGUMENTS = re.compile(r"\{\}|\(\)")
_GOES_ON = re.compile(r"[\w{(\[]")
_SPACE_BESIDE_MARKS = re.compile(r" (?!\w)|(?<!\w) ")
_UNICODE_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_ESCAPED_SPACE = re.compile(r"\\[nrt]")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")  # &shy; and &ZeroWidthSpace;
# A page in JSON in JSON has escapes of escapes; nobody reads through more layers.
_MOST_LAYERS = 4
_SENTENCE = re.compile(r"\w+\W+\w+")


class Quotations:
    """What others wrote in the messages that a model was sent, to look the calls of a reply up in.

    `said` is what the model says with the calls, `asked_before` the calls that it was given a hint
    for in its last turn, as `key_of` names them.
    """

    def __init__(
        self, messages: Sequence[Mapping[str, Any]], said: str, asked_before: Collection[str]
    ) -> None:
        self._messages, self._said, self._asked_before = messages, said, asked_before
        others = [x for x in messages if x.get("role") in ("user", "tool")]
        self._places = [_Place.of(x) for x in others]

    def hint(self, call: TextCall) -> str:
        """Why this call is not made; empty if it may be."""
        plain = f"TOOL: {call.name} {call.arguments}"
        place = self._place(call.written) or self._place(plain)
        key = key_of(call.name, call.arguments)
        if not place or key in self._made:
            return ""
        if key in self._asked_before and self._has_own_words:
            return ""
        return HINT.format(place=place.name)

    def _place(self, text: str) -> _Place | None:
        wanted = _lines(text)
        return next((x for x in self._places if x.holds(wanted)), None) if wanted else None

    @cached_property
    def _has_own_words(self) -> bool:
        """Whether a line of two words or more is nowhere else."""
        own = (x for x in self._said.splitlines() if _SENTENCE.search(x))
        return any(self._place(x) is None for x in own)

    @cached_property
    def _made(self) -> set[str]:
        """The calls that the model itself made before and that a tool gave a result for."""
        return _made_in(self._messages)


def key_of(name: str, arguments: str) -> str:
    """The same for the same call, however it is spaced."""
    return f"{name} {''.join(arguments.split())}"


@dataclass(frozen=True, slots=True)
class _Place:
    """A text of others, without what comes and goes when it is repeated."""

    name: str
    lines: str
    whole: str

    @staticmethod
    def of(message: Mapping[str, Any]) -> _Place:
        lines = _lines(text_of(message))
        return _Place(_name_of(message), lines, "".join(lines.split()))

    def holds(self, wanted: str) -> bool:
        if not wanted[-1].isalnum():
            return "".join(wanted.split()) in self.whole
        # `TOOL: now` stands in `TOOL: now {} or later`, but neither in `TOOL: nowhere` nor in
        # `TOOL: now {"zone": "UTC"}`.
        _, *after = self.lines.split(wanted)
        return any(not _GOES_ON.match(x) for x in after)


def _name_of(message: Mapping[str, Any]) -> str:
    results = read_results([message])
    if results:
        return "the result of " + " or ".join(dict.fromkeys(x.call.name for x in results))
    return "the result of a tool" if message.get("role") == "tool" else "what the person wrote"


def _lines(text: str) -> str:
    """The text in lines, unescaped, without decoration and marks of quotation.

    Of white space only what parts two words is left.
    """
    plain = _QUOTE_MARKS.sub("", _unescaped(text)).translate(_DECORATION).casefold()
    lines = [_SPACE_BESIDE_MARKS.sub("", " ".join(x.split())) for x in plain.splitlines()]
    return _NO_ARGUMENTS.sub(" ", "\n".join(lines)).strip()


def _unescaped(text: str) -> str:
    """The text without the escapes of HTML, of addresses and of JSON, whatever their order."""
    for _ in range(_MOST_LAYERS):
        plain = unquote_plus(html.unescape(text))
        plain = _UNICODE_ESCAPES.sub(_decoded, plain)
        plain = _ESCAPED_SPACE.sub("\n", plain).replace("\\", "")
        plain = _UNSEEN.sub("", plain)
        if plain == text:
            break
        text = plain
    return text


def _decoded(escapes: re.Match[str]) -> str:
    return bytes.fromhex(escapes[0].replace("\\u", "")).decode("utf-16-be", "replace")


def _made_in(messages: Sequence[Mapping[str, Any]]) -> set[str]:
    results = read_results(x for x in messages if x.get("role") != "tool")
    # Those of no call that the model wrote may be written by anybody.
    own = [x.call for x in results if x.call.written and not x.is_error]
    made = {key_of(x.name, x.arguments) for x in own}
    for answer, asked in with_calls(messages):
        if asked and not text_of(answer).startswith("ERROR"):
            function = asked["function"]
            made.add(key_of(function["name"], function.get("arguments") or ""))
    return made
