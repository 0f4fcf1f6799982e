"""`search`, `tools select`, `explain` and `suggest`, and plans, with the example servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Cli, write_settings
from tests.support.model_endpoint import model_endpoint, says
from xai_mcp_agent.planning import read_plan

LEND = "Search books about the sea and borrow one for reader R2"


def test_search_shows_the_best_tool_first_also_when_a_server_fails(examples: Path, cli: Cli):
    ran = cli("search 'convert miles'").shows("name matches 'convert'", "bad: ", status=1)
    assert ran.out.startswith("1.00  units: convert_units(")
    answer = cli("search 'borrow a book' --limit 1 --json").json
    (hit,) = answer["found"]
    assert (hit["server"], hit["name"], hit["score"]) == ("library", "borrow_book", 1)
    assert list(answer["failed"]) == ["bad"]
    cli("search xylophone").shows("`xai-mcp-agent tools list` lists all", status=1)


# Selections


def test_select_shows_the_tools_that_fit_the_budget_and_why(examples: Path, cli: Cli):
    cli("tools select 'lend a book'").shows(
        "8 of 8 tools shown, ", "library_borrow_book: ", "all tools fit", "bad", status=1
    )
    line = "tools select 'lend a book to a reader' --budget 500"
    cli(line).shows(
        "library_borrow_book: ", "found or used", "can be found with tool_search.", status=1
    )
    answer = cli(f"{line} --json").json
    assert answer["tokens"] <= answer["budget_tokens"] == 500
    assert len(answer["unusable"]) == 1
    none = ("0 of 10 tools shown, 0 of 1 tokens.", "No room for:")
    cli("tools select miles --budget 1").shows(*none, status=1)
    for budget in ("0", "-5", "many"):
        cli(f"tools select x --budget {budget}").fails(status=2)


def test_a_variable_that_is_not_a_budget_is_reported(
    examples: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("XAI_TOOL_BUDGET", "nonsense")
    err = cli("tools select 'lend a book'").err
    assert "XAI_TOOL_BUDGET=nonsense is not a whole number above 0, so 3800" in err + caplog.text


# One tool


def test_explain_shows_how_to_call_a_tool_and_when_it_was_first_seen(examples: Path, cli: Cli):
    cli("tools explain library borrow_book").shows(
        "library: Borrow a book ", "borrow_book(book_id: integer, reader: string)",
        "book_id (integer, required): ", 'Example: borrow_book {"book_id": ', "Known since 20",
        "never called.", "Its source says: it changes something, ",
    )  # fmt: skip
    line = "tools explain library borrow_book --request 'lend a book to Ada'"
    cli(line).shows("A search for this finds library/borrow_book first")
    assert cli(f"{line} --json").json["is_chosen"] is True
    answer = cli("tools explain library get_book --json").json
    assert (answer["server"], answer["name"], answer["calls"]) == ("library", "get_book", 0)
    cli("call library get_book", json.dumps(answer["example"])).shows()
    cli('call library borrow_book book_id=14 "reader=Nobody"')
    assert ".." not in cli("tools explain library borrow_book").shows("1 failed, the last: ").out
    cli("tools explain library borow_book").fails("borrow_book")
    cli("tools explain librery x").fails("library")


def test_explain_knows_when_a_new_tool_was_first_seen(folder: Path, cli: Cli):
    """The history is opened after the tool is listed."""
    (folder / "own.py").write_text("def shout(text: str) -> str:\n    return text.upper()\n")
    write_settings(folder, {}, functions={"own": {"file": "own.py"}})
    assert cli("tools explain own shout --json").json["first_seen"]


def test_suggest_names_the_next_tool_and_why(examples: Path, cli: Cli):
    out = cli("tools suggest library/search_books --request 'lend a book'").out
    assert out.startswith("1.00  library/borrow_book\n")
    cli("tools suggest").fails("--request", status=2)


# Plans


def test_a_plan_shows_missing_values_and_failed_servers(examples: Path, cli: Cli):
    status, out, err = cli("plan make", LEND)
    assert out.startswith(f"A rough plan for: {LEND}\n1. library/search_books\n")
    assert all(x in out for x in ("book_id: ", "of call 1", "without a language model"))
    assert err.startswith("error: bad: it failed while")
    assert ("bad: " in out, status) == (False, 1)
    assert cli("plan make", LEND, "--server", "library")[::2] == (0, "")
    for server, text in (
        ("bad", "bad: "),
        ("units", "There is nothing to call."),
        ("untis", "uni"),
    ):
        assert (
            "library/" not in cli("plan make", LEND, "--server", server).shows(text, status=1).out
        )
    cli("plan make '  '").fails("Say what is to be done", status=2)


def test_a_plan_is_written_to_a_file_and_an_existing_file_is_backed_up(examples: Path, cli: Cli):
    file = examples / "plan.json"
    file.write_text("mine", encoding="utf-8")
    answer = cli("plan make", LEND, "--out", "plan.json", "--json").json
    assert list(answer.pop("failed")) == ["bad"]
    assert answer == json.loads(file.read_text(encoding="utf-8"))
    assert [x.name for x in read_plan(file).calls][:2] == ["search_books", "borrow_book"]
    assert (examples / "plan.json.bak").read_text(encoding="utf-8") == "mine"
    cli("plan make", LEND, "--out", "plan.json/x", "--server", "library").fails("cannot be written")


def test_a_model_makes_the_plan_or_the_draft_explains_why_not(examples: Path, cli: Cli):
    answer = {"calls": [{"tool": "search_books", "args": {"query": "sea"}}]}
    make = ("plan make --server library", LEND, "--model")
    with model_endpoint([says(json.dumps(answer))]) as endpoint:
        ran = cli(*make, "openai:scripted", "--base-url", endpoint.base_url)
    ran.shows("A plan for: ", "planned by openai scripted")
    assert "2. " not in ran.out
    cli(*make, "openai").fails("Write openai:NAME", status=2)
    cli(*make, "openai:x").shows(
        "A rough plan for: ", "this is a draft without it", "Set OPENAI_API_KEY in the file .env"
    )


def test_the_exit_status_of_a_check_says_whether_the_plan_is_sound(examples: Path, cli: Cli):
    arguments = {"reader": {"value": "Ada"}, "book": {"value": 3}}
    plan = {"calls": [{"tool": "library/borrow_book", "args": arguments}]}
    (examples / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    says = ("Call 1, library/borrow_book: borrow_book takes no 'book'", "needs 'book_id'")
    cli("plan check plan.json").shows(*says, status=1)
    arguments["book_id"] = arguments.pop("book")
    (examples / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    cli("plan check plan.json").shows()


def test_a_file_without_calls_to_check_is_reported(examples: Path, cli: Cli):
    for name, text, expected, status in (
        ("none.json", '{"calls": []}', "It has no calls to check", 0),
        ("empty.xircuits", "", "is no workflow of Xircuits: it is empty", 1),
        ("other.xircuits", "{}", "is no workflow of Xircuits: layers: Field required", 1),
        ("list.xircuits", "[]", "list.xircuits is no workflow", 1),
        ("deep.xircuits", "[" * 3000, "deep.xircuits is no workflow", 1),
        ("slip.json", '{"calls": [{"tool": "libary/get_book", "args": {}}]}', "'library/", 1),
        ("no.xircuits", None, "no.xircuits cannot be read", 1),
    ):
        if text is not None:
            (examples / name).write_text(text)
        assert "?." not in cli(f"plan check {name}").shows(expected, status=status).text
