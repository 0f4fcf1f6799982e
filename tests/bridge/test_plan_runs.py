"""Plans over real servers, run by the agent loop: judged as an agent's calls, never made twice."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
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
from xai_mcp_agent.agent.run_file import WaitingRun
from xai_mcp_agent.planning import BadPlan, Lacking, plan_from_json

ROOT = Path(__file__).parents[2]
LIBRARY = {
    "command": sys.executable, "args": [str(ROOT / "examples" / "servers" / "library.py")],
}  # fmt: skip
_SECONDS = 60.0

Journal = Callable[[], list[str]]


def plan(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"request": "Do it.", "calls": [{"tool": x, "args": y} for x, y in calls]}


def taken(field: str | None, how: str = "") -> dict[str, Any]:
    return {"call": 0, "conversion": how, **({} if field is None else {"field": field})}


SEA = plan(
    ("library/search_books", {"query": "sea"}),
    ("library/get_book", {"book_id": taken("books[].book_id")}),
)
TIDY = plan(
    ("shredder/file_away", {"paper": "the deed"}),
    ("shredder/shred", {"paper": {"missing": "Which paper goes?"}}),
    ("shredder/count", {}),
)
SHREDDING = plan(
    ("shredder/file_away", {"paper": "the deed"}),
    ("shredder/shred", {"paper": "a library"}),
    ("shredder/count", {}),
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    file = tmp_path / "journal"
    return lambda: file.read_text(encoding="utf-8").splitlines() if file.exists() else []


@pytest.fixture
def shredder(tmp_path: Path) -> dict[str, Any]:
    return dict(shredder_entry(tmp_path / "journal"))


@pytest.fixture
def bridge(shredder: dict[str, Any]) -> Iterator[Bridge]:
    with bridge_with(shredder=shredder) as opened:
        yield opened


@pytest.fixture(scope="module")
def gives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    """A function that answers what it is told, and one that says what it got."""
    file = tmp_path_factory.mktemp("functions") / "gives.py"
    file.write_text(
        "import json\n"
        "def give(answer: object) -> object:\n    return answer\n"
        "def wide(count: int) -> str:\n    return json.dumps([{'id': 'x' * 80}] * count)\n"
        "def take(it_id: object = None) -> str:\n    return json.dumps({'took': it_id})\n",
        encoding="utf-8",
    )
    with Bridge({"functions": {"f": {"file": str(file)}}}) as opened:
        yield opened


def test_a_plan_is_carried_out_over_real_servers() -> None:
    with bridge_with(library=LIBRARY) as bridge:
        run = bridge.run_plan(SEA)
        found, book = run.results
        assert book["title"] == found["books"][0]["title"]
        assert run.is_finished
        assert book["title"] in run.text
        assert bridge.run_plan(plan_from_json(SEA)).results == run.results


BOOKS = {"books": [{"id": 3, "title": "Moby-Dick"}]}


@pytest.mark.parametrize(
    ("field", "answer", "how", "took"),
    [
        ("", "ahoy", "", "ahoy"),
        ("books[].id", BOOKS, "", 3),
        ("n", {"n": 5}, "written as text", "5"),
        ("n", {"n": "5"}, "read as a number", 5),
        ("n", {"n": 5}, "put in a list", [5]),
        ("odd name.{key}", {"odd name": {"x": 1}}, "", 1),
        (None, {"found": [{"itId": "i1"}, {"itId": "i2"}]}, "", "i1"),
        (None, {"name": "Ada"}, "", {"name": "Ada"}),
    ],
    ids=str,
)
def test_an_argument_is_a_part_of_an_earlier_result(
    gives: Bridge, field: str | None, answer: Any, how: str, took: Any
) -> None:
    asked = plan(
        ("f/give", {"answer": {"value": answer}}), ("f/take", {"it_id": taken(field, how)})
    )
    run = gives.run_plan(asked)
    assert run.is_finished, run.problem
    assert run.result == {"took": took}


def test_a_reference_is_to_the_whole_result_and_not_to_what_is_shown_of_it(gives: Bridge) -> None:
    asked = plan(("f/wide", {"count": 9_000}), ("f/take", {"it_id": taken("[8999].id")}))
    assert gives.run_plan(asked).result == {"took": "x" * 80}


def test_calls_that_only_read_are_made_together_and_others_in_their_turn(tmp_path: Path) -> None:
    """Two that read wait for each other; the one that writes comes after, alone."""
    file = tmp_path / "pairs.py"
    file.write_text(_PAIRS, encoding="utf-8")
    server = {"command": sys.executable, "args": [str(file)]}
    nothing = dict[str, Any]()
    asked = plan(*[(f"pairs/{x}", nothing) for x in ("write", "meet", "meet", "write")])
    with bridge_with(pairs=server) as bridge:
        run = bridge.run_plan(asked)
    assert [x["result"] for x in run.results] == [0, 2, 2, 2]


_PAIRS = """
import anyio
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("pairs", log_level="CRITICAL")
met, both = [], anyio.Event()

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def meet() -> int:
    "Wait for the other one."
    met.append(1)
    if len(met) == 2:
        both.set()
    with anyio.fail_after(20):
        await both.wait()
    return len(met)

