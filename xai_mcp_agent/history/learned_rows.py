"""Learned requests of tools, by toolbelt: limited, and deletable because not in the log."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from ..core.json import JsonObject
from ..secrets.speech import mask_speech
from .database import portions
from .event import Change, Subject, subject_of
from .tables import events, learned, subjects

if TYPE_CHECKING:
    from .history import History

LearnedState: TypeAlias = tuple[Any, ...]
"""Cache key of a toolbelt's rows: equal as long as none is learned, changed or forgotten."""

MAX_OF_TOOLBELT = 4_000
"""Rows of one toolbelt."""
_MAX_OF_TOOL = 20  # rows of a tool; more hardly improve the search
_UNUSED = timedelta(days=180)  # people's work changes within months
_ROOM = 0.9  # prunes to this part of the limit
_DIGEST_CHARS = 32


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


def learned_state(history: History, toolbelt: str) -> LearnedState:
    """Return the cache key of the rows of a toolbelt."""
    columns = (
        func.count(), func.sum(learned.c.times), func.max(learned.c.used),
        func.sum(func.length(learned.c.words)),
    )  # fmt: skip
    query = select(*columns).where(*_of(history.project_id, toolbelt))
    with history.reading() as connection:
        return tuple(connection.execute(query).one())


class Learning:
    """Transaction that learns from reports, or deletes rows.

    `redact` masks secrets and texts that look like secrets. `note` writes an event of a tool.
    `since` is the time of the oldest report.
    """

    def __init__(
        self,
        connection: Connection,
        project: int,
        *,
        redact: Callable[[str], str],
        note: Callable[[Change, Subject, datetime, JsonObject], None],
        since: datetime,
    ) -> None:
        self._connection, self._project = connection, project
        self._redact, self._note = redact, note
        self._now = datetime.now(UTC)
        self._forgotten = _forgotten_since(connection, project, since)
        self._toolbelts = set[str]()  # toolbelts with new rows

    def learn(self, tool: Subject, toolbelt: str, texts: Iterable[str], time: datetime) -> None:
        """Count that a tool was useful for a request in these words.

        A report may wait for long: rows that were forgotten meanwhile must not come back. A time in
        the future comes from a clock that was set back.
        """
        last = self._forgotten.get((tool.digest, toolbelt))
        if last is not None and time <= last <= self._now:
            return
        self._toolbelts.add(toolbelt)
        for text in texts:
            if words := mask_speech(text, self._redact):
                intent = self._add(tool, toolbelt, words, time)
                payload = {"status": "learned", "toolbelt": toolbelt, "intent": intent}
                self._note("learned", tool, time, payload)

    def forget(self, which: LearnedFilter) -> list[LearnedRow]:
        """Remove these rows, and write an event for each tool; return the removed rows."""
        rows = _read(self._connection, self._project, which)
        self._remove(x.id for x in rows)
        for (tool, toolbelt), texts in Counter((x.tool, x.toolbelt) for x in rows).items():
            payload = {"status": "forgotten", "toolbelt": toolbelt, "texts": texts}
            self._note("forgotten", tool, self._now, payload)
        return rows

    def prune(self) -> None:
        """Remove rows unused for long, and the oldest rows of toolbelts with too many."""
        if not self._toolbelts:
            return
        old = learned.c.used < self._now - _UNUSED
        self._connection.execute(delete(learned).where(*_of(self._project), old))
        for toolbelt in self._toolbelts:
            mine = _of(self._project, toolbelt)
            count = select(func.count()).select_from(learned).where(*mine)
            if self._connection.execute(count).scalar_one() > MAX_OF_TOOLBELT:
                by_use = select(learned.c.used).where(*mine).order_by(learned.c.used.desc())
                first_excess = by_use.offset(int(MAX_OF_TOOLBELT * _ROOM)).limit(1)
                last = self._connection.execute(first_excess).scalar_one()
                self._connection.execute(delete(learned).where(*mine, learned.c.used <= last))

    def _add(self, tool: Subject, toolbelt: str, words: str, time: datetime) -> str:
        """Return the id of the row with these words, new or counted once more."""
        mine = (*_of(self._project, toolbelt), learned.c.topic == tool.digest)
        newest = select(learned).where(*mine).order_by(learned.c.used.desc(), learned.c.id)
        rows = [_row(x) for x in self._connection.execute(newest)]
        for row in rows:
            if row.words.casefold() == words.casefold():
                values = {"times": row.times + 1, "used": max(time, row.used)}
                same = (*mine, learned.c.id == row.id)
                self._connection.execute(update(learned).where(*same).values(values))
                return row.id
        self._remove(x.id for x in rows[_MAX_OF_TOOL - 1 :])
        # Random: a digest of a few words would reveal them, even after they are forgotten.
        row_id = uuid.uuid4().hex
        values = {
            "project": self._project, "scope": _scope(toolbelt), "topic": tool.digest, "id": row_id,
            "toolbelt": toolbelt, "tool_kind": tool.kind.name, "source_name": tool.source,
            "tool": tool.tool or "", "words": words, "times": 1, "learned": time, "used": time,
        }  # fmt: skip
        self._connection.execute(insert(learned).values(values))
        return row_id

    def _remove(self, ids: Iterable[str]) -> None:
        for some in portions(ids):
            mine = (*_of(self._project), learned.c.id.in_(some))
            self._connection.execute(delete(learned).where(*mine))


def _forgotten_since(
    connection: Connection, project: int, since: datetime
) -> dict[tuple[str, str], datetime]:
    columns = select(subjects.c.digest, events.c.payload, events.c.time)
    mine = columns.join(subjects, subjects.c.id == events.c.subject).where(
        events.c.project == project, events.c.time >= since, events.c.change == "forgotten"
    )
    rows = connection.execute(mine.order_by(events.c.position)).all()
    return {(x.digest, x.payload["toolbelt"]): x.time for x in rows}


def _read(connection: Connection, project: int, which: LearnedFilter) -> list[LearnedRow]:
    query = select(learned).where(*_of(project, which.toolbelt))
    rows = map(_row, connection.execute(query.order_by(learned.c.used.desc(), learned.c.id)))
    matching = [x for x in rows if which.matches(x.tool)]
    return sorted(matching, key=lambda x: (x.toolbelt, x.tool.source, x.tool.tool or ""))


def _of(project: int, toolbelt: str | None = None) -> tuple[ColumnElement[bool], ...]:
    mine = (learned.c.project == project,)
    return mine if toolbelt is None else (*mine, learned.c.scope == _scope(toolbelt))


def _scope(toolbelt: str) -> str:
    """Return a key for a name of any length that a database can index."""
    data = toolbelt.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]


def _row(row: Any) -> LearnedRow:
    tool = subject_of(row.tool_kind, row.source_name, row.tool)
    return LearnedRow(row.id, row.toolbelt, tool, row.words, row.times, row.learned, row.used)
