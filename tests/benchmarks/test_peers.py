"""The runner of `make bench-peers`: it ends clients that hang, reports failures, leaves nothing."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.peers.environments import Environment
from benchmarks.peers.lab import Lab
from benchmarks.peers.peers import OURS, PEERS, Peer
from benchmarks.peers.steps import BY_KEY, STEPS
from tests.support.processes import wait_until
from tests.support.watchdog import ends_within

LIMIT_SECONDS = 60.0  # of what works, on a busy machine
SHORT_SECONDS = 1.0  # of what hangs


def fake(name: str) -> Peer:
    """Return a client of `fake_drivers.py` in the running environment."""
    return Peer(name, f"tests.benchmarks.fake_drivers:{name}", "pytest", "")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    here = Environment(sys.executable, {})
    peers = [*PEERS, fake("Stuck")]
    with Lab({x.name: here for x in peers}, tmp_path) as lab:
        yield lab
    assert lab.server_pids() == []


def ready(lab: Lab, *names: str) -> dict[str, object]:
    return {"kind": "ready", "servers": {name: lab.stdio() for name in names}}


def test_a_client_that_hangs_is_ended_in_time_with_the_servers_it_started(lab: Lab) -> None:
    peer = fake("Stuck")
    lab.ask(peer, ready(lab, "a"), LIMIT_SECONDS)  # imports are done
    with ends_within(LIMIT_SECONDS):
        reply = lab.ask(peer, ready(lab, "a", "b", "trap"), SHORT_SECONDS)
        assert reply.problem == "none within 1 s"
        assert reply.measurements is None
    wait_until(lambda: lab.server_pids() == [], "the servers of the ended client end")


def test_the_bridge_is_measured_beside_a_missing_server_and_reports_the_reason(lab: Lab) -> None:
    step = BY_KEY["one-missing"]
    measurement = step.measure(lab, OURS)[step.key]
    assert len(measurement.samples) == 1
    assert measurement.note == "reported"


def test_every_peer_has_a_driver_and_every_step_its_own_rows() -> None:
    names = {peer.driver.partition(":")[0] for peer in PEERS}
    missing = [x for x in names if not importlib.util.find_spec(f"benchmarks.peers.drivers.{x}")]
    assert missing == []
    keys = [row.key for step in STEPS for row in step.rows]
    assert len(keys) == len(set(keys))
