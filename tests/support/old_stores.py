"""Stores of older versions, made of ones of today.

Version 3 had a row of the log for each tool, version 4 did not tell who made calls, version 5 had
nothing of what runs teach.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, text

from xai_mcp_agent import Event, Records, Subject
from xai_mcp_agent.history.log import Range
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.queries import When, events_in, records_at
from xai_mcp_agent.history.records_json import source_as_json, tool_as_json
from xai_mcp_agent.history.store import open_store
from xai_mcp_agent.history.tables import (
    callers,
    inventories,
    kept_moment,
    kept_words,
    learned_runs,
    log_rows,
    names,
    observed_shapes,
    subjects,
)

_LATER = (learned_runs, observed_shapes)

_TABLES = (
    """CREATE TABLE xai_mcp_events (
        project INTEGER NOT NULL, position BIGINT NOT NULL, time BIGINT NOT NULL,
        run VARCHAR(32) NOT NULL, change VARCHAR(20) NOT NULL, kind VARCHAR(40) NOT NULL,
        source_name TEXT NOT NULL, tool TEXT, subject VARCHAR(32) NOT NULL,
        anchor VARCHAR(32) NOT NULL, event_kind VARCHAR(20) NOT NULL, source VARCHAR(20) NOT NULL,
        payload TEXT, links TEXT NOT NULL, definition VARCHAR(32), reason TEXT NOT NULL,
        PRIMARY KEY (project, position))""",
    "CREATE INDEX events_of_a_subject ON xai_mcp_events (project, subject, position)",
    "CREATE INDEX events_of_a_source ON xai_mcp_events (project, anchor, position)",
    "CREATE INDEX events_in_time ON xai_mcp_events (project, time, position)",
    """CREATE TABLE xai_mcp_sources (
        project INTEGER NOT NULL, subject VARCHAR(32) NOT NULL, kind VARCHAR(40) NOT NULL,
        name TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (project, subject))""",
    """CREATE TABLE xai_mcp_tools (
        project INTEGER NOT NULL, subject VARCHAR(32) NOT NULL, anchor VARCHAR(32) NOT NULL,
        kind VARCHAR(40) NOT NULL, source_name TEXT NOT NULL, name TEXT NOT NULL,
        record TEXT NOT NULL, PRIMARY KEY (project, subject))""",
    "CREATE INDEX tools_of_a_source ON xai_mcp_tools (project, anchor)",
)


def make_version_3(place: Place, *more: str) -> list[Event]:
    """Have the store of a place as it was before version 4; its events.

    `more` are statements that make it older still.
    """
    store = open_store(place)
    events, records = events_in(store, Range()), records_at(store, When())
    with store.writing() as connection:
        for statement in _TABLES:
            connection.execute(text(statement))
        _insert(connection, "events", (_event(store.project_id, x) for x in events))
        _insert_records(connection, store.project_id, records)
        for table in (log_rows, subjects, names, inventories, callers, *_LATER):
            table.drop(connection)
        connection.execute(text("DROP INDEX runs_by_number"))
        connection.execute(text("ALTER TABLE xai_mcp_runs DROP COLUMN number"))
        connection.execute(text("UPDATE xai_mcp_facts SET value = '3' WHERE name = 'version'"))
        for statement in more:
            connection.execute(text(statement))
    store.close()
    return events


def make_version_4(place: Place) -> list[Event]:
    """Have the store of a place as it was before version 5; its events."""
    store = open_store(place)
    events = events_in(store, Range())
    with store.writing() as connection:
        for table in (callers, *_LATER):
            table.drop(connection)
        connection.execute(text("ALTER TABLE xai_mcp_log DROP COLUMN caller"))
        connection.execute(text("UPDATE xai_mcp_facts SET value = '4' WHERE name = 'version'"))
    store.close()
    return events


def _insert_records(connection: Connection, project: int, records: Records) -> None:
    mine = {"project": project}
    sources = (
        mine
        | _names(x.subject)
        | {"name": kept_words(x.subject.source)}
        | _record(source_as_json(x))
        for x in records.sources.values()
    )
    _insert(connection, "sources", sources)
    tools = (
        mine | _names(x.subject) | {"anchor": x.subject.anchor.digest}
        | {"source_name": kept_words(x.subject.source), "name": kept_words(x.name)}
        | _record(tool_as_json(x))
        for x in records.tools.values()
    )  # fmt: skip
    _insert(connection, "tools", tools)


def _insert(connection: Connection, table: str, rows: Iterable[dict[str, Any]]) -> None:
    for row in rows:
        names = ", ".join(row)
        values = ", ".join(f":{x}" for x in row)
        connection.execute(text(f"INSERT INTO xai_mcp_{table} ({names}) VALUES ({values})"), row)


def _event(project: int, event: Event) -> dict[str, Any]:
    subject = event.subject
    is_told = event.event_kind == "fact" and subject.tool and event.definition
    links = {name: x for name, x in asdict(event.links).items() if x}
    return {
        "project": project,
        "position": event.position,
        "time": kept_moment(event.time),
        "run": event.run,
        "change": event.change,
        **_names(subject),
        "source_name": kept_words(subject.source),
        "tool": None if subject.tool is None else kept_words(subject.tool),
        "anchor": subject.anchor.digest,
        "event_kind": event.event_kind,
        "source": event.source,
        "payload": None if is_told else _json(event.payload),
        "links": _json(links),
        "definition": event.definition,
        "reason": kept_words(event.reason),
    }


def _names(subject: Subject) -> dict[str, Any]:
    return {"subject": subject.digest, "kind": subject.kind.name}


def _record(record: dict[str, Any]) -> dict[str, Any]:
    record.pop("synced_before", None)
    return {"record": _json(record)}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
