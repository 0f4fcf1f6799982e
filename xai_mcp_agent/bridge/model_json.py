"""Asks a model for a value as JSON, once and within limits."""

from __future__ import annotations

import re
from typing import Any

import anyio
import anyio.to_thread

from ..agent.models.base import AskedAgain, Model, ModelReply, ModelRequest
from ..agent.protocols.arguments import NOT_JSON
from ..agent.structured import json_in
from ..core.errors import XaiMcpError
from ..secrets.secrets import Mask, masked_and_cut

_MOST_CHARACTERS = 100_000  # of an answer; a plan of 20 calls has some thousand
_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>|\[/THINK\]")
_EXCERPT_CHARS = 60


async def ask_for_json(
    model: Model, question: str, limit_seconds: float, mask: Mask
) -> tuple[Any, str]:
    """The JSON value in a model's answer; or None and the reason, without secrets."""
    length = _LengthLimit()
    reply: ModelReply | None = None
    try:
        with anyio.move_on_after(limit_seconds) as limit, length.enough:
            messages = ({"role": "user", "content": question},)
            reply = await model.reply(ModelRequest(messages), length.hear, length.forget)
    except XaiMcpError as reason:
        return None, mask(str(reason))
    if limit.cancelled_caught:
        return None, f"it did not answer within {limit_seconds:g} s"
    if reply is None or len(reply.text) > _MOST_CHARACTERS:
        return None, f"its answer is longer than {_MOST_CHARACTERS:,} characters"
    return await _value_in(reply, mask)


async def _value_in(reply: ModelReply, mask: Mask) -> tuple[Any, str]:
    if reply.refusal:
        return None, f"it declined: {masked_and_cut(reply.refusal, mask, _EXCERPT_CHARS)!r}"
    text = _THOUGHT.split(reply.text)[-1].strip()
    # In a thread: what a model wrote may take a while to read.
    value = await anyio.to_thread.run_sync(json_in, text)
    if value is not NOT_JSON:
        return value, ""
    if reply.finish == "length":
        return None, "its answer was cut off at the limit of its length"
    excerpt = masked_and_cut(text, mask, _EXCERPT_CHARS)
    return None, f"its answer is no JSON: {excerpt!r}" if text else "it said nothing"


class _LengthLimit:
    """Counts the characters of an answer; too many end the wait."""

    def __init__(self) -> None:
        self.enough = anyio.CancelScope()
        self._characters = 0

    async def hear(self, text: str) -> None:
        self._characters += len(text)
        if self._characters > _MOST_CHARACTERS:
            self.enough.cancel()

    async def forget(self, _: AskedAgain) -> None:
        self._characters = 0
