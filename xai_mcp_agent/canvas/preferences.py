"""Which tools of a toolbelt are always shown, blocked or trusted, as nodes say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.errors import BadSetting
from ..search.preferences import Preferences
from .ports import names, toolbelt_on

ALWAYS_SHOWN, BLOCKED, TRUSTED = KEYS = "always_shown_tools", "blocked_tools", "trusted_tools"
"""Of a toolbelt's spec and of an agent; with the toolbelt's name, those of `ctx`."""

_ALWAYS_SHOW, _PREFER = "AgentAlwaysShowTools", "AgentPreferTools"


def always_show_tools(ctx: Any, toolbelt: Any, tools: Any) -> None:
    """Have tools be shown in every request of whoever has this toolbelt.

    `tools` are patterns, see `Preferences`: a list, or a text with commas.

    Raises:
        BadSetting: no tools, or something else than names.
    """
    if not (found := names(tools, "tools", _ALWAYS_SHOW)):
        raise BadSetting(f"{_ALWAYS_SHOW} has nothing to work with: set `tools` to names of tools.")
    _add(ctx, ALWAYS_SHOWN, toolbelt_on(toolbelt, "toolbelt_name", _ALWAYS_SHOW), found)


def prefer_tools(ctx: Any, toolbelt: Any, trusted: Any, blocked: Any) -> None:
    """Have tools come before others in what a search finds, or not be there at all.

    Both are given as `tools` of `always_show_tools` are, or left alone.

    Raises:
        BadSetting: something else than names.
    """
    belt = toolbelt_on(toolbelt, "toolbelt_name", _PREFER)
    _add(ctx, TRUSTED, belt, names(trusted, "trusted", _PREFER))
    _add(ctx, BLOCKED, belt, names(blocked, "blocked", _PREFER))


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
