"""What a service adds to its messages goes back to it, and to no other.

Each of these services answers 400 where a field of its own is missing or changed, or where one of
another service is there.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.agent.runs import go
from tests.support.model_endpoint import (
    ModelEndpoint,
    Script,
    Step,
    calls,
    fails,
    model_endpoint,
    says,
)
from tests.support.responses_service import REASONING
from xai_mcp_agent.agent.models.choice import model_for

pytestmark = pytest.mark.anyio

_KNOWN = {"role", "content", "refusal", "tool_calls", "tool_call_id", "name"}
_KNOWN_OF_CALLS = {"id", "type", "function"}
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Rules:
    """What one service adds, and how it complains. `field` is in messages, or in first calls."""

    field: str
    complaint: str
    value: Callable[[int], Any]
    in_calls: bool = False
    provider: str = "openai"  # how it is asked

    def calls(self, *wanted: tuple[str, Mapping[str, Any]], text: str = "") -> Step:
        """Calls tools, with what this service adds."""
        return self.adding(calls(*wanted, text=text))

    def adding(self, step: Step) -> Step:
        """The step with what this service adds to it."""
        added = {self.field: self.value(next(_numbers))}
        message = dict(step.message)
        if self.in_calls:
            first, *others = message["tool_calls"]
            message["tool_calls"] = [first | added, *others]
        else:
            message |= added
        return replace(step, message=message)


def _thought_signature(number: int) -> Any:
    return {"google": {"thought_signature": f"c2lnbmF0dXJl{number}=="}}


def _details(number: int) -> Any:
    text = {"type": "reasoning.text", "text": f"Let me think, {number}.", "index": 0}
    hidden = {"type": "reasoning.encrypted", "data": f"ZW5jcnlwdGVk{number}", "index": 1}
    return [{**text, "signature": f"s{number}", "format": "anthropic-claude-v1"}, hidden]


GEMINI = Rules(
    "extra_content",
    "Function call is missing a thought_signature in functionCall parts.",
    _thought_signature,
    in_calls=True,
)
DEEPSEEK = Rules(
    "reasoning_content",
    "Missing `reasoning_content` field in the assistant message at message index {index}.",
    lambda number: f"The user wants a sum, the {number}th of today.",
)
OPENROUTER = Rules("reasoning_details", "reasoning_details of {index} were changed", _details)
RESPONSES = Rules(
    REASONING,
    "Item of type 'function_call' was provided without its 'reasoning' item: input[{index}]",
    lambda number: f"gAAAAA{number}",
    provider="openai_responses",
)
STRICT = Rules("", "", lambda _: None)
"""Adds nothing and takes nothing that the protocol does not know, as OpenAI and Groq do."""
SERVICES = (GEMINI, DEEPSEEK, OPENROUTER, RESPONSES)


def minding(rules: Rules, script: Script) -> Script:
    """The script, each request of which is looked at as this service does."""
    left = iter(script) if not callable(script) else None
    given: dict[str, Any] = {}

    def answer(body: dict[str, Any]) -> Step:
        if "input" in body:
            complaint = _complaint_of_items(rules, body["input"], given)
        else:
            complaint = _complaint(rules, body["messages"], given)
        if complaint:
            return fails(400, {"message": complaint, "type": "invalid_request_error"})
        step = script(body) if callable(script) else next(left or iter(()))
        given[f"message {len(given)}"] = step.message.get(rules.field)
        for call in step.message.get("tool_calls") or []:
            given[call["id"]] = (call if rules.in_calls else step.message).get(rules.field)
        return step

    return answer


def _complaint(
    rules: Rules, messages: Sequence[Mapping[str, Any]], given: Mapping[str, Any]
) -> str:
    for index, message in enumerate(messages):
        asked = message.get("tool_calls") or []
        own = {rules.field} if rules.field else set[str]()
        odd = {*message} - _KNOWN - (set() if rules.in_calls else own)
        for call in asked:
            odd |= {*call} - _KNOWN_OF_CALLS - (own if rules.in_calls else set())
        if odd:
            return f"property {sorted(odd)[0]!r} is unsupported in messages.{index}"
        for call in asked[:1]:
            wanted = given.get(call["id"])
            found = (call if rules.in_calls else message).get(rules.field)
            if rules.field and (found is None or found != wanted):
                return rules.complaint.format(index=index)
    return ""


def _complaint_of_items(
    rules: Rules, items: Sequence[Mapping[str, Any]], given: Mapping[str, Any]
) -> str:
    """Reasoning stands before the first of the calls that it led to, as it was given."""
    thought: Any = None
    for index, item in enumerate(items):
        kind = item.get("type")
        if kind == "reasoning":
            thought = item.get(rules.field)
            if thought not in given.values():
                return "The encrypted content could not be verified."
        elif kind == "function_call" and rules.field and thought != given.get(item["call_id"]):
            return rules.complaint.format(index=index)
        elif kind == "function_call_output":
            thought = None
    return ""


SUMS = (("sum_up", {"a": "1"}), ("sum_up", {"a": "3"}))
EACH = pytest.mark.parametrize(
    "rules", SERVICES, ids=["gemini", "deepseek", "openrouter", "responses"]
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
