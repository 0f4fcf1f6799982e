"""What tools were used for, by toolbelt: in bounds, and beside the log so that it can go."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from ..core.json import JsonObject
from ..secrets.speech import kept_speech
from .database import portions
from .event import Change, Subject, subject_of
from .tables import events, learned, subjects

LearnedState: TypeAlias = tuple[Any, ...]
"""Cache key of a toolbelt's rows: equal as long as none is learned, changed or forgotten."""

_UNUSED = timedelta(days=180)  # people's work changes within months
_ROOM = 0.9  # after which rows go again only when many more were learned
_DIGEST_CHARS = 32


@dataclass(frozen=True, slots=True)
class LearnedFilter:
    """Rows of one toolbelt, of one server (as people call it), of tools of one name."""

    toolbelt: str | None = None
    source: str | None = None
    tool: str | None = None

    def matches(self, tool: Subject) -> bool:
        """Whether a tool has this server and this name."""
        return self.source in (None, tool.shown_source) and self.tool in (None, tool.tool)


@dataclass(frozen=True, slots=True)
class LearnedRow:
    """One thing that was learned in a toolbelt: how often, first (`learned`) and last (`used`)."""

    id: str
    toolbelt: str
    tool: Subject
    words: str
    times: int
    learned: datetime
    used: datetime


class LearnedRows:
    """The rows of the store: so many of one tool, and so many of one toolbelt."""

    def __init__(self, most_of_toolbelt: int, most_of_tool: int) -> None:
        self.most_of_toolbelt, self.most_of_tool = most_of_toolbelt, most_of_tool

    def read(
        self, connection: Connection, project: int, toolbelt: str | None = None
    ) -> list[LearnedRow]:
        """The rows of a toolbelt, or of all; the last used come first."""
        query = select(learned).where(*self._of(project, toolbelt))
        rows = connection.execute(query.order_by(learned.c.used.desc(), learned.c.id))
        return [_row(x) for x in rows]

    def state(
        self, connection: Connection, project: int, toolbelt: str | None = None
    ) -> LearnedState:
        """Cache key of these rows."""
        columns = (
            func.count(), func.sum(learned.c.times), func.max(learned.c.used),
            func.sum(func.length(learned.c.words)),
        )  # fmt: skip
        return tuple(connection.execute(select(*columns).where(*self._of(project, toolbelt))).one())

    def add(
        self,
        connection: Connection,
        project: int,
        toolbelt: str,
        tool: Subject,
        time: datetime,
        words: str,
    ) -> str:
        """Count what was learned, by these words; its id. The oldest of too many of a tool go."""
        mine = (*self._of(project, toolbelt), learned.c.topic == tool.digest)
        newest = select(learned).where(*mine).order_by(learned.c.used.desc(), learned.c.id)
        rows = [_row(x) for x in connection.execute(newest)]
        for row in rows:
            if row.words.casefold() == words.casefold():
                values = {"times": row.times + 1, "used": max(time, row.used)}
                same = (*mine, learned.c.id == row.id)
                connection.execute(update(learned).where(*same).values(values))
                return row.id
        self.remove(connection, project, [x.id for x in rows[self.most_of_tool - 1 :]])
        # Random: a digest of a few words would tell which they were, also after they are forgotten.
        row_id = uuid.uuid4().hex
        values = {
            "project": project, "scope": _scope(toolbelt), "topic": tool.digest, "id": row_id,
            "toolbelt": toolbelt, "tool_kind": tool.kind.name, "source_name": tool.source,
            "tool": tool.tool or "", "words": words, "times": 1, "learned": time, "used": time,
        }  # fmt: skip
        connection.execute(insert(learned).values(values))
        return row_id

    def remove(self, connection: Connection, project: int, ids: Iterable[str]) -> None:
        """Remove these rows."""
        for some in portions(ids):
            mine = (*self._of(project), learned.c.id.in_(some))
            connection.execute(delete(learned).where(*mine))

    def prune(self, connection: Connection, project: int, toolbelts: Iterable[str]) -> None:
        """Remove rows that are long unused, and the oldest of toolbelts that have too many."""
        old = learned.c.used < datetime.now(UTC) - _UNUSED
        connection.execute(delete(learned).where(*self._of(project), old))
        for toolbelt in toolbelts:
            mine = self._of(project, toolbelt)
            count = select(func.count()).select_from(learned).where(*mine)
            if connection.execute(count).scalar_one() > self.most_of_toolbelt:
                left = int(self.most_of_toolbelt * _ROOM)
                by_use = select(learned.c.used).where(*mine).order_by(learned.c.used.desc())
                last = connection.execute(by_use.offset(left).limit(1)).scalar_one()
                connection.execute(delete(learned).where(*mine, learned.c.used <= last))

    def _of(self, project: int, toolbelt: str | None = None) -> tuple[ColumnElement[bool], ...]:
        mine = (learned.c.project == project,)
        return mine if toolbelt is None else (*mine, learned.c.scope == _scope(toolbelt))


