"""A question from the panel, and the conversation that it continues.

It needs no wire: the first AgentRun or AgentRouter that is not inside another agent answers it. The
workflow runs as a whole for each question.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...agent.conversation import Conversation
from ...agent.messages import Message
from ..workflow_thread import running_agents


@dataclass
class Chat:
    """The conversation with one workflow: its messages, and its memories in this process.

    During a turn `question` waits for a node to ask it; then `is_asked` is true.
    """

    conversation: list[Message] = field(default_factory=list[Message])
    memories: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any])
    question: str = ""
    is_asked: bool = False
    memory_count: int = 0


chats = dict[str, Chat]()
_turns: list[Chat] = []  # the chat that has its turn, if any


@contextmanager
def turn(path: str, question: str) -> Generator[Chat]:
    """Have the workflow in the block answer this; without a question its nodes ask their own."""
    chat = chats.setdefault(path, Chat())
    chat.question, chat.is_asked, chat.memory_count = question, False, 0
    _turns[:] = [chat]
    try:
        yield chat
    finally:
        _turns.clear()


def take_question(question: str, conversation: Any) -> tuple[str, Any]:
    """Return the panel's question and the conversation so far, or else the node's own."""
    chat = _chat_of_node(is_asked=False)
    if chat is None or not chat.question:
        return question, conversation
    chat.is_asked = True
    return chat.question, chat.conversation or conversation


def note_conversation(conversation: list[Message]) -> None:
    """Continue the next question from this conversation, if it contains the panel's question."""
    chat = _chat_of_node(is_asked=True)
    if chat and any(x.get("content") == chat.question for x in conversation):
        chat.conversation = conversation


def note_value(conversation: Any, value: Any) -> None:
    """Record the result of a route without an agent as the answer."""
    chat = _chat_of_node(is_asked=True)
    if chat is None or value is None:
        return
    messages = Conversation(conversation).messages
    if len(chat.conversation) <= len(messages):  # an agent of the route has noted its own
        chat.conversation = [*messages, {"role": "assistant", "content": str(value)}]


def chat_memory(key: Hashable, make: Callable[[], Any]) -> Any:
    """Return a memory in the process; in the panel it lives as long as the conversation."""
    if not _turns:
        return make()
    chat = _turns[0]
    chat.memory_count += 1
    place = chat.memory_count, key
    if place not in chat.memories:
        chat.memories[place] = make()
    return chat.memories[place]


def _chat_of_node(*, is_asked: bool) -> Chat | None:
    """Return the chat in this state whose turn it is; None for a node inside an agent."""
    if not _turns or _turns[0].is_asked != is_asked or any(running_agents()):
        return None
    return _turns[0]
