"""`select_tool`, `plan_tools`, `execute_tool` and `list_tools`: what an agent does with its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.planning.shop import TOOLS
from tests.support.canvas import ask_scripted, call, chain, make
from tests.support.fault_server import catalog_entry
from tests.support.model_endpoint import ReceivedRequest, Step, calls, says
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent.agent.meta_tools import PLANNING_TOOLS
from xai_mcp_agent.agent_components import AgentApprove, AgentMakeToolbelt, AgentRun
from xai_mcp_agent.canvas.lease import bridge_of

from .conftest import UseServers

NAMES = [x.name for x in PLANNING_TOOLS]
REQUEST = "List my orders and cancel the first one. My email is ada@example.org."
RULES = [{"name": "gone", "when": {"tool": "shop/list_orders"}, "then": "deny"}]


class Outcome(NamedTuple):
    """What an agent's model got, and the run's `ctx`."""

    requests: list[ReceivedRequest]
    ctx: dict[str, Any]

    @property
    def results(self) -> list[str]:
        return self.requests[-1].results


@pytest.fixture
def shop(tmp_path: Path) -> dict[str, Any]:
    """The server of all tools of the shop."""
    return catalog_entry(tmp_path / "shop.jsonl", TOOLS)


@pytest.fixture
def run(use_servers: UseServers, shop: dict[str, Any]) -> Callable[..., Outcome]:
    """Runs an agent that has the shop and the shredder, and not the other shop."""

    def run(
        *script: Step, planning: Any = True, approve: str = "", sections: Any = None, **init: Any
    ) -> Outcome:
        use_servers(sections, shop=shop, shredder=shredder_entry(), other=shop)
        ctx: dict[str, Any] = {}
        node = make(AgentRun, question="Go.")
        if approve:
            looks = call(lambda _: approve, node.approval)
            node.on_approval = chain(looks, make(AgentApprove, answer=looks.result))
        belt = make(AgentMakeToolbelt, planning_tools=planning)
        using = ("shop", "shredder", belt)
        init |= {"run": node, "ctx": ctx, "toolbelt_spec": belt.toolbelt_spec}
        return Outcome(ask_scripted([*script, says("Done.")], *using, **init), ctx)

    return run


def test_planning_tools_are_offered_only_if_the_toolbelt_has_them(
    run: Callable[..., Outcome],
) -> None:
    assert not {*NAMES} & {*run(planning=False).requests[0].tool_names}
    assert {*NAMES} <= {*run().requests[0].tool_names}


def test_a_tool_is_selected_a_request_planned_and_tools_listed(run: Callable[..., Outcome]) -> None:
    selected, planned, listed, none = run(
        calls(("select_tool", {"request": "cancel the order"})),
        calls(("plan_tools", {"request": REQUEST})),
        calls(("list_tools", {"text": "cancel an ORDER"})),
        calls(("select_tool", {"request": "zzz"})),
    ).results
    assert selected.startswith("shop_cancel_order(order_id: string) - Cancel an order. [shop]\n")
    assert "Confidence 0." in selected
    assert "\n2. shop_list_orders\n" in planned
    assert "order_id: orders[].order_id" in planned or "result of call 2" in planned
    assert listed.splitlines() == ["shop_cancel_order(order_id: string) - Cancel an order. [shop]"]
    assert "`list_tools`" in none


def test_an_executed_call_is_a_call_of_the_tool_itself(run: Callable[..., Outcome]) -> None:
    """This holds in the history, for rules, and for approvals."""
    outcome = run(
        calls(("execute_tool", {"tool": "shop_cancel_order", "arguments": {"order_id": "7"}})),
        calls(("execute_tool", {"tool": "shop/cancel_order", "arguments": '{"order_id": "8"}'})),
        calls(("execute_tool", {"tool": "cancel_order", "arguments": {}})),
        calls(("execute_tool", {"tool": "shredder_shred", "arguments": {"paper": "will"}})),
        approve="no",
    )
    first, second, third, refused = outcome.results
    assert first == 'cancel_order {"order_id": "7"}'
    assert second == 'cancel_order {"order_id": "8"}'
    assert '"order_id" is a required property' in third
    assert "was not approved" in refused
    changes = [x.change for x in bridge_of(outcome.ctx).history("shop", "cancel_order")]
    assert changes.count("called") == 2


def test_only_tools_of_the_toolbelt_can_be_reached(run: Callable[..., Outcome]) -> None:
    blocked = {"toolSearch": {"blocked": ["shop/get_exchange_rate"]}, "rules": RULES}
    refusals = {
        "other_cancel_order": "not enabled for this agent",
        "other/cancel_order": "no tool",
        "shop_list_orders": "'gone' does not allow it",
        "shop_get_exchange_rate": "blocked",
        "execute_tool": "by itself",
        "read_result": "no tool",
        "": "no tool",
        "shop_cancel": "shop_cancel_order",
    }
    outcome = run(
        *(calls(("execute_tool", {"tool": x, "arguments": {}})) for x in refusals),
        calls(("list_tools", {})),
        calls(("plan_tools", {"request": REQUEST})),
        calls(("select_tool", {"request": "get the exchange rate"})),
        sections=blocked,
        max_thoughts=12,
    )
    for result, why in zip(outcome.results, refusals.values(), strict=False):
        assert why in result
    for listing in outcome.results[len(refusals) :]:
        assert not any(x in listing for x in ("other_", "list_orders", "get_exchange_rate"))
    listing = bridge_of(outcome.ctx).records().tools
    assert not [x for x in listing if x.source == "other"]


def test_selected_and_planned_tools_are_shown_from_then_on(run: Callable[..., Outcome]) -> None:
    """Within a budget in which little has room."""
    words = {"text": "a", "language": "b"}
    outcome = run(
        calls(("plan_tools", {"request": REQUEST})),
        calls(("execute_tool", {"tool": "shop_translate_text", "arguments": words})),
        tool_token_budget=600,
    )  # fmt: skip
    first, second, third = (x.tool_names for x in outcome.requests)
    assert "shop_cancel_order" not in first
    assert "shop_cancel_order" in second
    assert "shop_translate_text" in third
