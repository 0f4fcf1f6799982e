"""Plans whose runs are broken off, meddled with or very large: nothing is called twice.

Who decided it: issue 16.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.bridge.test_plan_runs import ROOT, plan
from tests.support.bridges import bridge_with
from tests.support.processes import wait_until
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import BadSetting, Bridge, RunFileError
from xai_mcp_agent.bridge.plan_runs import WaitingPlan

_SECONDS = 60.0
LIBRARY = plan(
    ("shredder/file_away", {"paper": "the deed"}),
    ("shredder/shred", {"paper": "a library"}),
    ("shredder/count", {}),
)


@pytest.fixture
def journal(tmp_path: Path) -> Callable[[], list[str]]:
    file = tmp_path / "journal"
    return lambda: file.read_text(encoding="utf-8").splitlines() if file.exists() else []


@pytest.fixture
def shredder(tmp_path: Path) -> dict[str, Any]:
    return {**shredder_entry(tmp_path / "journal"), "approval": {"*": "allow"}}


def asking(count: int) -> dict[str, Any]:
    """A plan that stops before each call."""
    return plan(
        *[("shredder/file_away", {"paper": {"missing": f"Which {n}?"}}) for n in range(count)]
    )


@pytest.mark.parametrize("is_file", [True, False], ids=["file", "value"])
def test_a_limit_counts_the_calls_that_were_made_before_the_run_was_left(
    is_file: bool, shredder: dict[str, Any], tmp_path: Path, journal: Callable[[], list[str]]
) -> None:
    rule = {"name": "thrice", "when": {"tool": "file_away"}, "then": {"limit": "3 a run"}}
    settings = {"mcpServers": {"shredder": shredder}, "rules": [rule]}
    run: Any = None
    for number in range(5):
        with Bridge(settings) as bridge:
            run = bridge.run_plan(
                asking(5), resume=tmp_path / "state" if is_file else run,
                given={f"{number + 1}.paper": f"p{number}"},
            )  # fmt: skip
    assert run.status == "failed"
    assert "'thrice'" in run.problem
    assert journal() == ["filed p0", "filed p1", "filed p2"]


def test_a_link_to_the_file_of_a_run_is_the_same_run(
    shredder: dict[str, Any], tmp_path: Path, journal: Callable[[], list[str]]
) -> None:
    state, link = tmp_path / "state", tmp_path / "link"
    with bridge_with(shredder=shredder) as bridge:
        bridge.run_plan(asking(2), resume=state, given={"1.paper": "a"})
        link.symlink_to(state)
        assert bridge.run_plan(asking(2), resume=link, given={"2.paper": "b"}).is_finished
        assert link.is_symlink()
        assert bridge.run_plan(asking(2), resume=state).is_finished
    assert journal() == ["filed a", "filed b"]


def test_a_run_whose_task_is_cancelled_is_not_carried_on_by_itself(
    shredder: dict[str, Any], tmp_path: Path, journal: Callable[[], list[str]]
) -> None:
    state = tmp_path / "state"

    async def cancelled(bridge: Bridge) -> None:
        task = asyncio.ensure_future(bridge.aio.run_plan(LIBRARY, resume=state))
        while len(journal()) < 2:
            await anyio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with bridge_with(shredder=shredder) as bridge:
        asyncio.run(asyncio.wait_for(cancelled(bridge), _SECONDS))
        wait_until(lambda: WaitingPlan.read(state).run.begun, "it is written down")
        run = bridge.run_plan(LIBRARY, resume=state)
        assert (run.status, len(run.made)) == ("unknown", 1)
    assert journal() == ["filed the deed", "shredded a library"]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_command_that_is_interrupted_goes_on_where_somebody_looked(
    name: str, shredder: dict[str, Any], tmp_path: Path, journal: Callable[[], list[str]]
) -> None:
    (tmp_path / "mcp_settings.json").write_text(json.dumps({"mcpServers": {"shredder": shredder}}))
    (tmp_path / "plan.json").write_text(json.dumps(LIBRARY))
    words = ["run-plan", "plan.json", "--state", "state"]
    process = command(tmp_path, *words)
    try:
        wait_until(lambda: len(journal()) == 2, "the library is being shredded", _SECONDS)
        process.send_signal(signal.Signals[name])
        _, errors = process.communicate(timeout=_SECONDS)
    finally:
        process.kill()
        process.communicate(timeout=_SECONDS)
    assert "Traceback" not in errors
    process = command(tmp_path, *words)
    _, errors = process.communicate(timeout=_SECONDS)
    assert process.returncode == 3
    assert "Call 2, shredder/shred, may have been carried out" in errors
    assert journal() == ["filed the deed", "shredded a library"]


def command(folder: Path, *words: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", "from xai_mcp_agent.cli.main import run; run()"]
    return subprocess.Popen(
        [*program, *words], cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        env={**os.environ, "XAI_MCP_TRUST": "1", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_an_approval_is_none_for_a_tool_that_changed_while_the_run_waited(
    tmp_path: Path, journal: Callable[[], list[str]]
) -> None:
    state = tmp_path / "state"
    shred = plan(("shredder/shred", {"paper": "the will"}))
    with bridge_with(shredder=dict(shredder_entry(tmp_path / "journal"))) as bridge:
        assert bridge.run_plan(shred, resume=state).status == "waiting"
        WaitingPlan.read(state).answered(1, "once").write()
        bridge.call_tool("shredder", "rename", {"description": "Burn a house."})
        wait_until(lambda: "Burn" in description(bridge), "it changed", _SECONDS)
        run = bridge.run_plan(shred, resume=state)
        assert run.status in ("waiting", "failed")
    assert journal() == []


def description(bridge: Bridge) -> str:
    return next(x.description for x in bridge.list_tools("shredder") if x.name == "shred")


@pytest.mark.parametrize("how", ["empty", "cut", "other plan", "folder", "pipe"])
def test_a_file_that_is_not_of_this_run_calls_nothing(
    how: str, shredder: dict[str, Any], tmp_path: Path, journal: Callable[[], list[str]]
) -> None:
    state, other = tmp_path / "state", tmp_path / "other"
    with bridge_with(shredder=shredder) as bridge:
        bridge.run_plan(asking(2), resume=state)
        bridge.run_plan(asking(3), resume=other)
        data = state.read_bytes()
        state.unlink()
        match how:
            case "empty":
                state.write_bytes(b"")
            case "cut":
                state.write_bytes(data[:-40])
            case "other plan":
                other.rename(state)
            case "folder":
                state.mkdir()
            case _:
                os.mkfifo(state)
        with pytest.raises((RunFileError, BadSetting)):
            bridge.run_plan(asking(2), resume=state, given={"1.paper": "a", "2.paper": "b"})
    assert journal() == []


def test_of_two_who_go_on_with_one_run_at_once_only_one_does(
    shredder: dict[str, Any], tmp_path: Path, journal: Callable[[], list[str]]
) -> None:
    state = tmp_path / "state"
    many = plan(*[("shredder/file_away", {"paper": f"p{n}"}) for n in range(10)])
    together = threading.Barrier(4)

    def go(bridge: Bridge) -> str:
        together.wait(_SECONDS)
        try:
            return bridge.run_plan(many, resume=state).status
        except RunFileError:
            return "in use"

    with bridge_with(shredder=shredder) as bridge, ThreadPoolExecutor(4) as threads:
        bridge.list_tools("shredder")
        ended = list(threads.map(go, [bridge] * 4))
    assert "finished" in ended
    assert set(ended) <= {"finished", "in use"}
    assert journal() == [f"filed p{n}" for n in range(10)]


_MORTAL = """
import os, sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("mortal", log_level="CRITICAL")