@server.tool()
def write() -> int:
    "Write down how many met."
    return len(met)

server.run("stdio")
"""


@pytest.mark.parametrize(
    ("bad", "error", "says"),
    [
        (plan(("shredder/count", {}), ("shreder/x", {})), UnknownServer, "shredder"),
        (plan(("shredder/count", {}), ("shredder/shrad", {})), UnknownTool, "'shred'"),
        (plan(("shredder/file_away", {"paper": "x"}), ("count", {})), BadPlan, "its server"),
        ({"calls": "all"}, BadPlan, "no `calls`"),
    ],
    ids=str,
)
def test_a_plan_with_a_call_that_cannot_be_made_calls_nothing(
    bad: dict[str, Any], error: type[Exception], says: str, bridge: Bridge, journal: Journal
) -> None:
    with pytest.raises(error, match=says):
        bridge.run_plan(bad)
    assert journal() == []


def test_tools_that_are_off_blocked_or_denied_stop_a_plan_before_it_begins(
    shredder: dict[str, Any], journal: Journal
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


def test_it_stops_at_what_is_missing_then_waits_and_goes_on_in_another_process(
    tmp_path: Path, shredder: dict[str, Any], journal: Journal
) -> None:
    state = tmp_path / "tidy.run.json"
    with bridge_with(shredder=shredder) as bridge:
        run = bridge.run_plan(TIDY, resume=state)
        assert (run.status, run.lacking) == ("missing", (Lacking(1, "paper", "Which paper goes?"),))
        assert run.problem == (
            "Call 2, shredder/shred, was not made: `paper` is missing: Which paper goes? Give "
            "`2.paper`, and run the plan again: it goes on there."
        )
        run = bridge.run_plan(TIDY, resume=state, given={"paper": "the will"})
        assert run.status == "waiting"
        assert run.awaiting is not None
        assert run.awaiting.request.arguments == {"paper": "the will"}
    assert journal() == ["filed the deed"]
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    WaitingRun.read(state).answered(1, "once", by="a test").write()
    answered = state.read_bytes()
    told = child(tmp_path, shredder, TIDY, state)
    assert told["status"] == "finished"
    assert told["results"][:2] == [{"result": "filed the deed"}, {"result": "shredded the will"}]
    assert child(tmp_path, shredder, TIDY, state) == told
    state.write_bytes(answered)
    with (
        bridge_with(shredder=shredder) as bridge,
        pytest.raises(RunFileError, match="already used"),
    ):
        bridge.run_plan(TIDY, resume=state)
    assert journal() == ["filed the deed", "shredded the will"]


def test_what_a_person_refuses_is_not_called(shredder: dict[str, Any], journal: Journal) -> None:
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> Any:
        asked.append(request)
        return "no"

    with Bridge({"mcpServers": {"shredder": shredder}}, approve=approve) as bridge:
        run = bridge.run_plan(TIDY, given={"2.paper": "the will"}, agent="tidier")
    assert (run.status, asked[0].agent) == ("failed", "tidier")
    assert "was not approved" in run.problem
    assert journal() == ["filed the deed"]


def test_a_call_that_was_under_way_when_its_process_was_killed_is_not_repeated(
    tmp_path: Path, shredder: dict[str, Any], journal: Journal
) -> None:
    state, entry = tmp_path / "run.json", {**shredder, "approval": {"*": "allow"}}
    process = start_child(tmp_path, entry, SHREDDING, state)
    try:
        wait_until(lambda: len(journal()) == 2, "the library is being shredded", _SECONDS)
        with bridge_with(shredder=entry) as bridge, pytest.raises(RunFileError, match="in use"):
            bridge.run_plan(SHREDDING, resume=state)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=_SECONDS)
    told = child(tmp_path, entry, SHREDDING, state)
    assert told["status"] == "unknown"
    assert "Call 2, shredder/shred, may have been carried out" in told["problem"]
    assert journal() == ["filed the deed", "shredded a library"]


def test_a_server_that_dies_in_the_middle_of_a_plan_has_no_call_repeated(tmp_path: Path) -> None:
    (tmp_path / "mortal.py").write_text(_MORTAL)
    made = tmp_path / "made"
    mortal = {"command": sys.executable, "args": [str(tmp_path / "mortal.py"), str(made)]}
    steps = plan(*[("mortal/step", {"number": n}) for n in range(8)])
    with bridge_with(mortal=mortal) as bridge:
        run = bridge.run_plan(steps, resume=tmp_path / "state")
        assert (run.status, len(run.made)) == ("unknown", 4)
        assert bridge.run_plan(steps, resume=tmp_path / "state").status == "unknown"
        with pytest.raises(BadSetting, match="Call 1 cannot be made again"):
            bridge.run_plan(steps, resume=tmp_path / "state", again=1)
        assert bridge.run_plan(steps, resume=tmp_path / "state", again=5).is_finished
    assert made.read_text().split() == [str(n) for n in (*range(5), *range(4, 8))]


_MORTAL = """
import os, sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("mortal", log_level="CRITICAL")

