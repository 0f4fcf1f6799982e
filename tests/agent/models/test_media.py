"""Pictures and sounds on every wire: they arrive, or a note takes their place."""

from __future__ import annotations

import json

import pytest

from tests.agent.models.wires import ADD, ASK, ScriptedWire, ask_streamed
from tests.support.media_samples import PNG, WAV
from tests.support.model_endpoint import Step, fails, says
from xai_mcp_agent import (
    AudioPart,
    ImagePart,
    ModelContextOverflow,
    ModelError,
    TextPart,
    ToolResult,
)
from xai_mcp_agent.agent.conversation import call_message, result_messages
from xai_mcp_agent.agent.messages import ToolCall
from xai_mcp_agent.agent.models.base import ModelRequest

pytestmark = pytest.mark.anyio

PICTURE = ToolResult((TextPart("Here it is."), ImagePart(PNG, "image/png")))
SOUND = ToolResult((TextPart("Listen."), AudioPart(WAV, "audio/wav")))
NO_PICTURES = "of this result are not shown to you: your service takes none.]"


def request_with(*results: ToolResult) -> ModelRequest:
    """A conversation in which the calls of one turn gave these results."""
    calls = [ToolCall(f"c{n}", "look", "{}") for n, _ in enumerate(results)]
    both = [(call, x.text, x) for call, x in zip(calls, results, strict=True)]
    message = call_message("I look.", calls)
    return ModelRequest((*ASK, message, *result_messages(both)), (ADD,))


async def conversations(
    wire: ScriptedWire, script: list[Step], *requests: ModelRequest
) -> list[str]:
    """Return the conversations that the service gets for these requests, as text."""
    async with wire.model_of(script) as (subject, endpoint):
        for request in requests:
            await ask_streamed(subject, request)
    bodies = (wire.conversation(x.body) for x in endpoint.requests)
    return [json.dumps(x, ensure_ascii=False) for x in bodies]


async def test_pictures_in_results_arrive_with_their_words(wire: ScriptedWire):
    (sent,) = await conversations(wire, [says("Two dots.")], request_with(PICTURE, PICTURE))
    assert (sent.count(PNG), sent.count("Here it is.")) == (2, 2)


REFUSALS: dict[str, Step] = {
    "OpenAI": fails(400, {"message": "image_url is only supported by certain models"}),
    "llama.cpp": fails(500, {"message": "image input is not supported - you may need the mmproj"}),
    "OpenRouter": fails(404, {"message": "No endpoints found that support image input"}),
    "text only": fails(422, {"message": "messages[2].content must be a string"}),
    "too large": fails(413, "Payload too large"),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_model_that_refuses_pictures_gets_a_note_from_then_on(
    wire: ScriptedWire, case: str
):
    script = [REFUSALS[case], says("one"), says("two")]
    sent = await conversations(wire, script, *[request_with(PICTURE)] * 2)
    assert [PNG in x for x in sent] == [True, False, False]
    assert [NO_PICTURES in x for x in sent] == [False, True, True]
    assert "Here it is." in sent[-1]


async def test_a_model_that_refuses_sounds_still_gets_pictures(wire: ScriptedWire):
    refusal = fails(400, {"message": "This model does not support audio input"})
    script = [refusal, says("one")] if wire.takes_sounds else [says("one")]
    sent = await conversations(wire, script, request_with(PICTURE, SOUND))
    assert (WAV in sent[0]) is wire.takes_sounds
    assert (WAV in sent[-1], PNG in sent[-1]) == (False, True)
    assert sent[-1].count(NO_PICTURES) == 1


async def test_other_errors_are_not_taken_for_a_refusal_of_pictures(wire: ScriptedWire):
    overflow = {"message": "image: maximum context length is 8"}
    for request, error, kind in (
        (request_with(ToolResult.of_text("5")), {"message": "bad image"}, ModelError),
        (request_with(PICTURE), overflow, ModelContextOverflow),
        (request_with(PICTURE), {"message": "messages[0] is odd"}, ModelError),
    ):
        async with wire.model_of([fails(400, error)]) as (subject, endpoint):
            with pytest.raises(kind):
                await ask_streamed(subject, request)
        assert len(endpoint.requests) == 1
