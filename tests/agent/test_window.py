"""A conversation fits its model's window, and requests begin alike from turn to turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.runs import LONG, RunRecord, go, stopping_at, through_json
from tests.support.scripted_model import ScriptedModel, calling
from xai_mcp_agent import ModelContextOverflow, ModelError
from xai_mcp_agent.agent.context import fit, tokens_of
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.events import ConversationFolded
from xai_mcp_agent.agent.messages import Message
from xai_mcp_agent.agent.models.base import ModelReply, ModelRequest, TokenUsage
from xai_mcp_agent.agent.models.errors import window_in
from xai_mcp_agent.agent.results import id_of
from xai_mcp_agent.agent.window import ContextWindow, Folding

pytestmark = pytest.mark.anyio

READER = "read_result"


def asks(text: str) -> Message:
    return {"role": "user", "content": text}


def uses(number: int, *results: str) -> list[Message]:
    """A turn of the assistant with a call for each result."""
    calls = [
        {"id": f"c{number}_{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for n in range(len(results))
    ]
    answers = [
        {"role": "tool", "tool_call_id": x["id"], "content": text}
        for x, text in zip(calls, results, strict=True)
    ]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *answers]


def working(turns: int, chars: int = 4_000) -> list[Message]:
    """Return one request, and `turns` turns with a long result each."""
    results = [x for n in range(turns) for x in uses(n, f"result {n}: " + "x" * chars)]
    return [asks("The task."), *results]


def sizes(messages: list[Message]) -> int:
    return sum(map(tokens_of, messages))


def assert_whole(messages: list[Message]) -> None:
    """Each call has its answer right after it, and each answer its call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [x["id"] for x in message.get("tool_calls") or ()]
    assert not waiting


def test_a_note_replaces_older_turns_but_not_the_request():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400_000}}
    assert tokens_of({"role": "user", "content": [picture]}) < 2_000, "not by its bytes"
    few, turns = working(3), working(400, chars=500)
    assert fit(few, 10_000, Folding(), READER).messages == few
    folded = fit(turns, 4_000, Folding(), READER)
    assert sizes(folded.messages) <= 4_000
    first = folded.messages[0]["content"]
    assert first.startswith(f"[The {len(folded.omitted)} earlier messages of this conversation")
    assert first.endswith("\n\nThe task.")
    assert len(folded.omitted) + len(folded.messages) == len(turns)


def test_a_text_that_is_too_long_by_itself_is_cut_and_can_be_read_by_page():
    text = "BEGIN " + "word " * 100_000 + " END"
    turns = [asks(text), *uses(1, "y" * 30_000, "small")]
    folded = fit(turns, 2_000, Folding(), READER)
    assert sizes(folded.messages) <= 2_000
    excerpt = folded.messages[0]["content"]
    assert excerpt.startswith("BEGIN")
    assert excerpt.endswith("END")
    assert f'read_result: {{"result_id": "{id_of(text)}"' in excerpt
    assert folded.texts[id_of(text)] == text
    assert folded.messages[-1]["content"] == "small"
    longer = fit([*turns, *uses(2, "more")], 2_000, folded.folding, READER)
    assert longer.messages[: len(folded.messages)] == folded.messages


def test_the_room_for_turns_is_the_window_without_the_answer_and_the_tools():
    for window, folding, room in (
        (ContextWindow(8_000, answer_tokens=1_000), Folding(), 6_500),
        (ContextWindow(128_000), Folding(window_tokens=8_000), 6_500),
        (ContextWindow(8_000), Folding(scale=2.0), 3_000),
        (ContextWindow(0), Folding(), float("inf")),
        (ContextWindow(400), Folding(), 50),
    ):
        assert window.room(folding, 500) == room


