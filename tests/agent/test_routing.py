"""Routing: a model chooses one of several routes, by function or by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent
from tests.support.model_endpoint import ModelEndpoint, calls, fails, model_endpoint, says
from xai_mcp_agent import ModelCannotCallFunctions
from xai_mcp_agent.agent.routing import NoRoute
from xai_mcp_agent.canvas.routing import define_route, follow_route


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def two_routes() -> dict[str, Any]:
    """A ctx with a route that leaves its result in ctx, and one that leaves nothing."""
    ctx: dict[str, Any] = {}

    def billing(run_ctx: Any, conversation: Any) -> None:
        run_ctx["agent_flow_result"] = f"billed: {conversation}"

    define_route(ctx, "billing", "Questions about invoices and payments.", billing)
    define_route(
        ctx, "billing_refunds", "Money back.", lambda c, _: c.update(agent_flow_result="R")
    )
    define_route(ctx, "Repairs", "Something is broken.", lambda _c, _v: None)
    return ctx


def route(script: Any, conversation: Any = "Hi.", **agent: Any) -> tuple[str, Any, ModelEndpoint]:
    ctx = two_routes()
    with model_endpoint(script) as endpoint:
        init_agent(ctx, "a", provider="openai", model="m", base_url=endpoint.base_url, **agent)
        name, result = follow_route(ctx, "a", conversation, None)
    return name, result, endpoint


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("billing", "billing"),
        ('"Billing".', "billing"),
        ("**repairs**", "Repairs"),
        ("The best route is: Repairs!", "Repairs"),
        ("billing refunds", "billing_refunds"),
        ("`billing_refunds`", "billing_refunds"),
        ("TOOL: repairs {}", "Repairs"),
        ('{"route": "Repairs", "reason": "It is no question about billing."}', "Repairs"),
        ('```json\n{"choice": "billing_refunds"}\n```', "billing_refunds"),
        ('{"name": "repairs", "arguments": {}}', "Repairs"),
        ("It is about a tap, not about billing.\n\nRoute: Repairs", "Repairs"),
        ("It is not billing, so I choose **Repairs**.", "Repairs"),
        ("<think>Is it billing or repairs?</think>\nRepairs", "Repairs"),
    ],
)
def test_quotes_case_and_punctuation_round_a_name_do_not_matter(reply: str, name: str):
    assert route([says(reply)])[0] == name


def test_a_model_may_call_the_route():
    name, result, endpoint = route([calls(("billing", {}))], "My invoice?")
    assert (name, result) == ("billing", "billed: My invoice?")
    assert [x["function"]["name"] for x in endpoint.requests[0].body["tools"]] == [
        "billing", "billing_refunds", "Repairs",
    ]  # fmt: skip


REFUSED = fails(400, {"message": "registry.example/m does not support tools"})


@pytest.mark.parametrize(
    ("replies", "name"),
    [
        ([REFUSED, says("Repairs")], "Repairs"),
        ([REFUSED, says("Hm."), says('{"route": "billing"}')], "billing"),
    ],
)
def test_a_model_that_cannot_call_functions_names_the_route(replies: list[Any], name: str):
    chosen, _, endpoint = route(replies)
    assert chosen == name
    assert "tools" in endpoint.requests[0].body
    for asked in endpoint.requests[1:]:
        assert "tools" not in asked.body
        assert "Reply with the name of the route" in asked.body["messages"][0]["content"]


def test_an_agent_of_the_text_protocol_is_offered_no_functions():
    _, _, endpoint = route([says("TOOL: repairs {}")], tool_protocol="text")
    assert "tools" not in endpoint.requests[0].body
    with pytest.raises(ModelCannotCallFunctions):
        route([REFUSED], tool_protocol="native")


def test_a_conversation_that_is_too_long_to_route_is_sent_in_part():
    given = [{"role": "user", "content": f"{n} " + "word " * 200} for n in range(500)]
    _, _, endpoint = route([says("Repairs")], [*given, "My tap!"], context_tokens=4_000)
    sent = endpoint.requests[0].body["messages"]
    assert sent[-1]["content"] == "My tap!"
    assert sum(len(x["content"]) for x in sent) < 16_000


def test_a_reply_that_names_no_route_gets_one_more_try():
    name, _, endpoint = route([says("I am not sure."), says("Repairs")])
    assert name == "Repairs"
    assert "one of these names" in endpoint.requests[1].body["messages"][-1]["content"]


@pytest.mark.parametrize("reply", ["cooking", "", "billing or repairs"])
def test_a_model_that_names_none_twice_is_an_error_that_quotes_it(reply: str):
    with pytest.raises(NoRoute, match="The routes are: billing, billing_refunds, Repairs"):
        route([says(reply), says(reply)])


def test_no_routes_at_all_is_told():
    ctx: dict[str, Any] = {}
    init_agent(ctx, "a")
    with pytest.raises(NoRoute, match="AgentDefineRoute"):
        follow_route(ctx, "a", "Hi.", None)


@pytest.mark.parametrize(
    ("request_text", "name"),
    [("There is an error in my invoice.", "billing"), ("My tap is broken.", "Repairs")],
)
def test_the_offline_model_routes_by_words(request_text: str, name: str):
    ctx = two_routes()
    init_agent(ctx, "a")
    assert follow_route(ctx, "a", request_text, None)[0] == name


def test_a_result_of_the_last_run_is_not_taken_for_this_one():
    ctx = two_routes()
    ctx["agent_flow_result"] = "old"
    init_agent(ctx, "a")
    assert follow_route(ctx, "a", "My tap is broken.", None) == ("Repairs", None)
