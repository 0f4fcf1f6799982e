"""What happens again and again: of that only some events an hour are written down, with counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection, func, select

from ..diff.wording import plain
from ..event import Change, Subject
from ..subjects import numbers_of
from ..tables import log_rows
from .reports import Failed, Listed

MOST_CHANGES = 20
"""That are written down of a source in an hour."""

_HOUR = timedelta(hours=1)
_REFRESHED: Change = "refreshed"
_NAME_CHARS = 100


class Damping:
    """The newest listing of each source that is not written down yet, and how many were before.

    `warn` is told once of each source.
    """

    def __init__(self, project: int, warn: Callable[[str], None]) -> None:
        self.held: dict[Subject, Listed] = {}
        self._project = project
        self._warn = warn
        self._named: set[Subject] = set()

    def hold(self, connection: Connection, report: Listed) -> bool:
        """Keep a changed listing for later, if there were too many; whether there were."""
        if not self.is_too_often(connection, report):
            return False
        self.held[report.source] = replace(report, left_out=report.left_out + 1)
        if report.source not in self._named:
            self._named.add(report.source)
            name = plain(report.source.shown_source, _NAME_CHARS)
            self._warn(
                f"{name} changed its tools {MOST_CHANGES} times within an hour. Of further "
                "changes the history keeps how many there were, and what they came to."
            )
        return True

    def merged(self, report: Listed) -> Listed:
        """A newer listing, which takes the place of one that is held."""
        held = self.held.pop(report.source, None)
        return report if held is None else replace(report, left_out=held.left_out)

    def is_too_often(self, connection: Connection, report: Listed) -> bool:
        """Whether as many changes were written down in the hour before it as there may be."""
        numbers = numbers_of(connection, self._project, [report.source])
        changed = select(func.count()).where(
            log_rows.c.project == self._project,
            log_rows.c.subject == numbers.get(report.source, 0),
            log_rows.c.change == _REFRESHED,
            log_rows.c.span > 1,
            log_rows.c.time > report.time - _HOUR,
            log_rows.c.time <= report.time,
        )
        return connection.execute(changed).scalar_one() >= MOST_CHANGES


class Repeated:
    """Failures like the one that was written down last of their sources, and how often they came.

    They are written as one when something else happens, or an hour after the first.
    """

    def __init__(self) -> None:
        self.held: dict[Subject, tuple[Failed, float]] = {}

    def hold(self, report: Failed) -> None:
        """Count one more."""
        before, first = self.held.get(report.source, (None, time.monotonic()))
        times = report.times + (before.times if before else 0)
        self.held[report.source] = replace(report, times=times), first

    def take(self, source: Subject) -> Failed | None:
        """What is held of a source, which is not any more."""
        found = self.held.pop(source, None)
        return found[0] if found else None

    def due(self) -> list[Subject]:
        """The sources of which something was held for an hour."""
        now = time.monotonic()
        return [x for x, (_, first) in self.held.items() if now - first >= _HOUR.total_seconds()]
