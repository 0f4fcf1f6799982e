"""Tools that a person switched off: no agent is offered them, and nothing brings them back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import use_server
from tests.support.bridges import names_of
from tests.support.fault_server import entry
from tests.support.histories import events_of
from tests.support.model_agents import agent, offered, run, told
from tests.support.model_endpoint import calls, says
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge, LockFailed, NoTools, UnknownServer, UnknownTool
from xai_mcp_agent.canvas.toolbelts import define_tool
from xai_mcp_agent.cli import main

GROWING = Path(__file__).parents[1] / "support" / "growing_server.py"


def listed(name: str, description: str) -> dict[str, Any]:
    """A tool as a server lists it."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two servers: one whose tools change, one for each start anew."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)
    changing = entry(
        tools=[listed("pay", "Pays."), listed("ask", "Asks.")],
        then={"tools": [listed("pay", "Pays, and more."), listed("ask", "Asks.")]},
        journal=str(tmp_path / "journal"),
    )
    growing = {"command": warm_python(), "args": [str(GROWING)]}
    file = tmp_path / "mcp_settings.json"
    file.write_text(json.dumps({"mcpServers": {"grow": growing, "shop": changing}}))
    return file


def test_a_tool_that_is_switched_off_is_not_offered_and_a_person_can_call_it(settings: Path):
    """Issue: a disabled tool is offered to no agent; a person's own call is a person's."""
    ctx: dict[str, Any] = {}
    use_server(ctx, "shop", None)
    with Bridge.open(settings) as bridge:
        (choice,) = bridge.disable("shop", "pay")
        assert (choice.tool, choice.decision, choice.is_new) == ("pay", "disabled", True)
        with agent(ctx, calls(("shop_pay", {}))) as endpoint:
            run(ctx)
        assert list(offered(endpoint)) == ["shop_ask"]
        assert "'shop_pay' cannot be used: a person has switched it off" in told(endpoint)
        assert bridge.call_tool("shop", "pay").text == "this is pay"
        assert names_of(bridge.list_tools("shop")) == ["pay", "ask"]


def test_it_leaves_at_the_next_step_of_a_run_of_the_same_process(settings: Path):
    """By a person beside the run; a call that the model has begun is refused."""
    ctx: dict[str, Any] = {}
    use_server(ctx, "grow", None)

    def switch_off(ctx: dict[str, Any], text: str, _: Any) -> str:
        ctx["mcp_bridge"].bridge.disable("grow", "shrink")
        return "off"

    define_tool(ctx, None, "switch", "Switches shrink off.", switch_off)
    shrink = ("grow_shrink", {"name": "x"})
    with agent(ctx, calls(("switch", {})), calls(shrink)) as endpoint:
        run(ctx)
    assert list(offered(endpoint, 0)) == ["switch", "grow_grow", "grow_shrink"]
    assert list(offered(endpoint, 1)) == ["switch", "grow_grow"]
    assert "a person has switched it off" in told(endpoint)


def test_our_own_tools_can_be_switched_off_too(settings: Path):
    """A long result is shown as far as it goes, and nothing is said of a tool to read the rest."""
    ctx: dict[str, Any] = {}
    define_tool(ctx, None, "talk", "Talks.", lambda _c, _text, _a: "word " * 10_000)
    page = {"result_id": "none", "start": 0}
    with agent(ctx, calls(("talk", {})), calls(("read_result", page))) as endpoint:
        run(ctx)
    assert list(offered(endpoint, 1)) == ["talk", "read_result"]
    own = ctx["mcp_bridge"].bridge
    assert own.tool_record("built-in", "read_result").usage.calls == 1
    with Bridge.open(settings) as bridge:
        bridge.disable("built-in", "read_result")
    with agent(ctx, calls(("talk", {})), calls(("read_result", {}))) as endpoint:
        run(ctx)
    assert list(offered(endpoint, 1)) == ["talk"]
    assert "are left out here ...]" in endpoint.requests[1].body["messages"][-1]["content"]
    assert "'read_result' cannot be used: a person has switched it off" in told(endpoint)


def test_a_name_that_is_unknown_is_an_error_with_the_nearest(settings: Path):
    with Bridge.open(settings) as bridge:
        with pytest.raises(UnknownTool, match=r"shop has no tool 'pai'.* Did you mean 'pay'"):
            bridge.disable("shop", "ask", "pai")
        with pytest.raises(UnknownServer, match=r"No MCP server 'shp'.*Known: shop"):
            bridge.disable("shp", "pay")
        assert [x.change for x in events_of(bridge) if x.event_kind == "decision"] == []