@server.tool()
def step(number: int) -> str:
    "Take a step."
    with open(sys.argv[1], "a") as file:
        print(number, file=file)
    if number == 10 and not os.path.exists(sys.argv[1] + ".died"):
        open(sys.argv[1] + ".died", "x").close()
        os._exit(1)
    return f"step {number}"

server.run("stdio")
"""


def test_a_server_that_dies_in_the_middle_of_a_plan_has_no_call_repeated(tmp_path: Path) -> None:
    (tmp_path / "mortal.py").write_text(_MORTAL)
    made = tmp_path / "made"
    mortal = {"command": sys.executable, "args": [str(tmp_path / "mortal.py"), str(made)]}
    steps = plan(*[("mortal/step", {"number": n}) for n in range(20)])
    with bridge_with(mortal=mortal) as bridge:
        run = bridge.run_plan(steps, resume=tmp_path / "state")
        assert (run.status, len(run.made)) == ("unknown", 10)
        assert bridge.run_plan(steps, resume=tmp_path / "state").status == "unknown"
        assert bridge.run_plan(steps, resume=tmp_path / "state", again=11).is_finished
    assert made.read_text().split() == [str(n) for n in (*range(11), *range(10, 20))]


def test_results_of_many_megabytes_are_carried_on(tmp_path: Path) -> None:
    (tmp_path / "gives.py").write_text(
        "import json\n"
        "def large(megabytes: int) -> str:\n"
        "    row = {'id': 'x' * 80, 'n': 5}\n"
        "    return json.dumps([row] * (megabytes * 9_000))\n"
        "def take(x: object = None) -> str:\n    return str(len(str(x)))\n"
    )
    first = ("f/large", {"megabytes": 14})
    taken = ("f/take", {"x": {"call": 0, "field": "[].id"}})
    asked = plan(first, taken, ("f/take", {"x": {"missing": "What?"}}))
    with Bridge({"functions": {"f": {"file": str(tmp_path / "gives.py")}}}) as bridge:
        run = bridge.run_plan(asked, resume=tmp_path / "state")
        assert (run.status, run.results[1]) == ("missing", "80")
        run = bridge.run_plan(asked, resume=tmp_path / "state", given={"x": "ab"})
    assert (run.status, run.text) == ("finished", "2")
