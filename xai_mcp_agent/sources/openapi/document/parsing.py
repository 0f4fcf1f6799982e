"""JSON and YAML as plain data: without surprises, and without bombs.

YAML is read by the rules of YAML 1.2, as OpenAPI demands: `no` and a date are texts, and so is
every key (responses are often written as `200:`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, cast

from ....core.errors import XaiMcpError
from ....core.json import as_list, as_object
from ...web.large_json import read_in_steps

# The largest that are published have about 40.
MAX_BYTES = 64 * 1024 * 1024
# With aliases written out. So many take some hundreds of megabytes.
_MAX_PARTS = 5_000_000
# From here on Python's reader would hold all threads for longer than they should wait.
_LARGE_CHARS = 1_000_000
_MAX_DEPTH = 200  # the deepest real ones have about 40
_SHOWN = 200  # characters of what is wrong
_BLANK = 10_000  # characters in which a text says what it is; JSON is YAML, too
_MAX_DIGITS = 1_000  # with more of them Python may not write the number any more

_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER = re.compile(
    r"(?P<whole>[-+]?[0-9]+)|0x(?P<hex>[0-9a-fA-F]+)|0o(?P<octal>[0-7]+)"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
)
_STARTS_NUMBERS = frozenset("0123456789+-.")
_STANDARD, _TEXT, _MERGE = "tag:yaml.org,2002:", "tag:yaml.org,2002:str", "<<"


class BadDocument(XaiMcpError):
    """A document that cannot be used at all; the message says where it is, why, and what to do."""


class NotReadable(ValueError):
    """A text that is neither JSON nor YAML, or too much of it."""


def parsed(data: bytes | str) -> Any:
    """What a text says, as `json.loads` gives it.

    Raises:
        NotReadable: in plain words, why.
    """
    if len(data) > MAX_BYTES:
        raise NotReadable(f"it is larger than {MAX_BYTES // 1024**2} MiB")
    text = _decoded(data) if isinstance(data, bytes) else data.removeprefix("\ufeff")
    if text[:_BLANK].lstrip()[:1] not in ("{", "["):
        return _yaml(text)
    try:
        return _json(text)
    except RecursionError:
        raise NotReadable("it is nested too deeply") from None
    except ValueError as cause:
        try:
            return _yaml(text)  # it may begin with a bracket, too
        except NotReadable:
            raise NotReadable(f"it is not JSON: {str(cause)[:_SHOWN]}") from None


def _json(text: str) -> Any:
    if len(text) < _LARGE_CHARS:
        return json.loads(text, parse_constant=_nothing, parse_float=_number)
    found = read_in_steps(text, _MAX_PARTS)
    _drop_infinities(found)
    return found


def _drop_infinities(value: Any) -> None:
    """Put nothing in place of numbers that JSON does not have."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        for key, x in list(as_object(part).items()) or list(enumerate(as_list(part))):
            if isinstance(x, float) and not math.isfinite(x):
                part[key] = None
            elif isinstance(x, dict | list):
                waiting.append(x)


def _decoded(data: bytes) -> str:
    try:
        return data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise NotReadable("it is not text in UTF-8") from None


def _nothing(_word: str) -> None:
    """`NaN` and `Infinity`, which JSON does not have."""


def _number(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _yaml(text: str) -> Any:
    # Here, because most documents are JSON.
    import yaml

    try:
        parse: Any = cast(Any, yaml).parse
        return _Builder().built(parse(_Pieces(text), _loader()))
    except yaml.YAMLError as cause:
        said = " ".join(str(cause).split())[:_SHOWN]
        raise NotReadable(f"it is not YAML: {said}") from None
    except RecursionError:
        raise NotReadable("it is nested too deeply") from None


class _Pieces:
    """A text that is read in pieces: its reader in C holds all other threads for each of them."""

    name = "the text"

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self, size: int) -> str:
        """The next characters; nothing at the end."""
        begins, self._at = self._at, self._at + size
        return self._text[begins : self._at]


def _loader() -> Any:
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # without its C library it is slow


