"""The Responses API: the parts that only this API has, and the variants of services."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.agent.models.wires import ADD, ASK, RESPONSES, after, ask, ask_streamed
from tests.support.model_endpoint import fails, raw_chunks, raw_json, says
from xai_mcp_agent import ModelContentFiltered, ModelError
from xai_mcp_agent.agent.messages import Message, ToolCall
from xai_mcp_agent.agent.models.base import ModelRequest, ModelSettings, TokenUsage

pytestmark = pytest.mark.anyio

THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "add", "arguments": "{}"}


def speech(text: str, **fields: Any) -> dict[str, Any]:
    """An item with these words."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content, **fields}


def whole(*output: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """An answer that did not stream."""
    return {"object": "response", "status": "completed", "output": output, "error": None, **fields}


async def items_after(*output: Mapping[str, Any]) -> list[Any]:
    """Return the items of this answer that its service gets back with the next request."""
    async with RESPONSES.model_of([raw_json(whole(*output)), says("ok")]) as (subject, endpoint):
        reply = await ask(subject, ADD)
        await ask_streamed(subject, ModelRequest(after(reply), (ADD,)))
    return endpoint.requests[-1].body["input"][1:]


# Requests


async def test_a_request_holds_the_whole_conversation_and_stores_nothing():
    messages: tuple[Message, ...] = ({"role": "system", "content": "Be kind."}, *ASK)
    settings = ModelSettings(
        temperature=0.2, max_output_tokens=99, reasoning_effort="low", extra_body={"top_p": 0.5}
    )
    function = {"type": "function", "name": "add", "description": "Adds.", "strict": False}
    assert await RESPONSES.body_of(ModelRequest(messages, (ADD,)), settings=settings) == {
        "model": "small", "instructions": "Be kind.", "input": list(ASK),
        "tools": [{**function, "parameters": ADD.parameters}],
        "stream": True, "store": False, "include": ["reasoning.encrypted_content"],
        "temperature": 0.2, "max_output_tokens": 99, "reasoning": {"effort": "low"}, "top_p": 0.5,
    }  # fmt: skip


async def test_a_conversation_of_another_service_becomes_items():
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    messages: tuple[Message, ...] = (
        *ASK,
        {"role": "system", "content": "Later."},
        {"role": "assistant", "content": "I add.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
    )
    assert (await RESPONSES.body_of(ModelRequest(messages)))["input"] == [
        *ASK,
        {"role": "system", "content": "Later."},
        {"role": "assistant", "content": "I add."},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
    ]


# Items that go back


async def test_items_go_back_in_order_with_the_fields_of_the_service():
    spoken = speech("I add.", phase="commentary", status="completed")
    assert (await items_after(THOUGHT, spoken, CALL))[:3] == [THOUGHT, spoken, CALL]
    first, second = speech("So."), speech("It is 3.", id="msg_2", phase="final_answer")
    assert (await RESPONSES.reply(raw_json(whole(first, second)))).text == "So.\n\nIt is 3."
    items = await items_after(first, second, CALL)
    assert [(x["content"][0]["text"], x.get("phase")) for x in items[:2]] == [
        ("So.", None), ("It is 3.", "final_answer"),
    ]  # fmt: skip


async def test_reasoning_that_its_service_would_refuse_is_not_sent():
    for output in (
        (THOUGHT, speech("", phase="commentary")),  # stands before nothing
        (speech("I add.", phase="commentary"), THOUGHT),
        ({**THOUGHT, "encrypted_content": None}, CALL),
    ):
        assert all(x.get("type") != "reasoning" for x in await items_after(*output))


async def test_reasoning_that_the_service_can_no_longer_read_is_omitted():
    """OpenAI answers so if the organisation has changed."""
    error = {"message": "It could not be verified.", "code": "invalid_encrypted_content"}
    script = [raw_json(whole(THOUGHT, CALL)), fails(400, error), says("ok")]
    async with RESPONSES.model_of(script) as (subject, endpoint):
        reply = await ask(subject, ADD)
        await ask_streamed(subject, ModelRequest(after(reply)))
    kinds = [[x.get("type") for x in request.body["input"]] for request in endpoint.requests[1:]]
    assert kinds[0] == [None, "reasoning", "function_call", "function_call_output"]
    assert kinds[1] == [None, "function_call", "function_call_output"]


# Replies


async def test_an_answer_that_did_not_stream_is_understood():
    usage = {"input_tokens": 3, "output_tokens": 4, "output_tokens_details": None}
    arguments = {**CALL, "arguments": {"a": 1}}
    step = raw_json(whole(speech("Hm."), arguments, CALL, {**CALL, "call_id": None}, usage=usage))
    async with RESPONSES.model_of([step]) as (subject, _):
        reply, pieces = await ask_streamed(subject, ModelRequest(ASK, (ADD,)))
    assert pieces == ["Hm."]
    assert reply.calls == (
        ToolCall("c1", "add", '{"a": 1}'),
        ToolCall("call_1", "add", "{}"),
        ToolCall("fc_1", "add", "{}"),
    )
    assert (reply.finish, reply.usage) == ("tool_calls", TokenUsage(3, 4))


def event(kind: str, at: int | None = 0, **fields: Any) -> dict[str, Any]:
    """One event of a stream."""
    return {"type": f"response.{kind}", "output_index": at, **fields}


def ended(*output: Any, status: str = "completed", **fields: Any) -> dict[str, Any]:
    """The last event of a stream."""
    return event(status, None, response=whole(*output, status=status, **fields))


EMPTY_CALL = {**CALL, "arguments": ""}
ODD_STREAMS: dict[str, tuple[list[Any], str, list[str]]] = {
    "pieces only": ([event("output_text.delta", delta=x) for x in "AB"], "AB", []),
    "items, and no output at the end": (
        [event("output_item.done", item=speech("AB")), event("output_item.done", 1, item=CALL)],
        "AB",
        ["{}"],
    ),
    "items that were only begun": (
        [
            event("output_item.added", item=speech("") | {"content": []}),
            event("output_text.delta", delta="AB"),
            event("output_item.added", 1, item=EMPTY_CALL),
            event("function_call_arguments.delta", 1, delta='{"a":'),
            event("function_call_arguments.delta", 1, delta="1}"),
        ],
        "AB",
        ['{"a":1}'],
    ),
    "events that nobody knows": (
        [{}, [], {"type": "keepalive"}, event("new", None), event("output_text.delta", delta="A")],
        "A",
        [],
    ),
}


@pytest.mark.parametrize("case", ODD_STREAMS)
async def test_a_stream_with_gaps_is_read(case: str):
    events, text, arguments = ODD_STREAMS[case]
    step = raw_chunks([*events, ended()], end_event=False)
    async with RESPONSES.model_of([step]) as (subject, _):
        reply, pieces = await ask_streamed(subject, ModelRequest(ASK, (ADD,)))
    assert (reply.text, "".join(pieces)) == (text, text)
    assert [x.arguments for x in reply.calls] == arguments


async def test_the_last_event_ends_a_stream_whose_connection_stays_open():
    step = replace(raw_chunks([ended(speech("Done."))], end_event=False), kind="stalls events")
    assert (await RESPONSES.reply(step)).text == "Done."


async def test_an_incomplete_answer_says_why():
    for reason, finish in (
        ("max_output_tokens", "length"), ("content_filter", "content_filter"), ("new", "length"),
    ):  # fmt: skip
        details = {"reason": reason}
        last = ended(speech("half a"), status="incomplete", incomplete_details=details)
        reply = await RESPONSES.reply(raw_chunks([last], end_event=False))
        assert (reply.text, reply.finish) == ("half a", finish)


async def test_a_failed_answer_is_an_error():
    prompt = {"code": "invalid_prompt", "message": "It violates our usage policy."}
    for failure, kind, words in (
        ({"code": "bio_policy", "message": "No."}, ModelContentFiltered, "filter stopped"),
        (prompt, ModelContentFiltered, "filter stopped"),
        (None, ModelError, "It does not say why"),
    ):
        last = event("failed", None, response={"status": "failed", "error": failure})
        error = await RESPONSES.error_of([raw_chunks([last], end_event=False)])
        assert type(error) is kind
        assert words in str(error)
