"""Routing: a model chooses one of several routes for a conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from ..core.errors import ModelCannotCallFunctions, XaiMcpError
from ..core.names import ShownNames
from ..core.provider_schema import FunctionSpec
from ..core.threads import beside_loop
from ..core.tools import META, ToolKey
from ..core.util import tokens_in
from .conversation import Conversation, as_sent, in_text_form
from .messages import Message
from .models.base import Model, ModelReply, ModelRequest
from .protocols.text_reply import TextReply, parse_reply
from .window import ContextWindow, Folding, fit

_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
_PROMPT = """\
You direct requests. Choose the one route that fits the latest request best.
{how}

The routes:
{routes}"""
_BY_FUNCTION = "Call the function of that route. Call one, and say nothing else."
_BY_NAME = "Reply with the name of the route and nothing else."
_AGAIN = "That is no route. Reply with one of these names and nothing else: {names}."
# What models put round a name: quotes, emphasis, a full stop, a bracket.
_DECORATION = re.compile(r"[^\w]+", re.UNICODE)
_MARKED = re.compile(r"(?:\*\*|[`\"'])([^*`\"'\n]{1,200})(?:\*\*|[`\"'])")


class NoRoute(XaiMcpError):
    """The model chose no route, or there is none to choose from."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a conversation may go. The model reads both."""

    name: str
    description: str


async def choose_route(
    model: Model,
    routes: Sequence[Route],
    conversation: Any,
    protocol: Literal["auto", "native", "text"] = "auto",
    window: ContextWindow | None = None,
) -> str:
    """The name of the route the model chooses; it is asked once more if it names none.

    The routes are offered as functions; one that cannot call any, or should not by the `protocol`,
    names a route in its text. Of a conversation that is longer than `window`, parts are sent.

    Raises:
        NoRoute: there are no routes, or it named none twice; the message quotes it.
        ModelError: the model's service.
    """
    if not routes:
        raise NoRoute("There are no routes. Add an AgentDefineRoute for each of them.")
    given = Conversation(conversation)
    choosing = _Choosing(model, routes, given, window or ContextWindow())
    if protocol == "text" or (protocol == "auto" and not model.calls_functions):
        return await choosing.choose({})
    try:
        return await choosing.choose(_functions(routes))
    except ModelCannotCallFunctions:
        if protocol == "native":
            raise
        return await choosing.choose({})


class _Choosing:
    """One choice by a model, by calling a function or by naming a route."""

    def __init__(
        self, model: Model, routes: Sequence[Route], given: Conversation, window: ContextWindow
    ) -> None:
        self._model, self._routes, self._given, self._window = model, routes, given, window
        self._names = [x.name for x in routes]

    async def choose(self, functions: Mapping[str, FunctionSpec]) -> str:
        """The name of a route, asked for twice at most; without functions it is named in text."""
        names, offered = self._names, tuple(functions.values())
        messages = await beside_loop(self._given.chars, partial(self._messages, bool(functions)))
        reply = ModelReply("")
        for _ in range(2):
            reply = await self._model.reply(ModelRequest(messages, offered), _hear)
            read = await beside_loop(len(reply.text), partial(_read, reply.text, names))
            chosen = _chosen(reply, read, names, functions)
            if chosen is not None:
                return chosen
            said: Message = {"role": "assistant", "content": reply.text or "(nothing)"}
            again: Message = {"role": "user", "content": _AGAIN.format(names=", ".join(names))}
            messages = (*messages, said, again)
        raise NoRoute(
            f"{self._model.name} chose no route; it said: {reply.text[:200]!r}. The routes are: "
            f"{', '.join(names)}. Make their descriptions clearer, or use another model."
        )

    def _messages(self, by_function: bool) -> tuple[Message, ...]:
        listed = "\n".join(f"- {x.name}: {' '.join(x.description.split())}" for x in self._routes)
        how = _BY_FUNCTION if by_function else _BY_NAME
        prompt = _PROMPT.format(how=how, routes=listed)
        room = self._window.room(Folding(), 2 * tokens_in(prompt))
        fitted = fit(self._given.turns(), room, Folding())
        return as_sent(prompt, in_text_form(fitted.messages))


def _functions(routes: Sequence[Route]) -> dict[str, FunctionSpec]:
    """A function without parameters for each route, by the route's name."""
    shown = ShownNames()
    return {
        x.name: FunctionSpec(
            shown.show(ToolKey(META.name, "", x.name)), x.description, _NO_PARAMETERS
        )
        for x in routes
    }


def _read(text: str, names: Sequence[str]) -> TextReply:
    plain = {_plain(x) for x in names}
    return parse_reply(text, lambda name: _plain(name) in plain)


def _chosen(
    reply: ModelReply, read: TextReply, names: Sequence[str], functions: Mapping[str, FunctionSpec]
) -> str | None:
    called = [x.name for x in reply.calls] or [x.name for x in read.calls]
    for name, function in functions.items():
        if function.name in called:
            return name
    ways = (_values_in, _lines_of, _marked_in)
    found = (_only(way(read.thought), names) for way in ways)
    first = _named(" ".join(called), names) or next((x for x in found if x), None)
    return first or _named(read.thought, names)


def _values_in(text: str) -> list[str]:
    """The texts in the JSON object that a model replied with, such as `{"route": "billing"}`."""
    start, end = text.find("{"), text.rfind("}")
    try:
        value: Any = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return []
    values = cast(Mapping[str, Any], value).values() if isinstance(value, Mapping) else ()
    return [x for x in values if isinstance(x, str)]


def _lines_of(text: str) -> list[str]:
    """The lines, without `Route:` and the like before the name."""
    return [x.rpartition(":")[2] for x in text.splitlines()]


def _marked_in(text: str) -> list[str]:
    """What stands in emphasis, in ticks or in quotes."""
    return _MARKED.findall(text)


def _only(parts: Sequence[str], names: Sequence[str]) -> str | None:
    """The one route that some of these are the name of, and nothing else."""
    plain = {_plain(x) for x in parts}
    named = [x for x in names if _plain(x) in plain]
    return named[0] if len(named) == 1 else None


def _named(text: str, names: Sequence[str]) -> str | None:
    """The one route a text names; quotes, case and punctuation round it do not matter."""
    plain = _plain(text)
    exact = [x for x in names if _plain(x) == plain]
    if exact:
        return exact[0]
    held = [x for x in names if f" {_plain(x)} " in f" {plain} "]
    # `billing` is held in `billing refunds` too: the longer name is meant.
    held = [x for x in held if not any(x != y and _plain(x) in _plain(y) for y in held)]
    return held[0] if len(held) == 1 else None


def _plain(text: str) -> str:
    return _DECORATION.sub(" ", text.casefold().replace("_", " ")).strip()


async def _hear(text: str) -> None:
    """The choice is no answer; it is not shown."""
