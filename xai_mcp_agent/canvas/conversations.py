"""Conversations as nodes make them, and the long results that they show in part."""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Generator, Iterable, Mapping
from typing import Any

from ..agent.conversation import Conversation
from ..agent.messages import Message, text_of

logger = logging.getLogger(__name__)

_LONG_WORD = 10
_RESULTS = "mcp_long_results"  # key of `ctx`
_MOST_CHARS = 20_000_000  # of all long results in a workflow; the newest is always kept


def merge_system(new_system_prompt: str, conversation: Any) -> list[Message]:
    """Return a copy of a conversation with this prompt at the end of its system message.

    A conversation without a system message gets one.
    """
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
    """Yield a text in small pieces, as if it were being typed; joined, they are the text."""
    for piece in re.findall(r"\S+|\s+", input_str):
        if len(piece) > _LONG_WORD and not piece.isspace():
            yield from (piece[i : i + 2] for i in range(0, len(piece), 2))
        else:
            yield piece


def is_nothing(conversation: Any) -> bool:
    """Return whether no conversation was given; an empty list is a conversation."""
    return conversation is None or (isinstance(conversation, str) and not conversation.strip())


def conversation_with(conversation: Any, question: str) -> Any:
    """Return the conversation with the question at its end, or as it is without a question.

    Raises:
        BadConversation: the value is not a conversation.
    """
    if not question.strip():
        return conversation
    if is_nothing(conversation):
        return question
    return [*Conversation(conversation).messages, {"role": "user", "content": question}]


def long_results_in(ctx: Any, conversation: Iterable[Message]) -> dict[str, str]:
    """Return the whole texts, by id, of the results that this conversation shows in part."""
    excerpts = [x for x in map(text_of, conversation) if '"result_id"' in x]
    results: dict[str, str] = ctx.get(_RESULTS, {})
    return {
        id_: x for id_, x in results.items() if any(f'"result_id": "{id_}"' in y for y in excerpts)
    }


def store_long_results(ctx: Any, texts: Mapping[str, str]) -> None:
    """Keep these results for later nodes."""
    results: dict[str, str] = {**ctx.get(_RESULTS, {}), **texts}
    while len(results) > 1 and sum(map(len, results.values())) > _MOST_CHARS:
        oldest = next(iter(results))
        del results[oldest]
        logger.warning("Too many long results: %s can no longer be read.", oldest)
    ctx[_RESULTS] = results
