"""A model in this process: it gives the replies of its script, and keeps its requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from xai_mcp_agent.agent.messages import ToolCall
from xai_mcp_agent.agent.models.base import ModelReply, ModelRequest, OnAgain, OnText
from xai_mcp_agent.core.errors import ModelError

ScriptedReply: TypeAlias = str | ModelReply | ModelError
Replies: TypeAlias = Sequence[ScriptedReply] | Callable[[ModelRequest], ScriptedReply]
_ids = count(1)


def calling(
    *tools: tuple[str, Mapping[str, object] | str], text: str = "", id_: str = ""
) -> ModelReply:
    """Return a reply that calls tools. Arguments as text are passed on unchanged."""
    calls = [
        ToolCall(id_ or f"call_{next(_ids)}", name, x if isinstance(x, str) else json.dumps(x))
        for name, x in tools
    ]
    return ModelReply(text, tuple(calls), "tool_calls")


@dataclass
class ScriptedModel:
    """Gives these replies one after the other, or those of a function; it raises an error.

    A text is streamed in pieces of a few characters.
    """

    replies: Replies
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])

    name = "scripted"
    calls_functions = True
    piece_chars = 3

    async def reply(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None = None
    ) -> ModelReply:
        """Give the next reply."""
        self.requests.append(request)
        scripted = self.replies(request) if callable(self.replies) else self._next()
        if isinstance(scripted, ModelError):
            raise scripted
        reply = ModelReply(scripted) if isinstance(scripted, str) else scripted
        for at in range(0, len(reply.text), self.piece_chars):
            await on_text(reply.text[at : at + self.piece_chars])
        return reply

    async def aclose(self) -> None:
        """Close nothing."""

    def _next(self) -> ScriptedReply:
        assert not callable(self.replies)
        return self.replies[len(self.requests) - 1]
