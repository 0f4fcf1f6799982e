"""Processes that are killed, and many that write at once: nothing that was acknowledged is lost."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.databases import Server, place_of
from tests.support.histories import rebuild
from tests.support.history_writer import NAMES
from tests.support.warm_python import warm_python
from xai_mcp_agent import Event, Subject
from xai_mcp_agent.core.tools import MCP
from xai_mcp_agent.history.history import History, open_history
from xai_mcp_agent.history.place import Place
from xai_mcp_agent.history.recording.report_writer import ReportWriter
from xai_mcp_agent.history.recording.reports import Failed

ROOT = Path(__file__).parents[2]
_SECONDS = 90.0
_WRITES, _LIVES, _AT_ONCE = 10_000, 3, 100
_WRITERS, _EACH = 30, 20


class Writers:
    """Processes that write into one store."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, source: str, first: int, count: int, each: int) -> subprocess.Popen[bytes]:
        store = str(self._place.file or self._place.url.replace("+psycopg", ""))
        words = [store, str(self._place.folder), source, str(first), str(count), str(each)]
        command = [warm_python(), "-m", "tests.support.history_writer", *words]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        self._started.append(process)
        return process

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate(timeout=_SECONDS)


@pytest.fixture
def writers(lasting_place: Place) -> Iterator[Writers]:
    writers = Writers(lasting_place)
    yield writers
    writers.end()


@pytest.fixture
def in_store(lasting_place: Place) -> Callable[[], tuple[list[Event], History]]:
    """What is in the store, checked for what must always be true."""

    def look() -> tuple[list[Event], History]:
        store = open_history(lasting_place)
        events, kept = store.events(), store.records()
        rebuild(store)
        assert kept == store.records()
        return events, store

    return look


def numbers(events: list[Event], source: str) -> list[int]:
    of_source = (x for x in events if x.subject.source == source and x.change == "called")
    return [x.payload["arguments"]["number"] for x in of_source]


def test_a_process_that_is_killed_loses_nothing_that_was_acknowledged(
    writers: Writers, in_store: Callable[[], tuple[list[Event], History]]
) -> None:
    """Killed at random moments during ten thousand writes."""
    chance = random.Random(5)
    lives: list[int] = []
    for life in range(_LIVES):
        process = writers.start(f"life{life}", 0, _WRITES, _AT_ONCE)
        assert process.stdout is not None
        wanted = chance.randrange(1, 2 * _WRITES // _LIVES // _AT_ONCE)
        last = -1
        for _, line in zip(range(wanted), process.stdout, strict=False):
            last = int(line)
        process.kill()  # now it is about to write the next ones
        rest, _ = process.communicate(timeout=_SECONDS)
        lives.append(int(rest.split()[-1]) if rest.split() else last)
    events, store = in_store()
    for life, acknowledged in enumerate(lives):
        found = numbers(events, f"life{life}")
        assert found == list(range(len(found)))
        assert len(found) > acknowledged
    store.close()


def test_thirty_processes_that_write_at_once_lose_nothing(
    writers: Writers, in_store: Callable[[], tuple[list[Event], History]]
) -> None:
    """A workshop; half of them use a source that others use, too."""
    started = [writers.start(f"s{n % 15}", n * 1000, _EACH, _EACH // 4) for n in range(_WRITERS)]
    for process in started:
        said, _ = process.communicate(timeout=_SECONDS)
        assert process.returncode == 0
        assert len(said.split()) == 4
    events, store = in_store()
    for n in range(15):
        wanted = Counter(range(n * 1000, n * 1000 + _EACH))
        wanted += Counter(range((n + 15) * 1000, (n + 15) * 1000 + _EACH))
        assert Counter(numbers(events, f"s{n}")) == wanted
    tools = store.records().tools.values()
    assert sum(x.usage.calls for x in tools) == _WRITERS * _EACH
    assert {x.name for x in tools} == set(NAMES)
    assert len({x.run for x in events}) == _WRITERS
    store.close()


def test_projects_in_one_database_do_not_wait_for_each_other(
    postgresql: Server, tmp_path: Path
) -> None:
    url = postgresql.new_database()
    one, other = (open_history(place_of(url, tmp_path / name)) for name in ("one", "other"))
    with one.writing():
        writer = ReportWriter(other, str)  # begins a run
        writer.record([Failed(Subject(MCP, "git"), datetime.now(UTC), "away")])
    assert [x.change for x in other.events()] == ["failed"]
    writer.close()
    one.close()
