"""YAML 1.2 as plain data: the values that JSON has.

`no` and a date are texts, and so is every key (responses of a service are often written as `200:`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

from .json import JsonObject, is_object

ObjectHook: TypeAlias = Callable[[list[tuple[str, Any]]], JsonObject]

_MAX_PARTS = 5_000_000  # with aliases expanded: some hundreds of megabytes
_MAX_DEPTH = 200  # the deepest real documents have about 40 levels
_MAX_PROBLEM = 200
_WORDS: Mapping[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER = re.compile(
    r"(?P<whole>[-+]?[0-9]+)|(?P<coded>0x[0-9a-fA-F]+|0o[0-7]+)"
    r"|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
)
_STANDARD_TAG = re.compile(r"tag:yaml\.org,2002:\w+")
_TEXT_TAG = "tag:yaml.org,2002:str"


class YamlError(ValueError):
    """The text is not YAML, or too large. `line` and `column` count from 1; 0 is unknown.

    The message may quote the text.
    """

    def __init__(self, problem: str, mark: Any = None) -> None:
        super().__init__(problem)
        self.line, self.column = (mark.line + 1, mark.column + 1) if mark else (0, 0)


class AliasError(YamlError):
    """An alias, or `<<`, although `strict` allows none."""


def parse_yaml(
    content: bytes | str, *, strict: bool = False, hook: ObjectHook = dict[str, Any]
) -> Any:
    """Return the first document of a YAML or JSON text. `hook` makes an object of its pairs.

    With `strict`, aliases, tags of programs and a second document are errors.

    Raises:
        YamlError: it is not YAML, is nested too deeply, or expands to too many parts.
    """
    # Imported here because most documents are JSON.
    import yaml

    # PyYAML's own objects take six times as long for a document of three megabytes.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(cast(Any, yaml).parse(content, loader), strict, hook).document()
    except yaml.YAMLError as cause:
        problem = " ".join(str(cause).split())[:_MAX_PROBLEM]
        mark = getattr(cause, "problem_mark", None)
        raise YamlError(f"it is not YAML: {problem}", mark) from None
    except RecursionError:
        raise YamlError("it is nested too deeply") from None


class _Builder:
    """Builds a document from YAML's events.

    The size of a value counts all its parts, with aliases expanded.
    """

    def __init__(self, events: Iterable[Any], strict: bool, hook: ObjectHook) -> None:
        from yaml import events as kinds

        self._kinds = kinds
        self._events = iter(events)
        self._strict = strict
        self._hook = hook
        self._anchors: dict[str, tuple[Any, int]] = {}

    def document(self) -> Any:
        """Return the first document."""
        next(self._events)  # start of the stream
        if not isinstance(next(self._events), self._kinds.DocumentStartEvent):
            return None
        value, _ = self._value(next(self._events), 0)
        next(self._events)  # end of the document
        after = next(self._events)
        if self._strict and not isinstance(after, self._kinds.StreamEndEvent):
            raise YamlError("a second document begins", after.start_mark)
        return value

    def _value(self, event: Any, depth: int) -> tuple[Any, int]:
        """Return the value that begins with an event, and its size."""
        kind = cast(type[Any], type(event))
        if kind is self._kinds.AliasEvent:
            return self._alias(event)
        if self._strict and event.tag and not _STANDARD_TAG.fullmatch(event.tag):
            raise YamlError("a tag that constructs a Python object", event.start_mark)
        if kind is self._kinds.ScalarEvent:
            value, size = _scalar(event), 1
        elif depth > _MAX_DEPTH:
            raise YamlError(f"it is nested more than {_MAX_DEPTH} deep", event.start_mark)
        elif kind is self._kinds.MappingStartEvent:
            value, size = self._object(depth + 1)
        else:
            value, size = self._list(depth + 1)
        if size > _MAX_PARTS:
            raise YamlError(f"it has more than {_MAX_PARTS:,} parts, its aliases written out")
        if event.anchor:
            self._anchors[event.anchor] = value, size
        return value, size

    def _alias(self, event: Any) -> tuple[Any, int]:
        if self._strict:
            raise AliasError("an alias", event.start_mark)
        if event.anchor not in self._anchors:
            name = event.anchor[:_MAX_PROBLEM]
            raise YamlError(f"*{name} stands for nothing, or for itself", event.start_mark)
        return self._anchors[event.anchor]

    def _list(self, depth: int) -> tuple[list[Any], int]:
        items, total = list[Any](), 1
        while type(event := next(self._events)) is not self._kinds.SequenceEndEvent:
            value, size = self._value(event, depth)
            items.append(value)
            total += size
        return items, total

    def _object(self, depth: int) -> tuple[JsonObject, int]:
        pairs, merged, total = list[tuple[str, Any]](), JsonObject(), 1
        while type(event := next(self._events)) is not self._kinds.MappingEndEvent:
            key = self._key(event)
            value, size = self._value(next(self._events), depth)
            if key == "<<" and is_object(value):
                merged = {**value, **merged}
            else:
                pairs.append((key, value))
            total += size
        return self._hook([*merged.items(), *pairs]), total

    def _key(self, event: Any) -> str:
        if not isinstance(event, self._kinds.ScalarEvent):
            line = event.start_mark.line + 1
            raise YamlError(f"line {line}: a key that is a list or an object", event.start_mark)
        if self._strict and event.value == "<<":
            raise AliasError("`<<`", event.start_mark)
        return event.value


def _scalar(event: Any) -> Any:
    """Return the value of a scalar, which is its text if it is quoted or has its own tag."""
    text: str = event.value
    is_typed = event.tag != _TEXT_TAG and _STANDARD_TAG.fullmatch(event.tag or "")
    if not (event.implicit[0] or is_typed):
        return text
    if text in _WORDS:
        return _WORDS[text]
    match = _NUMBER.fullmatch(text) if text[0] in "0123456789+-." else None
    try:
        return _number(match) if match else text
    except ValueError:  # more digits than Python reads
        return text


def _number(match: re.Match[str]) -> int | float:
    text = match[0]
    if match["coded"]:
        return int(text, 0)
    return int(text) if match["whole"] else float(text)
