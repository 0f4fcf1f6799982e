"""What the history of a bridge holds, for tests: its events as JSON, without what is by chance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests.support.processes import wait_until
from xai_mcp_agent import Bridge, Event, JsonObject, Records
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.history.log import Range
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.projection import rebuild as rebuild_records
from xai_mcp_agent.history.queries import When, events_in, records_at
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.history.store import Store, open_store
from xai_mcp_agent.views.history import event_json

T = TypeVar("T")

_ANSWER_SECONDS = 20.0
_BY_CHANCE = ("position", "time", "run", "definition")


def asked(bridge: Bridge, question: Callable[[Store], T]) -> T:
    """What the bridge's own store answers, once all is written down that happened before."""

    return memory_of(bridge).ask(question).result(_ANSWER_SECONDS)


def rebuild(store: Store) -> None:
    """Make all records anew from the log."""
    with store.writing() as connection:
        rebuild_records(connection, store.project_id)


def memory_of(bridge: Bridge) -> HistoryRecorder:
    """What writes everything down for this bridge."""

    async def memory(operations: Operations) -> HistoryRecorder:
        return operations.engine.recorder

    return bridge.run(memory)


def events_of(bridge: Bridge) -> list[Event]:
    """All events so far."""
    return asked(bridge, lambda store: events_in(store, Range()))


def records_of(bridge: Bridge) -> Records:
    """What they come to."""
    return asked(bridge, lambda store: records_at(store, When()))


def told_by(bridge: Bridge) -> list[JsonObject]:
    """All events so far, as `told`."""
    return told(events_of(bridge))


def told(events: list[Event]) -> list[JsonObject]:
    """These events without what is by chance; they are all there, in their order."""
    assert [x.position for x in events] == list(range(1, len(events) + 1))
    return [{k: x for k, x in event_json(e).items() if k not in _BY_CHANCE} for e in events]


def changes_of(bridge: Bridge) -> list[tuple[str, str]]:
    """What changed so far, and of what, in short."""
    return short(events_of(bridge))


def short(events: list[Event]) -> list[tuple[str, str]]:
    """What changed, and of what."""
    return [(x.change, x.context_id) for x in events]


def wait_for_change(bridge: Bridge, change: str, times: int = 1) -> None:
    """Wait until something was changed so, for the first time or more often."""
    wait_until(
        lambda: [x.change for x in events_of(bridge)].count(change) >= times, f"{change} is told"
    )


def events_in_file(file: Path) -> list[Event]:
    """All events of the project in the store's own file."""
    store = open_store(place_of(file))
    try:
        return events_in(store, Range())
    finally:
        store.close()


def place_of(file: Path) -> Place:
    """The place of a store that is a project's own."""
    return Place(f"sqlite:///{file}", str(file), file.parent, file, is_own=True)
