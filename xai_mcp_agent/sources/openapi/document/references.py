"""What references lead to. They are kept, and followed only where a value itself is needed."""

from __future__ import annotations

from typing import Any, TypeAlias, cast
from urllib.parse import unquote, urljoin

from ....core.json import JsonObject, as_list, as_object, children
from .document import BadReference, Document

_MAX_CHAIN = 50  # real ones lead to another reference once or twice
_MAX_CHARACTERS = 4_000  # real ones are shorter than a line of a screen or two
_SHOWN = 300  # characters of a reference
_OPENS_ANCHORS = ("$anchor", "$dynamicAnchor")
_OPENS_SCOPES = ("$defs", "definitions", "$id")
_NOTHING = object()

Scopes: TypeAlias = tuple[JsonObject, ...]
"""Schemas around a place that have definitions or an identifier of their own, the nearest last."""


class EndlessReference(BadReference):
    """References that lead to each other, and to nothing else."""


def opens_scope(schema: JsonObject) -> bool:
    """Whether references inside may be meant from here."""
    return any(word in schema for word in _OPENS_SCOPES)


class References:
    """Finds what the references of one document lead to."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._targets: dict[str, Any] = {}
        self._names: dict[int, tuple[Any, dict[str, Any]]] = {}

    def followed(self, value: Any) -> JsonObject:
        """The object, or the one that it refers to, with what stands beside the references.

        Raises:
            BadReference: it leads nowhere, where it may not, or to what is no object.
        """
        found, seen = as_object(value), list[str]()
        while isinstance(reference := found.get("$ref"), str):
            _check_end(reference, seen)
            target = self.target(reference)
            if not isinstance(target, dict):
                raise BadReference(f"{reference[:_SHOWN]} leads to what is no object")
            beside = {word: x for word, x in found.items() if word != "$ref"}
            found = {**as_object(target), **beside}
        return found

    def end_of(self, reference: str) -> tuple[str, Any]:
        """What a reference leads to in the end, and the last reference to it.

        Raises:
            BadReference: it leads nowhere, or where it may not.
        """
        seen = [reference]
        target = self.target(reference)
        while (following := _only_reference(target)) is not None:
            _check_end(following, seen)
            target = self.target(following)
        return seen[-1], target

    def target(self, reference: str) -> Any:
        """What is at the place that a reference names.

        Raises:
            BadReference: it leads nowhere, or where it may not.
        """
        if len(reference) > _MAX_CHARACTERS:
            raise BadReference(f"a reference is longer than {_MAX_CHARACTERS:,} characters")
        if reference not in self._targets:
            self._targets[reference] = self._found(reference)
        return self._targets[reference]

    def around(self, reference: str) -> Scopes:
        """The schemas on the way to what a reference leads to, and that itself."""
        key, _, fragment = reference.partition("#")
        found = self._whole(key)
        steps = [found] if not fragment or fragment.startswith("/") else [self.target(reference)]
        for name in fragment.split("/")[1:]:
            found = _at(found, f"/{unquote(name)}")
            steps.append(found)
        return tuple(x for x in map(as_object, steps[1:] or steps) if opens_scope(x))

    def found_around(self, reference: str, scopes: Scopes) -> tuple[Any, Scopes] | None:
        """What a reference leads to from the nearest of these schemas, and the schemas around that.

        JSON Schema 2020-12, 8.2: one with an `$id` is a document by itself. Generators also write
        `#/$defs/...` where they put a whole schema with its definitions into a document.
        """
        key, _, fragment = reference.partition("#")
        for number, scope in reversed(list(enumerate(scopes, 1))):
            own: Any = scope
            if key:
                own = self._named(self._document.root).get(_joined(scope.get("$id"), key), _NOTHING)
            if (found := self._in(own, fragment)) is not _NOTHING:
                return found, scopes[:number] if own is scope else (own,)
        return None

    def _found(self, reference: str) -> Any:
        key, _, fragment = reference.partition("#")
        found = self._in(self._whole(key), fragment)
        if found is _NOTHING:
            raise BadReference(f"{reference[:_SHOWN]} leads to nothing")
        return found

    def _whole(self, key: str) -> Any:
        """A file, or a schema that calls itself so; without a key the document itself."""
        if not key:
            return self._document.root
        if key in (named := self._named(self._document.root)):
            return named[key]
        place = self._document.place
        return self._document.file(place.joined(place.key, key))

    def _in(self, root: Any, fragment: str) -> Any:
        """What a fragment names in a file or a schema."""
        if root is _NOTHING:
            return _NOTHING
        if fragment and not fragment.startswith("/"):
            return self._named(root).get(f"#{unquote(fragment)}", _NOTHING)
        found = _at(root, unquote(fragment))
        # Some names have a percent sign in them, and are not encoded.
        return _at(root, fragment) if found is _NOTHING else found

    def _named(self, root: Any) -> dict[str, Any]:
        """The schemas in it that have a name of their own, by `#name` or the URI they give."""
        if id(root) not in self._names:
            self._names[id(root)] = root, _names_in(root)
        return self._names[id(root)][1]


def _check_end(reference: str, seen: list[str]) -> None:
    """Go on with one more reference.

    Raises:
        EndlessReference: there is no end of them.
    """
    if reference in seen:
        raise EndlessReference(f"{reference[:_SHOWN]} leads to itself")
    if len(seen) > _MAX_CHAIN:
        raise EndlessReference(f"{seen[0][:_SHOWN]} leads to more than {_MAX_CHAIN} others")
    seen.append(reference)


def _only_reference(target: Any) -> str | None:
    """Where it leads, if it is nothing but a reference."""
    found = as_object(target)
    reference = found.get("$ref") if len(found) == 1 else None
    return reference if isinstance(reference, str) else None


def _at(found: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            items = as_list(found)
            found = items[int(name)] if _is_place(name, len(items)) else _NOTHING
        else:
            found = as_object(found).get(name, _NOTHING)
    return found


def _is_place(name: str, count: int) -> bool:
    return name.isdecimal() and len(name) < 10 and int(name) < count


def _names_in(root: Any) -> dict[str, Any]:
    names: dict[str, Any] = {}
    seen = set[int]()
    waiting: list[tuple[Any, str]] = [(root, "")]
    while waiting:
        part, base = waiting.pop()
        if id(part) in seen:
            continue
        if isinstance(part, dict):
            for name in _names_of(as_object(part), base):
                names.setdefault(name, part)
            base = _joined(base, as_object(part).get("$id"))
        if isinstance(part, dict | list):
            seen.add(id(cast(object, part)))
            waiting += ((x, base) for x in children(part))
    return names


def _names_of(schema: JsonObject, base: str) -> list[str]:
    found = [f"#{x}" for word in _OPENS_ANCHORS if isinstance(x := schema.get(word), str)]
    name = schema.get("$id")
    return [*found, name, _joined(base, name)] if isinstance(name, str) else found


def _joined(base: Any, name: Any) -> str:
    """A URI by what it says, seen from another; the other where it says nothing."""
    base = base if isinstance(base, str) else ""
    try:
        return urljoin(base, name) if isinstance(name, str) else base
    except ValueError:
        return base
