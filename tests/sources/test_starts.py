"""Many servers started together: few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bridges import bridge_with, status_of, wait_for_state
from tests.support.fault_server import entry
from xai_mcp_agent.sources import pool

_SERVERS = 8
_AT_ONCE = 2


@pytest.fixture(autouse=True)
def few_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two starts at a time, however slow the machine is just now."""
    monkeypatch.setattr(pool, "_STARTS_PER_CORE", _AT_ONCE)
    monkeypatch.setattr(pool.os, "cpu_count", lambda: 1)
    monkeypatch.setattr(pool, "_SLOW_SECONDS", 60.0)


def marks(journal: Path) -> Iterator[str]:
    """Yield `start` and `tools/list` in the order in which they happened."""
    for line in journal.read_text(encoding="utf-8").splitlines():
        if (word := line.split()[0]) in ("start", "tools/list"):
            yield word


def test_only_so_many_start_at_a_time(tmp_path: Path):
    journal = tmp_path / "journal"
    servers = {f"s{n}": entry(journal=str(journal)) for n in range(_SERVERS)}
    with bridge_with(**servers) as bridge:
        bridge.connect(wait=True)
        assert {x.state for x in bridge.servers()} == {"ready"}
    starting, maximum = 0, 0
    for mark in marks(journal):
        starting += 1 if mark == "start" else -1
        maximum = max(maximum, starting)
    assert maximum <= _AT_ONCE


def test_a_slow_start_gives_its_turn_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pool, "_SLOW_SECONDS", 0.1)
    hanging = {f"hang{n}": entry(hang=True) for n in range(2 * _AT_ONCE)}
    with bridge_with(**hanging, last=entry()) as bridge:
        bridge.connect()
        wait_for_state(bridge, "last", "ready")
        assert {status_of(bridge, name).state for name in hanging} == {"connecting"}
