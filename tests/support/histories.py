"""What the history of a bridge holds, for tests: its events as JSON, without what is by chance."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import delete

from tests.support.processes import wait_until
from tests.support.recorded import place_of_file
from xai_mcp_agent import Bridge, Event, JsonObject, Records
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.history.events_table import begin_of
from xai_mcp_agent.history.history import History, open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.history.tables import snapshots
from xai_mcp_agent.views.history import event_json

T = TypeVar("T")

_ANSWER_SECONDS, _CLOSE_SECONDS = 20.0, 60.0
_BY_CHANCE = ("position", "time", "run", "definition")


def asked(bridge: Bridge, question: Callable[[History], T]) -> T:
    """What the bridge's own store answers, once all is written down that happened before."""

    return memory_of(bridge).ask(question).result(_ANSWER_SECONDS)


def rebuild(store: History) -> None:
    """Have all records made anew from the log, but for what was known at its begin."""
    with store.writing() as connection:
        mine = snapshots.c.project == store.project_id
        later = snapshots.c.position > begin_of(connection, store.project_id)
        connection.execute(delete(snapshots).where(mine, later))
    store.log.forget()


def memory_of(bridge: Bridge) -> HistoryRecorder:
    """What writes everything down for this bridge."""

    async def memory(operations: Operations) -> HistoryRecorder:
        return operations.engine.recorder

    return bridge.run(memory)


def events_of(bridge: Bridge) -> list[Event]:
    """All events so far."""
    return asked(bridge, lambda store: store.events())


def records_of(bridge: Bridge) -> Records:
    """What they come to."""
    return asked(bridge, lambda store: store.records())


def told_by(bridge: Bridge) -> list[JsonObject]:
    """All events so far, as `told`."""
    return told(events_of(bridge))


def told(events: list[Event]) -> list[JsonObject]:
    """These events without what is by chance; they are all there, in their order."""
    positions = [x.position for x in events]
    assert positions == sorted(positions)
    assert {*positions} == set(range(1, max(positions, default=0) + 1))
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
    store = open_history(place_of_file(file))
    try:
        return store.events()
    finally:
        store.close()


@contextmanager
def recorder_in(place: Place) -> Generator[HistoryRecorder]:
    """A recorder of this place that keeps arguments, closed behind the block."""
    recorder = HistoryRecorder(place, str, {"arguments"})
    try:
        yield recorder
    finally:
        recorder.close(_CLOSE_SECONDS)