def damage(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:5000])


STORES: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "damaged": damage,
}


@pytest.mark.parametrize("happens", STORES.values(), ids=STORES)
def test_it_stays_off_whatever_happens_to_the_history(
    settings: Path, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Path], None]
):
    """Issue: with the database away or locked a switched-off tool was offered and executed."""
    monkeypatch.delenv("XAI_MCP_STORE", raising=False)
    with Bridge.open(settings) as bridge:
        bridge.disable("shop", "pay")
        file = Path(bridge.store().place)
    for companion in file.parent.glob("history.db-*"):
        companion.unlink()
    happens(file)
    ctx: dict[str, Any] = {}
    use_server(ctx, "shop", None)
    with agent(ctx, calls(("shop_pay", {}))) as endpoint:
        run(ctx)
    assert list(offered(endpoint)) == ["shop_ask"]
    assert "a person has switched it off" in told(endpoint)


def test_a_file_of_decisions_that_cannot_be_read_has_nothing_offered(
    settings: Path,
):
    """Not even what nobody switched off: that cannot be known. Who runs it reads what to mend."""
    with Bridge.open(settings) as bridge:
        bridge.disable("shop", "pay")
    file = settings.with_name("mcp_tools.lock.json")
    whole = file.read_text()
    file.write_text(f"<<<<<<< HEAD\n{whole}=======\n>>>>>>> theirs\n")
    ctx: dict[str, Any] = {}
    use_server(ctx, "shop", None)
    with agent(ctx, says("one")) as endpoint:
        with pytest.raises(NoTools) as caught:
            run(ctx)
        file.write_text(whole)
        run(ctx)
        assert list(offered(endpoint)) == ["shop_ask"]
    assert "it cannot be looked up which tools a person has switched" in str(caught.value)
    assert "line 1 is a mark of an unresolved git merge" in str(caught.value)


def test_without_the_file_the_history_brings_no_decision_back(
    settings: Path, monkeypatch: pytest.MonkeyPatch
):
    """Who deletes the file begins anew."""
    monkeypatch.delenv("XAI_MCP_STORE", raising=False)
    lock = settings.with_name("mcp_tools.lock.json")
    with Bridge.open(settings) as bridge:
        bridge.disable("shop", "pay")
        assert [x.change for x in events_of(bridge) if x.event_kind == "decision"] == ["disabled"]
    lock.unlink()
    ctx: dict[str, Any] = {}
    use_server(ctx, "shop", None)
    with agent(ctx) as endpoint:
        run(ctx)
    assert list(offered(endpoint)) == ["shop_pay", "shop_ask"]
    assert not lock.exists()


SLIPS = {
    '{"sources": {"mcp:shop": {"of": ["pay"]}}}': "Did you mean 'off'?",
    '{"sources": {"MCP:shop": {"off": ["pay"]}}}': "must match pattern '(?s)^(mcp|",
}


@pytest.mark.parametrize(("text", "hint"), SLIPS.items(), ids=["off", "mcp"])
def test_a_misspelt_word_in_the_file_is_reported_and_no_tool_is_offered(
    settings: Path, capsys: pytest.CaptureFixture[str], text: str, hint: str
):
    """It may be the one that switches a tool off."""
    settings.with_name("mcp_tools.lock.json").write_text(text)
    ctx: dict[str, Any] = {}
    use_server(ctx, "shop", None)
    with agent(ctx) as endpoint, pytest.raises(NoTools):
        run(ctx)
    assert not endpoint.requests
    assert hint in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        main.run(["servers", "check", "--json"])
    assert hint in json.loads(capsys.readouterr().out)["decisions"]


def test_a_link_to_a_file_that_is_gone_is_not_taken_for_no_decisions(
    settings: Path, capsys: pytest.CaptureFixture[str]
):
    lock, shared = settings.with_name("mcp_tools.lock.json"), settings.with_name("shared.json")
    lock.symlink_to(shared)
    ctx: dict[str, Any] = {}
    use_server(ctx, "shop", None)
    with agent(ctx) as endpoint:
        with pytest.raises(NoTools):
            run(ctx)
        with (
            Bridge.open(settings) as bridge,
            pytest.raises(LockFailed, match="does not exist"),
        ):
            bridge.disable("shop", "pay")
        assert not shared.exists()
        shared.write_text("{}")
        run(ctx)
    assert list(offered(endpoint)) == ["shop_pay", "shop_ask"]
    assert "it is a link to" in capsys.readouterr().out
