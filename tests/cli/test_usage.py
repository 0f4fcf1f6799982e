"""`xai-mcp-agent tools usage`: what agents learned, told to a person, and forgotten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.support.learning_agents import LearningAgent
from xai_mcp_agent import Bridge, ToolKey
from xai_mcp_agent.history.place import find_place
from xai_mcp_agent.settings.load import load_settings

BILL, SING = ToolKey("mcp", "shop", "create_invoice"), ToolKey("mcp", "choir", "sing")
DRAWN = ToolKey("tools", "", "shout")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose agents have learned from tools of two servers and a drawn one."""
    for name in ("XAI_MCP_STORE", "XAI_MCP_SETTINGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("mcp_settings.json").write_text('{"mcpServers": {}}', encoding="utf-8")
    agent = LearningAgent(find_place(load_settings(None)))
    agent.learn(BILL, "Bill the customer.", "new invoice", toolbelt="default")
    agent.learn(BILL, "charge ada", toolbelt="office")
    agent.learn(SING, "a song for ada", "A song for Ada", toolbelt="default")
    agent.learn(DRAWN, "louder", toolbelt="default")
    agent.recorder.close(30)
    return tmp_path


def remembered(capsys: Any, *words: str) -> list[str]:
    _, out, _ = command(capsys, "tools", "usage", "--json", *words)
    return sorted(x["words"] for x in json.loads(out)["remembered"])


def test_it_tells_what_is_remembered_of_which_tool_and_how_often(capsys: Any) -> None:
    status, out, err = command(capsys, "tools", "usage")
    lines = out.splitlines()
    assert (status, err, lines[0]) == (0, "", "Remembered: 5 requests.")
    assert "shop.create_invoice (default):" in lines
    assert "shop.create_invoice (office):" in lines
    assert any(x.endswith("A song for Ada (2 times)") or "(2 times)" in x for x in lines)
    assert "canvas.shout (default):" in lines
    assert max(map(len, lines)) <= 80


def test_one_server_tool_or_toolbelt_is_reported_alone(capsys: Any) -> None:
    assert remembered(capsys, "choir") == ["a song for ada"]
    assert remembered(capsys, "canvas") == ["louder"]
    assert remembered(capsys, "shop", "create_invoice", "--toolbelt", "office") == ["charge ada"]
    assert remembered(capsys, "--toolbelt", "nobody") == []


def test_programs_get_every_field(capsys: Any) -> None:
    _, out, _ = command(capsys, "tools", "usage", "choir", "--json")
    (one,) = json.loads(out)["remembered"]
    named = {x: one[x] for x in ("toolbelt", "kind", "server", "tool", "uses")}
    assert named == {
        "toolbelt": "default", "kind": "mcp", "server": "choir", "tool": "sing", "uses": 2,
    }  # fmt: skip
    assert one["used"].endswith("+00:00")


def test_forgetting_says_what_was_removed_and_leaves_the_rest(capsys: Any) -> None:
    status, out, _ = command(capsys, "tools", "usage", "shop", "--toolbelt", "default", "--forget")
    assert status == 0
    assert out.startswith("Forgotten: 2 requests.")
    assert "new invoice" in out
    assert remembered(capsys) == ["a song for ada", "charge ada", "louder"]
    _, out, _ = command(capsys, "tools", "usage", "--forget", "--json")
    assert len(json.loads(out)["forgotten"]) == 3
    _, out, _ = command(capsys, "tools", "usage", "--forget")
    assert out == "Nothing is remembered about the use of tools.\n"
    _, out, _ = command(capsys, "history", "show")
    assert out.count("what it was used for is forgotten") > 0


def test_it_forgets_while_a_bridge_is_open(project: Path, capsys: Any) -> None:
    with Bridge.open(project / "mcp_settings.json") as bridge:
        assert bridge.history()
        command(capsys, "tools", "usage", "--forget")
        assert remembered(capsys) == []
        changes = [x.change for x in bridge.history()]
        assert changes.count("forgotten") == 4
    assert remembered(capsys) == []


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["shp"], "Did you mean 'shop'?"),
        (["shop", "create_invoce"], "Did you mean 'create_invoice'?"),
        (["shp", "--forget"], "Did you mean 'shop'?"),
        (["--store", "no.db"], "no such file"),
    ],
)
def test_a_name_that_is_not_there_is_reported_with_the_nearest(
    capsys: Any, words: list[str], hint: str
) -> None:
    status, out, err = command(capsys, "tools", "usage", *words)
    assert (status, out) == (1, "")
    assert hint in err
    assert len(remembered(capsys)) == 5


def test_words_of_strangers_move_no_cursor(project: Path, capsys: Any) -> None:
    agent = LearningAgent(find_place(load_settings(None)))
    agent.learn(ToolKey("mcp", "x\x1b[2J", "y\u202e"), "go \x1b[31mred", toolbelt="z\x07")
    agent.recorder.close(30)
    _, out, _ = command(capsys, "tools", "usage")
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_where_nothing_was_ever_kept_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "mcp_settings.json").write_text("{}", encoding="utf-8")
    monkeypatch.chdir(folder)
    assert command(capsys, "tools", "usage")[1].startswith("Nothing is remembered")
    assert command(capsys, "tools", "usage", "--forget")[0] == 0
    assert not (folder / ".xircuits").exists()
