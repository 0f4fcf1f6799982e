"""Killed processes and many writers at once: no acknowledged event is lost."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.support.histories import call_numbers, rebuild, start_writer
from tests.support.history_writer import LOOK, SAVE
from xai_mcp_agent import Event, Records
from xai_mcp_agent.history.history import open_history
from xai_mcp_agent.history.place import Place

_SECONDS = 90.0
_WRITES, _LIVES, _AT_ONCE = 10_000, 2, 100
_WRITERS, _EACH = 30, 20


class Writers:
    """Processes that write into one store."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, source: str, first: int, count: int, each: int) -> subprocess.Popen[bytes]:
        process, _ = start_writer(self._place, source, first, count, each)
        self._started.append(process)
        return process

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.communicate(timeout=_SECONDS)

    def read(self) -> tuple[list[Event], Records]:
        """Return the events and records; a replay of the log gives the same records."""
        store = open_history(self._place)
        events, records = store.events(), store.records()
        rebuild(store)
        assert records == store.records()
        store.close()
        return events, records


def numbers(events: list[Event], source: str) -> list[int]:
    return call_numbers(x for x in events if x.subject.source == source)


@pytest.fixture
def writers(lasting_place: Place) -> Iterator[Writers]:
    writers = Writers(lasting_place)
    yield writers
    writers.end()


def test_a_killed_process_loses_no_acknowledged_event(writers: Writers):
    """Killed at random moments during ten thousand writes."""
    chance = random.Random(5)
    lives: list[int] = []
    for life in range(_LIVES):
        process = writers.start(f"life{life}", 0, _WRITES, _AT_ONCE)
        assert process.stdout is not None
        last = -1
        for _, line in zip(range(chance.randrange(1, 30)), process.stdout, strict=False):
            last = int(line)
        process.kill()  # during its next writes
        rest, _ = process.communicate(timeout=_SECONDS)
        lives.append(int(rest.split()[-1]) if rest.split() else last)
    events, _ = writers.read()
    for life, acknowledged in enumerate(lives):
        calls = numbers(events, f"life{life}")
        assert calls == list(range(len(calls)))
        assert len(calls) > acknowledged


def test_concurrent_processes_lose_nothing(writers: Writers):
    """A workshop: each source is used by two processes."""
    half = _WRITERS // 2
    started = [writers.start(f"s{n % half}", n * 1000, _EACH, _EACH // 4) for n in range(_WRITERS)]
    for process in started:
        output, _ = process.communicate(timeout=_SECONDS)
        assert process.returncode == 0
        assert len(output.split()) == 4
    events, records = writers.read()
    for n in range(half):
        expected = [*range(n * 1000, n * 1000 + _EACH)]
        expected += range((n + half) * 1000, (n + half) * 1000 + _EACH)
        assert Counter(numbers(events, f"s{n}")) == Counter(expected)
    tools = records.tools.values()
    assert sum(x.usage.calls for x in tools) == _WRITERS * _EACH
    assert {x.name for x in tools} == {SAVE, LOOK}
    assert len({x.run for x in events}) == _WRITERS
