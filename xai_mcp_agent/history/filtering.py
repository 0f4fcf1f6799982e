"""Which events somebody looks for: failures, what an agent did, what has a text in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from sqlalchemy import ColumnElement, Text, and_, func, or_, select, type_coerce

from .event import Change, Event
from .tables import callers, subjects
from .tables import log_rows as rows

_kept = type_coerce(rows.c.payload, Text)
IS_FAILED = or_(
    _kept.like('{"error":%'), and_(rows.c.seconds.is_(None), _kept.like('{"status":"error"%'))
)
"""Whether a row of a call tells that it failed. The error is the first key of what is kept of it,
so that no text in it can be taken for one."""

_FAILURES: tuple[Change, ...] = ("failed", "refused")
_OF_DEFINITIONS = ("description", "parameters")  # told by `diff`
_ESCAPED = frozenset('"\\%_')  # in JSON, or in a pattern


def is_failure(event: Event) -> bool:
    """Whether it tells that a call failed or was refused, or that a server could not be used."""
    return event.change in _FAILURES or (event.change == "called" and "error" in event.payload)


def has_text(event: Event, text: str) -> bool:
    """Whether what is told of it has this text in it, in capitals or not."""
    wanted = text.casefold()
    return any(wanted in x.casefold() for x in _said(event))


def conditions(
    project: int, *, failed: bool = False, agent: str | None = None, text: str = ""
) -> Iterator[ColumnElement[bool]]:
    """What rows have to fulfil; with a text some fulfil it of which nothing has the text."""
    if failed:
        is_call = and_(rows.c.change == "called", IS_FAILED)
        yield or_(rows.c.change.in_(_FAILURES), is_call)
    if agent is not None:
        mine = callers.c.project == project, callers.c.agent == agent
        yield rows.c.caller.in_(select(callers.c.id).where(*mine))
    if text.isascii() and text.isprintable() and _ESCAPED.isdisjoint(text):
        yield _may_have(project, text.lower())


def _said(event: Event) -> Iterator[str]:
    subject = event.subject
    yield subject.shown_source if subject.tool is None else f"{subject.shown_source}.{subject.tool}"
    yield event.change
    yield event.reason
    told = (x for key, x in event.payload.items() if key not in _OF_DEFINITIONS)
    yield from _texts(told)


def _texts(values: Iterable[Any]) -> Iterator[str]:
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            waiting += cast("list[Any]", value)
        elif isinstance(value, str):
            yield value


def _may_have(project: int, text: str) -> ColumnElement[bool]:
    """Rows that tell of several tools may always: they are looked through one by one."""
    name = subjects.c.source_name + "." + func.coalesce(subjects.c.tool, "")
    named = or_(subjects.c.source_name == "", _has(name, text))  # those have names of ours
    whose = select(subjects.c.id).where(subjects.c.project == project, named)
    made = select(callers.c.id).where(callers.c.project == project, _has(callers.c.names, text))
    own = (_has(x, text) for x in (rows.c.payload, rows.c.reason, rows.c.change))
    return or_(rows.c.span > 1, rows.c.subject.in_(whose), rows.c.caller.in_(made), *own)


def _has(column: Any, text: str) -> ColumnElement[bool]:
    return func.lower(type_coerce(column, Text)).contains(text)
