"""Learned requests of tools, by toolbelt: limited, and deletable because not in the log."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, delete, func, select, update

from ..secrets.speech import mask_speech
from .database import insert_missing, portions
from .event import Event, Subject, subject_of
from .log import EventLog
from .tables import events, learned, subjects

if TYPE_CHECKING:
    from .history import History

MAX_OF_TOOLBELT = 4_000
"""Rows of one toolbelt."""
_MAX_OF_TOOL = 20  # rows of a tool; more hardly improve the search
_UNUSED = timedelta(days=180)  # people's work changes within months

_Rows: TypeAlias = tuple[ColumnElement[bool], ...]


@dataclass(frozen=True, slots=True)
class LearnedFilter:
    """Filter of rows: by toolbelt, by server, by the name of a tool."""

    toolbelt: str | None = None
    source: str | None = None
    tool: str | None = None

    def matches(self, tool: Subject) -> bool:
        """Return whether a tool has this server and this name."""
        return self.source in (None, tool.source_name) and self.tool in (None, tool.tool)


@dataclass(frozen=True, slots=True)
class LearnedRow:
    """Learned request of a toolbelt: its count, first time (`learned`) and last time (`used`)."""

    id: str
    toolbelt: str
    tool: Subject
    words: str
    times: int
    learned: datetime
    used: datetime


def read_learned(history: History, which: LearnedFilter) -> list[LearnedRow]:
    """Return the rows by toolbelt and tool, the last used first."""
    with history.reading() as connection:
        return _read(connection, history.project_id, which)


def learned_state(history: History, toolbelt: str) -> tuple[Any, ...]:
    """Return a cache key of a toolbelt's rows. Each change of them gives another key."""
    columns = (
        func.count(), func.sum(learned.c.times), func.max(learned.c.used),
        func.sum(func.length(learned.c.words)),
    )  # fmt: skip
    query = select(*columns).where(*_rows_of(history.project_id, toolbelt))
    with history.reading() as connection:
        return tuple(connection.execute(query).one())


def learn(
    connection: Connection,
    log: EventLog,
    tool: Subject,
    toolbelt: str,
    texts: Iterable[str],
    time: datetime,
    redact: Callable[[str], str],
) -> list[Event]:
    """Count that a tool was useful for requests in these words; return events for the log.

    `redact` masks secrets and texts that look like secrets. A report may wait for long: rows that
    were forgotten meanwhile must not come back.
    """
    number = log.add_subjects(connection, [tool])[tool]
    if _is_forgotten_since(connection, log.number, number, toolbelt, time):
        return []
    mine = _rows_of(log.number, toolbelt)
    of_tool = (*mine, learned.c.subject == number)
    new_events: list[Event] = []
    for text in texts:
        if words := mask_speech(text, redact):
            # Random: a digest of a few words would reveal them, even after they are forgotten.
            row_id = _count_use(connection, of_tool, words, time) or uuid.uuid4().hex
            values = {
                "id": row_id, "project": log.number, "toolbelt": toolbelt, "subject": number,
                "words": words, "times": 1, "learned": time, "used": time,
            }  # fmt: skip
            insert_missing(connection, learned, [values])
            payload = {"status": "learned", "toolbelt": toolbelt, "intent": row_id}
            new_events.append(Event(tool, "learned", time, payload))
    _keep_newest(connection, of_tool, _MAX_OF_TOOL)
    _keep_newest(connection, mine, MAX_OF_TOOLBELT)
    is_old = learned.c.used < datetime.now(UTC) - _UNUSED
    connection.execute(delete(learned).where(*_rows_of(log.number), is_old))
    return new_events


def forget(connection: Connection, project: int, which: LearnedFilter) -> list[LearnedRow]:
    """Remove these rows, and return them."""
    rows = _read(connection, project, which)
    _delete(connection, [x.id for x in rows])
    return rows


def forgetting_events(rows: Iterable[LearnedRow]) -> list[Event]:
    """Return an event for each tool whose rows were removed."""
    now, counts = datetime.now(UTC), Counter((x.tool, x.toolbelt) for x in rows)
    return [
        Event(tool, "forgotten", now, {"status": "forgotten", "toolbelt": toolbelt, "texts": texts})
        for (tool, toolbelt), texts in counts.items()
    ]


def _is_forgotten_since(
    connection: Connection, project: int, subject: int, toolbelt: str, time: datetime
) -> bool:
    # A time in the future comes from a clock that was set back.
    query = select(events.c.payload).where(
        events.c.project == project, events.c.change == "forgotten", events.c.subject == subject,
        events.c.time.between(time, datetime.now(UTC)),
    )  # fmt: skip
    return any(x["toolbelt"] == toolbelt for x in connection.execute(query).scalars())


def _count_use(connection: Connection, rows: _Rows, words: str, time: datetime) -> str:
    """Count another use in the row with these words, and return its id; "" without one."""
    for row in connection.execute(select(learned).where(*rows)):
        if row.words.casefold() == words.casefold():
            values = {"times": row.times + 1, "used": max(time, row.used)}
            connection.execute(update(learned).where(learned.c.id == row.id).values(values))
            return row.id
    return ""


def _keep_newest(connection: Connection, rows: _Rows, most: int) -> None:
    by_use = select(learned.c.id).where(*rows).order_by(learned.c.used.desc(), learned.c.id)
    _delete(connection, connection.execute(by_use.offset(most)).scalars())


def _delete(connection: Connection, ids: Iterable[str]) -> None:
    for some in portions(ids):
        connection.execute(delete(learned).where(learned.c.id.in_(some)))


def _read(connection: Connection, project: int, which: LearnedFilter) -> list[LearnedRow]:
    names = subjects.c.kind, subjects.c.source_name, subjects.c.tool
    query = select(learned, *names).join(subjects, subjects.c.id == learned.c.subject)
    query = query.where(*_rows_of(project, which.toolbelt))
    rows = [
        LearnedRow(x.id, x.toolbelt, tool, x.words, x.times, x.learned, x.used)
        for x in connection.execute(query.order_by(learned.c.used.desc(), learned.c.id))
        if which.matches(tool := subject_of(x.kind, x.source_name, x.tool))
    ]
    return sorted(rows, key=lambda x: (x.toolbelt, x.tool.source, x.tool.tool or ""))


def _rows_of(project: int, toolbelt: str | None = None) -> _Rows:
    mine = (learned.c.project == project,)
    return mine if toolbelt is None else (*mine, learned.c.toolbelt == toolbelt)