class Learning:
    """The transaction in which reports of the writer are learned from, or rows are forgotten.

    `redact` hides secrets and what looks like one. `note` writes an event of a tool. `since` is the
    time of the oldest report.
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
        self.connection, self.project = connection, project
        self._redact, self._note = redact, note
        self._now = datetime.now(UTC)
        self._forgotten = _forgotten_since(connection, project, since)
        self._touched: dict[LearnedRows, set[str]] = {}

    def words_of(self, text: str) -> str:
        """What may be kept of what somebody said."""
        return kept_speech(text, self._redact)

    def is_forgotten(self, tool: Subject, toolbelt: str, time: datetime) -> bool:
        """Whether a report of this time was made before what it is about was forgotten.

        Reports may wait for long: what was forgotten meanwhile must not come back. A time in the
        future is one of before the clock was set back.
        """
        last = self._forgotten.get((tool.digest, toolbelt))
        return last is not None and time <= last <= self._now

    def add(
        self, rows: LearnedRows, toolbelt: str, tool: Subject, time: datetime, words: str
    ) -> str:
        """`LearnedRows.add` in this transaction; at its end the bounds are kept."""
        self._touched.setdefault(rows, set()).add(toolbelt)
        return rows.add(self.connection, self.project, toolbelt, tool, time, words)

    def note_learned(self, tool: Subject, toolbelt: str, intent: str, time: datetime) -> None:
        """Write an event: a tool was of use for something that has this id."""
        payload = {"status": "learned", "toolbelt": toolbelt, "intent": intent}
        self._note("learned", tool, time, payload)

    def note_forgotten(self, counts: Mapping[tuple[Subject, str], int]) -> None:
        """Write events: a person had so many rows forgotten, by tool and toolbelt."""
        for (tool, toolbelt), count in counts.items():
            payload = {"status": "forgotten", "toolbelt": toolbelt, "texts": count}
            self._note("forgotten", tool, self._now, payload)

    def prune(self) -> None:
        """Keep the bounds of what was added."""
        for rows, toolbelts in self._touched.items():
            rows.prune(self.connection, self.project, toolbelts)


def last_forgotten(connection: Connection, project: int) -> datetime | None:
    """When somebody had something forgotten last."""
    mine = events.c.project == project, events.c.change == "forgotten"
    return connection.execute(select(func.max(events.c.time)).where(*mine)).scalar()


def _forgotten_since(
    connection: Connection, project: int, since: datetime
) -> dict[tuple[str, str], datetime]:
    columns = select(subjects.c.digest, events.c.payload, events.c.time)
    mine = columns.join(subjects, subjects.c.id == events.c.subject).where(
        events.c.project == project, events.c.time >= since, events.c.change == "forgotten"
    )
    rows = connection.execute(mine.order_by(events.c.position)).all()
    return {(x.digest, x.payload["toolbelt"]): x.time for x in rows}


def _scope(toolbelt: str) -> str:
    """A name of any length, as a database can index it."""
    data = toolbelt.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]


def _row(row: Any) -> LearnedRow:
    tool = subject_of(row.tool_kind, row.source_name, row.tool)
    return LearnedRow(row.id, row.toolbelt, tool, row.words, row.times, row.learned, row.used)
