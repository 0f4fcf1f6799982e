"""What comes next, whether wires fit and why a tool is chosen, with the rules that decide it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.planning.shop import TOOLS
from tests.support import catalog_server
from tests.support.warm_python import warm_python
from xai_mcp_agent import Bridge
from xai_mcp_agent.planning import plan_from_json

CANCEL = ("cancel an order", "shop", "cancel_order")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings with a shop."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "shop.jsonl"
    mine = [x for x in TOOLS if x["server"] == "shop"]
    file.write_text("\n".join(map(json.dumps, mine)), encoding="utf-8")
    entry = {"command": warm_python(), "args": [catalog_server.__file__, str(file)]}
    return {"mcpServers": {"shop": entry}}


def test_a_rule_that_denies_a_tool_is_named_where_it_keeps_it_from_being_chosen(
    settings: dict[str, Any],
):
    rules = [{"name": "no cancelling", "when": {"tool.name": "cancel_*"}, "then": "deny"}]
    with Bridge({**settings, "rules": rules}) as bridge:
        found = bridge.explain_choice(*CANCEL)
    assert found.is_chosen is False
    assert any("no cancelling" in x for x in found.barred)
    assert found.ruling.rule == "no cancelling"
    assert (found.step, "cancel_order" in found.steps) == (0, False)


def test_a_rule_that_asks_or_prefers_is_named_and_the_tool_may_be_chosen(
    settings: dict[str, Any],
):
    rules = [
        {"name": "careful", "when": {"tool.name": "cancel_*"}, "then": "ask"},
        {"name": "first", "when": {"server": "shop"}, "then": {"prefer": 0.2}},
    ]
    with Bridge({**settings, "rules": rules}) as bridge:
        found = bridge.explain_choice(*CANCEL)
    assert (found.is_chosen, found.barred) == (True, [])
    assert (found.ruling.word, found.ruling.rule) == ("ask", "careful")
    assert found.ruling.preferred_by == ("first",)


def test_what_comes_next_and_what_is_wired_wrongly_can_be_had_as_values(settings: dict[str, Any]):
    with Bridge(settings) as bridge:
        (best, *_) = bridge.suggest_tools(["list_orders"]).tools
        assert str(best.tool) == "shop/cancel_order"
        plan = {"calls": [{"tool": "shop/cancel_order", "args": {"order": {"value": 7}}}]}
        found = bridge.check_wires(plan_from_json(plan))
    told = {x.parameter: x.problem for x in found.problems}
    assert told == {
        "order": "cancel_order takes no 'order'",
        "order_id": "cancel_order needs 'order_id', and nothing is given",
    }
    assert {str(y) for x in found.problems for y in x.givers} == {"shop/list_orders"}


def test_what_followed_a_tool_before_is_suggested_first(settings: dict[str, Any]):
    with Bridge(settings) as bridge:
        for tool in ("list_orders", "find_user_id_by_email"):
            bridge.call_tool("shop", tool, {"user_id": "u1", "email": "a@b.org"})
        (best, *_) = bridge.suggest_tools(["list_orders"]).tools
    assert (best.name, best.reasons[0]) == ("find_user_id_by_email", "followed it 1 of 1 times")
