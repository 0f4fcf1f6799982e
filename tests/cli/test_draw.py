"""`plan draw`: what it writes, never over a user's file, and what it says is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.support.canvas_file import load, nodes_of
from xai_mcp_agent import ToolKey, ToolResult
from xai_mcp_agent.history.place import find_place
from xai_mcp_agent.history.recording.recorder import HistoryRecorder
from xai_mcp_agent.settings.load import load_settings

KEY = {"kind": "mcp", "source": "library", "name": "search_books"}
SEARCH = {
    "run": "r1", "agent": "helper", "event": "ToolFinished", "tool": "library_search_books",
    "source": "library", "key": KEY, "arguments": {"query": "sea"},
    "text": '{"books": [{"book_id": 14}]}', "is_error": False,
}  # fmt: skip
GET = {**SEARCH, "key": {**KEY, "name": "get_book"}, "arguments": {"book_id": 14}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that knows the server `library`."""
    for name in ("XAI_MCP_STORE", "XAI_MCP_SETTINGS", "XAI_MCP_RECORD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    settings = {"mcpServers": {"library": {"command": "no-such-program"}}}
    Path("mcp_settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return tmp_path


def write(name: str, *lines: Any) -> str:
    Path(name).write_text("\n".join(json.dumps(x) for x in lines) + "\n", encoding="utf-8")
    return name


def called(*arguments: Any, record: str) -> None:
    """Calls in the history, recorded as this says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XAI_MCP_RECORD", record)
        loaded = load_settings(None)
    recorder = HistoryRecorder(find_place(loaded), str, record=loaded.record)
    for given in arguments:
        key = ToolKey("mcp", "library", "search_books")
        recorder.called(key, 0.1, "", given, ToolResult(structured={"id": "978-0142"}))
    recorder.close(30)


def test_a_transcript_becomes_a_workflow_beside_it(folder: Path, capsys: Any) -> None:
    status, out, err = command(capsys, "plan", "draw", write("my runs.jsonl", SEARCH, GET))
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "Written: my_runs_drawn.xircuits, 2 calls, 1 wire"
    assert "xircuits compile my_runs_drawn.xircuits" in out
    texts = [x["ports"][0]["label"] for x in nodes_of(load(folder / "my_runs_drawn.xircuits"))]
    assert "library/get_book\nbook_id = results[0].books[0].book_id" in texts


def test_a_file_that_is_there_is_kept(folder: Path, capsys: Any) -> None:
    target = folder / "mine.xircuits"
    target.write_text("mine", encoding="utf-8")
    runs = write("runs.jsonl", SEARCH)
    status, _, err = command(capsys, "plan", "draw", runs, "--out", "mine")
    assert (status, target.read_text(encoding="utf-8")) == (1, "mine")
    assert "mine.xircuits is there already" in err
    assert "--overwrite" in err
    assert command(capsys, "plan", "draw", runs, "--out", "mine", "--overwrite")[0] == 0
    assert (folder / "mine.xircuits.bak").read_text(encoding="utf-8") == "mine"
    assert nodes_of(load(target))


def test_the_newest_run_of_the_history_is_drawn(folder: Path, capsys: Any) -> None:
    called({}, {"isbn": "978-0142"}, record="arguments,results")
    status, out, _ = command(capsys, "plan", "draw")
    assert status == 0
    assert out.startswith("Written: drawn_run.xircuits, 2 calls, 1 wire")


def test_where_arguments_are_not_recorded_it_says_what_to_switch_on(capsys: Any) -> None:
    called({"query": "sea"}, record="none")
    status, _, err = command(capsys, "plan", "draw")
    assert status == 1
    assert "made 1 call, but with which arguments was not recorded" in err
    assert '"record": ["arguments", "results"]' in err
    assert "XAI_MCP_TRANSCRIPT" in err


def test_where_nothing_ran_it_says_how_to_record(capsys: Any) -> None:
    status, out, err = command(capsys, "plan", "draw")
    assert status == 1
    assert (out, "Nothing is remembered yet" in err) == ("", True)
    assert "XAI_MCP_RECORD=arguments,results" in err


def test_what_is_missing_left_out_and_unknown_is_reported(capsys: Any) -> None:
    lines = [
        {**SEARCH, "arguments": {"query": "***"}},
        {**SEARCH, "is_error": True},
        {**SEARCH, "key": {"kind": "tools", "source": "", "name": "shout"}},
        {**SEARCH, "key": {**KEY, "source": "gone"}},
    ]
    status, out, _ = command(capsys, "plan", "draw", write("runs.jsonl", *lines))
    told = " ".join(out.split())
    assert status == 0
    assert "You must give query of library/search_books. It looked like a secret" in told
    assert "Left out: library/search_books: it failed." in told
    assert "canvas/shout: This tool was drawn" in told
    assert "The settings have no server gone." in told


def test_a_plan_is_drawn(folder: Path, capsys: Any) -> None:
    args = {"book_id": {"call": 0, "field": "books[0].id"}, "day": {"missing": "Which?"}}
    plan = {"calls": [{"tool": "search_books", "args": {}}, {"tool": "lend", "args": args}]}
    file = write("plan.json", plan)
    status, out, _ = command(capsys, "plan", "draw", file, "--source", "library", "--json")
    told = json.loads(out)
    assert status == 0
    assert (told["file"], told["wires"]) == ("plan_drawn.xircuits", 1)
    assert told["calls"] == ["library/search_books", "library/lend"]
    missing = {"tool": "library/lend", "parameter": "day", "why": "Which?"}
    assert told["missing"] == [missing]


def test_runs_are_listed_and_chosen(capsys: Any) -> None:
    other = {**GET, "run": "r2"}
    started = {"run": "r2", "agent": "helper", "event": "RunStarted", "asked": "Find a book."}
    file = write("runs.jsonl", SEARCH, started, other)
    _, out, _ = command(capsys, "plan", "draw", file, "--list")
    assert out.splitlines() == ["r1, helper, 1 call", "r2, helper, 1 call: Find a book."]
    _, out, _ = command(capsys, "plan", "draw", file, "--run", "r1", "--json")
    assert json.loads(out)["calls"] == ["library/search_books"]
    status, _, err = command(capsys, "plan", "draw", file, "--run", "r9")
    assert (status, "There is no run 'r9'" in err) == (1, True)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("gone.jsonl", None, "cannot be read"),
        ("empty.jsonl", "", "empty.jsonl is empty"),
        ("words.txt", "hello", "has no calls of tools"),
        ("drawn.xircuits", '{"layers": []}', "is a workflow already"),
        ("none.json", '{"calls": []}', "has no calls"),
        ("plan.json", '{"calls": [{"tool": "x", "args": {}}]}', "does not name its server"),
        ("slip.json", '{"calls": [{"tol": "x"}]}', "slip.json: Call 1"),
    ],
)
def test_what_cannot_be_drawn_is_reported(
    name: str, text: str | None, says: str, capsys: Any
) -> None:
    if text is not None:
        Path(name).write_text(text, encoding="utf-8")
    status, _, err = command(capsys, "plan", "draw", name)
    assert status == 1
    assert says in err


def test_a_link_of_that_name_is_there_already(tmp_path: Path, capsys: Any) -> None:
    """Wherever it leads, also to where nothing is yet."""
    outside = tmp_path / "outside"
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"calls": [{"tool": "library/list_books", "args": {}}]}))
    (tmp_path / "out.xircuits").symlink_to(outside)
    out = str(tmp_path / "out.xircuits")
    status, _, err = command(capsys, "plan", "draw", str(plan), "--out", out)
    assert (status, "is there already" in err, outside.exists()) == (1, True, False)


def test_what_looks_like_a_secret_in_a_conversation_is_not_written_down(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a transcript it is hidden already; a conversation has all as it was."""
    token = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    monkeypatch.setenv("SHOP_TOKEN", "zebra-crossing-77")
    given = {
        "user": "ada",
        "password": "hunter2hunter2",
        "note": f"use {token}",
        "also": "zebra-crossing-77",
    }
    asked = {"id": "1", "function": {"name": "shop_login", "arguments": json.dumps(given)}}
    talk = [
        {"role": "assistant", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "1", "content": "fine"},
    ]
    (tmp_path / "talk.json").write_text(json.dumps(talk))
    out = tmp_path / "talk.xircuits"
    status, _, _ = command(capsys, "plan", "draw", str(tmp_path / "talk.json"), "--out", str(out))
    written = out.read_text()
    assert status == 0
    assert "ada" in written
    for secret in ("hunter2", "sk-proj", "zebra-crossing"):
        assert secret not in written


@pytest.mark.parametrize("text", ["[" * 100_000, '{"calls": ' + "[" * 100_000, "deep"])
def test_what_is_nested_too_deeply_is_reported(tmp_path: Path, capsys: Any, text: str) -> None:
    if text == "deep":
        value: Any = {}
        for _ in range(400):
            value = {"a": [value]}
        text = json.dumps({"calls": [{"tool": "shop/x", "args": {"v": value}}]})
    (tmp_path / "plan.json").write_text(text)
    out = str(tmp_path / "x.xircuits")
    status, _, err = command(capsys, "plan", "draw", str(tmp_path / "plan.json"), "--out", out)
    assert (status, err.startswith("error: ")) == (1, True)
