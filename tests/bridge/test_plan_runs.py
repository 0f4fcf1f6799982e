"""Plans over real servers: judged as an agent's calls are, resumed elsewhere, never done twice.

Who decided it: issue 16.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.bridges import bridge_with
from tests.support.processes import wait_until
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent import (
    ApprovalRequest,
    BadSetting,
    Bridge,
    RunFileError,
    ToolDisabled,
    UnknownServer,
    UnknownTool,
)
from xai_mcp_agent.agent import run_file
from xai_mcp_agent.bridge.plan_runs import WaitingPlan
from xai_mcp_agent.planning import BadPlan, plan_from_json

ROOT = Path(__file__).parents[2]
LIBRARY = {
    "command": sys.executable, "args": [str(ROOT / "examples" / "servers" / "library.py")],
}  # fmt: skip
_CHILD_SECONDS = 60.0
_OLD = "from tests.bridge.test_plan_runs import run_here; run_here()"


def plan(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"request": "Do it.", "calls": [{"tool": x, "args": y} for x, y in calls]}


SEA = plan(
    ("library/search_books", {"query": "sea"}),
    ("library/get_book", {"book_id": {"call": 0, "field": "books[].book_id"}}),
)
TIDY = plan(
    ("shredder/file_away", {"paper": "the deed"}),
    ("shredder/shred", {"paper": {"missing": "Which paper goes?"}}),
    ("shredder/count", {}),
)


@pytest.fixture
def journal(tmp_path: Path) -> Callable[[], list[str]]:
    file = tmp_path / "journal"
    return lambda: file.read_text(encoding="utf-8").splitlines() if file.exists() else []


@pytest.fixture
def shredder(tmp_path: Path) -> dict[str, Any]:
    return dict(shredder_entry(tmp_path / "journal"))


def test_a_plan_is_carried_out_over_real_servers() -> None:
    with bridge_with(library=LIBRARY) as bridge:
        run = bridge.run_plan(SEA)
        found, book = run.results
        assert book["title"] == found["books"][0]["title"]
        assert run.is_finished
        assert book["title"] in run.text
        assert bridge.run_plan(plan_from_json(SEA)).results == run.results


@pytest.mark.anyio
async def test_a_plan_is_carried_out_from_another_loop(shredder: dict[str, Any]) -> None:
    with bridge_with(shredder=shredder) as bridge:
        run = await bridge.aio.run_plan(plan(("shredder/count", {})))
        assert run.text == "0"


def test_calls_of_a_plan_are_told_in_the_history(shredder: dict[str, Any]) -> None:
    settings = {"mcpServers": {"shredder": shredder}, "store": "memory"}
    with Bridge(settings) as bridge:
        bridge.run_plan(plan(("shredder/count", {}), ("shredder/count", {})), agent="tidier")
        used = [x.payload for x in bridge.history(agent="tidier") if x.change == "called"]
    assert [(x["agent"], x["call_id"]) for x in used] == [
        ("tidier", "call_1"),
        ("tidier", "call_2"),
    ]
    assert len({x["run_id"] for x in used}) == 1


@pytest.mark.parametrize(
    ("bad", "error", "says"),
    [
        (plan(("shredder/count", {}), ("shreder/x", {})), UnknownServer, "shredder"),
        (plan(("shredder/count", {}), ("shredder/shrad", {})), UnknownTool, "'shred'"),
        (plan(("shredder/file_away", {"paper": "x"}), ("count", {})), BadPlan, "whose tool"),
        (plan(("shredder/file_away", {"paper": "x"}), ("canvas/x", {})), UnknownServer, "canvas"),
        ({"calls": "all"}, BadPlan, "no `calls`"),
    ],
    ids=str,
)
def test_a_plan_with_a_call_that_cannot_be_made_calls_nothing(
    bad: dict[str, Any],
    error: type[Exception],
    says: str,
    shredder: dict[str, Any],
    journal: Callable[[], list[str]],
) -> None:
    with bridge_with(shredder=shredder) as bridge, pytest.raises(error, match=says):
        bridge.run_plan(bad)
    assert journal() == []


def test_tools_that_are_off_blocked_or_denied_stop_a_plan_before_it_begins(
    shredder: dict[str, Any], journal: Callable[[], list[str]]
) -> None:
    two = plan(("shredder/file_away", {"paper": "x"}), ("shredder/count", {}))
    with bridge_with(shredder=shredder) as bridge:
        bridge.disable("shredder", "count")
        with pytest.raises(ToolDisabled, match=r"Call 2, .*switched it off.*Nothing was called"):
            bridge.run_plan(two)
    blocked = {"toolSearch": {"blocked": ["shredder/count"]}}
    rule = {"name": "no counting", "when": {"tool": "count"}, "then": "deny"}
    for settings in (blocked, {"rules": [rule]}):
        told = pytest.raises(ToolDisabled, match=r"Call 2, .*Nothing was called")
        with Bridge({"mcpServers": {"shredder": shredder}, **settings}) as bridge, told:
            bridge.run_plan(two)
    assert journal() == []


def test_a_rule_about_arguments_and_one_that_counts_hold_for_plans(
    shredder: dict[str, Any], journal: Callable[[], list[str]]
) -> None:
    rules = [
        {"name": "not that", "when": {"args.paper": "the will"}, "then": "deny"},
        {"name": "once", "when": {"tool": "file_away"}, "then": {"limit": "1 a run"}},
    ]
    with Bridge({"mcpServers": {"shredder": shredder}, "rules": rules}) as bridge:
        run = bridge.run_plan(plan(("shredder/file_away", {"paper": "the will"})))
        assert run.status == "failed"
        assert "not that" in run.problem
        two = plan(*[("shredder/file_away", {"paper": x}) for x in ("a", "b")])
        run = bridge.run_plan(two)
        assert (run.status, len(run.made)) == ("failed", 1)
        run = bridge.run_plan(two, resume=run)
        assert "'once'" in run.problem
    assert journal() == ["filed a"]


def test_it_stops_at_what_is_missing_then_waits_and_goes_on_in_another_process(
    tmp_path: Path, shredder: dict[str, Any], journal: Callable[[], list[str]]
) -> None:
    state = tmp_path / "tidy.run.json"
    with bridge_with(shredder=shredder) as bridge:
        run = bridge.run_plan(TIDY, resume=state)
        assert (run.status, [x.parameter for x in run.lacking]) == ("missing", ["paper"])
        run = bridge.run_plan(TIDY, resume=state, given={"paper": "the will"})
        assert run.status == "waiting"
        assert run.awaiting is not None
        assert run.awaiting.request.arguments == {"paper": "the will"}
    assert journal() == ["filed the deed"]
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    WaitingPlan.read(state).answered(1, "once", by="a test").write()
    told = child(tmp_path, shredder, TIDY, state)
    assert told["status"] == "finished"
    assert told["results"][:2] == [{"result": "filed the deed"}, {"result": "shredded the will"}]
    assert journal() == ["filed the deed", "shredded the will"]
    assert child(tmp_path, shredder, TIDY, state) == told
    assert journal() == ["filed the deed", "shredded the will"]


def test_what_a_person_refuses_is_not_called(
    shredder: dict[str, Any], journal: Callable[[], list[str]]
) -> None:
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> Any:
        asked.append(request)
        return "no"

    with Bridge({"mcpServers": {"shredder": shredder}}, approve=approve) as bridge:
        run = bridge.run_plan(TIDY, given={"2.paper": "the will"}, agent="tidier")
    assert (run.status, asked[0].agent) == ("failed", "tidier")
    assert "was not approved" in run.problem
    assert journal() == ["filed the deed"]


def test_a_run_in_memory_goes_on_with_an_answer(
    shredder: dict[str, Any], journal: Callable[[], list[str]]
) -> None:
    with bridge_with(shredder=shredder) as bridge:
        run = bridge.run_plan(TIDY, given={"paper": "the will"})
        waiting = WaitingPlan(Path("unused"), run).answered(1, "once")
        assert bridge.run_plan(TIDY, resume=waiting.run).is_finished
    assert journal() == ["filed the deed", "shredded the will"]


def test_a_call_that_was_under_way_when_its_process_was_killed_is_not_repeated(
    tmp_path: Path, shredder: dict[str, Any], journal: Callable[[], list[str]]
) -> None:
    state = tmp_path / "run.json"
    three = plan(
        ("shredder/file_away", {"paper": "the deed"}),
        ("shredder/shred", {"paper": "a library"}),
        ("shredder/count", {}),
    )
    entry = {**shredder, "approval": {"*": "allow"}}
    process = start_child(tmp_path, entry, three, state)
    try:
        wait_until(lambda: len(journal()) == 2, "the library is being shredded", _CHILD_SECONDS)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=_CHILD_SECONDS)
    told = child(tmp_path, entry, three, state)
    assert told["status"] == "unknown"
    assert "Call 2, shredder/shred, may have been carried out" in told["problem"]
    assert journal() == ["filed the deed", "shredded a library"]


def test_a_planted_or_changed_file_is_refused(tmp_path: Path, shredder: dict[str, Any]) -> None:
    state = tmp_path / "run.json"
    with bridge_with(shredder=shredder) as bridge:
        bridge.run_plan(TIDY, resume=state)
        told = json.loads(state.read_text(encoding="utf-8"))
        told["run"]["plan_run"]["made"] = []
        state.write_text(json.dumps(told), encoding="utf-8")
        with pytest.raises(RunFileError, match="not as a run or command of yours wrote it"):
            bridge.run_plan(TIDY, resume=state)
        with pytest.raises(RunFileError, match="cannot be written"):
            bridge.run_plan(TIDY, resume=tmp_path)


def test_a_copy_of_the_file_of_a_plan_is_refused(
    tmp_path: Path, shredder: dict[str, Any], journal: Callable[[], list[str]]
) -> None:
    state, given = tmp_path / "run.json", {"paper": "the will"}
    with bridge_with(shredder=shredder) as bridge:
        bridge.run_plan(TIDY, resume=state, given=given)
        stale = WaitingPlan.read(state)
        WaitingPlan.read(state).answered(1, "once").write()
        answered = state.read_bytes()
        with pytest.raises(RunFileError, match="used up"):
            stale.answered(1, "once").write()
        assert bridge.run_plan(TIDY, resume=state).is_finished
        finished = state.read_bytes()
        state.write_bytes(answered)
        with pytest.raises(RunFileError, match="used up"):
            bridge.run_plan(TIDY, resume=state)
        state.write_bytes(finished)
        assert bridge.run_plan(TIDY, resume=state).is_finished
    assert journal() == ["filed the deed", "shredded the will"]


def test_a_run_is_answered_on_another_machine_and_goes_on_here(
    tmp_path: Path, shredder: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    state, given = tmp_path / "run.json", {"paper": "the will"}
    monkeypatch.setenv("XAI_MCP_RUN_KEY", "the same text on both machines, of 32 characters")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "here"))
    with bridge_with(shredder=shredder) as bridge:
        bridge.run_plan(TIDY, resume=state, given=given)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "elsewhere"))
        WaitingPlan.read(state).answered(1, "once").write()
        answered = state.read_bytes()
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "here"))
        assert bridge.run_plan(TIDY, resume=state).is_finished
        state.write_bytes(answered)
        with pytest.raises(RunFileError, match="used up"):
            bridge.run_plan(TIDY, resume=state)


@pytest.mark.skipif(os.name == "nt", reason="a folder is no file there either, in other words")
def test_a_run_does_not_wait_where_nobody_can_note_that_it_is_used_up(
    tmp_path: Path, shredder: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").write_text("", encoding="utf-8")
    monkeypatch.setenv("XAI_MCP_RUN_KEY", "the same text on both machines, of 32 characters")
    with bridge_with(shredder=shredder) as bridge:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
        with pytest.raises(RunFileError, match="cannot be kept from other processes"):
            bridge.run_plan(TIDY, resume=tmp_path / "run.json")


def test_two_processes_do_not_go_on_with_one_run(
    tmp_path: Path, shredder: dict[str, Any], journal: Callable[[], list[str]]
) -> None:
    state = tmp_path / "run.json"
    slow = plan(("shredder/shred", {"paper": "a library"}))
    entry = {**shredder, "approval": {"*": "allow"}}
    process = start_child(tmp_path, entry, slow, state)
    try:
        wait_until(lambda: len(journal()) == 1, "it is under way", _CHILD_SECONDS)
        with bridge_with(shredder=entry) as bridge, pytest.raises(RunFileError, match="in use"):
            bridge.run_plan(slow, resume=state)
    finally:
        process.kill()
        process.communicate(timeout=_CHILD_SECONDS)


def test_wrong_arguments_are_told_before_anything_is_sent() -> None:
    with bridge_with(library=LIBRARY) as bridge:
        run = bridge.run_plan(plan(("library/get_book", {"book_id": "x"})))
        assert (run.status, run.begun) == ("failed", False)
        assert "Wrong arguments for get_book" in run.problem
        again = bridge.run_plan(
            plan(("library/get_book", {"book_id": "x"})), resume=run, given={"1.book_id": 14}
        )
        assert again.result["title"] == "Moby-Dick"


# Another process


def start_child(
    folder: Path, entry: dict[str, Any], what: dict[str, Any], state: Path
) -> subprocess.Popen[str]:
    told = {"entry": entry, "plan": what, "state": str(state)}
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-c", _OLD], cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PLAN_TOLD": str(folder / "told.json")},
    )  # fmt: skip


def child(folder: Path, entry: dict[str, Any], what: dict[str, Any], state: Path) -> Any:
    process = start_child(folder, entry, what, state)
    said, _ = process.communicate(timeout=_CHILD_SECONDS)
    return json.loads(said)


def run_here() -> None:
    """What the other process does."""
    told = json.loads(Path(os.environ["PLAN_TOLD"]).read_text(encoding="utf-8"))
    with bridge_with(shredder=told["entry"]) as bridge:
        run = bridge.run_plan(told["plan"], resume=told["state"])
    print(json.dumps({"status": run.status, "results": run.results, "problem": run.problem}))


@pytest.fixture
def gives(tmp_path: Path) -> dict[str, Any]:
    """Functions that give large and deep results."""
    file = tmp_path / "gives.py"
    file.write_text(
        "import json\n"
        "def wide(count: int) -> str:\n    return json.dumps([{'id': x} for x in range(count)])\n"
        "def deep(levels: int) -> str:\n    return '[' * levels + ']' * levels\n"
        "def take(x: object = None) -> str:\n    return 'taken'\n",
        encoding="utf-8",
    )
    return {"functions": {"f": {"file": str(file)}}}


def test_a_run_goes_on_from_a_file_after_results_that_are_deep(
    gives: dict[str, Any], tmp_path: Path
) -> None:
    asked = plan(("f/deep", {"levels": 600}), ("f/take", {"x": {"missing": "What?"}}))
    with Bridge(gives) as bridge:
        assert bridge.run_plan(asked, resume=tmp_path / "run.json").status == "missing"
        run = bridge.run_plan(asked, resume=tmp_path / "run.json", given={"x": 1})
    assert (run.status, len(run.results[0])) == ("finished", 1)


def test_no_file_is_written_that_nobody_could_read_again(
    gives: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run is not begun anew then: what was made last may have been made, and is asked about."""
    monkeypatch.setattr(run_file, "_MOST_BYTES", 40_000)
    few, many = ({"count": 2_000}, {"count": 4_000})  # 24 and 50 KB
    asked = plan(("f/wide", few), ("f/wide", many), ("f/take", {}))
    with Bridge(gives) as bridge:
        with pytest.raises(RunFileError, match="too large"):
            bridge.run_plan(asked, resume=tmp_path / "run.json")
        run = bridge.run_plan(asked, resume=tmp_path / "run.json")
    assert (run.status, len(run.made)) == ("unknown", 1)


@pytest.mark.parametrize(
    "given",
    [{"1.x": {(1, 2): 3}}, {"1.x": float("nan")}, {"1.x": {1}}, {"9" * 5_000 + ".x": 1}],
    ids=["key", "nan", "set", "number"],
)
def test_what_is_given_and_cannot_be_sent_is_refused_before_anything_is_done(
    given: dict[str, Any], gives: dict[str, Any], tmp_path: Path
) -> None:
    with Bridge(gives) as bridge, pytest.raises(BadSetting):
        bridge.run_plan(plan(("f/take", {})), resume=tmp_path / "run.json", given=given)
    assert not (tmp_path / "run.json").exists()


def test_of_many_arguments_that_are_missing_only_some_are_named(gives: dict[str, Any]) -> None:
    lacking = {f"a{n}": {"missing": "?"} for n in range(5_000)}
    with Bridge(gives) as bridge:
        run = bridge.run_plan(plan(("f/take", lacking)))
    assert "and 4,988 more" in run.problem
    assert len(run.lacking) == 5_000
