"""How often tools were called, and how that went: what they come to, or since some time.

All that ever was is in the records of tools. Since a time the database counts, in one pass over
the calls: by tool and by size, so that no row of them has to be loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from typing import cast as cast_to

from sqlalchemy import BigInteger, Connection, case, cast, func, select

from .event import Subject
from .filtering import IS_FAILED
from .kept_events import subject_of
from .projection import Projection, is_stale, records_until
from .records import BUCKET_GROWTH, MEDIAN, MOST, SHORTEST_SECONDS, Usage, percentile
from .stats import CallStats, Stats, sums_of
from .store import Store
from .tables import log_rows, subjects

# A duration of a day is in bucket 233, of a microsecond in -284: there is room between two tools.
_BUCKETS, _FIRST_BUCKET = 1024, -400
_AT_ONCE = 500  # databases take only so many values in one statement


def stats_since(store: Store, since: datetime | None) -> Stats:
    """All calls since then, or all that there ever were; percentiles are of the recent ones then.

    Raises:
        StoreFailed: the store cannot be used.
    """
    with store.reading() as connection:
        if since is None:
            tools = list(_of_records(connection, store.project_id))
        else:
            tools = _counted(connection, store.project_id, since)
    tools.sort(key=lambda x: (x.subject.shown_source, x.subject.tool or "", x.subject.kind.name))
    return Stats(tools, sums_of(tools))


def _of_records(connection: Connection, project: int) -> Iterable[CallStats]:
    if is_stale(connection):
        records = records_until(connection, project, None)
    else:
        records = Projection(connection, project).everything()
    return (_of_usage(x.subject, x.usage) for x in records.tools.values() if x.usage.calls)


def _of_usage(tool: Subject, usage: Usage) -> CallStats:
    return CallStats(
        tool, usage.calls, usage.errors, usage.total_seconds, usage.last_executed,
        usage.median_seconds, usage.p95_seconds,
    )  # fmt: skip


@dataclass(slots=True)
class _Calls:
    """Those of one tool, as they are counted. `last` is the position of the last one."""

    errors: int = 0
    seconds: float = 0.0
    last: int = 0
    durations: Counter[int] = field(default_factory=Counter[int])


def _counted(connection: Connection, project: int, since: datetime) -> list[CallStats]:
    found: dict[int, _Calls] = {}
    for row in connection.execute(_query(project, since)).all():
        key, calls, errors, seconds, last = cast_to(tuple[int, int, int, float, int], row)
        number, bucket = divmod(int(key), _BUCKETS)
        of_tool = found.setdefault(number, _Calls())
        of_tool.errors += int(errors)
        of_tool.seconds += float(seconds or 0)
        of_tool.last = max(of_tool.last, last)
        of_tool.durations[bucket + _FIRST_BUCKET] += calls
    named, times = _names(connection, project, found), _times(connection, project, found.values())
    return [
        CallStats(
            tool, found[number].durations.total(), found[number].errors, found[number].seconds,
            times.get(found[number].last), percentile(found[number].durations, MEDIAN),
            percentile(found[number].durations, MOST),
        )
        for number, tool in named.items()
    ]  # fmt: skip


def _query(project: int, since: datetime) -> Any:
    """One key for tool and size: grouped by two, SQLite takes six times as long."""
    seconds = func.coalesce(log_rows.c.seconds, 0.0)
    size = func.floor(func.ln(seconds + SHORTEST_SECONDS) / BUCKET_GROWTH)
    bucket = cast(size, BigInteger) - _FIRST_BUCKET
    key = (cast(log_rows.c.subject, BigInteger) * _BUCKETS + bucket).label("key")
    errors = func.sum(case((IS_FAILED, 1), else_=0))
    columns = func.count(), errors, func.sum(seconds), func.max(log_rows.c.position)
    is_wanted = log_rows.c.change == "called", log_rows.c.time >= since
    return select(key, *columns).where(log_rows.c.project == project, *is_wanted).group_by("key")


def _names(connection: Connection, project: int, wanted: Iterable[int]) -> dict[int, Subject]:
    names, found = (subjects.c.kind, subjects.c.source_name, subjects.c.tool), dict[int, Subject]()
    for some in _portions(wanted):
        mine = subjects.c.project == project, subjects.c.id.in_(some)
        rows = connection.execute(select(subjects.c.id, *names).where(*mine))
        found |= {row.id: subject_of(*row[1:]) for row in rows}
    return found


def _times(connection: Connection, project: int, wanted: Iterable[_Calls]) -> dict[int, datetime]:
    """When the last ones were, by position: in time, another one may be the last."""
    found = dict[int, datetime]()
    for some in _portions(x.last for x in wanted):
        mine = log_rows.c.project == project, log_rows.c.position.in_(some)
        rows = connection.execute(select(log_rows.c.position, log_rows.c.time).where(*mine))
        found |= {row.position: row.time for row in rows}
    return found


def _portions(values: Iterable[int]) -> list[list[int]]:
    wanted = list(values)
    return [wanted[n : n + _AT_ONCE] for n in range(0, len(wanted), _AT_ONCE)]
