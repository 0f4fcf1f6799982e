"""What was asked for when tools were used: kept by toolbelt and tool, in bounds, and forgotten."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, select, update

from .database import insert_rows
from .event import Forgotten, Subject, subject_of
from .history import History
from .tables import encode_text, encode_time, events, intents, subjects

MOST_TEXTS = 20
"""Of one tool in one toolbelt: more hardly find it better."""

# Of one toolbelt. So many are read and searched in a moment, and are some hundred kilobytes.
_MOST_OF_TOOLBELT = 4_000
# What nobody asked for in so long is not kept: it counts next to nothing by then.
_KEPT = timedelta(days=180)
_DIGEST_CHARS = 32


@dataclass(frozen=True, slots=True)
class KeptIntent:
    """What somebody asked for when a tool was used: how often, first (`learned`) and last."""

    tool: Subject
    toolbelt: str
    words: str
    uses: int
    learned: datetime
    used: datetime
    intent: str


@dataclass(frozen=True, slots=True)
class Which:
    """Some of them: of one toolbelt, of one server (as people call it), of tools of one name."""

    toolbelt: str | None = None
    source: str | None = None
    tool: str | None = None


def intents_in(history: History, which: Which) -> list[KeptIntent]:
    """By toolbelt and tool, those used last first."""
    with history.reading() as connection:
        return found_in(connection, history.project_id, which)


def found_in(connection: Connection, project: int, which: Which) -> list[KeptIntent]:
    """As `intents_in`, within a transaction."""
    query = select(intents).where(*_of_toolbelt(project, which.toolbelt))
    if which.tool is not None:
        query = query.where(intents.c.tool == which.tool)
    ordered = query.order_by(
        intents.c.toolbelt, intents.c.source_name, intents.c.tool, intents.c.used.desc(),
        intents.c.intent,
    )  # fmt: skip
    found = map(_kept, connection.execute(ordered))
    return [x for x in found if which.source in (None, x.tool.shown_source)]


def state_of(history: History, toolbelt: str) -> tuple[int, datetime | None]:
    """What is another one when something was learned or forgotten."""
    columns = func.count(), func.max(intents.c.used)
    with history.reading() as connection:
        mine = select(*columns).where(*_of_toolbelt(history.project_id, toolbelt))
        count, last = connection.execute(mine).one()
    return count, last


def keep(
    connection: Connection, project: int, tool: Subject, toolbelt: str, words: str, time: datetime
) -> str:
    """Remember that a tool was used for this; the id of the words."""
    mine = (*_of_toolbelt(project, toolbelt), intents.c.subject == tool.digest)
    columns = (intents.c.intent, intents.c.words, intents.c.uses, intents.c.used)
    newest = select(*columns).where(*mine).order_by(intents.c.used.desc(), intents.c.intent)
    rows = connection.execute(newest).all()
    same = next((x for x in rows if x.words.casefold() == words.casefold()), None)
    if same is not None:
        times = {"uses": same.uses + 1, "used": max(time, same.used)}
        connection.execute(update(intents).where(*mine, _is(same.intent)).values(times))
        return same.intent
    for row in rows[MOST_TEXTS - 1 :]:
        connection.execute(delete(intents).where(*mine, _is(row.intent)))
    row = _row(project, tool, toolbelt, words, time)
    insert_rows(connection, intents, [row], are_new=True)
    return row[3]


def keep_bounds(connection: Connection, project: int, toolbelts: Iterable[str]) -> None:
    """Let go of what is old, and of the oldest where these toolbelts have too many."""
    old = datetime.now(UTC) - _KEPT
    connection.execute(delete(intents).where(intents.c.project == project, intents.c.used < old))
    for toolbelt in set(toolbelts):
        mine = _of_toolbelt(project, toolbelt)
        by_use = select(intents.c.used).where(*mine).order_by(intents.c.used.desc())
        last = connection.execute(by_use.offset(_MOST_OF_TOOLBELT).limit(1)).scalar()
        if last is not None:
            connection.execute(delete(intents).where(*mine, intents.c.used <= last))


def forget(connection: Connection, project: int, which: Which) -> list[KeptIntent]:
    """Remove them; what was removed."""
    found = found_in(connection, project, which)
    for one in found:
        mine = (*_of_toolbelt(project, one.toolbelt), intents.c.subject == one.tool.digest)
        connection.execute(delete(intents).where(*mine, _is(one.intent)))
    return found


def forgotten_since(
    connection: Connection, project: int, what: Forgotten, time: datetime
) -> dict[tuple[str, str], datetime]:
    """When such of a tool (by its digest) and a toolbelt was forgotten, if since this time."""
    columns = select(subjects.c.digest, events.c.payload, events.c.time)
    mine = columns.join(subjects, subjects.c.id == events.c.subject).where(
        events.c.project == project, events.c.time >= time, events.c.change == "forgotten"
    )
    found = connection.execute(mine.order_by(events.c.position)).all()
    return {(x.digest, x.payload["toolbelt"]): x.time for x in found if what in x.payload}


def _of_toolbelt(project: int, toolbelt: str | None) -> tuple[ColumnElement[bool], ...]:
    mine = intents.c.project == project
    return (mine,) if toolbelt is None else (mine, intents.c.scope == scope_of(toolbelt))


def _is(intent: str) -> ColumnElement[bool]:
    return intents.c.intent == intent


def scope_of(toolbelt: str) -> str:
    """By which rows of a toolbelt are found. Names may be longer than a database can index."""
    data = toolbelt.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]


def _row(project: int, tool: Subject, toolbelt: str, words: str, time: datetime) -> tuple[Any, ...]:
    """In the order of the columns. The id says nothing of the words, as a digest of a few would."""
    return (
        project,
        scope_of(toolbelt),
        tool.digest,
        uuid.uuid4().hex,
        encode_text(toolbelt),
        tool.kind.name,
        encode_text(tool.source),
        encode_text(tool.tool or ""),
        encode_text(words),
        1,
        encode_time(time),
        encode_time(time),
    )


def _kept(row: Any) -> KeptIntent:
    subject = subject_of(row.kind, row.source_name, row.tool)
    return KeptIntent(subject, row.toolbelt, row.words, row.uses, row.learned, row.used, row.intent)
