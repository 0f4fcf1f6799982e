"""What every wire promises of failures: each is told, and what passes is tried again."""

from __future__ import annotations

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
    unheard,
)
from tests.support.model_endpoint import (
    Step,
    breaks_off,
    calls,
    drips,
    drops_midway,
    fails,
    hangs,
    html,
    raw_chunks,
    raw_json,
    says,
    stalls,
)
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
)
from xai_mcp_agent.agent.models.base import (
    AskedAgain,
    ModelRequest,
    ModelSettings,
)

pytestmark = pytest.mark.anyio

# What goes wrong

OVERFLOWS = [
    (400, {"message": "This model's maximum context length is 8 tokens, 9 were given",
           "code": "context_length_exceeded"}),
    (400, {"message": "The decoder prompt (length 9) is longer than the maximum model length"}),
    (400, {"message": "the request exceeds the available context size",
           "type": "exceed_context_size_error"}),
    (400, {"error": "prompt is too long; exceeding maximum context length by 5 tokens"}),
    (400, {"message": "prompt is too long: 9 tokens > 8 maximum; lower max_tokens"}),
    (400, {"message": "The input token count (9) exceeds the maximum number of tokens allowed"}),
    (400, {"message": "Input is too long for requested model."}),
    (413, "Payload too large"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), OVERFLOWS)
async def test_a_request_that_is_too_long_is_told_from_other_errors(
    wire: ScriptedWire, status: int, body: Any
):
    """In the words of OpenAI, vLLM, llama.cpp, Ollama, Anthropic, Gemini and Bedrock."""
    settings = ModelSettings(max_output_tokens=9)
    error = await wire.error_of([fails(status, body)], settings=settings)
    assert isinstance(error, ModelContextOverflow)
    assert "Shorten the conversation" in str(error)


