"""The Responses API: what only this API has, and what services make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.agent.models.wires import ADD, ASK, RESPONSES, ask, ask_streamed
from tests.support.model_endpoint import fails, raw_chunks, raw_json, says
from xai_mcp_agent import ModelContentFiltered, ModelError
from xai_mcp_agent.agent.conversation import call_message
from xai_mcp_agent.agent.messages import Message, ToolCall
from xai_mcp_agent.agent.models.base import ModelReply, ModelRequest, ModelSettings, Usage

pytestmark = pytest.mark.anyio

THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "add", "arguments": "{}"}


def said(text: str, **fields: Any) -> dict[str, Any]:
    """An item with these words."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content, **fields}


def whole(*output: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """An answer that did not stream."""
    return {"object": "response", "status": "completed", "output": output, "error": None, **fields}


def sent_back(reply: ModelReply, text: str | None = None) -> tuple[Message, ...]:
    """The conversation after this reply, its calls answered."""
    words = reply.text if text is None else text
    asked = call_message(words, reply.calls, added=reply.added)
    answers = [{"role": "tool", "tool_call_id": x.id, "content": "3"} for x in reply.calls]
    return (*ASK, asked, *answers)


async def items_after(*output: Mapping[str, Any], text: str | None = None) -> list[Any]:
    """What a service that answered so is sent of it with the next request."""
    async with RESPONSES.model_of([raw_json(whole(*output)), says("ok")]) as (subject, endpoint):
        reply = await ask(subject, ADD)
        await ask_streamed(subject, ModelRequest(sent_back(reply, text), (ADD,)))
    return endpoint.requests[-1].body["input"][1:]


# What is sent


async def test_a_request_holds_all_and_stores_nothing():
    messages: tuple[Message, ...] = ({"role": "system", "content": "Be kind."}, *ASK)
    settings = ModelSettings(
        temperature=0.2, max_output_tokens=99, reasoning_effort="low", extra_body={"top_p": 0.5}
    )
    async with RESPONSES.model_of([says("ok")], settings=settings) as (subject, endpoint):
        await ask_streamed(subject, ModelRequest(messages, (ADD,)))
    assert endpoint.requests[0].body == {
        "model": "small",
        "instructions": "Be kind.",
        "input": list(ASK),
        "tools": [
            {
                "type": "function",
                "name": "add",
                "description": "Adds.",
                "parameters": ADD.parameters,
                "strict": False,
            }
        ],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "temperature": 0.2,
        "max_output_tokens": 99,
        "reasoning": {"effort": "low"},
        "top_p": 0.5,
    }


async def test_a_conversation_of_another_service_becomes_items():
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":'}}
    messages: tuple[Message, ...] = (
        *ASK,
        {"role": "system", "content": "Later."},
        {"role": "assistant", "content": "I add.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
    )
    async with RESPONSES.model_of([says("ok")]) as (subject, endpoint):
        await ask_streamed(subject, ModelRequest(messages))
    assert endpoint.requests[0].body["input"] == [
        *ASK,
        {"role": "system", "content": "Later."},
        {"role": "assistant", "content": "I add."},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a":'},
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
    ]


# What goes back


async def test_items_go_back_in_their_order_with_what_the_service_added():
    spoken = said("I add.", phase="commentary", status="completed")
    (thought, again, call, _) = await items_after(THOUGHT, spoken, CALL)
    assert thought == THOUGHT
    assert again == spoken
    assert call == CALL


async def test_two_messages_of_one_reply_go_back_as_two():
    first, second = said("So."), said("It is 3.", id="msg_2", phase="final_answer")
    async with RESPONSES.model_of([raw_json(whole(first, second))]) as (subject, _):
        assert (await ask(subject)).text == "So.\n\nIt is 3."
    sent = await items_after(first, second, CALL)
    assert [x["content"][0]["text"] for x in sent[:2]] == ["So.", "It is 3."]
    assert [x.get("phase") for x in sent[:2]] == [None, "final_answer"]


@pytest.mark.parametrize(
    "output",
    [
        (THOUGHT, said("", phase="commentary")),
        (said("I add.", phase="commentary"), THOUGHT),
        ({**THOUGHT, "encrypted_content": None}, CALL),
    ],
    ids=["before nothing", "last", "not encrypted"],
)
async def test_reasoning_that_its_service_would_refuse_stays_away(output: Any):
    assert all(x.get("type") != "reasoning" for x in await items_after(*output))


async def test_reasoning_that_cannot_be_read_any_more_is_left_out():
    """As OpenAI says it to another organisation."""
    error = {"message": "It could not be verified.", "code": "invalid_encrypted_content"}
    script = [raw_json(whole(THOUGHT, CALL)), fails(400, error), says("ok")]
    async with RESPONSES.model_of(script) as (subject, endpoint):
        reply = await ask(subject, ADD)
        await ask_streamed(subject, ModelRequest(sent_back(reply)))
    kinds = [[x.get("type") for x in request.body["input"]] for request in endpoint.requests[1:]]
    assert kinds[0] == [None, "reasoning", "function_call", "function_call_output"]
    assert kinds[1] == [None, "function_call", "function_call_output"]


# What comes back


async def test_an_answer_that_did_not_stream_is_understood():
    usage = {"input_tokens": 3, "output_tokens": 4, "output_tokens_details": None}
    arguments = {**CALL, "arguments": {"a": 1}}
    step = raw_json(whole(said("Hm."), arguments, CALL, {**CALL, "call_id": None}, usage=usage))
    async with RESPONSES.model_of([step]) as (subject, _):
        reply, pieces = await ask_streamed(subject, ModelRequest(ASK, (ADD,)))
    assert pieces == ["Hm."]
    assert reply.calls == (
        ToolCall("c1", "add", '{"a": 1}'),
        ToolCall("call_1", "add", "{}"),
        ToolCall("fc_1", "add", "{}"),
    )
    assert (reply.finish, reply.usage) == ("tool_calls", Usage(3, 4))


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
        [event("output_item.done", item=said("AB")), event("output_item.done", 1, item=CALL)],
        "AB",
        ["{}"],
    ),
    "items that were only begun": (
        [
            event("output_item.added", item=said("") | {"content": []}),
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
    async with RESPONSES.model_of([raw_chunks([*events, ended()], done=False)]) as (subject, _):
        reply, pieces = await ask_streamed(subject, ModelRequest(ASK, (ADD,)))
    assert (reply.text, "".join(pieces)) == (text, text)
    assert [x.arguments for x in reply.calls] == arguments


async def test_the_last_event_ends_a_stream_whose_connection_stays_open():
    step = replace(raw_chunks([ended(said("Done."))], done=False), kind="stalls events")
    async with RESPONSES.model_of([step]) as (subject, _):
        assert (await ask(subject)).text == "Done."


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("new", "length")],
)
async def test_an_incomplete_answer_says_why(reason: str, finish: str):
    last = ended(said("half a"), status="incomplete", incomplete_details={"reason": reason})
    async with RESPONSES.model_of([raw_chunks([last], done=False)]) as (subject, _):
        reply = await ask(subject)
    assert (reply.text, reply.finish) == ("half a", finish)


FAILED: dict[str, tuple[Any, type[ModelError], str]] = {
    "policy": ({"code": "bio_policy", "message": "No."}, ModelContentFiltered, "filter stopped"),
    "prompt": (
        {"code": "invalid_prompt", "message": "It violates our usage policy."},
        ModelContentFiltered,
        "filter stopped",
    ),
    "silent": (None, ModelError, "It does not say why"),
}


@pytest.mark.parametrize("case", FAILED)
async def test_a_failed_answer_is_an_error(case: str):
    error, kind, words = FAILED[case]
    last = event("failed", None, response={"status": "failed", "error": error})
    found = await RESPONSES.error_of([raw_chunks([last], done=False)])
    assert type(found) is kind
    assert words in str(found)
