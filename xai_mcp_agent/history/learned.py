"""What runs that went well teach: which tools with which sources, and what results look like.

Kept by toolbelt, beside the log and in bounds, so that it can be forgotten. Names, paths and kinds
of values, how often and when; of requests the words, where these are kept at all.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, select, update

from .database import insert_rows
from .event import Subject
from .intents import Which, scope_of
from .learned_calls import KeptCall, calls_as_json, calls_from_json
from .log import subject_of
from .store import Store
from .tables import (
    facts,
    kept_moment,
    kept_words,
    learned_runs,
    observed_shapes,
)

MOST_SHAPES = 8
"""Of one tool in one toolbelt, those seen last."""

_MOST_OF_TOOLBELT, _MOST_OF_PROJECT = 2_000, 5_000  # runs that differ
_MOST_SHAPES_OF_PROJECT = 4_000
_MOST_CHARS = 8_000  # of one run, and of one shape; a longer one is not kept
# As with what was asked for: people's work changes within months.
_KEPT = timedelta(days=180)
_DIGEST_CHARS = 32
_REVISION = "learned:{}"


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
    """Where it stands: `number` rises with all that is learned, `forgotten` when something is.

    That something was let go of because it is old changes neither.
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


def revision_of(store: Store) -> Revision:
    """Where it stands now."""
    with store.reading() as connection:
        return _revision(connection, store.project_id)


def learnings_in(
    store: Store, toolbelt: str | None = None, since: Revision = NOTHING_YET
) -> Learnings:
    """What a toolbelt learned, or all did; those used last first.

    Only what is new since a revision, unless something was forgotten since.
    """
    with store.reading() as connection:
        now = _revision(connection, store.project_id)
        # A file may be another one meanwhile, or be restored from its backup.
        is_whole = since.forgotten != now.forgotten or not 0 < since.number <= now.number
        number = -1 if is_whole else since.number
        found = found_in(connection, store.project_id, Which(toolbelt), number)
        return replace(found, revision=now, is_whole=is_whole)


def learnings_of(store: Store, which: Which) -> Learnings:
    """All that has to do with some tools; those used last first."""
    with store.reading() as connection:
        return found_in(connection, store.project_id, which)


def found_in(connection: Connection, project: int, which: Which, number: int = -1) -> Learnings:
    """Those that have to do with some tools, and were written after a revision's number."""

    def rows(table: Table) -> Iterable[Any]:
        mine = (*_of(table, project, which.toolbelt), table.c.revision > number)
        return connection.execute(select(table).where(*mine).order_by(table.c.used.desc()))

    runs = (_run(x) for x in rows(learned_runs))
    shapes = (_shape(x) for x in rows(observed_shapes))
    return Learnings(
        tuple(x for x in runs if any(_is(which, call.tool) for call in x.calls)),
        tuple(x for x in shapes if _is(which, x.tool)),
    )


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
    columns = (learned_runs.c.run, learned_runs.c.words, learned_runs.c.times, learned_runs.c.used)
    rows = connection.execute(select(*columns).where(*mine)).all()
    same = next((x for x in rows if x.words.casefold() == words.casefold()), None)
    if same is not None:
        values = {"times": same.times + 1, "used": max(time, same.used), "revision": revision}
        one = (*mine, learned_runs.c.run == same.run)
        connection.execute(update(learned_runs).where(*one).values(values))
        return
    moment = kept_moment(time)
    row = (
        project, scope_of(toolbelt), uuid.uuid4().hex, digest, kept_words(toolbelt),
        kept_words(words), text, 1, moment, moment, revision,
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
    newest = select(kept.digest, kept.times, kept.used).where(*mine).order_by(kept.used.desc())
    rows = connection.execute(newest).all()
    if same := next((x for x in rows if x.digest == digest), None):
        values = {"times": same.times + 1, "used": max(time, same.used), "revision": revision}
        one = (*mine, kept.digest == digest)
        connection.execute(update(observed_shapes).where(*one).values(values))
        return
    for row in rows[MOST_SHAPES - 1 :]:
        connection.execute(delete(observed_shapes).where(*mine, kept.digest == row.digest))
    row = (
        project, scope_of(toolbelt), tool.digest, digest, kept_words(toolbelt), tool.kind.name,
        kept_words(tool.source), kept_words(tool.tool or ""), text, 1, kept_moment(time), revision,
    )  # fmt: skip
    insert_rows(connection, observed_shapes, [row], are_new=True)


def keep_bounds(connection: Connection, project: int, toolbelts: Iterable[str]) -> None:
    """Let go of what is old, and of what was not seen for longest where there is too much."""
    old = datetime.now(UTC) - _KEPT
    for table in (learned_runs, observed_shapes):
        connection.execute(delete(table).where(table.c.project == project, table.c.used < old))
    for toolbelt in set(toolbelts):
        of_toolbelt = _of(learned_runs, project, toolbelt)
        _keep_newest(connection, learned_runs, of_toolbelt, _MOST_OF_TOOLBELT)
    _keep_newest(connection, learned_runs, _of(learned_runs, project, None), _MOST_OF_PROJECT)
    of_shapes = _of(observed_shapes, project, None)
    _keep_newest(connection, observed_shapes, of_shapes, _MOST_SHAPES_OF_PROJECT)


def forget(connection: Connection, project: int, which: Which) -> Learnings:
    """Remove the runs that had any of these tools, and their shapes; what was removed."""
    found = found_in(connection, project, which)
    for run in found.runs:
        mine = (*_of(learned_runs, project, run.toolbelt), learned_runs.c.run == run.id)
        connection.execute(delete(learned_runs).where(*mine))
    for one in found.shapes:
        mine = (*_of(observed_shapes, project, one.toolbelt), _same_shape(one))
        connection.execute(delete(observed_shapes).where(*mine))
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
) -> None:
    by_use = select(table.c.used).where(*mine).order_by(table.c.used.desc())
    last = connection.execute(by_use.offset(most).limit(1)).scalar()
    if last is not None:
        connection.execute(delete(table).where(*mine, table.c.used <= last))


def _revision(connection: Connection, project: int) -> Revision:
    query = select(facts.c.value).where(facts.c.name == _REVISION.format(project))
    value = connection.execute(query).scalar() or "0.0"
    forgotten, _, number = value.partition(".")
    return Revision(int(forgotten), int(number))


def _next_revision(connection: Connection, project: int, *, is_forgotten: bool = False) -> int:
    now = _revision(connection, project)
    number = now.number + 1
    row = (_REVISION.format(project), f"{now.forgotten + is_forgotten}.{number}")
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
    calls = calls_from_json(row.calls)
    return KeptRun(row.run, row.toolbelt, row.words, calls, row.times, row.learned, row.used)


def _shape(row: Any) -> KeptShape:
    tool = subject_of(row.kind, row.source_name, row.tool)
    return KeptShape(row.toolbelt, tool, row.digest, row.shape, row.times, row.used)