@server.tool()
def step(number: int) -> str:
    "Take a step."
    with open(sys.argv[1], "a") as file:
        print(number, file=file)
    if number == 4 and not os.path.exists(sys.argv[1] + ".died"):
        open(sys.argv[1] + ".died", "x").close()
        os._exit(1)
    return f"step {number}"

server.run("stdio")
"""


def test_a_call_that_fails_is_made_anew_with_another_argument() -> None:
    asked = plan(("library/get_book", {"book_id": "x"}))
    with bridge_with(library=LIBRARY) as bridge:
        run = bridge.run_plan(asked)
        assert run.status == "failed"
        assert "Wrong arguments for get_book" in run.problem
        assert "give another value for `1.book_id`, and run it again" in run.problem
        again = bridge.run_plan(asked, resume=run, given={"1.book_id": 14})
        assert again.result["title"] == "Moby-Dick"


def test_a_result_without_the_part_is_something_to_give(gives: Bridge) -> None:
    asked = plan(("f/give", {"answer": []}), ("f/take", {"it_id": taken("x.y")}))
    run = gives.run_plan(asked)
    assert (run.status, run.lacking[0].parameter) == ("missing", "it_id")
    assert gives.run_plan(asked, resume=run, given={(1, "it_id"): 9}).result == {"took": 9}


@pytest.mark.parametrize("how", ["changed", "other plan", "pipe"])
def test_a_file_that_is_not_of_this_run_calls_nothing(
    how: str, bridge: Bridge, tmp_path: Path, journal: Journal
) -> None:
    state, other = tmp_path / "state", tmp_path / "other"
    missing = [("shredder/file_away", {"paper": {"missing": "Which?"}})] * 3
    bridge.run_plan(plan(*missing[:2]), resume=state)
    bridge.run_plan(plan(*missing), resume=other)
    data = state.read_bytes()
    state.unlink()
    match how:
        case "changed":
            state.write_bytes(data.replace(b'"given": []', b'"given": [[0, "paper", "x"]]'))
        case "other plan":
            other.rename(state)
        case _:
            os.mkfifo(state)
    with pytest.raises((RunFileError, BadSetting)):
        bridge.run_plan(plan(*missing[:2]), resume=state, given={"1.paper": "a", "2.paper": "b"})
    assert journal() == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"1.it_id": float("nan")}, "cannot be sent"),
        ({"9" * 5_000 + ".x": 1}, "no place for"),
        ({"2.it_id": 1}, "Did you mean '1.it_id'"),
        ({"1.it": 1}, "has no parameter for '1.it'"),
    ],
    ids=["nan", "number", "call", "parameter"],
)
def test_what_is_given_and_has_no_place_is_refused_before_anything_is_done(
    given: dict[Any, Any], says: str, gives: Bridge, tmp_path: Path
) -> None:
    asked = plan(("f/take", {"it_id": {"missing": "What?"}}))
    with pytest.raises(BadSetting, match=says):
        gives.run_plan(asked, resume=tmp_path / "run.json", given=given)
    assert not (tmp_path / "run.json").exists()


# Another process


def start_child(
    folder: Path, entry: dict[str, Any], what: dict[str, Any], state: Path
) -> subprocess.Popen[str]:
    told = {"entry": entry, "plan": what, "state": str(state)}
    (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-c", "from tests.bridge.test_plan_runs import run_here; run_here()"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PLAN_TOLD": str(folder / "told.json")},
    )  # fmt: skip


def child(folder: Path, entry: dict[str, Any], what: dict[str, Any], state: Path) -> Any:
    process = start_child(folder, entry, what, state)
    said, _ = process.communicate(timeout=_SECONDS)
    return json.loads(said)


def run_here() -> None:
    """What the other process does."""
    told = json.loads(Path(os.environ["PLAN_TOLD"]).read_text(encoding="utf-8"))
    with bridge_with(shredder=told["entry"]) as bridge:
        run = bridge.run_plan(told["plan"], resume=told["state"])
    print(json.dumps({"status": run.status, "results": run.results, "problem": run.problem}))
