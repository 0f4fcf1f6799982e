"""`xai-mcp-agent learned`: what runs taught, told to a person, and forgotten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_servers import command
from tests.planning.test_stores_learned import CANCEL, CANCELLED, FIND, SING, Agent
from xai_mcp_agent import Bridge
from xai_mcp_agent.history.place import find_place
from xai_mcp_agent.settings.load import load_settings

ORDERS = '{"object":{"orders":{"array":{"object":{"id":"string","paid":"boolean?"}}}}}'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose agents have learned from runs with tools of two servers."""
    for name in ("XAI_MCP_STORE", "XAI_MCP_SETTINGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("mcp_settings.json").write_text('{"mcpServers": {}}', encoding="utf-8")
    agent = Agent(find_place(load_settings(None)))
    for _ in range(3):
        agent.learn("Cancel what I ordered last", shapes=((FIND, ORDERS),))
    agent.learn("", ((SING, {}), (CANCEL, {"order_id": (0, None)})), toolbelt="choir")
    agent.recorder.close(30)
    return tmp_path


def learned(capsys: Any, *words: str) -> Any:
    _, out, _ = command(capsys, "learned", "--json", *words)
    return json.loads(out)


def test_it_tells_runs_with_what_came_from_where_and_what_results_look_like(capsys: Any) -> None:
    status, out, err = command(capsys, "learned")
    lines = out.splitlines()
    assert (status, err, lines[0]) == (0, "", "Learned: 2 runs, 1 shape of results.")
    assert any(x.endswith("Cancel what I ordered last (default, 3 times)") for x in lines)
    assert "    1. shop.find_order(email: given)" in lines
    assert "    2. shop.cancel(order_id: orders[].id of 1)" in lines
    assert "    2. shop.cancel(order_id: a part of 1)" in lines
    assert any("(what was asked for is not kept) (choir, once)" in x for x in lines)
    shape = " ".join(x.strip() for x in lines)
    assert shape.endswith(
        "shop.find_order (default) gave 3 times: {orders: [{id: string, paid: boolean or null}]}"
    )
    assert max(map(len, lines)) <= 80


def test_programs_get_every_field(capsys: Any) -> None:
    found = learned(capsys, "--toolbelt", "default")
    (run,), (shape,) = found["runs"], found["shapes"]
    assert (run["request"], run["times"]) == ("Cancel what I ordered last", 3)
    assert run["calls"][1] == {
        "kind": "mcp", "server": "shop", "tool": "cancel",
        "arguments": {"order_id": {"call": 0, "field": "orders[].id"}},
    }  # fmt: skip
    assert shape["shape"] == json.loads(ORDERS)


def test_one_server_tool_or_toolbelt_is_told_alone(capsys: Any) -> None:
    assert len(learned(capsys, "choir")["runs"]) == 1
    assert len(learned(capsys, "shop", "cancel")["runs"]) == 2
    assert len(learned(capsys, "shop", "find_order")["shapes"]) == 1
    assert learned(capsys, "--toolbelt", "nobody") == {
        "is_forgotten": False, "runs": [], "shapes": [],
    }  # fmt: skip


def test_an_unknown_name_is_an_error_with_the_nearest(capsys: Any) -> None:
    status, _, err = command(capsys, "learned", "shp")
    assert status == 1
    assert "'shop'" in err
    status, _, err = command(capsys, "learned", "shop", "cancle")
    assert status == 1
    assert "'cancel'" in err


def test_forgetting_says_what_it_was_and_is_for_good(capsys: Any, project: Path) -> None:
    status, out, _ = command(capsys, "learned", "choir", "--forget")
    assert (status, out.splitlines()[0]) == (0, "Forgotten: 1 run, 0 shapes of results.")
    assert len(learned(capsys)["runs"]) == 1
    _, out, _ = command(capsys, "learned", "--forget")
    assert out.startswith("Forgotten: 1 run")
    _, out, _ = command(capsys, "learned")
    assert out == "Nothing is remembered of runs.\n"
    (file,) = (x for x in (project / ".xircuits").iterdir() if x.name == "history.db")
    assert b"orders[].id" not in file.read_bytes()


def test_a_bridge_tells_and_forgets_the_same() -> None:
    with Bridge.open("mcp_settings.json") as bridge:
        found = bridge.learned("shop", "find_order")
        assert [(x.words, x.times) for x in found.runs] == [("Cancel what I ordered last", 3)]
        assert [x.tool.key for x in found.runs[0].calls] == [x for x, _ in CANCELLED]
        assert len(bridge.forget_learned(toolbelt="choir").runs) == 1
        assert len(bridge.learned().runs) == 1


def test_where_nothing_was_ever_kept_that_is_said(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    Path("mcp_settings.json").write_text('{"mcpServers": {}}', encoding="utf-8")
    status, out, _ = command(capsys, "learned")
    assert (status, out) == (0, "Nothing is remembered of runs.\n")
