"""What settings and toolbelts prefer together, with the groups of the settings that they name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..catalog.groups import ToolGroup
from ..core.errors import BadSetting
from ..core.patterns import Patterns, guard
from ..core.tools import ToolKey
from ..search.preferences import Preferences
from .engine import Engine


def preferred(engine: Engine, own: Preferences | None = None) -> Preferences:
    """What the settings prefer, and a toolbelt's `own` besides.

    Raises:
        SettingsError: something is wrong in a group that is blocked.
        BadSetting: what is blocked cannot be told.
    """
    said = engine.settings.search
    of_settings = Preferences(said.pinned, said.blocked, said.trusted, said.groups)
    found = of_settings.joined(own or Preferences())
    _require_blocked(engine, found)
    return found.with_sets(_groups(engine))


def _require_blocked(engine: Engine, found: Preferences) -> None:
    try:
        guard(*found.all_blocked)
    except ValueError as why:
        raise BadSetting(f"A pattern of what is blocked is none: {why}. Correct it.") from None
    named = Patterns.of(found.all_blocked)
    for name in engine.settings.groups.problems:
        if named.fit_any([name]):
            engine.settings.group(name)


def _groups(engine: Engine) -> dict[str, Callable[[ToolKey], bool]]:
    kinds = {name: x.kind.name for name, x in engine.settings.of_file.items() if not x.disabled}
    groups = engine.settings.groups.groups.values()
    return {x.name: partial(_has, engine, ToolGroup(x, kinds)) for x in groups}


def _has(engine: Engine, group: ToolGroup, key: ToolKey) -> bool:
    tool = engine.catalog.get(key)
    return tool is not None and group.has(tool)
