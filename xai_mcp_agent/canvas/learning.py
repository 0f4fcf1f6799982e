"""Small services for nodes round an agent: learning from a conversation, merging prompts, words."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Generator, Mapping
from typing import Any

from ..agent.conversation import Conversation
from ..agent.events import ToolFinished
from ..agent.memory.notes import MemoryFailed
from ..agent.messages import Message
from .agent_run import CanvasRun, run_agent
from .agents import agent_in, agent_named

_LEARN = (
    "Review this conversation. Look up what you remember about it, note what is new and worth "
    "keeping with create_memory, and then say in a few sentences what you have learned and how "
    "it will help you next time."
)
_LONG_WORD = 10


def learn(
    ctx: Any,
    name: Any,
    conversation: Any,
    *,
    metadata: Mapping[str, Any] | None,
    outcome: CanvasRun,
    on_thought: Callable[[ToolFinished], None] | None,
    show: Any = None,
) -> None:
    """Have an agent note what is worth keeping of a conversation; its answer says what it learned.

    Raises:
        MemoryFailed: the agent has no memory.
        UnknownAgent, BadConversation, ModelError: as `run_agent`.
    """
    name = agent_named(ctx, name, "AgentLearn", runs=True)
    if agent_in(ctx, name, "AgentLearn").get("agent_memory") is None:
        raise MemoryFailed(
            f"Agent {name!r} has no memory to learn with. Wire a memory node to `agent_memory` "
            "of its AgentInit."
        )
    given = Conversation(conversation).messages
    asked: list[Message] = [*given, {"role": "user", "content": _LEARN}]
    run_agent(
        ctx, name, asked, metadata=metadata, outcome=outcome, on_thought=on_thought, show=show,
        needs_sources=False,
    )  # fmt: skip


def merge_system(system_prompt: str, conversation: Any) -> list[Message]:
    """A copy of a conversation whose system message ends with this prompt; made if it has none."""
    messages = Conversation(conversation).messages
    if not messages or messages[0]["role"] != "system":
        return [{"role": "system", "content": system_prompt}, *messages]
    first = copy.deepcopy(messages[0])
    if isinstance(first["content"], list):
        first["content"] = [*first["content"], {"type": "text", "text": system_prompt}]
    else:
        first["content"] = f"{first['content']}\n\n{system_prompt}"
    return [first, *messages[1:]]


def words_of(text: str) -> Generator[str]:
    """A text in small pieces, as if it were being typed; together they are the text."""
    for piece in re.findall(r"\S+|\s+", text or ""):
        if len(piece) > _LONG_WORD and not piece.isspace():
            yield from (piece[i : i + 2] for i in range(0, len(piece), 2))
        else:
            yield piece
