"""Services with an API of their own, by pydantic-ai. The rest is in test_contract.py."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.models.native import NativeWire
from tests.agent.models.wires import ADD, ASK, KEY, after, ask, ask_streamed
from tests.support.media_samples import PNG
from tests.support.model_endpoint import fails, model_endpoint, says
from xai_mcp_agent import (
    ImagePart,
    ModelAuthenticationError,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnreachable,
    ToolResult,
)  # fmt: skip
from xai_mcp_agent.agent.conversation import call_message, result_messages
from xai_mcp_agent.agent.messages import Message, ToolCall
from xai_mcp_agent.agent.models.base import ModelRequest, ModelSettings
from xai_mcp_agent.agent.models.choice import NATIVE, AgentModel, UnknownProvider

pytest.importorskip("pydantic_ai", reason="the extra `providers` is not installed")

from pydantic_ai import exceptions
from pydantic_ai import messages as ai
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from xai_mcp_agent.agent.models.providers import NativeModel

pytestmark = pytest.mark.anyio

WIRE = NativeWire()
CALLS = [
    {0: DeltaThinkingPart(content="Hm.", signature="sig-1")},
    "Let me see.",
    {2: DeltaToolCall("add", '{"a":', tool_call_id="c1")},
    {2: DeltaToolCall(None, "1}"), 3: DeltaToolCall("add", "", tool_call_id="c2")},
]


async def test_thoughts_are_read_and_signatures_go_back_to_the_service_that_gave_them():
    async with WIRE.model_of([CALLS, ["3"]]) as (model, service):
        reply, pieces = await ask_streamed(model, ModelRequest(ASK, (ADD,)))
        await ask_streamed(model, ModelRequest(after(reply), (ADD,)))
    assert (reply.thinking, pieces) == ("Hm.", ["Let me see."])
    assert reply.usage.output_tokens > 0
    assert json.loads(json.dumps(reply.added)) == reply.added
    (tool,) = service.requests[0][1].function_tools
    fields = (tool.name, tool.description, tool.parameters_json_schema)
    assert fields == (ADD.name, ADD.description, ADD.parameters)
    _, response, results = service.requests[1][0]
    assert response.parts[0] == ai.ThinkingPart("Hm.", signature="sig-1", provider_name="function")
    assert [(x.tool_name, x.tool_call_id) for x in results.parts] == [("add", "c1"), ("add", "c2")]


CHANGES: dict[str, Callable[[Message], Message]] = {
    "the conversation says something else": lambda x: x | {"content": "Changed."},
    "of another service": lambda x: x | {"_added": {**x["_added"], "service": "groq llama"}},
    "somebody changed it": lambda x: x | {"_added": {**x["_added"], "response": {"kind": "odd"}}},
}


@pytest.mark.parametrize("case", CHANGES)
async def test_an_answer_that_was_changed_or_is_of_another_service_is_sent_as_text(case: str):
    async with WIRE.model_of([CALLS, ["3"]]) as (model, service):
        go, message, *answers = after(await ask(model, ADD))
        await ask_streamed(model, ModelRequest((go, CHANGES[case](message), *answers), (ADD,)))
    kinds = [x.part_kind for x in service.requests[1][0][1].parts]
    assert kinds == ["text", "tool-call", "tool-call"]


async def test_a_conversation_with_pictures_arrives():
    call, result = ToolCall("c1", "look", "{}"), ToolResult((ImagePart(PNG, "image/png"),))
    message = call_message("", [call])
    results = result_messages([(call, "A", result)])
    system: Message = {"role": "system", "content": "Be kind."}
    async with WIRE.model_of([["ok"]]) as (model, service):
        await ask_streamed(model, ModelRequest((system, *ASK, message, *results)))
    first, _, last = service.requests[0][0]
    assert [x.content for x in first.parts] == ["Be kind.", "go"]
    text, picture = last.parts[0].content
    assert text == "A"
    assert picture == ai.BinaryContent.from_data_uri(f"data:image/png;base64,{PNG}")


async def test_a_model_that_refuses_pictures_gets_a_note_from_then_on():
    """Groq's models without vision answer 400; for Cohere pydantic-ai raises an error itself."""
    call, result = ToolCall("c1", "look", "{}"), ToolResult((ImagePart(PNG, "image/png"),))
    request = ModelRequest(
        (*ASK, call_message("", [call]), *result_messages([(call, "A", result)]))
    )
    for refusal in (
        fails(400, {"message": "messages[2].content must be a string"}),
        NotImplementedError("Cohere does not yet support multi-modal inputs."),
    ):
        async with WIRE.model_of([refusal, ["one"], ["two"]], model=str(refusal)) as (
            model,
            service,
        ):
            for text in ("one", "two"):
                assert (await ask_streamed(model, request))[0].text == text
        contents = [x[0][-1].parts[0].content for x in service.requests]
        assert isinstance(contents[0], list)
        assert ["your service takes none" in str(x) for x in contents] == [False, True, True]


