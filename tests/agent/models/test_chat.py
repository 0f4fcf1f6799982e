"""Chat Completions: the parts that only this API has, and the variants of services."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.agent.models.wires import ADD, ASK, CHAT, after, ask, ask_streamed
from tests.support.media_samples import PNG
from tests.support.model_endpoint import Step, delta, fails, raw_chunks, raw_json, says
from xai_mcp_agent import ImagePart, ToolResult
from xai_mcp_agent.agent.conversation import call_message, result_messages
from xai_mcp_agent.agent.messages import Message, ToolCall
from xai_mcp_agent.agent.models.base import ModelRequest, ModelSettings, TokenUsage

pytestmark = pytest.mark.anyio


async def test_a_request_holds_messages_and_functions_as_they_are():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    messages: tuple[Message, ...] = (
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Look"}, image]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
    )
    settings = ModelSettings(
        temperature=0.2, max_output_tokens=99, reasoning_effort="low", extra_body={"top_k": 3}
    )
    function = {"name": "add", "description": "Adds.", "parameters": ADD.parameters}
    assert await CHAT.body_of(ModelRequest(messages, (ADD,)), settings=settings) == {
        "model": "small",
        "messages": list(messages),
        "tools": [{"type": "function", "function": function}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.2,
        "max_tokens": 99,
        "reasoning_effort": "low",
        "top_k": 3,
    }


async def test_the_output_limit_goes_under_the_name_the_model_knows():
    settings, names = ModelSettings(max_output_tokens=9), list[set[str]]()
    for model in ("gpt-5-mini", "openai/o3", "llama3", "olmo-2"):
        body = await CHAT.body_of(ModelRequest(ASK), model=model, settings=settings)
        names.append({x for x in body if x.startswith("max")})
    assert names == [{"max_completion_tokens"}] * 2 + [{"max_tokens"}] * 2


# Refusals


async def test_several_refused_settings_are_omitted_one_after_the_other():
    settings = ModelSettings(temperature=0.5, max_output_tokens=9)
    limit = {"message": "'max_tokens' is unknown. Use 'max_completion_tokens'."}
    refusals = (limit, CHAT.refusable["stream"], CHAT.refusable["temperature"])
    script = [*(fails(400, x) for x in refusals), says("ok")]
    async with CHAT.model_of(script, settings=settings) as (subject, endpoint):
        assert (await ask(subject)).text == "ok"
    body = endpoint.requests[-1].body
    assert body == {"model": "small", "messages": list(ASK), "max_completion_tokens": 9}


async def test_a_service_that_wants_alternating_roles_gets_them():
    """As in Mistral's templates, which vLLM and llama.cpp apply: calls and results do not count."""
    call = ToolCall("call_0001", "add", "{}")
    results = result_messages([(call, "3", ToolResult.of_text("3"))])
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    limit: Message = {"role": "user", "content": "Answer now."}
    pictured: Message = {"role": "user", "content": [picture]}
    refusal = "After the optional system message, conversation roles must alternate user/assistant"

    def template(body: dict[str, Any]) -> Step:
        counted = [x for x in body["messages"] if x["role"] != "tool" and "tool_calls" not in x]
        alternate = all((x["role"] == "user") == (n % 2 == 0) for n, x in enumerate(counted))
        return says("ok") if alternate else fails(500, {"code": 500, "message": refusal})

    async with CHAT.model_of(template) as (subject, endpoint):
        for turns in ((limit,), (pictured, limit), (call_message("", [call]), *results, limit)):
            assert (await ask_streamed(subject, ModelRequest((*ASK, *turns))))[0].text == "ok"
    assert len(endpoint.requests) == 4  # refused once
    texts, parts, after_results = (x.body["messages"] for x in endpoint.requests[1:])
    assert [x["content"] for x in texts] == ["go\n\nAnswer now."]
    go, answer = ({"type": "text", "text": x} for x in ("go", "Answer now."))
    assert [x["content"] for x in parts] == [[go, picture, answer]]
    assert [x["role"] for x in after_results[1:]] == ["assistant", "tool", "assistant", "user"]


def piece(**call: Any) -> dict[str, Any]:
    function = {x: call.pop(x) for x in ("name", "arguments") if x in call}
    return delta({"tool_calls": [{**call, "function": function}]})


