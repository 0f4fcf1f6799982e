"""Fields that a service adds to its messages go back to it, and to no other.

Each of these services answers 400 where a field of its own is missing or changed, or where one of
another service is there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.agent.runs import go
from tests.support.model_endpoint import ModelEndpoint, Step, calls, fails, model_endpoint, says
from tests.support.responses_service import REASONING
from xai_mcp_agent.agent.models.choice import AgentModel

pytestmark = pytest.mark.anyio

SUMS = (("sum_up", {"a": "1"}), ("sum_up", {"a": "3"}))


@dataclass(frozen=True)
class Service:
    """A service, and the field that it adds to a message or its first call; `#` is a number."""

    field: str
    value: Any
    in_calls: bool = False
    provider: str = "openai"

    def numbered(self, number: int) -> Any:
        return json.loads(json.dumps(self.value).replace("#", str(number)))

    def adding(self, step: Step, number: int = 1) -> Step:
        """The step with what this service adds to it."""
        message, added = dict(step.message), {self.field: self.numbered(number)}
        if not self.in_calls:
            return replace(step, message=message | added)
        first, *others = message["tool_calls"]
        return replace(step, message=message | {"tool_calls": [first | added, *others]})

    def values(self, endpoint: ModelEndpoint, number: int) -> list[Any]:
        """Return the values that a request brings back, in order."""
        body = endpoint.requests[number].body
        if "input" in body:
            return [x[self.field] for x in body["input"] if x.get("type") == "reasoning"]
        messages = [x for x in body["messages"] if x["role"] == "assistant"]
        if self.in_calls:
            messages = [x["tool_calls"][0] for x in messages if x.get("tool_calls")]
        return [x.get(self.field) for x in messages]


GEMINI = Service("extra_content", {"google": {"thought_signature": "c2ln#=="}}, in_calls=True)
DEEPSEEK = Service("reasoning_content", "The user wants a sum, the #th of today.")
THOUGHT = {
    "type": "reasoning.text", "text": "Let me think, #.", "index": 0, "signature": "s#",
    "format": "anthropic-claude-v1",
}  # fmt: skip
HIDDEN = {"type": "reasoning.encrypted", "data": "ZW5jcnlwdGVk#", "index": 1}
OPENROUTER = Service("reasoning_details", [THOUGHT, HIDDEN])
RESPONSES = Service(REASONING, "gAAAAA#", provider="openai_responses")
EACH = pytest.mark.parametrize(
    "service",
    [GEMINI, DEEPSEEK, OPENROUTER, RESPONSES],
    ids=["gemini", "deepseek", "openrouter", "responses"],
)


def sum_up(a: str) -> str:
    return f"sum of {a}"


async def ask(
    endpoint: ModelEndpoint, provider: str, start: Any, name: str = "m"
) -> list[dict[str, Any]]:
    """The conversation of a run, as a file has it."""
    model = AgentModel(provider=provider, name=name, base_url=endpoint.base_url).open()
    try:
        run = await go([], start, sum_up, by=model)
    finally:
        await model.aclose()
    return json.loads(json.dumps(run.messages))


def conversations(endpoint: ModelEndpoint) -> list[str]:
    """Return the conversations of all requests."""
    bodies = [x.body for x in endpoint.requests]
    return [json.dumps(x.get("messages") or x["input"]) for x in bodies]


@EACH
async def test_added_fields_go_back_to_their_service_even_in_the_next_run_and_to_no_other(
    service: Service,
):
    answer = says("3, 7.") if service.in_calls else service.adding(says("3, 7."), 3)
    turns = [service.adding(calls(*SUMS, text="Two sums.")), service.adding(calls(SUMS[0]), 2)]
    with model_endpoint([*turns, answer, says("Yes.")]) as endpoint:
        first = await ask(endpoint, service.provider, "1 + 2?")
        again = await ask(endpoint, service.provider, [*first, "Sure?"])
    assert [x[-1]["content"] for x in (first, again)] == ["3, 7.", "Yes."]
    values = [service.numbered(n) for n in (1, 2, 3)]
    last = 2 if service.in_calls else 3
    for number, count in enumerate((0, 1, 2, last)):
        assert service.values(endpoint, number) == values[:count]
    plain = [{k: x for k, x in m.items() if k != "_added"} for m in first]
    assert service.field not in json.dumps(plain), "people see what the protocol has"
    with model_endpoint([says("Yes.")]) as other:
        elsewhere = await ask(other, "openai", [*first, "Sure?"])
    assert service.field not in conversations(other)[0]
    assert "_added" not in conversations(other)[0]
    # Its own service has them again when the conversation comes back.
    assert elsewhere[: len(first)] == first


@EACH
async def test_a_service_that_refuses_its_own_field_is_asked_without_it(service: Service):
    """DeepSeek's first models that reason did."""
    refusal = fails(400, {"message": f"Unknown field: {service.field}"})
    script = [service.adding(calls(SUMS[0])), refusal, says("3.")]
    with model_endpoint(script) as endpoint:
        messages = await ask(endpoint, service.provider, "1 + 2?")
    assert messages[-1]["content"] == "3."
    assert [service.field in x for x in conversations(endpoint)] == [False, True, False]


async def test_another_family_of_models_at_the_same_address_is_another_service():
    """Behind one address stand models of many makers."""
    with model_endpoint([DEEPSEEK.adding(calls(SUMS[0])), *[says("3.")] * 3]) as endpoint:
        conversation: Any = "1 + 2?"
        for name in ("deepseek/deepseek-chat", "deepseek/deepseek-reasoner", "moonshot/kimi-k2"):
            conversation = [*await ask(endpoint, "openai", conversation, name), "Sure?"]
    thoughts = ["reasoning_content" in x for x in conversations(endpoint)]
    assert thoughts == [False, True, True, False]
