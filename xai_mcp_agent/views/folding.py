"""Sessions without changes: connected, listed as before, closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..history.event import Event
from ..history.records import is_usual_end

if TYPE_CHECKING:
    from ..history.log import LogRow

_CLOSINGS = ("disconnected", "left")


@dataclass(frozen=True)
class Session:
    """Uneventful session of a source."""

    first: Event
    last: Event


def fold_sessions(log: Iterable[LogRow]) -> Iterator[LogRow | Session]:
    """Yield the rows, oldest first, with each uneventful session in place of its last row."""
    rows = list(log)
    begun: dict[tuple[object, str], list[int]] = {}
    sessions, inside = dict[int, Session](), set[int]()
    for number, row in enumerate(rows):
        event = row.event
        of = (event.subject.anchor, event.run)
        if _is_as_before(row):
            begun.setdefault(of, []).append(number)
            continue
        session = begun.pop(of, [])
        if session and _is_usual_end(row) and rows[session[0]].event.change == "reconnected":
            inside.update(session)
            sessions[number] = Session(rows[session[0]].event, event)
    for number, row in enumerate(rows):
        if number not in inside:
            yield sessions.get(number, row)


def _is_as_before(row: LogRow) -> bool:
    """Return whether a source is back, or listed again; a change would be a row of its own."""
    event = row.event
    if event.subject.tool is not None or event.change not in ("reconnected", "refreshed"):
        return False
    is_news = any(x == "transport" or x.endswith("_name") for x in event.payload)
    return row.is_in_range and not is_news and not event.followed_by


def _is_usual_end(row: LogRow) -> bool:
    return row.is_in_range and row.event.change in _CLOSINGS and is_usual_end(row.event.reason)
