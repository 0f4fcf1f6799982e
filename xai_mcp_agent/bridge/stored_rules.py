"""Reads rules from the store for the gate in the call pipeline."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from ..core.errors import RulesUnknown, SettingsError, StoreFailed
from ..history.recording.recorder import HistoryRecorder
from ..policy.rules.stored import StoredRules
from ..settings.models import Settings
from ..settings.rules import Rule, rules_of_store

if TYPE_CHECKING:
    from ..history.kept_rules import KeptRules
    from ..history.store import Store

_READ_SECONDS = 20.0  # a file that another process writes is free again by then
_NEVER = "no rules were ever put into it, or they are lost."
_OLDER = "its rules are at revision {}, and the settings want {} or a later one."
_PUT = "Put all of them there: `xai-mcp-agent rules put FILE --only`."
_LOOK = "See to the store, or take `from: store` out of the rules in the settings."


def stored_rules(settings: Settings, recorder: HistoryRecorder) -> StoredRules | None:
    """The rules of the store as they count here, if the settings ask for them."""
    if settings.stored_rules is None:
        return None
    return StoredRules(partial(_read, settings, recorder, settings.stored_rules))


async def _read(settings: Settings, recorder: HistoryRecorder, least: int) -> tuple[Rule, ...]:
    where = recorder.place.shown
    try:
        with anyio.fail_after(_READ_SECONDS):
            kept = await asyncio.wrap_future(recorder.read(kept_in))
        rules = rules_of_store(kept.rules, folder_of(settings))
    except StoreFailed as why:
        raise RulesUnknown(where, why.problem, why.next_step or _LOOK) from why
    except SettingsError as why:
        raise RulesUnknown(where, str(why), _LOOK) from why
    except TimeoutError:
        raise RulesUnknown(where, f"no answer within {_READ_SECONDS:g} s.", _LOOK) from None
    if kept.revision < least:
        problem = _OLDER.format(kept.revision, least) if kept.revision else _NEVER
        raise RulesUnknown(where, problem, _PUT)
    return rules


def folder_of(settings: Settings) -> str:
    """What folders in rules of the store begin in."""
    return str(Path(settings.file).parent if settings.file else Path.cwd())


# Here, because SQLAlchemy takes a while, and few settings have rules in the store.
def kept_in(store: Store) -> KeptRules:
    """The rules that are kept there."""
    from ..history.kept_rules import RulesDamaged, kept_rules

    try:
        return kept_rules(store)
    except RulesDamaged as why:
        raise damaged(store, why) from None


def damaged(store: Store, why: Exception) -> RulesUnknown:
    """What to tell of rules that are not what was put there."""
    return RulesUnknown(store.place.shown, str(why), _PUT)
