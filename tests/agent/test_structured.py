"""Answers of a certain form: what services are sent, what is read, and what is asked for again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent
from tests.support.model_endpoint import Script, Step, calls, fails, model_endpoint, says
from xai_mcp_agent import BadSetting, ModelAnswerInvalid
from xai_mcp_agent.agent.models.openai_format import answer_format
from xai_mcp_agent.agent.structured import OutputSchema
from xai_mcp_agent.canvas.agent_run import CanvasRun, run_agent
from xai_mcp_agent.canvas.toolbelts import define_tool, make_toolbelt

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": ["integer", "null"]}},
    "required": ["city", "people"],
}
ROME = '{"city": "Rome", "people": 2800000}'
ROME_VALUE = {"city": "Rome", "people": 2800000}
NUMBER_MISSING = '{"city": "Rome"}'
SHOUT = calls(("shout", {"input": "hi"}))


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XAI_MCP_SETTINGS", raising=False)


@dataclass
class Asked:
    """What a run gave, the requests of its model, and the error it ended with."""

    outcome: CanvasRun
    bodies: list[dict[str, Any]]
    error: Exception | None = None

    @property
    def formats(self) -> list[bool]:
        """For each request whether the service was told of a form."""
        return ["response_format" in x for x in self.bodies]

    def told(self, number: int = -1) -> str:
        return self.bodies[number]["messages"][-1]["content"]


def ask(script: Script, schema: Any = CITY, *, tools: bool = False, **agent: Any) -> Asked:
    """Run an agent whose answer must be of this form."""
    ctx: dict[str, Any] = {}
    asked = Asked(CanvasRun(), [])
    if tools:
        define_tool(ctx, None, "shout", "Says a text loudly.", lambda _c, text, _a: text.upper())
    with model_endpoint(script) as endpoint:
        values = {"provider": "openai", "model": "m", "base_url": endpoint.base_url}
        init_agent(ctx, "a", toolbelt_spec=make_toolbelt(ctx, ""), **{**values, **agent})
        try:
            run_agent(ctx, "a", "Which city?", outcome=asked.outcome, output_schema=schema)
        except (ModelAnswerInvalid, BadSetting) as error:
            asked.error = error
        asked.bodies = [x.body for x in endpoint.requests]
    return asked


def test_a_service_is_held_to_the_form_strictly_where_it_can_be():
    asked = ask([says(ROME)])
    assert asked.outcome.structured == ROME_VALUE
    assert asked.outcome.answer == ROME
    (body,) = asked.bodies
    described = body["response_format"]["json_schema"]
    assert body["response_format"]["type"] == "json_schema"
    assert (described["name"], described["strict"]) == ("answer", True)
    assert described["schema"] == {**CITY, "additionalProperties": False}
    assert '"required": ["city", "people"]' in body["messages"][0]["content"]


@pytest.mark.parametrize(
    "change",
    [
        {"required": ["city"]},
        {"additionalProperties": True},
        {"minProperties": 1},
        {"properties": {"city": {}, "people": {}}},
        {"properties": {"city": {"type": "object"}, "people": {"type": "integer"}}},
        {"properties": {"city": {"type": "array", "items": {"type": "object"}}, "people": True}},
        {"$defs": {"a": {"type": "string", "default": "x"}}},
    ],
)
def test_a_form_that_allows_more_than_strict_mode_is_sent_as_it_is(change: dict[str, Any]):
    schema = {**CITY, **change}
    assert answer_format({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}) == {
        "name": "answer", "schema": schema, "strict": False,
    }  # fmt: skip


def test_all_objects_in_a_strict_form_are_closed():
    inner = {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "required": ["a"]}
    schema = {
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"anyOf": [inner, {"type": "null"}]}}},
        "required": ["list"],
        "$defs": {"x": inner},
    }
    made = answer_format(schema)
    assert made is not None
    assert made["strict"]
    assert str(made["schema"]).count("'additionalProperties': False") == 3
    assert "additionalProperties" not in str(schema)


def test_an_answer_that_is_no_object_is_only_told_of_in_the_prompt():
    """OpenAI refuses such a form."""
    asked = ask([says("[1, 2]")], {"type": "array", "items": {"type": "integer"}})
    assert asked.outcome.structured == [1, 2]
    assert asked.formats == [False]
    assert '"type": "array"' in asked.bodies[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    "refusal",
    [
        {"message": "Invalid parameter", "param": "response_format"},
        {"message": "This model does not support response format `json_schema`"},
        {"message": "failed to parse grammar"},
    ],
)
def test_a_service_that_refuses_the_form_is_told_it_in_the_prompt(refusal: dict[str, Any]):
    """And not sent it a second time."""
    asked = ask([fails(400, refusal), says("Rome"), says(ROME)])
    assert asked.formats == [True, False, False]
    assert asked.outcome.structured == ROME_VALUE


@pytest.mark.parametrize(
    ("first", "problem"),
    [
        (says(NUMBER_MISSING), '"people" is a required property'),
        (says("It is Rome."), "it is not JSON, it begins with 'It is Rome.'"),
        (says('{"city": "Ro', finish="length"), "it was cut off at the limit of its length"),
    ],
)
def test_an_answer_that_does_not_fit_is_asked_for_once_more_with_what_is_wrong(
    first: Step, problem: str, capsys: Any
):
    asked = ask([first, says(ROME)])
    assert asked.outcome.structured == ROME_VALUE
    assert problem in asked.told()
    assert [x["role"] for x in asked.outcome.conversation] == [
        "user", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert "does not fit" in capsys.readouterr().out


def test_an_answer_that_fits_neither_time_is_an_error():
    asked = ask([says(NUMBER_MISSING), says("Rome")])
    assert isinstance(asked.error, ModelAnswerInvalid)
    assert asked.error.problems == ("it is not JSON, it begins with 'Rome'",)
    assert "also when asked again" in str(asked.error)
    assert (asked.outcome.answer, asked.outcome.structured) == ("", None)
    assert asked.outcome.conversation[-1]["content"] == "Rome"


@pytest.mark.parametrize(
    "written",
    [f"```json\n{ROME}\n```", f"Here it is:\n\n```json\n{ROME}\n```\nAnything else?",
     f"<think>Rome, I think.</think>{ROME}", "{'city': 'Rome', 'people': 2800000,}"],
)  # fmt: skip
def test_what_is_plainly_meant_is_read(written: str):
    asked = ask([says(written)])
    assert asked.outcome.structured == ROME_VALUE


def test_beside_tools_a_service_is_not_held_to_the_form_before_it_is_asked_again():
    """Several call no tool any more where they are."""
    asked = ask([SHOUT, says("Rome, HI."), says(ROME)], tools=True)
    assert asked.formats == [False, False, True]
    assert ["tools" in x for x in asked.bodies] == [True, True, False]
    assert asked.outcome.structured == ROME_VALUE
    assert asked.outcome.usage["calls"] == 1
    assert "must be one JSON value" in asked.bodies[0]["messages"][0]["content"]


@pytest.mark.parametrize("tools", [False, True])
def test_in_the_text_protocol_the_form_is_kept_too(tools: bool):
    script = [says('TOOL: shout {"input": "hi"}')] if tools else []
    asked = ask([*script, says(NUMBER_MISSING), says(ROME)], tools=tools, tool_protocol="text")
    assert asked.formats == ([False, False, True] if tools else [True, True])
    assert asked.outcome.structured == ROME_VALUE
    assert "must be one JSON value" in asked.bodies[0]["messages"][0]["content"]


def test_the_answer_of_the_last_turn_is_of_the_form_too():
    asked = ask([SHOUT, SHOUT, says("Rome."), says(ROME)], tools=True, max_thoughts=2)
    assert (asked.outcome.stopped, asked.outcome.structured) == ("max_thoughts", ROME_VALUE)
    assert asked.formats == [False, False, True, True]


def test_a_refusal_is_no_answer_of_a_wrong_form():
    asked = ask([says("", refusal="I will not.")])
    assert (asked.outcome.stopped, asked.outcome.structured) == ("refused", None)
    again = ask([says("Rome"), says("", refusal="I will not.")])
    assert (again.outcome.stopped, again.outcome.answer) == ("refused", "I will not.")


@pytest.mark.parametrize(
    "schema", [{"type": "strnig"}, {"city": "string"}, {"$ref": "https://example.org/x"}, "city"]
)
def test_what_is_no_schema_is_refused_before_the_model_is_asked(schema: Any):
    asked = ask([], schema)
    assert isinstance(asked.error, BadSetting)
    assert "`output_schema` of AgentRun" in str(asked.error)
    assert asked.bodies == []


def test_a_schema_that_would_take_too_long_to_check_with_is_refused():
    doubled: dict[str, Any] = {"type": "string"}
    definitions = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**definitions, "d30": doubled}}
    with pytest.raises(BadSetting, match="no JSON Schema to check answers with"):
        OutputSchema(schema)
