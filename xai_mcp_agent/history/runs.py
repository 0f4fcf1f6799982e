"""The processes that write a history, so that those that ended without a word are noticed."""

from __future__ import annotations

import os
import socket
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from .tables import runs

BEAT_SECONDS = 30.0
# On another machine nobody can look for the process. So long is no pause, but an end.
_SILENCE = timedelta(seconds=BEAT_SECONDS * 6)
# Clocks of processes are read with less than this between them.
_SAME_START_SECONDS = 2.0


class Runs:
    """The runs of one project; `own` is the id of this one."""

    def __init__(self, project: int) -> None:
        self.own = uuid.uuid4().hex
        self._project = project
        self._host = socket.gethostname()
        self._pid_started = _started(os.getpid()) or 0.0

    @property
    def process_began(self) -> datetime:
        """When this process did, which may have had other runs."""
        return datetime.fromtimestamp(self._pid_started, UTC)

    def begin(self, connection: Connection) -> None:
        """Write down that this run is there."""
        now = _now()
        row = {
            "id": self.own,
            "project": self._project,
            "host": self._host,
            "pid": os.getpid(),
            "pid_started": self._pid_started,
            "started": now,
            "seen": now,
        }
        connection.execute(insert(runs).values(row))

    def beat(self, connection: Connection) -> bool:
        """Write down that it is still there; False if others took it for ended meanwhile."""
        mine = update(runs).where(runs.c.id == self.own, runs.c.ended.is_(None))
        return connection.execute(mine.values(seen=_now())).rowcount > 0

    def end(self, connection: Connection, run: str = "") -> None:
        """Write down that this run, or another one, is over."""
        connection.execute(update(runs).where(runs.c.id == (run or self.own)).values(ended=_now()))

    def ended_silently(self, connection: Connection) -> dict[str, str]:
        """The runs that are over and did not say so, and what is known of their end."""
        query = select(runs).where(runs.c.project == self._project, runs.c.ended.is_(None))
        rows = connection.execute(query.where(runs.c.id != self.own))
        return {row.id: _end_of(row) for row in rows if self._is_over(row)}

    def _is_over(self, row: Row[Any]) -> bool:
        if row.host != self._host:
            return _now() - row.seen > _SILENCE
        started = _started(row.pid)
        return started is None or abs(started - row.pid_started) > _SAME_START_SECONDS


def _end_of(row: Row[Any]) -> str:
    seen = row.seen.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return f"Process {row.pid} on {row.host} had it, and ended without closing it (seen {seen})."


def _started(pid: int) -> float | None:
    """When a process of this machine was started, in seconds; None if there is none."""
    import psutil  # here: it is asked for once in a run

    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return None
    except psutil.Error:
        return 0.0


def _now() -> datetime:
    return datetime.now(UTC)
