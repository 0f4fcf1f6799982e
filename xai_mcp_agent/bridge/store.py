"""Queries of the history's store, each with a time limit: its rules, and calls that count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import anyio

from ..core.calls import Caller
from ..core.errors import RulesUnknown, SettingsError, StoreFailed
from ..core.tools import Tool, ToolKey
from ..history.event import Event, Range
from ..history.place import Place
from ..history.recording.recorder import HistoryRecorder
from ..policy.rules import CallsOfToday, PastCall, ReadStored
from ..settings.models import Settings
from ..settings.rules import Rule, rules_of_store

if TYPE_CHECKING:
    from ..history.history import History
    from ..policy.stored_rules import StoredRules

T = TypeVar("T")

_READ_SECONDS = 20.0  # by then a file that another process writes is free again
_NEVER = "no rules were ever put into it, or they are lost."
_OLDER = "its rules are at revision {}, and the settings need {} or a later one."
_PUT = "Put all of them there: `xai-mcp-agent rules put FILE --only`."
_CHECK_STORE = "Check the store, or remove `from: store` from the rules in the settings."
_CHECK_LIMITS = "Check the store, or limit calls by the hour or by the run."
_MOST_CALLS = 20_000  # calls of a day that are counted, the newest


async def answer_of(place: Place, answer: Future[T], limit_seconds: float, next_step: str) -> T:
    """Wait for an answer of the store.

    Raises:
        StoreFailed: it does not answer in time; `next_step` says what to do. Errors of the answer
            itself are raised, too.
    """
    try:
        with anyio.fail_after(limit_seconds):
            return await asyncio.wrap_future(answer)
    except TimeoutError:
        problem = f"it gave no answer within {limit_seconds:g} s."
        raise StoreFailed(place.label, problem, next_step) from None


def stored_rules(settings: Settings, recorder: HistoryRecorder) -> ReadStored | None:
    """Return a reader of the rules in the store, if the settings ask for them."""
    oldest, place = settings.stored_rules, recorder.place
    if oldest is None:
        return None

    async def read() -> tuple[Rule, ...]:
        try:
            reading = recorder.read(rules_in)
            stored = await answer_of(place, reading, _READ_SECONDS, _CHECK_STORE)
            rules = rules_of_store(stored.rules, folder_of(settings))
        except StoreFailed as why:
            raise RulesUnknown(place.label, why.problem, why.next_step or _CHECK_STORE) from why
        except SettingsError as why:
            raise RulesUnknown(place.label, str(why), _CHECK_STORE) from why
        if stored.revision < oldest:
            problem = _OLDER.format(stored.revision, oldest) if stored.revision else _NEVER
            raise RulesUnknown(place.label, problem, _PUT)
        return rules

    return read


def folder_of(settings: Settings) -> str:
    """Return the folder that relative folders in rules of the store start from."""
    return str(Path(settings.file).parent if settings.file else Path.cwd())


def rules_in(history: History) -> StoredRules:
    """Return the rules in the store."""
    # Imported here: SQLAlchemy takes a while, and few settings have rules in the store.
    from ..policy.stored_rules import read_rules

    return read_rules(history)


def calls_of_today(
    recorder: HistoryRecorder, current: Callable[[ToolKey], Tool | None]
) -> CallsOfToday | None:
    """Return a reader of the agents' calls of the last 24 hours, if the history has them.

    `current` gives a tool as it is listed now.
    """
    if not recorder.place.is_lasting:
        return None

    async def read() -> list[PastCall]:
        calls = recorder.read(_called_today)
        events = await answer_of(recorder.place, calls, _READ_SECONDS, _CHECK_LIMITS)
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
    since = datetime.now(UTC) - timedelta(days=1)
    last_day = Range(since=since, changes=("called", "begun"), limit=_MOST_CALLS)
    return [x for x in history.events(last_day) if x.time >= since]
