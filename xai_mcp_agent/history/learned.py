"""What runs that went well teach: which tools with which sources, and what results look like.

Kept by toolbelt, beside the log and in bounds, so that it can be forgotten. Names, paths and kinds
of values, how often and when; of requests the words, where these are kept at all.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Table, case, delete, func, select, update

from .database import insert_rows
from .event import Subject, subject_of
from .history import History
from .intents import Which, scope_of
from .learned_calls import KeptCall, calls_as_json, checked_calls
from .tables import (
    LEARNED,
    Unreadable,
    encode_text,
    encode_time,
    facts,
    learned_runs,
    observed_shapes,
)

T = TypeVar("T")

MOST_SHAPES = 8
"""Of one tool in one toolbelt, those seen last."""

_MOST_OF_TOOLBELT, _MOST_OF_PROJECT = 2_000, 5_000  # runs that differ
_MOST_SHAPES_OF_PROJECT = 4_000
# Of what is too much so much more goes: whoever knows it has to read all anew then.
_ROOM = 0.9
_MOST_CHARS = 8_000  # of one run, and of one shape; a longer one is not kept
# As with what was asked for: people's work changes within months.
_KEPT = timedelta(days=180)
_DIGEST_CHARS = 32
_IS_REVISION = re.compile(r"(\d{1,18})\.(\d{1,18})")
_LOST = -1  # how often something was forgotten, where that cannot be read


@dataclass(frozen=True, slots=True)
class KeptRun:
    """Calls that did what was asked for in these `words`, and how often and when they did.

    No words: they are not kept.
    """

    id: str
    toolbelt: str
    words: str
    calls: tuple[KeptCall, ...]
    times: int
    learned: datetime
    used: datetime

    @property
    def tools(self) -> frozenset[Subject]:
        """Those that it called."""
        return frozenset(x.tool for x in self.calls)


@dataclass(frozen=True, slots=True)
class KeptShape:
    """What results of a tool looked like, so many times; `shape` is JSON as `planning` has it."""

    toolbelt: str
    tool: Subject
    digest: str
    shape: Any
    times: int
    used: datetime


@dataclass(frozen=True, slots=True)
class Revision:
    """Where it stands: `number` rises with all that is learned, `forgotten` when something goes.

    That one of too many shapes of a tool was let go of changes neither.
    """

    forgotten: int = 0
    number: int = 0


NOTHING_YET = Revision()


@dataclass(frozen=True, slots=True)
class Learnings:
    """What is kept; or, if it `is_whole` not, what of it is new since some revision."""

    runs: tuple[KeptRun, ...] = ()
    shapes: tuple[KeptShape, ...] = ()
    revision: Revision = NOTHING_YET
    is_whole: bool = True


def learnings_in(
    history: History, toolbelt: str | None = None, since: Revision = NOTHING_YET
) -> Learnings:
    """What a toolbelt learned, or all did; those used last first.

    Only what is new since a revision, unless something was forgotten since.
    """
    with history.reading() as connection:
        now = _revision(connection, history.project_id)
        # A file may be another one meanwhile, or be restored from its backup.
        is_whole = since.forgotten != now.forgotten or not 0 < since.number <= now.number
        number = -1 if is_whole else since.number
        found = found_in(connection, history.project_id, Which(toolbelt), number)
        return replace(found, revision=now, is_whole=is_whole)


def learnings_of(history: History, which: Which) -> Learnings:
    """All that has to do with some tools; those used last first."""
    with history.reading() as connection:
        return found_in(connection, history.project_id, which)


def found_in(connection: Connection, project: int, which: Which, number: int = -1) -> Learnings:
    """Those that have to do with some tools, and were written after a revision's number.

    Raises:
        Unreadable: a row is not what was ever written there.
    """

    def rows(table: Table, read: Callable[[Any], T]) -> Iterable[T]:
        mine = (*_of(table, project, which.toolbelt), table.c.revision > number)
        wanted = select(table).where(*mine).order_by(table.c.used.desc())
        return map(read, connection.execute(wanted))

    runs, shapes = rows(learned_runs, _run), rows(observed_shapes, _shape)
    try:
        return Learnings(
            tuple(x for x in runs if any(_is(which, call.tool) for call in x.calls)),
            tuple(x for x in shapes if _is(which, x.tool)),
        )
    except (AttributeError, LookupError, TypeError, ValueError) as cause:
        raise Unreadable("A row is not what was written.") from cause


def keep_run(
    connection: Connection,
    project: int,
    toolbelt: str,
    words: str,
    calls: Iterable[KeptCall],
    time: datetime,
) -> None:
    """Count a run that went well; one with the same words and calls is the same."""
    text = calls_as_json(calls)
    if len(text) > _MOST_CHARS:
        return
    revision, digest = _next_revision(connection, project), _digest(text)
    mine = (*_of(learned_runs, project, toolbelt), learned_runs.c.digest == digest)
    columns = (learned_runs.c.run, learned_runs.c.words, learned_runs.c.times)
    rows = connection.execute(select(*columns).where(*mine)).all()
    same = next((x for x in rows if x.words.casefold() == words.casefold()), None)
    if same is not None:
        one = (*mine, learned_runs.c.run == same.run)
        _count_again(connection, learned_runs, one, same.times, time, revision)
        return
    moment = encode_time(time)
    row = (
        project, scope_of(toolbelt), uuid.uuid4().hex, digest, encode_text(toolbelt),
        encode_text(words), text, 1, moment, moment, revision,
    )  # fmt: skip
    insert_rows(connection, learned_runs, [row], are_new=True)


def keep_shape(
    connection: Connection, project: int, toolbelt: str, tool: Subject, text: str, time: datetime
) -> None:
    """Count a result of this shape, which is JSON; the oldest of too many goes."""
    if len(text) > _MOST_CHARS:
        return
    revision, digest = _next_revision(connection, project), _digest(text)
    mine = (*_of(observed_shapes, project, toolbelt), observed_shapes.c.subject == tool.digest)
    kept = observed_shapes.c
    newest = select(kept.digest, kept.times).where(*mine).order_by(kept.used.desc())
    rows = connection.execute(newest).all()
    if same := next((x for x in rows if x.digest == digest), None):
        one = (*mine, kept.digest == digest)
        _count_again(connection, observed_shapes, one, same.times, time, revision)
        return
    for row in rows[MOST_SHAPES - 1 :]:
        connection.execute(delete(observed_shapes).where(*mine, kept.digest == row.digest))
    row = (
        project, scope_of(toolbelt), tool.digest, digest, encode_text(toolbelt), tool.kind.name,
        encode_text(tool.source), encode_text(tool.tool or ""), text, 1,
        encode_time(time), revision,
    )  # fmt: skip
    insert_rows(connection, observed_shapes, [row], are_new=True)


def _count_again(
    connection: Connection,
    table: Table,
    one: tuple[ColumnElement[bool], ...],
    times: int,
    time: datetime,
    revision: int,
) -> None:
    used = case((table.c.used < time, encode_time(time)), else_=table.c.used)
    values = {"times": times + 1, "used": used, "revision": revision}
    connection.execute(update(table).where(*one).values(values))


def keep_bounds(connection: Connection, project: int, toolbelts: Iterable[str]) -> None:
    """Let go of what is old, and of what was not seen for longest where there is too much."""
    old, gone = datetime.now(UTC) - _KEPT, 0
    for table in (learned_runs, observed_shapes):
        is_old = (*_of(table, project, None), table.c.used < old)
        gone += connection.execute(delete(table).where(*is_old)).rowcount
    bounds = [(learned_runs, x, _MOST_OF_TOOLBELT) for x in set(toolbelts)]
    bounds += [
        (learned_runs, None, _MOST_OF_PROJECT),
        (observed_shapes, None, _MOST_SHAPES_OF_PROJECT),
    ]
    for table, toolbelt, most in bounds:
        gone += _keep_newest(connection, table, _of(table, project, toolbelt), most)
    if gone:
        _next_revision(connection, project, is_forgotten=True)


def forget(connection: Connection, project: int, which: Which) -> Learnings:
    """Remove the runs that had any of these tools, and their shapes; what was removed."""
    found = found_in(connection, project, which)
    for run in found.runs:
        mine = (*_of(learned_runs, project, run.toolbelt), learned_runs.c.run == run.id)
        connection.execute(delete(learned_runs).where(*mine))
    for one in found.shapes:
        mine = (*_of(observed_shapes, project, one.toolbelt), _same_shape(one))
        connection.execute(delete(observed_shapes).where(*mine))
    if which.source is None and which.tool is None:  # also what could not be read
        for table in (learned_runs, observed_shapes):
            connection.execute(delete(table).where(*_of(table, project, which.toolbelt)))
    if found.runs or found.shapes:
        _next_revision(connection, project, is_forgotten=True)
    return found


def forget_words(connection: Connection, project: int, which: Which) -> None:
    """Remove what was asked for in runs that had any of these tools; the runs stay."""
    found = [x for x in found_in(connection, project, which).runs if x.words]
    for run in found:
        mine = (*_of(learned_runs, project, run.toolbelt), learned_runs.c.run == run.id)
        connection.execute(update(learned_runs).where(*mine).values(words=""))
    if found:
        _next_revision(connection, project, is_forgotten=True)


def _keep_newest(
    connection: Connection, table: Table, mine: tuple[ColumnElement[bool], ...], most: int
) -> int:
    """Let go of the oldest where there are more; how many."""
    count = connection.execute(select(func.count()).select_from(table).where(*mine)).scalar_one()
    if count <= most:
        return 0
    by_use = select(table.c.used).where(*mine).order_by(table.c.used.desc())
    last = by_use.offset(int(most * _ROOM)).limit(1).scalar_subquery()
    return connection.execute(delete(table).where(*mine, table.c.used <= last)).rowcount


def _revision(connection: Connection, project: int) -> Revision:
    query = select(facts.c.value).where(facts.c.name == LEARNED.format(project))
    value = connection.execute(query).scalar()
    if (found := _IS_REVISION.fullmatch(value or "")) is not None:
        return Revision(int(found[1]), int(found[2]))
    rows = (
        connection.execute(select(func.max(x.c.revision)).where(*_of(x, project, None))).scalar()
        for x in (learned_runs, observed_shapes)
    )
    number = max(x or 0 for x in rows)
    return Revision(_LOST, number) if number or value else NOTHING_YET


def _next_revision(connection: Connection, project: int, *, is_forgotten: bool = False) -> int:
    now = _revision(connection, project)
    # Where it was lost another one than anybody knows.
    before = encode_time(datetime.now(UTC)) if now.forgotten == _LOST else now.forgotten
    number = now.number + 1
    row = (LEARNED.format(project), f"{before + is_forgotten}.{number}")
    insert_rows(connection, facts, [row], update=facts.c.value.name)
    return number


def _of(table: Table, project: int, toolbelt: str | None) -> tuple[ColumnElement[bool], ...]:
    mine = table.c.project == project
    return (mine,) if toolbelt is None else (mine, table.c.scope == scope_of(toolbelt))


def _same_shape(one: KeptShape) -> ColumnElement[bool]:
    same = observed_shapes.c.subject == one.tool.digest
    return same & (observed_shapes.c.digest == one.digest)


def _is(which: Which, tool: Subject) -> bool:
    return which.source in (None, tool.shown_source) and which.tool in (None, tool.tool)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]


def _run(row: Any) -> KeptRun:
    calls = checked_calls(row.calls)
    return KeptRun(row.run, row.toolbelt, row.words, calls, row.times, row.learned, row.used)


def _shape(row: Any) -> KeptShape:
    tool = subject_of(row.kind, row.source_name, row.tool)
    return KeptShape(row.toolbelt, tool, row.digest, row.shape, row.times, row.used)
