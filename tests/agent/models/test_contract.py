"""The contract of every model: requests, replies and failures.

`tests/oracle/agents.py` has further answers of services, each with its whole run.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.agent.models.wires import (
    ADD,
    ASK,
    CHAT,
    KEY,
    ScriptedWire,
    ask,
    ask_streamed,
    ignore_text,
)
from tests.support.model_endpoint import (
    Step,
    breaks_off,
    calls,
    drips,
    fails,
    hangs,
    model_endpoint,
    raw_chunks,
    raw_json,
    says,
    stalls,
)  # fmt: skip
from tests.support.watchdog import ends_within
from xai_mcp_agent import (
    ModelAuthenticationError,
    ModelCannotCallFunctions,
    ModelContentFiltered,
    ModelContextOverflow,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnreachable,
    Secret,
)  # fmt: skip
from xai_mcp_agent.agent.conversation import call_message
from xai_mcp_agent.agent.messages import Message, ToolCall
from xai_mcp_agent.agent.models import retries
from xai_mcp_agent.agent.models.base import (
    AskedAgain,
    ModelReply,
    ModelRequest,
    ModelSettings,
    TokenUsage,
)  # fmt: skip
from xai_mcp_agent.agent.models.choice import AgentModel

pytestmark = pytest.mark.anyio

SMALL = ModelSettings(timeout_seconds=0.2)


# Requests


async def test_text_streams_and_usage_is_counted(wire: ScriptedWire):
    async with wire.model_of([says("It is five past three.")]) as (subject, endpoint):
        reply, pieces = await ask_streamed(subject, ModelRequest(ASK))
    assert reply == ModelReply("It is five past three.", usage=TokenUsage(20, 5, 8, 3))
    assert len(pieces) > 2
    assert "".join(pieces) == reply.text
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert endpoint.requests[0].body["model"] == "small"
    assert list(wire.conversation(endpoint.requests[0].body)) == list(ASK)


async def test_functions_that_may_not_be_called_are_still_offered(wire: ScriptedWire):
    """The request stays like the last one, so the service's cache of it still serves."""
    script = [fails(400, {"message": "tool_choice?"}), says("no")]
    async with wire.model_of(script) as (subject, endpoint):
        await ask_streamed(subject, ModelRequest(ASK, (ADD,), may_call=False))
    assert [len(x.body["tools"]) for x in endpoint.requests] == [1, 1]
    assert [x.body.get("tool_choice") for x in endpoint.requests] == ["none", None]


async def test_text_that_is_not_valid_unicode_is_repaired(wire: ScriptedWire):
    """A Python tool may read a file name that is not UTF-8."""
    message: Message = {"role": "user", "content": "bad \udcff, pair \ud83d\ude00"}
    (message,) = wire.conversation(await wire.body_of(ModelRequest((message,))))
    assert message["content"] == "bad \ufffd, pair \U0001f600"


ARGUMENTS = {
    '{"a":  1}': '{"a":  1}',
    '{"a": ': json.dumps({"INVALID_JSON": '{"a": '}),
    "[1]": json.dumps({"INVALID_JSON": "[1]"}),
    "{'a': 1,}": '{"a": 1}',
    json.dumps('{"a": 1}'): '{"a": 1}',
    "": "{}",
    "null": "{}",
}


async def test_arguments_of_earlier_calls_are_objects(wire: ScriptedWire):
    """vLLM, SGLang and llama.cpp refuse a conversation with others, in every later request."""
    made = [ToolCall(f"c{n}", "add", x) for n, x in enumerate(ARGUMENTS)]
    answers = [{"role": "tool", "tool_call_id": x.id, "content": "?"} for x in made]
    body = await wire.body_of(ModelRequest((*ASK, call_message("", made), *answers)))
    sent = re.findall(r'"arguments": ("(?:[^"\\]|\\.)*")', json.dumps(body))
    assert [json.loads(x) for x in sent] == list(ARGUMENTS.values())


async def test_failures_raise_the_temperature():
    temperatures: list[Any] = []
    for temperature, extra in ((None, 0.0), (None, 0.2), (0.5, 0.2), (1.9, 0.5)):
        request, settings = ModelRequest(ASK, extra_temperature=extra), ModelSettings(temperature)
        temperatures.append((await CHAT.body_of(request, settings=settings)).get("temperature"))
    assert temperatures == [None, pytest.approx(1.2), pytest.approx(0.7), 2.0]


