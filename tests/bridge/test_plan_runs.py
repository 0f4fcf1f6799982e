"""Plans run over real servers: calls are judged like an agent's, and none is made twice."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.policy.shredding import Clerk
from tests.support.bridges import bridge_with
from tests.support.processes import wait_until
from tests.support.shredder_server import shredder_entry
from tests.support.warm_python import python_entry, warm_python
from xai_mcp_agent import BadSetting, Bridge, RunFileError, ToolDisabled, UnknownServer, UnknownTool
from xai_mcp_agent.agent.run_file import WaitingRun
from xai_mcp_agent.planning import BadPlan, MissingArgument, plan_from_json

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "examples" / "servers" / "library.py"
_SECONDS = 60.0

Journal = Callable[[], list[str]]


def plan(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"request": "Do it.", "calls": [{"tool": x, "args": y} for x, y in calls]}


def of_first(field: str | None, conversion: str = "") -> dict[str, Any]:
    """Return an argument that is a part of the first call's result."""
    return {"call": 0, "conversion": conversion, **({} if field is None else {"field": field})}


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
    with bridge_with(shredder=shredder) as bridge:
        yield bridge


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridge]:
    """A function that returns its argument, and one that reports it."""
    file = tmp_path_factory.mktemp("functions") / "gives.py"
    file.write_text(
        "import json\n"
        "def give(answer: object) -> object:\n    return answer\n"
        "def wide(count: int) -> str:\n    return json.dumps([{'id': 'x' * 80}] * count)\n"
        "def take(it_id: object = None) -> str:\n    return json.dumps({'took': it_id})\n",
        encoding="utf-8",
    )
    with Bridge({"functions": {"f": {"file": str(file)}}}) as bridge:
        yield bridge


def test_a_plan_runs_over_a_real_server_and_a_failed_call_is_made_anew() -> None:
    sea = plan(
        ("library/search_books", {"query": "sea"}),
        ("library/get_book", {"book_id": of_first("books[].book_id")}),
    )
    with bridge_with(library=python_entry(LIBRARY)) as bridge:
        run = bridge.run_plan(sea)
        books, book = run.results
        assert book["title"] == books["books"][0]["title"]
        assert run.is_finished
        assert book["title"] in run.text
        assert bridge.run_plan(plan_from_json(sea)).results == run.results
        request = plan(("library/get_book", {"book_id": "x"}))
        run = bridge.run_plan(request)
        assert run.status == "failed"
        assert "Wrong arguments for get_book" in run.problem
        assert "give another value for `1.book_id`, and run it again" in run.problem
        again = bridge.run_plan(request, resume=run, given={"1.book_id": 14})
        assert again.result["title"] == "Moby-Dick"


BOOKS = {"books": [{"id": 3, "title": "Moby-Dick"}]}


@pytest.mark.parametrize(
    ("field", "answer", "conversion", "took"),
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
    functions: Bridge, field: str | None, answer: Any, conversion: str, took: Any
) -> None:
    give = ("f/give", {"answer": {"value": answer}})
    run = functions.run_plan(plan(give, ("f/take", {"it_id": of_first(field, conversion)})))
    assert run.is_finished, run.problem
    assert run.result == {"took": took}


def test_a_reference_is_to_the_whole_result_and_a_missing_part_can_be_given(
    functions: Bridge,
) -> None:
    long = plan(("f/wide", {"count": 9_000}), ("f/take", {"it_id": of_first("[8999].id")}))
    assert functions.run_plan(long).result == {"took": "x" * 80}
    without = plan(("f/give", {"answer": []}), ("f/take", {"it_id": of_first("x.y")}))
    run = functions.run_plan(without)
    assert (run.status, run.missing[0].parameter) == ("missing", "it_id")
    assert functions.run_plan(without, resume=run, given={(1, "it_id"): 9}).result == {"took": 9}


