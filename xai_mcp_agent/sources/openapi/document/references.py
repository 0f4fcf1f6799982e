"""What references lead to. They are kept, and followed only where a value itself is needed."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import unquote

from ....core.schema_cost import inside
from ....core.tools import JsonObject
from .document import BadReference, Document
from .values import list_of, object_of

_MAX_CHAIN = 50  # real ones lead to another reference once or twice
_SHOWN = 300  # characters of a reference
_OPENS_ANCHORS = ("$anchor", "$dynamicAnchor")


class EndlessReference(BadReference):
    """References that lead to each other, and to nothing else."""


class References:
    """Finds what the references of one document lead to."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._targets: dict[str, Any] = {}
        self._names: dict[str, dict[str, Any]] = {}

    def followed(self, value: Any) -> JsonObject:
        """The object, or the one that it refers to, with what stands beside the reference.

        Raises:
            BadReference: it leads nowhere, or where it may not.
        """
        found = object_of(value)
        if not isinstance(found.get("$ref"), str):
            return found
        _, target = self.end_of(found["$ref"])
        return {**object_of(target), **{word: x for word, x in found.items() if word != "$ref"}}

    def end_of(self, reference: str) -> tuple[str, Any]:
        """What a reference leads to in the end, and the last reference to it.

        Raises:
            BadReference: it leads nowhere, or where it may not.
        """
        seen = [reference]
        target = self.target(reference)
        while (following := _only_reference(target)) is not None:
            if following in seen or len(seen) > _MAX_CHAIN:
                raise EndlessReference(f"{reference[:_SHOWN]} leads to itself")
            seen.append(following)
            target = self.target(following)
        return seen[-1], target

    def target(self, reference: str) -> Any:
        """What is at the place that a reference names.

        Raises:
            BadReference: it leads nowhere, or where it may not.
        """
        if reference not in self._targets:
            self._targets[reference] = self._found(reference)
        return self._targets[reference]

    def _found(self, reference: str) -> Any:
        key, _, fragment = reference.partition("#")
        document = self._document
        if key:
            if (named := self._named("").get(key)) is not None and not fragment:
                return named
            key = document.place.joined(document.place.key, key)
        found = document.file(key) if key else document.root
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            found = self._named(key).get(f"#{fragment}")
        else:
            found = _at(found, fragment)
        if found is None:
            raise BadReference(f"{reference[:_SHOWN]} leads to nothing")
        return found

    def _named(self, key: str) -> dict[str, Any]:
        """The schemas of a file that have a name of their own, by `#name` or the URI they give."""
        if key not in self._names:
            root = self._document.file(key) if key else self._document.root
            self._names[key] = _names_in(root)
        return self._names[key]


def _only_reference(target: Any) -> str | None:
    """Where it leads, if it is nothing but a reference."""
    found = object_of(target)
    reference = found.get("$ref") if len(found) == 1 else None
    return reference if isinstance(reference, str) else None


def _at(found: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            items = list_of(found)
            found = items[int(name)] if name.isdecimal() and int(name) < len(items) else None
        else:
            found = object_of(found).get(name)
    return found


def _names_in(root: Any) -> dict[str, Any]:
    names: dict[str, Any] = {}
    waiting, seen = [root], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        if isinstance(part, dict):
            for name in _names_of(object_of(part)):
                names.setdefault(name, part)
        if isinstance(part, dict | list):
            seen.add(id(cast(object, part)))
            waiting += inside(part)
    return names


def _names_of(schema: JsonObject) -> list[str]:
    found = [(schema.get(word), "#") for word in _OPENS_ANCHORS]
    found.append((schema.get("$id"), ""))
    return [f"{mark}{name}" for name, mark in found if isinstance(name, str)]
