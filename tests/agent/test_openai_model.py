"""A model behind Chat Completions, through the real client library, on the real wire."""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import os
import socket
import sys
import traceback
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import pytest

from tests.support.model_endpoint import (
    ModelEndpoint,
    Script,
    Step,
    breaks_off,
    calls,
    delta,
    drips,
    drops_midway,
    fails,
    hangs,
    html,
    model_endpoint,
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
    Secret,
)
from xai_mcp_agent.agent.messages import Message, ToolCall
from xai_mcp_agent.agent.models.base import (
    AskedAgain,
    ModelReply,
    ModelRequest,
    ModelSettings,
    Usage,
)
from xai_mcp_agent.agent.models.openai import OpenAIModel
from xai_mcp_agent.agent.models.openai_access import Access, OpenAIProvider, is_home
from xai_mcp_agent.core.provider_schema import FunctionSpec

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret-key"
PASSWORD = "password-in-the-address"
ADD = FunctionSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
ASK: tuple[Message, ...] = ({"role": "user", "content": "go"},)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of this machine may change what is tested."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)


@asynccontextmanager
async def model_of(
    script: Script, model: str = "small", **options: Any
) -> AsyncIterator[tuple[OpenAIModel, ModelEndpoint]]:
    with model_endpoint(script) as endpoint:
        options = {"base_url": endpoint.base_url, "api_key": Secret(KEY), **options}
        subject = OpenAIModel(model, **options)
        try:
            with anyio.fail_after(20):
                yield subject, endpoint
        finally:
            await subject.aclose()


async def ask(subject: OpenAIModel, *functions: FunctionSpec, extra: float = 0.0) -> ModelReply:
    reply, _ = await ask_streamed(subject, ModelRequest(ASK, functions, extra_temperature=extra))
    return reply


async def ask_streamed(subject: OpenAIModel, request: ModelRequest) -> tuple[ModelReply, list[str]]:
    pieces: list[str] = []

    async def on_text(text: str) -> None:
        pieces.append(text)

    reply = await subject.reply(request, on_text)
    return reply, pieces


async def error_of(script: Script, **options: Any) -> ModelError:
    async with model_of(script, **options) as (subject, endpoint):
        with pytest.raises(ModelError) as caught:
            await ask(subject, ADD)
        message = str(caught.value)
        assert KEY not in message
        assert "openai small" in message
        assert endpoint.base_url in message
        return caught.value


# What is sent


async def test_text_streams_and_usage_is_counted():
    async with model_of([says("It is five past three.")]) as (subject, endpoint):
        reply, pieces = await ask_streamed(subject, ModelRequest(ASK))
    assert reply == ModelReply("It is five past three.", usage=Usage(20, 5, 8, 3))
    assert len(pieces) > 2
    assert "".join(pieces) == reply.text
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert endpoint.requests[0].body == {
        "model": "small",
        "messages": list(ASK),
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_functions_are_offered_as_they_are():
    async with model_of([says("no")]) as (subject, endpoint):
        await ask(subject, ADD)
    function = {"name": "add", "description": "Adds.", "parameters": ADD.parameters}
    assert endpoint.requests[0].body["tools"] == [{"type": "function", "function": function}]


async def test_functions_that_may_not_be_called_are_still_offered():
    """The request stays like the last one, so the service's cache of it still serves."""
    async with model_of([fails(400, {"message": "tool_choice?"}), says("no")]) as (
        subject,
        endpoint,
    ):
        await ask_streamed(subject, ModelRequest(ASK, (ADD,), may_call=False))
    assert [len(x.body["tools"]) for x in endpoint.requests] == [1, 1]
    assert [x.body.get("tool_choice") for x in endpoint.requests] == ["none", None]


async def test_messages_are_sent_as_they_are():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":'}}
    messages: tuple[Message, ...] = (
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Look"}, image]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
    )
    async with model_of([says("ok")]) as (subject, endpoint):
        await ask_streamed(subject, ModelRequest(messages))
    assert endpoint.requests[0].body["messages"] == list(messages)


async def test_text_that_is_not_valid_unicode_is_mended():
    """A Python tool may read a file name that is not UTF-8."""
    message: Message = {"role": "user", "content": "bad \udcff, pair \ud83d\ude00"}
    async with model_of([says("ok")]) as (subject, endpoint):
        await ask_streamed(subject, ModelRequest((message,)))
    assert endpoint.requests[0].body["messages"][0]["content"] == "bad \ufffd, pair \U0001f600"


async def test_settings_are_sent_only_when_they_are_set():
    settings = ModelSettings(
        temperature=0.2, max_output_tokens=99, reasoning_effort="low", extra_body={"top_k": 3}
    )
    async with model_of([says("ok")], settings=settings) as (subject, endpoint):
        await ask(subject)
    sent = endpoint.requests[0].body
    assert sent["temperature"] == 0.2
    assert sent["max_tokens"] == 99
    assert sent["reasoning_effort"] == "low"
    assert sent["top_k"] == 3


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-5-mini", "max_completion_tokens"),
        ("openai/o3", "max_completion_tokens"),
        ("llama3", "max_tokens"),
        ("olmo-2", "max_tokens"),
    ],
)
async def test_the_output_limit_goes_under_the_name_the_model_knows(model: str, name: str):
    settings = ModelSettings(max_output_tokens=9)
    async with model_of([says("ok")], model, settings=settings) as (subject, endpoint):
        await ask(subject)
    assert {x for x in endpoint.requests[0].body if x.startswith("max")} == {name}


