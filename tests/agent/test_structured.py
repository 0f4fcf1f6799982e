"""Answers that must fit a schema: the instruction, the value, and the second attempt."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agent.runs import RunRecord, go
from tests.support.scripted_model import ScriptedReply, calling
from xai_mcp_agent import BadSetting, ModelAnswerInvalid
from xai_mcp_agent.agent.events import ModelAskedAgain
from xai_mcp_agent.agent.models.base import ModelReply
from xai_mcp_agent.agent.structured import OutputSchema

pytestmark = pytest.mark.anyio

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": ["integer", "null"]}},
    "required": ["city", "people"],
}
ROME = '{"city": "Rome", "people": 2800000}'
ROME_VALUE = {"city": "Rome", "people": 2800000}
SHOUT = calling(("shout", {"input": "hi"}))


def shout(input: str) -> str:
    return input.upper()


async def ask(*replies: ScriptedReply, schema: Any = CITY, **agent: Any) -> RunRecord:
    """Run an agent whose answer must fit this schema."""
    return await go(replies, "Which city?", shout, output=OutputSchema(schema), **agent)


def forms(run: RunRecord) -> list[bool]:
    """Return for each request whether its service must enforce the schema."""
    return [x.output_schema is not None for x in run.model.requests]


async def test_the_prompt_has_the_schema_and_requests_without_tools_enforce_it():
    """Several services call no tools if they enforce a schema."""
    run = await ask(SHOUT, "Rome, HI.", ROME)
    assert (run.outcome.structured, run.answer) == (ROME_VALUE, ROME)
    assert forms(run) == [False, False, True]
    assert '"required": ["city", "people"]' in run.request(0)[0]["content"]
    text = await ask('TOOL: shout {"input": "hi"}', "{}", ROME, protocol="text")
    assert forms(text) == [False, False, True]
    last = await ask(SHOUT, SHOUT, "Rome.", ROME, max_thoughts=2)
    assert (last.outcome.stopped, last.outcome.structured) == ("max_thoughts", ROME_VALUE)


async def test_an_answer_that_does_not_fit_is_requested_once_more_with_its_problems():
    incomplete = ModelReply('{"city": "Ro', finish="length")
    for first, problem in (
        ('{"city": "Rome"}', '"people" is a required property'),
        ("It is Rome.", "it is not JSON"),
        (incomplete, "it was cut off at the limit of its length"),
    ):
        run = await ask(first, ROME)
        assert run.outcome.structured == ROME_VALUE
        assert problem in run.request()[-1]["content"]
        assert run.roles == ["user", "assistant", "user", "assistant"]
        assert any(isinstance(x, ModelAskedAgain) for x in run.events)


async def test_two_answers_that_do_not_fit_are_an_error_but_a_refusal_is_not():
    with pytest.raises(ModelAnswerInvalid, match="even when asked again") as caught:
        await ask("{}", "Rome")
    assert caught.value.problems == ("it is not JSON",)
    for before in ([], ["Rome"]):
        run = await ask(*before, ModelReply("", refusal="I will not."))
        assert (run.outcome.stopped, run.outcome.structured) == ("refused", None)
        assert run.answer == "I will not."


async def test_json_among_words_or_in_a_fence_is_read():
    for text in (
        f"Here it is:\n\n```json\n{ROME}\n```\nAnything else?",
        f"<think>Rome, I think.</think>{ROME}", "{'city': 'Rome', 'people': 2800000,}",
    ):  # fmt: skip
        run = await ask(text)
        assert run.outcome.structured == ROME_VALUE


DOUBLED = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}


def test_an_invalid_schema_is_refused():
    schemas: list[Any] = [
        {"type": "strnig"}, {"city": "string"}, {"$ref": "https://example.org/x"},
        {"$ref": "#/$defs/d0", "$defs": {**DOUBLED, "d30": {"type": "string"}}},
    ]  # fmt: skip
    for schema in schemas:
        with pytest.raises(BadSetting, match="`output_schema` of AgentRun"):
            OutputSchema(schema)
