"""`xai-mcp-agent tools list` page by page: the words are those of `bridge.list_tools`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.support.fault_server import entry
from xai_mcp_agent.canvas.ports import names


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


def told(out: str) -> list[str]:
    """The servers and tools that are told."""
    return re.findall(r"^(?:  )?(\w+(?::$|(?=\()))", out, re.MULTILINE)


def test_a_page_says_how_to_go_on_and_the_last_one_does_not(settings: str, capsys: Any) -> None:
    words = ("tools", "list", "--settings", settings, "--limit", "2")
    status, out, _ = command(capsys, *words)
    assert status == 0
    assert told(out) == ["shop:", "get_order", "set_order"]
    assert out.splitlines()[-1] == "2 more of 4: go on with --offset 2."
    _, out, _ = command(capsys, *words, "--offset", "2")
    assert told(out) == ["shop:", "pay", "mail:", "send"]
    assert "--offset" not in out
    _, out, _ = command(capsys, *words, "--offset", "9")
    assert out == "There are only 4: no tool comes after 9 others.\n"


def test_tools_are_chosen_by_name_and_by_whether_agents_may_use_them(
    settings: str, capsys: Any
) -> None:
    words = ("tools", "list", "--json", "--settings", settings, "--named", "*_order")

    def listed(*more: str) -> tuple[dict[str, list[str]], int]:
        found = json.loads(command(capsys, *words, *more)[1])
        return {x: [one["name"] for one in y] for x, y in found["tools"].items()}, found["total"]

    assert listed() == ({"shop": ["get_order", "set_order"]}, 2)
    assert listed("--usable") == ({"shop": ["get_order"]}, 1)
    assert listed("--limit", "1", "--offset", "1") == ({"shop": ["set_order"]}, 2)
    assert listed("--named", "mail/*") == ({"mail": ["send"]}, 1)
    _, out, _ = command(capsys, "tools", "list", "--settings", settings, "--named", "xyz*")
    assert out == "No tool is chosen by this.\n"


def test_a_wrong_pattern_and_pages_of_the_past_are_refused(settings: str, capsys: Any) -> None:
    status, _, err = command(capsys, "tools", "list", "--settings", settings, "--named", "regex:(")
    assert (status, "is no pattern for names" in err) == (1, True)
    for words in (
        ("--all", "--limit", "3"),
        ("--at", "1h", "--named", "x"),
        ("--all", "--as-list"),
    ):
        status, _, err = command(capsys, "tools", "list", "--settings", settings, *words)
        assert (status, "leave them out" in " ".join(err.split())) == (2, True)


def as_list(capsys: Any, settings: str, *words: str) -> tuple[str, str]:
    status, out, err = command(capsys, "tools", "list", *words, "--as-list", "--settings", settings)
    assert status == 0
    return out, err


def test_names_are_printed_as_the_box_of_a_list_takes_them(settings: str, capsys: Any) -> None:
    """Xircuits reads it as JSON between brackets, and a port that has a text as a text."""
    assert as_list(capsys, settings, "shop") == ('"get_order", "set_order", "pay"\n', "")
    assert as_list(capsys, settings, "shop", "--usable") == ('"get_order", "pay"\n', "")
    out, err = as_list(capsys, settings, "shop", "--named", "*_order", "--limit", "1")
    assert (out, err) == ('"get_order"\n', "1 more of 2: go on with --offset 1.\n")
    assert names(out, "tools", "AgentUseMCPTools") == ["get_order"]
    out, err = as_list(capsys, settings, "shop", "--named", "xyz*")
    assert (out, err) == ("", "No tool is chosen by this.\n")


def test_names_of_several_servers_say_which_and_json_is_for_the_settings(
    settings: str, capsys: Any
) -> None:
    out, _ = as_list(capsys, settings, "--named", "se*")
    assert out == '"shop/set_order", "mail/send"\n'
    assert json.loads(as_list(capsys, settings, "shop", "--json")[0])[0] == "get_order"


def test_a_name_with_a_comma_and_quotes_stays_one(tmp_path: Path, capsys: Any) -> None:
    odd = 'a "b", c'
    tools = [{"name": odd, "inputSchema": {"type": "object"}}]
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"it": entry(tools=tools)}}))
    out, _ = as_list(capsys, str(file), "it")
    assert json.loads(f"[{out}]") == names(out, "tools", "x") == [odd]