def test_calls_that_only_read_are_made_together_and_others_in_their_turn(tmp_path: Path) -> None:
    """The two reading calls wait for each other; the writing one comes after them, alone."""
    file = tmp_path / "pairs.py"
    file.write_text(_PAIRS, encoding="utf-8")
    calls = plan(*[(f"pairs/{x}", {}) for x in ("write", "meet", "meet", "write")])
    with bridge_with(pairs=python_entry(file)) as bridge:
        run = bridge.run_plan(calls)
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


def test_a_plan_with_a_call_that_cannot_be_made_calls_nothing(
    bridge: Bridge, journal: Journal
) -> None:
    count, file_away = ("shredder/count", {}), ("shredder/file_away", {"paper": "x"})
    for bad, error, words in (
        (plan(count, ("shreder/x", {})), UnknownServer, "shredder"),
        (plan(count, ("shredder/shrad", {})), UnknownTool, "'shred'"),
        (plan(file_away, ("count", {})), BadPlan, "its server"),
        ({"calls": "all"}, BadPlan, "no `calls`"),
    ):
        with pytest.raises(error, match=words):
            bridge.run_plan(bad)
    assert journal() == []


def test_tools_that_are_off_blocked_or_denied_stop_a_plan_before_it_begins(
    shredder: dict[str, Any], journal: Journal
) -> None:
    two = plan(("shredder/file_away", {"paper": "x"}), ("shredder/count", {}))
    with bridge_with(shredder=shredder) as bridge:
        bridge.disable("shredder", "count")
        with pytest.raises(ToolDisabled, match=r"Call 2, .*is switched off.*Nothing was called"):
            bridge.run_plan(two)
    blocked = {"toolSearch": {"blocked": ["shredder/count"]}}
    rule = {"name": "no counting", "when": {"tool": "count"}, "then": "deny"}
    for settings in (blocked, {"rules": [rule]}, {"approval": {"count": "deny"}}):
        refusal = pytest.raises(ToolDisabled, match=r"Call 2, .*Nothing was called")
        with Bridge({"mcpServers": {"shredder": shredder}, **settings}) as bridge, refusal:
            bridge.run_plan(two)
    refusal = pytest.raises(ToolDisabled, match=r"held back.*tools accept shredder")
    with bridge_with(shredder={**shredder, "lock": True}) as bridge, refusal:
        bridge.run_plan(two)
    assert journal() == []


def test_a_plan_stops_at_a_missing_argument_then_waits_and_goes_on_with_the_next_bridge(
    tmp_path: Path, shredder: dict[str, Any], journal: Journal
) -> None:
    state = tmp_path / "tidy.run.json"
    with bridge_with(shredder=shredder) as bridge:
        run = bridge.run_plan(TIDY, resume=state)
        missing = MissingArgument(1, "paper", "Which paper goes?")
        assert (run.status, run.missing) == ("missing", (missing,))
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
    answered_run = state.read_bytes()
    with bridge_with(shredder=shredder) as bridge:
        run = bridge.run_plan(TIDY, resume=state)
        assert run.is_finished
        assert run.results[:2] == [{"result": "filed the deed"}, {"result": "shredded the will"}]
        assert bridge.run_plan(TIDY, resume=state).results == run.results
    state.write_bytes(answered_run)
    with (
        bridge_with(shredder=shredder) as bridge,
        pytest.raises(RunFileError, match="already used"),
    ):
        bridge.run_plan(TIDY, resume=state)
    assert journal() == ["filed the deed", "shredded the will"]


def test_a_call_that_a_person_refuses_is_not_made(
    shredder: dict[str, Any], journal: Journal
) -> None:
    clerk = Clerk("no")
    with Bridge({"mcpServers": {"shredder": shredder}}, approve=clerk) as bridge:
        run = bridge.run_plan(TIDY, given={"2.paper": "the will"}, agent="tidier")
    assert (run.status, clerk.requests[0].agent) == ("failed", "tidier")
    assert "was not approved" in run.problem
    assert journal() == ["filed the deed"]