TURN = st.one_of(
    st.builds(lambda size: [asks("q" * size)], st.integers(1, 3_000)),
    st.builds(lambda size: [{"role": "assistant", "content": "a" * size}], st.integers(1, 3_000)),
    st.lists(st.integers(0, 9_000), min_size=1, max_size=3).map(
        lambda sizes: uses(len(sizes), *("r" * x for x in sizes))
    ),
)


@given(st.lists(TURN, min_size=1, max_size=30), st.integers(200, 20_000))
def test_calls_stay_with_their_results_and_the_last_request_is_always_sent(
    turns: list[list[Message]], room: int
):
    messages = Conversation([x for turn in turns for x in turn]).turns()
    folding = Folding()
    for end in range(1, len(messages) + 1):
        if end < len(messages) and messages[end]["role"] == "tool":
            continue
        folded = fit(messages[:end], room, folding, READER)
        folding = folded.folding
        assert_whole(folded.messages)
        assert folded.tokens == sizes(folded.messages)
        requests: list[Any] = [x for x in messages[:end] if x["role"] == "user"]
        assert not requests or requests[-1]["content"][:50] in json.dumps(folded.messages)


# Runs that are too long for their model's window


@dataclass
class Small:
    """A model that accepts so many tokens, of so many bytes each, and counts those of a request."""

    window: int
    steps: list[ModelReply | str] = field(default_factory=list[ModelReply | str])
    names_window: bool = True
    bytes_per_token: float = 3.0
    overflows: int = 0
    requests: list[Sequence[dict[str, Any]]] = field(default_factory=list[Sequence[dict[str, Any]]])
    summaries: list[str] = field(default_factory=list[str])

    def __call__(self, request: ModelRequest) -> ModelReply | ModelError:
        functions = [x.parameters for x in request.functions]
        tokens = int(len(json.dumps([request.messages, functions])) / self.bytes_per_token)
        if tokens > self.window:
            self.overflows += 1
            return ModelContextOverflow("Too long.", self.window if self.names_window else None)
        usage = TokenUsage(tokens, 10)
        if "Write at most" in request.messages[0]["content"]:
            self.summaries.append(request.messages[1]["content"])
            return ModelReply("It told many stories.", usage=usage)
        self.requests.append(request.messages)
        assert_whole([*request.messages])
        step = self.steps.pop(0)
        return replace(ModelReply(step) if isinstance(step, str) else step, usage=usage)


def stories(count: int, tool: str = "tell", words: str = "") -> list[ModelReply | str]:
    """Return the replies of a model that calls a tool so many times, then answers."""
    return [*(calling((tool, {}), text=f"Story {n}. {words}") for n in range(count)), "Done."]


def folds(run: RunRecord) -> list[ConversationFolded]:
    return [x for x in run.events if isinstance(x, ConversationFolded)]


@pytest.mark.parametrize("names_window", [True, False])
async def test_a_request_that_is_too_long_for_the_service_is_repeated_shorter(names_window: bool):
    service = Small(20_000, stories(12), names_window)
    run = await go(service, "Tell me all.", max_thoughts=20)
    assert run.answer == "Done."
    assert service.overflows <= 4
    assert not names_window or folds(run)[0].window_tokens == 20_000
    results = [x["content"] for x in run.messages if x["role"] == "tool"]
    assert len(results) == 12, "the conversation itself stays whole"
    assert all("a long story" in x for x in results)


def test_the_size_of_the_window_is_read_from_the_error_of_a_service():
    """The wordings are from llama.cpp, OpenAI, vLLM, Anthropic, Gemini, Mistral and xAI."""
    assert window_in({"n_ctx": 4_096}, "the request exceeds the available context size") == 4096
    for words in (
        "This model's maximum context length is 4,096 tokens. You sent 9.",
        "The prompt (length 9) is longer than the maximum model length of 4096.",
        "request (9 tokens) exceeds the available context size (4096 tokens), try it",
        "prompt is too long: 5000 tokens > 4096 maximum",
        "The token count (9) exceeds the maximum number of tokens allowed (4096).",
        "Prompt has 9 tokens, too large for model with 4096 maximum context length",
        "This model's maximum prompt length is 4096 but the request contains 9 tokens.",
    ):
        assert window_in({}, words) == 4096
    for words in ("exceeding maximum context length by 5000 tokens", "context length is 8 tokens"):
        assert window_in({}, words) is None


