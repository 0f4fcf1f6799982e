"""JSON and YAML as plain data, without surprises and without bombs.

YAML follows the rules of YAML 1.2, as OpenAPI demands: `no` and a date are texts, and so is every
key (responses are often written as `200:`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, cast

from ...core.errors import XaiMcpError
from ...core.json import as_list, is_object
from ...core.visible import visible_text
from ..web.large_json import read_in_steps

MAX_BYTES = 64 * 1024 * 1024
"""Of one file. The largest that are published have about 40 MB."""

_MAX_PARTS = 5_000_000  # with YAML's aliases written out: some hundreds of megabytes
_MAX_DEPTH = 200  # the deepest real documents have about 40 levels
_LARGE_CHARS = 1_000_000  # Python's reader would hold all other threads for longer
_PROBLEM_CHARS = 200
_BLANK = 10_000  # characters in which a text shows what it is; JSON is YAML, too
_MAX_DIGITS = 1_000  # Python may not read or write longer numbers

_WORDS: Mapping[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER = re.compile(
    r"(?P<whole>[-+]?[0-9]+)|(?P<coded>0x[0-9a-fA-F]+|0o[0-7]+)"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
)
_STANDARD, _TEXT = "tag:yaml.org,2002:", "tag:yaml.org,2002:str"
_HALF = re.compile("[\ud800-\udfff]")


class BadDocument(XaiMcpError):
    """A document that cannot be used at all; the message says where it is, why, and what to do."""


class NotReadable(ValueError):
    """A text that is neither JSON nor YAML, or too much of it."""


def texts_of(value: Any) -> list[str]:
    """Return the texts in a list, each once."""
    return list(dict.fromkeys(x for x in as_list(value) if isinstance(x, str) and is_whole(x)))


def is_whole(text: str) -> bool:
    """Whether a text can be sent: half of a surrogate pair, which JSON can say, cannot."""
    return text.isascii() or not _HALF.search(text)


def text_of(value: Any, at_most: int) -> str:
    """Return a text without invisible characters, cut; empty for what is no text."""
    return visible_text(value, at_most).strip() if isinstance(value, str) else ""


def parse(data: bytes | str) -> Any:
    """Read JSON or YAML into what `json.loads` would return.

    Raises:
        NotReadable: in plain words, why.
    """
    if len(data) > MAX_BYTES:
        raise NotReadable(f"it is larger than {MAX_BYTES // 1024**2} MiB")
    text = _decode(data) if isinstance(data, bytes) else data.removeprefix("\ufeff")
    if text[:_BLANK].lstrip()[:1] not in ("{", "["):
        return _parse_yaml(text)
    try:
        return _parse_json(text)
    except RecursionError:
        raise NotReadable("it is nested too deeply") from None
    except ValueError as cause:
        try:
            return _parse_yaml(text)  # it may begin with a bracket, too
        except NotReadable:
            raise NotReadable(f"it is not JSON: {str(cause)[:_PROBLEM_CHARS]}") from None


def json_of(value: Any) -> str:
    """Write a document that a program read: YAML readers return numbers as keys, and dates.

    Raises:
        NotReadable: it holds itself, or is nested too deeply.
    """
    try:
        return json.dumps(value, default=_plain, skipkeys=True)
    except (ValueError, RecursionError) as cause:
        raise NotReadable(f"it is no JSON: {cause}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(cast(Mapping[Any, Any], value))
    return value.isoformat() if isinstance(value, date) else str(value)


def _decode(data: bytes) -> str:
    try:
        return data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise NotReadable("it is not text in UTF-8") from None


# JSON


def _parse_json(text: str) -> Any:
    return json.loads(text) if len(text) < _LARGE_CHARS else read_in_steps(text, _MAX_PARTS)


# YAML


def _parse_yaml(text: str) -> Any:
    # Here, because most documents are JSON.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # without its C library it is slow
    try:
        return _build(cast(Any, yaml).parse(text, loader))
    except yaml.YAMLError as cause:
        problem = " ".join(str(cause).split())[:_PROBLEM_CHARS]
        raise NotReadable(f"it is not YAML: {problem}") from None
    except RecursionError:
        raise NotReadable("it is nested too deeply") from None


class _Frame:
    """A list or an object that is not finished; `size` counts all that is in it."""

    __slots__ = ("anchor", "is_object", "key", "size", "value")

    def __init__(self, value: Any, anchor: str | None = None) -> None:
        self.value = value
        self.is_object = isinstance(value, dict)
        self.anchor = anchor
        self.key: str | None = None
        self.size = 1

    def add(self, value: Any, size: int) -> None:
        """Add a value, with the size it has when its aliases are written out."""
        self.size += size
        if self.size > _MAX_PARTS:
            raise NotReadable(f"it has more than {_MAX_PARTS:,} parts, its aliases written out")
        if not self.is_object:
            self.value.append(value)
        elif self.key == "<<" and is_object(value):
            self.value.update({name: x for name, x in value.items() if name not in self.value})
        else:
            self.value[self.key] = value
        self.key = None


def _build(events: Iterable[Any]) -> Any:
    """Build the first document of YAML's events; what is too much is noticed before it is there."""
    from yaml import events as kinds

    top = _Frame([])
    frames = [top]
    anchors: dict[str, tuple[Any, int]] = {}
    scalars = dict(_WORDS)
    for event in events:
        kind = cast(Any, type(event))
        if kind is kinds.ScalarEvent:
            value, size, anchor = _scalar(event, scalars), 1, event.anchor
            if top.is_object and top.key is None:
                top.key = event.value
                continue
        elif kind is kinds.MappingStartEvent or kind is kinds.SequenceStartEvent:
            _check_start(event, top, len(frames))
            top = _Frame({} if kind is kinds.MappingStartEvent else [], event.anchor)
            frames.append(top)
            continue
        elif kind is kinds.MappingEndEvent or kind is kinds.SequenceEndEvent:
            value, size, anchor = top.value, top.size, top.anchor
            frames.pop()
            top = frames[-1]
        elif kind is kinds.AliasEvent:
            if event.anchor not in anchors or (top.is_object and top.key is None):
                anchor = event.anchor[:_PROBLEM_CHARS]
                raise NotReadable(f"*{anchor} stands for nothing, or for itself")
            (value, size), anchor = anchors[event.anchor], None
        elif kind is kinds.DocumentStartEvent and top.value:
            break
        else:
            continue
        top.add(value, size)
        if anchor:
            anchors[anchor] = value, size
    return top.value[0] if top.value else None


def _check_start(event: Any, top: _Frame, depth: int) -> None:
    if top.is_object and top.key is None:
        line = event.start_mark.line + 1
        raise NotReadable(f"line {line}: a key that is a list or an object")
    if depth > _MAX_DEPTH:
        raise NotReadable(f"it is nested more than {_MAX_DEPTH} deep")


def _scalar(event: Any, scalars: dict[str, Any]) -> Any:
    text: str = event.value
    is_plain, is_quoted = event.implicit
    if not is_plain and (is_quoted or not event.tag or event.tag == _TEXT):
        return text
    if event.tag and not event.tag.startswith(_STANDARD):
        return text  # a tag of somebody's own
    if text not in scalars:
        scalars[text] = _yaml_number(text) if text[0] in "0123456789+-." else text
    return scalars[text]


def _yaml_number(text: str) -> Any:
    """Return a number where the text is one in YAML 1.2 that Python reads."""
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > _MAX_DIGITS:
        return text
    if match["coded"]:
        return int(text, 0)
    return int(text) if match["whole"] else float(text)
