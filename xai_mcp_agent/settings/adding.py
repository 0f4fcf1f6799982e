"""Adds a server to the text of a settings file; comments, order and everything else stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..core.tools import JsonObject
from .document import Place, parsed_text, text_of_file

_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/|[{}\[\]:,]|[^\s{}\[\]:,"\'/]+',
    re.DOTALL,
)
_MAPS = ("mcpServers", "servers")
_INDENT = "  "


@dataclass(slots=True)
class _Object:
    """An object of the text: its braces, and where its last member ends."""

    begins: int
    ends: int = -1
    last: int = -1
    has_comma: bool = False


def text_with_server(file: Path, name: str, entry: JsonObject) -> str:
    """The text of the file with one more server; that of a new one where there is none.

    Raises:
        SettingsError: the file cannot be read, has a server of this name, or is written in a way
            that nothing can be added to.
    """
    place = Place(str(file))
    if not file.exists():
        return f"{json.dumps({'mcpServers': {name: entry}}, indent=2, ensure_ascii=False)}\n"
    text = text_of_file(file)
    before = parsed_text(text, place)
    key = next((x for x in _MAPS if x in before), "")
    is_bare = not key and _is_bare(before)
    inside: Any = before[key] if key else before if is_bare else {}
    if not isinstance(inside, dict):
        raise place.at(key).error("must be an object of MCP servers.", "Correct it.")
    servers = cast(JsonObject, inside)
    if name in servers:
        problem = "there is a server of this name already."
        raise place.at(key or _MAPS[0], name).error(problem, "Choose another name.")
    expected = {**servers, name: entry}
    if key or is_bare:
        added, after = (name, entry), {**before, key: expected} if key else expected
    else:
        added, after = (_MAPS[0], expected), {**before, _MAPS[0]: expected}
    found = _inserted(text, key, *added)
    if found is None or parsed_text(found, place) != after:
        shown = json.dumps({name: entry}, ensure_ascii=False)
        raise place.error("nothing can be added to it here.", f"Write this into it: {shown}")
    return found


def _is_bare(before: JsonObject) -> bool:
    """Whether it is a map of servers itself."""
    return any(isinstance(x, dict) and {"command", "url"} & x.keys() for x in before.values())


def _inserted(text: str, key: str, name: str, value: JsonObject) -> str | None:
    """The text with one more member in the object under a key, or in the outermost one."""
    found = dict(_objects(text)).get(key)
    if found is None or found.ends < 0:
        return None
    outer = _indent_at(text, found.ends)
    inner = _first_indent(text, found) or outer + _INDENT
    step = inner[len(outer) :] if inner.startswith(outer) and inner != outer else _INDENT
    dumped = json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{inner}")
    member = f"\n{inner}{json.dumps(name, ensure_ascii=False)}: {dumped}\n{outer}"
    comma = "," if found.last >= 0 and not found.has_comma else ""
    at = found.last if found.last >= 0 else found.begins + 1
    head, rest = text[:at] + comma, text[at : found.ends].rstrip()
    whole = f"{head}{rest}{member}"
    return (_with_crlf(whole) if "\r\n" in text else whole) + text[found.ends :]


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _objects(text: str) -> Iterator[tuple[str, _Object]]:
    """The outermost object under the key ``, and those right in it under their keys."""
    stack: list[tuple[str, _Object | None]] = []
    key, is_key = "", True
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word.startswith(("//", "/*")):
            continue
        here = stack[-1][1] if stack else None
        if word in "{[":
            _touch(here, token.start())
            told = _Object(token.start()) if word == "{" else None
            stack.append((key if len(stack) == 1 else "" if not stack else "\0", told))
            key, is_key = "", True
        elif word in "}]":
            name, closed = stack.pop() if stack else ("\0", None)
            if closed:
                closed.ends = token.start()
                if name != "\0":
                    yield name, closed
            if stack and (outer := stack[-1][1]):
                outer.last, outer.has_comma = token.end(), False
        elif word == ",":
            if here:
                here.last, here.has_comma = token.end(), True
            key, is_key = "", True
        elif word == ":":
            is_key = False
        else:
            if here:
                here.last, here.has_comma = token.end(), False
            if is_key:
                key = _key(word)


def _touch(here: _Object | None, at: int) -> None:
    if here:
        here.last, here.has_comma = at, False


def _key(word: str) -> str:
    try:
        return str(json.loads(word)) if word.startswith('"') else word.strip("'")
    except ValueError:
        return word


def _indent_at(text: str, at: int) -> str:
    """What the line of a place begins with."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _first_indent(text: str, found: _Object) -> str:
    """How far the first member stands in, where it has a line of its own."""
    inside = text[found.begins + 1 : found.ends]
    lead = re.match(r"[ \t]*\r?\n((?:[ \t]*\r?\n)*)([ \t]*)(?=\S)", inside)
    return lead[2] if lead else ""