class _Frame:
    """A list or an object that is not finished. `parts` counts all that is in it."""

    __slots__ = ("anchor", "is_merging", "is_object", "key", "parts", "value")

    def __init__(self, value: Any, anchor: str | None) -> None:
        self.value = value
        self.is_object = isinstance(value, dict)
        self.anchor = anchor
        self.key: str | None = None
        self.is_merging = False
        self.parts = 1


class _Builder:
    """Builds data from YAML's events, so that what is too much is noticed before it is there."""

    def __init__(self) -> None:
        self._open: list[_Frame] = []
        self._known: dict[str, tuple[Any, int]] = {}
        self._plain: dict[str, Any] = dict(_WORDS)
        self._done = _Frame([], None)

    def built(self, events: Iterator[Any]) -> Any:
        """The first document."""
        from yaml import events as kinds

        top = self._done
        for event in events:
            kind = cast(Any, type(event))
            if kind is kinds.ScalarEvent:
                if top.is_object and top.key is None:
                    top.key = event.value
                    top.is_merging = event.value == _MERGE and event.implicit[0]
                    if event.anchor:
                        self._known[event.anchor] = event.value, 1
                else:
                    self._add(top, self._scalar(event), 1, event.anchor)
            elif kind is kinds.MappingStartEvent or kind is kinds.SequenceStartEvent:
                top = self._opened(top, event, {} if kind is kinds.MappingStartEvent else [])
            elif kind is kinds.MappingEndEvent or kind is kinds.SequenceEndEvent:
                closed = self._open.pop()
                top = self._open[-1] if self._open else self._done
                self._add(top, closed.value, closed.parts, closed.anchor)
            elif kind is kinds.AliasEvent:
                self._add_alias(top, event.anchor)
            elif kind is kinds.DocumentStartEvent and self._done.value:
                break
        return self._done.value[0] if self._done.value else None

    def _opened(self, top: _Frame, event: Any, value: Any) -> _Frame:
        if top.is_object and top.key is None:
            raise NotReadable(
                f"line {event.start_mark.line + 1}: a key that is a list or an object"
            )
        if len(self._open) >= _MAX_DEPTH:
            raise NotReadable(f"it is nested more than {_MAX_DEPTH} deep")
        if event.anchor:
            self._known.pop(event.anchor, None)
        self._open.append(_Frame(value, event.anchor))
        return self._open[-1]

    def _add_alias(self, top: _Frame, anchor: str) -> None:
        if anchor not in self._known:
            raise NotReadable(f"*{anchor[:_SHOWN]} stands for nothing, or for itself")
        value, parts = self._known[anchor]
        if top.is_object and top.key is None:
            if not isinstance(value, str):
                raise NotReadable(f"*{anchor[:_SHOWN]} is a key, and is no text")
            top.key = value
        else:
            self._add(top, value, parts, None)

    def _add(self, top: _Frame, value: Any, parts: int, anchor: str | None) -> None:
        top.parts += parts
        if top.parts > _MAX_PARTS:
            raise NotReadable(f"it has more than {_MAX_PARTS:,} parts, its aliases written out")
        if anchor:
            self._known[anchor] = value, parts
        if not top.is_object:
            top.value.append(value)
        elif top.is_merging:
            self._merge(top.value, value)
        else:
            top.value[top.key] = value
        top.key, top.is_merging = None, False

    def _merge(self, into: Any, value: Any) -> None:
        for one in as_list(value) or [value]:
            for name, part in as_object(one).items():
                into.setdefault(name, part)

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if not event.implicit[0] and (event.implicit[1] or not event.tag or event.tag == _TEXT):
            return text
        if event.tag and not event.tag.startswith(_STANDARD):
            return text  # a tag of somebody's own
        if text not in self._plain:
            self._plain[text] = _resolved(text) if text[:1] in _STARTS_NUMBERS else text
        return self._plain[text]


def _resolved(text: str) -> Any:
    """A number, where it is one in YAML 1.2 that JSON can hold."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return text
    try:
        if found["hex"] or found["octal"]:
            return int(text, 0) if len(text) < _MAX_DIGITS else text
        return int(text) if found["whole"] else _number(text)
    except ValueError:  # more digits than Python wants to read
        return text