ODD_STREAMS: dict[str, tuple[list[Any], list[tuple[str, str, str]]]] = {
    "whole calls in one chunk": (
        [delta({"tool_calls": [
            {"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}},
            {"index": 1, "id": "b", "function": {"name": "y", "arguments": "{}"}},
        ]})],
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
        [piece(index=0, id="a", name="x", arguments='{"n":'), piece(index=0, arguments="1}"),
         piece(index=0, id="b", name="x", arguments='{"n":'), piece(index=0, arguments="2}")],
        [("a", "x", '{"n":1}'), ("b", "x", '{"n":2}')],
    ),
    "one index for all, no ids": (
        [piece(index=0, name="x", arguments=x) for x in ('{"n":1}', '{"n":2}')],
        [("call_1", "x", '{"n":1}'), ("call_2", "x", '{"n":2}')],
    ),
    "name and id repeated": (
        [piece(index=0, id="a", name="x", arguments=x) for x in ('{"n":', "1", "}", "")],
        [("a", "x", '{"n":1}')],
    ),
    "arguments as an object": (
        [piece(index=0, id="a", name="x", arguments={"n": [1]})], [("a", "x", '{"n": [1]}')],
    ),
    "no index": (
        [piece(id="a", name="x", arguments='{"n"'), piece(arguments=":1}"),
         piece(id="b", name="y", arguments="{}"), piece(name="z")],
        [("a", "x", '{"n":1}'), ("b", "y", "{}"), ("call_1", "z", "")],
    ),
    "nothing in it": ([piece(index=0), delta({"tool_calls": None})], []),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD_STREAMS)
async def test_calls_are_understood_however_they_are_numbered(case: str):
    chunks, expected = ODD_STREAMS[case]
    reply = await CHAT.reply(raw_chunks([*chunks, delta({}, finish="stop")]))
    assert reply.calls == tuple(ToolCall(*x) for x in expected)
    assert reply.finish == ("tool_calls" if expected else "stop")


async def test_a_stream_with_gaps_and_vendor_fields_is_read():
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A"}]
    chunks: list[Any] = [
        {"choices": []}, {"choices": None}, {"object": "keepalive"}, delta({"content": None}),
        delta({"content": parts}), {"choices": [{"index": 1, "delta": {"content": "other"}}]},
        {"choices": [{"delta": {"content": "B"}}], "usage": None},
        {"choices": [{"delta": None, "finish_reason": None}]},
    ]  # fmt: skip
    assert (await CHAT.reply(raw_chunks(chunks))).text == "AB"


def detail(kind: str, index: int, **fields: Any) -> dict[str, Any]:
    return {"reasoning_details": [{"type": f"reasoning.{kind}", "index": index, **fields}]}


ADDED: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "a text in pieces": (
        [{"reasoning_content": "Let "}, {"reasoning_content": "me"}],
        {"reasoning_content": "Let me"},
    ),
    "a text that is empty, as DeepSeek wants it back": (
        [{"reasoning_content": ""}, {"reasoning_content": None}], {"reasoning_content": ""}
    ),
    "parts in pieces": (
        [
            detail("text", 0, text="Let "),
            detail("text", 0, text="me"),
            detail("text", 0, signature="s", text=None),
            detail("encrypted", 0, id="r1", data="AAAA"),
            detail("encrypted", 0, id="r2", data="BBBB"),
            detail("summary", 1, summary="So"),
            detail("summary", 1, summary="!"),
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
    "an object that comes twice": (
        [
            {"extra_content": {"google": {"thought_signature": "AA"}}},
            {"extra_content": {"google": {"thought_signature": "", "thought": True}}},
        ],
        {"extra_content": {"google": {"thought_signature": "AA", "thought": True}}},
    ),
    "nothing": ([{"content": "Hm.", "annotations": [], "refusal": None}], {}),
}  # fmt: skip


@pytest.mark.parametrize("case", ADDED)
async def test_fields_that_a_service_adds_are_put_together_from_their_pieces(case: str):
    pieces, expected = ADDED[case]
    reply = await CHAT.reply(raw_chunks([*map(delta, pieces), delta({}, finish="stop")]))
    assert reply.added.get("message", {}) == expected


async def test_fields_inside_a_function_go_back_inside_it():
    """LiteLLM puts Gemini's thought signatures there, too."""
    fields = {"provider_specific_fields": {"thought_signature": "c2ln"}}
    call = {"index": 0, "id": "a", "function": {"name": "add", "arguments": "{}", **fields}}
    script = [raw_chunks([delta({"tool_calls": [call]}, finish="tool_calls")]), says("ok")]
    async with CHAT.model_of(script) as (subject, endpoint):
        reply = await ask(subject, ADD)
        await ask_streamed(subject, ModelRequest(after(reply), (ADD,)))
    (sent,) = endpoint.requests[1].body["messages"][1]["tool_calls"]
    assert sent["function"] == call["function"]


async def test_a_service_that_does_not_stream_is_understood():
    call = {"id": "a", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
    message = {"role": "assistant", "content": "Hm.", "tool_calls": [call, {**call, "id": "b"}]}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    async with CHAT.model_of([raw_json(whole)]) as (subject, _):
        reply, pieces = await ask_streamed(subject, ModelRequest(ASK, (ADD,)))
    assert pieces == ["Hm."]
    assert reply.calls == (ToolCall("a", "add", '{"a": 1}'), ToolCall("b", "add", '{"a": 1}'))
    assert reply.finish == "tool_calls"
    assert reply.usage == TokenUsage(3, 4, 0)


WHOLE_ENDS: dict[str, Any] = {
    "finished, no [DONE]": raw_chunks([delta({"content": "A"}, finish="stop")], end_event=False),
    "no reason, but [DONE]": raw_chunks([delta({"content": "A"})]),
    "finished, then dropped": replace(
        raw_chunks([delta({"content": "A"}, finish="stop")], end_event=False), kind="drops events"
    ),
}


@pytest.mark.parametrize("case", WHOLE_ENDS)
async def test_a_stream_with_a_finish_reason_or_a_last_event_is_complete(case: str):
    """It is asked once: the script has no second step."""
    assert (await CHAT.reply(WHOLE_ENDS[case])).text == "A"


async def test_pictures_follow_the_results_of_their_turn_as_a_users_message():
    """Messages of tools hold text only; the same id may come again in the next turn."""

    def turn(name: str) -> list[Message]:
        call, result = ToolCall("c1", name, "{}"), ToolResult((ImagePart(PNG, "image/png"),))
        message = call_message("", [call])
        return [message, *result_messages([(call, name, result)])]

    messages = (*ASK, *turn("look"), *turn("listen"))
    messages = (await CHAT.body_of(ModelRequest(messages)))["messages"]
    assert [x["role"] for x in messages] == ["user", *["assistant", "tool", "user"] * 2]
    for name, tool, pictures in (("look", *messages[2:4]), ("listen", *messages[5:])):
        assert tool["content"] == name
        assert f"result of {name}, not from the user" in pictures["content"][0]["text"]
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    assert messages[3]["content"][1:] == [picture]
