"""Services that are asked natively: the same promises, on pydantic-ai's own model for tests."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from tests.agent.models.wires import ADD, ASK, KEY, ask, ask_streamed, unheard
from tests.support.media_samples import PNG
from xai_mcp_agent import (
    ImagePart,
    ModelAuthenticationError,
    ModelContextOverflow,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnreachable,
    Secret,
    ToolResult,
)
from xai_mcp_agent.agent.conversation import call_message, result_messages
from xai_mcp_agent.agent.messages import Message, ToolCall
from xai_mcp_agent.agent.models.base import AskedAgain, ModelReply, ModelRequest, ModelSettings
from xai_mcp_agent.agent.models.choice import NATIVE, AgentModel, UnknownProvider, model_for

pytest.importorskip("pydantic_ai", reason="the extra `providers` is not installed")

from pydantic_ai import exceptions
from pydantic_ai import messages as ai
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingPart,
    DeltaToolCall,
    FunctionModel,
)

from xai_mcp_agent.agent.models.providers import NativeModel

pytestmark = pytest.mark.anyio

CALLS = [
    {0: DeltaThinkingPart(content="Hm.", signature="sig-1")},
    "Let me see.",
    {2: DeltaToolCall("add", '{"a":', tool_call_id="c1")},
    {2: DeltaToolCall(None, "1}"), 3: DeltaToolCall("add", "", tool_call_id="c2")},
    {3: DeltaToolCall(None, '{"a": oops')},
]  # fmt: skip


class Scripted:
    """A service that answers with these pieces, one script a request, and keeps what was asked."""

    def __init__(self, *scripts: list[Any] | Exception) -> None:
        self.scripts = [*scripts]
        self.asked: list[tuple[list[Any], AgentInfo]] = []

    async def stream(self, messages: list[Any], info: AgentInfo) -> AsyncGenerator[Any]:
        """One answer."""
        self.asked.append((messages, info))
        script = self.scripts.pop(0)
        if isinstance(script, Exception):
            raise script
        for piece in script:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def model(self, **settings: Any) -> NativeModel:
        """The model that asks it."""
        made = FunctionModel(stream_function=self.stream)
        return NativeModel("anthropic", "claude-x", settings=ModelSettings(**settings), opened=made)


def sent_back(reply: ModelReply, **changed: Any) -> ModelRequest:
    """The conversation after this reply, its calls answered."""
    asked = call_message(reply.text, reply.calls, in_text=False, added=reply.added) | changed
    answers = [{"role": "tool", "tool_call_id": x.id, "content": "3"} for x in reply.calls]
    return ModelRequest((*ASK, asked, *answers), (ADD,))


async def test_text_streams_and_split_calls_are_joined_as_they_were_written():
    service = Scripted(CALLS)
    reply, pieces = await ask_streamed(service.model(), ModelRequest(ASK, (ADD,)))
    assert (reply.text, pieces) == ("Let me see.", ["Let me see."])
    assert reply.calls == (ToolCall("c1", "add", '{"a":1}'), ToolCall("c2", "add", '{"a": oops'))
    assert (reply.finish, reply.thinking) == ("tool_calls", "Hm.")
    assert reply.usage.output_tokens > 0
    (tool,) = service.asked[0][1].function_tools
    assert (tool.name, tool.description, tool.parameters_json_schema) == (
        ADD.name, ADD.description, ADD.parameters,
    )  # fmt: skip


async def test_a_signature_goes_back_to_the_service_that_gave_it():
    service = Scripted(CALLS, ["3"])
    model = service.model()
    reply = await ask(model, ADD)
    assert json.loads(json.dumps(reply.added)) == reply.added
    await ask_streamed(model, sent_back(reply))
    _, response, results = service.asked[1][0]
    assert response.parts[0] == ai.ThinkingPart("Hm.", signature="sig-1", provider_name="function")
    assert [(x.tool_name, x.tool_call_id) for x in results.parts] == [("add", "c1"), ("add", "c2")]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x | {"content": "Changed."},
        lambda x: x | {"_added": {**x["_added"], "service": "groq llama"}},
        lambda x: x | {"_added": {**x["_added"], "response": {"kind": "odd"}}},
    ],
    ids=["the conversation says something else", "of another service", "somebody changed it"],
)
async def test_what_is_no_more_its_answer_is_sent_anew(change: Callable[[Message], Message]):
    service = Scripted(CALLS, ["3"])
    model = service.model()
    request = sent_back(await ask(model, ADD))
    (go, asked, *answers) = request.messages
    await ask_streamed(model, ModelRequest((go, change(asked), *answers), (ADD,)))
    kinds = [x.part_kind for x in service.asked[1][0][1].parts]
    assert kinds == ["text", "tool-call", "tool-call"]


async def test_a_conversation_with_pictures_arrives():
    call, result = (
        ToolCall("c1", "look", "{}"),
        ToolResult((ImagePart(PNG, "image/png"),)),
    )
    asked = call_message("", [call], in_text=False)
    results = result_messages([(call, "A", result)], in_text=False)
    system: Message = {"role": "system", "content": "Be kind."}
    service = Scripted(["ok"])
    await ask_streamed(service.model(), ModelRequest((system, *ASK, asked, *results)))
    first, _, last = service.asked[0][0]
    assert [x.content for x in first.parts] == ["Be kind.", "go"]
    text, picture = last.parts[0].content
    assert text == "A"
    assert picture == ai.BinaryContent.from_data_uri(f"data:image/png;base64,{PNG}")


async def test_settings_are_sent_only_when_they_are_set():
    service = Scripted(["ok"], ["ok"])
    await ask(service.model(timeout_seconds=9))
    request = ModelRequest(ASK, (ADD,), may_call=False, extra_temperature=0.1)
    settings = {"temperature": 0.2, "max_output_tokens": 99, "extra_body": {"top_k": 3}}
    await ask_streamed(service.model(**settings), request)
    plain, full = (info.model_settings for _, info in service.asked)
    assert plain == {"timeout": 9, "max_retries": 0}
    assert full == {
        "temperature": pytest.approx(0.3), "max_tokens": 99, "extra_body": {"top_k": 3},
        "timeout": 120.0, "tool_choice": "none", "max_retries": 0,
    }  # fmt: skip


def http_error(status: int, message: str, **more: Any) -> Exception:
    return exceptions.ModelHTTPError(status, "claude-x", {"error": {"message": message}}, **more)


async def test_a_busy_service_is_asked_again_and_that_is_said():
    busy = http_error(429, "Slow down", headers={"retry-after-ms": "10"})
    service = Scripted(busy, ["Half an", http_error(529, "Overloaded")], ["The whole."])
    told: list[AskedAgain] = []

    async def on_again(again: AskedAgain) -> None:
        told.append(again)

    reply = await service.model().reply(ModelRequest(ASK), unheard, on_again)
    assert reply.text == "The whole."
    assert [x.reason for x in told] == [
        "anthropic claude-x had too many requests (429)",
        "anthropic claude-x failed (529)",
    ]


ERRORS: dict[str, tuple[Exception, type[ModelError], str]] = {
    "key": (http_error(401, f"bad {KEY}"), ModelAuthenticationError,
            'refused the key (401). It says: "bad ***". Check `api_key` of AgentModel, or the '
            "environment variable ANTHROPIC_API_KEY."),
    "too long": (http_error(400, "prompt is too long: 9 tokens > 8 maximum"), ModelContextOverflow,
                 "Shorten the conversation"),
    "quota": (http_error(429, "Slow down", headers={"retry-after": "4000"}), ModelRateLimited,
              "Wait 4000 seconds"),
    "silent": (exceptions.ModelTimeoutError("claude-x", "timed out"), ModelTimeout,
               "did not answer within 120 seconds"),
    "setting": (exceptions.UserError(f"No region, {KEY}"), ModelAuthenticationError,
                'cannot be asked. It says: "No region, ***". Set `api_key`'),
    "package": (ImportError("Please install `groq`"), ModelError,
                "pip install 'xai-mcp-agent[providers]'"),
    "odd": (ValueError("odd"), ModelUnreachable, "could not be talked to"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
async def test_each_error_says_what_where_and_what_next(case: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    cause, kind, words = ERRORS[case]
    with pytest.raises(ModelError) as caught:
        await ask(Scripted(cause).model(turn_timeout_seconds=300))
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert KEY not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


async def test_a_stream_that_breaks_off_is_no_answer():
    dropped = exceptions.ModelConnectionError("claude-x", "peer closed connection")
    with pytest.raises(ModelUnreachable, match="dropped the connection"):
        await ask(Scripted(*[["Half", dropped]] * 3).model())


async def test_an_error_of_the_screen_is_not_taken_for_one_of_the_model():
    async def broken(_: str) -> None:
        raise ValueError("the screen is gone")

    with pytest.raises(ValueError, match="the screen is gone"):
        await Scripted(["Hello"]).model().reply(ModelRequest(ASK), broken)


@pytest.mark.parametrize("provider", NATIVE)
def test_a_native_model_is_named_like_any_other(provider: str):
    model = AgentModel.of(f"{provider}:some-model").open()
    assert (type(model), model.name) == (NativeModel, f"{provider} some-model")


LIBRARIES = {"google": "google.genai", "mistral": "mistralai", "xai": "xai_sdk"}


@pytest.mark.parametrize("provider", ["anthropic", "google", "mistral", "groq", "cohere", "xai"])
async def test_without_a_key_it_says_which_variable(provider: str, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip(LIBRARIES.get(provider, provider))
    for name in ("ANTHROPIC", "GOOGLE", "GEMINI", "MISTRAL", "GROQ", "CO", "XAI"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
    with pytest.raises(ModelAuthenticationError, match=r"variable [A-Z]+_API_KEY\."):
        await ask(NativeModel(provider, "some-model"))


def test_a_native_key_is_sent_to_no_other_address():
    with pytest.raises(UnknownProvider, match="leave `base_url` out"):
        model_for("anthropic", "claude-x", base_url="https://a.example.com", api_key=Secret(KEY))


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "xai_mcp_agent.agent.models.providers")
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(UnknownProvider, match=r"pip install 'xai-mcp-agent\[providers\]'"):
        AgentModel.of("anthropic:claude-x").open()
