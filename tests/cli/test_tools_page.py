"""`xai-mcp-agent tools` page by page: the words are those of `bridge.list_tools`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.support.fault_server import entry


@pytest.fixture
def settings(tmp_path: Path) -> str:
    """Two servers with four tools in all, of which one is blocked."""
    shop = [
        {"name": x, "inputSchema": {"type": "object"}} for x in ("get_order", "set_order", "pay")
    ]
    mail = [{"name": "send", "inputSchema": {"type": "object"}}]
    file = tmp_path / "mcp_settings.json"
    servers = {"shop": entry(tools=shop), "mail": entry(tools=mail)}
    search = {"blocked": ["shop/set_order"]}
    file.write_text(json.dumps({"mcpServers": servers, "toolSearch": search}))
    return str(file)


def names(out: str) -> list[str]:
    """The servers and tools that are told."""
    return re.findall(r"^(?:  )?(\w+(?::$|(?=\()))", out, re.MULTILINE)


def test_a_page_says_how_to_go_on_and_the_last_one_does_not(settings: str, capsys: Any) -> None:
    words = ("tools", "--settings", settings, "--limit", "2")
    status, out, _ = command(capsys, *words)
    assert status == 0
    assert names(out) == ["shop:", "get_order", "set_order"]
    assert out.splitlines()[-1] == "2 more of 4: go on with --offset 2."
    _, out, _ = command(capsys, *words, "--offset", "2")
    assert names(out) == ["shop:", "pay", "mail:", "send"]
    assert "--offset" not in out
    _, out, _ = command(capsys, *words, "--offset", "9")
    assert out == "There are only 4: no tool comes after 9 others.\n"


def test_tools_are_chosen_by_name_and_by_whether_agents_may_use_them(
    settings: str, capsys: Any
) -> None:
    words = ("tools", "--json", "--settings", settings, "--named", "*_order")

    def listed(*more: str) -> tuple[dict[str, list[str]], int]:
        told = json.loads(command(capsys, *words, *more)[1])
        return {x: [one["name"] for one in y] for x, y in told["tools"].items()}, told["total"]

    assert listed() == ({"shop": ["get_order", "set_order"]}, 2)
    assert listed("--usable") == ({"shop": ["get_order"]}, 1)
    assert listed("--limit", "1", "--offset", "1") == ({"shop": ["set_order"]}, 2)
    assert listed("--named", "mail/*") == ({"mail": ["send"]}, 1)
    _, out, _ = command(capsys, "tools", "--settings", settings, "--named", "xyz*")
    assert out == "No tool is chosen by this.\n"


def test_a_wrong_pattern_and_pages_of_the_past_are_refused(settings: str, capsys: Any) -> None:
    status, _, err = command(capsys, "tools", "--settings", settings, "--named", "regex:(")
    assert (status, "is no pattern for names" in err) == (1, True)
    for words in (("--all", "--limit", "3"), ("--at", "1h", "--named", "x")):
        status, _, err = command(capsys, "tools", "--settings", settings, *words)
        assert (status, "leave them out" in " ".join(err.split())) == (2, True)
