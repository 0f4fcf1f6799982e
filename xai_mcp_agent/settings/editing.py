"""Adds, replaces and removes entries in the text of a settings file; all else in it stays.

Comments, order and layout are the person's. What comes of an edit is read before it is given back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..core.tools import JsonObject
from .document import Place, parsed_text, text_of_file
from .models import SECTIONS
from .server import URL_KEYS

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


@dataclass(slots=True)
class _Member:
    """A member of an object: where its key, its value and the comma after it are."""

    key: str
    begins: int
    value: int = -1
    ends: int = -1
    comma: int = -1


def text_with_server(file: Path, name: str, entry: JsonObject, *, replaces: bool = False) -> str:
    """The text of the file with one more server; that of a new one where there is none.

    With `replaces` the entry takes the place of a server of this name.

    Raises:
        SettingsError: the file cannot be read, has a server of this name, or is written in a way
            that nothing can be added to.
    """
    place = Place(str(file))
    if not file.exists():
        return f"{json.dumps({'mcpServers': {name: entry}}, indent=2, ensure_ascii=False)}\n"
    text = text_of_file(file)
    before = parsed_text(text, place)
    key, servers = _servers_of(before, place)
    if name in servers and not replaces:
        problem = "there is a server of this name already."
        raise place.at(key or _MAPS[0], name).error(problem, "Choose another name.")
    expected = {**servers, name: entry}
    if key or _is_bare(before):
        added, after = (name, entry), {**before, key: expected} if key else expected
    else:
        added, after = (_MAPS[0], expected), {**before, _MAPS[0]: expected}
    change = _replaced if name in servers else _inserted
    found = change(text, key, *added)
    if found is None or parsed_text(found, place) != after:
        shown = f"{name!r} (with {', '.join(map(repr, entry))})"
        raise place.error("nothing can be added to it here.", f"Write {shown} into it by hand.")
    return found


def text_without(file: Path, section: str, name: str) -> str:
    """The text of the file without the entry of this name in a section; `` is a bare map.

    Raises:
        SettingsError: the file cannot be read, or is written in a way that it cannot be found in.
    """
    place = Place(str(file))
    text = text_of_file(file)
    before = parsed_text(text, place)
    inside = cast(JsonObject, before[section] if section else before)
    left = {key: x for key, x in inside.items() if key != name}
    found = _removed(text, section, name)
    if found is None or parsed_text(found, place) != (
        {**before, section: left} if section else left
    ):
        there = place.at(section, name) if section else place.at(name)
        raise there.error("it cannot be taken out by itself.", "Delete it in the file.")
    return found


def sections_with(file: Path, name: str) -> list[str]:
    """The sections of the file that have an entry of this name; `` is that of a bare map.

    Raises:
        SettingsError: the file cannot be read.
    """
    before = parsed_text(text_of_file(file), Place(str(file)))
    sections = [x for x in (*_MAPS, *SECTIONS) if isinstance(before.get(x), dict)]
    found = [x for x in dict.fromkeys(sections) if name in before[x]]
    is_bare = not any(x in before for x in _MAPS) and _is_entry(before.get(name))
    return [*found, *([""] if is_bare else [])]


def _servers_of(before: JsonObject, place: Place) -> tuple[str, JsonObject]:
    """The key of the map of servers, `` where the file is one or has none, and what is in it."""
    key = next((x for x in _MAPS if x in before), "")
    inside: Any = before[key] if key else before if _is_bare(before) else {}
    if not isinstance(inside, dict):
        raise place.at(key).error("must be an object of MCP servers.", "Correct it.")
    return key, cast(JsonObject, inside)


def _is_bare(before: JsonObject) -> bool:
    """Whether it is a map of servers itself."""
    return not any(x in before for x in _MAPS) and any(map(_is_entry, before.values()))


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and bool({"command", *URL_KEYS} & value.keys())


def _replaced(text: str, key: str, name: str, value: JsonObject) -> str | None:
    """The text with another value of a member."""
    found = dict(_objects(text)).get(key)
    one = next((x for x in _members(text, found) if x.key == name), None) if found else None
    if one is None:
        return None
    indent = _indent_at(text, one.begins)
    step = indent[: len(indent) // 2] if found and key else indent
    dumped = json.dumps(value, indent=step or _INDENT, ensure_ascii=False)
    dumped = dumped.replace("\n", f"\n{indent}")
    whole = dumped if "\r\n" not in text else _with_crlf(dumped)
    return text[: one.value] + whole + text[one.ends :]


def _removed(text: str, key: str, name: str) -> str | None:
    """The text without a member, and without the line that it leaves empty."""
    found = dict(_objects(text)).get(key)
    members = _members(text, found) if found else []
    at = next((n for n, x in enumerate(members) if x.key == name), None)
    if at is None:
        return None
    one, is_last = members[at], at == len(members) - 1
    begins, ends = one.begins, (one.comma + 1 if one.comma >= 0 else one.ends)
    line = text.rfind("\n", 0, begins) + 1
    rest = re.compile(r"[ \t]*(\r?\n)?").match(text, ends)
    if not text[line:begins].strip() and rest and rest[1]:
        begins, ends = line, rest.end()
    elif is_last:
        begins = len(text[:begins].rstrip(" \t"))
    elif rest and not rest[1]:
        ends = rest.end()
    head = text[:begins]
    if is_last and one.comma < 0 and at > 0:  # the one before it is the last one now
        comma = members[at - 1].comma
        head = head[:comma] + head[comma + 1 :]
    return head + text[ends:]


def _members(text: str, inside: _Object) -> list[_Member]:
    """The members of an object, in their order."""
    members, depth, is_key = list[_Member](), 0, True
    for token in _TOKEN.finditer(text, inside.begins + 1, inside.ends):
        word = token[0]
        if word.startswith(("//", "/*")):
            continue
        if depth == 0 and word in ",:":
            is_key = word == ","
            if is_key and members:
                members[-1].comma = token.start()
        elif is_key:
            members.append(_Member(_key(word), token.start()))
        else:
            one = members[-1]
            one.value, one.ends = (token.start() if one.value < 0 else one.value), token.end()
            depth += (word in "{[") - (word in "}]")
    return members


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
