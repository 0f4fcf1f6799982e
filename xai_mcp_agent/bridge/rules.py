"""Rules on the bridge: read from the store, and used in rankings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio

from ..core.calls import Caller
from ..core.errors import RulesUnknown, SettingsError, StoreFailed
from ..core.json import JsonObject
from ..core.tools import Tool, ToolKey
from ..history.recording.recorder import HistoryRecorder
from ..policy.rules import CallsOfToday, PastCall, ReadStored, RuleGate
from ..search.ranking import Ranked, Rule
from ..settings import rules as written
from ..settings.models import Settings

if TYPE_CHECKING:
    from ..history.event import Event
    from ..history.history import History
    from ..policy.stored_rules import StoredRules

_READ_SECONDS = 20.0  # by then a file that another process writes is free again
_NEVER = "no rules were ever put into it, or they are lost."
_OLDER = "its rules are at revision {}, and the settings want {} or a later one."
_PUT = "Put all of them there: `xai-mcp-agent rules put FILE --only`."
_LOOK = "Check the store, or remove `from: store` from the rules in the settings."
_MOST_CALLS = 20_000  # calls of a day that are counted, the newest
_SEE_TO_IT = "Check the store, or limit calls by the hour or by the run."


def ranking_rules(gate: RuleGate, caller: Caller) -> Sequence[Rule]:
    """Rules that move tools in a ranking, by what a person prefers."""
    if not gate.may_prefer:
        return ()

    def prefer(query: str, ranked: Sequence[Ranked[Any]]) -> Sequence[Ranked[Any]]:
        return [_moved(x, gate, caller) for x in ranked]

    return (prefer,)


def _moved(ranked: Ranked[Any], gate: RuleGate, caller: Caller) -> Ranked[Any]:
    tool = cast(Tool | JsonObject, ranked.tool)
    ruling = gate.ruling(tool, caller) if isinstance(tool, Tool) else None
    if ruling is None or not ruling.prefer:
        return ranked
    verb = "preferred" if ruling.prefer > 0 else "put behind others"
    reasons = (*ranked.reasons, f"{verb} by the rule {', '.join(ruling.preferred_by)!r}")
    return replace(ranked, score=max(0.0, ranked.score * (1 + ruling.prefer)), reasons=reasons)


def stored_rules(settings: Settings, recorder: HistoryRecorder) -> ReadStored | None:
    """Return a reader of the rules in the store, if the settings ask for them."""
    if settings.stored_rules is None:
        return None
    return partial(_read, settings, recorder, settings.stored_rules)


def calls_of_today(
    recorder: HistoryRecorder, current: Callable[[ToolKey], Tool | None]
) -> CallsOfToday | None:
    """Return a reader of the agents' calls of the last 24 hours, if the history has them.

    `current` gives a tool as it is listed now.
    """
    if not recorder.place.is_lasting:
        return None

    async def read() -> list[PastCall]:
        """Return the calls of the last 24 hours."""
        try:
            with anyio.fail_after(_READ_SECONDS):
                events = await asyncio.wrap_future(recorder.read(_called_today))
        except TimeoutError:
            problem = f"it gave no answer within {_READ_SECONDS:g} s."
            raise StoreFailed(recorder.place.shown, problem, _SEE_TO_IT) from None
        return [
            PastCall(
                current(x.subject.key) or Tool(x.subject.key, "", {}),
                Caller("agent", x.payload.get("agent", ""), x.payload.get("toolbelt", "")),
                x.time,
            )
            for x in events
            if x.subject.tool and x.payload.get("caller") == "agent"
        ]

    return read


def _called_today(history: History) -> list[Event]:
    from ..history.events_table import Range

    since = datetime.now(UTC) - timedelta(days=1)
    changes = ("called", "begun")
    last_day = Range(since=since, changes=changes, limit=_MOST_CALLS)
    return [x for x in history.events(last_day) if x.time >= since]


async def _read(
    settings: Settings, recorder: HistoryRecorder, least: int
) -> tuple[written.Rule, ...]:
    where = recorder.place.shown
    try:
        with anyio.fail_after(_READ_SECONDS):
            stored = await asyncio.wrap_future(recorder.read(rules_in))
        rules = written.rules_of_store(stored.rules, folder_of(settings))
    except StoreFailed as why:
        raise RulesUnknown(where, why.problem, why.next_step or _LOOK) from why
    except SettingsError as why:
        raise RulesUnknown(where, str(why), _LOOK) from why
    except TimeoutError:
        raise RulesUnknown(where, f"no answer within {_READ_SECONDS:g} s.", _LOOK) from None
    if stored.revision < least:
        problem = _OLDER.format(stored.revision, least) if stored.revision else _NEVER
        raise RulesUnknown(where, problem, _PUT)
    return rules


def folder_of(settings: Settings) -> str:
    """Return the folder that relative folders in rules of the store start from."""
    return str(Path(settings.file).parent if settings.file else Path.cwd())


# Imported here: SQLAlchemy takes a while, and few settings have rules in the store.
def rules_in(history: History) -> StoredRules:
    """Return the rules in the store."""
    from ..policy.stored_rules import RulesDamaged, read_rules

    try:
        return read_rules(history)
    except RulesDamaged as why:
        raise damaged(history, why) from None


def damaged(history: History, why: Exception) -> RulesUnknown:
    """Return the error of rules that do not match their signature."""
    return RulesUnknown(history.place.shown, str(why), _PUT)
