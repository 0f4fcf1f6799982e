"""Conversations as nodes make them, and the long results that are shown in part in them."""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Generator, Iterable, Mapping
from typing import Any

from ..agent.conversation import Conversation
from ..agent.messages import Message, text_of
from .ports import optional

logger = logging.getLogger(__name__)

_LONG_WORD = 10
_RESULTS = "mcp_long_results"  # in `ctx`
_MOST_CHARS = 20_000_000  # of all long results in a workflow; the newest is always kept


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
    text = optional(question, "question", node)
    if not text.strip():
        return conversation
    if is_nothing(conversation):
        return text
    return [*Conversation(conversation).messages, {"role": "user", "content": text}]


def kept_for(ctx: Any, conversation: Iterable[Message]) -> dict[str, str]:
    """The whole texts of the results that this conversation has in part, by their ids."""
    shown = [x for x in map(text_of, conversation) if '"result_id"' in x]
    results: dict[str, str] = ctx.get(_RESULTS, {})
    return {
        id_: x for id_, x in results.items() if any(f'"result_id": "{id_}"' in y for y in shown)
    }


def keep(ctx: Any, texts: Mapping[str, str]) -> None:
    """Keep these for the nodes to come."""
    results: dict[str, str] = {**ctx.get(_RESULTS, {}), **texts}
    while len(results) > 1 and sum(map(len, results.values())) > _MOST_CHARS:
        oldest = next(iter(results))
        del results[oldest]
        logger.warning("The long result %s cannot be read on: there are too many others.", oldest)
    ctx[_RESULTS] = results
