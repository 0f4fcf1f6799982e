"""`xai-mcp-agent tools explain`: all there is to know of one tool."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.support.scripts import child_environment
from tests.support.warm_python import warm_python

SERVERS = Path(__file__).parents[2] / "examples" / "servers"
_RUN = "from xai_mcp_agent.cli.main import run; run()"


@pytest.fixture
def settings(tmp_path: Path) -> str:
    entries = {"library": {"command": warm_python(), "args": [str(SERVERS / "library.py")]}}
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    return str(file)


def test_a_person_reads_how_to_call_it_and_since_when_it_is_known(
    settings: str, capsys: Any
) -> None:
    status, out, _ = command(
        capsys, "tools", "explain", "library", "borrow_book", "--settings", settings
    )
    assert status == 0
    text = " ".join(out.split())
    assert text.startswith("library: Borrow a book ")
    assert "borrow_book(book_id: integer, reader: string)" in text
    assert "book_id (integer, required): " in text
    assert 'Example: borrow_book {"book_id": ' in text
    _, again, _ = command(
        capsys, "tools", "explain", "library", "borrow_book", "--settings", settings
    )
    assert "Known since 20" in again
    assert "never called." in again


def test_since_when_it_is_known_is_there_as_soon_as_its_server_answers(tmp_path: Path) -> None:
    """In a process of its own: its history is opened while the tool is there already."""
    (tmp_path / "own.py").write_text("def shout(text: str) -> str:\n    return text.upper()\n")
    settings = {"functions": {"own": {"file": "own.py"}}}
    (tmp_path / "mcp_settings.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-c", _RUN, "tools", "explain", "own", "shout", "--json"],
        cwd=tmp_path, env=child_environment(tmp_path) | {"XAI_MCP_TRUST": "1"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["first_seen"]


def test_a_program_gets_the_definition_and_an_example_that_can_be_called(
    settings: str, capsys: Any
) -> None:
    words = ("library", "get_book", "--json", "--settings", settings)
    shown = json.loads(command(capsys, "tools", "explain", *words)[1])
    assert (shown["server"], shown["name"], shown["calls"]) == ("library", "get_book", 0)
    assert shown["input_schema"]["required"] == ["book_id"]
    example = json.dumps(shown["example"])
    call = ("call", "library", "get_book", example, "--settings", settings)
    assert command(capsys, *call)[0] == 0


@pytest.mark.parametrize(
    ("words", "hint"), [(("library", "borow_book"), "borrow_book"), (("librery", "x"), "library")]
)
def test_what_there_is_not_is_reported_with_the_nearest(
    words: tuple[str, str], hint: str, settings: str, capsys: Any
) -> None:
    status, _, err = command(capsys, "tools", "explain", *words, "--settings", settings)
    assert status == 1
    assert hint in err
