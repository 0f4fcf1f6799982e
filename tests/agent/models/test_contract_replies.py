"""What every wire promises of a reply: what is sent for it, and what comes back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import anyio
import pytest

from tests.agent.models.wires import (
    ADD,
    ASK,
    KEY,
    ScriptedWire,
    ask,
    ask_streamed,
)
from tests.support.model_endpoint import (
    calls,
    fails,
    model_endpoint,
    says,
)
from xai_mcp_agent import (
    Secret,
)
from xai_mcp_agent.agent.messages import Message
from xai_mcp_agent.agent.models.base import (
    ModelReply,
    ModelRequest,
    ModelSettings,
    Usage,
)

pytestmark = pytest.mark.anyio

GIVEN_BACK = replace(
    says("A"), message={"content": "A", "reasoning_content": "Hm.", "encrypted_content": "gAAAA"}
)
"""Something to keep, on every wire."""


# What is sent


async def test_text_streams_and_usage_is_counted(wire: ScriptedWire):
    async with wire.model_of([says("It is five past three.")]) as (subject, endpoint):
        reply, pieces = await ask_streamed(subject, ModelRequest(ASK))
    assert reply == ModelReply("It is five past three.", usage=Usage(20, 5, 8, 3))
    assert len(pieces) > 2
    assert "".join(pieces) == reply.text
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert endpoint.requests[0].body["model"] == "small"
    assert list(wire.conversation(endpoint.requests[0].body)) == list(ASK)


async def test_functions_that_may_not_be_called_are_still_offered(wire: ScriptedWire):
    """The request stays like the last one, so the service's cache of it still serves."""
    async with wire.model_of([fails(400, {"message": "tool_choice?"}), says("no")]) as (
        subject,
        endpoint,
    ):
        await ask_streamed(subject, ModelRequest(ASK, (ADD,), may_call=False))
    assert [len(x.body["tools"]) for x in endpoint.requests] == [1, 1]
    assert [x.body.get("tool_choice") for x in endpoint.requests] == ["none", None]


async def test_text_that_is_not_valid_unicode_is_mended(wire: ScriptedWire):
    """A Python tool may read a file name that is not UTF-8."""
    message: Message = {"role": "user", "content": "bad \udcff, pair \ud83d\ude00"}
    async with wire.model_of([says("ok")]) as (subject, endpoint):
        await ask_streamed(subject, ModelRequest((message,)))
    assert (
        wire.conversation(endpoint.requests[0].body)[0]["content"] == "bad \ufffd, pair \U0001f600"
    )


@pytest.mark.parametrize(
    ("wanted", "extra", "sent"),
    [(None, 0.0, None), (None, 0.2, 1.2), (0.5, 0.2, 0.7), (0.0, 0.0, 0.0), (1.9, 0.5, 2.0)],
)
async def test_failures_raise_the_temperature(
    wire: ScriptedWire, wanted: float, extra: float, sent: float
):
    """Design, section 6: consecutive failures raise the temperature, as in the original."""
    settings = ModelSettings(temperature=wanted)
    async with wire.model_of([says("ok")], settings=settings) as (subject, endpoint):
        await ask(subject, extra=extra)
    assert endpoint.requests[0].body.get("temperature") == (sent and pytest.approx(sent))


# What services refuse


@pytest.mark.parametrize("status", [400, 422])
async def test_a_refused_setting_is_left_out_from_then_on(wire: ScriptedWire, status: int):
    for name, error in wire.refusable.items():
        script = [fails(status, error), says("one"), says("two")]
        settings = ModelSettings(temperature=0.5)
        async with wire.model_of(script, settings=settings) as (subject, endpoint):
            assert (await ask(subject)).text == "one"
            assert (await ask(subject)).text == "two"
        assert [name in x.body for x in endpoint.requests] == [True, False, False]


FORM_REFUSALS = [
    {"message": "Invalid parameter", "param": "response_format"},
    {"message": "Invalid parameter", "param": "text.format"},
    {"message": "failed to parse grammar"},
]


