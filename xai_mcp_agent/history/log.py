"""The event log: append and read.

Many events of one moment may be one row (see `packing`); whoever reads is given each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import merge
from itertools import groupby, islice
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    and_,
    bindparam,
    func,
    or_,
    select,
)

from ..core.json import JsonObject
from .callers import KnownCallers, caller_numbers
from .database import insert_rows
from .event import (
    Change,
    Event,
    Links,
    Project,
    Subject,
    links_of,
    usual_kind,
    usual_payload,
    usual_teller,
)
from .filtering import conditions, has_text, is_failure
from .inventories import inventory_of, keep_inventory
from .kept_definitions import definitions_of
from .kept_events import (
    is_told_by_definition,
    links_in,
    names_of_caller,
    payload_of,
    row_of,
    subject_of,
    with_definition,
)
from .packing import Bundle, bundle_from, bundled, grouped
from .runs import run_numbers
from .subjects import NONE_KNOWN, numbered, numbers_of
from .tables import (
    definitions,
    projects,
    runs,
    subjects,
)
from .tables import log_rows as rows

_ROWS_AT_A_TIME = 2000
_DIGESTS_AT_A_TIME = 500  # databases take only so many values in one statement
_MOST_DEFINITIONS = 20_000  # that are known while events are read, some ten megabytes
_NO_LINKS, _NO_TOOLS = Links(), Bundle()
_CALLED: Change = "called"
_BEGUN: Change = "begun"
# Made once: they are asked in every transaction.
_PROJECT = select(projects).where(projects.c.id == bindparam("project"))
_NEWEST = select(func.max(rows.c.position)).where(rows.c.project == bindparam("project"))

_COLUMNS = (
    "position", "time", "change", "span", "seconds", "payload", "definition", "reason",
    "inventory", "told", "links", "event_kind", "source", "caller",
)  # fmt: skip
_IS_SUBJECT = and_(subjects.c.project == rows.c.project, subjects.c.id == rows.c.subject)
_IS_RUN = and_(runs.c.project == rows.c.project, runs.c.number == rows.c.run)

LARGEST_POSITION = 2**63 - 1
"""Databases compare with no larger number."""


@dataclass(frozen=True, slots=True)
class Range:
    """Which events are wanted: all of the project by default.

    `subject` is one source or tool, `anchor` a source with all its tools. `after` and `until` are
    positions, the first not included; `since` is a time, and what was written after the first event
    of then counts, whatever its clock said. `changes` are the kinds that are wanted,
    if not all. The newest come first if `newest_first`. Only failures with `failed`, only what an
    `agent` called, only what has a `text` in it.
    """

    subject: Subject | None = None
    anchor: Subject | None = None
    after: int = 0
    until: int | None = None
    since: datetime | None = None
    changes: tuple[Change, ...] = ()
    limit: int | None = None
    newest_first: bool = False
    failed: bool = False
    agent: str | None = None
    text: str = ""

    @property
    def is_filter(self) -> bool:
        """Whether of the rows that it has some may be of no use."""
        return bool(self.changes or self.text)

    def fits(self, event: Event) -> bool:
        """Whether an event is wanted, of which the row may be."""
        if self.failed and not is_failure(event):
            return False
        if self.agent is not None and event.payload.get("agent") != self.agent:
            return False
        return not self.text or has_text(event, self.text)


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the log: an event, and what it tells of tools beside it.

    `numbers` are those of the bundle that are within the range; the event itself `is_within` too,
    unless the range begins behind it.
    """

    event: Event
    tools: Bundle
    numbers: range
    is_within: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether the range has all of it."""
        return self.is_within and len(self.numbers) == len(self.tools)

    @property
    def changes(self) -> set[Change]:
        """What it tells of tools, as far as that is within the range."""
        if self.is_whole:
            return self.tools.changes
        return {self.tools[x].change for x in self.numbers}

    def event_of(self, number: int, whose: Project | None = None) -> Event:
        """What it tells of one tool, but for what its definition tells; with links if `whose`."""
        head, told = self.event, self.tools[number]
        subject = subject_of(head.subject.kind.name, head.subject.source, told.tool)
        links = _NO_LINKS if whose is None else links_of(told.change, subject, whose)
        payload = usual_payload(told.change)
        return Event(
            subject, told.change, head.time, payload, links, told.definition, told.reason,
            head.run, head.position + 1 + number,
        )  # fmt: skip


def append(
    connection: Connection,
    project: int,
    new: Iterable[Event],
    bodies: Mapping[str, str],
    definition_of: Callable[[Subject], str] = lambda _: "",
    known: Mapping[Subject, int] = NONE_KNOWN,
) -> tuple[int, int]:
    """Add events at the end; the position of the last one, and how many rows they are.

    Within a transaction for writing, which keeps others from taking the same positions; where that
    does not hold, as on some network disks, it fails, and nothing is kept of it. `bodies` are
    definitions as JSON text by their digests; one that is known already is not written again.
    `definition_of` tells what was known of a tool until then, by its digest; `known` are numbers.
    """
    whose = project_named(connection, project)
    groups = list(grouped(new, whose))
    numbers = numbered(connection, project, dict.fromkeys(x.subject for x, _ in groups), known)
    known_runs = run_numbers(connection, project, {x.run: x.time for x, _ in groups})
    known_callers = caller_numbers(connection, project, {names_of_caller(x) for x, _ in groups})
    last, made = last_position(connection, project), list[tuple[Any, ...]]()
    for head, tools in groups:
        bundle = bundled(head, tools, lambda x: definition_of(x.subject))
        if bundle is not None and bundle.inventory is not None:
            near = _last_inventory(connection, project, numbers[head.subject])
            keep_inventory(connection, project, bundle.inventory, near)
        last += 1 + len(tools)
        row = row_of(project, last, head, bundle, numbers, known_runs, whose)
        made.append((*row, known_callers.get(names_of_caller(head))))
    insert_rows(connection, definitions, sorted(bodies.items()))
    insert_rows(connection, rows, made, are_new=True)
    return last, len(made)


def project_named(connection: Connection, project: int) -> Project:
    """The project that has this number."""
    row = connection.execute(_PROJECT, {"project": project}).one()
    return Project(row.name, row.repo_hash)


def last_position(connection: Connection, project: int) -> int:
    """The position of the newest event; 0 before the first."""
    return connection.execute(_NEWEST, {"project": project}).scalar() or 0


def position_at(connection: Connection, project: int, moment: datetime) -> int:
    """The position of the newest event that is not later than this; 0 before the first.

    The one written last, and not the one of the latest time: clocks are set back.
    """
    is_by_then = rows.c.project == project, rows.c.time <= moment
    newest = select(func.max(rows.c.position)).where(*is_by_then)
    return connection.execute(newest).scalar() or 0


def calls_at(
    connection: Connection, project: int, times: Collection[datetime]
) -> set[tuple[str, datetime]]:
    """Of which tools, by their digests, there are calls at these times."""
    if not times:
        return set()
    query = select(subjects.c.digest, rows.c.time).join(subjects, _IS_SUBJECT)
    within = rows.c.time.between(min(times), max(times)), rows.c.change.in_((_CALLED, _BEGUN))
    found = connection.execute(query.where(rows.c.project == project, *within))
    return {(digest, time) for digest, time in found}


def read(connection: Connection, project: int, wanted: Range) -> Iterator[Event]:
    """The events of a range, in the order they happened or the other way round."""
    whose, known = project_named(connection, project), dict[str, JsonObject]()
    found = (
        entry.event if number < 0 else entry.event_of(number, whose)
        for entry in _entries(connection, project, wanted, whose)
        for number in _numbers(entry, wanted)
    )  # fmt: skip
    found = islice(found, wanted.limit)
    while some := list(islice(found, _DIGESTS_AT_A_TIME)):
        digests = {x.definition or "" for x in some if is_told_by_definition(x)}
        known = known if len(known) < _MOST_DEFINITIONS else {}
        known |= definitions_of(connection, digests - known.keys())
        yield from (with_definition(x, known) for x in some)


@dataclass(frozen=True, slots=True)
class Telling:
    """What a row tells that is in a range: by number, -1 is its own event."""

    entry: Entry
    numbers: Sequence[int]

    @property
    def is_whole(self) -> bool:
        """Whether it tells all that the row does."""
        return len(self.numbers) == 1 + len(self.entry.tools)

    def groups(self, most: int) -> Iterator[tuple[list[Event], int]]:
        """Events that are alike, at most so many of each kind, and how many there are.

        They come without links, and without what definitions tell.
        """
        entry, numbers = self.entry, self.numbers
        if -1 in numbers:
            yield [entry.event], 1
        if self.is_whole and len(numbers) > 1:
            special = entry.tools.special()
            those = set(special)
            usual = (x for x in range(len(entry.tools)) if x not in those)
            if count := len(entry.tools) - len(those):
                yield [entry.event_of(x) for x in islice(usual, most)], count
        else:
            special = [x for x in numbers if x >= 0]
        for _, group in groupby(sorted(special, key=self._kind), self._kind):
            alike = list(group)
            yield [entry.event_of(x) for x in alike[:most]], len(alike)

    def _kind(self, number: int) -> tuple[str, str]:
        told = self.entry.tools[number]
        return told.change, told.reason


def tellings(connection: Connection, project: int, wanted: Range) -> Iterator[Telling]:
    """The rows of which something is in a range; its limit is for rows."""
    all_entries = _entries(connection, project, wanted, None)
    found = (Telling(x, _all_or_some(x, wanted)) for x in all_entries)
    return islice((x for x in found if x.numbers), wanted.limit)


def entries(connection: Connection, project: int, wanted: Range) -> Iterator[Entry]:
    """The rows of which something is in a range. All but its `subject` and its `limit` count.

    Their events come without links, and without what definitions tell.
    """
    return _entries(connection, project, replace(wanted, subject=None, limit=None), None)


def links(
    connection: Connection, project: int, until: int | None = None
) -> Iterator[tuple[Subject, Links, int]]:
    """What the events that tell facts link each subject to, and how often they do so."""
    whose = project_named(connection, project)
    alike = (
        subjects.c.kind, subjects.c.source_name, subjects.c.tool, rows.c.change, rows.c.links,
        rows.c.event_kind, rows.c.inventory, rows.c.told, rows.c.reason,
    )  # fmt: skip
    first = rows.c.position - rows.c.span + 1
    query = select(*alike, func.count()).join(subjects, _IS_SUBJECT).group_by(*alike)
    query = query.where(rows.c.project == project, rows.c.change != _CALLED)
    if until is not None:
        query = query.where(first <= min(until, LARGEST_POSITION))
    for *names, change, of_event, kind, inventory, told, reason, count in connection.execute(query):
        if (kind or usual_kind(change)) != "fact":
            continue
        subject = subject_of(*names)
        yield subject, links_in(of_event, change, subject, whose), count
        bundle = _bundle(connection, project, inventory, told, reason)
        for number in range(len(bundle)):
            tool = subject_of(*names[:2], bundle[number].tool)
            yield tool, links_of(bundle[number].change, tool, whose), count


def _last_inventory(connection: Connection, project: int, source: int) -> str | None:
    """That of the newest row of a source that has one."""
    mine = rows.c.project == project, rows.c.subject == source, rows.c.inventory.is_not(None)
    query = select(rows.c.inventory).where(*mine).order_by(rows.c.position.desc()).limit(1)
    return connection.execute(query).scalar()


def _entries(
    connection: Connection, project: int, wanted: Range, whose: Project | None
) -> Iterator[Entry]:
    """With the links where `whose` is given."""
    known_callers = KnownCallers(connection, project)
    for row in _rows(connection, project, wanted):
        event = _event(row, whose, known_callers)
        bundle = _bundle(connection, project, row.inventory, row.told, row.reason)
        first, end = event.position, LARGEST_POSITION if wanted.until is None else wanted.until
        numbers = range(max(0, wanted.after - first), max(0, min(len(bundle), end - first)))
        is_within = wanted.after < first <= end
        if is_within or numbers:  # else the range ends before it
            yield Entry(event, bundle, numbers, is_within)


def _event(row: Any, whose: Project | None, known_callers: KnownCallers) -> Event:
    subject, change = subject_of(row.kind, row.source_name, row.tool), row.change
    payload = payload_of(change, row.seconds, row.payload)
    return Event(
        subject=subject,
        change=change,
        time=row.time,
        payload=payload if row.caller is None else payload | known_callers[row.caller],
        links=_NO_LINKS if whose is None else links_in(row.links, change, subject, whose),
        definition=row.definition,
        reason=row.reason or "",
        run=row.run_id or "",
        position=row.position - row.span + 1,
        event_kind=row.event_kind or usual_kind(change),
        source=row.source or usual_teller(change),
    )


def _bundle(
    connection: Connection,
    project: int,
    inventory: str | None,
    told: JsonObject | None,
    reason: str | None,
) -> Bundle:
    if told is None:
        return _NO_TOOLS
    listed = None if inventory is None else inventory_of(connection, project, inventory)
    return bundle_from(told, listed, reason or "")


def _all_or_some(entry: Entry, wanted: Range) -> Sequence[int]:
    """As `_numbers`, in order; a range where it can be, which takes no room."""
    is_filter = wanted.subject or wanted.changes or wanted.failed or wanted.text
    if is_filter or wanted.agent is not None:
        return sorted(_numbers(entry, wanted))
    return range(-1 if entry.is_within else entry.numbers.start, entry.numbers.stop)


def _numbers(entry: Entry, wanted: Range) -> Iterable[int]:
    """Which of it are wanted, by number; -1 is its own event."""
    subject, head = wanted.subject, entry.event
    found = list[int]()
    is_told = not wanted.changes or head.change in wanted.changes
    if entry.is_within and is_told and subject in (None, head.subject) and wanted.fits(head):
        found.append(-1)
    if subject is None or (subject.tool is not None and head.subject.tool is None):
        numbers = entry.tools.numbers(subject and subject.tool, wanted.changes)
        within = (x for x in numbers if x in entry.numbers)
        is_all = not (wanted.failed or wanted.text or wanted.agent is not None)
        found += (x for x in within if is_all or wanted.fits(entry.event_of(x)))
    return reversed(found) if wanted.newest_first else found


def _rows(connection: Connection, project: int, wanted: Range) -> Iterator[Any]:
    """What may have to do with a range: of one tool, also what is told of all of its source."""
    order = rows.c.position.desc() if wanted.newest_first else rows.c.position
    most = None if wanted.limit is None else min(wanted.limit, LARGEST_POSITION)
    query = _query(project, wanted).order_by(order)
    if wanted.subject is None and wanted.anchor is None:
        # Of some kinds: a row may tell of tools, and nothing of these.
        yield from _streamed(connection, query.limit(None if wanted.is_filter else most))
        return
    both = {x for x in (wanted.subject, wanted.anchor) if x}
    numbers = numbers_of(connection, project, both | {x.anchor for x in both})
    if wanted.anchor is not None:
        query = query.where(rows.c.anchor == numbers.get(wanted.anchor, 0))
    if wanted.subject is None:
        yield from _streamed(connection, query.limit(None if wanted.is_filter else most))
        return
    own = query.where(rows.c.subject == numbers.get(wanted.subject, 0))
    anchor = numbers.get(wanted.subject.anchor, 0)
    told = query.where(rows.c.subject == anchor, rows.c.span > 1)
    found = [_streamed(connection, own.limit(None if wanted.is_filter else most))]
    if wanted.subject.tool is not None:
        found.append(_streamed(connection, told))
    yield from merge(*found, key=lambda x: x.position, reverse=wanted.newest_first)


def _streamed(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    # An option of the query: as one of the connection it would be that of all that follows.
    with connection.execute(query.execution_options(yield_per=_ROWS_AT_A_TIME)) as found:
        yield from found


def _query(project: int, wanted: Range) -> Select[Any]:
    columns = [rows.c[x] for x in _COLUMNS]
    names = (subjects.c.kind, subjects.c.source_name, subjects.c.tool)
    query = select(*columns, *names, runs.c.id.label("run_id")).join(subjects, _IS_SUBJECT)
    query = query.outerjoin(runs, _IS_RUN).where(rows.c.project == project)
    # The position of a row is that of its last event.
    query = query.where(rows.c.position > min(wanted.after, LARGEST_POSITION))
    if wanted.until is not None:
        until = min(wanted.until, LARGEST_POSITION)
        after = select(func.min(rows.c.position)).where(
            rows.c.project == project, rows.c.position >= until
        )
        query = query.where(rows.c.position <= func.coalesce(after.scalar_subquery(), until))
    query = query.where(
        *conditions(project, failed=wanted.failed, agent=wanted.agent, text=wanted.text)
    )
    if wanted.changes:
        query = query.where(or_(rows.c.change.in_(wanted.changes), rows.c.span > 1))
    if wanted.since is not None:
        is_since = rows.c.project == project, rows.c.time >= wanted.since
        # From the first one on: where a clock was set back, what came then has an earlier time.
        query = query.where(
            rows.c.position >= select(func.min(rows.c.position)).where(*is_since).scalar_subquery()
        )
    return query
