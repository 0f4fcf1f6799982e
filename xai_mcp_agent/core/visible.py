"""Untrusted text without invisible characters.

Terminal codes, control characters, marks for the direction of writing, invisible signs and tags are
hidden from a person, but a model reads them. Arguments of calls are never cleaned: `own_names`
restores the name of a parameter that had to be renamed.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from .json import JsonObject, as_object, as_texts, is_list, is_object, parts_of

CUT = " ... (cut)"
"""The end of a text that was cut."""

_PLAIN = re.compile(r"[^\t\n -~]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Persian, Indian and other letters need joiners between them, and so do some emoji.
_JOINED = "\u0590-\u1fff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_PICTURES = "#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff"
_NOT_PLAIN = re.compile(r"[^ -~]")  # printable ASCII is always visible
_HIDDEN = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    f"|[\u200c\u200d](?![{_JOINED}])|(?<![{_JOINED}])[\u200c\u200d]"
    f"|(?<![{_PICTURES}])[\ufe0e\ufe0f]"
)
_TERMINAL_CODES = re.compile(r"\x1b\[[0-?]*+[ -/]*+[@-~]")
# Remaining controls, and lone surrogates, which no request can hold.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_INSTEAD = "\ufffd"

_MOST_NAME_CHARS = 200  # of a parameter; several times the longest of real tools
_DIGEST_LENGTH = 8
_MOST_LEVELS = 100  # models see far fewer
_RENAMED = re.compile(rf"_[0-9a-f]{{{_DIGEST_LENGTH}}}\Z")


def visible(text: str) -> str:
    """Return only the visible text: no hidden characters or terminal codes, newlines as line ends.

    A replacement character stands for each control character.
    """
    if not _PLAIN.search(text):
        return text
    clean = _LINE_ENDS.sub("\n", _TERMINAL_CODES.sub("", text))
    return _CONTROLS.sub(_INSTEAD, clean if clean.isascii() else _HIDDEN.sub("", clean))


def mark_hidden(text: str, mark: str) -> str:
    """Return the text with a mark for each invisible character, so that people notice it."""
    if not _PLAIN.search(text):
        return text
    clean = _LINE_ENDS.sub("\n", text)
    return _CONTROLS.sub(mark, clean if clean.isascii() else _HIDDEN.sub(mark, clean))


def escape_hidden(text: str, keep: str = "") -> str:
    """Return the text with an escape for each invisible character except those in `keep`."""
    if text.isprintable() and text.isascii():
        return text
    hidden = {x.start() for x in _HIDDEN.finditer(text)}

    def escape(match: re.Match[str]) -> str:
        x = match[0]
        is_plain = x in keep or (x.isprintable() and match.start() not in hidden)
        return x if is_plain else x.encode("unicode_escape", "surrogatepass").decode()

    return _NOT_PLAIN.sub(escape, text)


def visible_text(text: str, at_most: int) -> str:
    """Return the visible text, cut to at most `at_most` characters with a mark at the cut."""
    clean = visible(text[: 2 * at_most])
    if len(clean) <= at_most and len(text) <= 2 * at_most:
        return clean
    return clean[: at_most - len(CUT)] + CUT


def count_hidden(text: str) -> int:
    """Return the number of invisible characters, without terminal codes."""
    return 0 if text.isascii() else len(_HIDDEN.findall(text))


def is_visible(text: str) -> bool:
    """Return whether the text has no hidden and no control characters."""
    return not _PLAIN.search(text) or visible(text) == _LINE_ENDS.sub("\n", text)


def parameter_name(name: str) -> str:
    """Return the name of a parameter for models: its own, or a readable one if that is not plain.

    A readable one ends in a digest of the own name, so that no two are the same.
    """
    if len(name) <= _MOST_NAME_CHARS and is_visible(name) and "\n" not in name:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    words = visible(name[:_MOST_NAME_CHARS]).replace(_INSTEAD, "_").split()
    return f"{'_'.join(words)[: _MOST_NAME_CHARS - _DIGEST_LENGTH - 1]}_{digest}"


def own_names(arguments: JsonObject, schema: JsonObject) -> JsonObject:
    """Return a model's arguments under the tool's own names: the inverse of `parameter_name`."""
    if not _has_renamed(arguments):
        return arguments
    own = {parameter_name(x): x for x in _parameters_in(schema)}
    return _with_names(arguments, own)


def _has_renamed(value: Any) -> bool:
    """Return whether any name in the value looks like one that `parameter_name` made."""
    return any(any(map(_RENAMED.search, as_object(part))) for part in parts_of(value))


def _parameters_in(schema: JsonObject) -> set[str]:
    """Return the names of all parameters, and of the parts of their values."""
    names = set[str]()
    for part in filter(is_object, parts_of(schema)):
        names.update(as_object(part.get("properties")), as_texts(part.get("required")))
    return names


def _with_names(value: Any, own: dict[str, str], depth: int = _MOST_LEVELS) -> Any:
    if is_object(value) and depth:
        return {own.get(name, name): _with_names(x, own, depth - 1) for name, x in value.items()}
    if is_list(value) and depth:
        return [_with_names(x, own, depth - 1) for x in value]
    return value
