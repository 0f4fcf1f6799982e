"""Conversations as nodes make them: a question at the end, a prompt at the start, words alone."""

from __future__ import annotations

import copy
import re
from collections.abc import Generator
from typing import Any

from ..agent.conversation import Conversation
from ..agent.messages import Message
from .ports import optional

_LONG_WORD = 10


def merge_system(new_system_prompt: str, conversation: Any) -> list[Message]:
    """A copy of a conversation whose system message ends with this prompt; made if it has none."""
    messages = Conversation(conversation).messages
    if not messages or messages[0]["role"] != "system":
        return [{"role": "system", "content": new_system_prompt}, *messages]
    first = copy.deepcopy(messages[0])
    if isinstance(first["content"], list):
        first["content"] = [*first["content"], {"type": "text", "text": new_system_prompt}]
    else:
        first["content"] = f"{first['content']}\n\n{new_system_prompt}"
    return [first, *messages[1:]]


def words_of(input_str: str) -> Generator[str]:
    """A text in small pieces, as if it were being typed; together they are the text."""
    for piece in re.findall(r"\S+|\s+", input_str):
        if len(piece) > _LONG_WORD and not piece.isspace():
            yield from (piece[i : i + 2] for i in range(0, len(piece), 2))
        else:
            yield piece


def is_nothing(conversation: Any) -> bool:
    """Whether nothing was given as a conversation; an empty list is one, in which nobody spoke."""
    return conversation is None or (isinstance(conversation, str) and not conversation.strip())


def conversation_with(conversation: Any, question: Any, node: str) -> Any:
    """The conversation with the question at its end; as it is where no question is asked.

    Raises:
        BadSetting: the question is no text.
        BadConversation: the conversation is none.
    """
    asked = optional(question, "question", node)
    if not asked.strip():
        return conversation
    if is_nothing(conversation):
        return asked
    return [*Conversation(conversation).messages, {"role": "user", "content": asked}]
