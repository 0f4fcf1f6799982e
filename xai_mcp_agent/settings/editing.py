"""Edits of a settings file's text: an entry added, replaced or removed.

Comments, order and layout of everything else stay. The edited text is parsed before it is returned:
if an edit would damage the file, the error says what to write by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..core.json import JsonObject
from .document import KeyPlace, parse_text, text_of_file
from .models import SECTIONS
from .server import URL_KEYS

_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/|[{}\[\]:,]|[^\s{}\[\]:,"\'/]+',
    re.DOTALL,
)
_MAPS = ("mcpServers", "servers")
_INDENT = "  "


def text_with_server(file: Path, name: str, entry: JsonObject, *, replaces: bool = False) -> str:
    """Return the text of the file with a server added, or the text of a new file.

    With `replaces` the entry takes the place of a server of this name.

    Raises:
        SettingsError: the file cannot be read, has a server of this name, or cannot be edited.
    """
    place = KeyPlace(str(file))
    if not file.exists():
        return f"{_dump({'mcpServers': {name: entry}})}\n"
    text = text_of_file(file)
    before = parse_text(text, place)
    section = next((x for x in _MAPS if x in before), "")
    is_bare = not section and any(map(_is_entry, before.values()))
    there = place.at(section or _MAPS[0])
    servers: Any = before[section] if section else before if is_bare else {}
    if not isinstance(servers, dict):
        raise there.error("must be an object of MCP servers.", "Correct it.")
    if name in servers and not replaces:
        raise there.at(name).error(
            "there is already a server of this name.", "Choose another name."
        )
    is_first = not section and not is_bare
    added = (_MAPS[0], {name: entry}) if is_first else (name, entry)
    edited = _edit_text(text, place, section, *added)
    if edited is None:
        raise there.error("it cannot be edited automatically.", "Write the server into it by hand.")
    return edited


def text_without(file: Path, section: str, name: str) -> str:
    """Return the text of the file without an entry; the `section` of a bare map is "".

    Raises:
        SettingsError: the file cannot be read, or an edit would damage it.
    """
    place = KeyPlace(str(file))
    edited = _edit_text(text_of_file(file), place, section, name, None)
    if edited is None:
        there = place.at(section, name) if section else place.at(name)
        raise there.error("it cannot be removed automatically.", "Delete it in the file.")
    return edited


def sections_with(file: Path, name: str) -> list[str]:
    """Return the sections of the file that have an entry of this name; "" is a bare map.

    Raises:
        SettingsError: the file cannot be read.
    """
    before = parse_text(text_of_file(file), KeyPlace(str(file)))
    sections = [x for x in dict.fromkeys((*_MAPS, *SECTIONS)) if isinstance(before.get(x), dict)]
    is_bare = not any(x in before for x in _MAPS) and _is_entry(before.get(name))
    return [x for x in sections if name in before[x]] + [""] * is_bare


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and bool({"command", *URL_KEYS} & value.keys())


def _edit_text(
    text: str, place: KeyPlace, section: str, name: str, value: JsonObject | None
) -> str | None:
    """Return the text with the entry set or removed; None if that would damage the file."""
    before = parse_text(text, place)
    entries: JsonObject = {**(before[section] if section else before), name: value}
    if value is None:
        del entries[name]
    target = _object_at(text, section)
    edited = target.edit(name, value) if target else None
    after = {**before, section: entries} if section else entries
    return edited if edited and parse_text(edited, place) == after else None


@dataclass(slots=True)
class _Member:
    """A member of an object: the positions of its key, its value and the comma after it."""

    key: str
    begins: int
    value: int
    token: int  # index of the value's first token
    ends: int = 0
    comma: int | None = None


@dataclass(frozen=True, slots=True)
class _Object:
    """An object in the text: the positions of its braces, and its members in order."""

    text: str
    begins: int
    ends: int
    members: list[_Member]

    def member(self, key: str) -> _Member | None:
        """Return the last member with this key: the last one counts."""
        return next((x for x in reversed(self.members) if x.key == key), None)

    def edit(self, name: str, value: JsonObject | None) -> str | None:
        """Return the text with a member set, or removed if the value is None."""
        member = self.member(name)
        if value is None:
            return member and self._remove(member)
        return self._replace(member, value) if member else self._insert(name, value)

    def _insert(self, name: str, value: JsonObject) -> str:
        text, outer, at, comma = self.text, self._indent(self.ends), self.begins + 1, ""
        inner = outer + _INDENT
        if last := self.members[-1] if self.members else None:
            at, comma = (last.ends, ",") if last.comma is None else (last.comma + 1, "")
            if "\n" in text[: last.begins] and not self._line(last.begins).strip():
                inner = self._indent(last.begins)
        step = inner.removeprefix(outer) or _INDENT
        member = f"{json.dumps(name, ensure_ascii=False)}: {_dump(value, step, inner)}"
        before = f"{text[:at]}{comma}{text[at : self.ends].rstrip()}\n{inner}{member}\n{outer}"
        return self._with_line_ends(before) + text[self.ends :]

    def _replace(self, member: _Member, value: JsonObject) -> str:
        indent = self._indent(member.begins)
        step = indent.removeprefix(self._indent(self.ends)) or _INDENT
        dumped = self._with_line_ends(_dump(value, step, indent))
        return self.text[: member.value] + dumped + self.text[member.ends :]

    def _remove(self, member: _Member) -> str:
        """Return the text without a member, and without the line that it leaves empty."""
        head, is_last = self.text[: member.begins], member is self.members[-1]
        if is_last and member.comma is None and len(self.members) > 1:
            comma = cast(int, self.members[-2].comma)
            head = head[:comma] + head[comma + 1 :]
        before = head.rstrip(" \t")
        ends = member.ends if member.comma is None else member.comma + 1
        after = self.text[ends:].lstrip(" \t")
        if before.endswith("\n") and after.startswith(("\n", "\r\n")):
            return before + after.partition("\n")[2]
        return (before if is_last else head) + after

    def _line(self, at: int) -> str:
        """Return the part of the line before a position."""
        return self.text[self.text.rfind("\n", 0, at) + 1 : at]

    def _indent(self, at: int) -> str:
        line = self._line(at)
        return line[: len(line) - len(line.lstrip())]

    def _with_line_ends(self, part: str) -> str:
        return re.sub(r"\r?\n", "\r\n", part) if "\r\n" in self.text else part


def _object_at(text: str, key: str) -> _Object | None:
    """Return the object at a key of the outermost object, or the outermost object itself."""
    tokens = [x for x in _TOKEN.finditer(text) if not x[0].startswith(("//", "/*"))]
    outermost = _object(text, tokens, 0)
    if not key or outermost is None:
        return outermost
    member = outermost.member(key)
    return _object(text, tokens, member.token) if member else None


def _object(text: str, tokens: Sequence[re.Match[str]], first: int) -> _Object | None:
    """Return the object that begins at a token; None for JSON5 that the tokens do not cover."""
    members, depth = list[_Member](), 0
    for at, token in enumerate(tokens[first:], first):
        depth += (token[0] in ("{", "[")) - (token[0] in ("}", "]"))
        if depth == 0:
            return _Object(text, tokens[first].start(), token.start(), members)
        if depth == 1 and token[0] == ":":
            key, value = tokens[at - 1], tokens[at + 1]
            members.append(_Member(_key(key[0]), key.start(), value.start(), at + 1))
        elif depth == 1 and token[0] == "," and members:
            members[-1].comma = token.start()
        elif members and members[-1].comma is None:
            members[-1].ends = token.end()
    return None


def _key(word: str) -> str:
    try:
        return str(json.loads(word)) if word.startswith('"') else word.strip("'")
    except ValueError:
        return word


def _dump(value: JsonObject, step: str = _INDENT, indent: str = "") -> str:
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{indent}")
