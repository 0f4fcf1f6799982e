"""A model in the process that says what it is told to, and keeps what it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xai_mcp_agent.agent.models.base import ModelReply, ModelRequest, OnAgain, OnText


@dataclass
class ScriptedModel:
    """Gives these replies one after the other; a text is streamed in pieces of a few characters."""

    replies: Sequence[str | ModelReply]
    piece_chars: int = 3
    asked: list[ModelRequest] = field(default_factory=list[ModelRequest])

    name = "scripted"
    calls_functions = True

    async def reply(
        self, request: ModelRequest, on_text: OnText, on_again: OnAgain | None = None
    ) -> ModelReply:
        """The next reply."""
        self.asked.append(request)
        reply = self.replies[len(self.asked) - 1]
        reply = ModelReply(reply) if isinstance(reply, str) else reply
        for at in range(0, len(reply.text), self.piece_chars):
            await on_text(reply.text[at : at + self.piece_chars])
        return reply

    async def aclose(self) -> None:
        """Nothing is open."""
