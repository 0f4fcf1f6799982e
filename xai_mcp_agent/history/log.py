"""The log of one project: events are appended and read, and its state is a fold in memory.

Only changes are stored. The row of a source implies that a listing confirms its unchanged tools,
and that a loss takes all tools along: reading makes these events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from sqlalchemy import Connection, func, insert, select

from .database import insert_missing, insert_rows
from .event import (
    Change,
    Event,
    Links,
    Project,
    Range,
    Subject,
    links_of,
    subject_of,
    usual_payload,
)
from .events_table import (
    LARGEST_POSITION,
    LISTINGS,
    begin_of,
    definitions_of,
    describes_tool,
    event_of,
    first_since,
    has_text,
    implied_by,
    last_position,
    payload_of,
    query_of,
    row_of,
)
from .records import Fold
from .snapshots import last_snapshot, write_snapshot
from .tables import UnreadableRow, definitions, events, runs, snapshots, subjects

ROWS_BETWEEN_SNAPSHOTS = 2_000
"""Each tool adds one, because a snapshot of many tools takes longer."""

_ROWS_AT_A_TIME = 10_000
# Changes after which a tool may exist or differ.
_OF_TOOLS: tuple[Change, ...] = (
    "seeded", "discovered", "confirmed", "changed", "returned", "unavailable",
)  # fmt: skip
INVENTORY: tuple[Change, ...] = (*_OF_TOOLS, *LISTINGS, "left", "disconnected")
"""Changes that decide which tools exist; calls, of which there are many more, do not."""


@dataclass(frozen=True, slots=True)
class LogRow:
    """Event, and the tools with implied events, with the digests of their definitions.

    The event itself `is_in_range`, unless only one of its tools was requested.
    """

    event: Event
    tools: Sequence[tuple[Subject, str]] = ()
    is_in_range: bool = True

    @property
    def implied_change(self) -> Change:
        """Return the implied change of these tools."""
        return implied_by(self.event.change)

    def implied(self, project: Project | None = None) -> Iterator[Event]:
        """Yield the implied events of its tools, without payloads; with links given a `project`."""
        head, change = self.event, self.implied_change
        is_lost = change == "unavailable"
        for subject, digest in self.tools:
            yield Event(
                subject, change, head.time, usual_payload(change) if is_lost else {},
                links_of(change, subject, project) if project else Links(),
                None if is_lost else digest, head.reason if is_lost else "", head.run,
                head.position,
            )  # fmt: skip

    def events(self, project: Project | None = None) -> Iterator[Event]:
        """Yield the event, if requested, and what it implies."""
        if self.is_in_range:
            yield self.event
        yield from self.implied(project) if self.tools else ()


class EventLog:
    """The log of a project and its state. Used by one thread, within transactions."""

    def __init__(self, project: Project, number: int) -> None:
        self.project, self.number = project, number
        self.forget()

    def forget(self) -> None:
        """Discard the state in memory, which may contain events of a failed transaction."""
        self._fold: Fold | None = None
        self._position = self._snapshot_at = 0
        self._subjects: dict[int, Subject] = {}
        self._numbers: dict[Subject, int] = {}
        self._last_number = 0
        self._runs: dict[int, str] = {}
        self._run_numbers: dict[str, int] = {}

    def catch_up(self, connection: Connection) -> Fold:
        """Fold in the events of other processes; return the current state."""
        newest = last_position(connection, self.number)
        is_behind = newest > self._position and begin_of(connection, self.number) > self._position
        if newest < self._position or is_behind:  # another file, or pruned
            self.forget()
        if self._fold is None:
            self._position, self._fold = last_snapshot(connection, self.number)
        if newest > self._position:
            self._fold_in(connection, self._fold, self._position, newest)
        self._position = max(newest, self._position)
        return self._fold

    @property
    def state(self) -> Fold:
        """Return the state within a transaction that has caught up, with its own events."""
        assert self._fold is not None, "catch up first"
        return self._fold

    def append(
        self,
        connection: Connection,
        new: Sequence[Event],
        bodies: Mapping[str, str],
        run: str = "",
    ) -> None:
        """Append events, of this `run` unless they name one. The state has caught up.

        `bodies` are definitions as JSON text by their digests; existing ones are left alone.
        """
        fold = self.state
        # Sources first: they are in most rows, and SQLite stores small numbers in fewer bytes.
        about = dict.fromkeys([*(x.subject.anchor for x in new), *(x.subject for x in new)])
        numbers = self.add_subjects(connection, about)
        self._add_runs(connection, {x.run or run: x.time for x in new})
        new_bodies = [{"digest": x, "body": body} for x, body in sorted(bodies.items())]
        insert_missing(connection, definitions, new_bodies)
        rows = [
            row_of(self.number, position, x, numbers, self._run_numbers.get(x.run or run))
            for position, x in enumerate(new, self._position + 1)
        ]
        insert_rows(connection, events, rows)
        fold.take(new)
        self._position += len(new)
        self.take_snapshot(connection)

    def take_snapshot(self, connection: Connection, *, part: float = 1.0) -> None:
        """Write a snapshot, unless the last one is closer than `part` of the usual distance."""
        least = part * (ROWS_BETWEEN_SNAPSHOTS + self.state.count)
        if self._position - self._snapshot_at < least:
            return
        last = select(func.max(snapshots.c.position)).where(snapshots.c.project == self.number)
        self._snapshot_at = connection.execute(last).scalar() or 0
        if self._position - self._snapshot_at >= least:  # otherwise another process wrote one
            write_snapshot(connection, self.number, self._position, self.state)
            self._snapshot_at = self._position

    def rows(self, connection: Connection, event_range: Range) -> list[LogRow]:
        """Return the newest rows of a range, oldest first, with what they imply."""
        rows: list[LogRow] = []
        if event_range.since is not None:
            first = first_since(connection, self.number, event_range.since)
            after = max(event_range.after, first - 1)
            event_range = replace(event_range, since=None, after=after)
        limit = some = event_range.limit or LARGEST_POSITION
        until = event_range.until
        # Some rows imply no requested events, so it reads until there are enough.
        while len(rows) < limit:
            portion = replace(event_range, until=until, limit=some)
            if not (batch := self._read_rows(connection, portion)):
                break
            rows = [*self._restrict_rows(connection, event_range, batch), *rows]
            until, some = batch[0].position - 1, min(4 * some, _ROWS_AT_A_TIME)
        return rows[-limit:]

    def _restrict_rows(
        self, connection: Connection, event_range: Range, batch: Sequence[Event]
    ) -> list[LogRow]:
        heads = [x for x in batch if x.followed_by is not None]
        heads = [] if event_range.failed or event_range.agent is not None else heads
        implied = self._implied(connection, heads) if heads else {}
        rows = [_restrict_row(LogRow(x, implied.get(x.position, ())), event_range) for x in batch]
        return [x for x in rows if x.is_in_range or x.tools]

    def complete(self, connection: Connection, rows: Iterable[LogRow]) -> list[Event]:
        """Return all events of these rows, with payloads from definitions."""
        all_events = [event for row in rows for event in row.events(self.project)]
        digests = {x.definition for x in all_events if x.definition and describes_tool(x)}
        bodies = definitions_of(connection, digests)
        return [
            replace(x, payload=payload_of(bodies.get(x.definition or "")))
            if describes_tool(x)
            else x
            for x in all_events
        ]

    def fold_at(self, connection: Connection, until: int | None) -> Fold:
        """Return the state at a position, or now."""
        if until is None:
            return self.catch_up(connection)
        after, fold = last_snapshot(connection, self.number, until)
        last = min(until, last_position(connection, self.number))
        self._fold_in(connection, fold, after, last)
        return fold

    def links(
        self, connection: Connection, until: int | None
    ) -> Iterator[tuple[Subject, Links, int]]:
        """Yield the links of the facts about each subject, with their counts."""
        counts: Counter[tuple[Subject, Change]] = Counter()
        for row in self.rows(connection, Range(until=until, changes=(*INVENTORY, "failed"))):
            counts[row.event.subject, row.event.change] += 1
            counts.update((subject, row.implied_change) for subject, _ in row.tools)
        for (subject, change), count in counts.items():
            yield subject, links_of(change, subject, self.project), count

    def newest_of(
        self, connection: Connection, source: Subject, changes: Sequence[Change], until: int | None
    ) -> Event | None:
        """Return the newest row of a source or its tools with such a change, up to a position."""
        number = self._number_of(connection, source)
        last = LARGEST_POSITION if until is None else until
        query = select(events).where(
            events.c.project == self.number, events.c.anchor == number,
            events.c.position <= last, events.c.change.in_(changes),
        )  # fmt: skip
        rows = connection.execute(query.order_by(events.c.position.desc()).limit(1)).all()
        return next(iter(self._events(connection, rows)), None)

    def calls_at(
        self, connection: Connection, times: Collection[datetime]
    ) -> set[tuple[Subject, datetime]]:
        """Return the subjects and times of the calls in the log at these times."""
        if not times:
            return set()
        query = select(events).where(
            events.c.project == self.number, events.c.change.in_(("called", "begun")),
            events.c.time.between(min(times), max(times)),
        )  # fmt: skip
        calls = self._events(connection, connection.execute(query).all())
        return {(x.subject, x.time) for x in calls}

    def _number_of(self, connection: Connection, subject: Subject) -> int:
        """Return the number of a subject; 0 if it has none."""
        if subject not in self._numbers:
            self._read_subjects(connection)
        return self._numbers.get(subject, 0)

    def _read_subjects(self, connection: Connection) -> None:
        """Read the subjects that are new since the last time."""
        is_new = subjects.c.project == self.number, subjects.c.id > self._last_number
        for x in connection.execute(select(subjects).where(*is_new).order_by(subjects.c.id)):
            subject = subject_of(x.kind, x.source_name, x.tool)
            self._subjects[x.id], self._numbers[subject] = subject, x.id
            self._last_number = x.id

    def add_subjects(
        self, connection: Connection, some: Collection[Subject]
    ) -> Mapping[Subject, int]:
        """Return the numbers of these subjects, and perhaps others; add rows for new ones."""
        if all(x in self._numbers for x in some):
            return self._numbers
        self._read_subjects(connection)
        rows = [
            {"project": self.number, "kind": x.kind.name, "source_name": x.source, "tool": x.tool}
            for x in some
            if x not in self._numbers
        ]
        if rows:
            connection.execute(insert(subjects), rows)
            self._read_subjects(connection)
        return self._numbers

    def _add_runs(self, connection: Connection, times: Mapping[str, datetime]) -> None:
        """Read the numbers of runs. A run without a row was killed early: add it as ended."""
        if new := times.keys() - self._run_numbers.keys() - {""}:
            query = select(runs.c.id, runs.c.number).where(runs.c.id.in_(new))
            ended = {"host": "", "pid": 0, "pid_started": 0.0}
            lost = [
                {"id": x, "project": self.number, "seen": times[x], "ended": times[x], **ended}
                for x in new - {x.id for x in connection.execute(query)}
            ]
            if lost:
                connection.execute(insert(runs), lost)
            self._run_numbers |= {x.id: x.number for x in connection.execute(query)}

    def _read_rows(self, connection: Connection, event_range: Range) -> list[Event]:
        """Return the stored events of a range, oldest first."""
        about = event_range.about
        subject = self._number_of(connection, about) if about else 0
        anchor = self._number_of(connection, about.anchor) if about else 0
        query = query_of(self.number, event_range, subject, anchor)
        return self._events(connection, connection.execute(query).all()[::-1])

    def _fold_in(self, connection: Connection, fold: Fold, after: int, until: int) -> None:
        """Fold in the events between two positions."""
        try:
            for some in self._portions(connection, Range(after=after, until=until)):
                fold.take(some)
        except (AttributeError, LookupError, TypeError, ValueError) as cause:
            raise UnreadableRow("A row differs from what was written.") from cause

    def _portions(self, connection: Connection, event_range: Range) -> Iterator[list[Event]]:
        """Yield the stored events of a range, which has an end, in batches, oldest first."""
        after, last = event_range.after, event_range.until or 0
        while after < last:
            end = min(after + _ROWS_AT_A_TIME, last)
            yield self._read_rows(connection, replace(event_range, after=after, until=end))
            after = end

    def _events(self, connection: Connection, rows: Sequence[Any]) -> list[Event]:
        """Return events of rows, without those whose subject was lost (in a damaged file)."""
        if any(x.subject not in self._subjects for x in rows):
            self._read_subjects(connection)
        if new_runs := {x.run for x in rows if x.run} - self._runs.keys():
            query = select(runs.c.number, runs.c.id).where(runs.c.number.in_(new_runs))
            self._runs |= {x.number: x.id for x in connection.execute(query)}
        return [
            event_of(x, subject, self._runs.get(x.run, ""), self.project)
            for x in rows
            if (subject := self._subjects.get(x.subject))
        ]

    def _implied(
        self, connection: Connection, heads: Sequence[Event]
    ) -> dict[int, Sequence[tuple[Subject, str]]]:
        """Return the tools with implied events of these rows, by position."""
        implied: dict[int, Sequence[tuple[Subject, str]]] = {}
        offered: dict[Subject, list[tuple[Subject, str]]] = {}  # until a tool of the source changes
        positions = {x.position for x in heads}
        first = min(positions)
        last = max(x.position + (x.followed_by or 0) for x in heads)
        fold = self.fold_at(connection, first - 1)
        event_range = Range(after=first - 1, until=last, changes=INVENTORY)
        listed = [x for some in self._portions(connection, event_range) for x in some]
        for number, event in enumerate(listed):
            source = event.subject.anchor
            if event.position in positions:
                if source not in offered:
                    offered[source] = fold.offered(source)
                tools: Sequence[tuple[Subject, str]] = offered[source]
                if event.followed_by:
                    behind = islice(listed, number + 1, number + 1 + event.followed_by)
                    others = {x.subject for x in behind}
                    tools = [x for x in tools if x[0] not in others]
                implied[event.position] = tools
            elif event.subject.tool is not None:
                offered.pop(source, None)
            fold.take([event])
        return implied


def _restrict_row(row: LogRow, event_range: Range) -> LogRow:
    """Return the part of a row that lies in a range."""
    event, tools, is_in_range = row.event, row.tools, True
    if event_range.about is not None and event_range.about.tool is not None:
        is_in_range = event.subject == event_range.about
        tools = [x for x in tools if x[0] == event_range.about]
    if event_range.changes:
        is_in_range = is_in_range and event.change in event_range.changes
        tools = tools if tools and row.implied_change in event_range.changes else ()
    if event_range.text:
        is_in_range = is_in_range and has_text(event, event_range.text)
        implied = zip(tools, replace(row, tools=tools).implied(), strict=True) if tools else ()
        tools = [x for x, y in implied if has_text(y, event_range.text)]
    return replace(row, tools=tools, is_in_range=is_in_range)