# Refusals


async def test_a_refused_setting_is_omitted_as_long_as_the_process_lives(wire: ScriptedWire):
    settings = ModelSettings(temperature=0.5)
    for name, error in wire.refusable.items():
        script = [
            fails(422 if name == "stream" else 400, error),
            *map(says, ("one", "two", "three")),
        ]
        async with wire.model_of(script, settings=settings) as (subject, endpoint):
            later = wire.model("small", base_url=endpoint.base_url, settings=settings)
            other = wire.model("other", base_url=endpoint.base_url, settings=settings)
            assert [(await ask(x)).text for x in (subject, later, other)] == ["one", "two", "three"]
            await later.aclose()
            await other.aclose()
        assert [name in x.body for x in endpoint.requests] == [True, False, False, True]


FORM_REFUSALS = [
    {"message": "Invalid parameter", "param": "response_format"},
    {"message": "Invalid parameter", "param": "text.format"},
    {"message": "failed to parse grammar"},
]


async def test_the_form_of_an_answer_is_sent_until_it_is_refused(wire: ScriptedWire):
    request = ModelRequest(ASK, output_schema=ADD.parameters)
    for refusal in FORM_REFUSALS:
        script = [says("{}"), fails(400, refusal), says("{}"), says("{}")]
        async with wire.model_of(script) as (subject, endpoint):
            for _ in range(3):
                await ask_streamed(subject, request)
        forms = [wire.form(x.body) for x in endpoint.requests]
        assert [x and x["schema"] for x in forms] == [ADD.parameters, ADD.parameters, None, None]


async def test_a_model_that_cannot_call_functions_is_remembered(any_wire: Any):
    script = [fails(400, {"error": "small does not support tools"})]
    async with any_wire.model_of(script) as (subject, _):
        assert subject.calls_functions
        with pytest.raises(ModelCannotCallFunctions):
            await ask(subject, ADD)
        assert not subject.calls_functions


async def test_the_window_size_that_a_service_reports_is_remembered(any_wire: Any):
    too_long = {"message": "maximum context length is 8192 tokens", "code": "x"}
    async with any_wire.model_of([fails(400, too_long)]) as (subject, _):
        with pytest.raises(ModelContextOverflow):
            await ask(subject)
        assert AgentModel.of("openai:m").window(subject).tokens == 8192
        assert AgentModel(provider="openai", context_tokens=9000).window(subject).tokens == 9000


# Replies


async def test_calls_are_put_together_from_their_pieces(any_wire: Any):
    script = [calls(("add", {"a": 1, "b": "é\n"}), ("add", '{"a": oops'), text="Let me see.")]
    async with any_wire.model_of(script) as (subject, _):
        reply = await ask(subject, ADD)
    assert (reply.text, reply.finish) == ("Let me see.", "tool_calls")
    arguments = [json.dumps({"a": 1, "b": "é\n"}), '{"a": oops']
    assert [(x.name, x.arguments) for x in reply.calls] == [("add", x) for x in arguments]
    assert all(x.id.endswith("_scripted") for x in reply.calls)


async def test_stored_fields_of_a_service_contain_neither_key_nor_password(wire: ScriptedWire):
    added = {"content": "A", "reasoning_content": "Hm.", "encrypted_content": "gAAAA"}
    with model_endpoint([replace(says("A"), message=added)]) as here:
        url = here.base_url.replace("://", f"://ada:{KEY}@")
        subject = wire.model("gemini-3-pro", base_url=url, api_key=Secret(KEY))
        reply = await ask(subject)
        await subject.aclose()
    assert KEY not in json.dumps(reply.added)
    assert reply.added["service"].startswith(f"{wire.provider} gemini at {here.base_url} (")


async def test_the_reason_to_finish_is_reported(wire: ScriptedWire):
    reasons = {
        "stop": "stop", "tool_calls": "stop", "length": "length",
        "content_filter": "content_filter", "something_new": "stop",
    }  # fmt: skip
    for reason, finish in reasons.items():
        assert (await wire.reply(says("half a", finish=reason))).finish == finish
    assert (await wire.reply(calls(("add", '{"a": 1'), finish="length"))).finish == "length"


