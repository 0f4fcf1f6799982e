"""The history of a bridge, a recorder or a file, for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import delete

from tests.support.recorded import place_of_file
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge, Event, Records
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.history.events_table import begin_of
from xai_mcp_agent.history.history import History, open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.history.tables import snapshots

T = TypeVar("T")

_ROOT = Path(__file__).parents[2]
_ANSWER_SECONDS, _CLOSE_SECONDS = 20.0, 60.0


def ask(bridge: Bridge, question: Callable[[History], T]) -> T:
    """Ask the bridge's own store, once everything that happened before is written."""

    async def recorder(operations: Operations) -> HistoryRecorder:
        return operations.engine.recorder

    return bridge.run(recorder).ask(question).result(_ANSWER_SECONDS)


def rebuild(store: History) -> None:
    """Remove the snapshots after the start of the log, so that all records are folded again."""
    with store.writing() as connection:
        mine = snapshots.c.project == store.project_id
        later = snapshots.c.position > begin_of(connection, store.project_id)
        connection.execute(delete(snapshots).where(mine, later))
    store.log.forget()


def events_of(bridge: Bridge) -> list[Event]:
    """Return all events so far."""
    return ask(bridge, lambda store: store.events())


def records_of(bridge: Bridge) -> Records:
    """Return the current records."""
    return ask(bridge, lambda store: store.records())


def short(events: list[Event]) -> list[tuple[str, str]]:
    """Return what changed, and the ids of the subjects."""
    return [(x.change, x.context_id) for x in events]


def events_in_file(file: Path) -> list[Event]:
    """Return all events in the store of a project's file."""
    store = open_history(place_of_file(file))
    try:
        return store.events()
    finally:
        store.close()


def recorded_events(recorder: HistoryRecorder) -> list[Event]:
    """Return all events of a recorder so far."""
    return recorder.ask(lambda store: store.events()).result(_ANSWER_SECONDS)


@contextmanager
def recorder_in(place: Place) -> Generator[HistoryRecorder]:
    """Yield a recorder of this place that records arguments, closed after the block."""
    recorder = HistoryRecorder(place, str, {"arguments"})
    try:
        yield recorder
    finally:
        recorder.close(_CLOSE_SECONDS)


def call_numbers(events: Iterable[Event], change: str = "called") -> list[int]:
    """Return the argument `number` of each recorded call."""
    return [x.payload["arguments"]["number"] for x in events if x.change == change]


def start_writer(place: Place, *words: object) -> tuple[subprocess.Popen[bytes], int]:
    """Start a `history_writer` with these words; return it and the id of its process."""
    store = str(place.file or place.url.replace("+psycopg", ""))
    command = [warm_python(), "-m", "tests.support.history_writer", store, str(place.folder)]
    process = subprocess.Popen(
        [*command, *map(str, words)], cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())
