"""`xai-mcp-agent tools select`: which tools a request would show, and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.test_search import settings
from tests.cli.test_servers import command

__all__ = ["settings"]


def test_within_the_budget_everything_is_shown(settings: str, capsys: Any) -> None:
    status, out, err = command(capsys, "tools", "select", "lend a book", "--settings", settings)
    assert out.startswith("8 of 8 tools shown, ")
    assert "library_borrow_book: " in out
    assert "all tools fit" in out
    assert "bad" in err
    assert status == 1


@pytest.mark.parametrize(
    "words", [("tools", "select", "lend a book"), ("ask", "Convert 5 miles to km")]
)
def test_a_variable_that_is_no_budget_is_reported(
    settings: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, caplog: Any, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("XAI_TOOL_BUDGET", "nonsense")
    _, _, err = command(capsys, *words, "--settings", settings)
    assert "XAI_TOOL_BUDGET=nonsense is not a whole number above 0, so 3800" in err + caplog.text


def test_with_less_the_tools_for_the_question_are_shown(settings: str, capsys: Any) -> None:
    words = (
        "tools",
        "select",
        "lend a book to a reader",
        "--budget",
        "500",
        "--settings",
        settings,
    )
    _, out, _ = command(capsys, *words)
    assert "library_borrow_book: " in out
    assert "found or used" in out
    assert "can be found with tool_search." in out
    shown = json.loads(command(capsys, *words, "--json")[1])
    assert shown["tokens"] <= shown["budget_tokens"] == 500
    assert shown["tokens"] == sum(x["tokens"] for x in shown["shown"])
    names = [{x["name"] for x in shown[part]} for part in ("shown", "left_out", "deferred")]
    assert len(set.union(*names)) == sum(map(len, names)) == 10
    assert len(shown["unusable"]) == 1


def test_a_budget_too_small_for_anything_says_what_has_no_room(settings: str, capsys: Any) -> None:
    _, out, _ = command(capsys, "tools", "select", "miles", "--budget", "1", "--settings", settings)
    assert out.startswith("0 of 10 tools shown, 0 of 1 tokens.")
    assert "No room for:" in out


@pytest.mark.parametrize("budget", ["0", "-5", "many"])
def test_a_budget_that_is_invalid_is_wrong_usage(budget: str, settings: str, capsys: Any) -> None:
    status, _, _ = command(
        capsys, "tools", "select", "x", "--budget", budget, "--settings", settings
    )
    assert status == 2
