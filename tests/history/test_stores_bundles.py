"""A listing or a loss is one row, which is read as the events of all its tools."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text, update

from tests.history.test_stores_log import ODD_NAMES
from tests.history.test_stores_records import tool
from tests.support.databases import place_of
from tests.support.histories import rebuild
from xai_mcp_agent import Event, StoreFailed, Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history import inventories as cached
from xai_mcp_agent.history.log import Range
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.queries import When, events_in, last_change, records_at
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Listed, Lost
from xai_mcp_agent.history.store import open_store
from xai_mcp_agent.history.tables import inventories, log_rows, subjects

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MANY = Subject(MCP, "many")


class Many:
    """A server of many tools, and what is written of it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.writer = ReportWriter(open_store(place), str)
        self.time = BEGIN

    def connects(self, *names: str, **words: str) -> None:
        self.time += timedelta(hours=1)
        tools = tuple(tool("many", x, words.get(x, "")) for x in names)
        self.writer.record([Listed(MANY, self.time, tools, connected=True)])

    def closes(self) -> None:
        self.time += timedelta(hours=1)
        self.writer.record([Lost(MANY, self.time, "closed")])

    def events(self, **wanted: Any) -> list[Event]:
        return events_in(self.writer.store, Range(**wanted))

    def count(self, table: Any) -> int:
        with self.writer.store.reading() as connection:
            return connection.execute(select(func.count()).select_from(table)).scalar_one()


@pytest.fixture
def many(place: Place) -> Iterator[Many]:
    made = Many(place)
    yield made
    made.writer.close()


NAMES = [f"t{number}" for number in range(40)]


def test_what_did_not_change_is_a_row_and_nothing_else(many: Many) -> None:
    many.connects(*NAMES)
    many.closes()
    before = [many.count(x) for x in (log_rows, inventories, subjects)]
    many.connects(*NAMES)
    many.closes()
    after = [many.count(x) for x in (log_rows, inventories, subjects)]
    assert (before, after) == ([2, 1, 41], [4, 1, 41])
    told = many.events()
    assert [x.position for x in told] == list(range(1, 4 * 41 + 1))
    assert [x.change for x in told[82:123]] == ["reconnected", *["confirmed"] * 40]
    assert {x.change for x in told[124:]} == {"unavailable"}


def test_any_page_of_events_is_the_same_however_it_is_cut(many: Many) -> None:
    many.connects(*NAMES, t3="once")
    many.connects(*NAMES[2:], "new", t3="twice")
    many.closes()
    told = many.events()
    for first in range(0, len(told), 7):
        page = told[first : first + 7]
        assert many.events(after=first, limit=7) == page
        assert many.events(after=first, until=first + 7) == page
        assert (
            many.events(until=first + 7, newest_first=True, limit=7)
            == (told[: first + 7][::-1][:7])
        )
    for name in ("t0", "t3", "new", "never"):
        about = [x for x in told if x.subject.tool == name]
        subject = Subject(MCP, "many", name)
        assert many.events(subject=subject) == about
        assert many.events(subject=subject, newest_first=True, limit=1) == about[::-1][:1]
        some = ("changed", "unavailable")
        assert many.events(subject=subject, changes=some) == [x for x in about if x.change in some]
    assert many.events(anchor=MANY, changes=("changed",)) == [
        x for x in told if x.change == "changed"
    ]


def test_many_listings_that_differ_a_little_each_read_as_they_were(
    many: Many, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached, "_MOST_STEPS", 5)
    told: list[dict[str, str]] = []
    for number in range(20):
        words = {f"t{number}": "new", f"t{number // 2}": f"again {number}"}
        names = [*NAMES[number % 3 :], *ODD_NAMES[: number % 5]]
        many.connects(*names, **words)
        told.append({x: words.get(x, "") for x in names})
    forget_cached()
    heads = [x.position for x in many.events(subject=MANY)]
    for number, listed in enumerate(told):
        events = many.events(after=heads[number], until=heads[number] + len(listed))
        found = {x.subject.tool: x.payload["description"] for x in events}
        assert found == listed
    records = records_at(many.writer.store, When())
    rebuild(many.writer.store)
    assert records_at(many.writer.store, When()) == records


def test_the_last_change_is_found_behind_many_that_were_none(many: Many) -> None:
    many.connects(*NAMES)
    many.connects(*NAMES, t1="new")
    changed = many.time
    for _ in range(30):
        many.closes()
        many.connects(*NAMES, t1="new")
    assert last_change(many.writer.store, "many") == (41, changed)


def forget_cached() -> None:
    """As another process begins."""
    cached._cache = cached._Cache()  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    "content",
    [b"", b"no", zlib.compress(b"{}"), zlib.compress(b'[["t0"],["x"]]'), zlib.compress(b"[1, 2]")],
    ids=["empty", "not packed", "an object", "others", "numbers"],
)
def test_an_inventory_that_is_damaged_costs_what_it_told_once(
    tmp_path: Path, content: bytes
) -> None:
    many = Many(place_of("", tmp_path))
    many.connects(*NAMES)
    store = many.writer.store
    with store.writing() as connection:
        connection.execute(update(inventories).values(content=content))
    forget_cached()
    with pytest.raises(StoreFailed):
        many.events()
    assert store.is_damaged
    store.close()
    many.writer.store = open_store(many.place)
    assert [x.change for x in many.events()] == ["connected"]
    many.closes()
    many.connects(*NAMES)
    assert [x.change for x in many.events(subject=MANY)] == [
        "connected", "disconnected", "reconnected"
    ]  # fmt: skip
    # It is written again, and so known again what was told then.
    assert len(many.events(subject=Subject(MCP, "many", "t7"))) == 2
    many.writer.close()


@pytest.mark.parametrize(
    "told", ["7", "[]", '{"all":"x"}', '{"then":[7]}', '{"all":"confirmed","but":{"none":[]}}']
)
def test_a_row_that_is_damaged_tells_of_its_source_alone(many: Many, told: str) -> None:
    many.connects(*NAMES)
    with many.writer.store.writing() as connection:
        connection.execute(text("UPDATE xai_mcp_log SET told = :told"), {"told": told})
    assert [x.change for x in many.events()] == ["connected"]
