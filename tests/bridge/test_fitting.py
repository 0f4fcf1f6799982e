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


def test_a_rule_that_denies_asks_or_prefers_is_named_in_the_explanation(settings: dict[str, Any]):
    cancels = {"tool.name": "cancel_*"}
    with Bridge({**settings, "rules": [{"name": "no", "when": cancels, "then": "deny"}]}) as bridge:
        choice = bridge.explain_choice(*CANCEL)
    assert choice.is_chosen is False
    assert any("no" in x.split("'") for x in choice.barred)
    assert choice.ruling.rule == "no"
    assert (choice.step, "cancel_order" in choice.steps) == (0, False)
    rules = [
        {"name": "careful", "when": cancels, "then": "ask"},
        {"name": "first", "when": {"server": "shop"}, "then": {"prefer": 0.2}},
    ]
    with Bridge({**settings, "rules": rules}) as bridge:
        choice = bridge.explain_choice(*CANCEL)
    assert (choice.is_chosen, choice.barred) == (True, [])
    assert (choice.ruling.word, choice.ruling.rule) == ("ask", "careful")
    assert choice.ruling.preferred_by == ("first",)


def test_next_tools_and_wrong_wires_are_values_and_what_followed_before_comes_first(
    settings: dict[str, Any],
):
    with Bridge(settings) as bridge:
        (best, *_) = bridge.suggest_tools(["list_orders"]).tools
        assert str(best.tool) == "shop/cancel_order"
        plan = {"calls": [{"tool": "shop/cancel_order", "args": {"order": {"value": 7}}}]}
        wires = bridge.check_wires(plan_from_json(plan))
        for tool in ("list_orders", "find_user_id_by_email"):
            bridge.call_tool("shop", tool, {"user_id": "u1", "email": "a@b.org"})
        (best, *_) = bridge.suggest_tools(["list_orders"]).tools
    assert {x.parameter: x.problem for x in wires.problems} == {
        "order": "cancel_order takes no 'order'",
        "order_id": "cancel_order needs 'order_id', and nothing is given",
    }
    assert {str(y) for x in wires.problems for y in x.givers} == {"shop/list_orders"}
    assert (best.name, best.reasons[0]) == ("find_user_id_by_email", "followed it 1 of 1 times")