# Errors

LONG = ModelContextOverflow, "Shorten the conversation"
FILTERED = ModelContentFiltered, "content filter stopped it"
ERRORS: dict[str, tuple[int, Any, type[ModelError], str]] = {
    "too long, OpenAI": (400, {"message": "x", "code": "context_length_exceeded"}, *LONG),
    "too long, vLLM": (400, {"message": "longer than the maximum model length"}, *LONG),
    "too long, llama.cpp": (400, {"message": "x", "type": "exceed_context_size_error"}, *LONG),
    "too long, Anthropic": (400, {"message": "prompt is too long: 9 > 8; lower max_tokens"}, *LONG),
    "too long, Gemini": (400, {"message": "exceeds the maximum number of tokens allowed"}, *LONG),
    "too long, Bedrock": (400, {"message": "Input is too long for requested model."}, *LONG),
    "too large": (413, "Payload too large", *LONG),
    "wrong key": (401, {"message": f"Incorrect API key {KEY}"}, ModelAuthenticationError,
                  'refused the key (401). It says: "Incorrect API key ***". Check '),
    "wrong key, Gemini": (400, '[{"error": {"code": 400, "message": "API key not valid."}}]',
                          ModelAuthenticationError, "refused the key (400)"),
    "no model, Ollama": (404, {"error": 'model "small" not found, try pulling it first'},
                         ModelError, "a local server must have the model first"),
    "no address": (404, {"detail": "Not Found"}, ModelError, "usually ends in /v1"),
    "quota": (429, {"message": "You exceeded your quota", "code": "insufficient_quota"},
              ModelRateLimited, "no quota left"),
    "no credits, OpenRouter": (402, {"message": "Insufficient credits", "code": 402},
                               ModelRateLimited, "Check the plan and its billing"),
    "filter": (400, {"message": "Blocked", "code": "content_filter"}, *FILTERED),
    "filter, Azure": (400, {"message": "triggering Azure's content management policy"}, *FILTERED),
    "no tools, vLLM": (400, {"message": '"auto" tool choice requires --enable-auto-tool-choice'},
                       ModelCannotCallFunctions, "Use the text protocol"),
    "a list": (422, {"detail": [{"msg": "field required"}]}, ModelError, "field required"),
    "no words": (418, "", ModelError, "refused the request (418)"),
}  # fmt: skip


async def assert_error(wire: Any, case: str) -> None:
    status, body, kind, words = ERRORS[case]
    error = await wire.error_of([fails(status, body)])
    assert type(error) is kind
    assert words in str(error)
    assert len(str(error)) < 1000


@pytest.mark.parametrize("case", ERRORS)
async def test_each_error_says_what_where_and_what_next(case: str):
    await assert_error(CHAT, case)


async def test_errors_are_the_same_for_every_model(any_wire: Any):
    for case in ("wrong key", "quota", "a list"):
        await assert_error(any_wire, case)


class Reports(list[AskedAgain]):
    """The reports of a model before each retry."""

    async def add(self, again: AskedAgain) -> None:
        self.append(again)


async def test_a_busy_service_gets_more_attempts_than_a_failing_one(any_wire: Any):
    """It answers when others have had their turn."""
    reports, soon = Reports(), {"retry-after-ms": "10"}
    script = [fails(503, {}, soon), *[fails(429, {}, soon)] * 4, says("ok")]
    async with any_wire.model_of(script) as (subject, _):
        assert (await subject.reply(ModelRequest(ASK), ignore_text, reports.add)).text == "ok"
    assert ["(429)" in x.reason for x in reports] == [False, True, True, True, True]
    assert [x.pause_seconds for x in reports[:2]] == [0.01, 0.01]
    error = await any_wire.error_of([fails(500, {"message": "boom"}, soon)] * 3)
    assert 'failed (500). It says: "boom"' in str(error)


async def test_a_long_pause_that_a_service_asks_for_ends_the_turn_at_once(any_wire: Any):
    """The pause would outlast the turn, so the error comes now, with the time to wait."""
    settings = ModelSettings(turn_timeout_seconds=35)
    with ends_within(30):
        error = await any_wire.error_of([fails(429, {}, {"retry-after": "40"})], settings=settings)
        assert isinstance(error, ModelRateLimited)
        assert "Wait 40 seconds" in str(error)


