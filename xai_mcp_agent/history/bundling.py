"""The step to version 4: the log with a row for each listing, out of one with a row for each tool.

Every event keeps its position, and reads as it did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    func,
    select,
    text,
)

from .database import insert_rows
from .event import Event, Links, Subject
from .inventories import keep_inventory
from .kept_events import row_of, subject_of
from .log import project_named
from .packing import bundled, grouped
from .records import as_offered
from .records_json import source_as_json, source_from_json, tool_as_json, tool_from_json
from .runs import run_numbers
from .subjects import numbered
from .subjects import row_of as subject_row
from .tables import Json, Moment, Words, kept_json, loaded, projects, subjects

_AT_ONCE = 2000
_OK = '{"status":"ok","seconds":'
_OLD = MetaData()
_events = Table(
    "xai_mcp_events",
    _OLD,
    Column("project", Integer),
    *(Column("position", BigInteger), Column("time", Moment)),
    *(Column(x, String) for x in ("run", "change", "kind")),
    *(Column(x, Words) for x in ("source_name", "tool")),
    *(Column(x, String) for x in ("subject", "event_kind", "source")),
    *(Column(x, Text) for x in ("payload", "links", "definition")),
    Column("reason", Words),
)


_log = Table(
    "xai_mcp_log",
    MetaData(),
    Column("project", Integer, primary_key=True, autoincrement=False),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("time", BigInteger, nullable=False),
    Column("run", Integer, nullable=False),
    Column("change", String(20), nullable=False),
    *(Column(x, Integer, nullable=False) for x in ("subject", "anchor", "span")),
    Column("seconds", Double),
    Column("payload", Text),
    Column("definition", String(32)),
    Column("reason", Text),
    Column("inventory", String(32)),
    *(Column(x, Text) for x in ("told", "links")),
    *(Column(x, String(20)) for x in ("event_kind", "source")),
    Index("log_of_a_subject", "project", "subject", "position"),
    Index("log_of_a_source", "project", "anchor", "position"),
    Index("log_in_time", "project", "time", "position"),
)
"""The log as it was at first, however it looks in the newest version."""


def _old_records(name: str, *names: str) -> Table:
    known = Column("project", Integer), Column("kind", String), Column("record", Json)
    return Table(name, _OLD, *known, *(Column(x, Words) for x in names))


_sources = _old_records("xai_mcp_sources", "name")
_tools = _old_records("xai_mcp_tools", "source_name", "name")
# Most events are calls that went well, which tell no more than how long they took.
_IS_PLAIN = (
    "change = 'called' AND event_kind = 'action' AND source = 'executor' AND reason = '' "
    f"AND definition IS NULL AND COALESCE(payload, '') LIKE '{_OK}%' "
    "AND length(payload) - length(replace(payload, ',', '')) = 1"
)
_PLAIN_CALLS = (
    "INSERT INTO xai_mcp_log (project, position, time, run, change, subject, anchor, span, seconds)"
    " SELECT e.project, e.position, e.time, r.number, e.change, s.id, s.anchor, 1,"
    f" CAST(substr(e.payload, {len(_OK) + 1}, length(e.payload) - {len(_OK) + 1}) AS FLOAT)"
    f" FROM (SELECT * FROM xai_mcp_events WHERE {_IS_PLAIN}) e"
    " JOIN xai_mcp_runs r ON r.id = e.run"
    " JOIN xai_mcp_subjects s ON s.project = e.project AND s.digest = e.subject"
)


def bundle_events(connection: Connection) -> None:
    """Change the tables of version 3 to those of version 4, with all that is in them."""
    _add_tables(connection)
    for project in connection.execute(select(projects.c.id)).scalars().all():
        _number_runs(connection, project)
        _move_records(connection, project)
        _number_callers(connection, project)
    connection.execute(text(_PLAIN_CALLS))
    for project in connection.execute(select(projects.c.id)).scalars().all():
        _move_events(connection, project)
    for table in (_events, _sources, _tools):
        table.drop(connection)


def _add_tables(connection: Connection) -> None:
    """The tables as they were at first, however they look in the newest version."""
    added, digest = MetaData(), String(32)
    Table(
        "xai_mcp_subjects",
        added,
        *(Column(x, Integer, primary_key=True, autoincrement=False) for x in ("project", "id")),
        Column("digest", digest, nullable=False),
        Column("anchor", Integer, nullable=False),
        Column("kind", String(40), nullable=False),
        Column("source_name", Text, nullable=False),
        *(Column(x, Text) for x in ("tool", "record")),
        Index("subjects_by_digest", "project", "digest", unique=True),
        Index("subjects_of_a_source", "project", "anchor"),
    )
    Table(
        "xai_mcp_names",
        added,
        *(Column(x, Integer, primary_key=True, autoincrement=False) for x in ("project", "id")),
        Column("kind", String(40), nullable=False),
        *(Column("source_name", Text, nullable=False), Column("tool", Text)),
    )
    Table(
        "xai_mcp_inventories",
        added,
        Column("project", Integer, primary_key=True, autoincrement=False),
        Column("digest", digest, primary_key=True),
        Column("base", digest),
        Column("steps", Integer, nullable=False),
        Column("content", LargeBinary, nullable=False),
    )
    added.create_all(connection)
    _log.create(connection)
    connection.execute(text("ALTER TABLE xai_mcp_runs ADD COLUMN number INTEGER"))
    connection.execute(text("CREATE INDEX runs_by_number ON xai_mcp_runs (project, number)"))


def _number_runs(connection: Connection, project: int) -> None:
    mine = {"project": project}
    found = connection.execute(text("SELECT id FROM xai_mcp_runs WHERE project = :project"), mine)
    for number, run in enumerate(found.scalars().all(), 1):
        statement = "UPDATE xai_mcp_runs SET number = :number WHERE id = :id"
        connection.execute(text(statement), {"number": number, "id": run})


def _move_records(connection: Connection, project: int) -> None:
    found = connection.execute(select(_sources).where(_sources.c.project == project))
    made = [source_from_json(subject_of(x.kind, x.name, None), x.record) for x in found]
    kept = {x.subject: source_as_json(x) for x in made}
    sources = {x.subject: x for x in made}
    for row in connection.execute(select(_tools).where(_tools.c.project == project)):
        tool = tool_from_json(subject_of(row.kind, row.source_name, row.name), row.record)
        offered = as_offered(tool, sources.get(tool.subject.anchor))
        kept[tool.subject] = tool_as_json(offered)
    numbers = numbered(connection, project, kept)
    rows = (subject_row(project, numbers, x, kept_json(record)) for x, record in kept.items())
    insert_rows(connection, subjects, rows, update=subjects.c.record.name)


def _number_callers(connection: Connection, project: int) -> None:
    """Of tools that were called there are records, and of runs rows, unless those were lost."""
    names = (_events.c.kind, _events.c.source_name, _events.c.tool)
    called = _events.c.project == project, _events.c.change == "called"
    found = connection.execute(select(*names).distinct().where(*called)).all()
    numbered(connection, project, {subject_of(*x): None for x in found})
    times = select(_events.c.run, func.min(_events.c.time)).where(*called).group_by(_events.c.run)
    run_numbers(connection, project, {x[0]: x[1] for x in connection.execute(times)})


@dataclass
class _Known:
    """What was known of tools so far: the digests of their definitions."""

    definitions: dict[Subject, str]

    def take(self, event: Event) -> None:
        if event.subject.tool is not None and event.definition and event.event_kind == "fact":
            self.definitions[event.subject] = event.definition

    def definition_of(self, event: Event) -> str:
        return self.definitions.get(event.subject, "")


def _move_events(connection: Connection, project: int) -> None:
    """All but plain calls, which are moved already."""
    whose, known = project_named(connection, project), _Known({})
    near: dict[Subject, str] = {}
    is_left = _events.c.project == project, text(f"NOT ({_IS_PLAIN})")
    query = select(_events).where(*is_left)
    ordered = query.order_by(_events.c.position).execution_options(yield_per=_AT_ONCE)
    events = map(_event, connection.execute(ordered))
    groups = (y for x in grouped(events, whose) for y in _without_gaps(*x))
    while some := list(islice(groups, _AT_ONCE)):
        numbers = numbered(connection, project, dict.fromkeys(x.subject for x, _ in some))
        runs = run_numbers(connection, project, {x.run: x.time for x, _ in some})
        rows = list[tuple[Any, ...]]()
        for head, tools in some:
            bundle = bundled(head, tools, known.definition_of)
            for event in (head, *tools):
                known.take(event)
            if bundle is not None and bundle.inventory is not None:
                keep_inventory(connection, project, bundle.inventory, near.get(head.subject))
                near[head.subject] = bundle.inventory.digest
            last = head.position + len(tools)
            rows.append(row_of(project, last, head, bundle, numbers, runs, whose))
        insert_rows(connection, _log, rows, are_new=True)


def _without_gaps(head: Event, tools: Sequence[Event]) -> Iterator[tuple[Event, list[Event]]]:
    """One row has positions that follow one another."""
    if all(x.position == n for n, x in enumerate(tools, head.position + 1)):
        yield head, list(tools)
    else:
        yield from ((x, []) for x in (head, *tools))


def _event(row: Any) -> Event:
    return Event(
        subject_of(row.kind, row.source_name, row.tool),
        row.change,
        row.time,
        {} if row.payload is None else _value(row.payload),
        _links(row.links),
        row.definition,
        row.reason,
        row.run,
        row.position,
        row.event_kind,
        row.source,
    )


@lru_cache(maxsize=1000)
def _value(kept: str) -> Any:
    return loaded(kept)


@lru_cache(maxsize=20_000)
def _links(kept: str) -> Links:
    return Links(**{name: tuple(ids) for name, ids in loaded(kept).items()})
