"""Processes that write a history. Each one notices others that were killed."""

from __future__ import annotations

import os
import socket
import sys
import uuid
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from .tables import runs

BEAT_SECONDS = 30.0
# A process on another machine cannot be checked: after this silence it counts as ended.
_SILENCE = timedelta(seconds=BEAT_SECONDS * 6)
# Readings of a process's clock differ by less than this.
_SAME_START_SECONDS = 2.0
# Linux's ids of the boot and of the pid namespace.
_BOOT, _NAMESPACE = "/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"
_BETWEEN = " / "  # between the name of a host and its ids
_END_LOST = "Its process ended, and the history's record of that was lost."


class Runs:
    """Runs of one project; `own` is the id of this one, new by default."""

    def __init__(self, project: int, own: str = "") -> None:
        import psutil  # imported here: no command without a history should wait for it

        self.own = own or uuid.uuid4().hex
        self._project = project
        self._host = f"{socket.gethostname()}{_BETWEEN}{_numbers()}"
        self._process_began = psutil.Process().create_time()

    @property
    def process_began(self) -> datetime:
        """Start of this process, which may have had earlier runs."""
        return datetime.fromtimestamp(self._process_began, UTC)

    def begin(self, connection: Connection) -> bool:
        """Add the row of this run; return False if it exists, because others ended it."""
        if connection.execute(select(runs.c.id).where(runs.c.id == self.own)).first() is not None:
            return False
        row = {
            "id": self.own,
            "project": self._project,
            "host": self._host,
            "pid": os.getpid(),
            "pid_started": self._process_began,
            "seen": _now(),
        }
        connection.execute(insert(runs).values(row))
        return True

    def beat(self, connection: Connection) -> bool:
        """Note that it is alive; return False if others took it for ended meanwhile."""
        mine = update(runs).where(runs.c.id == self.own, runs.c.ended.is_(None))
        return connection.execute(mine.values(seen=_now())).rowcount > 0

    def end(self, connection: Connection, run: str = "") -> None:
        """Note the end of this run, or of another one."""
        connection.execute(update(runs).where(runs.c.id == (run or self.own)).values(ended=_now()))

    def over(self, connection: Connection, ids: Collection[str]) -> dict[str, str]:
        """Return the runs that have ended, each with a sentence about its end."""
        query = select(runs).where(runs.c.project == self._project, runs.c.id.in_(list(ids)))
        rows = {row.id: row for row in connection.execute(query)}
        ends = dict.fromkeys(ids, _END_LOST)
        for run, row in rows.items():
            ends[run] = _end_of(row)
            if row.ended is None and (run == self.own or not self._is_over(row)):
                del ends[run]
        return ends

    def _is_over(self, row: Row[Any]) -> bool:
        import psutil

        if row.host == self._host:
            try:
                started = psutil.Process(row.pid).create_time()
            except psutil.NoSuchProcess:
                return True
            except psutil.Error:
                pass  # only its silence counts
            else:
                return abs(started - row.pid_started) > _SAME_START_SECONDS
        return _now() - row.seen > _SILENCE


def _end_of(row: Row[Any]) -> str:
    time = row.seen.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    host = row.host.partition(_BETWEEN)[0]
    return f"Process {row.pid} on {host} had it, and ended without closing it (seen {time})."


def _numbers() -> str:
    """Return boot and pid namespace: processes with the same ones share process numbers."""
    if sys.platform != "linux":
        return ""
    try:
        return f"{Path(_BOOT).read_text(encoding='ascii').strip()} {os.readlink(_NAMESPACE)}"
    except OSError:
        return uuid.uuid4().hex  # unique to this process


def _now() -> datetime:
    return datetime.now(UTC)