@pytest.mark.parametrize(
    ("wanted", "extra", "sent"),
    [(None, 0.0, None), (None, 0.2, 1.2), (0.5, 0.2, 0.7), (0.0, 0.0, 0.0), (1.9, 0.5, 2.0)],
)
async def test_failures_raise_the_temperature(wanted: float, extra: float, sent: float):
    """Design, section 6: consecutive failures raise the temperature, as in the original."""
    settings = ModelSettings(temperature=wanted)
    async with model_of([says("ok")], settings=settings) as (subject, endpoint):
        await ask(subject, extra=extra)
    assert endpoint.requests[0].body.get("temperature") == (sent and pytest.approx(sent))


# What services refuse

REFUSED = {
    "stream_options": {"message": "Unknown parameter: stream_options", "param": None},
    "temperature": {"message": "Only the default (1) is supported", "param": "temperature"},
    "max_tokens": {"message": "'max_tokens' is not supported. Use 'max_completion_tokens'."},
    "stream": {"message": "Your organization must be verified to stream", "param": "stream"},
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("status", [400, 422])
async def test_a_refused_setting_is_left_out_from_then_on(name: str, status: int):
    settings = ModelSettings(temperature=0.5, max_output_tokens=9)
    script = [fails(status, REFUSED[name]), says("one"), says("two")]
    async with model_of(script, settings=settings) as (subject, endpoint):
        assert (await ask(subject)).text == "one"
        assert (await ask(subject)).text == "two"
    assert [name in x.body for x in endpoint.requests] == [True, False, False]
    if name == "max_tokens":
        assert endpoint.requests[2].body["max_completion_tokens"] == 9


async def test_all_refused_settings_are_found_one_after_the_other():
    settings = ModelSettings(temperature=0.5, max_output_tokens=9)
    script = [*(fails(400, x) for x in REFUSED.values()), says("ok")]
    async with model_of(script, settings=settings) as (subject, endpoint):
        assert (await ask(subject)).text == "ok"
    assert endpoint.requests[-1].body == {
        "model": "small",
        "messages": list(ASK),
        "max_completion_tokens": 9,
    }


async def test_a_setting_that_is_refused_again_is_an_error():
    settings = ModelSettings(max_output_tokens=9)
    script = [fails(400, {"message": f"max_{x}tokens is bad"}) for x in ("", "completion_")]
    async with model_of(script, settings=settings) as (subject, endpoint):
        with pytest.raises(ModelError, match="max_completion_tokens is bad"):
            await ask(subject)
    assert len(endpoint.requests) == 2


# What comes back


async def test_calls_are_put_together_from_their_pieces():
    script = [calls(("add", {"a": 1, "b": "é\n"}), ("now", ""), text="Let me see.")]
    async with model_of(script) as (subject, _):
        reply = await ask(subject, ADD)
    assert reply.text == "Let me see."
    assert reply.finish == "tool_calls"
    assert [(x.name, x.arguments) for x in reply.calls] == [
        ("add", json.dumps({"a": 1, "b": "é\n"})),
        ("now", ""),
    ]
    assert all(x.id.endswith("_scripted") for x in reply.calls)


def piece(**call: Any) -> dict[str, Any]:
    function = {x: call.pop(x) for x in ("name", "arguments") if x in call}
    return delta({"tool_calls": [{**call, "function": function}]})


ODD_STREAMS: dict[str, tuple[list[Any], list[tuple[str, str, str]]]] = {
    "whole calls in one chunk": (
        [
            delta(
                {
                    "tool_calls": [
                        {"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}},
                        {"index": 1, "id": "b", "function": {"name": "y", "arguments": "{}"}},
                    ]
                },
                finish="tool_calls",
            )
        ],
        [("a", "x", "{}"), ("b", "y", "{}")],
    ),
    "no ids": (
        [piece(index=0, name="x", arguments="{}"), piece(index=1, name="y", arguments="{}")],
        [("call_1", "x", "{}"), ("call_2", "y", "{}")],
    ),
    "the same id twice": (
        [piece(index=0, id="a", name="x"), piece(index=1, id="a", name="y")],
        [("a", "x", ""), ("call_1", "y", "")],
    ),
    "one index for all, ids differ": (
        [
            piece(index=0, id="a", name="x", arguments='{"n":'),
            piece(index=0, arguments="1}"),
            piece(index=0, id="b", name="x", arguments='{"n":'),
            piece(index=0, arguments="2}"),
        ],
        [("a", "x", '{"n":1}'), ("b", "x", '{"n":2}')],
    ),
    "one index for all, no ids": (
        [
            piece(index=0, name="x", arguments='{"n":1}'),
            piece(index=0, name="x", arguments='{"n":2}'),
        ],
        [("call_1", "x", '{"n":1}'), ("call_2", "x", '{"n":2}')],
    ),
    "name and id repeated": (
        [
            piece(index=0, id="a", name="x", arguments='{"n":'),
            piece(index=0, id="a", name="x", arguments="1"),
            piece(index=0, id="a", name="x", arguments="}"),
            piece(index=0, id="a", name="x", arguments=""),
        ],
        [("a", "x", '{"n":1}')],
    ),
    "arguments as an object": (
        [piece(index=0, id="a", name="x", arguments={"n": [1]})],
        [("a", "x", '{"n": [1]}')],
    ),
    "no index": (
        [
            piece(id="a", name="x", arguments='{"n"'),
            piece(arguments=":1}"),
            piece(id="b", name="y", arguments="{}"),
            piece(name="z"),
        ],
        [("a", "x", '{"n":1}'), ("b", "y", "{}"), ("call_1", "z", "")],
    ),
    "mixed up": (
        [
            piece(index=0, id="a", name="x", arguments="{"),
            piece(index=1, id="b", name="y", arguments="{"),
            piece(index=0, arguments="}"),
            piece(index=1, arguments="}"),
        ],
        [("a", "x", "{}"), ("b", "y", "{}")],
    ),
    "nothing in it": ([piece(index=0), delta({"tool_calls": None})], []),
}


@pytest.mark.parametrize("case", ODD_STREAMS)
async def test_calls_are_understood_however_they_are_numbered(case: str):
    chunks, expected = ODD_STREAMS[case]
    script = [raw_chunks([*chunks, delta({}, finish="stop")])]
    async with model_of(script) as (subject, _):
        reply = await ask(subject, ADD)
    assert reply.calls == tuple(ToolCall(*x) for x in expected)
    assert reply.finish == ("tool_calls" if expected else "stop")


async def test_call_ids_of_ours_are_never_used_twice():
    script = [raw_chunks([piece(index=0, name="x")]), raw_chunks([piece(index=0, name="x")])]
    async with model_of(script) as (subject, _):
        ids = [(await ask(subject, ADD)).calls[0].id for _ in range(2)]
    assert ids == ["call_1", "call_2"]


async def test_a_stream_with_gaps_and_vendor_fields_is_read():
    chunks: list[Any] = [
        {"choices": []},
        {"choices": None},
        {"object": "keepalive"},
        delta({"reasoning_content": "hm"}),
        delta({"content": None}),
        delta({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A"}]}),
        {"choices": [{"index": 1, "delta": {"content": "other choice"}}]},
        {"choices": [{"delta": {"content": "B"}}], "usage": None},
        {"choices": [{"delta": None, "finish_reason": None}]},
    ]
    async with model_of([raw_chunks(chunks)]) as (subject, _):
        reply = await ask(subject)
    assert reply.text == "AB"
    assert reply.added["message"] == {"reasoning_content": "hm"}


def detail(**fields: Any) -> dict[str, Any]:
    return delta({"reasoning_details": [fields]})


ADDED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "a text in pieces": (
        [delta({"reasoning_content": "Let "}), delta({"reasoning_content": "me"})],
        {"reasoning_content": "Let me"},
    ),
    "a text that is empty, as DeepSeek wants it back": (
        [delta({"reasoning_content": ""}), delta({"reasoning_content": None})],
        {"reasoning_content": ""},
    ),
    "parts in pieces": (
        [
            detail(type="reasoning.text", index=0, text="Let "),
            detail(type="reasoning.text", index=0, text="me"),
            detail(type="reasoning.text", index=0, signature="s", text=None),
            detail(type="reasoning.encrypted", index=0, id="r1", data="AAAA"),
            detail(type="reasoning.encrypted", index=0, id="r2", data="BBBB"),
            detail(type="reasoning.summary", index=1, summary="So"),
            detail(type="reasoning.summary", index=1, summary="!"),
        ],
        {
            "reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "Let me", "signature": "s"},
                {"type": "reasoning.encrypted", "index": 0, "id": "r1", "data": "AAAA"},
                {"type": "reasoning.encrypted", "index": 0, "id": "r2", "data": "BBBB"},
                {"type": "reasoning.summary", "index": 1, "summary": "So!"},
            ]
        },
    ),
    "an object that is told twice": (
        [
            delta({"extra_content": {"google": {"thought_signature": "AA"}}}),
            delta({"extra_content": {"google": {"thought_signature": "", "thought": True}}}),
        ],
        {"extra_content": {"google": {"thought_signature": "AA", "thought": True}}},
    ),
    "nothing": ([delta({"content": "Hm.", "annotations": [], "refusal": None})], {}),
}


@pytest.mark.parametrize("case", ADDED)
async def test_what_a_service_adds_is_put_together_as_it_was_meant(case: str):
    chunks, expected = ADDED[case]
    async with model_of([raw_chunks([*chunks, delta({}, finish="stop")])]) as (subject, _):
        assert (await ask(subject)).added.get("message", {}) == expected


async def test_what_is_added_to_calls_is_kept_by_their_ids():
    google = {"google": {"thought_signature": "AA"}}
    chunks = [
        piece(index=0, id="a", name="x", arguments='{"n":', extra_content=google),
        piece(index=0, id="a", arguments="1}", extra_content=google),
        delta({"tool_calls": [{"index": 1, "function": {"name": "y", "thought": "z"}}]}),
    ]
    async with model_of([raw_chunks([*chunks, delta({}, finish="stop")])]) as (subject, _):
        reply = await ask(subject, ADD)
    assert reply.added["calls"] == {
        "a": {"extra_content": google},
        "call_1": {"function": {"thought": "z"}},
    }


async def test_neither_key_nor_password_stands_in_what_is_kept_of_a_service():
    with model_endpoint([raw_chunks([delta({"content": "A", "x": "y"}, finish="stop")])]) as here:
        url = here.base_url.replace("://", f"://ada:{KEY}@")
        subject = OpenAIModel("gemini-3-pro", base_url=url, api_key=Secret(KEY))
        reply = await ask(subject)
        await subject.aclose()
    assert KEY not in json.dumps(reply.added)
    assert reply.added["service"].startswith(f"openai gemini at {here.base_url} (")


@pytest.mark.parametrize(
    ("said", "finish"),
    [
        ("stop", "stop"),
        ("tool_calls", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("something_new", "stop"),
    ],
)
async def test_the_reason_to_finish_is_told(said: str, finish: str):
    async with model_of([says("half a", finish=said)]) as (subject, _):
        reply = await ask(subject)
    assert (reply.text, reply.finish) == ("half a", finish)


async def test_calls_that_were_cut_off_say_so():
    script = [calls(("add", '{"a": 1'), finish="length")]
    async with model_of(script) as (subject, _):
        reply = await ask(subject, ADD)
    assert reply.finish == "length"
    assert reply.calls[0].arguments == '{"a": 1'


async def test_a_refusal_is_given_in_the_models_own_words():
    async with model_of([says("", refusal="I cannot help with that.")]) as (subject, _):
        reply = await ask(subject)
    assert reply == ModelReply(
        "", finish="refusal", refusal="I cannot help with that.", usage=Usage(20, 5, 8, 3)
    )


def whole(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **more}


async def test_a_service_that_does_not_stream_is_understood():
    call = {"id": "a", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
    message = {"role": "assistant", "content": "Hm.", "tool_calls": [call, {**call, "id": "b"}]}
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    async with model_of([raw_json(whole(message, usage=usage))]) as (subject, _):
        reply, pieces = await ask_streamed(subject, ModelRequest(ASK, (ADD,)))
    assert pieces == ["Hm."]
    assert reply.calls == (ToolCall("a", "add", '{"a": 1}'), ToolCall("b", "add", '{"a": 1}'))
    assert reply.finish == "tool_calls"
    assert reply.usage == Usage(3, 4, 0)


async def test_a_stream_that_calls_itself_json_is_understood():
    chunks = [delta({"content": "A"}), delta({"content": "B"}, finish="stop")]
    async with model_of([raw_chunks(chunks, media_type="application/json")]) as (subject, _):
        assert (await ask(subject)).text == "AB"


async def test_many_runs_may_use_a_model_at_once():
    script = [says(f"answer {n}") for n in range(8)]
    replies: list[str] = []
    async with model_of(script) as (subject, _):

        async def one() -> None:
            replies.append((await ask(subject)).text)

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(one)
    assert sorted(replies) == [f"answer {n}" for n in range(8)]


async def test_a_closed_model_may_be_closed_again_and_asked_again():
    async with model_of([says("one"), says("two")]) as (subject, _):
        assert (await ask(subject)).text == "one"
        await subject.aclose()
        await subject.aclose()
        assert (await ask(subject)).text == "two"


async def test_an_error_of_the_screen_is_not_taken_for_one_of_the_model():
    async def broken(_: str) -> None:
        raise ValueError("the screen is gone")

    async with model_of([says("Hello there."), says("Still here.")]) as (subject, _):
        with pytest.raises(ValueError, match="the screen is gone"):
            await subject.reply(ModelRequest(ASK), broken)
        assert (await ask(subject)).text == "Still here."


async def test_the_name_tells_provider_and_model():
    assert OpenAIModel("gpt-5-mini").name == "openai gpt-5-mini"


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
async def test_a_request_that_is_too_long_is_told_from_other_errors(status: int, body: Any):
    """In the words of OpenAI, vLLM, llama.cpp, Ollama, Anthropic, Gemini and Bedrock."""
    settings = ModelSettings(max_output_tokens=9)
    error = await error_of([fails(status, body)], settings=settings)
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
async def test_each_error_says_what_where_and_what_next(case: str):
    status, body, kind, says_so = ERRORS[case]
    error = await error_of([fails(status, body)])
    assert type(error) is kind
    assert says_so in str(error)


async def test_a_model_that_cannot_call_functions_is_remembered():
    async with model_of([fails(400, {"error": "small does not support tools"})]) as (subject, _):
        assert subject.calls_functions
        with pytest.raises(ModelCannotCallFunctions):
            await ask(subject, ADD)
        assert not subject.calls_functions


async def test_the_key_is_masked_in_the_services_own_words():
    error = await error_of([fails(401, {"message": f"Incorrect API key provided: {KEY}"})])
    assert "provided: ***" in str(error)


async def test_long_words_are_cut():
    error = await error_of([fails(400, {"message": "x" * 5000})])
    assert len(str(error)) < 1000


async def test_a_busy_service_is_asked_again():
    script = [
        fails(429, {}, {"retry-after-ms": "10"}),
        fails(503, {}, {"retry-after-ms": "10"}),
        says("ok"),
    ]
    async with model_of(script) as (subject, endpoint):
        assert (await ask(subject)).text == "ok"
    assert len(endpoint.requests) == 3


async def test_a_service_that_wants_a_long_pause_is_not_waited_for():
    """The pause would outlast the turn, so the error comes now, with the time to wait."""
    settings = ModelSettings(turn_timeout_seconds=35)
    with ends_within(30):
        error = await error_of([fails(429, {}, {"retry-after": "40"})], settings=settings)
        assert isinstance(error, ModelRateLimited)
        assert "Wait 40 seconds" in str(error)


async def test_a_pause_may_be_given_as_a_date():
    header = {"retry-after": "Fri, 31 Dec 2100 23:59:59 GMT"}
    assert "Wait " in str(await error_of([fails(429, {}, header)]))


async def test_a_service_that_keeps_failing_is_given_up():
    script = [fails(500, {"message": "boom"}, {"retry-after-ms": "10"})] * 3
    error = await error_of(script)
    assert isinstance(error, ModelUnreachable)
    assert 'failed (500). It says: "boom"' in str(error)


async def test_no_answer_in_time_is_an_error():
    with ends_within(20):
        error = await error_of([hangs()], settings=ModelSettings(timeout_seconds=0.5))
        assert isinstance(error, ModelTimeout)
        assert "did not answer within 0.5 seconds" in str(error)


async def test_a_run_can_be_cancelled_while_the_model_thinks():
    async with model_of([hangs(), says("ok")]) as (subject, endpoint):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, subject)
            assert await anyio.to_thread.run_sync(endpoint.asked.wait, 20)
            tasks.cancel_scope.cancel()
        assert (await ask(subject)).text == "ok"


async def test_a_connection_dropped_midway_is_an_error():
    error = await error_of([drops_midway()] * 3)
    assert isinstance(error, ModelUnreachable)
    assert "dropped the connection" in str(error)


HALVES = {"words": says("Half an answer"), "a call": calls(("add", {"a": 1}))}


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("cleanly", [True, False])
async def test_a_stream_that_just_stops_is_no_answer(half: str, cleanly: bool):
    """Without a reason to finish and without `[DONE]`, however the connection was closed."""
    script = [breaks_off(HALVES[half], cleanly=cleanly)] * 3
    error = await error_of(script)
    assert isinstance(error, ModelUnreachable)
    assert "dropped the connection" in str(error)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("cleanly", [True, False])
async def test_a_reply_that_breaks_off_is_asked_for_anew(half: str, cleanly: bool):
    told: list[AskedAgain] = []

    async def on_again(again: AskedAgain) -> None:
        told.append(again)

    script = [breaks_off(HALVES[half], cleanly=cleanly), says("The whole.")]
    async with model_of(script) as (subject, endpoint):
        reply = await subject.reply(ModelRequest(ASK, (ADD,)), _hear, on_again)
    assert (reply.text, reply.calls) == ("The whole.", ())
    assert [x.reason for x in told] == [
        f"openai small at {endpoint.base_url} dropped the connection"
    ]


WHOLE_ENDS: dict[str, Any] = {
    "finished, no [DONE]": raw_chunks([delta({"content": "A"}, finish="stop")], done=False),
    "no reason, but [DONE]": raw_chunks([delta({"content": "A"})]),
    "finished, then dropped": replace(
        raw_chunks([delta({"content": "A"}, finish="stop")], done=False), kind="drops events"
    ),
}


@pytest.mark.parametrize("case", WHOLE_ENDS)
async def test_a_stream_that_said_how_it_ends_is_whole(case: str):
    async with model_of([WHOLE_ENDS[case]]) as (subject, endpoint):
        assert (await ask(subject)).text == "A"
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("body", ['{"choices": [{"message": {"content": "Half', "data: {}\n\n"])
async def test_a_body_that_was_cut_off_is_no_answer(body: str):
    step = Step("raw", body=body)
    assert "dropped the connection" in str(await error_of([step] * 3))


async def test_a_limit_of_requests_is_waited_for_as_long_as_the_turn_may_take():
    """More often than a failing service is asked: it answers when others have had their turn."""
    busy = [fails(429, {}, {"retry-after-ms": "10"})] * 4
    async with model_of([*busy, says("ok")]) as (subject, endpoint):
        assert (await ask(subject)).text == "ok"
    assert len(endpoint.requests) == 5


async def test_silence_is_limited_not_the_length_of_an_answer():
    settings = ModelSettings(timeout_seconds=2)
    async with model_of([drips("x" * 7 * 10, 0.25)], settings=settings) as (subject, _):
        assert (await ask(subject)).text == "x" * 70


async def test_a_silence_in_the_middle_of_an_answer_is_an_error():
    with ends_within(20):
        error = await error_of([stalls()], settings=ModelSettings(timeout_seconds=0.5))
    assert isinstance(error, ModelTimeout)
    assert "did not answer within 0.5 seconds" in str(error)


async def test_a_turn_that_goes_on_and_on_is_an_error():
    settings = ModelSettings(turn_timeout_seconds=1)
    with ends_within(20):
        error = await error_of([drips("x" * 7 * 1000, 0.1)], settings=settings)
    assert isinstance(error, ModelTimeout)
    assert "did not end its turn within 1 seconds" in str(error)
    assert "`turn_timeout_seconds`" in str(error)


def test_the_limit_of_a_turn_is_never_shorter_than_one_silence():
    assert ModelSettings().turn_limit_seconds == 600
    assert ModelSettings(timeout_seconds=1800).turn_limit_seconds == 1800
    assert ModelSettings(timeout_seconds=1800, turn_timeout_seconds=60).turn_limit_seconds == 60


async def _hear(_text: str) -> None:
    """Nobody reads along."""


async def test_an_error_inside_the_stream_is_understood():
    code = {"message": "too long", "code": "context_length_exceeded"}
    error = await error_of([raw_chunks([delta({"content": "A"}), {"error": code}])])
    assert isinstance(error, ModelContextOverflow)
    plain = await error_of([raw_chunks([{"error": "overloaded"}])])
    assert "broke off its reply" in str(plain)


async def test_an_error_sent_with_status_200_is_understood():
    step = raw_json({"error": {"message": "Slow down", "code": 429}})
    settings = ModelSettings(turn_timeout_seconds=1)
    error = await error_of(lambda _: step, settings=settings)
    assert isinstance(error, ModelRateLimited)


async def test_a_failure_inside_the_stream_that_passes_is_tried_again():
    """As OpenRouter says that the service behind it broke off."""
    broken = raw_chunks([delta({"content": "A"}), {"error": {"message": "x", "code": 502}}])
    async with model_of([broken, broken, says("ok")]) as (subject, _):
        assert (await ask(subject)).text == "ok"


@pytest.mark.parametrize("status", [200, 400, 404])
async def test_a_web_page_in_place_of_an_answer_is_an_error(status: int):
    error = await error_of([html(status)])
    assert isinstance(error, ModelUnreachable)
    assert f"a web page (status {status})" in str(error)
    assert "usually ends in /v1" in str(error)


@pytest.mark.parametrize(
    "step", [raw_json({}), raw_json([]), raw_json(whole({}) | {"choices": []}), raw_chunks([])]
)
async def test_an_answer_without_a_reply_is_an_error(step: Any):
    assert "answered without a reply in it" in str(await error_of([step]))


async def test_an_answer_that_is_not_json_is_an_error():
    error = await error_of([raw_chunks(["{oops"])])
    assert isinstance(error, ModelUnreachable)
    assert "sent what is not JSON" in str(error)


# Where it is, and who asks


async def test_a_dead_local_server_is_asked_three_times_and_reported():
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    subject = OpenAIModel("m", base_url=f"http://user:{KEY}@127.0.0.1:{port}/v1")
    told: list[AskedAgain] = []

    async def on_again(again: AskedAgain) -> None:
        told.append(again)

    with anyio.fail_after(20), pytest.raises(ModelUnreachable) as caught:
        await subject.reply(ModelRequest(ASK), _hear, on_again)
    assert len(told) == 2
    message = str(caught.value)
    assert f"openai m at http://127.0.0.1:{port}/v1 cannot be reached" in message
    assert "Is the server running" in message
    assert KEY not in message


async def test_a_local_server_needs_no_key():
    async with model_of([says("ok")], api_key=None) as (subject, endpoint):
        assert (await ask(subject)).text == "ok"
    assert endpoint.requests[0].headers["authorization"] == "Bearer unused"


async def test_address_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    async with model_of([says("ok")], base_url=None, api_key=None) as (subject, endpoint):
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment\n")
        assert (await ask(subject)).text == "ok"
    assert endpoint.requests[0].headers["authorization"] == "Bearer sk-of-the-environment"


@pytest.mark.parametrize("ending", ["", "/"])
async def test_the_key_of_the_environment_goes_to_the_address_beside_it(
    ending: str, monkeypatch: pytest.MonkeyPatch
):
    """Also where `base_url` says the same address."""
    async with model_of([says("ok")], api_key=None) as (subject, endpoint):
        monkeypatch.setenv("OPENAI_BASE_URL", f"{endpoint.base_url}{ending}")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_ORG_ID", "org-a")
        assert (await ask(subject)).text == "ok"
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert endpoint.requests[0].headers["openai-organization"] == "org-a"


@pytest.mark.parametrize("beside", ["", "https://elsewhere.example.com/v1"])
@pytest.mark.parametrize("own", [None, Secret("sk-of-this-service")])
async def test_nothing_of_the_environment_is_sent_to_another_address(
    beside: str, own: Secret | None, monkeypatch: pytest.MonkeyPatch
):
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", KEY)
    custom = f"X-Gateway: {KEY}\nAuthorization: Bearer {KEY}"
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", custom)
    monkeypatch.setenv("OPENAI_BASE_URL", beside)
    async with model_of([says("ok")], api_key=own) as (subject, endpoint):
        assert (await ask(subject)).text == "ok"
    (asked,) = endpoint.requests
    assert KEY not in json.dumps([asked.headers, asked.body])
    sent = own.reveal() if own else "unused"
    assert asked.headers["authorization"] == f"Bearer {sent}"


HOMES: list[tuple[OpenAIProvider, str, str, bool]] = [
    ("openai", "", "https://api.openai.com/v1", True),
    ("openai", "", "https://API.openai.com:443/v1/", True),
    ("openai", "", "https://eu.api.openai.com/v1", True),
    ("openai", "", "http://api.openai.com/v1", False),
    ("openai", "", "https://api.openai.com.example.com/v1", False),
    ("openai", "", "https://notapi.openai.com/v1", False),
    ("openai", "", "https://api.openai.com@example.com/v1", False),
    ("openai", "", "https://mine.openai.azure.com/openai/v1", False),
    ("openai", "https://a.example.com/v1", "https://a.example.com/v1/", True),
    ("openai", "https://a.example.com/v1", "https://user:pw@a.example.com/v1", True),
    ("openai", "https://a.example.com/v1", "http://a.example.com/v1", False),
    ("openai", "https://a.example.com/v1", "https://a.example.com:8443/v1", False),
    ("openai", "https://a.example.com/one/v1", "https://a.example.com/two/v1", False),
    ("openai", "https://a.example.com/v1", "https://api.openai.com/v1", False),
    ("openai", "https://eu.api.openai.com/v1", "https://api.openai.com/v1", True),
    ("bedrock", "", "https://bedrock-mantle.us-west-2.api.aws/v1", True),
    ("bedrock", "", "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", True),
    ("bedrock", "", "https://amazonaws.com.example.com/v1", False),
    ("vertexai", "", "https://europe-west4-aiplatform.googleapis.com/v1", True),
    ("vertexai", "", "https://example.com/v1", False),
]


@pytest.mark.parametrize(("provider", "beside", "url", "is_for_it"), HOMES)
def test_the_address_that_the_environments_key_is_for(
    provider: OpenAIProvider,
    beside: str,
    url: str,
    is_for_it: bool,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("OPENAI_BASE_URL", beside)
    assert is_home(provider, url) is is_for_it


@pytest.mark.parametrize("provider", ["openai", "bedrock", "vertexai"])
async def test_another_address_wants_a_key_of_its_own(
    provider: Any, monkeypatch: pytest.MonkeyPatch
):
    for name in ("OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, KEY)
    subject = OpenAIModel("m", provider=provider, base_url="https://models.example.com/v1")
    with pytest.raises(ModelAuthenticationError) as caught:
        await ask(subject)
    message = str(caught.value)
    assert "there is no API key for this address" in message
    assert "Set `api_key` of AgentInit, such as ${ACME_API_KEY}." in message
    assert KEY not in message


async def test_a_local_service_that_wants_a_key_after_all_says_where_to_put_one(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    error = await error_of([fails(401, {"message": "no key"})], api_key=None)
    assert "Set `api_key` of AgentInit, such as ${ACME_API_KEY}." in str(error)


# No error shows a key

REVEALING: dict[str, Any] = {
    "quoted": [fails(401, {"message": f"Incorrect API key provided: {KEY}"})],
    "quoted in a stream": [raw_chunks([{"error": {"message": f"bad key {KEY}"}}])],
    "quoted in what is not JSON": [raw_chunks([KEY])],
    "failing": [fails(503, {"message": KEY}, {"retry-after-ms": "1"})] * 3,
    "dropped": [drops_midway(KEY)] * 3,
    "silent": [hangs()],
    "stalled": [stalls(KEY)],
}


@pytest.mark.parametrize("case", REVEALING)
async def test_no_error_chained_error_traceback_or_line_of_a_log_holds_a_key(
    case: str, caplog: pytest.LogCaptureFixture
):
    """The errors of the client library hold the request, whose headers hold the key."""
    caplog.set_level("DEBUG")
    with model_endpoint(REVEALING[case]) as endpoint:
        url = endpoint.base_url.replace("://", f"://ada:{PASSWORD}@")
        settings = ModelSettings(timeout_seconds=0.5)
        subject = OpenAIModel("small", base_url=url, api_key=Secret(KEY), settings=settings)
        with pytest.raises(ModelError) as caught:
            await ask(subject)
        await subject.aclose()
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert_hidden(f"{caught.value!r} {vars(caught.value)} {subject!r} {vars(subject)}")
    assert_hidden(told_by(caught.value))
    ours = [x.getMessage() for x in caplog.records if not x.name.startswith("tests")]
    assert_hidden("\n".join(ours))


@pytest.mark.parametrize("key", ["sk-a b-very-secret", "sk-clé-very-secret"])
async def test_a_key_that_cannot_be_one_is_in_no_traceback(key: str):
    with pytest.raises(ModelAuthenticationError) as caught:
        await ask(OpenAIModel("m", api_key=Secret(key)))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert key not in told_by(caught.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "nonsense", "https://a.example.com/v1"])
async def test_nothing_holds_an_error_when_nobody_does(url: str):
    """A traceback holds the run and its servers: they must not wait for the garbage collector."""

    class Run:
        pass

    async def fail(_: Run) -> None:
        with contextlib.suppress(ModelError):
            await ask(OpenAIModel("m", base_url=url))

    gc.collect()
    gc.disable()
    try:
        run = Run()
        left = weakref.ref(run)
        await fail(run)
        del run
        assert left() is None
    finally:
        gc.enable()


def test_an_address_with_a_password_is_not_shown_when_it_is_printed():
    url = f"https://ada:{PASSWORD}@models.example.com/v1"
    access = Access("openai", "m", url, Secret(KEY))
    assert_hidden(f"{access!r} {access.service(None, 1.0)!r}")


def told_by(error: BaseException) -> str:
    """The traceback with the values of our variables, as tools for errors show it."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = [x for x in told.stack if "xai_mcp_agent/" in x.filename and "/tests/" not in x.filename]
    assert ours
    return "\n".join(f"{x.name}: {x.locals}" for x in ours)


def assert_hidden(text: str) -> None:
    basic = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
    assert [x for x in (KEY, PASSWORD, basic) if x in text] == []


async def test_without_a_key_it_says_where_to_put_one():
    with pytest.raises(ModelAuthenticationError) as caught:
        await ask(OpenAIModel("gpt-5-mini"))
    message = str(caught.value)
    assert "`api_key` of AgentInit" in message
    assert "OPENAI_API_KEY" in message
    assert "`offline` needs no key" in message


@pytest.mark.parametrize("key", ["sk-a b", "sk-clé"])
async def test_a_key_that_cannot_be_one_is_refused_before_it_is_sent(key: str):
    with pytest.raises(ModelAuthenticationError, match="no key has") as caught:
        await ask(OpenAIModel("m", api_key=Secret(key)))
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:1234/v1",
        "ftp://localhost/v1",
        "nonsense",
        "http://127.0.0.1:99999/v1",
        "http://[::1/v1",
        "http:///v1",
    ],
)
async def test_an_address_that_is_none_is_refused(url: str):
    with pytest.raises(ModelError, match="no web address"):
        await ask(OpenAIModel("m", base_url=url, api_key=Secret(KEY)))


def _missing(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Make these modules missing, also where the extras happen to be installed."""
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)


async def test_bedrock_without_its_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    _missing(monkeypatch, "botocore", "botocore.auth", "botocore.session")
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    with pytest.raises(ModelError, match=r"pip install 'xai-mcp-agent\[bedrock\]'"):
        await ask(OpenAIModel("openai.gpt-oss-20b", provider="bedrock"))


async def test_vertex_without_its_packages_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    _missing(monkeypatch, "google", "google.auth", "google.auth.credentials")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "mine")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "global")
    with pytest.raises(ModelError, match=r"pip install 'xai-mcp-agent\[vertex\]'"):
        await ask(OpenAIModel("gemini-pro", provider="vertexai"))


@pytest.mark.parametrize(("provider", "missing"), [("bedrock", "region"), ("vertexai", "project")])
async def test_a_provider_says_what_it_lacks(provider: Any, missing: str):
    with pytest.raises(ModelError, match=missing):
        await ask(OpenAIModel("m", provider=provider, api_key=Secret(KEY)))


@pytest.mark.parametrize("provider", ["bedrock", "vertexai"])
async def test_a_provider_can_be_asked_with_a_bearer_token(provider: Any):
    async with model_of([says("ok")], "m", provider=provider) as (subject, endpoint):
        assert (await ask(subject)).text == "ok"
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert endpoint.requests[0].body["model"] == "m"


async def test_vertex_names_the_publisher_of_googles_models(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "mine")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
    subject = OpenAIModel("gemini-pro", provider="vertexai", api_key=Secret(KEY))
    client = await subject._connected()  # pyright: ignore[reportPrivateUsage]
    assert str(client.base_url) == (
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/mine/locations/europe-west4/"
        "endpoints/openapi/"
    )
    assert subject._body(client, ModelRequest(ASK))["model"] == "google/gemini-pro"  # pyright: ignore[reportPrivateUsage]
    await subject.aclose()
