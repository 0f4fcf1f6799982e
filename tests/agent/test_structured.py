"""Answers of a certain form: what a model is told, what is read, and what is asked for again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agent.runs import Played, go
from tests.support.scripted_model import Said, calling
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


async def ask(*replies: Said, schema: Any = CITY, **agent: Any) -> Played:
    """Run an agent whose answer must be of this form."""
    return await go(replies, "Which city?", shout, output=OutputSchema(schema), **agent)


def forms(run: Played) -> list[bool]:
    """For each request whether it may be answered in the form alone."""
    return [x.output_schema is not None for x in run.model.asked]


async def test_the_model_is_told_the_form_and_held_to_it_once_it_may_call_nothing():
    """Several services call no tool any more where they are held to a form."""
    run = await ask(SHOUT, "Rome, HI.", ROME)
    assert run.finished
    assert (run.finished.structured, run.answer) == (ROME_VALUE, ROME)
    assert forms(run) == [False, False, True]
    assert '"required": ["city", "people"]' in run.sent(0)[0]["content"]
    text = await ask('TOOL: shout {"input": "hi"}', "{}", ROME, protocol="text")
    assert forms(text) == [False, False, True]
    last = await ask(SHOUT, SHOUT, "Rome.", ROME, max_thoughts=2)
    assert last.finished
    assert (last.finished.stopped, last.finished.structured) == ("max_thoughts", ROME_VALUE)


async def test_an_answer_that_does_not_fit_is_asked_for_once_more_with_what_is_wrong():
    cut_off = ModelReply('{"city": "Ro', finish="length")
    for first, problem in (
        ('{"city": "Rome"}', '"people" is a required property'),
        ("It is Rome.", "it is not JSON"),
        (cut_off, "it was cut off at the limit of its length"),
    ):
        run = await ask(first, ROME)
        assert run.finished
        assert run.finished.structured == ROME_VALUE
        assert problem in run.sent()[-1]["content"]
        assert run.roles == ["user", "assistant", "user", "assistant"]
        assert any(isinstance(x, ModelAskedAgain) for x in run.events)


async def test_an_answer_that_fits_neither_time_is_an_error_and_a_refusal_is_none():
    with pytest.raises(ModelAnswerInvalid, match="even when asked again") as raised:
        await ask("{}", "Rome")
    assert raised.value.problems == ("it is not JSON",)
    for before in ([], ["Rome"]):
        run = await ask(*before, ModelReply("", refusal="I will not."))
        assert run.finished
        assert (run.finished.stopped, run.finished.structured) == ("refused", None)
        assert run.answer == "I will not."


async def test_an_answer_that_is_plainly_meant_is_read():
    for text in (
        f"Here it is:\n\n```json\n{ROME}\n```\nAnything else?",
        f"<think>Rome, I think.</think>{ROME}", "{'city': 'Rome', 'people': 2800000,}",
    ):  # fmt: skip
        run = await ask(text)
        assert run.finished
        assert run.finished.structured == ROME_VALUE


DOUBLED = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}


def test_a_schema_that_cannot_check_anything_is_refused():
    schemas: list[Any] = [
        {"type": "strnig"}, {"city": "string"}, {"$ref": "https://example.org/x"},
        {"$ref": "#/$defs/d0", "$defs": {**DOUBLED, "d30": {"type": "string"}}},
    ]  # fmt: skip
    for schema in schemas:
        with pytest.raises(BadSetting, match="`output_schema` of AgentRun"):
            OutputSchema(schema)
