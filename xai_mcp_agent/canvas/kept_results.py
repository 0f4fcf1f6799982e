"""Long results that a node showed in part, kept in `ctx` for nodes with the same conversation."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from ..agent.messages import Message, text_of

logger = logging.getLogger(__name__)

_KEY = "mcp_long_results"
_MOST_CHARS = 20_000_000  # of all in a workflow; the newest is always kept
_START_CHARS = 100  # enough to tell two results apart whose calls have the same id


def kept_for(ctx: Any, conversation: Iterable[Message]) -> dict[str, str]:
    """The whole texts of the results that this conversation has in part, by their ids."""
    said = [x for x in map(text_of, conversation) if '"result_id"' in x]

    def is_shown(kept: tuple[str, str]) -> bool:
        return any(_mention(kept[0]) in x and kept[1][:_START_CHARS] in x for x in said)

    named = [x for x in _kept(ctx) if any(_mention(x[0]) in text for text in said)]
    # Some services begin anew with their ids: those that certainly are in it count, so come last.
    return dict(sorted(named, key=is_shown))


def keep(ctx: Any, texts: Mapping[str, str]) -> None:
    """Keep these for the nodes to come."""
    before = _kept(ctx)
    kept = [*before, *(x for x in texts.items() if x not in before)]
    while len(kept) > 1 and sum(len(text) for _, text in kept) > _MOST_CHARS:
        dropped, _ = kept.pop(0)
        logger.warning("The long result %s cannot be read on: there are too many others.", dropped)
    ctx[_KEY] = tuple(kept)


def _kept(ctx: Any) -> tuple[tuple[str, str], ...]:
    return ctx.get(_KEY, ())


def _mention(result_id: str) -> str:
    return f'"result_id": "{result_id}"'
