"""Tools that a person switched off are offered to no agent, and nothing brings them back.

No other spelling of a name gets around a list that holds calls back. Decided by us.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.policy.shredding import run_all, tool_entry
from tests.support.agents_in_ctx import agent, ctx_with, last_message, run, tools_of_request
from tests.support.bridges import names_of
from tests.support.commands import Cli, write_settings
from tests.support.fault_server import entry
from tests.support.histories import events_of
from tests.support.model_endpoint import calls
from tests.support.processes import calls_in
from xai_mcp_agent import Bridge, LockFailed, NoTools, UnknownServer, UnknownTool
from xai_mcp_agent.canvas.toolbelts import define_tool

LOCK = "mcp_tools.lock.json"
SWITCHED_OFF = "a person has switched it off"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a server whose tools change at a restart."""
    monkeypatch.chdir(tmp_path)
    changing = entry(
        tools=[tool_entry("pay", "Pays."), tool_entry("ask", "Asks.")],
        then={"tools": [tool_entry("pay", "Pays, and more."), tool_entry("ask", "Asks.")]},
        journal=str(tmp_path / "journal"),
    )
    return write_settings(tmp_path, {"shop": changing})


@pytest.fixture
def ctx(settings: Path) -> dict[str, Any]:
    """The context of a workflow that uses the shop."""
    return ctx_with("shop")


def test_a_tool_that_is_switched_off_is_not_offered_and_a_person_can_call_it(
    settings: Path, ctx: dict[str, Any]
):
    """Issue: a disabled tool is offered to no agent. A person can still call it."""
    with Bridge.open(settings) as bridge:
        with pytest.raises(UnknownTool, match=r"shop has no tool 'pai'.* Did you mean 'pay'"):
            bridge.disable("shop", "ask", "pai")
        with pytest.raises(UnknownServer, match=r"No MCP server 'shp'.*Known: shop"):
            bridge.disable("shp", "pay")
        assert [x.change for x in events_of(bridge) if x.event_kind == "decision"] == []
        (choice,) = bridge.disable("shop", "pay")
        assert (choice.tool, choice.decision, choice.is_new) == ("pay", "disabled", True)
        with agent(ctx, calls(("shop_pay", {}))) as endpoint:
            run(ctx)
        assert list(tools_of_request(endpoint)) == ["shop_ask"]
        assert f"'shop_pay' cannot be used: {SWITCHED_OFF}" in last_message(endpoint)
        assert bridge.call_tool("shop", "pay").text == "pay {}"
        assert names_of(bridge.list_tools("shop")) == ["pay", "ask"]


def test_a_tool_leaves_at_the_next_step_of_a_run_of_the_same_process(settings: Path):
    """A person disables it during the run. A call that the model has begun is refused."""
    ctx = ctx_with("shop")

    def switch_off(ctx: dict[str, Any], text: str, _: Any) -> str:
        ctx["mcp_bridge"].bridge.disable("shop", "ask")
        return "off"

    define_tool(ctx, None, "switch", "Switches ask off.", switch_off)
    with agent(ctx, calls(("switch", {})), calls(("shop_ask", {}))) as endpoint:
        run(ctx)
    assert list(tools_of_request(endpoint, 0)) == ["switch", "shop_pay", "shop_ask"]
    assert list(tools_of_request(endpoint, 1)) == ["switch", "shop_pay"]
    assert SWITCHED_OFF in last_message(endpoint)


def test_our_own_tools_can_be_switched_off_too(settings: Path):
    """A long result is then cut, and its note names no tool that reads the rest."""
    ctx: dict[str, Any] = {}
    define_tool(ctx, None, "talk", "Talks.", lambda _c, _text, _a: "word " * 10_000)
    page = {"result_id": "none", "start": 0}
    with agent(ctx, calls(("talk", {})), calls(("read_result", page))) as endpoint:
        run(ctx)
    assert list(tools_of_request(endpoint, 1)) == ["talk", "read_result"]
    own = ctx["mcp_bridge"].bridge
    assert own.tool_record("built-in", "read_result").usage.calls == 1
    with Bridge.open(settings) as bridge:
        bridge.disable("built-in", "read_result")
    with agent(ctx, calls(("talk", {})), calls(("read_result", {}))) as endpoint:
        run(ctx)
    assert list(tools_of_request(endpoint, 1)) == ["talk"]
    assert "are left out here ...]" in endpoint.requests[1].body["messages"][-1]["content"]
    assert f"'read_result' cannot be used: {SWITCHED_OFF}" in last_message(endpoint)


