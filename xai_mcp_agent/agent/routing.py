"""Routing: a model chooses one of several routes for a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.errors import ModelAnswerInvalid, XaiMcpError
from ..core.json import JsonObject
from ..core.threads import beside_loop
from ..core.util import tokens_in
from .context import fit
from .conversation import Conversation, messages_to_send
from .messages import Message, as_text
from .models.base import Model
from .structured import ask_for_json
from .window import ContextWindow, Folding

_PROMPT = (
    "You route requests. Choose the one route that fits the latest request best; do not answer it."
)


class NoRoute(XaiMcpError):
    """The model chose no route, or there are no routes."""


@dataclass(frozen=True, slots=True)
class Route:
    """A route for a conversation. The model reads both fields."""

    name: str
    description: str


async def choose_route(
    model: Model, routes: Sequence[Route], conversation: Any, window: ContextWindow | None = None
) -> str:
    """Return the name of the route that the model chooses; if it names none, ask once more.

    If the conversation is longer than `window`, parts of it are sent.

    Raises:
        NoRoute: there are no routes, or the model named none twice.
        ModelError: the model's service failed.
    """
    if not routes:
        raise NoRoute("There are no routes. Add an AgentDefineRoute for each of them.")
    chat, schema = Conversation(conversation), _schema(routes)
    room = (window or ContextWindow()).room(Folding(), 2 * tokens_in(str(schema)))

    def messages() -> tuple[Message, ...]:
        return messages_to_send(_PROMPT, as_text(fit(chat.turns(), room, Folding()).messages))

    try:
        answer = await ask_for_json(model, await beside_loop(chat.chars, messages), schema)
    except ModelAnswerInvalid as invalid:
        raise NoRoute(
            f"{model.name} chose no route: {'; '.join(invalid.problems)}. The routes are: "
            f"{', '.join(x.name for x in routes)}. Make their descriptions clearer, or use another "
            "model."
        ) from invalid
    return answer["route"]


def _schema(routes: Sequence[Route]) -> JsonObject:
    """Return a schema for one route's name. The offline model reads the descriptions by line."""
    lines = [f"{x.name}: {' '.join(x.description.split())}" for x in routes]
    names = [x.name for x in routes]
    route = {"type": "string", "enum": names, "description": "\n".join(lines)}
    return {
        "type": "object",
        "properties": {"route": route},
        "required": ["route"],
        "additionalProperties": False,
    }
