"""The processes that write a history, so that one that ended without a word is noticed."""

from __future__ import annotations

import os
import random
import socket
import sys
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from .tables import runs

BEAT_SECONDS = 30.0
# Elsewhere nobody can look for the process. So long is no pause, but an end.
_SILENCE = timedelta(seconds=BEAT_SECONDS * 6)
# Clocks of processes are read with less than this between them.
_SAME_START_SECONDS = 2.0
# Which boot of which machine, and which pid namespace, where there are such.
_BOOT, _NAMESPACE = "/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"
_BETWEEN = " / "  # what is shown of a host, and what only tells it from others
_NUMBERS = 2**31
_FIELD_OF_START = 19  # of those behind the name in /proc/PID/stat, which has 22 as the first is 1


# Made once: it is asked in every transaction.
_RUN = select(runs.c.id, runs.c.number).where(
    runs.c.project == bindparam("project"), runs.c.id == bindparam("run")
)


class Runs:
    """The runs of one project; `own` is the id of this one, a new one if none is given."""

    def __init__(self, project: int, own: str = "") -> None:
        import psutil  # here: no command should wait for it that has no history

        self.own = own or uuid.uuid4().hex
        self._project = project
        self._host = f"{socket.gethostname()}{_BETWEEN}{_numbers()}"
        self._pid_started = _started(os.getpid()) or 0.0
        self._process_began = psutil.Process().create_time()

    @property
    def process_began(self) -> datetime:
        """When this process did, which may have had other runs."""
        return datetime.fromtimestamp(self._process_began, UTC)

    def begin(self, connection: Connection) -> None:
        """Write down that this run is there."""
        now = _now()
        row = {
            "id": self.own,
            "project": self._project,
            "number": _free_number(connection, self._project),
            "host": self._host,
            "pid": os.getpid(),
            "pid_started": self._pid_started,
            "started": now,
            "seen": now,
        }
        connection.execute(insert(runs).values(row))

    def is_known(self, connection: Connection) -> bool:
        """Whether it was written down before."""
        key = {"project": self._project, "run": self.own}
        return connection.execute(_RUN, key).first() is not None

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

    def over(self, connection: Connection, wanted: Iterable[str]) -> list[str]:
        """Which of these runs are over, or not known any more."""
        query = select(runs.c.id).where(runs.c.project == self._project, runs.c.ended.is_(None))
        return sorted({*wanted} - {*connection.execute(query).scalars()})

    def _is_over(self, row: Row[Any]) -> bool:
        import psutil

        if row.host == self._host:
            if not psutil.pid_exists(row.pid):
                return True
            if (started := _started(row.pid)) is not None:
                return abs(started - row.pid_started) > _SAME_START_SECONDS
        return _now() - row.seen > _SILENCE


def run_numbers(
    connection: Connection, project: int, wanted: Mapping[str, datetime]
) -> dict[str, int]:
    """The numbers by which the log names runs; `wanted` has times at which they were there.

    One of which nothing is known any more is taken for one that ended then.
    """
    found: dict[str, int] = {}
    for run, time in wanted.items():
        if not run:
            found[run] = 0  # nobody's
            continue
        row = connection.execute(_RUN, {"project": project, "run": run}).first()
        if row is None:
            found[run] = _free_number(connection, project)
            known = dict.fromkeys(("started", "seen", "ended"), time)
            lost = {"id": run, "project": project, "host": "", "pid": 0, "pid_started": 0.0}
            connection.execute(insert(runs).values({**lost, **known, "number": found[run]}))
        elif row.number is None:
            found[run] = _free_number(connection, project)
            is_it = runs.c.id == run
            connection.execute(update(runs).where(is_it).values(number=found[run]))
        else:
            found[run] = row.number
    return found


def _free_number(connection: Connection, project: int) -> int:
    """By chance: one that was lost, as by a damaged file, is not given again."""
    while True:
        number = random.randrange(1, _NUMBERS)
        is_it = runs.c.project == project, runs.c.number == number
        if connection.execute(select(runs.c.id).where(*is_it)).first() is None:
            return number


def _end_of(row: Row[Any]) -> str:
    seen = row.seen.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    host = row.host.partition(_BETWEEN)[0]
    return f"Process {row.pid} on {host} had it, and ended without closing it (seen {seen})."


def _numbers() -> str:
    """What is the same for processes that know each other by the same numbers."""
    if sys.platform != "linux":
        return ""
    try:
        return f"{Path(_BOOT).read_text(encoding='ascii').strip()} {os.readlink(_NAMESPACE)}"
    except OSError:
        return uuid.uuid4().hex  # of nobody else


def _started(pid: int) -> float | None:
    """When a process was started, in seconds; None if that cannot be told.

    On Linux since the machine was: a clock that is set there changes the time of all starts.
    """
    if sys.platform == "linux":
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            ticks = fields.rpartition(")")[2].split()[_FIELD_OF_START]
        except OSError:
            return None
        return int(ticks) / os.sysconf("SC_CLK_TCK")
    import psutil

    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return None


def _now() -> datetime:
    return datetime.now(UTC)