def test_the_history_neither_keeps_a_tool_off_nor_brings_it_back(
    settings: Path, ctx: dict[str, Any]
):
    """Issue: without the database a switched-off tool was offered and executed."""
    with Bridge.open(settings) as bridge:
        bridge.disable("shop", "pay")
        assert [x.change for x in events_of(bridge) if x.event_kind == "decision"] == ["disabled"]
        history = Path(bridge.store().place)
    for file in history.parent.glob("history.db*"):
        file.rename(settings.with_name(file.name))
    with agent(ctx, calls(("shop_pay", {}))) as endpoint:
        run(ctx)
    assert list(tools_of_request(endpoint)) == ["shop_ask"]
    assert SWITCHED_OFF in last_message(endpoint)
    ctx["mcp_bridge"].bridge.close()
    for file in settings.parent.glob("history.db*"):
        file.rename(history.with_name(file.name))
    settings.with_name(LOCK).unlink()  # without the file there are no decisions
    ctx = ctx_with("shop")
    with agent(ctx) as endpoint:
        run(ctx)
    assert list(tools_of_request(endpoint)) == ["shop_pay", "shop_ask"]
    assert not settings.with_name(LOCK).exists()


def test_no_tool_is_offered_while_decisions_cannot_be_read(
    settings: Path, ctx: dict[str, Any], capsys: pytest.CaptureFixture[str]
):
    """Any tool may be switched off, so none is offered. The person reads what to correct."""
    lock, shared = settings.with_name(LOCK), settings.with_name("shared.json")
    with agent(ctx) as endpoint:
        lock.write_text('{"sources": {"mcp:shop": {"of": ["pay"]}}}')
        why, hint = "a person has switched off cannot be read", "Did you mean 'off'?"
        with pytest.raises(NoTools, match=f"the list of tools that {why}"):
            run(ctx)
        assert hint in " ".join(capsys.readouterr().out.split())
        _, out, _ = Cli(capsys)("servers", "check", "--json")
        assert hint in json.loads(out)["decisions"]
        with Bridge.open(settings) as bridge:
            plan = bridge.plan_tools("pay")
        assert not plan.calls
        assert hint in plan.failed["shop"]
        lock.unlink()
        lock.symlink_to(shared)  # which does not exist
        with pytest.raises(NoTools):
            run(ctx)
        assert "it is a link to" in capsys.readouterr().out
        with Bridge.open(settings) as bridge, pytest.raises(LockFailed, match="does not exist"):
            bridge.disable("shop", "pay")
        assert not shared.exists()
        assert not endpoint.requests
        shared.write_text("{}")
        run(ctx)
    assert list(tools_of_request(endpoint)) == ["shop_pay", "shop_ask"]


# Names that look alike

ALIKE = (
    "del", "Del", "DEL", "d\u0435l", "del\n", "d\u200bel", "\x1bdel", "d\nel", "d el", "d\u2028el",
    "del\x00", "\uff44\uff45\uff4c", " del ",
)  # fmt: skip
# Fields of the server and sections of the settings, and how many of the tools may be called.
HOLDING: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "off": ({}, {}, 0),
    "blocked": ({}, {"toolSearch": {"blocked": ["del"]}}, 0),
    "disabledTools": ({"disabledTools": ["del"]}, {}, 0),
    "a pattern": ({}, {"rules": [{"when": {"tool": "*Del*"}, "then": "deny"}]}, 0),
    "allowed alone": ({}, {"approval": {"*": "deny", "del": "allow", "look": "allow"}}, 1),
    "excepted alone": (
        {}, {"rules": [{"when": {"tool": "d*"}, "unless": {"tool": "del"}, "then": "deny"}]}, 1
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", HOLDING)
def test_no_spelling_gets_past_a_list_or_passes_for_an_allowed_tool(tmp_path: Path, which: str):
    """The agent calls each tool that it is shown, and each spelling that it is not."""
    (own, sections, count), journal = HOLDING[which], tmp_path / "journal"
    shop = entry(tools=[tool_entry(x) for x in (*ALIKE, "look")], journal=str(journal))
    file = write_settings(tmp_path, {"shop": shop | own}, **sections)
    if which == "off":
        (tmp_path / LOCK).write_text('{"sources": {"mcp:shop": {"off": ["del"]}}}')
    with Bridge.open(file) as bridge:
        run_all(bridge, "shop", also=[*(f"shop_{x}" for x in ALIKE), "shop_look"])
    assert calls_in(journal) == count + 1, "look is called"
