"""What the offline model reads in a request: the tools, what was asked, what was done since."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ....core.json import JsonObject
from ....core.provider_schema import FunctionSpec
from ...messages import Message, calls_of, text_of, with_calls
from ..base import ModelRequest

_ERROR = "ERROR"  # How the loop begins the result of a call that failed.
_ERROR_LEAD = re.compile(
    rf"^{_ERROR}:?\s*(?:Error (?:executing|calling|running) tool [^:\n]+:\s*)?"
)
_MAX_CHARS = 6_000  # Beyond it, what is wanted was said long ago.
# Long white space says nothing and makes every search in the text slow.
_LONG_SPACE = re.compile(r"[^\S\n]{20,}|\n{5,}")
# What a loop says instead of a person when no tool may be used any more.
_NO_MORE_TOOLS = re.compile(r"\b(?:no|not|without|never)\b[^.!?]*\btools?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A call that was made, and what came back."""

    name: str
    arguments: JsonObject
    text: str
    is_error: bool

    @property
    def error(self) -> str:
        """The error's own words."""
        return _ERROR_LEAD.sub("", self.text).strip()


@dataclass(frozen=True, slots=True)
class Reading:
    """A request as the rules see it.

    `outcomes` came since the person's last words, which are `asked`; `earlier`
    came before them. `is_cut`: more was said than is read.
    """

    asked: str
    functions: tuple[FunctionSpec, ...]
    outcomes: tuple[Outcome, ...]
    earlier: tuple[Outcome, ...]
    may_call: bool
    has_images: bool
    call_ids: frozenset[str]
    is_cut: bool = False


def read_request(request: ModelRequest) -> Reading:
    """Read a request. Anything odd in it reads as nothing."""
    messages = list(request.messages)
    may_call = request.may_call
    if not may_call and messages and _is_notice(messages[-1]):
        messages.pop()
    at = _last_asked(messages)
    before, since = messages[: at + 1], messages[at + 1 :]
    asked = text_of(messages[at]) if at >= 0 else ""
    return Reading(
        asked=_LONG_SPACE.sub(lambda found: found[0][0], asked)[:_MAX_CHARS],
        functions=request.functions,
        outcomes=tuple(_outcomes(since)),
        earlier=tuple(_outcomes(before)),
        may_call=may_call,
        has_images=at >= 0 and _has_images(messages[at]),
        call_ids=frozenset(str(x.get("id")) for m in messages for x in calls_of(m)),
        is_cut=len(asked) > _MAX_CHARS,
    )


def _is_notice(message: Message) -> bool:
    return message.get("role") == "user" and bool(_NO_MORE_TOOLS.search(text_of(message)))


def _last_asked(messages: Sequence[Message]) -> int:
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.get("role") == "user":
            return at
    return -1


def _outcomes(messages: Sequence[Message]) -> Iterator[Outcome]:
    """Every answered call, in order."""
    for message, asked in with_calls(messages):
        if message.get("role") == "tool":
            function = _object(asked.get("function"))
            text = text_of(message)
            arguments = _arguments(function.get("arguments"))
            name = function.get("name") or message.get("name") or ""
            yield Outcome(str(name), arguments, text, text.startswith(_ERROR))


def _arguments(written: Any) -> JsonObject:
    try:
        return _object(json.loads(written)) if isinstance(written, str) else _object(written)
    except (ValueError, RecursionError):
        return {}


def _has_images(message: Message) -> bool:
    content = message.get("content")
    parts = cast(list[Any], content) if isinstance(content, list) else []
    return any(str(_object(x).get("type", "")).startswith(("image", "input_image")) for x in parts)


def _object(value: Any) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, Mapping) else {}