@pytest.mark.parametrize("step", [hangs(), stalls()], ids=["at once", "in the middle"])
async def test_a_silence_that_is_too_long_is_an_error(wire: ScriptedWire, step: Step):
    with ends_within(20):
        error = await wire.error_of([step], settings=SMALL)
    assert isinstance(error, ModelTimeout)
    assert "did not answer within 0.2 seconds" in str(error)


async def test_a_turn_without_an_end_is_an_error(any_wire: Any):
    settings = ModelSettings(timeout_seconds=5.0, turn_timeout_seconds=0.3)
    with ends_within(20):
        error = await any_wire.error_of([drips("x" * 7 * 1000, 0.05)], settings=settings)
    assert isinstance(error, ModelTimeout)
    assert "did not end its turn within 0.3 seconds" in str(error)
    assert "`turn_timeout_seconds`" in str(error)


async def test_a_run_can_be_cancelled_while_the_model_thinks(any_wire: Any):
    async with any_wire.model_of([hangs(), says("ok")]) as (subject, endpoint):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, subject)
            assert await anyio.to_thread.run_sync(endpoint.first_request.wait, 20)
            tasks.cancel_scope.cancel()
        assert (await ask(subject)).text == "ok"


HALVES = {"words": says("Half an answer"), "a call": calls(("add", {"a": 1}))}


@pytest.mark.parametrize("half", HALVES)
async def test_a_reply_that_breaks_off_is_requested_again(any_wire: Any, half: str):
    reports = Reports()
    script = [breaks_off(HALVES[half], cleanly=False), says("The whole.")]
    async with any_wire.model_of(script) as (subject, _):
        reply = await subject.reply(ModelRequest(ASK, (ADD,)), ignore_text, reports.add)
    assert (reply.text, reply.calls) == ("The whole.", ())
    assert [x.reason.endswith("dropped the connection") for x in reports] == [True]


CUT_OFF = {
    "a call, dropped": breaks_off(HALVES["a call"], cleanly=False),
    "half a body": Step("raw", body='{"output": [{"content": "Half'),
    "a stream that calls itself JSON": Step("raw", body="data: {}\n\n"),
}


@pytest.mark.parametrize("case", CUT_OFF)
async def test_a_reply_without_an_end_is_no_answer(wire: ScriptedWire, case: str):
    """It has neither a reason to finish nor `[DONE]`."""
    error = await wire.error_of([CUT_OFF[case]] * 3)
    assert isinstance(error, ModelUnreachable)
    assert "dropped the connection" in str(error)


async def test_an_error_inside_the_stream_is_understood(wire: ScriptedWire):
    code = {"message": "too long", "code": "context_length_exceeded"}
    error = await wire.error_of([raw_chunks([wire.text_piece("A"), wire.error_piece(code)])])
    assert isinstance(error, ModelContextOverflow)
    plain = await wire.error_of([raw_chunks([wire.error_piece("overloaded")])])
    assert "broke off its reply" in str(plain)


async def test_an_error_sent_with_status_200_is_understood(
    wire: ScriptedWire, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(retries, "_FIRST_PAUSE_SECONDS", 30)  # outlasts the turn
    slow_down = raw_json({"error": {"message": "Slow down", "code": 429}})
    settings = ModelSettings(turn_timeout_seconds=10)
    error = await wire.error_of([slow_down], settings=settings)
    assert isinstance(error, ModelRateLimited)


async def test_a_failure_inside_the_stream_that_passes_is_tried_again(wire: ScriptedWire):
    """OpenRouter and OpenAI report so that a service behind them broke off."""
    passing = {"message": "x", "code": 502 if wire is CHAT else "server_error"}
    broken = raw_chunks([wire.text_piece("A"), wire.error_piece(passing)])
    assert (await wire.reply(broken, broken, says("ok"))).text == "ok"


async def test_an_answer_without_a_reply_is_an_error(wire: ScriptedWire):
    for answer in wire.answers_without_a_reply:
        assert "answered without a reply" in str(await wire.error_of([raw_json(answer)]))
