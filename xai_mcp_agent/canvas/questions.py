"""What a node asks an agent: a question, a conversation, or the one after the other."""

from __future__ import annotations

from typing import Any

from ..agent.conversation import Conversation
from .ports import optional


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
