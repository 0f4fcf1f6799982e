"""What a service adds to its messages goes back to it, and to no other.

Each of these services answers 400 where a field of its own is missing or changed, or where one of
another service is there.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agent.runs import go
from tests.support.model_endpoint import ModelEndpoint, fails, model_endpoint, says
from tests.support.model_services import DEEPSEEK, SERVICES, STRICT, Rules, minding
from xai_mcp_agent.agent.models.choice import model_for

pytestmark = pytest.mark.anyio

SUMS = (("sum_up", {"a": "1"}), ("sum_up", {"a": "3"}))
EACH = pytest.mark.parametrize(
    "rules", SERVICES, ids=["gemini", "deepseek", "kimi", "openrouter", "responses"]
)


def sum_up(a: str) -> str:
    return f"sum of {a}"


async def ask(
    endpoint: ModelEndpoint, provider: str, start: Any, name: str = "m"
) -> list[dict[str, Any]]:
    """The conversation of a run, as a file has it."""
    model = model_for(provider, name, base_url=endpoint.base_url)
    try:
        played = await go([], start, sum_up, by=model)
    finally:
        await model.aclose()
    return json.loads(json.dumps(played.messages))


def sent(endpoint: ModelEndpoint) -> list[str]:
    """The conversations of all requests."""
    bodies = [x.body for x in endpoint.requests]
    return [json.dumps(x.get("messages") or x["input"]) for x in bodies]


@EACH
async def test_what_a_service_adds_goes_back_to_it_also_in_the_next_run_and_to_no_other(
    rules: Rules,
):
    answered = says("3, 7.") if rules.in_calls else rules.adding(says("3, 7."))
    steps = [rules.calls(*SUMS, text="Two sums."), rules.calls(SUMS[0]), answered, says("Yes.")]
    with model_endpoint(minding(rules, steps)) as endpoint:
        first = await ask(endpoint, rules.provider, "1 + 2?")
        again = await ask(endpoint, rules.provider, [*first, "Sure?"])
    assert [x[-1]["content"] for x in (first, again)] == ["3, 7.", "Yes."]
    plain = [{k: x for k, x in m.items() if k != "_added"} for m in first]
    assert rules.field not in json.dumps(plain), "people see what the protocol has"
    with model_endpoint(minding(STRICT, [says("Yes.")])) as other:
        elsewhere = await ask(other, "openai", [*first, "Sure?"])
    assert rules.field not in sent(other)[0]
    # Its own service has them again when the conversation comes back.
    assert elsewhere[: len(first)] == first


@EACH
async def test_a_service_that_refuses_what_it_added_itself_is_asked_without_it(rules: Rules):
    """DeepSeek's first models that reason did."""
    refusal = fails(400, {"message": f"Unknown field: {rules.field}"})
    with model_endpoint([rules.calls(SUMS[0]), refusal, says("3.")]) as endpoint:
        messages = await ask(endpoint, rules.provider, "1 + 2?")
    assert messages[-1]["content"] == "3."
    assert [rules.field in x for x in sent(endpoint)] == [False, True, False]


async def test_another_family_of_models_at_the_same_address_is_another_service():
    """Behind one address stand models of many makers."""
    with model_endpoint([DEEPSEEK.calls(SUMS[0]), *[says("3.")] * 3]) as endpoint:
        conversation: Any = "1 + 2?"
        for name in ("deepseek/deepseek-chat", "deepseek/deepseek-reasoner", "moonshot/kimi-k2"):
            conversation = [*await ask(endpoint, "openai", conversation, name), "Sure?"]
    thoughts = ["reasoning_content" in x for x in sent(endpoint)]
    assert thoughts == [False, True, True, False]