async def test_requests_fit_a_window_of_known_size_from_the_beginning():
    service = Small(80_000, stories(30), bytes_per_token=2.5)
    run = await go(service, "Tell me all.", max_thoughts=40, window=ContextWindow(80_000))
    assert (run.answer, service.overflows) == ("Done.", 0)
    assert all(x[0]["content"].endswith("Tell me all.") for x in service.requests)
    # In large steps: most requests begin as the one before.
    alike = [b[: len(a)] == a for a, b in zip(service.requests, service.requests[1:], strict=False)]
    assert sum(alike) > len(alike) * 2 / 3
    assert len(folds(run)) == alike.count(False)


async def test_the_model_summarises_older_turns():
    service = Small(8_000, stories(60, "add", "so " * 500))
    run = await go(service, "Tell me all.", max_thoughts=70, window=ContextWindow(8_000))
    assert (run.answer, service.overflows) == ("Done.", 0)
    assert "Story 0." in service.summaries[0]
    assert "It told many stories." in service.summaries[1]
    last = service.requests[-1][0]["content"]
    assert "It told many stories." in last
    assert last.endswith("Tell me all.")
    assert all(x.summed_up for x in folds(run) if x.left_out)
    assert len(service.summaries) < 12


async def test_without_a_summary_a_note_replaces_older_turns():
    service = Small(8_000, stories(20, "add", "so " * 500))

    def failing(request: ModelRequest) -> ModelReply | ModelError:
        is_summary = "Write at most" in request.messages[0]["content"]
        return ModelError("No.") if is_summary else service(request)

    run = await go(failing, max_thoughts=70, window=ContextWindow(8_000))
    assert run.answer == "Done."
    note = "earlier messages of this conversation are left out here"
    assert note in json.dumps(service.requests[-1])
    assert not any(x.summed_up for x in folds(run))
    service = Small(30)  # nothing to fold: the error is the service's
    with pytest.raises(ModelContextOverflow):
        await go(service)
    assert service.overflows == 1


async def test_the_results_of_one_turn_are_shortened_together():
    run = await go([calling(*[("tell", {})] * 10, ("add", {})), "Done."])
    *long, short = [x["content"] for x in run.request() if x["role"] == "tool"]
    assert (len(long), short) == (10, "5")
    assert sum(map(len, long)) < 135_000
    assert all("a long story" in x and "Read them with read_result" in x for x in long)


async def test_a_page_of_a_long_result_is_shown_whole_in_a_small_window():
    """4,096 tokens is what Ollama gives a model by default."""
    reads = calling(("read_result", {"result_id": id_of(LONG), "start": 2_000}))
    replies = [calling(("tell", {})), reads, "Done."]
    run = await go(replies, max_thoughts=4, window=ContextWindow(4_096))
    page, _, more = run.request()[-1]["content"].partition("\n[... ")
    assert len(page) > 2_000
    assert page == LONG[2_000 : 2_000 + len(page)]
    assert more.endswith(f"more characters from {2_000 + len(page)} on ...]")


async def test_a_run_resumed_from_json_sends_the_same_requests():
    model, window = ScriptedModel(service := Small(20_000, stories(12))), ContextWindow(20_000)
    stopped = await go(model, emit=stopping_at(8), window=window, max_thoughts=20)
    assert stopped.state.folding.left_out
    before = service.requests[-1]
    run = await go(model, through_json(stopped.state), window=window, max_thoughts=20)
    assert (run.answer, service.overflows) == ("Done.", 0)
    assert service.requests[8][: len(before)] == before
