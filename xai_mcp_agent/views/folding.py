"""Sessions in which nothing happened, told together: connected, listed as before, closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from ..history.records import is_usual_end
from .times import day_text

if TYPE_CHECKING:
    from ..history.log import LogRow

_CLOSINGS = ("disconnected", "left")


@dataclass(frozen=True)
class FoldedSessions:
    """So many sessions of these sources, one after another."""

    time: datetime
    until: datetime
    sources: tuple[str, ...]
    sessions: int = 1


def folded(found: Iterable[LogRow]) -> Iterator[LogRow | FoldedSessions]:
    """The same, oldest first, with uneventful sessions told at their ends."""
    rows = list(found)
    ends, left_out = _sessions(rows)
    last: FoldedSessions | None = None
    for number, row in enumerate(rows):
        if (session := ends.get(number)) is not None:
            if last is None or day_text(last.time) != day_text(session.time):
                if last is not None:
                    yield last
                last = session
            else:
                sources = tuple(dict.fromkeys((*last.sources, *session.sources)))
                count = last.sessions + 1
                until = max(last.until, session.until)
                last = replace(last, until=until, sources=sources, sessions=count)
        elif number not in left_out:
            if last is not None:
                yield last
            last = None
            yield row
    if last is not None:
        yield last


def _sessions(rows: list[LogRow]) -> tuple[dict[int, FoldedSessions], set[int]]:
    """Those that are uneventful by the number of their end, and the numbers of all in them."""
    begun: dict[tuple[object, str], list[int]] = {}
    ends, inside = dict[int, FoldedSessions](), set[int]()
    for number, row in enumerate(rows):
        event = row.event
        of = (event.subject.anchor, event.run)
        if _is_as_before(row):
            begun.setdefault(of, []).append(number)
            continue
        session = begun.pop(of, [])
        if session and _is_usual_end(row) and rows[session[0]].event.change == "reconnected":
            first = rows[session[0]].event
            inside.update(session)
            name = event.subject.shown_source
            ends[number] = FoldedSessions(first.time, event.time, (name,))
    return ends, inside


def _is_as_before(row: LogRow) -> bool:
    """Whether a source is there again, or listed again; what changed would be a row of its own."""
    event = row.event
    if event.subject.tool is not None or event.change not in ("reconnected", "refreshed"):
        return False
    is_news = any(x == "transport" or x.endswith("_name") for x in event.payload)
    return row.is_wanted and not is_news and not event.followed_by


def _is_usual_end(row: LogRow) -> bool:
    return row.is_wanted and row.event.change in _CLOSINGS and is_usual_end(row.event.reason)
