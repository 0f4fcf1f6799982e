"""`tools suggest`, `check-wires` and `explain --request`: asked at the example library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.support.warm_python import warm_python

SERVERS = Path(__file__).parents[2] / "examples" / "servers"


@pytest.fixture
def settings(tmp_path: Path) -> str:
    entries = {"library": {"command": warm_python(), "args": [str(SERVERS / "library.py")]}}
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    return str(file)


def test_what_comes_next_is_suggested_with_reasons(settings: str, capsys: Any) -> None:
    words = ["tools", "suggest", "library/search_books", "--request", "lend a book"]
    status, out, _ = command(capsys, *words, "--settings", settings)
    assert status == 0
    assert out.startswith("1.00  library/borrow_book\n")
    _, out, _ = command(capsys, *words, "--json", "--settings", settings)
    best = json.loads(out)["found"][0]
    assert (best["server"], best["name"], bool(best["reasons"])) == ("library", "borrow_book", True)
    status, _, err = command(capsys, "tools", "suggest", "--settings", settings)
    assert status == 2
    assert "--request" in err


def test_a_plan_is_checked_and_the_exit_status_tells(
    settings: str, tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "plan.json"
    arguments = {"reader": {"value": "Ada"}, "book": {"value": 3}}
    plan = {"calls": [{"tool": "library/borrow_book", "args": arguments}]}
    file.write_text(json.dumps(plan), encoding="utf-8")
    status, out, _ = command(capsys, "plan", "check", str(file), "--settings", settings)
    assert status == 1
    assert "Call 1, library/borrow_book: borrow_book takes no 'book'" in " ".join(out.split())
    assert "needs 'book_id'" in " ".join(out.split())
    arguments["book_id"] = arguments.pop("book")
    file.write_text(json.dumps(plan), encoding="utf-8")
    status, out, _ = command(capsys, "plan", "check", str(file), "--json", "--settings", settings)
    assert (status, json.loads(out)) == (0, {"problems": [], "checked": 1, "calls": 1})


@pytest.mark.parametrize(
    ("name", "text", "told", "wanted"),
    [
        ("none.json", '{"calls": []}', "It has no calls to check", 0),
        ("empty.xircuits", "", "is no workflow of Xircuits: it is empty", 1),
        ("other.xircuits", "{}", "it has no 'layers'", 1),
        (
            "slip.json",
            '{"calls": [{"tool": "libary/get_book", "args": {}}]}',
            "Did you mean 'library/",
            1,
        ),
    ],
)
def test_a_file_without_calls_to_check_is_reported(
    settings: str, tmp_path: Path, capsys: Any, name: str, text: str, told: str, wanted: int
) -> None:
    (tmp_path / name).write_text(text)
    words = ("plan", "check", str(tmp_path / name), "--settings", settings)
    status, out, err = command(capsys, *words)
    shown = " ".join((out + err).split())
    assert (status, told in shown, "?." in shown) == (wanted, True, False), shown


def test_a_file_that_is_not_there_is_reported(settings: str, tmp_path: Path, capsys: Any) -> None:
    for name in ("no.json", "no.xircuits"):
        status, _, err = command(
            capsys, "plan", "check", str(tmp_path / name), "--settings", settings
        )
        assert status == 1
        assert f"{name} cannot be read" in " ".join(err.split())


def test_why_a_tool_is_chosen_is_reported(settings: str, capsys: Any) -> None:
    words = ["tools", "explain", "library", "borrow_book", "--request", "lend a book to Ada"]
    status, out, _ = command(capsys, *words, "--settings", settings)
    assert status == 0
    assert "A search for this finds library/borrow_book first" in " ".join(out.split())
    _, out, _ = command(capsys, *words, "--json", "--settings", settings)
    assert json.loads(out)["is_chosen"] is True
