"""Long results that a node showed in part, kept in `ctx` for nodes with the same conversation."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from ..agent.messages import Message, text_of

logger = logging.getLogger(__name__)

_KEY = "mcp_long_results"
_MOST_CHARS = 20_000_000  # of all in a workflow; the newest is always kept


def kept_for(ctx: Any, conversation: Iterable[Message]) -> dict[str, str]:
    """The whole texts of the results that this conversation has in part, by their ids."""
    said = [x for x in map(text_of, conversation) if '"result_id"' in x]
    kept: dict[str, str] = ctx.get(_KEY, {})
    return {id_: x for id_, x in kept.items() if any(f'"result_id": "{id_}"' in y for y in said)}


def keep(ctx: Any, texts: Mapping[str, str]) -> None:
    """Keep these for the nodes to come."""
    kept: dict[str, str] = {**ctx.get(_KEY, {}), **texts}
    while len(kept) > 1 and sum(map(len, kept.values())) > _MOST_CHARS:
        oldest = next(iter(kept))
        del kept[oldest]
        logger.warning("The long result %s cannot be read on: there are too many others.", oldest)
    ctx[_KEY] = kept
