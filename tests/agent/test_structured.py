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


@pytest.mark.parametrize(
    ("first", "problem"),
    [
        ('{"city": "Rome"}', '"people" is a required property'),
        ("It is Rome.", "it is not JSON"),
        (ModelReply('{"city": "Ro', finish="length"), "it was cut off at the limit of its length"),
    ],
)
async def test_an_answer_that_does_not_fit_is_asked_for_once_more_with_what_is_wrong(
    first: Said, problem: str
):
    run = await ask(first, ROME)
    assert run.finished
    assert run.finished.structured == ROME_VALUE
    assert problem in run.sent()[-1]["content"]
    assert run.roles == ["user", "assistant", "user", "assistant"]
    assert any(isinstance(x, ModelAskedAgain) for x in run.events)


async def test_an_answer_that_fits_neither_time_is_an_error_and_a_refusal_is_none():
    with pytest.raises(ModelAnswerInvalid, match="also when asked again") as raised:
        await ask("{}", "Rome")
    assert raised.value.problems == ("it is not JSON",)
    for before in ([], ["Rome"]):
        run = await ask(*before, ModelReply("", refusal="I will not."))
        assert run.finished
        assert (run.finished.stopped, run.finished.structured) == ("refused", None)
        assert run.answer == "I will not."


@pytest.mark.parametrize(
    "written",
    [f"```json\n{ROME}\n```", f"Here it is:\n\n```json\n{ROME}\n```\nAnything else?",
     f"<think>Rome, I think.</think>{ROME}", "{'city': 'Rome', 'people': 2800000,}"],
)  # fmt: skip
async def test_what_is_plainly_meant_is_read(written: str):
    run = await ask(written)
    assert run.finished
    assert run.finished.structured == ROME_VALUE


DOUBLED = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}


@pytest.mark.parametrize(
    "schema",
    [{"type": "strnig"}, {"city": "string"}, {"$ref": "https://example.org/x"},
     {"$ref": "#/$defs/d0", "$defs": {**DOUBLED, "d30": {"type": "string"}}}],
)  # fmt: skip
def test_what_cannot_be_checked_with_is_refused(schema: Any):
    with pytest.raises(BadSetting, match="`output_schema` of AgentRun"):
        OutputSchema(schema)
