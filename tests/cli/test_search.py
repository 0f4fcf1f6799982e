"""`xai-mcp-agent search`: the tools that do what somebody wants to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.support.warm_python import warm_python

SERVERS = Path(__file__).parents[2] / "examples" / "servers"


@pytest.fixture
def settings(tmp_path: Path) -> str:
    """Two servers that offer tools, and one that cannot be started."""
    entries: dict[str, Any] = {
        name: {"command": warm_python(), "args": [str(SERVERS / f"{file}.py")]}
        for name, file in (("library", "library"), ("units", "units"))
    }
    entries["bad"] = {"command": sys.executable, "args": ["-c", "import sys; sys.exit(3)"]}
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    return str(file)


def test_the_best_tool_comes_first_with_the_reason_and_a_failure_sinks_nothing(
    settings: str, capsys: Any
) -> None:
    status, out, err = command(capsys, "search", "convert miles", "--settings", settings)
    assert out.startswith("1.00  units: convert_units(")
    assert "name matches 'convert'" in out
    assert "bad: " in err
    assert status == 1


def test_a_program_gets_definitions_scores_and_reasons(settings: str, capsys: Any) -> None:
    words = ("search", "borrow a book", "--limit", "1", "--json", "--settings", settings)
    shown = json.loads(command(capsys, *words)[1])
    (hit,) = shown["found"]
    assert (hit["server"], hit["name"], hit["score"]) == ("library", "borrow_book", 1)
    assert hit["input_schema"]["properties"]
    assert list(shown["failed"]) == ["bad"]


def test_where_nothing_fits_the_way_on_is_reported(settings: str, capsys: Any) -> None:
    _, out, _ = command(capsys, "search", "xylophone", "--settings", settings)
    assert "`xai-mcp-agent tools list` lists all" in out