ERRORS: dict[str, tuple[int, Any, type[ModelError], str]] = {
    "wrong key": (401, {"message": "Incorrect API key"}, ModelAuthenticationError,
                  'refused the key (401). It says: "Incorrect API key". Check `api_key`'),
    "not allowed": (403, {"message": "No access"}, ModelAuthenticationError, "(403)"),
    "no model": (404, {"message": "The model `small` does not exist", "code": "model_not_found"},
                 ModelError, "does not have this model (404)"),
    "no model, Ollama": (404, {"error": 'model "small" not found, try pulling it first'},
                         ModelError, "a local server must have the model first"),
    "no address": (404, {"detail": "Not Found"}, ModelError, "usually ends in /v1"),
    "quota": (429, {"message": "You exceeded your quota", "code": "insufficient_quota"},
              ModelRateLimited, "no quota left"),
    "filter": (400, {"message": "Blocked", "code": "content_filter"}, ModelContentFiltered,
               "content filter stopped it"),
    "filter, Azure": (400, {"message": "triggering Azure's content management policy"},
                      ModelContentFiltered, "content filter stopped it"),
    "bad request": (400, {"message": "messages[0] is odd"}, ModelError,
                    'refused the request (400). It says: "messages[0] is odd"'),
    "no tools, Ollama": (400, {"error": "small does not support tools"},
                         ModelCannotCallFunctions, "Use the text protocol"),
    "no tools, vLLM": (400, {"message": '"auto" tool choice requires --enable-auto-tool-choice'},
                       ModelCannotCallFunctions, "cannot call functions"),
    "plain text": (400, "no such thing", ModelError, 'It says: "no such thing"'),
    "a list": (422, {"detail": [{"msg": "field required"}]}, ModelError, "field required"),
    "nothing": (418, "", ModelError, "refused the request (418)"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
async def test_each_error_says_what_where_and_what_next(wire: ScriptedWire, case: str):
    status, body, kind, says_so = ERRORS[case]
    error = await wire.error_of([fails(status, body)])
    assert type(error) is kind
    assert says_so in str(error)


async def test_a_model_that_cannot_call_functions_is_remembered(wire: ScriptedWire):
    async with wire.model_of([fails(400, {"error": "small does not support tools"})]) as (
        subject,
        _,
    ):
        assert subject.calls_functions
        with pytest.raises(ModelCannotCallFunctions):
            await ask(subject, ADD)
        assert not subject.calls_functions


async def test_the_key_is_masked_in_the_services_own_words(wire: ScriptedWire):
    error = await wire.error_of([fails(401, {"message": f"Incorrect API key provided: {KEY}"})])
    assert "provided: ***" in str(error)


async def test_long_words_are_cut(wire: ScriptedWire):
    error = await wire.error_of([fails(400, {"message": "x" * 5000})])
    assert len(str(error)) < 1000


async def test_a_busy_service_is_asked_again(wire: ScriptedWire):
    script = [
        fails(429, {}, {"retry-after-ms": "10"}),
        fails(503, {}, {"retry-after-ms": "10"}),
        says("ok"),
    ]
    async with wire.model_of(script) as (subject, endpoint):
        assert (await ask(subject)).text == "ok"
    assert len(endpoint.requests) == 3


async def test_a_service_that_wants_a_long_pause_is_not_waited_for(wire: ScriptedWire):
    """The pause would outlast the turn, so the error comes now, with the time to wait."""
    settings = ModelSettings(turn_timeout_seconds=35)
    with ends_within(30):
        error = await wire.error_of([fails(429, {}, {"retry-after": "40"})], settings=settings)
        assert isinstance(error, ModelRateLimited)
        assert "Wait 40 seconds" in str(error)


async def test_a_pause_may_be_given_as_a_date(wire: ScriptedWire):
    header = {"retry-after": "Fri, 31 Dec 2100 23:59:59 GMT"}
    assert "Wait " in str(await wire.error_of([fails(429, {}, header)]))


async def test_a_service_that_keeps_failing_is_given_up(wire: ScriptedWire):
    script = [fails(500, {"message": "boom"}, {"retry-after-ms": "10"})] * 3
    error = await wire.error_of(script)
    assert isinstance(error, ModelUnreachable)
    assert 'failed (500). It says: "boom"' in str(error)


async def test_no_answer_in_time_is_an_error(wire: ScriptedWire):
    with ends_within(20):
        error = await wire.error_of([hangs()], settings=ModelSettings(timeout_seconds=0.5))
        assert isinstance(error, ModelTimeout)
        assert "did not answer within 0.5 seconds" in str(error)


async def test_a_run_can_be_cancelled_while_the_model_thinks(wire: ScriptedWire):
    async with wire.model_of([hangs(), says("ok")]) as (subject, endpoint):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, subject)
            assert await anyio.to_thread.run_sync(endpoint.asked.wait, 20)
            tasks.cancel_scope.cancel()
        assert (await ask(subject)).text == "ok"


async def test_a_connection_dropped_midway_is_an_error(wire: ScriptedWire):
    error = await wire.error_of([drops_midway()] * 3)
    assert isinstance(error, ModelUnreachable)
    assert "dropped the connection" in str(error)


HALVES = {"words": says("Half an answer"), "a call": calls(("add", {"a": 1}))}


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("cleanly", [True, False])
async def test_a_stream_that_just_stops_is_no_answer(wire: ScriptedWire, half: str, cleanly: bool):
    """Without a reason to finish and without `[DONE]`, however the connection was closed."""
    script = [breaks_off(HALVES[half], cleanly=cleanly)] * 3
    error = await wire.error_of(script)
    assert isinstance(error, ModelUnreachable)
    assert "dropped the connection" in str(error)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("cleanly", [True, False])
async def test_a_reply_that_breaks_off_is_asked_for_anew(
    wire: ScriptedWire, half: str, cleanly: bool
):
    told: list[AskedAgain] = []

    async def on_again(again: AskedAgain) -> None:
        told.append(again)

    script = [breaks_off(HALVES[half], cleanly=cleanly), says("The whole.")]
    async with wire.model_of(script) as (subject, endpoint):
        reply = await subject.reply(ModelRequest(ASK, (ADD,)), unheard, on_again)
    assert (reply.text, reply.calls) == ("The whole.", ())
    assert [x.reason for x in told] == [
        f"{wire.provider} small at {endpoint.base_url} dropped the connection"
    ]


@pytest.mark.parametrize("body", ['{"output": [{"content": "Half', "data: {}\n\n"])
async def test_a_body_that_was_cut_off_is_no_answer(wire: ScriptedWire, body: str):
    step = Step("raw", body=body)
    assert "dropped the connection" in str(await wire.error_of([step] * 3))


async def test_a_limit_of_requests_is_waited_for_as_long_as_the_turn_may_take(wire: ScriptedWire):
    """More often than a failing service is asked: it answers when others have had their turn."""
    busy = [fails(429, {}, {"retry-after-ms": "10"})] * 4
    async with wire.model_of([*busy, says("ok")]) as (subject, endpoint):
        assert (await ask(subject)).text == "ok"
    assert len(endpoint.requests) == 5


async def test_silence_is_limited_not_the_length_of_an_answer(wire: ScriptedWire):
    settings = ModelSettings(timeout_seconds=2)
    async with wire.model_of([drips("x" * 7 * 10, 0.25)], settings=settings) as (subject, _):
        assert (await ask(subject)).text == "x" * 70


async def test_a_silence_in_the_middle_of_an_answer_is_an_error(wire: ScriptedWire):
    with ends_within(20):
        error = await wire.error_of([stalls()], settings=ModelSettings(timeout_seconds=0.5))
    assert isinstance(error, ModelTimeout)
    assert "did not answer within 0.5 seconds" in str(error)


async def test_a_turn_that_goes_on_and_on_is_an_error(wire: ScriptedWire):
    settings = ModelSettings(turn_timeout_seconds=1)
    with ends_within(20):
        error = await wire.error_of([drips("x" * 7 * 1000, 0.1)], settings=settings)
    assert isinstance(error, ModelTimeout)
    assert "did not end its turn within 1 seconds" in str(error)
    assert "`turn_timeout_seconds`" in str(error)


def test_the_limit_of_a_turn_is_never_shorter_than_one_silence(wire: ScriptedWire):
    assert ModelSettings().turn_limit_seconds == 600
    assert ModelSettings(timeout_seconds=1800).turn_limit_seconds == 1800
    assert ModelSettings(timeout_seconds=1800, turn_timeout_seconds=60).turn_limit_seconds == 60


async def test_an_error_inside_the_stream_is_understood(wire: ScriptedWire):
    code = {"message": "too long", "code": "context_length_exceeded"}
    error = await wire.error_of([raw_chunks([wire.text_piece("A"), wire.error_piece(code)])])
    assert isinstance(error, ModelContextOverflow)
    plain = await wire.error_of([raw_chunks([wire.error_piece("overloaded")])])
    assert "broke off its reply" in str(plain)


async def test_an_error_sent_with_status_200_is_understood(wire: ScriptedWire):
    step = raw_json({"error": {"message": "Slow down", "code": 429}})
    settings = ModelSettings(turn_timeout_seconds=1)
    error = await wire.error_of(lambda _: step, settings=settings)
    assert isinstance(error, ModelRateLimited)


async def test_a_failure_inside_the_stream_that_passes_is_tried_again(wire: ScriptedWire):
    """As OpenRouter and OpenAI say that what is behind them broke off."""
    passing = {"message": "x", "code": 502 if wire is CHAT else "server_error"}
    broken = raw_chunks([wire.text_piece("A"), wire.error_piece(passing)])
    async with wire.model_of([broken, broken, says("ok")]) as (subject, _):
        assert (await ask(subject)).text == "ok"


@pytest.mark.parametrize("status", [200, 400, 404])
async def test_a_web_page_in_place_of_an_answer_is_an_error(wire: ScriptedWire, status: int):
    error = await wire.error_of([html(status)])
    assert isinstance(error, ModelUnreachable)
    assert f"a web page (status {status})" in str(error)
    assert "usually ends in /v1" in str(error)


async def test_an_answer_without_a_reply_is_an_error(wire: ScriptedWire):
    steps = [*map(raw_json, wire.answers_without_a_reply), raw_chunks([])]
    for step in steps:
        assert "answered without a reply in it" in str(await wire.error_of([step]))


async def test_an_answer_that_is_not_json_is_an_error(wire: ScriptedWire):
    error = await wire.error_of([raw_chunks(["{oops"])])
    assert isinstance(error, ModelUnreachable)
    assert "sent what is not JSON" in str(error)
