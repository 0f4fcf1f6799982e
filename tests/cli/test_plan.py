"""`xai-mcp-agent plan make`: the calls that a request asks for, as text, JSON and a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_search import settings
from tests.cli.test_servers import command
from tests.support.model_endpoint import fails, model_endpoint, says
from xai_mcp_agent.planning import read_plan

__all__ = ["settings"]

LEND = "Search books about the sea and borrow one for reader R2"


def test_a_plan_is_reported_with_what_is_missing_and_which_server_failed(
    settings: str, capsys: Any
) -> None:
    status, out, err = command(capsys, "plan", "make", LEND, "--settings", settings)
    assert out.startswith(f"A rough plan for: {LEND}\n1. library/search_books\n")
    assert "book_id: " in out
    assert "of call 1" in out
    assert "without a language model" in out
    assert err.startswith("error: bad: it failed while")
    assert ("exited with code 3" in err, "bad: " in out) == (True, False)
    assert status == 1, "as of `tools`, `search` and `suggest`"


def test_where_all_servers_can_be_used_the_status_is_0(settings: str, capsys: Any) -> None:
    words = ("plan", "make", LEND, "--server", "library", "--settings", settings)
    assert command(capsys, *words)[::2] == (0, "")


def test_a_server_that_alone_is_planned_with_and_fails_is_reported(
    settings: str, capsys: Any
) -> None:
    words = ("plan", "make", LEND, "--server", "bad", "--settings", settings)
    status, out, err = command(capsys, *words)
    assert status == 1
    assert "Nothing is to be called." in out
    assert "bad: " in err


def test_a_plan_is_written_to_a_file_and_one_that_is_there_is_kept(
    settings: str, tmp_path: Path, capsys: Any
) -> None:
    file = tmp_path / "plan.json"
    file.write_text("mine", encoding="utf-8")
    words = ("plan", "make", LEND, "--out", str(file), "--json", "--settings", settings)
    _, out, err = command(capsys, *words)
    shown = json.loads(out)
    assert list(shown.pop("failed")) == ["bad"]
    assert shown == json.loads(file.read_text(encoding="utf-8"))
    assert [x.name for x in read_plan(file).calls][:2] == ["search_books", "borrow_book"]
    (kept,) = tmp_path.glob("plan.json.bak")
    assert str(kept) in err.replace("\n", "")
    status, _, err = command(capsys, *words[:4], str(tmp_path / "no" / "x"), "--settings", settings)
    assert (status, "cannot be written" in err) == (1, True)


def test_only_the_named_servers_are_planned_with(settings: str, capsys: Any) -> None:
    status, out, _ = command(
        capsys, "plan", "make", LEND, "--server", "units", "--settings", settings
    )
    assert "library/" not in out
    assert "Nothing is to be called." in out
    assert status == 1
    status, _, err = command(
        capsys, "plan", "make", LEND, "--server", "untis", "--settings", settings
    )
    assert (status, "units" in err) == (1, True)


def test_a_model_is_asked_and_where_it_fails_that_is_reported(settings: str, capsys: Any) -> None:
    answer = {"calls": [{"tool": "search_books", "args": {"query": "sea"}}]}
    with model_endpoint([says(json.dumps(answer)), fails(400, {"message": "no"})]) as endpoint:
        words = (
            "plan",
            "make",
            LEND,
            "--model",
            "openai:scripted",
            "--base-url",
            endpoint.base_url,
        )
        _, out, _ = command(capsys, *words, "--settings", settings)
        assert out.startswith("A plan for: ")
        assert "planned by openai scripted" in out
        assert "2. " not in out
        _, out, _ = command(capsys, *words, "--settings", settings)
        assert out.startswith("A rough plan for: ")
        assert "this rough one stands" in out.replace("\n  ", " ")


def test_a_provider_alone_is_wrong_usage(settings: str, capsys: Any) -> None:
    status, out, err = command(
        capsys, "plan", "make", LEND, "--model", "openai", "--settings", settings
    )
    assert (status, out) == (2, "")
    assert "Write openai:NAME" in err


def test_a_model_without_a_key_is_reported(
    settings: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    words = ("plan", "make", LEND, "--model", "openai:x", "--settings", settings, "--json")
    told = " ".join(json.loads(command(capsys, *words)[1])["reasons"])
    assert "Set OPENAI_API_KEY in the file .env beside mcp_settings.json" in told


def test_nothing_is_planned_for_no_words(settings: str, capsys: Any) -> None:
    status, _, err = command(capsys, "plan", "make", "  ", "--settings", settings)
    assert (status, "Say what is to be done" in err) == (2, True)