async def test_a_used_up_quota_is_not_waited_for():
    """Gemini's daily quota: a 429 like any other, but pydantic-ai reads its details."""
    quota = exceptions.ModelHTTPError.for_category(
        exceptions.ModelQuotaExceededError, status_code=429, model_name="small",
        body={"error": {"message": "You exceeded your current quota"}}, retry_after=1.0,
    )  # fmt: skip
    error = await WIRE.error_of([quota])
    assert isinstance(error, ModelRateLimited)
    assert 'no quota left for this account. It says: "You exceeded' in str(error)


async def test_closing_a_model_closes_its_connections():
    with model_endpoint([says("ok"), says("again")]) as endpoint:
        opened: list[OpenAIProvider] = []

        def open_model() -> OpenAIChatModel:
            opened.append(OpenAIProvider(base_url=endpoint.base_url, api_key=KEY))
            return OpenAIChatModel("small", provider=opened[-1])

        model = NativeModel("anthropic", "small")
        model._open = open_model
        for text in ("ok", "again"):
            assert (await ask(model)).text == text
            await model.aclose()
            await model.aclose()
    assert [x.client.is_closed() for x in opened] == [True, True]


async def test_settings_are_sent_only_when_they_are_set():
    settings = ModelSettings(temperature=0.2, max_output_tokens=99, extra_body={"top_k": 3})
    request = ModelRequest(ASK, (ADD,), may_call=False, extra_temperature=0.1)
    all_settings: list[Any] = []
    for own, message in ((ModelSettings(), ModelRequest(ASK)), (settings, request)):
        async with WIRE.model_of([["ok"]], settings=own) as (model, service):
            await ask_streamed(model, message)
        all_settings.append(service.requests[0][1].model_settings)
    always = {"timeout": 120.0, "max_retries": 0}
    assert all_settings[0] == always
    assert all_settings[1] == always | {
        "temperature": pytest.approx(0.3), "max_tokens": 99, "extra_body": {"top_k": 3},
        "tool_choice": "none",
    }  # fmt: skip


ERRORS: dict[str, tuple[Exception, type[ModelError], str]] = {
    "silent": (exceptions.ModelTimeoutError("small", "timed out"), ModelTimeout,
               "did not answer within 120 seconds"),
    "filtered": (exceptions.ContentFilterError("Blocked."), ModelError, "content filter stopped"),
    "setting": (exceptions.UserError(f"No region, {KEY}"), ModelAuthenticationError,
                'It says: "No region, ***". Set ANTHROPIC_API_KEY in the file .env'),
    "package": (ImportError("Please install `groq`"), ModelError,
                "pip install 'xai-mcp-agent[providers]'"),
    "odd": (ValueError("odd"), ModelUnreachable, "Check the model's name and its settings"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
async def test_each_error_of_the_libraries_is_one_of_ours(case: str):
    cause, kind, words = ERRORS[case]
    error = await WIRE.error_of([cause])
    assert isinstance(error, kind)
    assert words in str(error)


def test_a_native_model_is_named_like_any_other():
    for provider in NATIVE:
        model = AgentModel.of(f"{provider}:some-model").open()
        assert (type(model), model.name) == (NativeModel, f"{provider} some-model")


LIBRARIES = {"google": "google.genai", "mistral": "mistralai", "xai": "xai_sdk"}


@pytest.mark.parametrize("provider", ["anthropic", "google", "mistral", "groq", "cohere", "xai"])
async def test_without_a_key_it_says_which_variable(provider: str):
    pytest.importorskip(LIBRARIES.get(provider, provider))
    with pytest.raises(ModelAuthenticationError, match=r"[A-Z]+_API_KEY"):
        await ask(NativeModel(provider, "some-model"))


def test_a_native_key_is_sent_to_no_other_address():
    elsewhere = AgentModel(
        provider="anthropic", name="claude-x", base_url="https://a.example.com", api_key=KEY
    )
    with pytest.raises(UnknownProvider, match="leave `base_url` out"):
        elsewhere.open()


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "xai_mcp_agent.agent.models.providers")
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(UnknownProvider, match=r"pip install 'xai-mcp-agent\[providers\]'"):
        AgentModel.of("anthropic:claude-x").open()
