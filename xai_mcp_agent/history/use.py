"""Who used a tool: what the event of a call tells of its caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..core.calls import Caller
from ..core.json import JsonObject
from ..core.visible import visible_text

Use: TypeAlias = tuple[tuple[str, str], ...]
"""Keys of a payload, and what they say."""

NAMES = ("caller", "agent", "workflow", "node", "toolbelt")
"""Those that are the same in thousands of calls; the ids are others in each, or in each run."""

_MOST_NAME_CHARS, _MOST_ID_CHARS = 100, 64


def used_by(caller: Caller, call_id: str = "") -> Use:
    """What an event tells of who makes a call; what is not known is left out."""
    told = (
        ("run_id", caller.run), ("call_id", call_id), ("caller", caller.kind),
        ("agent", caller.name), ("workflow", caller.workflow), ("node", caller.node),
        ("toolbelt", caller.toolbelt),
    )  # fmt: skip
    return tuple(x for x in told if x[1])


def kept_use(use: Use, mask: Callable[[str], str]) -> Use:
    """As it is written down: without secrets, and each text of a length that a row can have."""
    kept: list[tuple[str, str]] = []
    for key, text in use:
        if key != "caller":  # that one is a word of ours
            most = _MOST_NAME_CHARS if key in NAMES else _MOST_ID_CHARS
            # More than is kept of it, so that half a secret is not left at its end.
            text = visible_text(mask(text[: 10 * most]), most)
        kept.append((key, text))
    return tuple(kept)


def names_in(payload: JsonObject) -> Use:
    """What it tells of the caller by name."""
    return tuple((x, payload[x]) for x in NAMES if x in payload)
