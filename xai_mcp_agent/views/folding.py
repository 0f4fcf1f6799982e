"""Sessions in which nothing happened, told together: connected, listed as before, closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from ..history.records import is_usual_end
from .times import day_text

if TYPE_CHECKING:
    from ..history.log import Telling

_CLOSINGS = ("disconnected", "left")


@dataclass(frozen=True)
class FoldedSessions:
    """So many sessions of these sources, one after another."""

    time: datetime
    until: datetime
    sources: tuple[str, ...]
    sessions: int = 1


def folded(found: Iterable[Telling]) -> Iterator[Telling | FoldedSessions]:
    """The same, oldest first, with uneventful sessions told at their ends."""
    tellings = list(found)
    ends, left_out = _sessions(tellings)
    last: FoldedSessions | None = None
    for number, telling in enumerate(tellings):
        if (session := ends.get(number)) is not None:
            if last is None or day_text(last.time) != day_text(session.time):
                if last is not None:
                    yield last
                last = session
            else:
                sources = tuple(dict.fromkeys((*last.sources, *session.sources)))
                count = last.sessions + 1
                last = replace(last, until=session.until, sources=sources, sessions=count)
        elif number not in left_out:
            if last is not None:
                yield last
            last = None
            yield telling
    if last is not None:
        yield last


def _sessions(tellings: list[Telling]) -> tuple[dict[int, FoldedSessions], set[int]]:
    """Those that are uneventful by the number of their end, and the numbers of all in them."""
    begun: dict[tuple[object, str], list[int]] = {}
    ends, inside = dict[int, FoldedSessions](), set[int]()
    for number, telling in enumerate(tellings):
        head = telling.entry.event
        of = (head.subject.anchor, head.run)
        if _is_as_before(telling):
            begun.setdefault(of, []).append(number)
            continue
        session = begun.pop(of, [])
        if session and _is_usual_end(telling) and _is_begin(tellings[session[0]]):
            first = tellings[session[0]].entry.event
            inside.update(session)
            name = head.subject.shown_source
            ends[number] = FoldedSessions(first.time, head.time, (name,))
    return ends, inside


def _is_begin(telling: Telling) -> bool:
    return telling.entry.event.change == "reconnected"


def _is_as_before(telling: Telling) -> bool:
    """Whether a source is there again, or listed again, and all is as it was."""
    head, tools = telling.entry.event, telling.entry.tools
    if head.subject.tool is not None or head.change not in ("reconnected", "refreshed"):
        return False
    is_news = any(x == "transport" or x.endswith("_name") for x in head.payload)
    if is_news or "changes_left_out" in head.payload or -1 not in telling.numbers:
        return False
    return not tools.changes - {"confirmed"} and telling.is_whole


def _is_usual_end(telling: Telling) -> bool:
    head = telling.entry.event
    is_closing = head.change in _CLOSINGS and is_usual_end(head.reason)
    return is_closing and telling.is_whole