def test_a_call_that_was_under_way_when_its_process_was_killed_is_not_repeated(
    tmp_path: Path, shredder: dict[str, Any], journal: Journal
) -> None:
    state, entry = tmp_path / "run.json", {**shredder, "approval": {"*": "allow"}}
    settings = {"mcpServers": {"shredder": entry}}
    code = f"from xai_mcp_agent import Bridge; Bridge({settings!r})"
    code += f".run_plan({SHREDDING!r}, resume={str(state)!r})"
    process = subprocess.Popen([warm_python(), "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        wait_until(lambda: len(journal()) == 2, "the library is being shredded", _SECONDS)
        with bridge_with(shredder=entry) as bridge, pytest.raises(RunFileError, match="in use"):
            bridge.run_plan(SHREDDING, resume=state)
    finally:
        process.kill()
        process.communicate(timeout=_SECONDS)  # its output ends with its fork of a warm Python
    with bridge_with(shredder=entry) as bridge:
        run = bridge.run_plan(SHREDDING, resume=state)
    assert run.status == "unknown"
    assert "Call 2, shredder/shred, may have been carried out" in run.problem
    assert journal() == ["filed the deed", "shredded a library"]


def test_a_server_that_dies_in_the_middle_of_a_plan_has_no_call_repeated(tmp_path: Path) -> None:
    (tmp_path / "mortal.py").write_text(_MORTAL)
    journal_file = tmp_path / "made"
    steps = plan(*[("mortal/step", {"number": n}) for n in range(8)])
    with bridge_with(mortal=python_entry(tmp_path / "mortal.py", journal_file)) as bridge:
        run = bridge.run_plan(steps, resume=tmp_path / "state")
        assert (run.status, len(run.calls)) == ("unknown", 4)
        assert bridge.run_plan(steps, resume=tmp_path / "state").status == "unknown"
        with pytest.raises(BadSetting, match="Call 1 cannot be made again"):
            bridge.run_plan(steps, resume=tmp_path / "state", again=1)
        assert bridge.run_plan(steps, resume=tmp_path / "state", again=5).is_finished
    assert journal_file.read_text().split() == [str(n) for n in (*range(5), *range(4, 8))]


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


def test_a_file_that_is_not_of_this_run_calls_nothing(
    bridge: Bridge, tmp_path: Path, journal: Journal
) -> None:
    missing = [("shredder/file_away", {"paper": {"missing": "Which?"}})] * 3
    two, state, other = plan(*missing[:2]), tmp_path / "state", tmp_path / "other"
    bridge.run_plan(two, resume=state)
    bridge.run_plan(plan(*missing), resume=other)
    changed = state.read_bytes().replace(b'"given": []', b'"given": [[0, "paper", "x"]]')

    def refuse() -> None:
        with pytest.raises((RunFileError, BadSetting)):
            bridge.run_plan(two, resume=state, given={"1.paper": "a", "2.paper": "b"})
        state.unlink()

    state.write_bytes(changed)
    refuse()
    other.rename(state)
    refuse()
    os.mkfifo(state)
    refuse()
    assert journal() == []


def test_a_value_that_has_no_place_is_refused_before_anything_runs(
    functions: Bridge, tmp_path: Path
) -> None:
    request = plan(("f/take", {"it_id": {"missing": "What?"}}))
    cases: list[tuple[dict[Any, Any], str]] = [
        ({"1.it_id": float("nan")}, "cannot be sent"),
        ({"9" * 5_000 + ".x": 1}, "no place for"),
        ({"2.it_id": 1}, "Did you mean '1.it_id'"),
        ({"1.it": 1}, "has no parameter for '1.it'"),
    ]
    for values, words in cases:
        with pytest.raises(BadSetting, match=words):
            functions.run_plan(request, resume=tmp_path / "run.json", given=values)
    assert not (tmp_path / "run.json").exists()
