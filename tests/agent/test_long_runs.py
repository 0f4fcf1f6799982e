"""Runs that are too long for their model's window, or for the limits of one run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.agent.runs import go, unheard
from tests.agent.test_state import stopping_at
from tests.agent.test_window import asks, assert_whole, uses
from tests.support.model_endpoint import Script, Step, calls, fails, model_endpoint, says
from tests.support.stalls import STALL_SECONDS, watching
from xai_mcp_agent import Bridge, ModelContextOverflow
from xai_mcp_agent.agent.conversation import Conversation
from xai_mcp_agent.agent.events import ConversationFolded, RunEvent, ToolFinished
from xai_mcp_agent.agent.models.errors import window_in
from xai_mcp_agent.agent.state import RunLimits, RunState
from xai_mcp_agent.agent.window import ContextWindow

OPENAI = "This model's maximum context length is {window} tokens. However, you sent {sent}."
VLLM = "The decoder prompt (length {sent}) is longer than the maximum model length of {window}."
LLAMA = "request ({sent} tokens) exceeds the available context size ({window} tokens), try it"
ANTHROPIC = "prompt is too long: {sent} tokens > {window} maximum"
GEMINI = "The input token count ({sent}) exceeds the maximum number of tokens allowed ({window})."
MISTRAL = "Prompt has {sent} tokens, too large for model with {window} maximum context length"
XAI = "This model's maximum prompt length is {window} but the request contains {sent} tokens."
SILENT = "Input is too long for requested model."
WORDS = [OPENAI, VLLM, LLAMA, ANTHROPIC, GEMINI, MISTRAL, XAI, SILENT]


@dataclass
class Small:
    """A service that takes so many tokens, of so many bytes each, and counts what it is sent."""

    window: int
    words: str = OPENAI
    bytes_per_token: float = 3.0
    steps: list[Step] = field(default_factory=list[Step])
    refused: int = 0
    taken: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    summaries: list[str] = field(default_factory=list[str])

    def __call__(self, body: dict[str, Any]) -> Step:
        sent = int(len(json.dumps([body["messages"], body.get("tools")])) / self.bytes_per_token)
        if sent > self.window:
            self.refused += 1
            words = self.words.format(window=self.window, sent=sent)
            return fails(400, {"message": words})
        usage = {"prompt_tokens": sent, "completion_tokens": 10, "total_tokens": sent + 10}
        if "Write at most" in body["messages"][0]["content"]:
            self.summaries.append(body["messages"][1]["content"])
            return replace(says("It told many stories."), usage=usage)
        self.taken.append(body["messages"])
        assert_whole(body["messages"])
        return replace(self.steps.pop(0), usage=usage)


def heard(told: list[RunEvent]) -> Callable[[RunEvent], Any]:
    async def emit(event: RunEvent) -> None:
        told.append(event)

    return emit


@pytest.fixture
def bridge() -> Generator[Bridge]:
    """A bridge without any server."""
    with Bridge({"mcpServers": {}}) as made:
        yield made


def stories(count: int) -> list[Step]:
    """A model that asks for a long story so many times, then answers."""
    return [*(calls(("tell", {}), text=f"Story {n}.") for n in range(count)), says("Done.")]


def run(
    bridge: Bridge, script: Script, start: Any = "Tell me all.", **spec: Any
) -> tuple[RunState, str, list[RunEvent]]:
    told: list[RunEvent] = []
    with model_endpoint(script) as endpoint:
        conversation = Conversation(start)
        state, finished = go(bridge, endpoint, conversation, emit=heard(told), **spec)
    assert finished is not None
    return state, finished.answer, told


def folds(told: Sequence[RunEvent]) -> list[ConversationFolded]:
    return [x for x in told if isinstance(x, ConversationFolded)]


@pytest.mark.parametrize("words", WORDS)
def test_a_service_that_takes_less_than_thought_is_asked_again_with_less(
    bridge: Bridge, words: str
):
    service = Small(20_000, words, steps=stories(12))
    state, answer, told = run(bridge, service, max_thoughts=20)
    assert answer == "Done."
    assert service.refused <= 4
    assert folds(told)
    if words != SILENT:
        assert folds(told)[0].window_tokens == 20_000
    # What is kept is whole.
    results = [x["content"] for x in state.conversation.messages if x["role"] == "tool"]
    assert len(results) == 12
    assert all("a long story" in x for x in results)


@pytest.mark.parametrize(
    ("fields", "words", "window"),
    [
        ({"n_ctx": 4_096}, "the request exceeds the available context size", 4_096),
        ({}, "maximum context length is 128,000 tokens", 128_000),
        ({}, "exceeding maximum context length by 5000 tokens", None),
        ({}, "context length is 8 tokens", None),
    ],
)
def test_the_window_is_the_number_that_a_service_calls_so(
    fields: dict[str, Any], words: str, window: int | None
):
    assert window_in(fields, words) == window


def test_a_window_that_is_known_is_kept_to_without_an_error(bridge: Bridge):
    service = Small(80_000, bytes_per_token=2.5, steps=stories(30))
    _, answer, told = run(bridge, service, max_thoughts=40, window=ContextWindow(80_000))
    assert (answer, service.refused) == ("Done.", 0)
    assert all(x[0]["content"].endswith("Tell me all.") for x in service.taken)
    # In large steps: most requests begin as the one before.
    alike = [b[: len(a)] == a for a, b in zip(service.taken, service.taken[1:], strict=False)]
    assert sum(alike) > len(alike) * 2 / 3
    assert len(folds(told)) == alike.count(False)


def test_what_was_cut_is_read_with_a_tool(bridge: Bridge):
    asked = f"The task. {'words of it. ' * 8_000}"

    def script(body: dict[str, Any]) -> Step:
        turn = sum(x["role"] == "assistant" for x in body["messages"])
        if turn == 0:
            (id_,) = re.findall(r'read_result: \{"result_id": "([^"]+)"', str(body["messages"]))
            assert "read_result" in [x["function"]["name"] for x in body["tools"]]
            return calls(("read_result", {"result_id": id_, "start": 0}))
        return says("Read.")

    _, answer, told = run(bridge, script, asked, window=ContextWindow(20_000))
    assert answer == "Read."
    (read,) = [x for x in told if isinstance(x, ToolFinished) and x.tool == "read_result"]
    assert not read.result.is_error
    assert read.result.text.startswith("The task. words of it.")


def test_older_turns_are_summed_up_by_the_model(bridge: Bridge):
    steps = [
        *(calls(("add", {}), text=f"Thought {n}. " + "so " * 500) for n in range(60)),
        says("Done."),
    ]
    service = Small(8_000, steps=steps)
    _, answer, told = run(bridge, service, max_thoughts=70, window=ContextWindow(8_000))
    assert (answer, service.refused) == ("Done.", 0)
    assert service.summaries
    assert "Thought 0." in service.summaries[0]
    assert "It told many stories." in service.summaries[1]
    last = service.taken[-1][0]["content"]
    assert "It told many stories." in last
    assert last.endswith("Tell me all.")
    assert all(x.summed_up for x in folds(told) if x.left_out)
    assert len(service.summaries) < 12


def test_without_a_summary_older_turns_are_left_out_with_a_note(bridge: Bridge):
    steps = [
        *(calls(("add", {}), text=f"Thought {n}. " + "so " * 500) for n in range(20)),
        says("Done."),
    ]
    service = Small(8_000, steps=steps)

    def failing(body: dict[str, Any]) -> Step:
        is_summary = "Write at most" in body["messages"][0]["content"]
        return fails(400, {"message": "No."}) if is_summary else service(body)

    _, answer, told = run(bridge, failing, max_thoughts=70, window=ContextWindow(8_000))
    assert answer == "Done."
    assert "earlier messages of this conversation are left out here" in json.dumps(
        service.taken[-1]
    )
    assert not any(x.summed_up for x in folds(told))


def test_a_conversation_that_was_given_is_fitted_too(bridge: Bridge):
    given = [
        asks("First."),
        *(x for n in range(100) for x in uses(n, "r" * 3_000)),
        asks("And now?"),
    ]
    service = Small(16_000, steps=[says("Done.")])
    state, answer, _ = run(bridge, service, given, window=ContextWindow(16_000))
    assert (answer, service.refused) == ("Done.", 0)
    assert service.taken[0][-1]["content"] == "And now?"
    assert state.conversation.messages[:-1] == given


def test_nothing_to_fold_is_the_error_of_the_service(bridge: Bridge):
    service = Small(30)
    with pytest.raises(ModelContextOverflow), model_endpoint(service) as endpoint:
        go(bridge, endpoint, Conversation("Go."))
    assert service.refused == 1


def test_the_results_of_one_turn_are_shortened_together(bridge: Bridge):
    script = [calls(*[("tell", {})] * 10, ("add", {})), says("Done.")]
    with model_endpoint(script) as endpoint:
        go(bridge, endpoint, Conversation("Go."))
    results = [x["content"] for x in endpoint.requests[1].body["messages"] if x["role"] == "tool"]
    assert len(results) == 11
    assert results[-1] == "5"
    assert sum(map(len, results)) < 135_000
    assert all("a long story" in x and "Read them with read_result" in x for x in results[:-1])


def test_a_run_that_goes_on_from_json_sends_what_it_would_have_sent(bridge: Bridge):
    service, window = Small(20_000, steps=stories(12)), ContextWindow(20_000)
    with model_endpoint(service) as endpoint:
        state, _ = go(
            bridge, endpoint, Conversation("Go."),
            emit=stopping_at(8), window=window, max_thoughts=20,
        )  # fmt: skip
        assert state.folding.left_out
        before = service.taken[-1]
        again = RunState.from_json(json.loads(json.dumps(state.to_json())))
        _, finished = go(bridge, endpoint, again, emit=unheard, window=window, max_thoughts=20)
    assert finished is not None
    assert finished.answer == "Done."
    assert service.refused == 0
    assert service.taken[8][: len(before)] == before


@pytest.mark.parametrize(
    ("limits", "turns"),
    [
        (RunLimits(tokens=60), 2),
        (RunLimits(tokens=90), 3),
        (RunLimits(tokens=1), 2),
        (RunLimits(cost=0.0001, input_price=1.0, output_price=2.0), 3),
        (RunLimits(tokens=10_000), 5),
        (RunLimits(cost=1.0, input_price=1.0, output_price=2.0), 5),
    ],
)  # fmt: skip
def test_before_the_limit_of_a_run_is_passed_the_model_is_asked_for_its_answer(
    bridge: Bridge, limits: RunLimits, turns: int
):
    """Each turn of the scripted model takes 25 tokens, 20 of them in."""

    def script(body: dict[str, Any]) -> Step:
        if body.get("tool_choice") == "none":
            assert "no tool can be used any more" in body["messages"][-1]["content"]
            return says("As far as I came.")
        asked = sum(x["role"] == "tool" for x in body["messages"])
        return calls(("add", {})) if asked < 4 else says("Done.")

    with model_endpoint(script) as endpoint:
        _, finished = go(bridge, endpoint, Conversation("Go."), limits=limits)
    assert finished is not None
    assert len(endpoint.requests) == turns
    is_limited = turns < 5
    assert finished.stopped == ("limit" if is_limited else "answered")
    assert finished.answer == ("As far as I came." if is_limited else "Done.")


def test_a_service_that_counts_no_tokens_does_not_lift_the_limit(bridge: Bridge):
    def script(body: dict[str, Any]) -> Step:
        may_call = body.get("tool_choice") != "none"
        return replace(calls(("add", {})) if may_call else says("So far."), usage={})

    with model_endpoint(script) as endpoint:
        state, finished = go(
            bridge, endpoint, Conversation("Go."), limits=RunLimits(tokens=1_500), max_thoughts=50
        )
    assert finished is not None
    assert (finished.stopped, finished.answer) == ("limit", "So far.")
    assert 2 < finished.steps < 15
    assert state.usage.input_tokens == 0


@pytest.mark.parametrize("protocol", ["native", "text"])
def test_a_conversation_of_20_megabytes_blocks_no_other_work(bridge: Bridge, protocol: str):
    turns = [x for n in range(4_000) for x in uses(n, f"{n} " + "words of it. " * 390)]
    given = [
        asks("The task."),
        *turns,
        asks("p" * 1_000_000),
        {"role": "assistant", "content": "ok"},
    ]
    given += [asks(f"small {n}") for n in range(10_000)]
    assert len(json.dumps(given)) > 20_000_000
    written = says("TOOL: add {}") if protocol == "text" else calls(("add", {}))
    steps = [written if n % 2 else replace(written) for n in range(3)]
    service = Small(200_000, steps=[*steps, says("Done.")])
    with watching(bridge) as stalls:
        _, answer, _ = run(bridge, service, given, protocol=protocol, window=ContextWindow(128_000))
    assert answer == "Done."
    assert stalls.longest_step_seconds < STALL_SECONDS