@pytest.mark.parametrize("refusal", FORM_REFUSALS)
async def test_the_form_of_an_answer_is_sent_until_it_is_refused(
    wire: ScriptedWire, refusal: dict[str, Any]
):
    request = ModelRequest(ASK, output_schema=ADD.parameters)
    script = [says("{}"), fails(400, refusal), says("{}"), says("{}")]
    async with wire.model_of(script) as (subject, endpoint):
        for _ in range(3):
            await ask_streamed(subject, request)
    sent = [wire.form(x.body) for x in endpoint.requests]
    assert [x and x["schema"] for x in sent] == [ADD.parameters, ADD.parameters, None, None]


# What comes back


async def test_calls_are_put_together_from_their_pieces(wire: ScriptedWire):
    script = [calls(("add", {"a": 1, "b": "é\n"}), ("now", ""), text="Let me see.")]
    async with wire.model_of(script) as (subject, _):
        reply = await ask(subject, ADD)
    assert reply.text == "Let me see."
    assert reply.finish == "tool_calls"
    assert [(x.name, x.arguments) for x in reply.calls] == [
        ("add", json.dumps({"a": 1, "b": "é\n"})),
        ("now", ""),
    ]
    assert all(x.id.endswith("_scripted") for x in reply.calls)


async def test_neither_key_nor_password_stands_in_what_is_kept_of_a_service(wire: ScriptedWire):
    with model_endpoint([GIVEN_BACK]) as here:
        url = here.base_url.replace("://", f"://ada:{KEY}@")
        subject = wire.model("gemini-3-pro", base_url=url, api_key=Secret(KEY))
        reply = await ask(subject)
        await subject.aclose()
    assert KEY not in json.dumps(reply.added)
    assert reply.added["service"].startswith(f"{wire.provider} gemini at {here.base_url} (")


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
async def test_the_reason_to_finish_is_told(wire: ScriptedWire, said: str, finish: str):
    async with wire.model_of([says("half a", finish=said)]) as (subject, _):
        reply = await ask(subject)
    assert (reply.text, reply.finish) == ("half a", finish)


async def test_calls_that_were_cut_off_say_so(wire: ScriptedWire):
    script = [calls(("add", '{"a": 1'), finish="length")]
    async with wire.model_of(script) as (subject, _):
        reply = await ask(subject, ADD)
    assert reply.finish == "length"
    assert reply.calls[0].arguments == '{"a": 1'


async def test_a_refusal_is_given_in_the_models_own_words(wire: ScriptedWire):
    async with wire.model_of([says("", refusal="I cannot help with that.")]) as (subject, _):
        reply = await ask(subject)
    assert reply == ModelReply(
        "", finish="refusal", refusal="I cannot help with that.", usage=Usage(20, 5, 8, 3)
    )


async def test_many_runs_may_use_a_model_at_once(wire: ScriptedWire):
    script = [says(f"answer {n}") for n in range(8)]
    replies: list[str] = []
    async with wire.model_of(script) as (subject, _):

        async def one() -> None:
            replies.append((await ask(subject)).text)

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(one)
    assert sorted(replies) == [f"answer {n}" for n in range(8)]


async def test_a_closed_model_may_be_closed_again_and_asked_again(wire: ScriptedWire):
    async with wire.model_of([says("one"), says("two")]) as (subject, _):
        assert (await ask(subject)).text == "one"
        await subject.aclose()
        await subject.aclose()
        assert (await ask(subject)).text == "two"


async def test_an_error_of_the_screen_is_not_taken_for_one_of_the_model(wire: ScriptedWire):
    async def broken(_: str) -> None:
        raise ValueError("the screen is gone")

    async with wire.model_of([says("Hello there."), says("Still here.")]) as (subject, _):
        with pytest.raises(ValueError, match="the screen is gone"):
            await subject.reply(ModelRequest(ASK), broken)
        assert (await ask(subject)).text == "Still here."


async def test_the_name_tells_provider_and_model(wire: ScriptedWire):
    assert wire.model("gpt-5-mini").name == f"{wire.provider} gpt-5-mini"
