"""The sources and tools that a store knows, by number: the log names them in every row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, exists, func, select

from ..core.tools import kind_named
from .database import insert_rows
from .event import Subject
from .tables import kept_words, log_rows, names, subjects

NONE_KNOWN: Mapping[Subject, int] = {}
_AT_ONCE = 500  # databases take only so many values in one statement


def numbers_of(
    connection: Connection, project: int, wanted: Iterable[Subject]
) -> dict[Subject, int]:
    """The numbers of these, as far as they have any."""
    by_digest = {x.digest: x for x in wanted}
    found: dict[Subject, int] = {}
    for some in _portions(list(by_digest)):
        mine = subjects.c.project == project, subjects.c.digest.in_(some)
        for number, digest in connection.execute(
            select(subjects.c.id, subjects.c.digest).where(*mine)
        ):
            found[by_digest[digest]] = number
    return found


def numbered(
    connection: Connection,
    project: int,
    wanted: Iterable[Subject],
    known: Mapping[Subject, int] = NONE_KNOWN,
) -> dict[Subject, int]:
    """The numbers of these and of their sources; each gets one. In a transaction for writing.

    Those that are `known` from the same transaction are not looked up.
    """
    all_of_them = {y: None for x in wanted for y in (x.anchor, x)}
    found = {x: known[x] for x in all_of_them if x in known}
    found |= numbers_of(connection, project, (x for x in all_of_them if x not in found))
    new = [x for x in all_of_them if x not in found]
    if new:
        first = _first_free(connection, project)
        found |= {subject: number for number, subject in enumerate(new, first)}
        rows = [row_of(project, found, subject, None) for subject in new]
        insert_rows(connection, subjects, rows, are_new=True)
        insert_rows(connection, names, ((*row[:2], *row[4:7]) for row in rows))
    return found


def row_of(
    project: int, numbers: dict[Subject, int], subject: Subject, record: str | None
) -> tuple[Any, ...]:
    """In the order of the columns."""
    return (
        project,
        numbers[subject],
        subject.digest,
        numbers[subject.anchor],
        subject.kind.name,
        kept_words(subject.source),
        None if subject.tool is None else kept_words(subject.tool),
        record,
    )


def restore_names(connection: Connection) -> None:
    """Have subjects again that were lost, as by a damaged file: without their records."""
    of_it = subjects.c.project == names.c.project, subjects.c.id == names.c.id
    lost = select(names).where(~exists().where(*of_it))
    found = connection.execute(lost).all()
    for project in {x.project for x in found}:
        mine = {_subject(x): x.id for x in found if x.project == project}
        known = numbers_of(connection, project, [x.anchor for x in mine])
        numbers = known | mine
        rows = (row_of(project, numbers, x, None) for x in mine if x.anchor in numbers)
        insert_rows(connection, subjects, rows)


def _subject(row: Any) -> Subject:
    return Subject(kind_named(row.kind), row.source_name, row.tool)


def _first_free(connection: Connection, project: int) -> int:
    """None of a subject that was lost, as by a damaged file, and of which the log still tells."""
    known = select(func.max(subjects.c.id)).where(subjects.c.project == project)
    named = select(func.max(names.c.id)).where(names.c.project == project)
    told = select(func.max(log_rows.c.subject)).where(log_rows.c.project == project)
    return max(connection.execute(x).scalar() or 0 for x in (known, named, told)) + 1


def _portions(values: Sequence[str]) -> Iterator[Sequence[str]]:
    return (values[n : n + _AT_ONCE] for n in range(0, len(values), _AT_ONCE))
