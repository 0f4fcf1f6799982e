"""YAML 1.2 as plain data: the values that JSON has, and no bombs.

`no` and a date are texts, and so is every key (responses of a service are often written as `200:`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, cast

from .json import JsonObject, is_object

ObjectHook: TypeAlias = Callable[[list[tuple[str, Any]]], JsonObject]

_MAX_PARTS = 5_000_000  # with aliases written out: some hundreds of megabytes
_MAX_DEPTH = 200  # the deepest real documents have about 40 levels
_MAX_PROBLEM = 200
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


class YamlError(ValueError):
    """A text that is not YAML, or too much of it. `line` and `column` count from 1; 0 is unknown.

    The message may quote the text.
    """

    def __init__(self, problem: str, mark: Any = None) -> None:
        super().__init__(problem)
        self.line, self.column = (mark.line + 1, mark.column + 1) if mark else (0, 0)


class AliasError(YamlError):
    """An alias, or `<<`, where `strict` allows none."""


def parse_yaml(
    content: bytes | str, *, strict: bool = False, hook: ObjectHook = dict[str, Any]
) -> Any:
    """Return the first document of a text; JSON is YAML, too. `hook` makes an object of its pairs.

    With `strict`, aliases, tags of programs and a second document are errors.

    Raises:
        YamlError: it is not YAML, is nested too deeply, or stands for more than anybody reads.
    """
    # Here, because most documents are JSON.
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # without its C library it is slow
    try:
        return _Builder(strict, hook).build(cast(Any, yaml).parse(content, loader))
    except yaml.YAMLError as cause:
        problem = " ".join(str(cause).split())[:_MAX_PROBLEM]
        mark = getattr(cause, "problem_mark", None)
        raise YamlError(f"it is not YAML: {problem}", mark) from None
    except RecursionError:
        raise YamlError("it is nested too deeply") from None


class _Node:
    """A list or an object that is not finished; `size` counts all that is in it."""

    __slots__ = ("anchor", "is_object", "key", "merged", "parts", "size")

    def __init__(self, is_object: bool = False, anchor: str | None = None) -> None:
        self.parts: list[Any] = []  # items, or pairs
        self.merged: JsonObject = {}
        self.is_object = is_object
        self.anchor = anchor
        self.key: str | None = None
        self.size = 1

    @property
    def takes_key(self) -> bool:
        """Whether what comes next is the key of a pair."""
        return self.is_object and self.key is None

    def add(self, value: Any, size: int) -> None:
        """Add a value, with the size it has when its aliases are written out."""
        self.size += size
        if self.size > _MAX_PARTS:
            raise YamlError(f"it has more than {_MAX_PARTS:,} parts, its aliases written out")
        if not self.is_object:
            self.parts.append(value)
        elif self.key == "<<" and is_object(value):
            self.merged = {**value, **self.merged}
        else:
            self.parts.append((self.key, value))
        self.key = None


class _Builder:
    """Builds a document of YAML's events; what is too much is noticed before it is there."""

    def __init__(self, strict: bool, hook: ObjectHook) -> None:
        self._strict = strict
        self._hook = hook
        self._scalars = dict(_WORDS)

    def build(self, events: Iterable[Any]) -> Any:
        """Return the first document of these events."""
        from yaml import events as kinds

        top = _Node()
        nodes = [top]
        anchors: dict[str, tuple[Any, int]] = {}
        for event in events:
            kind = cast(Any, type(event))
            if kind is kinds.ScalarEvent:
                if top.is_object and top.key is None:  # as `takes_key`; the hot path
                    top.key = event.value
                    if self._strict and top.key == "<<":
                        raise AliasError("`<<`", event.start_mark)
                    continue
                value, size, anchor = self._scalar(event), 1, event.anchor
            elif kind is kinds.MappingStartEvent or kind is kinds.SequenceStartEvent:
                self._check_start(event, top, len(nodes))
                top = _Node(kind is kinds.MappingStartEvent, event.anchor)
                nodes.append(top)
                continue
            elif kind is kinds.MappingEndEvent or kind is kinds.SequenceEndEvent:
                value, size, anchor = self._value(top), top.size, top.anchor
                nodes.pop()
                top = nodes[-1]
            elif kind is kinds.AliasEvent:
                if self._strict:
                    raise AliasError("an alias", event.start_mark)
                if event.anchor not in anchors or top.takes_key:
                    name = event.anchor[:_MAX_PROBLEM]
                    raise YamlError(f"*{name} stands for nothing, or for itself", event.start_mark)
                (value, size), anchor = anchors[event.anchor], None
            elif kind is kinds.DocumentStartEvent and top.parts:
                if self._strict:
                    raise YamlError("a second document begins", event.start_mark)
                break
            else:
                continue
            top.add(value, size)
            if anchor:
                anchors[anchor] = value, size
        return top.parts[0] if top.parts else None

    def _value(self, node: _Node) -> Any:
        if not node.is_object:
            return node.parts
        if not node.merged:
            return self._hook(node.parts)
        own = {name for name, _ in node.parts}
        return self._hook([*((x, y) for x, y in node.merged.items() if x not in own), *node.parts])

    def _check_start(self, event: Any, top: _Node, depth: int) -> None:
        if top.takes_key:
            line = event.start_mark.line + 1
            raise YamlError(f"line {line}: a key that is a list or an object", event.start_mark)
        if depth > _MAX_DEPTH:
            raise YamlError(f"it is nested more than {_MAX_DEPTH} deep", event.start_mark)
        self._check_tag(event)

    def _check_tag(self, event: Any) -> None:
        tag = event.tag or _STANDARD
        if self._strict and (not tag.startswith(_STANDARD) or "/" in tag):
            raise YamlError("a tag that makes an object of a program", event.start_mark)

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        is_plain, is_quoted = event.implicit
        if not is_plain and (is_quoted or not event.tag or event.tag == _TEXT):
            return text
        if event.tag and not event.tag.startswith(_STANDARD):
            self._check_tag(event)
            return text
        if text not in self._scalars:
            self._scalars[text] = _number(text) if text[0] in "0123456789+-." else text
        return self._scalars[text]


def _number(text: str) -> Any:
    """Return a number where the text is one in YAML 1.2 that Python reads."""
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > _MAX_DIGITS:
        return text
    if match["coded"]:
        return int(text, 0)
    return int(text) if match["whole"] else float(text)
