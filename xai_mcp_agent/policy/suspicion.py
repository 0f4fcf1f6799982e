"""Marks on suspicious server texts: orders to a model, hidden characters, look-alike names.

A mark says where the text is and why it is suspicious, for a person to judge. It blocks nothing:
honest servers give orders, too, and an attacker who knows the phrases can avoid them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.events import Inventory
from ..core.json import JsonObject, children, clip, is_object
from ..core.names import skeleton
from ..core.tools import Tool
from ..core.visible import count_hidden, visible

_MAX_CHARS = 20_000  # of one text; no model reads more of a description
_QUOTED_CHARS = 120

# Published attacks on tools, by their effect. Each repeat is bounded, so that no text can slow down
# the search. A text is compared in lower case, with one blank between its words.
_PHRASES = {
    "tells a model to ignore its instructions": (
        r"\b(?:ignor(?:e|ing)|disregard|forget|override)\b[^.!?]{0,30}\b(?:previous|prior|earlier"
        r"|above|preceding|other|system|existing|all|your)\b[^.!?]{0,30}"
        r"\b(?:instructions?|prompts?|rules|guidelines|directives)\b"
    ),
    "tells a model to keep something from the user": (
        r"\b(?:do not|don'?t|never|must not|without)\b[^.!?]{0,20}\b(?:tell|mention|inform|reveal"
        r"|notify|alert|disclos)\w{0,4}\b[^.!?]{0,40}\b(?:users?|humans?|anyone|that you|this)\b"
        r"|\b(?:secretly|silently|covertly) (?:send|forward|copy|read|include|pass|upload|call)\b"
    ),
    "poses as the system or its operator": (
        r"<\s?/?\s?(?:important|system|secret|critical|hidden)\s?>|\[\s?/?\s?(?:system|inst)\s?\]"
        r"|<\|im_start\|>|<<sys>>|\byou are now (?:a|an|in|no longer|the)\b|\bnew instructions? ?:"
        r"|\b(?:system|admin(?:istrator)?|developer|operator) (?:instruction|override|prompt)s? ?:"
    ),
    "wants to control the use of other tools": (
        r"\b(?:before|prior to|after|when(?:ever)?) (?:using|calling|invoking|running|you use"
        r"|you call)\b[^.!?]{0,20}\b(?:any|all|every|each)\b(?: of the)?(?: other)? tools?\b"
        r"|\bwhen(?:ever)? (?:this|the) (?:tool|server) is (?:available|present|installed|connected"
        r"|loaded)\b[^.!?]{0,120}\b(?:must|always)\b"
    ),
    "asks for files with keys or settings": (
        r"\b(?:read(?:ing)?|open|load|include|send|attach|pass|cat|upload|copy)\b.{0,60}?"
        r"(?:\.ssh\b|\bid_(?:rsa|ed25519)\b|\bssh id rsa\b|\.aws/credentials|\bmcp\.json|\.netrc\b"
        r"|mcp_settings\.json|/etc/(?:passwd|shadow)|\.kube/config|\.git-credentials|\.env\b)"
    ),
    "asks for the conversation or the system prompt": (
        r"\b(?:send|include|reveal|print|output|pass|put|insert|copy|forward|provide)\b[^.!?]{0,40}"
        r"\b(?:your|the) (?:system prompt|(?:entire|full|whole|complete) (?:conversation|chat"
        r"|context)|conversation history|chat history|previous messages)\b"
    ),
    "sends data elsewhere": (
        r"\b(?:send|forward|post|upload|copy|transmit|exfiltrate|e-?mail|bcc)\b[^!?]{0,30}?\b(?:all"
        r"|every|copy|whole|entire|full|contents?|conversations?|history|secrets?|passwords?"
        r"|credentials?|keys?|tokens?)\b[^!?]{0,60}?\bto\b[^!?]{0,20}?(?:https?://|@)"
        r"|\b(?:always|must)\b[^.!?]{0,40}\bbcc\b|\b(?:change|replace)\b[^.!?]{0,20}\brecipient\b"
    ),
    "tells a model not to ask anybody": (
        r"\b(?:do not|don'?t|never)\b[^.!?]{0,15}\b(?:ask|request|seek|wait)\b[^.!?]{0,30}"
        r"\b(?:confirmation|permission|approval|consent)\b"
    ),
}
_PATTERNS = {reason: re.compile(pattern) for reason, pattern in _PHRASES.items()}
_STRANGE_WORD = re.compile(r"\w*[^\W\x00-\x7f]\w*")


@dataclass(frozen=True, slots=True)
class Mark:
    """A suspicious text of a server. `tool` is empty for the server's instructions.

    `place` is the part that has it, such as `description`; `words` quotes it, cleaned and on one
    line.
    """

    source: str
    tool: str
    place: str
    reason: str
    words: str = ""

    def __str__(self) -> str:
        where = f"{self.tool}, {self.place}" if self.tool else self.place
        return f"{where}: {self.reason}" + (f": {self.words!r}" if self.words else "")


def marks_of(inventories: Mapping[str, Inventory]) -> list[Mark]:
    """Return marks for suspicious texts in these inventories."""
    tools = [x for inventory in inventories.values() for x in inventory.tools]
    alike = defaultdict[str, list[Tool]](list)
    for tool in tools:
        alike[skeleton(tool.name)].append(tool)
    marks: list[Mark] = []
    for source, inventory in inventories.items():
        marks += _marks(source, "", [("instructions", inventory.instructions)])
        for tool in inventory.tools:
            marks += _marks(source, tool.name, _texts_of(tool))
            marks += _look_alikes(tool, alike[skeleton(tool.name)])
    return marks


def find_orders(text: str) -> Iterator[tuple[str, str]]:
    """Yield the orders to a model in a text: a reason and a quote for each."""
    plain = " ".join(visible(text[:_MAX_CHARS]).casefold().replace("\u2019", "'").split())
    # Letters of other alphabets that look Latin.
    plain = plain if plain.isascii() else _STRANGE_WORD.sub(lambda x: skeleton(x[0]), plain)
    for reason, pattern in _PATTERNS.items():
        if match := pattern.search(plain):
            begin = max(match.start() - 20, 0)
            yield reason, plain[begin : begin + _QUOTED_CHARS].strip()


def _marks(source: str, tool: str, texts: Iterable[tuple[str, str]]) -> Iterable[Mark]:
    marks: dict[tuple[str, str], Mark] = {}
    for place, text in texts:
        for reason, words in _oddities(text):
            marks.setdefault((place, reason), Mark(source, tool, place, reason, words))
    return marks.values()


def _oddities(text: str) -> Iterator[tuple[str, str]]:
    if hidden := count_hidden(text):
        thing = "a character" if hidden == 1 else f"{hidden:,} characters"
        yield f"has {thing} that nobody can see", _one_line(text[:_MAX_CHARS], _QUOTED_CHARS)
    yield from find_orders(text)


def _look_alikes(tool: Tool, others: Iterable[Tool]) -> Iterator[Mark]:
    """Yield marks for a name that looks like another one but has other letters."""
    for other in others:
        if other.key != tool.key and not tool.name.isascii():
            name = other.name if other.name.isascii() else ascii(other.name)
            reason = f"looks like {name} of {other.source}"
            yield Mark(tool.source, tool.name, "name", reason, ascii(tool.name)[1:-1])


def _one_line(text: str, at_most: int) -> str:
    return clip(" ".join(visible(text).split()), at_most)


def _texts_of(tool: Tool) -> Iterator[tuple[str, str]]:
    """Yield the texts of a tool that a model or a person may read, each with its place."""
    yield from (("name", tool.name), ("title", tool.title or ""), ("description", tool.description))
    yield from _texts_in_schema(tool.input_schema)


def _texts_in_schema(schema: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield all texts in a schema and the names of parameters, but not its keywords."""
    waiting: list[tuple[str, str, Any]] = [("parameters", "", schema)]
    while waiting:
        place, keyword, value = waiting.pop()
        if isinstance(value, str):
            yield place, value
        elif keyword in ("properties", "$defs", "definitions") and is_object(value):
            for name, part in value.items():
                inner = f"parameter {_one_line(name[:_QUOTED_CHARS], 40)}"
                # Also as separate words, as a model reads `content_of_the_file`.
                yield inner, f"{name} {name.replace('_', ' ')}"
                waiting.append((inner, "", part))
        elif is_object(value):
            waiting += [(place, x, part) for x, part in value.items()]
        else:
            waiting += [(place, "", x) for x in children(value)]
