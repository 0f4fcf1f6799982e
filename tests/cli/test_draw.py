"""`plan draw` writes a workflow, never over a user's file, and reports missing parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.canvas_file import load, nodes_of
from tests.support.commands import Cli, write_settings
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
def project(folder: Path) -> Path:
    """A project whose settings have the server `library`."""
    write_settings(folder, {"library": {"command": "no-such-program"}})
    return folder


def write(name: str, *lines: Any) -> str:
    Path(name).write_text("\n".join(json.dumps(x) for x in lines) + "\n", encoding="utf-8")
    return name


def record_calls(*arguments: Any, record: str) -> None:
    """Record calls in the history, with the parts that `record` names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XAI_MCP_RECORD", record)
        loaded = load_settings(None)
    recorder = HistoryRecorder(find_place(loaded), str, record=loaded.record)
    for values in arguments:
        key = ToolKey("mcp", "library", "search_books")
        recorder.record_call(key, 0.1, "", values, ToolResult(structured={"id": "978-0142"}))
    recorder.close(30)


def test_a_transcript_becomes_a_workflow_beside_it(folder: Path, cli: Cli):
    write("my runs.jsonl", SEARCH, GET)
    status, out, err = cli("plan draw", "my runs.jsonl")
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "Written: my_runs_drawn.xircuits, 2 calls, 1 wire"
    assert "xircuits compile my_runs_drawn.xircuits" in out
    texts = [x["ports"][0]["label"] for x in nodes_of(load(folder / "my_runs_drawn.xircuits"))]
    assert "library/get_book\nbook_id = results[0].books[0].book_id" in texts


def test_an_existing_file_is_replaced_only_with_overwrite(folder: Path, cli: Cli):
    """As by `adopt`: see adopt/test_adopt.py."""
    write("runs.jsonl", SEARCH)
    target = folder / "mine.xircuits"
    target.write_text("mine", encoding="utf-8")
    cli("plan draw runs.jsonl --out mine").fails("mine.xircuits is there already", "--overwrite")
    assert target.read_text(encoding="utf-8") == "mine"
    cli("plan draw runs.jsonl --out mine --overwrite").shows()
    assert nodes_of(load(target))


def test_draw_takes_the_newest_run_of_the_history_or_explains_how_to_record_one(cli: Cli):
    cli("plan draw").fails("There is no history yet", "XAI_MCP_RECORD=arguments,results")
    record_calls({"query": "sea"}, record="none")
    cli("plan draw").fails(
        "made 1 call, but no arguments were recorded", '"record": ["arguments", "results"]',
        "XAI_MCP_TRANSCRIPT",
    )  # fmt: skip
    record_calls({}, {"isbn": "978-0142"}, record="arguments,results")
    cli("plan draw").shows("Written: drawn_run.xircuits, 2 calls, 1 wire")


def test_draw_reports_missing_values_omitted_calls_and_drawn_tools(cli: Cli):
    write(
        "runs.jsonl",
        {**SEARCH, "arguments": {"query": "***"}},
        {**SEARCH, "is_error": True},
        {**SEARCH, "key": {"kind": "tools", "source": "", "name": "shout"}},
    )
    cli("plan draw runs.jsonl").shows(
        "You must give query of library/search_books. It looked like a secret",
        "Left out: library/search_books: it failed.", "canvas/shout: This tool was drawn",
    )  # fmt: skip


def test_a_plan_is_drawn(cli: Cli):
    args = {"book_id": {"call": 0, "field": "books[0].id"}, "day": {"missing": "Which?"}}
    plan = {"calls": [{"tool": "search_books", "args": {}}, {"tool": "lend", "args": args}]}
    Path("plan.json").write_text(json.dumps(plan), encoding="utf-8-sig")
    answer = cli("plan draw plan.json --source library --json").json
    assert (answer["file"], answer["wires"]) == ("plan_drawn.xircuits", 1)
    assert answer["calls"] == ["library/search_books", "library/lend"]
    missing = {"tool": "library/lend", "parameter": "day", "why": "Which?"}
    assert answer["missing"] == [missing]


def test_draw_lists_runs_and_draws_the_named_one(cli: Cli):
    started = {"run": "r2", "agent": "helper", "event": "RunStarted", "asked": "Find a book."}
    write("runs.jsonl", SEARCH, started, {**GET, "run": "r2"})
    lines = cli("plan draw runs.jsonl --list").out.splitlines()
    assert lines == ["r1, helper, 1 call", "r2, helper, 1 call: Find a book."]
    answer = cli("plan draw runs.jsonl --run r1 --json").json
    assert answer["calls"] == ["library/search_books"]
    cli("plan draw runs.jsonl --run r9").fails("There is no run 'r9'")


OF_MEMORY = {
    "event": "ToolFinished", "run": "r", "source": "canvas", "arguments": {},
    "key": {"kind": "meta", "source": "", "name": "lookup_memory"},
}  # fmt: skip


def test_a_file_that_cannot_be_drawn_is_refused(cli: Cli):
    for name, text, says in (
        ("gone.jsonl", None, "cannot be read"),
        ("empty.jsonl", "", "has no calls of tools"),
        ("words.txt", "hello", "has no calls of tools"),
        ("drawn.xircuits", '{"layers": []}', "has no calls of tools"),
        ("none.json", '{"calls": []}', "has no calls"),
        ("memory.jsonl", json.dumps(OF_MEMORY), "has no call that can be repeated"),
        ("plan.json", '{"calls": [{"tool": "x", "args": {}}]}', "does not name its server"),
        ("slip.json", '{"calls": [{"tol": "x"}]}', "slip.json: Call 1"),
        ("deep.json", "[" * 100_000, ""),
    ):
        if text is not None:
            Path(name).write_text(text, encoding="utf-8")
        cli(f"plan draw {name}").fails(says)
    write("shout.json", {"calls": [{"tool": "canvas/shout", "args": {}}]})
    cli("plan draw shout.json --tools-from drawn.xircuits").fails(
        "drawn.xircuits is no workflow of Xircuits: layers"
    )


def test_secrets_of_a_conversation_are_not_drawn(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    """A transcript is masked already; a conversation is not."""
    token = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    monkeypatch.setenv("SHOP_TOKEN", "zebra-crossing-77")
    arguments = {
        "user": "ada", "password": "hunter2hunter2", "note": f"use {token}",
        "also": "zebra-crossing-77",
    }  # fmt: skip
    call = {"id": "1", "function": {"name": "shop_login", "arguments": json.dumps(arguments)}}
    talk = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "fine"},
    ]
    Path("talk.json").write_text(json.dumps(talk))
    assert cli("plan draw talk.json").status == 0
    text = (folder / "talk_drawn.xircuits").read_text()
    assert "ada" in text
    assert not [x for x in ("hunter2", "sk-proj", "zebra-crossing") if x in text]
