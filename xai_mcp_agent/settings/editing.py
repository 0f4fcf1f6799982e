"""Adds a server to the text of a settings file, replaces it there, or removes an entry.

Comments, order and layout of everything else stay. The edited text is parsed before it is returned:
if an edit would damage the file, the error says what to write by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from ..core.json import JsonObject
from ..secrets.redactor import is_secret, redact_args, redact_url
from ..secrets.secrets import MASK, Secrets
from .document import Place, parsed_text, text_of_file
from .models import SECTIONS
from .server import URL_KEYS

_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|//[^\n]*|/\*.*?\*/|[{}\[\]:,]|[^\s{}\[\]:,"\'/]+',
    re.DOTALL,
)
_MAPS = ("mcpServers", "servers")
_INDENT = "  "


class _Member(NamedTuple):
    """A member of an object: the places of its key, its value and the comma after it."""

    key: str
    begins: int
    value: int
    ends: int
    comma: int  # -1: none
    token: int  # the first of its value, among all tokens


class _Object(NamedTuple):
    """An object of the text: the places of its braces, and its members in their order."""

    begins: int
    ends: int
    members: list[_Member]

    def member(self, key: str) -> _Member | None:
        """The member of this key; the last one, which counts."""
        return next((x for x in reversed(self.members) if x.key == key), None)


def text_with_server(file: Path, name: str, entry: JsonObject, *, replaces: bool = False) -> str:
    """The text of the file with one more server, or the text of a new file.

    With `replaces` the entry takes the place of a server of this name.

    Raises:
        SettingsError: the file cannot be read, has a server of this name, or cannot be edited.
    """
    place = Place(str(file))
    if not file.exists():
        return f"{_dumped({'mcpServers': {name: entry}}, _INDENT)}\n"
    text = text_of_file(file)
    before = parsed_text(text, place)
    key = next((x for x in _MAPS if x in before), "")
    is_bare = not key and any(map(_is_entry, before.values()))
    servers: Any = before[key] if key else before if is_bare else {}
    if not isinstance(servers, dict):
        raise place.at(key).error("must be an object of MCP servers.", "Correct it.")
    if name in servers and not replaces:
        problem = "there is already a server of this name."
        raise place.at(key or _MAPS[0], name).error(problem, "Choose another name.")
    expected: JsonObject = {**servers, name: entry}
    added = (name, entry) if key or is_bare else (_MAPS[0], expected)
    after = {**before, key or _MAPS[0]: expected} if not is_bare else expected
    change = _replaced if name in servers else _inserted
    edited = change(text, key, *added)
    if edited is None or parsed_text(edited, place) != after:
        fix = f"Write this into it by hand:\n{_dumped({name: _without_secrets(entry)}, _INDENT)}"
        raise place.at(key or _MAPS[0]).error("it cannot be edited automatically.", fix)
    return edited


def _without_secrets(value: Any) -> Any:
    """The value of an entry as it may be printed."""
    if isinstance(value, dict):
        items = cast(JsonObject, value).items()
        return {x: MASK if is_secret(x, str(y)) else _without_secrets(y) for x, y in items}
    if isinstance(value, list):
        return redact_args([str(x) for x in cast(list[Any], value)], Secrets())
    return redact_url(value) if isinstance(value, str) and "://" in value else value


def text_without(file: Path, section: str, name: str) -> str:
    """The text of the file without the entry of this name in a section; empty: a bare map.

    Raises:
        SettingsError: the file cannot be read, or an edit would damage it.
    """
    place = Place(str(file))
    text = text_of_file(file)
    before = parsed_text(text, place)
    entries = cast(JsonObject, before[section] if section else before)
    left = {key: x for key, x in entries.items() if key != name}
    edited = _removed(text, section, name)
    after = {**before, section: left} if section else left
    if edited is None or parsed_text(edited, place) != after:
        there = place.at(section, name) if section else place.at(name)
        raise there.error("it cannot be removed automatically.", "Delete it in the file.")
    return edited


def sections_with(file: Path, name: str) -> list[str]:
    """The sections of the file that have an entry of this name; empty: a bare map.

    Raises:
        SettingsError: the file cannot be read.
    """
    before = parsed_text(text_of_file(file), Place(str(file)))
    sections = [x for x in (*_MAPS, *SECTIONS) if isinstance(before.get(x), dict)]
    having = [x for x in dict.fromkeys(sections) if name in before[x]]
    is_bare = not any(x in before for x in _MAPS) and _is_entry(before.get(name))
    return [*having, *([""] if is_bare else [])]


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and bool({"command", *URL_KEYS} & value.keys())


def _inserted(text: str, key: str, name: str, value: JsonObject) -> str | None:
    """The text with one more member in the object under a key, or in the outermost one."""
    if (target := _object_at(text, key)) is None:
        return None
    outer = _indent_at(text, target.ends)
    inner = outer + _INDENT
    last = target.members[-1] if target.members else None
    if last and not text[text.rfind("\n", 0, last.begins) + 1 : last.begins].strip():
        inner = _indent_at(text, last.begins) if "\n" in text[: last.begins] else inner
    step = inner[len(outer) :] if inner.startswith(outer) and inner != outer else _INDENT
    member = f"{json.dumps(name, ensure_ascii=False)}: {_dumped(value, step, inner)}"
    at, comma = target.begins + 1, ""
    if last:
        at, comma = (last.comma + 1, "") if last.comma >= 0 else (last.ends, ",")
    rest = text[at : target.ends].rstrip()
    whole = f"{text[:at]}{comma}{rest}\n{inner}{member}\n{outer}"
    return _with_line_ends(whole, text) + text[target.ends :]


def _replaced(text: str, key: str, name: str, value: JsonObject) -> str | None:
    """The text with another value of a member."""
    target = _object_at(text, key)
    member = target.member(name) if target else None
    if member is None:
        return None
    indent = _indent_at(text, member.begins)
    step = indent[: len(indent) // 2] if key else indent
    dumped = _dumped(value, step or _INDENT, indent)
    return text[: member.value] + _with_line_ends(dumped, text) + text[member.ends :]


def _removed(text: str, key: str, name: str) -> str | None:
    """The text without a member, and without the line that it leaves empty."""
    target = _object_at(text, key)
    member = target.member(name) if target else None
    if target is None or member is None:
        return None
    at, is_last = target.members.index(member), member is target.members[-1]
    head, tail = text[: member.begins], text[max(member.comma + 1, member.ends) :]
    if is_last and member.comma < 0 and at > 0:  # the member before it is the last one now
        comma = target.members[at - 1].comma
        head = head[:comma] + head[comma + 1 :]
    before, after = head.rstrip(" \t"), tail.lstrip(" \t")
    if before.endswith("\n") and after.startswith(("\n", "\r\n")):
        return before + after.partition("\n")[2]
    if is_last:
        return before + tail
    return head + (after if not after.startswith(("\n", "\r\n")) else tail)


def _object_at(text: str, key: str) -> _Object | None:
    """The object under a key of the outermost one, or that one itself."""
    tokens = [x for x in _TOKEN.finditer(text) if not x[0].startswith(("//", "/*"))]
    try:
        outermost = _object(tokens, 0)
        if not key or outermost is None:
            return outermost
        member = outermost.member(key)
        return _object(tokens, member.token) if member else None
    except IndexError:  # JSON5 that these tokens do not cover
        return None


def _object(tokens: Sequence[re.Match[str]], at: int) -> _Object | None:
    """The object that begins with a token."""
    if tokens[at][0] != "{":
        return None
    members, begins = list[_Member](), tokens[at].start()
    at += 1
    while tokens[at][0] != "}":
        key, value, end = tokens[at], tokens[at + 2], _last_token(tokens, at + 2)
        after = tokens[end + 1]
        comma = after.start() if after[0] == "," else -1
        ends = tokens[end].end()
        members.append(_Member(_key(key[0]), key.start(), value.start(), ends, comma, at + 2))
        at = end + 1 + (comma >= 0)
    return _Object(begins, tokens[at].start(), members)


def _last_token(tokens: Sequence[re.Match[str]], at: int) -> int:
    """The last token of the value that begins with one."""
    depth = 0
    while True:
        depth += (tokens[at][0] in "{[") - (tokens[at][0] in "}]")
        if depth == 0:
            return at
        at += 1


def _key(word: str) -> str:
    try:
        return str(json.loads(word)) if word.startswith('"') else word.strip("'")
    except ValueError:
        return word


def _dumped(value: JsonObject, step: str, indent: str = "") -> str:
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{indent}")


def _with_line_ends(part: str, text: str) -> str:
    """The part with the line ends of the text that it is for."""
    return re.sub(r"\r?\n", "\r\n", part) if "\r\n" in text else part


def _indent_at(text: str, at: int) -> str:
    """The indentation of the line of a place."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]
