"""Scripted services that enforce what real ones ask of the fields they add to their messages.

    with model_endpoint(minding(GEMINI, [GEMINI.calls(("add", {"a": 1})), says("1")])) as endpoint:
        ...

Each looks at the whole conversation of a request, as the service does, and refuses it with
status 400 where a field of its own is missing or changed, or where one of another service is there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.support.model_endpoint import Script, Step, calls, fails
from tests.support.responses_service import REASONING

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
KIMI = Rules(
    "reasoning_content",
    "thinking is enabled but reasoning_content is missing in assistant tool call message at "
    "index {index}",
    lambda number: f"Thinking {number}.",
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
SERVICES = (GEMINI, DEEPSEEK, KIMI, OPENROUTER, RESPONSES)


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
