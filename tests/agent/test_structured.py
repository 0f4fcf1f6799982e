"""Answers of a certain form: what services are sent, what is read, and what is asked for again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent
from tests.support.model_endpoint import Script, Step, calls, fails, model_endpoint, says
from xai_mcp_agent import BadSetting, JsonObject, ModelAnswerInvalid
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent
from xai_mcp_agent.canvas.toolbelts import define_tool, make_toolbelt

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": ["integer", "null"]}},
    "required": ["city", "people"],
}
ROME = '{"city": "Rome", "people": 2800000}'
ROME_VALUE = {"city": "Rome", "people": 2800000}
SHOUT = calls(("shout", {"input": "hi"}))


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


def ask(
    script: Script, schema: Any = CITY, *, tools: bool = False, **agent: Any
) -> tuple[CanvasRun, list[JsonObject]]:
    """Run an agent whose answer must be of this form; its outcome and the requests of its model."""
    ctx: dict[str, Any] = {}
    outcome = CanvasRun()
    if tools:
        define_tool(ctx, None, "shout", "Says a text loudly.", lambda _c, text, _a: text.upper())
    with model_endpoint(script) as endpoint:
        agent = {"provider": "openai", "model": "m", "base_url": endpoint.base_url, **agent}
        init_agent(ctx, "a", toolbelt_spec=make_toolbelt(ctx, ""), **agent)
        run_agent(ctx, "a", "Which city?", outcome=outcome, output_schema=schema)
        return outcome, [x.body for x in endpoint.requests]


def forms(bodies: list[JsonObject]) -> list[bool]:
    """For each request whether the service was told of a form."""
    return ["response_format" in x for x in bodies]


def test_a_service_and_the_model_are_told_the_form():
    outcome, (body,) = ask([says(ROME)])
    assert (outcome.structured, outcome.answer) == (ROME_VALUE, ROME)
    assert body["response_format"]["type"] == "json_schema"
    assert '"required": ["city", "people"]' in body["messages"][0]["content"]


def test_an_answer_that_is_no_object_is_only_described_in_the_prompt():
    """OpenAI refuses such a form."""
    outcome, bodies = ask([says("[1, 2]")], {"type": "array", "items": {"type": "integer"}})
    assert (outcome.structured, forms(bodies)) == ([1, 2], [False])
    assert '"type": "array"' in bodies[0]["messages"][0]["content"]


def test_a_service_that_refuses_the_form_is_not_sent_it_a_second_time():
    refusal = fails(400, {"message": "Invalid parameter", "param": "response_format"})
    outcome, bodies = ask([refusal, says("Rome"), says(ROME)])
    assert (outcome.structured, forms(bodies)) == (ROME_VALUE, [True, False, False])


@pytest.mark.parametrize(
    ("first", "problem"),
    [
        (says('{"city": "Rome"}'), '"people" is a required property'),
        (says("It is Rome."), "it is not JSON"),
        (says('{"city": "Ro', finish="length"), "it was cut off at the limit of its length"),
    ],
)
def test_an_answer_that_does_not_fit_is_asked_for_once_more_with_what_is_wrong(
    first: Step, problem: str, capsys: Any
):
    outcome, bodies = ask([first, says(ROME)])
    assert outcome.structured == ROME_VALUE
    assert problem in bodies[-1]["messages"][-1]["content"]
    roles = [x["role"] for x in outcome.conversation]
    assert roles == ["user", "assistant", "user", "assistant"]
    assert "does not fit" in capsys.readouterr().out


def test_an_answer_that_fits_neither_time_is_an_error():
    with pytest.raises(ModelAnswerInvalid, match="also when asked again") as raised:
        ask([says("{}"), says("Rome")])
    assert raised.value.problems == ("it is not JSON",)


@pytest.mark.parametrize(
    "written",
    [f"```json\n{ROME}\n```", f"Here it is:\n\n```json\n{ROME}\n```\nAnything else?",
     f"<think>Rome, I think.</think>{ROME}", "{'city': 'Rome', 'people': 2800000,}"],
)  # fmt: skip
def test_what_is_plainly_meant_is_read(written: str):
    assert ask([says(written)])[0].structured == ROME_VALUE


def test_beside_tools_a_service_is_not_held_to_the_form_before_it_is_asked_again():
    """Several call no tool any more where they are."""
    outcome, bodies = ask([SHOUT, says("Rome, HI."), says(ROME)], tools=True)
    assert (forms(bodies), outcome.structured) == ([False, False, True], ROME_VALUE)
    assert ["tools" in x for x in bodies] == [True, True, False]
    assert "must be one JSON value" in bodies[0]["messages"][0]["content"]


def test_in_the_text_protocol_and_at_the_last_turn_the_form_is_kept_too():
    script = [says('TOOL: shout {"input": "hi"}'), says("{}"), says(ROME)]
    outcome, bodies = ask(script, tools=True, tool_protocol="text")
    assert (forms(bodies), outcome.structured) == ([False, False, True], ROME_VALUE)
    outcome, _ = ask([SHOUT, SHOUT, says("Rome."), says(ROME)], tools=True, max_thoughts=2)
    assert (outcome.stopped, outcome.structured) == ("max_thoughts", ROME_VALUE)


@pytest.mark.parametrize("before", [[], [says("Rome")]])
def test_a_refusal_is_no_answer_of_a_wrong_form(before: list[Step]):
    outcome, _ = ask([*before, says("", refusal="I will not.")])
    assert (outcome.stopped, outcome.structured, outcome.answer) == (
        "refused", None, "I will not.",
    )  # fmt: skip


DOUBLED = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}


@pytest.mark.parametrize(
    "schema",
    [{"type": "strnig"}, {"city": "string"}, {"$ref": "https://example.org/x"}, "city",
     {"$ref": "#/$defs/d0", "$defs": {**DOUBLED, "d30": {"type": "string"}}}],
)  # fmt: skip
def test_what_cannot_be_checked_with_is_refused_before_the_model_is_asked(schema: Any):
    with pytest.raises(BadSetting, match="`output_schema` of AgentRun"):
        ask([], schema)
