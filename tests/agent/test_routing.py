"""Routing: a model chooses one of several routes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent
from tests.support.model_endpoint import ModelEndpoint, model_endpoint, says
from xai_mcp_agent.agent.routing import NoRoute
from xai_mcp_agent.canvas.routing import define_route, follow_route

REPAIRS = '{"route": "Repairs"}'


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def routes() -> dict[str, Any]:
    """A ctx with two routes that leave a result in it, and one that leaves none."""
    ctx: dict[str, Any] = {}

    def billing(run_ctx: Any, conversation: Any) -> None:
        run_ctx["agent_flow_result"] = f"billed: {conversation}"

    define_route(ctx, "billing", "Questions about invoices and payments.", billing)
    refund = {"agent_flow_result": "R"}
    define_route(ctx, "billing_refunds", "Money back.", lambda c, _: c.update(refund))
    define_route(ctx, "Repairs", "Something is broken.", lambda _c, _v: None)
    return ctx


def route(script: Any, conversation: Any = "Hi.", **agent: Any) -> tuple[str, Any, ModelEndpoint]:
    ctx = routes()
    with model_endpoint(script) as endpoint:
        init_agent(ctx, "a", provider="openai", model="m", base_url=endpoint.base_url, **agent)
        name, result = follow_route(ctx, "a", conversation, None)
    return name, result, endpoint


def test_a_model_names_a_route_as_json_and_its_nodes_give_the_result():
    reply = '<think>Billing or {"route": "billing"}?</think>\nI choose {"route": "Repairs"}.'
    name, result, endpoint = route([says(reply)], "My tap!", tool_protocol="text")
    assert (name, result) == ("Repairs", None)
    body = endpoint.requests[0].body
    assert "tools" not in body
    choice = body["response_format"]["json_schema"]["schema"]["properties"]["route"]
    assert choice["enum"] == ["billing", "billing_refunds", "Repairs"]
    assert "Something is broken." in body["messages"][0]["content"]
    name, result, _ = route([says('{"route": "billing"}')], "My invoice?")
    assert (name, result) == ("billing", "billed: My invoice?")


def test_a_conversation_that_is_too_long_to_route_is_sent_in_part():
    messages = [{"role": "user", "content": f"{n} " + "word " * 200} for n in range(500)]
    _, _, endpoint = route([says(REPAIRS)], [*messages, "My tap!"], context_tokens=4_000)
    messages = endpoint.requests[0].body["messages"]
    assert messages[-1]["content"] == "My tap!"
    assert sum(len(x["content"]) for x in messages) < 16_000


def test_a_reply_without_a_route_is_requested_once_more_and_then_an_error():
    name, _, endpoint = route([says('{"route": "cooking"}'), says(REPAIRS)])
    assert name == "Repairs"
    assert '"cooking" is not one of' in endpoint.requests[1].body["messages"][-1]["content"]
    for reply in (says("cooking"), says("", refusal="No.")):
        with pytest.raises(NoRoute, match="The routes are: billing, billing_refunds, Repairs"):
            route([reply] * 3)
    ctx: dict[str, Any] = {}
    init_agent(ctx, "a")
    with pytest.raises(NoRoute, match="AgentDefineRoute"):
        follow_route(ctx, "a", "Hi.", None)


def test_the_offline_model_routes_by_words_and_ignores_earlier_results():
    ctx = {**routes(), "agent_flow_result": "old"}
    init_agent(ctx, "a")
    assert follow_route(ctx, "a", "My tap is broken.", None) == ("Repairs", None)
