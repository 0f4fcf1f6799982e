"""What a service adds to its messages: gathered from an answer, and put back where it is sent.

Thought signatures, reasoning texts and encrypted reasoning come in fields that the protocol does
not know; their service may refuse the next request where they are missing. Other services may
refuse them, so none is sent what another one added.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from typing import Any, cast

from ...core.json import JsonObject
from ..messages import ADDED, Message
from .fields import mapping
from .wire import added_by

_OF_MESSAGES = frozenset(
    ("role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio")
)
_OF_CALLS = frozenset(("id", "type", "index", "function"))
_OF_FUNCTIONS = frozenset(("name", "arguments"))
# Of the parts of a list, such as `reasoning_details` of OpenRouter, these come piece by piece.
_TEXTS_OF_PARTS = ("text", "summary")


class AddedFields:
    """The fields of one object that the protocol does not know, as the pieces of it arrive."""

    def __init__(self, known: Collection[str] = _OF_MESSAGES) -> None:
        self._known = known
        self._values: dict[str, list[Any]] = {}

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take in one piece of the object, or all of it."""
        for name, value in piece.items():
            if name not in self._known and value is not None:
                self._values.setdefault(name, []).append(value)

    def whole(self, *, joins_texts: bool = True) -> JsonObject:
        """The fields put together: texts and lists follow each other, else the last counts."""
        return {
            name: _folded(values, joins_texts=joins_texts) for name, values in self._values.items()
        }


class AddedToCall:
    """The same of a call and of the function in it."""

    def __init__(self) -> None:
        self._call, self._function = AddedFields(_OF_CALLS), AddedFields(_OF_FUNCTIONS)

    def add(self, piece: Mapping[str, Any], function: Mapping[str, Any]) -> None:
        """Take in one piece of the call."""
        self._call.add(piece)
        self._function.add(function)

    def whole(self) -> JsonObject:
        """The fields put together. Services repeat what stands beside a call with each piece."""
        fields = self._call.whole(joins_texts=False)
        function = self._function.whole(joins_texts=False)
        return {**fields, "function": function} if function else fields


def added_names(messages: Iterable[Message], service: str) -> set[str]:
    """The fields of messages and calls that this service added."""
    found: set[str] = set()
    for message in messages:
        if added := added_by(service, message):
            calls = mapping(added.get("calls")).values()
            found |= {*mapping(added.get("message")), *(name for x in calls for name in x)}
    return found - {"function"}


def without_private(message: Message, service: str, refused: Collection[str]) -> Message:
    """The message as `service` takes it: with what it added itself, except what it refused."""
    if ADDED not in message:
        return message
    plain = {name: value for name, value in message.items() if name != ADDED}
    added = added_by(service, message)
    if not added:
        return plain
    of_calls = mapping(added.get("calls"))
    if plain.get("tool_calls"):
        plain["tool_calls"] = [
            _with_added(x, mapping(of_calls.get(x["id"])), refused) for x in plain["tool_calls"]
        ]
    return _with_added(plain, mapping(added.get("message")), refused)


def _with_added(
    plain: Mapping[str, Any], added: Mapping[str, Any], refused: Collection[str]
) -> dict[str, Any]:
    """Both; what the protocol knows is as the conversation has it now."""
    more = {name: value for name, value in added.items() if name not in refused}
    if "function" in more and "function" in plain:
        return {**more, **plain, "function": {**more["function"], **plain["function"]}}
    return {**more, **plain}


def _folded(values: list[Any], *, joins_texts: bool) -> Any:
    if joins_texts and all(isinstance(x, str) for x in values):
        return "".join(values)
    if all(isinstance(x, list) for x in values):
        return _folded_parts([part for parts in values for part in parts], len(values) > 1)
    last: Any = None
    for value in values:
        last = _over(last, value)
    return copy.deepcopy(last)


def _over(before: Any, value: Any) -> Any:
    """The later value over the earlier one; of objects field by field, and nothing over something.

    A service that repeats an object may leave out what it said of it before.
    """
    if isinstance(before, Mapping) and isinstance(value, Mapping):
        old, new = mapping(cast(Any, before)), mapping(cast(Any, value))
        return {**old, **{name: _over(old.get(name), x) for name, x in new.items()}}
    return cast(Any, value if value not in (None, "") or before is None else before)


def _folded_parts(parts: list[Any], is_streamed: bool) -> list[Any]:
    """The parts of a list; pieces of one part follow each other, with the same type and index."""
    groups: list[list[Any]] = []
    for part in parts:
        if is_streamed and groups and _continues(groups[-1][0], part):
            groups[-1].append(part)
        else:
            groups.append([part])
    return [_folded_part(x) if len(x) > 1 else copy.deepcopy(x[0]) for x in groups]


def _continues(first: Any, part: Any) -> bool:
    first, part = mapping(first), mapping(part)
    # What is encrypted comes whole.
    return (
        bool(part)
        and "data" not in part
        and all(first.get(x) == part.get(x) for x in ("type", "index"))
    )


def _folded_part(pieces: list[Any]) -> JsonObject:
    whole = dict(_folded(pieces, joins_texts=False))
    for name in _TEXTS_OF_PARTS:
        if texts := [x[name] for x in pieces if isinstance(x.get(name), str)]:
            whole[name] = "".join(texts)
    return whole
