"""Routing: a model chooses one of several routes for a conversation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..core.errors import XaiMcpError
from ..core.kinds import META
from ..core.names import ShownNames
from ..core.provider_schema import FunctionSpec
from ..core.tools import ToolKey
from .conversation import Conversation
from .messages import Message
from .models.base import Model, ModelReply, ModelRequest
from .protocols.reading import beside_loop
from .protocols.text_reply import TextReply, parse_reply

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


class NoRoute(XaiMcpError):
    """The model chose no route, or there is none to choose from."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a conversation may go. The model reads both."""

    name: str
    description: str


async def choose_route(model: Model, routes: Sequence[Route], conversation: Any) -> str:
    """The name of the route the model chooses; it is asked once more if it names none.

    Raises:
        NoRoute: there are no routes, or it named none twice; the message quotes it.
        ModelError: the model's service.
    """
    if not routes:
        raise NoRoute("There are no routes. Add an AgentDefineRoute for each of them.")
    names = [x.name for x in routes]
    messages = _messages(model, routes, conversation)
    functions = _functions(routes) if model.calls_functions else {}
    reply = ModelReply("")
    for _ in range(2):
        reply = await model.reply(ModelRequest(messages, tuple(functions.values())), _hear)
        read = await beside_loop(len(reply.text), partial(parse_reply, reply.text))
        chosen = _chosen(reply, read, names, functions)
        if chosen is not None:
            return chosen
        said: Message = {"role": "assistant", "content": reply.text or "(nothing)"}
        again: Message = {"role": "user", "content": _AGAIN.format(names=", ".join(names))}
        messages = (*messages, said, again)
    raise NoRoute(
        f"{model.name} chose no route; it said: {reply.text[:200]!r}. The routes are: "
        f"{', '.join(names)}. Make their descriptions clearer, or use another model."
    )


def _messages(model: Model, routes: Sequence[Route], conversation: Any) -> tuple[Message, ...]:
    listed = "\n".join(f"- {x.name}: {' '.join(x.description.split())}" for x in routes)
    how = _BY_FUNCTION if model.calls_functions else _BY_NAME
    prompt = _PROMPT.format(how=how, routes=listed)
    return Conversation(conversation).for_model(prompt, in_text=True, keep_provided=False)


def _functions(routes: Sequence[Route]) -> dict[str, FunctionSpec]:
    """A function without parameters for each route, by the route's name."""
    shown = ShownNames()
    return {
        x.name: FunctionSpec(
            shown.show(ToolKey(META.name, "", x.name)), x.description, _NO_PARAMETERS
        )
        for x in routes
    }


def _chosen(
    reply: ModelReply, read: TextReply, names: Sequence[str], functions: Mapping[str, FunctionSpec]
) -> str | None:
    called = [x.name for x in reply.calls] or [x.name for x in read.calls]
    for name, function in functions.items():
        if function.name in called:
            return name
    return _named(" ".join(called), names) or _named(read.thought, names)


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
