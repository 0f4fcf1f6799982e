"""Rules in the store hold calls back, allow none, and are never skipped."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.policy.shredding import SECONDS, agent, shred, shredding, tool
from tests.policy.test_rules import pass_gate, settings_of
from xai_mcp_agent import Bridge, SettingsError
from xai_mcp_agent.bridge.agent_tools import Listener, ToolSpec, ready_tools
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.calls import PROGRAM, Caller
from xai_mcp_agent.core.errors import RulesUnknown
from xai_mcp_agent.policy.rules import RuleGate
from xai_mcp_agent.policy.stored_rules import put_rules as store_rules
from xai_mcp_agent.settings.rules import Rule, rules_of_store

NOON = datetime(2026, 11, 23, 12, 0)
UNREADABLE = "the rules of the store cannot be read"
NO_COUNT = {"name": "no counting", "when": {"tool": "count"}, "then": "deny"}
DENIED = "the rule 'no counting' does not allow it"


def bridge_at(store: Path, *rules: Any) -> Bridge:
    return shredding(rules=[*rules], store=store)


def count(bridge: Bridge, caller: Caller | None = None) -> str:
    return shred(bridge, caller, "count")


async def visible_tools(operations: Operations) -> tuple[set[str], str]:
    """Return the tools of an agent's run, and why `count` is not among them."""
    operations = operations.for_caller(agent())
    spec = ToolSpec(operations.choice(["shredder"]))
    with anyio.fail_after(SECONDS):
        ready = await ready_tools(operations, spec, Listener(print, print))
        names = {*(await ready.tools.available()).names}
    return names, ready.tools.why_not("shredder_count")


def test_rules_of_the_store_hold_calls_of_agents_in_every_process(tmp_path: Path):
    place = tmp_path / "shared.db"
    with bridge_at(place) as other, bridge_at(place, {"from": "store"}) as bridge:
        assert UNREADABLE in count(bridge), "its rules may have been lost"
        assert UNREADABLE not in count(bridge, PROGRAM)
        with pytest.raises(RulesUnknown, match="rules put FILE"):
            bridge.ruled_tools(agent())
        other.put_rules([])  # a person confirms that there are none
        before, _ = bridge.run(visible_tools)
        assert count(bridge) == "0"
        other.put_rules([NO_COUNT])
        assert count(bridge) == "0", "a run keeps the rules that it began with"
        after, why = bridge.run(visible_tools)  # the next run
        assert before - after == {"shredder_count"}
        assert "no counting" in why
        assert DENIED in count(bridge)
        assert DENIED not in count(bridge, PROGRAM) + count(other)
        other.remove_rules("no counting")
        bridge.refresh("shredder")
        assert count(bridge) == "0"
        assert other.stored_rules().revision == 3


def test_a_store_that_is_too_old_or_allows_calls_blocks_all_calls(tmp_path: Path):
    with bridge_at(tmp_path / "old.db", {"from": "store", "revision": 2}) as bridge:
        bridge.put_rules([NO_COUNT])
        with pytest.raises(RulesUnknown, match="revision 1, and the settings need 2"):
            bridge.ruled_tools(agent())
        assert UNREADABLE in count(bridge)
    allow = {"name": "all", "when": {}, "then": "allow"}
    with bridge_at(tmp_path / "x.db", {"from": "store"}) as bridge:
        with pytest.raises(SettingsError, match="no rule that allows calls"):
            bridge.put_rules([NO_COUNT, allow])
        assert bridge.stored_rules().revision == 0

        async def write(operations: Any) -> None:
            writing = operations.engine.recorder.ask(
                lambda x: store_rules(x, [allow], lambda _: None)
            )
            await anyio.to_thread.run_sync(writing.result, SECONDS)

        bridge.run(write)
        assert UNREADABLE in count(bridge)


def test_rules_for_the_store_are_checked_as_those_of_the_settings():
    for rule, says in (
        ({"when": {}, "then": "deny"}, "a name"),
        ("rules.yaml", "a name"),
        ({"name": "x", "when": {"sever": "x"}, "then": "deny"}, "server"),
        ({"name": "x", "when": {"tool": "${HOME}"}, "then": "deny"}, "not set"),
        ({"name": "x", "when": {"is": "elsewhere"}, "then": "deny"}, "no rule sets it"),
    ):
        with pytest.raises(SettingsError, match=says):
            rules_of_store([rule], "/desk")


def test_derived_words_of_the_store_allow_nothing_that_the_settings_deny():
    """Whoever can write into the store could otherwise call every tool harmless."""
    own = [
        {"when": {"tool": "look"}, "then": {"is": "harmless"}},
        {"when": {"tool": "*"}, "unless": {"is": "harmless"}, "then": "deny"},
        {"when": {"tool": "send", "run.was": "not harmless"}, "then": "deny"},
    ]
    lie = {"name": "lie", "when": {"tool": "*"}, "then": {"is": "harmless"}}
    rules = rules_of_store([lie, NO_COUNT], "/desk")

    async def read() -> tuple[Rule, ...]:
        return rules

    gate = RuleGate(settings_of(own).rules, str, now=lambda: NOON, read_stored=read)
    assert "does not allow it" in pass_gate(gate, tool("x", "wipe"), agent())
    caller = agent()
    caller.facts.was.add("store:harmless")
    assert "does not allow it" in pass_gate(gate, tool("x", "send"), caller)
    assert pass_gate(gate, tool("x", "look"), agent()) == ""


@pytest.mark.anyio
async def test_rules_stay_in_force_until_reading_them_again_fails():
    is_away = [False]
    rules = rules_of_store([NO_COUNT], "/desk")

    async def read() -> tuple[Rule, ...]:
        if is_away[0]:
            raise RulesUnknown("the store", "it is away.")
        return rules

    gate = RuleGate((), str, read_stored=read)
    await gate.ensure_read()
    is_away[0] = True
    await gate.ensure_read()
    assert gate.book.rules == rules
    for _ in range(2):
        await gate.renew()  # a run begins
        with pytest.raises(RulesUnknown):
            await gate.ensure_read()
    is_away[0] = False
    await gate.ensure_read()
