"""Which tools of a toolbelt are always shown, blocked or trusted, as nodes say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..search.preferences import Preferences
from .ports import DEFAULT_TOOLBELT

KEYS = "always_shown_tools", "blocked_tools", "trusted_tools"
"""Of a toolbelt's spec and of an agent; with the toolbelt's name, those of `ctx`."""


def prefer_tools(
    ctx: Any,
    trusted: Any = None,
    blocked: Any = None,
    always_shown: Any = None,
    toolbelt_name: str = "",
) -> None:
    """Have tools come first in what a search finds, not be there at all, or always be shown.

    Each are patterns, see `Preferences`.
    """
    belt = toolbelt_name or DEFAULT_TOOLBELT
    for key, patterns in zip(KEYS, (always_shown, blocked, trusted), strict=True):
        _add(ctx, key, belt, patterns or [])


def preferences_for(ctx: Any, toolbelt: str) -> dict[str, list[str]]:
    """What was said of a toolbelt so far, for its spec; only what was said."""
    found = {key: list(ctx.get(f"{key}_{toolbelt}") or []) for key in KEYS}
    return {key: patterns for key, patterns in found.items() if patterns}


def preferences_of(agent: Mapping[str, Any]) -> Preferences:
    """What the toolbelt of an agent prefers."""
    always_shown, blocked, trusted = (tuple(agent.get(key) or ()) for key in KEYS)
    return Preferences(always_shown, blocked, trusted)


def _add(ctx: Any, key: str, toolbelt: str, patterns: list[str]) -> None:
    known = ctx.setdefault(f"{key}_{toolbelt}", [])
    known += [x for x in dict.fromkeys(patterns) if x not in known]
