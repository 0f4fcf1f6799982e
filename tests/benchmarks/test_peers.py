"""The runner of `make bench-peers`: what hangs is ended, what fails is told, nothing is left."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.peers import environments, raw_server
from benchmarks.peers.__main__ import main
from benchmarks.peers.environments import Environment, environment
from benchmarks.peers.lab import Lab
from benchmarks.peers.peers import CONTROL, OURS, PEERS, Peer
from benchmarks.peers.steps import BY_KEY, STEPS, Calls, OneIsBad, Ready
from tests.support.processes import is_running, wait_until
from tests.support.watchdog import ends_within

LIMIT_SECONDS = 60.0  # of what works, on a busy machine
SHORT_SECONDS = 2.0  # of what hangs


def fake(name: str) -> Peer:
    """A client of `fake_drivers.py` in the running environment."""
    return Peer(name, f"tests.benchmarks.fake_drivers:{name}", "pytest", "", "")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    here = Environment(sys.executable, {})
    known = [*PEERS, *(fake(x) for x in ("Quick", "Stuck", "Broken", "Dying"))]
    with Lab({x.name: here for x in known}, tmp_path) as lab:
        yield lab
    assert lab.left() == []


def ready(lab: Lab, *names: str) -> dict[str, object]:
    return {"kind": "ready", "servers": {name: lab.stdio() for name in names}}


# The runner


def test_a_client_that_hangs_is_ended_in_time_with_the_servers_it_started(lab: Lab) -> None:
    peer = fake("Stuck")
    lab.ask(peer, ready(lab, "a"), LIMIT_SECONDS)  # imports are done
    with ends_within(LIMIT_SECONDS):
        heard = lab.ask(peer, ready(lab, "a", "b", "trap"), SHORT_SECONDS)
        assert heard.problem == "none within 2 s"
        assert heard.result is None
    wait_until(lambda: lab.left() == [], "the servers of the ended client end")


def test_what_could_be_used_before_a_client_hung_is_known(lab: Lab) -> None:
    peer = fake("Stuck")
    lab.ask(peer, ready(lab, "a"), LIMIT_SECONDS)
    heard = lab.ask(peer, ready(lab, "a", "b", "trap"), SHORT_SECONDS)
    assert [x["usable"] for x in heard.all("usable")] == ["a", "b"]


def test_after_a_hang_the_next_job_is_done_by_a_new_process(lab: Lab) -> None:
    peer = fake("Stuck")
    lab.ask(peer, ready(lab, "trap"), SHORT_SECONDS)
    heard = lab.ask(peer, ready(lab, "a"), LIMIT_SECONDS)
    assert heard.result == {"failed": {}, "answering": ["a"]}


def test_a_server_that_does_not_answer_a_call_is_not_called_ready(lab: Lab) -> None:
    found = Ready(1).measure(lab, fake("Broken"))["ready-1"]
    assert found.is_failed
    assert found.note.startswith("0 of 1")


def test_a_client_that_ends_its_process_is_reported_as_that(lab: Lab) -> None:
    heard = lab.ask(fake("Dying"), ready(lab, "a"), LIMIT_SECONDS)
    assert heard.problem == "SystemExit: 7"


def test_an_interrupt_ends_everything_that_was_started(tmp_path: Path) -> None:
    peer = fake("Stuck")
    started: list[int] = []

    def run() -> None:
        with Lab({peer.name: Environment(sys.executable, {})}, tmp_path) as lab:
            lab.http()
            lab.ask(peer, ready(lab, "a"), LIMIT_SECONDS)
            started.extend([lab._workers[peer.name].pid, lab._http["{}"][0].pid])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert len(started) == 2
    assert [x for x in started if is_running(x)] == []


def test_a_worker_ends_when_nobody_listens_any_more() -> None:
    """As after a kill of the runner, which cannot end anything then."""
    command = [sys.executable, "-m", "benchmarks.peers.worker", "bare:Bare"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as worker:
        assert worker.stdin is not None
        worker.stdin.close()
        assert worker.wait(LIMIT_SECONDS) == 0


def test_an_unknown_name_is_reported_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["nobody"])
    assert "fastmcp" in capsys.readouterr().err


# With real clients


def test_the_bridge_is_measured_beside_a_missing_server_and_tells_the_reason(lab: Lab) -> None:
    step = BY_KEY["one-missing"]
    found = step.measure(lab, OURS)[step.key]
    assert len(found.samples) == 1
    assert found.note == "reported"


def test_a_server_that_is_named_without_the_cause_is_half_told(lab: Lab) -> None:
    step = OneIsBad("missing", "", "a cause that nobody gives")
    assert step.measure(lab, fake("Quick"))[step.key].note.endswith("; half reported")


def test_calls_over_http_are_measured_against_the_bare_client(lab: Lab) -> None:
    step = Calls("http", calls=32, rounds=2)
    found = step.measure(lab, CONTROL)
    assert [len(found[row.key].samples) for row in step.rows] == [2, 2]


# What it is made of


def test_every_peer_has_a_driver_and_every_step_its_own_rows() -> None:
    names = {peer.driver.partition(":")[0] for peer in PEERS}
    missing = [x for x in names if not importlib.util.find_spec(f"benchmarks.peers.drivers.{x}")]
    assert missing == []
    keys = [row.key for step in STEPS for row in step.rows]
    assert len(keys) == len(set(keys))


def test_an_environment_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    peer = Peer("x", "", "x", "", "", pins=(str(tmp_path / "no-such-package"),))
    with pytest.raises(OSError, match="no-such-package"):
        environment(peer, tmp_path)


def test_the_running_environment_says_which_versions_it_has() -> None:
    assert {"mcp", "python"} <= set(environments.environment(CONTROL).versions)


def test_the_server_answers_what_it_knows_and_refuses_the_rest() -> None:
    server = raw_server.RawServer({"tools": 5})
    assert len(server.tools) == 5
    call = {"name": "blob", "arguments": {"characters": 3}}
    answer = server.answer({"id": 1, "method": "tools/call", "params": call})
    assert answer is not None
    assert b'"xxx"' in answer
    assert b"-32601" in (server.answer({"id": 2, "method": "server/discover"}) or b"")
    assert server.answer({"method": "notifications/initialized"}) is None
